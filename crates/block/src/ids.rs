//! Numbers that must not repeat: ids of blocks and sequence numbers.
//!
//! Invariants:
//! - [`IdAllocator::next`] is above every id that was ever given out, accepted by a put or found on the device.
//! - Where units are damaged, or no superblock is found, ids that were given out are unknown. Opening then adds a gap,
//!   and no block may be put before a superblock records `next` as it was after the gap (`pending_floor`): the next
//!   opening would add its gap to the same number, and give the same ids out again.
//! - A put may choose an id up to [`CHOSEN_ID_MAX`], or one below the next fresh one, so that fresh ids are always left
//!   above those that were chosen. A device that an earlier version wrote may hold a chosen id above, up to
//!   [`ID_MAX`](crate::ID_MAX); where none is left above it, fresh ids are used up.
//! - A sequence number is used for one write. Opening adds a gap, since writes that a power cut interrupted used
//!   numbers that are not found. No number above [`SEQUENCE_MAX`] is written, and a header with one is taken for
//!   damaged: 2³¹ openings lie below it. Where a header says that less than an opening may use is left, nothing is
//!   written.

use crate::header::{ID_MAX, SEQUENCE_MAX};

/// The highest id that a put may choose: half of all ids are left for fresh ones above it.
pub const CHOSEN_ID_MAX: u64 = (1 << 63) - 1;
/// Gap added to sequence numbers at each opening, and to ids where some are unknown: more than can be used between two
/// openings.
const GAP: u64 = 1 << 32;

/// Gives out ids of blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdAllocator {
    next: u64,
    /// The id floor that a superblock must record before a block is put; 0 where there was no gap.
    pending_floor: u64,
}

impl IdAllocator {
    /// An allocator whose ids begin at the floor of a superblock.
    pub(crate) fn from_floor(floor: u64) -> Self {
        Self { next: floor, pending_floor: 0 }
    }

    /// Returns the id that is given out next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the id floor that a superblock must record before a block is put.
    pub(crate) fn pending_floor(&self) -> u64 {
        self.pending_floor
    }

    /// Returns whether a put may use this id: one that was given out or lies below such, or one that leaves fresh ids
    /// above.
    pub(crate) fn may_put(&self, id: u64) -> bool {
        id <= ID_MAX && (id < self.next || id <= CHOSEN_ID_MAX)
    }

    /// Returns whether no fresh id is left.
    pub(crate) fn are_used_up(&self) -> bool {
        self.next > ID_MAX
    }

    /// Gives out an id.
    pub(crate) fn allocate(&mut self) -> u64 {
        let id = self.next;
        self.next = id.saturating_add(1);
        assert!(self.next >= self.pending_floor, "id {id} lies below the gap");
        id
    }

    /// Notes an id that is in use or was: fresh ids are above it.
    pub(crate) fn note_used(&mut self, id: u64) {
        self.next = self.next.max(id.saturating_add(1));
        assert!(self.next > id || id == u64::MAX, "id {id} would be given out again");
    }

    /// Adds the gap above ids that damaged units may have held.
    pub(crate) fn add_gap(&mut self) {
        assert_eq!(self.pending_floor, 0, "an opening adds one gap");
        self.next = self.next.saturating_add(GAP);
        self.pending_floor = self.next;
    }
}

/// Gives out sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceCounter {
    next: u64,
}

impl SequenceCounter {
    /// Continues behind `newest`, the highest sequence number found on the device.
    pub(crate) fn after(newest: u64) -> Self {
        assert!(newest <= SEQUENCE_MAX, "sequence {newest} is no sound header's");
        Self { next: newest + GAP }
    }

    /// Returns whether numbers for all writes until the next opening are left.
    pub(crate) fn are_left(&self) -> bool {
        self.next <= SEQUENCE_MAX - GAP
    }

    /// Gives out a sequence number.
    pub(crate) fn allocate(&mut self) -> u64 {
        let sequence = self.next;
        assert!(sequence <= SEQUENCE_MAX, "the write of sequence {sequence} could not be read");
        self.next += 1;
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_above_every_used_one() {
        let mut ids = IdAllocator::from_floor(5);
        ids.note_used(3);
        assert_eq!(ids.allocate(), 5);
        ids.note_used(9);
        assert_eq!((ids.allocate(), ids.pending_floor()), (10, 0));
        ids.note_used(u64::MAX);
        assert_eq!(ids.next(), u64::MAX);
    }

    #[test]
    fn gap_must_be_recorded_before_ids_above_it_are_used() {
        let mut ids = IdAllocator::from_floor(5);
        ids.add_gap();
        assert_eq!((ids.pending_floor(), ids.allocate()), (5 + (1 << 32), 5 + (1 << 32)));
    }

    #[test]
    fn sequence_numbers_continue_behind_a_gap() {
        let mut sequence = SequenceCounter::after(7);
        assert_eq!((sequence.allocate(), sequence.allocate()), (7 + (1 << 32), 8 + (1 << 32)));
    }

    #[test]
    fn chosen_ids_leave_room_for_fresh_ones() {
        let mut ids = IdAllocator::from_floor(5);
        assert!(ids.may_put(CHOSEN_ID_MAX) && !ids.may_put(CHOSEN_ID_MAX + 1));
        ids.note_used(CHOSEN_ID_MAX);
        let fresh = ids.allocate();
        assert_eq!(fresh, CHOSEN_ID_MAX + 1);
        assert!(ids.may_put(fresh) && !ids.may_put(fresh + 1) && !ids.are_used_up());
        // As an earlier version took it.
        ids.note_used(ID_MAX);
        assert!(ids.are_used_up() && ids.may_put(ID_MAX) && !ids.may_put(u64::MAX));
    }

    #[test]
    fn sequence_numbers_near_their_end_leave_none_for_an_opening() {
        assert!(SequenceCounter::after(SEQUENCE_MAX - 2 * GAP).are_left());
        assert!(!SequenceCounter::after(SEQUENCE_MAX - 2 * GAP + 1).are_left());
        assert!(!SequenceCounter::after(SEQUENCE_MAX).are_left());
    }
}
