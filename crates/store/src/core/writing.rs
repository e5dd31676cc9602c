//! The path of a write: pieces, the queue of its slice, log and container, acknowledgement; then the container's patch.
//!
//! A write gets its number, enters its slice's container and is appended to the log in one step, so that containers hold what
//! the log will hold, in its order. It waits in its slice's queue before where container, log or memory have no room; a value
//! that is stored in pieces waits until these are durable. Writes that are in flight together have no order among them.

use crate::builder::{Head, Size};
use crate::compaction::MERGE_BLOCKS;
use crate::container::Container;
use crate::core::{Core, Purpose};
use crate::entry::{Body, Entry, Pieces};
use crate::error::{WriteError, WriteFailure};
use crate::footer::{Origin, PIECE_END_BYTES, encode_piece};
use crate::log::{Durability, Record};
use crate::operation::{Batch, Outcome, Pending, QueuedWrite, Ticket};
use crate::slice::Flush;
use flashlane_block::{Payload, PutFailure};
use flashlane_device::DataDevice;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pieces of a write that are being stored at once.
const PIECES_IN_FLIGHT: usize = 4;

/// Writes that have not completed.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Bytes of the writes that wait for pieces or in queues.
    pub(crate) waiting_bytes: u64,
    /// Writes in the log that complete when it is written to a page, in its order.
    system: VecDeque<Logged>,
    /// Those that complete when it is durable.
    device: VecDeque<Logged>,
    /// Writes whose pieces are being stored.
    pieces: BTreeMap<Ticket, PieceWrite>,
    /// The slices with writes whose acknowledgement is delayed.
    pub(crate) delayed_slices: BTreeSet<u32>,
    /// A write was refused since blocks are scarce.
    wants_space: bool,
    /// Spare blocks that the last value would have needed, if it was refused.
    wanted_blocks: u64,
}

/// A write in the log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    pending: Pending,
    slice: u32,
    sequence: u64,
    end_page: u64,
}

/// A write with values in pieces.
#[derive(Debug)]
struct PieceWrite {
    write: QueuedWrite,
    /// Pieces that are not handed over yet, and their ids.
    left: VecDeque<(u64, Vec<u8>)>,
    in_flight: usize,
    stored: Vec<u64>,
    failure: Option<WriteFailure>,
}

