//! The superblock store: two copies on different lanes, written anew when something in them changes.
//!
//! Invariants:
//! - At most one renewal is in progress. It writes new copies before the old ones are erased, and one copy is enough to
//!   open the device.
//! - `recorded_floor` and `retired` are durable only as far as a completed renewal has recorded them: `recorded_floor`
//!   is what the newest durable copies say, and `is_stale` is set while they lack something.
//! - Blocks leave enough units for two copies and the two that replace them
//!   ([`units_needed`](SuperblockStore::units_needed)).
//!
//! The superblock changes rarely: when the block with the highest id is deleted (after a power cut its header would no
//! longer show that the id was given out), when ids have a gap since some are unknown, and when a unit failed that the
//! device does not report as bad. The copies lie in different thirds of the device where units are erased there.

use crate::error::PutFailure;
use crate::header::{Superblock, retired_max};
use crate::layout::{Layout, Region, UnitAddress};
use crate::operation::{SuperblockWrite, Write};
use flashlane_device::Buffer;
use std::collections::BTreeSet;

/// Copies of the superblock.
pub(crate) const COPIES: usize = 2;

/// Renewals in a row that may fail before they wait for a further operation: each tries several units, and a device
/// that fails all writes would be worn out by more.
const RENEWALS_FAILED_MAX: u32 = 4;

/// The superblock: where its copies lie, what they record, and their renewal.
#[derive(Clone, Debug, Default)]
pub(crate) struct SuperblockStore {
    /// Id floor that the durable copies record.
    recorded_floor: u64,
    /// Units of the durable copies.
    copies: Vec<UnitAddress>,
    /// Whether none was found, so that it follows from the headers of blocks.
    is_rebuilt: bool,
    /// Whether a log on another device belongs to the blocks.
    has_log: bool,
    /// Units that failed without the device reporting them as bad.
    retired: BTreeSet<UnitAddress>,
    renewal: Option<Renewal>,
    /// Whether the durable copies, and those being written, lack a change.
    is_stale: bool,
    /// Why the last copy that failed did.
    last_failure: Option<PutFailure>,
    /// Renewals that failed since one succeeded.
    renewals_failed: u32,
}

/// New copies that are being written.
#[derive(Clone, Debug)]
struct Renewal {
    floor: u64,
    copies: usize,
    unfinished: usize,
    written: Vec<UnitAddress>,
}

impl SuperblockStore {
    /// The superblock of a device that is formatted.
    pub(crate) fn new(has_log: bool) -> Self {
        Self { has_log, ..Self::default() }
    }

    /// The superblock as found on the device, with the units of its newest copies.
    pub(crate) fn found(superblock: Superblock, copies: Vec<UnitAddress>, is_rebuilt: bool) -> Self {
        // A lost copy is replaced with the first write.
        let is_stale = copies.len() < COPIES;
        Self {
            recorded_floor: superblock.id_floor,
            copies,
            is_rebuilt,
            has_log: superblock.has_log,
            retired: superblock.retired.into_iter().collect(),
            renewal: None,
            is_stale,
            last_failure: None,
            renewals_failed: 0,
        }
    }

    /// Returns the units that hold the durable copies.
    pub(crate) fn copies(&self) -> &[UnitAddress] {
        &self.copies
    }

    /// Returns whether the device has none, and what it would say follows from the headers of blocks.
    pub(crate) fn is_rebuilt(&self) -> bool {
        self.is_rebuilt && self.copies.is_empty()
    }

    /// Returns why there is no copy, if there is none.
    pub(crate) fn missing(&self) -> Option<PutFailure> {
        self.copies.is_empty().then(|| self.last_failure.unwrap_or(PutFailure::NoUnit))
    }

    /// Returns the id floor that the durable copies record.
    pub(crate) fn recorded_floor(&self) -> u64 {
        self.recorded_floor
    }

    pub(crate) fn has_log(&self) -> bool {
        self.has_log
    }

