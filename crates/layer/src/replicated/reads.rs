//! Reads of a page, or of a part of one (he14, algorithm 1).

use super::copies::QueuedCopy;
use super::{Below, Io, IoKind, Replicated};
use crate::slab::Key;
use flashlane_device::{Buffer, Completion, Operation, Request};
use flashlane_replication::{AccessKind, Candidate, Slot, take_best};

impl<B: Below> Replicated<B> {
    /// Reads a part from the best place, or lets it wait for the home.
    pub(super) fn start_read(&mut self, key: Key) {
        let Some(part) = self.parts.get(key) else { return };
        let (page, is_first) = (part.page, part.ios == 0);
        let is_copied = self.groups.is_replicated(page) && self.has_copies();
        if !is_copied && !self.homes.contains_key(&page) {
            return self.read_from(key, None);
        }
        let mut candidates = Vec::new();
        let candidate = |partition: u32, slot| Candidate {
            chip: partition,
            slot,
            used: self.chips[partition as usize].used,
        };
        // The home of an acknowledged write may hold the version before.
        if !self.homes.contains_key(&page) {
            candidates.push(candidate(self.layout.partition_of(page), None));
        }
        candidates
            .extend(self.groups.readable(page).map(|slot| candidate(self.groups.chip_of(slot), Some(slot))));
        if is_first && is_copied {
            self.counts.hits += 1;
            self.groups.touch(page, self.history.blocking_of_page(page).probability());
        }
        self.parts.get_mut(key).expect("it has not completed").candidates = candidates;
        if !self.read_next(key) {
            self.homes.get_mut(&page).expect("without a copy there is the home").waiting_reads.push(key);
        }
    }

    /// Reads a part from the best of the places not tried. Returns false where there is none.
    fn read_next(&mut self, key: Key) -> bool {
        let part = self.parts.get_mut(key).expect("it has not completed");
        // A copy may have given way to another page's since the read began.
        let (groups, page) = (&self.groups, part.page);
        let is_there = |slot: Slot| groups.readable(page).any(|readable| readable == slot);
        part.candidates.retain(|candidate| candidate.slot.is_none_or(is_there));
        let Some(Candidate { slot, .. }) = take_best(&mut part.candidates, &self.history) else {
            return false;
        };
        self.read_from(key, slot);
        true
    }

    /// Reads a part from its home, or from a copy.
    fn read_from(&mut self, key: Key, slot: Option<Slot>) {
        let part = self.parts.get_mut(key).expect("it has not completed");
        part.ios += 1;
        part.reading += 1;
        part.tried_home |= slot.is_none();
        let (page, from, length, extra) = (part.page, part.from, part.length, part.ios > 1);
        let (partition, place) = match slot {
            None => (self.layout.partition_of(page), self.layout.home(page)),
            Some(slot) => {
                self.readers[slot.0 as usize] += 1;
                (self.groups.chip_of(slot), self.layout.slot(slot))
            }
        };
        let has_buffer = self.pending.get(part.pending).is_some_and(|pending| pending.buffer.is_some());
        let buffer = has_buffer.then(|| self.buffer(length as usize));
        let kind = IoKind::Read { part: key, slot };
        let io = Io { kind, partition, extra, recorded: false, numbered: false, nth_write: 0 };
        let io = self.send(io, Request::read(0, place + from, length), buffer);
        self.parts.get_mut(key).expect("it has not completed").last_io = Some(io);
        self.set_timer(key);
    }

    /// A read was not done within D.
    pub(super) fn read_is_blocked(&mut self, key: Key) {
        let part = self.parts.get_mut(key).expect("it has not completed");
        part.blocked = true;
        part.deadline = flashlane_base::Instant::FAR;
        let (page, last_io) = (part.page, part.last_io);
        if let Some(io) = last_io.and_then(|io| self.ios.get_mut(io)).filter(|io| !io.recorded) {
            io.recorded = true;
            let partition = io.partition;
            self.record(page, partition, AccessKind::Read, true);
        }
        self.read_next(key);
    }

    /// A read of a home or a copy has completed below.
    pub(super) fn read_completed(
        &mut self,
        key: Key,
        slot: Option<Slot>,
        io: &Io,
        completion: &Completion,
        buffer: Option<Buffer>,
    ) {
        if let Some(slot) = slot {
            self.readers[slot.0 as usize] -= 1;
        }
        let latency = completion.latency();
        self.delays.record_read(latency);
        // Another place may have completed it first.
        let Some(part) = self.parts.get_mut(key) else { return self.recycle(buffer) };
        part.reading -= 1;
        let (page, pending, from, length, at) = (part.page, part.pending, part.from, part.length, part.at);
        if !io.recorded {
            let blocked = self.delays.get().is_some_and(|delay| latency > delay);
            self.record(page, io.partition, AccessKind::Read, blocked);
        }
        if let Err(failure) = completion.outcome {
            let part = self.parts.get_mut(key).expect("it has not completed");
            if part.failure.is_none() || slot.is_none() {
                part.failure = Some(failure);
            }
            self.recycle(buffer);
            return self.read_failed(key, slot);
        }
        if let (Some(bytes), Some(pending)) = (&buffer, self.pending.get_mut(pending))
            && let Some(to) = &mut pending.buffer
        {
            to.as_mut_slice()[at..at + length as usize].copy_from_slice(bytes.as_slice());
        }
        let part = self.parts.get(key).expect("it has not completed");
        let is_whole = from == 0 && length == self.layout.page_bytes;
        if part.blocked && is_whole {
            self.replicate_read(page, buffer);
        } else {
            self.recycle(buffer);
        }
        self.finish(key, Ok(()));
    }

    /// A place could not be read: tries the next.
    fn read_failed(&mut self, key: Key, slot: Option<Slot>) {
        let page = self.parts.get(key).expect("it has not completed").page;
        if slot.is_some() {
            // What cannot be read is no copy.
            self.drop_copies(page);
            let part = self.parts.get_mut(key).expect("it has not completed");
            part.candidates.retain(|candidate| candidate.slot.is_none());
        }
        if self.read_next(key) {
            return;
        }
        let part = self.parts.get_mut(key).expect("it has not completed");
        if part.reading > 0 {
            return;
        }
        if part.tried_home {
            let failure = part.failure.expect("every place has failed");
            return self.finish(key, Err(failure));
        }
        match self.homes.get_mut(&page) {
            Some(homes) => homes.waiting_reads.push(key),
            None => self.read_from(key, None),
        }
    }

    /// Queues a copy of a page whose read was blocked, where the policy says so.
    fn replicate_read(&mut self, page: u32, buffer: Option<Buffer>) {
        let blocking = self.history.blocking_of_page(page);
        let is_new =
            self.has_copies() && !self.groups.is_replicated(page) && self.groups.replicates_read(blocking);
        let slot = if is_new && self.has_written { self.reserve(page) } else { None };
        match slot {
            Some(slot) => {
                self.queue_copy(slot, QueuedCopy { part: None, cause: Operation::Read, bytes: buffer });
            }
            None => self.recycle(buffer),
        }
    }
}
