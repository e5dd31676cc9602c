//! Reads that have not completed: gets, and scans with what they gather.

use crate::container::Container;
use crate::cursor::Cursor;
use crate::entry::{Body, Version};
use crate::error::ReadFailure;
use crate::operation::{Item, Page, Pending, Ticket};
use crate::patch::Patch;
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

/// A scan that has not completed.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) pending: Pending,
    /// The newest write that it sees, kept by the scan's own snapshot.
    pub(crate) sequence: u64,
    pub(crate) slice: u32,
    /// Keys below are done.
    pub(crate) position: Vec<u8>,
    /// The first key that is not wanted; `None` for all.
    pub(crate) end: Option<Vec<u8>>,
    pub(crate) items_max: u64,
    pub(crate) bytes_max: u64,
    pub(crate) bytes: u64,
    pub(crate) cursors: Vec<Cursor>,
    /// The key that is being gathered, with its newest version so far: where versions of it exceed a patch, older ones
    /// begin the next.
    pub(crate) gathering: Option<(Vec<u8>, Option<Version>)>,
    /// The slice's structure for which the cursors were made.
    pub(crate) structure: Option<u64>,
    pub(crate) page: Page,
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

/// Returns where a scan goes on: as far behind its position as is known to be empty, so that the groups before are not read again.
pub(crate) fn next_position<'a>(scan: &Scan, containers: impl Iterator<Item = &'a Container>) -> Vec<u8> {
    let in_memory = containers
        .filter_map(|container| container.range(&scan.position, scan.sequence).next())
        .map(|(key, _)| key.to_vec());
    let next = in_memory.chain(scan.cursors.iter().filter_map(Cursor::bound)).min();
    next.filter(|next| *next > scan.position).unwrap_or_else(|| scan.position.clone())
}

/// Gathers the versions of the next key of a scan, as far as they are read, if there is one before the end of the slice or of the
/// scan.
pub(crate) fn gather<'a>(scan: &mut Scan, containers: impl Iterator<Item = &'a Container>) {
    if scan.gathering.is_none() {
        let in_memory: Vec<(&[u8], &Version)> = containers
            .filter_map(|container| container.range(&scan.position, scan.sequence).next())
            .collect();
        let stored = scan.cursors.iter().filter_map(Cursor::peek).map(|entry| entry.key);
        let Some(key) = in_memory.iter().map(|(key, _)| *key).chain(stored).min() else { return };
        if scan.end.as_ref().is_some_and(|end| *key >= **end) {
            return;
        }
        let newest = in_memory.iter().find(|(own, _)| *own == key).map(|(_, version)| (*version).clone());
        scan.gathering = Some((key.to_vec(), newest));
    }
    let Some((key, newest)) = &mut scan.gathering else { unreachable!("a key is being gathered") };
    for cursor in &mut scan.cursors {
        while cursor.peek().is_some_and(|entry| entry.key == *key) {
            let held = cursor.pop().expect("an entry was seen");
            let entry = held.entry();
            let is_newer = newest.as_ref().is_none_or(|newest| newest.sequence < entry.sequence);
            if entry.sequence <= scan.sequence && is_newer {
                *newest = Some(entry.version());
            }
        }
    }
}

/// Returns a version as an item of a page; `None` for a tombstone.
pub(crate) fn item(key: Vec<u8>, version: Version) -> Option<Item> {
    let expiry_ms = version.expires();
    match version.body {
        Body::Value(value) => {
            let value = Arc::unwrap_or_clone(value);
            Some(Item { key, value_bytes: value.len() as u64, value: Some(value), expiry_ms })
        }
        Body::Pieces(pieces) => Some(Item { key, value: None, value_bytes: pieces.value_bytes, expiry_ms }),
        Body::Tombstone => None,
    }
}
