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
    /// Scans that read, with the memory of each.
    scans: BTreeMap<Ticket, (Scan, u64)>,
    /// Scans that wait for memory, in their order.
    waiting: VecDeque<Scan>,
    /// Bytes of memory of gets, and of scans that read.
    get_bytes: u64,
    scan_bytes: u64,
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

impl Get {
    /// Bytes of what is read, or of the value that is put together.
    fn memory_bytes(&self) -> u64 {
        let value = self.value.as_ref().map(|value| value.bytes.len() as u64);
        let group = || {
            let range = self.reading.as_ref().map_or(0..0, |patch| patch.range_of(&self.key));
            range.end - range.start
        };
        value.unwrap_or_else(group)
    }
}

impl Reads {
    /// Returns whether no read waits for anything.
    pub(crate) fn are_settled(&self) -> bool {
        self.gets.is_empty() && self.scans.is_empty() && self.waiting.is_empty()
    }

    /// Adds a get that waits for a read.
    pub(crate) fn add_get(&mut self, get: Get) {
        self.get_bytes += get.memory_bytes();
        self.gets.insert(get.pending.ticket, get);
    }

    /// Removes a get whose read has ended.
    pub(crate) fn take_get(&mut self, ticket: Ticket) -> Get {
        let get = self.gets.remove(&ticket).expect("a get that reads");
        self.get_bytes -= get.memory_bytes();
        get
    }

    /// Bytes of memory of reads: groups and values that are read or being read.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.get_bytes + self.scan_bytes
    }

    /// Bytes of groups and values that scans read or have read.
    pub(crate) fn scan_bytes(&self) -> u64 {
        self.scan_bytes
    }

    /// Returns whether a further scan may read beside those that do: all may take `budget_bytes`, and each takes
    /// `ahead_bytes` at least, more where a group is larger.
    pub(crate) fn may_scan(&self, budget_bytes: u64, ahead_bytes: u64) -> bool {
        let taken_bytes = self.scan_bytes.max(self.scans.len() as u64 * ahead_bytes);
        self.scans.is_empty() || taken_bytes + ahead_bytes <= budget_bytes
    }

    /// Adds a scan that waits for memory.
    pub(crate) fn add_waiting(&mut self, scan: Scan) {
        self.waiting.push_back(scan);
    }

    /// Takes the scan that has waited longest, if it may read now.
    pub(crate) fn take_waiting(&mut self, budget_bytes: u64, ahead_bytes: u64) -> Option<Scan> {
        if self.may_scan(budget_bytes, ahead_bytes) { self.waiting.pop_front() } else { None }
    }

    /// Returns whether a scan waits for memory.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the pieces that a get reads.
    pub(crate) fn pieces(&mut self, ticket: Ticket) -> &mut PiecesRead {
        let get = self.gets.get_mut(&ticket).expect("a get that reads");
        get.value.as_mut().expect("a get that reads pieces")
    }

    /// Adds a scan that waits for reads.
    pub(crate) fn add_scan(&mut self, scan: Scan) {
        let bytes = scan.memory_bytes();
        self.scan_bytes += bytes;
        self.scans.insert(scan.pending.ticket, (scan, bytes));
    }

    /// Removes a scan; `None` where it has ended.
    pub(crate) fn take_scan(&mut self, ticket: Ticket) -> Option<Scan> {
        let (scan, bytes) = self.scans.remove(&ticket)?;
        self.scan_bytes -= bytes;
        Some(scan)
    }
}