impl Writes {
    /// Returns whether no write waits for anything.
    pub(crate) fn are_settled(&self) -> bool {
        self.waiting_bytes == 0 && self.system.is_empty() && self.device.is_empty()
    }
}

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Checks a batch and queues it.
    pub(crate) fn write(&mut self, batch: Batch, durability: Durability) -> Result<Ticket, WriteError> {
        let mut entries = batch.into_entries();
        let slice = self.check_batch(&entries)?;
        let user_bytes: usize = entries
            .iter()
            .map(|entry| {
                entry.key.len() + if let Body::Value(value) = &entry.version.body { value.len() } else { 0 }
            })
            .sum();
        let mut pieces = VecDeque::new();
        for entry in &mut entries {
            self.cut_into_pieces(entry, &mut pieces);
        }
        self.check_size(&mut entries)?;
        let piece_bytes: usize = pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        let entry_bytes: u64 = entries.iter().map(|entry| entry.version.encoded_bytes(&entry.key)).sum();
        let bytes = entry_bytes + piece_bytes as u64;
        let waiting_bytes = self.writes.waiting_bytes;
        if waiting_bytes > 0 && waiting_bytes + bytes > self.options.memory_bytes / 8 {
            return Err(WriteError::Busy { waiting_bytes });
        }
        self.check_room(&entries, pieces.len() as u64)?;
        self.counters.user_bytes_written += user_bytes as u64;
        self.allow_changes();
        let pending = self.accept();
        let write = QueuedWrite { pending, entries, durability, bytes };
        self.writes.waiting_bytes += bytes;
        if pieces.is_empty() {
            self.slices[slice as usize].queue.push_back(write);
        } else {
            let piece_write =
                PieceWrite { write, left: pieces, in_flight: 0, stored: Vec::new(), failure: None };
            self.writes.pieces.insert(pending.ticket, piece_write);
            self.store_pieces(pending.ticket);
        }
        self.pump();
        Ok(pending.ticket)
    }

    fn check_batch(&self, entries: &[Entry]) -> Result<u32, WriteError> {
        if let Some(failure) = self.log.failure() {
            return Err(WriteError::Log(failure));
        }
        if self.blocks.device().profile().read_only || self.log.device().profile().read_only {
            return Err(WriteError::ReadOnly);
        }
        let most_bytes = self.shape.key_bytes_max();
        let mut slice = None;
        for entry in entries {
            let given_bytes = entry.key.len() as u64;
            if given_bytes > most_bytes {
                return Err(WriteError::KeyTooLong { given_bytes, most_bytes });
            }
            let own = self.slice_of(&entry.key);
            match slice {
                Some(first) if first != own => return Err(WriteError::SeveralSlices { first, second: own }),
                _ => slice = Some(own),
            }
        }
        slice.ok_or(WriteError::Empty)
    }

    /// Replaces a large value by a reference to pieces, which are added to `pieces`.
    fn cut_into_pieces(&mut self, entry: &mut Entry, pieces: &mut VecDeque<(u64, Vec<u8>)>) {
        let inline_bytes = self.shape.inline_bytes_max();
        let Body::Value(value) = &entry.version.body else { return };
        if value.len() as u64 <= inline_bytes {
            return;
        }
        let (value_bytes, piece_bytes) = (value.len() as u64, self.piece_bytes());
        let (mut ids, mut rest) = (Vec::new(), value.as_slice());
        while rest.len() as u64 > inline_bytes {
            let (piece, after) = rest.split_at(rest.len().min(piece_bytes as usize));
            let id = self.blocks.next_id();
            pieces.push_back((id, piece.to_vec()));
            ids.push(id);
            rest = after;
        }
        entry.version.body = Body::Pieces(Box::new(Pieces { value_bytes, ids, tail: rest.to_vec() }));
    }

    /// Bytes of a value in a piece.
    pub(crate) fn piece_bytes(&self) -> u64 {
        self.shape.block_bytes - PIECE_END_BYTES
    }

    /// Checks that a batch fits into log and container, whatever number it will get: that makes its entries 1 to 10 bytes longer,
    /// and small entries large.
    fn check_size(&self, entries: &mut [Entry]) -> Result<(), WriteError> {
        let record_bytes_max = self.log.layout().record_bytes_max();
        let most_bytes = record_bytes_max.min(self.shape.block_bytes);
        let mut fits = Record::encoded_bytes(entries) <= record_bytes_max;
        let mut given_bytes = 0;
        for sequence in (0..u64::BITS).step_by(7).map(|bits| 1 << bits) {
            set_sequence(entries, sequence);
            let size = Size::of(&self.shape, entries);
            given_bytes = size.entry_bytes();
            fits &= Container::default().fits(&self.shape, &size);
            // A single entry is at most a value that is stored whole, with its key.
            if !fits || entries.len() == 1 {
                break;
            }
        }
        set_sequence(entries, 0);
        if fits { Ok(()) } else { Err(WriteError::BatchTooLarge { given_bytes, most_bytes }) }
    }

    fn check_room(&mut self, entries: &[Entry], pieces: u64) -> Result<(), WriteError> {
        let is_delete = entries.iter().all(|entry| entry.version.body.is_tombstone());
        let blocks_free = self.spare_blocks();
        // Writes that wait were admitted, and need blocks too.
        let needed = match is_delete {
            true => 1 + self.waiting_blocks(),
            false => self.options.reserve_blocks + self.containers() + self.waiting_blocks() + pieces,
        };
        if !is_delete {
            self.writes.wanted_blocks = if blocks_free < needed { needed } else { 0 };
        }
        if blocks_free >= needed {
            return Ok(());
        }
        self.writes.wants_space = true;
        self.pump();
        // Merges give blocks back, and deletes wait for them.
        if is_delete && self.is_merging() { Ok(()) } else { Err(WriteError::Full { blocks_free }) }
    }

    /// Blocks that the writes in queues will need.
    fn waiting_blocks(&self) -> u64 {
        self.writes.waiting_bytes.div_ceil(self.shape.block_bytes)
    }

    /// Blocks that the containers will need, and one more.
    fn containers(&self) -> u64 {
        self.slices.iter().filter(|slice| !slice.container.is_empty()).count() as u64 + 1
    }

    /// Returns whether values are refused, or the last one was, as blocks are scarce.
    pub(crate) fn is_space_scarce(&self) -> bool {
        let kept = self.options.reserve_blocks + self.containers();
        self.spare_blocks() < kept.max(self.writes.wanted_blocks)
    }

    /// Where a value was refused, writes the containers with tombstones, so that merges give space back.
    pub(crate) fn relieve_space(&mut self) {
        if !std::mem::take(&mut self.writes.wants_space) {
            return;
        }
        for nth in 0..self.slices.len() {
            let slice = &mut self.slices[nth];
            // The policy is asked again: blocks are scarce now.
            if slice.dense != Some(slice.structure) {
                slice.in_shape = None;
            }
            if slice.container.has_tombstones() && slice.frozen.is_empty() {
                self.freeze(nth);
            }
        }
    }

    // Pieces.

    fn store_pieces(&mut self, ticket: Ticket) {
        loop {
            let write = self.writes.pieces.get_mut(&ticket).expect("a write with pieces");
            if write.in_flight >= PIECES_IN_FLIGHT || write.failure.is_some() {
                break;
            }
            let Some((id, bytes)) = write.left.pop_front() else { break };
            write.in_flight += 1;
            let mut payload = self.take_payload();
            let end = encode_piece(self.store);
            payload.set_len((bytes.len() + end.len()) as u64);
            let (data, rest) = payload.as_mut_slice().split_at_mut(bytes.len());
            data.copy_from_slice(&bytes);
            rest.copy_from_slice(&end);
            match self.blocks.put(id, payload) {
                Ok(block) => {
                    self.counters.piece_bytes_written += self.shape.block_bytes;
                    self.route(block, Purpose::Piece { write: ticket, id });
                }
                Err((error, payload)) => {
                    self.reuse_payload(payload);
                    self.piece_ended(ticket, id, Err(error.to_string()));
                    return;
                }
            }
        }
    }

    pub(crate) fn piece_written(&mut self, ticket: Ticket, id: u64, result: Result<(), PutFailure>) {
        self.piece_ended(ticket, id, result.map_err(|failure| failure.to_string()));
    }

    fn piece_ended(&mut self, ticket: Ticket, id: u64, result: Result<(), String>) {
        let write = self.writes.pieces.get_mut(&ticket).expect("a write with pieces");
        write.in_flight -= 1;
        match result {
            Ok(()) => write.stored.push(id),
            Err(reason) => write.failure = Some(WriteFailure::Piece { reason }),
        }
        if write.in_flight > 0 || (write.failure.is_none() && !write.left.is_empty()) {
            return self.store_pieces(ticket);
        }
        let PieceWrite { write, stored, failure, .. } =
            self.writes.pieces.remove(&ticket).expect("it was found");
        match failure {
            None => {
                let slice = self.slice_of(&write.entries[0].key);
                self.slices[slice as usize].queue.push_back(write);
            }
            Some(failure) => {
                self.writes.waiting_bytes -= write.bytes;
                stored.into_iter().for_each(|id| self.delete_block(id, None));
                self.finish(write.pending, Outcome::Write(Err(failure)));
            }
        }
    }

    // Queue, log, container.

    /// Adds the writes that have room to containers and log.
    pub(crate) fn admit_writes(&mut self) {
        if self.log.failure().is_some() {
            return self.fail_writes();
        }
        self.freeze_lagging();
        for number in 0..self.slices.len() {
            while let Some(mut write) = self.slices[number].queue.pop_front() {
                set_sequence(&mut write.entries, self.last_sequence + 1);
                if !self.has_room(number, &write) {
                    self.slices[number].queue.push_front(write);
                    break;
                }
                self.apply(number, write);
            }
        }
    }

    /// Returns whether a write can be added to its slice's container, which is frozen where it is full.
    fn has_room(&mut self, slice: usize, write: &QueuedWrite) -> bool {
        if !self.log.has_room(Record::encoded_bytes(&write.entries)) {
            self.freeze_oldest();
            return false;
        }
        if self.container_memory_bytes() + write.bytes > self.container_budget_bytes() {
            self.freeze_largest();
            return false;
        }
        if !self.slices[slice].fits(&self.shape, &write.entries) {
            self.freeze(slice);
        }
        true
    }

    pub(crate) fn container_memory_bytes(&self) -> u64 {
        self.slices.iter().map(|slice| slice.container_memory_bytes()).sum()
    }

    /// Bytes of memory that containers may take: what indexes, waiting writes and buffers leave, but two blocks at least.
    pub(crate) fn container_budget_bytes(&self) -> u64 {
        let left = self.options.memory_bytes.saturating_sub(self.memory_beside_containers_bytes());
        left.max(2 * self.shape.block_bytes)
    }

    /// Gives the cache of reads what the others leave of the memory.
    pub(crate) fn fit_cache(&mut self) {
        if self.options.cache_reads {
            let used = self.memory_beside_containers_bytes() + self.container_memory_bytes();
            self.cache.set_capacity(self.options.memory_bytes.saturating_sub(used));
        }
    }

    /// Bytes of memory of indexes, waiting writes and buffers.
    fn memory_beside_containers_bytes(&self) -> u64 {
        let indexes: u64 = self.slices.iter().map(|slice| slice.levels.memory_bytes()).sum();
        let merges = self.slices.iter().filter(|slice| slice.merge.is_some()).count() as u64;
        let flushes = self.flushes_in_flight() as u64;
        let buffers = merges * self.merge_share().bytes + flushes * self.shape.block_bytes;
        indexes + buffers + self.writes.waiting_bytes
    }

    fn flushes_in_flight(&self) -> usize {
        let frozen = self.slices.iter().flat_map(|slice| &slice.frozen);
        frozen.filter(|frozen| matches!(frozen.state, Flush::Writing(_))).count()
    }

    pub(crate) fn freeze(&mut self, slice: usize) {
        if !self.slices[slice].container.is_empty() {
            let creation = self.allocate_number();
            self.slices[slice].freeze(creation);
        }
    }

    /// Freezes the containers whose records lie more than half a ring behind the log's end, and the largest ones until those left
    /// take at most half of their memory. The other halves are for those on their way to the device: as many as lag behind are
    /// written at once, not one after the other.
    fn freeze_lagging(&mut self) {
        for nth in 0..self.slices.len() {
            let first = self.slices[nth].container.first_page();
            if first.is_some_and(|first| self.log.is_lagging(first)) {
                self.freeze(nth);
            }
        }
        let mut bytes: u64 = self.slices.iter().map(|slice| slice.container.memory_bytes()).sum();
        let most_bytes = self.container_budget_bytes() / 2;
        while bytes > most_bytes {
            let size = |&nth: &usize| self.slices[nth].container.memory_bytes();
            let largest = (0..self.slices.len()).max_by_key(size).expect("there is a slice");
            bytes -= size(&largest);
            self.freeze(largest);
        }
    }

    /// Freezes the container whose records lie first in the log, unless a frozen one's lie before it.
    fn freeze_oldest(&mut self) {
        let oldest = |slice: &crate::slice::Slice| slice.first_page().unwrap_or(u64::MAX);
        let Some(slice) = (0..self.slices.len()).min_by_key(|&nth| oldest(&self.slices[nth])) else { return };
        if self.slices[slice].frozen.is_empty() {
            self.freeze(slice);
        }
    }

    fn freeze_largest(&mut self) {
        let bytes = |&nth: &usize| self.slices[nth].container.memory_bytes();
        let slice = (0..self.slices.len()).max_by_key(bytes).expect("there is a slice");
        let is_frozen = self.slices.iter().any(|slice| !slice.frozen.is_empty());
        if !is_frozen {
            self.freeze(slice);
        }
    }

    /// Gives a write the next number, which its entries have already.
    fn apply(&mut self, slice: usize, write: QueuedWrite) {
        let QueuedWrite { pending, entries, durability, bytes } = write;
        self.writes.waiting_bytes -= bytes;
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let pages = self.log.append(slice as u32, sequence, &entries, durability);
        let end_page = pages.end;
        let removed = self.slices[slice].container.add(&self.shape, entries, pages, &self.snapshots);
        let pieces = removed.iter().flat_map(|version| version.body.pieces());
        // Until the log is durable a power cut brings the version back that was replaced.
        self.freed_pieces.extend(pieces.map(|&piece| (end_page, piece)));
        let logged = Logged { pending, slice: slice as u32, sequence, end_page };
        match durability {
            Durability::Memory => self.acknowledge(logged.slice, pending, sequence),
            Durability::System => self.writes.system.push_back(logged),
            Durability::Device => self.writes.device.push_back(logged),
        }
    }

    /// Acknowledges the writes that the log has reached.
    pub(crate) fn log_progress(&mut self) {
        let (written_to, durable_to) = (self.log.written_to(), self.log.durable_to());
        let reached = |queue: &mut VecDeque<Logged>, page: u64| {
            let count = queue.partition_point(|logged| logged.end_page <= page);
            queue.drain(..count).collect::<Vec<_>>()
        };
        let mut logged = reached(&mut self.writes.system, written_to);
        logged.extend(reached(&mut self.writes.device, durable_to));
        for Logged { pending, slice, sequence, .. } in logged {
            self.acknowledge(slice, pending, sequence);
        }
    }

    fn fail_writes(&mut self) {
        let failure = self.log.failure().expect("the log failed");
        let logged: Vec<Logged> = self.writes.system.drain(..).chain(self.writes.device.drain(..)).collect();
        let mut failed: Vec<Pending> = logged.into_iter().map(|logged| logged.pending).collect();
        for slice in &mut self.slices {
            for write in slice.queue.drain(..) {
                self.writes.waiting_bytes -= write.bytes;
                failed.push(write.pending);
            }
        }
        for pending in failed {
            self.finish(pending, Outcome::Write(Err(WriteFailure::Log(failure))));
        }
    }

    // Patches of containers.

    /// Writes the frozen containers whose records are durable in the log.
    pub(crate) fn flush_containers(&mut self) {
        for slice in 0..self.slices.len() {
            for nth in 0..self.slices[slice].frozen.len() {
                let frozen = &self.slices[slice].frozen[nth];
                if !matches!(frozen.state, Flush::Waiting) {
                    continue;
                }
                let end_page = frozen.container.end_page();
                if self.log.durable_to() < end_page {
                    self.log.want_durable(end_page);
                    break;
                }
                if !self.may_flush() || !self.flush(slice, nth) {
                    return;
                }
            }
        }
    }

    /// Returns whether there is a block for a container. The last ones are left to merges; where none runs none can begin, and
    /// one container at a time may take them.
    fn may_flush(&self) -> bool {
        let free = self.unpromised_blocks();
        free > MERGE_BLOCKS || (free > 0 && !self.is_merging() && self.flushes_in_flight() == 0)
    }

    /// Hands the patch of a frozen container over. Returns whether it was taken.
    fn flush(&mut self, slice: usize, nth: usize) -> bool {
        let (payload, id) = (self.take_payload(), self.blocks.next_id());
        let own = &self.slices[slice];
        let frozen = &own.frozen[nth];
        let (level, run) = own.place(nth, &*self.policy, self.shape.block_bytes);
        assert!(frozen.container.end_page() <= self.log.durable_to(), "a patch overtakes the log");
        let creation = frozen.creation;
        let head = Head {
            slice: own.number,
            lower: own.lower.clone(),
            upper: own.upper.clone(),
            level,
            run,
            creation,
            origin: Origin::Container,
            stale: Vec::new(),
        };
        let (payload, footer) = frozen.container.to_patch(self.shape, payload, head, self.store);
        match self.blocks.put(id, payload) {
            Ok(ticket) => {
                self.slices[slice].frozen[nth].state = Flush::Writing(Box::new(footer));
                self.route(ticket, Purpose::Flush { slice: slice as u32, creation, id });
                true
            }
            Err((_, payload)) => {
                self.reuse_payload(payload);
                false
            }
        }
    }

    pub(crate) fn flush_written(
        &mut self,
        slice: u32,
        creation: u64,
        id: u64,
        result: Result<(), PutFailure>,
        payload: Payload,
    ) {
        self.reuse_payload(payload);
        let slice = &mut self.slices[slice as usize];
        match result {
            Ok(()) => {
                slice.flushed(creation, id);
                self.counters.flushes += 1;
                self.counters.flush_bytes_written += self.shape.block_bytes;
            }
            Err(_) => {
                // The next pump tries again, with another id; what the failed put may have left is superseded.
                slice.undeleted.insert(id);
                let frozen = slice.frozen.iter_mut().find(|frozen| frozen.creation == creation);
                frozen.expect("a patch that failed is of a frozen container").state = Flush::Waiting;
            }
        }
    }

    /// Frees what the log does not need to hold any more, and pieces that no durable version refers to.
    pub(crate) fn free_log(&mut self) {
        let durable_to = self.log.durable_to();
        let first = self.slices.iter().filter_map(|slice| slice.first_page()).min();
        self.log.free_below(first.unwrap_or(u64::MAX).min(durable_to));
        let freed: Vec<u64> = self
            .freed_pieces
            .extract_if(.., |(page, _)| *page <= durable_to)
            .map(|(_, piece)| piece)
            .collect();
        freed.into_iter().for_each(|piece| self.delete_block(piece, None));
        if !self.freed_pieces.is_empty() {
            let last = self.freed_pieces.iter().map(|&(page, _)| page).max().unwrap_or(0);
            self.log.want_durable(last);
        }
    }
}

fn set_sequence(entries: &mut [Entry], sequence: u64) {
    entries.iter_mut().for_each(|entry| entry.version.sequence = sequence);
}
