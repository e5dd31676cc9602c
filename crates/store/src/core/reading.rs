//! The path of a read.
//!
//! A get looks into the containers, then into the patches that may hold its key, from the newest to the oldest; each
//! costs one read of the device unless the cache has the group, and the filters spare nearly all that do not hold it. A
//! scan merges the containers with a cursor for each run. Both see the patches that were there when they looked; where
//! a merge has deleted one meanwhile, they look again.

use super::Core;
use crate::bytes::Reader;
use crate::cache::READ_BYTES_MAX;
use crate::cursor::ReadBytes;
use crate::entry::{Body, EntryRef, Malformed, Pieces, Version};
use crate::error::{Gap, ReadFailure, ScanFailure};
use crate::operation::{Outcome, Snapshot, Ticket, Value};
use crate::reads::{Get, PiecesRead};
use crate::routes::Purpose;
use crate::scans::{Request, Scan, item};
use crate::writes::PIECES_IN_FLIGHT;
use flashlane_block::{BlockBytes, GetFailure};
use flashlane_device::DataDevice;
use std::collections::VecDeque;
use std::sync::Arc;

/// Times that a read looks again where blocks were deleted under it.
const RESTARTS: u32 = 16;

/// Returns the newest version of `key` up to `sequence` in the bytes of a group.
fn find(bytes: &[u8], key: &[u8], sequence: u64) -> Result<Option<Version>, Malformed> {
    let mut reader = Reader::new(bytes);
    while let Some(entry) = EntryRef::read(&mut reader)? {
        if entry.key == key && entry.sequence <= sequence {
            return Ok(Some(entry.version()));
        }
        if entry.key > key {
            break;
        }
    }
    Ok(None)
}

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    pub(crate) fn get(&mut self, key: &[u8], snapshot: Option<Snapshot>) -> Ticket {
        let pending = self.accept();
        let sequence = snapshot.map_or(u64::MAX, |snapshot| snapshot.0);
        self.start_get(Get {
            pending,
            key: key.to_vec(),
            sequence,
            reading: None,
            candidates: VecDeque::new(),
            restarts: 0,
            value: None,
        });
        pending.ticket
    }

    fn start_get(&mut self, mut get: Get) {
        let slice = &self.slices[self.slice_of(&get.key) as usize];
        if let Some(version) = slice.in_memory(&get.key, get.sequence) {
            let version = version.clone();
            return self.resolve(get, Some(version));
        }
        get.candidates = slice.candidates(&get.key).into();
        self.read_candidate(get);
    }

    fn read_candidate(&mut self, mut get: Get) {
        let Some(patch) = get.candidates.pop_front() else { return self.resolve(get, None) };
        let (ticket, id, range) = (get.pending.ticket, patch.id, patch.range_of(&get.key));
        get.reading = Some(patch);
        if let Some(group) = self.cache.get(id, range.start) {
            let found = find(group, &get.key, get.sequence);
            self.counters.get_reads_cached += 1;
            return self.found(get, found);
        }
        match self.read_block(id, range, Purpose::Get(ticket)) {
            Ok(()) => {
                self.counters.get_reads += 1;
                self.reads.add_get(get);
            }
            Err(ReadFailure::Missing { id }) => self.restart(get, id),
            Err(failure) => self.finish(get.pending, Outcome::Get(Err(failure))),
        }
    }

    /// Looks again, since block `id` was deleted meanwhile.
    fn restart(&mut self, mut get: Get, id: u64) {
        get.restarts += 1;
        (get.reading, get.value) = (None, None);
        if get.restarts > RESTARTS {
            return self.finish(get.pending, Outcome::Get(Err(ReadFailure::Missing { id })));
        }
        self.start_get(get);
    }

    pub(super) fn get_read(&mut self, ticket: Ticket, result: Result<BlockBytes, GetFailure>) {
        let get = self.reads.take_get(ticket);
        let patch = get.reading.clone().expect("a get reads a patch");
        let data = match result {
            Err(failure) => {
                return self.finish(get.pending, Outcome::Get(Err(ReadFailure::Block(failure))));
            }
            Ok(data) => data,
        };
        self.fit_cache();
        self.cache.insert(patch.id, patch.range_of(&get.key).start, data.as_slice());
        let found = find(data.as_slice(), &get.key, get.sequence);
        self.blocks.reuse(data);
        self.found(get, found);
    }

    /// Goes on with a get whose patch holds this version of its key, or none.
    fn found(&mut self, get: Get, found: Result<Option<Version>, Malformed>) {
        match found {
            Err(Malformed) => {
                let patch = get.reading.as_ref().expect("a get reads a patch");
                let offset_bytes = patch.range_of(&get.key).start;
                let failure = ReadFailure::Malformed { id: patch.id, offset_bytes };
                self.finish(get.pending, Outcome::Get(Err(failure)));
            }
            Ok(Some(version)) => self.resolve(get, Some(version)),
            Ok(None) => self.read_candidate(get),
        }
    }

    /// Completes a get that found this version, or reads its pieces.
    fn resolve(&mut self, mut get: Get, version: Option<Version>) {
        // A tombstone, or a value that has expired, is as new as any that is found.
        if let Some(loss) = self.loss_of(&get.key, version.as_ref().map(|version| version.sequence)) {
            let failure = ReadFailure::MayBeLost(Box::new(loss));
            return self.finish(get.pending, Outcome::Get(Err(failure)));
        }
        let version = version.filter(|version| !version.is_absent(self.now_ms));
        let expiry_ms = version.as_ref().and_then(Version::expires);
        match version.map(|version| version.body) {
            None | Some(Body::Tombstone) => self.finish(get.pending, Outcome::Get(Ok(None))),
            Some(Body::Value(bytes)) => {
                let bytes = Arc::unwrap_or_clone(bytes);
                self.finish(get.pending, Outcome::Get(Ok(Some(Value { bytes, expiry_ms }))));
            }
            Some(Body::Pieces(pieces)) => {
                let Pieces { value_bytes, ids, tail } = *pieces;
                let mut bytes = vec![0; value_bytes as usize];
                let before_tail = bytes.len() - tail.len();
                bytes[before_tail..].copy_from_slice(&tail);
                // What is found now stays while the value is read.
                let snapshot = get.sequence.min(self.last_sequence);
                self.snapshots.add(snapshot);
                get.value = Some(PiecesRead {
                    ids,
                    bytes,
                    expiry_ms,
                    next: 0,
                    in_flight: 0,
                    failure: None,
                    snapshot,
                });
                let ticket = get.pending.ticket;
                self.reads.add_get(get);
                self.read_pieces(ticket);
            }
        }
    }

    fn read_pieces(&mut self, ticket: Ticket) {
        let piece_bytes = self.piece_bytes();
        loop {
            let value = self.reads.pieces(ticket);
            if value.in_flight >= PIECES_IN_FLIGHT || value.failure.is_some() || value.next == value.ids.len()
            {
                break;
            }
            let (nth, id) = (value.next, value.ids[value.next]);
            // A block that is not there is refused, whatever its length.
            let block_bytes = self.blocks.info(id).map_or(0, |info| info.length_bytes);
            let length = (block_bytes + piece_bytes).saturating_sub(self.shape.block_bytes);
            let begun = self.read_block(id, 0..length, Purpose::GetPiece { get: ticket, nth });
            let value = self.reads.pieces(ticket);
            match begun {
                Ok(()) => {
                    value.next += 1;
                    value.in_flight += 1;
                }
                Err(failure) => value.failure = Some(failure),
            }
        }
        self.end_pieces(ticket);
    }

    pub(super) fn piece_read(&mut self, ticket: Ticket, nth: usize, result: Result<BlockBytes, GetFailure>) {
        let piece_bytes = self.piece_bytes() as usize;
        let value = self.reads.pieces(ticket);
        value.in_flight -= 1;
        match &result {
            Err(failure) => value.failure = Some(ReadFailure::Block(*failure)),
            Ok(data) => match value
                .bytes
                .get_mut(nth * piece_bytes..)
                .and_then(|to| to.get_mut(..data.as_slice().len()))
            {
                Some(to) => to.copy_from_slice(data.as_slice()),
                None => value.failure = Some(ReadFailure::Malformed { id: value.ids[nth], offset_bytes: 0 }),
            },
        }
        self.reuse(result);
        self.read_pieces(ticket);
    }

    /// Completes a get whose pieces are all read.
    fn end_pieces(&mut self, ticket: Ticket) {
        let value = self.reads.pieces(ticket);
        if value.in_flight > 0 || (value.failure.is_none() && value.next < value.ids.len()) {
            return;
        }
        let mut get = self.reads.take_get(ticket);
        let value = get.value.take().expect("it was found");
        self.snapshots.release(value.snapshot);
        match value.failure {
            None => {
                let PiecesRead { bytes, expiry_ms, .. } = value;
                self.finish(get.pending, Outcome::Get(Ok(Some(Value { bytes, expiry_ms }))));
            }
            Some(ReadFailure::Missing { id }) => self.restart(get, id),
            Some(failure) => self.finish(get.pending, Outcome::Get(Err(failure))),
        }
    }

    // Scans.

    pub(crate) fn scan(
        &mut self,
        start: &[u8],
        end: Option<&[u8]>,
        limits: (u64, u64),
        snapshot: Option<Snapshot>,
    ) -> Ticket {
        let pending = self.accept();
        let sequence = snapshot.map_or(self.last_sequence, |snapshot| snapshot.0);
        self.snapshots.add(sequence);
        let request = Request {
            slice: self.slice_of(start),
            sequence,
            start: start.to_vec(),
            end: end.map(<[u8]>::to_vec),
            items_max: limits.0,
            bytes_max: limits.1,
        };
        let scan = Scan::new(pending, request);
        match !self.reads.has_waiting()
            && self.reads.may_scan(self.scan_budget_bytes(), self.scan_ahead_bytes())
        {
            true => self.advance_scan(scan),
            false => self.reads.add_waiting(scan),
        }
        pending.ticket
    }

    /// Begins scans that waited for memory.
    pub(super) fn begin_waiting_scans(&mut self) {
        while let Some(scan) = self.reads.take_waiting(self.scan_budget_bytes(), self.scan_ahead_bytes()) {
            self.advance_scan(scan);
        }
    }

    pub(super) fn scan_read(
        &mut self,
        ticket: Ticket,
        (cursor, block): (usize, u64),
        structure_version: u64,
        result: Result<BlockBytes, GetFailure>,
    ) {
        // A scan that looked again, or that ended, does not need the read any more.
        let Some(mut scan) = self.reads.take_scan(ticket) else { return self.reuse(result) };
        if scan.structure_version != Some(structure_version) {
            self.reuse(result);
            self.reads.add_scan(scan);
            return;
        }
        let cursor = &mut scan.cursors[cursor];
        let groups = cursor.groups_in_flight(block);
        match result {
            Ok(data) => {
                if data.as_slice().len() as u64 <= READ_BYTES_MAX {
                    self.fit_cache();
                    for (offset, group) in cursor.groups_of(block, &data) {
                        self.cache.insert(block, offset, group);
                    }
                }
                let offset_bytes = cursor.unread_offset(block);
                match cursor.read_ended(block, ReadBytes::Device(data)) {
                    // Older versions of a key that is done may begin the next patch of a run.
                    Ok(()) => cursor.skip_to(&scan.position),
                    Err(Malformed) => {
                        cursor.note_failure(groups, ReadFailure::Malformed { id: block, offset_bytes });
                    }
                }
            }
            Err(failure) => {
                cursor.read_failed(block);
                cursor.note_failure(groups, ReadFailure::Block(failure));
            }
        }
        self.advance_scan(scan);
    }

    /// Goes on with a scan as far as entries are read.
    fn advance_scan(&mut self, mut scan: Scan) {
        loop {
            match self.read_for_scan(&mut scan) {
                // What was found stands before the gap, with which the next scan begins.
                Err(ScanFailure { gap: Some(Gap { from, .. }), .. }) if !scan.page.items.is_empty() => {
                    return self.end_scan(scan, Ok(Some(from)));
                }
                Err(failure) => return self.end_scan(scan, Err(failure)),
                Ok(false) => {}
                Ok(true) => {
                    self.reuse_spent(&mut scan.cursors);
                    self.reads.add_scan(scan);
                    return;
                }
            }
            let slice = &self.slices[scan.slice as usize];
            scan.gather(slice.containers());
            if scan.may_gather_more() {
                continue;
            }
            let Some((key, version)) = scan.gathering.take() else {
                // The slice is done. Reads of its cursors that are in flight are not needed.
                let next = scan.slice as usize + 1;
                let is_last = next == self.slices.len()
                    || scan.end.as_ref().is_some_and(|end| **end <= *self.slices[next].lower());
                if is_last {
                    return self.end_scan(scan, Ok(None));
                }
                (scan.slice, scan.structure_version) = (next as u32, None);
                scan.position = self.slices[next].lower().to_vec();
                continue;
            };
            scan.position.clone_from(&key);
            scan.position.push(0);
            let version = version.filter(|version| !version.is_absent(self.now_ms));
            let is_there = |piece| self.blocks.info(piece).is_some();
            if scan.add(version.and_then(|version| item(key, version, is_there))) {
                scan.look_up(slice.containers());
                let next = scan.next_position();
                return self.end_scan(scan, Ok(Some(next)));
            }
        }
    }

    /// Makes the cursors anew where patches or containers changed, and starts reads where the scan is blocked. Returns
    /// whether it is.
    fn read_for_scan(&mut self, scan: &mut Scan) -> Result<bool, ScanFailure> {
        let slice = &self.slices[scan.slice as usize];
        let structure_version = slice.structure_version();
        if scan.structure_version != Some(structure_version) {
            scan.restart(slice.levels().cursors(&scan.position, scan.end.as_deref()), structure_version);
        }
        scan.look_up(slice.containers());
        if !scan.is_blocked() {
            return Ok(false);
        }
        if let Some(failure) = scan.gap() {
            return Err(failure);
        }
        for (cursor, wanted) in scan.plan(&self.cache, self.scan_ahead_bytes()) {
            let purpose = Purpose::Scan { scan: scan.pending.ticket, cursor, structure_version };
            self.read_block(wanted.block, wanted.range, purpose)?;
        }
        // A group that the cache has may be malformed.
        scan.gap().map_or_else(|| Ok(scan.is_blocked()), Err)
    }

    fn end_scan(&mut self, mut scan: Scan, result: Result<Option<Vec<u8>>, ScanFailure>) {
        self.snapshots.release(scan.sequence);
        self.reuse_spent(&mut scan.cursors);
        let Scan { pending, mut page, .. } = scan;
        let outcome = result.map(|next| {
            page.next = next;
            page
        });
        self.finish(pending, Outcome::Scan(outcome));
    }
}
