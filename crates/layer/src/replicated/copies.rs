//! Copies: their slots, their writes, and the queues of those that wait for an idle partition.

use super::{Below, Io, IoKind, Replicated};
use crate::slab::Key;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, Operation, Request};
use flashlane_replication::Slot;

/// A copy to be written.
pub(super) struct QueuedCopy {
    /// The write that it may complete.
    pub part: Option<Key>,
    /// Whether a read or a write was blocked.
    pub cause: Operation,
    pub bytes: Option<Buffer>,
}

impl<B: Below> Replicated<B> {
    /// Reserves a slot for one more copy of a page on a random other partition.
    pub(super) fn reserve(&mut self, page: u32) -> Option<Slot> {
        self.shuffle_others(self.layout.partition_of(page));
        let mut evicted = std::mem::take(&mut self.slots);
        evicted.clear();
        let blocking = self.history.blocking_of_page(page).probability();
        let slot = self.groups.reserve(page, &self.partitions, blocking, &mut evicted);
        self.counts.evictions += evicted.len() as u64;
        self.slots = evicted;
        let slot = slot?;
        if self.readers[slot.0 as usize] > 0 {
            self.groups.abandon(slot);
            return None;
        }
        Some(slot)
    }

    /// Queues a copy for when its partition is idle. Returns false, and gives it up, where the queue is full.
    pub(super) fn queue_copy(&mut self, slot: Slot, copy: QueuedCopy) -> bool {
        let (partition, now) = (self.groups.chip_of(slot), self.now());
        let extra_writes = self.extra_writes.as_mut().expect("D is known where something was blocked");
        let is_queued = extra_writes.push(partition, slot, now);
        if is_queued {
            self.queued.insert(slot, copy);
        } else {
            self.groups.abandon(slot);
            self.recycle(copy.bytes);
        }
        is_queued
    }

    /// Writes a copy.
    pub(super) fn send_copy(&mut self, slot: Slot, copy: QueuedCopy) {
        match copy.cause {
            Operation::Read => self.counts.extra_by_reads += 1,
            _ => self.counts.extra_by_writes += 1,
        }
        let partition = self.groups.chip_of(slot);
        let kind = IoKind::Copy { slot, part: copy.part };
        let io = Io { kind, partition, extra: true, recorded: true, numbered: true, nth_write: 0 };
        self.send(io, Request::write(0, self.layout.slot(slot), self.layout.page_bytes), copy.bytes);
    }

    /// Writes the copies whose partition has been idle for long enough.
    pub(super) fn send_due_copies(&mut self, now: Instant) {
        if self.queued.is_empty() {
            return;
        }
        for partition in 0..self.layout.partitions {
            while self.chips[partition as usize].is_idle()
                && let Some(slot) = self.extra_writes.as_mut().and_then(|extra| extra.take(partition, now))
            {
                let copy = self.queued.remove(&slot).expect("it was queued");
                // A write that its home completed needs no copy any more.
                let is_late = copy.part.is_some_and(|part| self.parts.get(part).is_none());
                if !is_late && self.has_copies() && self.groups.is_wanted(slot) {
                    self.send_copy(slot, copy);
                } else {
                    self.groups.abandon(slot);
                    self.recycle(copy.bytes);
                }
            }
        }
    }

    /// Returns when the next copy is due.
    pub(super) fn next_copy(&self) -> Instant {
        let Some(extra_writes) = self.extra_writes.as_ref().filter(|_| !self.queued.is_empty()) else {
            return Instant::FAR;
        };
        let idle = (0..).zip(&self.chips).filter(|(_, chip)| chip.is_idle());
        idle.filter_map(|(partition, _)| extra_writes.due(partition)).min().unwrap_or(Instant::FAR)
    }

    /// A copy was written below.
    pub(super) fn copy_completed(
        &mut self,
        slot: Slot,
        part: Option<Key>,
        completion: &Completion,
        buffer: Option<Buffer>,
    ) {
        self.recycle(buffer);
        if completion.outcome.is_err() {
            self.counts.copies_failed += 1;
            return self.groups.abandon(slot);
        }
        let is_readable = self.groups.written(slot);
        if is_readable && let Some(part) = part {
            self.completed_by_copy(part);
        }
    }
}
