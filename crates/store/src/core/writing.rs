//! The path of a write: pieces, the queue of its slice, log and container, acknowledgement. `flushing` has what
//! follows.
//!
//! A write gets its number, enters its slice's container and is appended to the log in one step, so that containers
//! hold what the log will hold, in its order. It waits in its slice's queue before where container, log or memory have
//! no room; a value that is stored in pieces waits until these are durable. Writes that are in flight together have no
//! order among them.

use super::Core;
use crate::builder::Size;
use crate::container::Container;
use crate::entry::{Body, Entry, Pieces};
use crate::error::{WriteError, WriteFailure};
use crate::footer::{PIECE_END_BYTES, encode_piece};
use crate::log::{Durability, LogOverwritten, Record};
use crate::operation::{Batch, Outcome, Pending, QueuedWrite, Ticket};
use crate::pacing;
use crate::routes::Purpose;
use crate::writes::{Logged, PiecesEnded};
use flashlane_base::Instant;
use flashlane_block::PutFailure;
use flashlane_device::DataDevice;
use std::collections::VecDeque;

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
        let waiting_bytes = self.writes.waiting_bytes();
        if waiting_bytes > 0 && waiting_bytes + bytes > self.options.memory_bytes / 8 {
            return Err(WriteError::Busy { waiting_bytes });
        }
        self.admit_or_relieve(&entries, pieces.len() as u64)?;
        self.counters.user_bytes_written += user_bytes as u64;
        self.allow_writes();
        self.retry_puts();
        let pending = self.accept();
        let write = QueuedWrite { pending, entries, durability, bytes };
        self.writes.add_waiting(bytes);
        if pieces.is_empty() {
            self.slices[slice as usize].enqueue(write);
        } else {
            self.writes.add_pieces(write, pieces);
            self.store_pieces(pending.ticket);
        }
        match durability {
            Durability::Memory => self.pump(),
            // The next step follows at once, since something waits for the write, and starts all else that can start:
            // once for all writes that are submitted until then, which join the group of the log.
            Durability::System | Durability::Device => self.admit_writes(),
        }
        Ok(pending.ticket)
    }

    fn check_batch(&self, entries: &[Entry]) -> Result<u32, WriteError> {
        if let Some(failure) = self.log.failure() {
            return Err(WriteError::Log(failure));
        }
        if let Some(LogOverwritten { offset_bytes, bytes }) = self.log.overwritten() {
            return Err(WriteError::LogOverwritten { offset_bytes, bytes });
        }
        let is_read_only = self.blocks.device().info().read_only || self.log.device().info().read_only;
        if is_read_only || !self.lost_blocks().is_empty() || self.missing().is_some() {
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
    pub(super) fn piece_bytes(&self) -> u64 {
        self.shape.block_bytes - PIECE_END_BYTES
    }

    /// Checks that a batch fits into log and container, whatever number it will get: that makes its entries 1 to 10
    /// bytes longer, and small entries large.
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

    // Pieces.

    /// Hands over as many pieces of a write as may be in flight.
    fn store_pieces(&mut self, ticket: Ticket) {
        while let Some((id, bytes)) = self.writes.next_piece(ticket) {
            let mut payload = self.take_payload();
            let end = encode_piece(self.store);
            payload.set_len((bytes.len() + end.len()) as u64);
            let (data, rest) = payload.as_mut_slice().split_at_mut(bytes.len());
            data.copy_from_slice(&bytes);
            rest.copy_from_slice(&end);
            match self.blocks.put(id, payload) {
                Ok(block) => {
                    self.counters.piece_bytes_written += self.shape.block_bytes;
                    self.routes.add(block, Purpose::Piece { write: ticket, id });
                }
                Err((error, payload)) => {
                    self.reuse_payload(payload);
                    return self.piece_ended(ticket, id, Err(error.to_string()));
                }
            }
        }
    }

    pub(super) fn piece_written(&mut self, ticket: Ticket, id: u64, result: Result<(), PutFailure>) {
        self.piece_ended(ticket, id, result.map_err(|failure| failure.to_string()));
    }

    fn piece_ended(&mut self, ticket: Ticket, id: u64, result: Result<(), String>) {
        self.writes.piece_ended(ticket, id, result);
        let Some(PiecesEnded { write, stored, failure }) = self.writes.take_pieces(ticket) else {
            return self.store_pieces(ticket);
        };
        match failure {
            None => {
                let slice = self.slice_of(&write.entries[0].key);
                self.slices[slice as usize].enqueue(write);
            }
            Some(reason) => {
                self.writes.remove_waiting(write.bytes);
                stored.into_iter().for_each(|id| self.delete_block(id, None));
                self.finish(write.pending, Outcome::Write(Err(WriteFailure::Piece { reason })));
            }
        }
    }

    // Queue, log, container.

    /// Adds the writes that have room to containers and log.
    pub(super) fn admit_writes(&mut self) {
        if self.log.failure().is_some() {
            return self.fail_writes();
        }
        self.freeze_lagging();
        for number in 0..self.slices.len() {
            while let Some(mut write) = self.slices[number].next_write() {
                set_sequence(&mut write.entries, self.last_sequence + 1);
                if !self.make_room(number, &write) {
                    self.slices[number].requeue(write);
                    break;
                }
                self.apply(number, write);
            }
        }
    }

    /// Freezes the container that stands in a write's way. Returns whether the write can be added to its slice's
    /// container now; otherwise log or memory have no room for it before the frozen one is written.
    fn make_room(&mut self, slice: usize, write: &QueuedWrite) -> bool {
        if !self.log.has_room(Record::encoded_bytes(&write.entries)) {
            self.freeze_oldest();
            return false;
        }
        if !self.may_enter_containers(write.bytes) {
            self.freeze_largest();
            return false;
        }
        if !self.slices[slice].fits(&self.shape, &write.entries) {
            self.freeze(slice);
        }
        debug_assert!(
            self.slices[slice].fits(&self.shape, &write.entries),
            "an empty container takes any write"
        );
        true
    }

    /// Adds a write to log and container under the next number. Requires: its entries have that number.
    fn apply(&mut self, slice: usize, write: QueuedWrite) {
        let QueuedWrite { pending, entries, durability, bytes } = write;
        debug_assert!(entries.iter().all(|entry| entry.version.sequence == self.last_sequence + 1));
        self.writes.remove_waiting(bytes);
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let pages = self.log.append(slice as u32, sequence, &entries, durability);
        let end_page = pages.end;
        let removed = self.slices[slice].add(&self.shape, entries, pages, &self.snapshots);
        let pieces = removed.iter().flat_map(|version| version.body.pieces());
        // Until the log is durable a power cut brings the version back that was replaced.
        self.freed_pieces.extend(pieces.map(|&piece| (end_page, piece)));
        let logged = Logged { pending, slice: slice as u32, sequence, end_page };
        match durability {
            Durability::Memory => self.delay_end(self.now(), logged),
            Durability::System | Durability::Device => self.writes.push_logged(durability, logged),
        }
    }

    /// Delays the end of the writes that the log has reached.
    pub(super) fn log_progress(&mut self) {
        let (written_to, durable_to) = (self.log.written_to(), self.log.durable_to());
        let mut since = None;
        while let Some(logged) = self.writes.pop_reached(written_to, durable_to) {
            let since = *since.get_or_insert_with(|| self.now());
            self.delay_end(since, logged);
        }
    }

    pub(super) fn fail_writes(&mut self) {
        let failure = self.log.failure().expect("the log failed");
        let mut failed: Vec<_> = self.writes.take_logged().into_iter().map(|logged| logged.pending).collect();
        failed.extend(self.take_queued_writes());
        for pending in failed {
            self.finish(pending, Outcome::Write(Err(WriteFailure::Log(failure))));
        }
    }

    /// Removes the writes that wait in queues.
    pub(super) fn take_queued_writes(&mut self) -> Vec<Pending> {
        let mut queued = Vec::new();
        for slice in &mut self.slices {
            while let Some(write) = slice.next_write() {
                self.writes.remove_waiting(write.bytes);
                queued.push(write.pending);
            }
        }
        queued
    }

    // Acknowledgement.

    /// Delays the end of a write that is as safe as requested from `since` on.
    fn delay_end(&mut self, since: Instant, logged: Logged) {
        let Logged { pending, slice, sequence, .. } = logged;
        self.slices[slice as usize].delayed().add(since, pending, sequence);
        self.delayed_slices.insert(slice);
    }

    /// Completes the writes whose delay is over. Returns when that of the next one will be; [`Instant::FAR`] where
    /// there is none.
    pub(super) fn finish_delayed(&mut self) -> Instant {
        if self.delayed_slices.is_empty() {
            return Instant::FAR;
        }
        let (now, mut next) = (self.now(), Instant::FAR);
        let common = self.common_debt();
        for nth in std::mem::take(&mut self.delayed_slices) {
            let slice = &self.slices[nth as usize];
            let patches_max = self.policy.level_0_patches_max(slice.levels().value_bytes_mean());
            let unmerged = slice.unmerged_patches(self.shape.block_bytes);
            let debt = common.max(unmerged / f64::from(patches_max));
            let delay = pacing::delay(debt, self.options.write_delay_max);
            while let Some((pending, sequence)) = self.slices[nth as usize].delayed().pop_over(delay, now) {
                self.finish_at(now, pending, Outcome::Write(Ok(sequence)));
            }
            if let Some(due) = self.slices[nth as usize].delayed().next_due(delay) {
                next = next.min(due);
                self.delayed_slices.insert(nth);
            }
        }
        next
    }

    /// Returns the share in use of the memory for containers or of the log, whichever is more.
    fn common_debt(&self) -> f64 {
        let memory = self.container_memory_bytes() as f64 / self.container_budget_bytes() as f64;
        memory.max(self.log.use_of_ring())
    }
}

fn set_sequence(entries: &mut [Entry], sequence: u64) {
    entries.iter_mut().for_each(|entry| entry.version.sequence = sequence);
}
