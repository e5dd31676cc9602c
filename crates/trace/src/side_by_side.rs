//! Concatenates the address spaces of a trace's devices into one.
//!
//! A trace does not give the sizes of its devices, so each gets the highest end of its requests, rounded up to
//! [`ALIGN_BYTES`]; they are concatenated in the order of their numbers. Requests of different devices thus never
//! overlap, and those of one device keep their distances. The sizes take a pass over the trace, and memory per device,
//! whose number [`open`](crate::open) bounds.

use crate::Record;
use flashlane_base::Operation;
use std::collections::BTreeMap;

/// Each device begins at a multiple of this, larger than any device's unit, so that alignment is kept.
const ALIGN_BYTES: u64 = 1 << 20;
/// Limit of addresses, as in a trace.
const END_BYTES: u64 = 1 << 63;

/// Highest end of the requests of each device.
#[derive(Clone, Debug, Default)]
pub struct Extents(BTreeMap<u32, u64>);

/// Start of each device in the common address space.
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
    /// Its length: the highest end of its requests, rounded up.
    pub length_bytes: u64,
}

/// The devices exceed the address space.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "laid side by side, the trace's {devices} devices would reach beyond 8 EiB; allowed: less; ask for one of them by its \
     number"
)]
pub struct TooFar {
    /// Number of devices.
    pub devices: usize,
}

impl Extents {
    /// Adds a request.
    pub fn add(&mut self, record: &Record) {
        let end = self.0.entry(record.device).or_insert(0);
        if record.operation != Operation::Flush {
            *end = (*end).max(record.offset_bytes.saturating_add(record.length_bytes));
        }
    }
}

impl SideBySide {
    /// Concatenates the devices.
    ///
    /// # Errors
    /// [`TooFar`] where they exceed the address space.
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

    /// Returns the devices in their order.
    pub fn devices(&self) -> &[Placed] {
        &self.placed
    }

    /// Translates a request to the common address space, device 0. A device not seen before, in a trace that has
    /// changed since, keeps its addresses.
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
    fn too_large_devices_are_refused() {
        let mut extents = Extents::default();
        (0..3).for_each(|device| extents.add(&record(device, 1 << 62, 512)));
        assert_eq!(SideBySide::new(&extents), Err(TooFar { devices: 3 }));
        extents.add(&record(9, u64::MAX, u64::MAX));
        assert!(SideBySide::new(&extents).is_err());
    }

    proptest! {
        #[test]
        fn overlaps_of_requests_are_kept(
            requests in prop::collection::vec((0u32..5, 0u64..10_000_000, 1u64..3_000_000), 2..20)
        ) {
            let records: Vec<Record> = requests.iter().map(|&(d, o, l)| record(d, o, l)).collect();
            let devices = laid(&records);
            let overlaps = |a: &Record, b: &Record| {
                a.offset_bytes < b.offset_bytes + b.length_bytes && b.offset_bytes < a.offset_bytes + a.length_bytes
            };
            for a in &records {
                for b in &records {
                    let (now_a, now_b) = (devices.place(*a), devices.place(*b));
                    prop_assert_eq!(overlaps(&now_a, &now_b), a.device == b.device && overlaps(a, b));
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
