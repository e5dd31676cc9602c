//! Reads that have not completed: gets, and scans (`scans`).

use crate::error::ReadFailure;
use crate::operation::{Pending, Ticket};
use crate::patch::Patch;
use crate::scans::Scan;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Reads that have not completed.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    gets: BTreeMap<Ticket, Get>,
    scans: BTreeMap<Ticket, Scan>,
}

/// A get that has not completed.
#[derive(Debug)]
pub(crate) struct Get {
    pub(crate) pending: Pending,
    pub(crate) key: Vec<u8>,
    /// The newest write that it sees.
    pub(crate) sequence: u64,
    /// The patch that is being read, and those to be read after it.
    pub(crate) reading: Option<Arc<Patch>>,
    pub(crate) candidates: VecDeque<Arc<Patch>>,
    pub(crate) restarts: u32,
    pub(crate) value: Option<PiecesRead>,
}

/// A value in pieces that is being read.
#[derive(Debug)]
pub(crate) struct PiecesRead {
    pub(crate) ids: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expiry_ms: Option<u64>,
    pub(crate) next: usize,
    pub(crate) in_flight: usize,
    pub(crate) failure: Option<ReadFailure>,
    /// The snapshot that keeps the pieces.
    pub(crate) snapshot: u64,
}

impl Reads {
    /// Returns whether no read waits for anything.
    pub(crate) fn are_settled(&self) -> bool {
        self.gets.is_empty() && self.scans.is_empty()
    }

    /// Adds a get that waits for a read.
    pub(crate) fn add_get(&mut self, get: Get) {
        self.gets.insert(get.pending.ticket, get);
    }

    /// Removes a get whose read has ended.
    pub(crate) fn take_get(&mut self, ticket: Ticket) -> Get {
        self.gets.remove(&ticket).expect("a get that reads")
    }

    /// Returns the pieces that a get reads.
    pub(crate) fn pieces(&mut self, ticket: Ticket) -> &mut PiecesRead {
        let get = self.gets.get_mut(&ticket).expect("a get that reads");
        get.value.as_mut().expect("a get that reads pieces")
    }

    /// Adds a scan that waits for reads.
    pub(crate) fn add_scan(&mut self, scan: Scan) {
        self.scans.insert(scan.pending.ticket, scan);
    }

    /// Removes a scan; `None` where it has ended.
    pub(crate) fn take_scan(&mut self, ticket: Ticket) -> Option<Scan> {
        self.scans.remove(&ticket)
    }
}
