//! An access that may be answered from several dies, from its arrival to the end of its last flash operation.

use crate::event::Ticket;
use crate::ids::{DieId, Lpn};
use crate::nand::{Owner, Read};
use flashlane_replication::{Candidate, Slot};

/// What a call does.
#[derive(Debug)]
pub(super) enum Kind {
    Read {
        read: Read,
        /// Where it can still be asked for.
        places: Vec<Candidate>,
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

/// An access that may be answered from several dies.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) lpn: Lpn,
    /// The die of its own place.
    pub(super) die: DieId,
    /// Whose access it is.
    pub(super) owner: Owner,
    pub(super) kind: Kind,
    /// Reads of flash, or the program of its own place, that have not ended.
    pub(super) under_way: u32,
    /// Flash operations so far, those of its copies included.
    pub(super) operations: u32,
    pub(super) answered: bool,
    /// The timer of its delay.
    pub(super) timer: Ticket,
    /// Its place in the order of all calls and trims; see `versions`.
    pub(super) number: u64,
}