    pub(crate) fn retired(&self) -> &BTreeSet<UnitAddress> {
        &self.retired
    }

    pub(crate) fn is_renewing(&self) -> bool {
        self.renewal.is_some()
    }

    /// Returns the number of units that blocks must leave: for two copies and the two that replace them, without those
    /// that hold a copy or are being written.
    pub(crate) fn units_needed(&self) -> u64 {
        let coming = self.renewal.as_ref().map_or(0, |renewal| renewal.copies);
        (2 * COPIES).saturating_sub(self.copies.len() + coming) as u64
    }

    /// Adds a unit that is not used any more. The next renewal makes this durable.
    pub(crate) fn retire(&mut self, address: UnitAddress) {
        assert!(!self.copies.contains(&address), "{address:?} holds a copy of the superblock");
        self.is_stale |= self.retired.insert(address);
    }

    /// Requests a renewal.
    pub(crate) fn mark_stale(&mut self) {
        self.is_stale = true;
        self.try_again();
    }

    /// Returns whether a renewal should begin: the copies lack a change, or the erase of block `deleting`, the highest
    /// that is being deleted, waits for a floor above its id. After [`RENEWALS_FAILED_MAX`] failed ones none is due
    /// before [`try_again`](Self::try_again).
    pub(crate) fn is_due(&self, deleting: Option<u64>, recorded_below: u64) -> bool {
        self.renewal.is_none()
            && self.renewals_failed < RENEWALS_FAILED_MAX
            && (self.is_stale || deleting.is_some_and(|id| id >= recorded_below))
    }

    /// A further operation was accepted: a renewal may be tried once more.
    pub(crate) fn try_again(&mut self) {
        self.renewals_failed = self.renewals_failed.min(RENEWALS_FAILED_MAX - 1);
    }

    /// Begins a renewal that records `floor`, with a copy for each of `targets`: a lane, and the region it prefers.
    /// Returns the writes.
    pub(crate) fn start_renewal(
        &mut self,
        layout: &Layout,
        floor: u64,
        sequence: u64,
        targets: &[(u32, Region)],
    ) -> Vec<(u32, Write)> {
        assert!(self.renewal.is_none(), "one renewal at a time");
        assert!(!targets.is_empty() && targets.len() <= COPIES, "{} copies", targets.len());
        assert!(floor >= self.recorded_floor, "the id floor falls from {} to {floor}", self.recorded_floor);
        // Units beyond what the header has room for are forgotten at the next opening. They are torn, so they are
        // erased before a block is written to them, fail again and are retired again.
        let mut retired: Vec<UnitAddress> = self.retired.iter().copied().collect();
        retired.truncate(retired_max(layout));
        let &Layout { lanes, units, unit_bytes, granule_bytes, .. } = layout;
        let (id_floor, has_log) = (floor, self.has_log);
        let superblock = Superblock { lanes, units, unit_bytes, granule_bytes, id_floor, has_log, retired };
        self.is_stale = false;
        self.renewal =
            Some(Renewal { floor, copies: targets.len(), unfinished: targets.len(), written: Vec::new() });
        let write = |&(lane, region): &(u32, Region)| {
            let (superblock, buffer) = (superblock.clone(), Buffer::zeroed(unit_bytes as usize));
            (lane, Write::Superblock(SuperblockWrite { superblock, buffer, sequence, attempts: 0, region }))
        };
        targets.iter().map(write).collect()
    }

