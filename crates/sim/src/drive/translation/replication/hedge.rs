//! Hedged accesses: done on several dies where the first does not end by its deadline.
//!
//! A hedged access stays from its arrival until its last flash operation has ended, also after it has completed.

use super::super::tasks::HEDGE;
use crate::event::Timer;
use crate::ids::{DieId, Lpn, ids};
use crate::nand::{Owner, Read};
use flashlane_replication::{Candidate, Slot};

ids! {
    /// An access to a mapping unit that may have copies.
    HedgeSlot;
}

impl HedgeSlot {
    pub(super) fn owner(self) -> Owner {
        Owner::Task(HEDGE, self.0)
    }
}

#[derive(Debug)]
pub(super) enum HedgeKind {
    Read {
        read: Read,
        /// Where it has not been read from yet.
        candidates: Vec<Candidate>,
        /// Whether it is replicated once it is read.
        replicates: bool,
    },
    Write {
        /// Whether it was blocked.
        blocked: bool,
        /// Its copies, queued or written, and whether each is on flash.
        copies: Vec<(Slot, bool)>,
    },
}

/// An access to a mapping unit that may have copies.
#[derive(Debug)]
pub(super) struct HedgedAccess {
    pub(super) lpn: Lpn,
    /// The die of the unit's home.
    pub(super) home: DieId,
    /// Whose access it is.
    pub(super) owner: Owner,
    pub(super) kind: HedgeKind,
    /// Flash reads, or the program of the home, that have not ended.
    pub(super) under_way: u32,
    /// Flash operations so far, those of its copies included.
    pub(super) operations: u32,
    pub(super) is_complete: bool,
    /// The timer of its next deadline.
    pub(super) timer: Timer,
    /// Its place in the order of all hedged accesses and trims; see `versions`.
    pub(super) number: u64,
}
