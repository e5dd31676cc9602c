//! Several devices of a trace as one: their address spaces one behind the other.
//!
//! A trace says which devices it asks and not how large they are, so each is as large as it has to be for its requests,
//! rounded up to [`ALIGN_BYTES`]; they follow each other by their numbers. So requests of different devices never meet,
//! and those of one keep their distances. Finding the sizes takes a pass over the trace; the memory is that of the
//! devices, which [`open`](crate::open) bounds.

use crate::Record;
use flashlane_base::Operation;
use std::collections::BTreeMap;

/// Each device begins at a multiple of this: more than any device's unit, so that what was aligned stays so.
const ALIGN_BYTES: u64 = 1 << 20;
/// Requests end below this address, as those of a trace do.
const END_BYTES: u64 = 1 << 63;

/// How far the requests of each device reach.
#[derive(Clone, Debug, Default)]
pub struct Extents(BTreeMap<u32, u64>);

/// Where each device begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideBySide {
    begins: BTreeMap<u32, u64>,
    placed: Vec<Placed>,
}

/// A device's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The device's number.
    pub device: u32,
    /// Its first byte.
    pub begin_bytes: u64,
    /// Bytes that it takes: up to the end of its request that reaches furthest, rounded up.
    pub length_bytes: u64,
}

/// The devices reach further together than addresses do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "laid side by side, the trace's {devices} devices would reach beyond 8 EiB; allowed: less; ask for one of them by its \
     number"
)]
pub struct TooFar {
    /// How many devices there are.
    pub devices: usize,
}

impl Extents {
    /// Takes in a request.
    pub fn add(&mut self, record: &Record) {
        let end = self.0.entry(record.device).or_insert(0);
        if record.operation != Operation::Flush {
            *end = (*end).max(record.offset_bytes.saturating_add(record.length_bytes));
        }
    }
}

impl SideBySide {
    /// The devices one behind the other.
    ///
    /// # Errors
    /// [`TooFar`] where their addresses would be too many.
    pub fn new(extents: &Extents) -> Result<Self, TooFar> {
        let mut side_by_side = Self::default();
        let mut next: u64 = 0;
        for (&device, &end) in &extents.0 {
            let after = end.checked_next_multiple_of(ALIGN_BYTES).and_then(|length| next.checked_add(length));
            let after = after.filter(|&after| after <= END_BYTES);
            let after = after.ok_or(TooFar { devices: extents.0.len() })?;
            side_by_side.begins.insert(device, next);
            side_by_side.placed.push(Placed { device, begin_bytes: next, length_bytes: after - next });
            next = after;
        }
        Ok(side_by_side)
    }

    /// The devices, in their order.
    pub fn devices(&self) -> &[Placed] {
        &self.placed
    }

    /// The request as one of the whole, whose number is 0. A device that was not seen before keeps its addresses: its
    /// trace changed since.
    #[inline]
    pub fn place(&self, record: Record) -> Record {
        let begin = self.begins.get(&record.device).copied().unwrap_or(0);
        let offset_bytes =
            if record.operation == Operation::Flush { 0 } else { record.offset_bytes.saturating_add(begin) };
        Record { device: 0, offset_bytes, ..record }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Instant;
    use proptest::prelude::*;

    fn record(device: u32, offset_bytes: u64, length_bytes: u64) -> Record {
        let (at, operation) = (Instant::ZERO, Operation::Write);
        Record { at, took: None, device, operation, offset_bytes, length_bytes, durable: false }
    }

    fn laid(records: &[Record]) -> SideBySide {
        let mut extents = Extents::default();
        records.iter().for_each(|record| extents.add(record));
        SideBySide::new(&extents).unwrap()
    }

    #[test]
    fn devices_follow_each_other_by_number() {
        let flush = Record { operation: Operation::Flush, ..record(9, 0, 0) };
        let records = [record(7, 0, 512), record(3, (1 << 20) - 512, 1024), record(3, 0, 512), flush];
        let devices = laid(&records);
        let places: Vec<(u32, u64, u64)> = devices
            .devices()
            .iter()
            .map(|placed| (placed.device, placed.begin_bytes, placed.length_bytes))
            .collect();
        assert_eq!(places, [(3, 0, 2 << 20), (7, 2 << 20, 1 << 20), (9, 3 << 20, 0)]);
        assert_eq!(devices.place(records[0]).offset_bytes, 2 << 20);
        assert_eq!((devices.place(flush).device, devices.place(flush).offset_bytes), (0, 0));
    }

    #[test]
    fn addresses_have_an_end() {
        let mut extents = Extents::default();
        (0..3).for_each(|device| extents.add(&record(device, 1 << 62, 512)));
        assert_eq!(SideBySide::new(&extents), Err(TooFar { devices: 3 }));
        extents.add(&record(9, u64::MAX, u64::MAX));
        assert!(SideBySide::new(&extents).is_err());
    }

    proptest! {
        #[test]
        fn requests_meet_exactly_where_they_did(
            requests in prop::collection::vec((0u32..5, 0u64..10_000_000, 1u64..3_000_000), 2..20)
        ) {
            let records: Vec<Record> = requests.iter().map(|&(d, o, l)| record(d, o, l)).collect();
            let devices = laid(&records);
            let meets = |a: &Record, b: &Record| {
                a.offset_bytes < b.offset_bytes + b.length_bytes && b.offset_bytes < a.offset_bytes + a.length_bytes
            };
            for a in &records {
                for b in &records {
                    let (now_a, now_b) = (devices.place(*a), devices.place(*b));
                    prop_assert_eq!(meets(&now_a, &now_b), a.device == b.device && meets(a, b));
                    if a.device == b.device {
                        prop_assert_eq!(
                            now_a.offset_bytes.wrapping_sub(now_b.offset_bytes),
                            a.offset_bytes.wrapping_sub(b.offset_bytes)
                        );
                    }
                    prop_assert_eq!(now_a.offset_bytes % 4096, a.offset_bytes % 4096);
                }
            }
        }
    }
}