    /// A copy is durable, or failed wherever it was tried. Once the renewal ends with at least one copy, returns the
    /// units of the old ones.
    pub(crate) fn copy_ended(&mut self, result: Result<UnitAddress, PutFailure>) -> Option<Vec<UnitAddress>> {
        let renewal = self.renewal.as_mut().expect("a copy belongs to a renewal");
        assert!(renewal.unfinished > 0, "the renewal has no unfinished copy");
        self.last_failure = result.err().or(self.last_failure);
        renewal.written.extend(result);
        renewal.unfinished -= 1;
        if renewal.unfinished > 0 {
            return None;
        }
        let Renewal { floor, mut written, .. } = self.renewal.take().expect("it is in progress");
        if written.is_empty() {
            self.is_stale = true;
            self.renewals_failed += 1;
            return None;
        }
        self.renewals_failed = 0;
        assert!(floor >= self.recorded_floor, "the id floor falls from {} to {floor}", self.recorded_floor);
        self.recorded_floor = floor;
        let mut old = std::mem::take(&mut self.copies);
        // If one of the new copies failed, an old one is kept as the second.
        while written.len() < COPIES
            && let Some(address) = old.pop()
        {
            written.push(address);
        }
        self.copies = written;
        Some(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout =
        Layout { lanes: 2, units: 8, unit_bytes: 4096, granule_bytes: 512, header_bytes: 512, granules: 6 };

    fn at(unit: u32) -> UnitAddress {
        UnitAddress { lane: 0, unit }
    }

    fn two_copies() -> SuperblockStore {
        let superblock = Superblock {
            lanes: 2,
            units: 8,
            unit_bytes: 4096,
            granule_bytes: 512,
            id_floor: 10,
            has_log: true,
            retired: Vec::new(),
        };
        SuperblockStore::found(superblock, vec![at(0), at(7)], false)
    }

    #[test]
    fn floor_is_recorded_once_a_copy_is_durable() {
        let mut store = two_copies();
        assert!(!store.is_due(Some(9), 10) && store.is_due(Some(10), 10));
        assert_eq!(store.units_needed(), 2);
        let writes = store.start_renewal(&LAYOUT, 20, 3, &[(0, Region::Front), (1, Region::Back)]);
        assert_eq!((writes.len(), store.units_needed(), store.recorded_floor()), (2, 0, 10));
        let is_marked =
            |(_, write): &(u32, Write)| matches!(write, Write::Superblock(write) if write.superblock.has_log);
        assert!(writes.iter().all(is_marked), "a renewal keeps the mark of a log");
        assert_eq!(store.copy_ended(Ok(at(1))), None);
        assert_eq!((store.recorded_floor(), store.is_due(Some(10), 10)), (10, false));
        // The old copy that stays is the second one.
        assert_eq!(store.copy_ended(Err(PutFailure::NoUnit)), Some(vec![at(0)]));
        assert_eq!((store.recorded_floor(), store.copies()), (20, &[at(1), at(7)][..]));
    }

    #[test]
    fn failed_renewal_keeps_the_old_copies_and_is_due_again() {
        let mut store = two_copies();
        store.retire(at(3));
        assert!(store.is_due(None, 10));
        store.start_renewal(&LAYOUT, 20, 3, &[(0, Region::Front)]);
        assert_eq!(store.copy_ended(Err(PutFailure::NoUnit)), None);
        assert_eq!((store.recorded_floor(), store.copies().len(), store.is_due(None, 10)), (10, 2, true));
    }

    #[test]
    fn renewals_that_fail_wait_for_an_operation() {
        let mut store = two_copies();
        store.mark_stale();
        let fail = |store: &mut SuperblockStore| {
            store.start_renewal(&LAYOUT, 20, 3, &[(0, Region::Front)]);
            assert_eq!(store.copy_ended(Err(PutFailure::NoUnit)), None);
        };
        (0..RENEWALS_FAILED_MAX).for_each(|_| fail(&mut store));
        assert!(!store.is_due(Some(10), 10), "no renewal follows by itself");
        store.try_again();
        assert!(store.is_due(None, 10), "an operation tries it again");
        fail(&mut store);
        assert!(!store.is_due(None, 10), "once");
        store.try_again();
        store.start_renewal(&LAYOUT, 20, 3, &[(0, Region::Front)]);
        store.copy_ended(Ok(at(1)));
        store.mark_stale();
        fail(&mut store);
        assert!(store.is_due(None, 10), "one that succeeded ends the row");
    }
}
