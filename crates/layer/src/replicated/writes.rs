//! Writes of a page, or of a part of one (he14, algorithm 2).

use super::copies::QueuedCopy;
use super::{ATTEMPTS, Below, Io, IoKind, MOST_PENDING, Replicated};
use crate::slab::Key;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, Failure, Operation, Request};
use flashlane_replication::AccessKind;
use std::collections::VecDeque;

/// A write of a home.
pub(super) struct Home {
    pending: Key,
    /// The part, which a copy may have completed.
    part: Key,
    order: u64,
    request: Request,
    buffer: Option<Buffer>,
    from: u64,
    /// The number of the request, once it was acknowledged.
    pub number: Option<u64>,
    by_copy: bool,
    recorded: bool,
    attempts: u8,
    /// Its place among the writes sent; 0 where it waits for another of its home.
    nth_write: u64,
}

/// The writes of a page's home: one is in flight, the others wait for it. All but the last have been acknowledged.
pub(super) struct PageHomes {
    current: Home,
    next: VecDeque<Home>,
    /// Reads that wait for the last of them.
    pub waiting_reads: Vec<Key>,
}

impl PageHomes {
    /// Returns the order of the first request.
    pub fn first_order(&self) -> u64 {
        self.current.order
    }

    pub fn all(&self) -> impl Iterator<Item = &Home> {
        std::iter::once(&self.current).chain(&self.next)
    }

    fn find(&mut self, part: Key) -> Option<&mut Home> {
        std::iter::once(&mut self.current).chain(&mut self.next).find(|home| home.part == part)
    }

    /// The request of one of the writes was acknowledged.
    pub fn acknowledge(&mut self, pending: Key, number: u64) {
        let mut all = std::iter::once(&mut self.current).chain(&mut self.next);
        if let Some(home) = all.find(|home| home.pending == pending) {
            home.number = Some(number);
        }
    }
}

impl<B: Below> Replicated<B> {
    /// Writes a part to its home, after the writes before.
    pub(super) fn start_write(&mut self, key: Key, durable: bool) {
        let part = self.parts.get_mut(key).expect("it has not completed");
        part.ios = 1;
        let (page, from, length, at, pending) = (part.page, part.from, part.length, part.at, part.pending);
        if self.groups.is_replicated(page) {
            self.counts.hits += 1;
            self.drop_copies(page);
        }
        let buffer = self.bytes_of(pending, at, length as usize);
        let order = self.pending.get(pending).expect("it is pending").order;
        let request = Request { durable, ..Request::write(0, self.layout.home(page) + from, length) };
        let home = Home {
            pending,
            part: key,
            order,
            request,
            buffer,
            from,
            number: None,
            by_copy: false,
            recorded: false,
            attempts: 0,
            nth_write: 0,
        };
        match self.homes.get_mut(&page) {
            Some(homes) => homes.next.push_back(home),
            None => {
                let homes = PageHomes { current: home, next: VecDeque::new(), waiting_reads: Vec::new() };
                self.homes.insert(page, homes);
                self.send_home(page);
            }
        }
        let is_whole = from == 0 && length == self.layout.page_bytes;
        if is_whole && !durable {
            self.set_timer(key);
        }
    }

    /// Returns a copy of the bytes of a pending write.
    fn bytes_of(&mut self, pending: Key, at: usize, length: usize) -> Option<Buffer> {
        let has_buffer = self.pending.get(pending).is_some_and(|pending| pending.buffer.is_some());
        let mut copy = has_buffer.then(|| self.buffer(length))?;
        let bytes = self.pending.get(pending)?.buffer.as_ref()?;
        copy.as_mut_slice().copy_from_slice(&bytes.as_slice()[at..at + length]);
        Some(copy)
    }

    fn send_home(&mut self, page: u32) {
        let home = &mut self.homes.get_mut(&page).expect("it has a write").current;
        home.attempts += 1;
        let (request, buffer) = (home.request, home.buffer.take());
        let partition = self.layout.partition_of(page);
        let kind = IoKind::Home { page };
        let io =
            Io { kind, partition, extra: false, recorded: false, numbered: !request.durable, nth_write: 0 };
        self.send(io, request, buffer);
        let nth_write = self.writes_sent;
        self.homes.get_mut(&page).expect("it has a write").current.nth_write = nth_write;
    }

    /// Returns whether a write that is late waits for its own partition, and not for what all writes wait for: a later
    /// one was written before it, or copies have completed all others that are being written.
    fn is_blocked(&self, nth_write: u64) -> bool {
        let waits = |homes: &PageHomes| homes.current.nth_write != nth_write && !homes.current.by_copy;
        self.last_written > nth_write || !self.homes.values().any(waits)
    }

    /// A write of a home has completed below, under this number.
    pub(super) fn home_completed(
        &mut self,
        page: u32,
        completion: &Completion,
        buffer: Option<Buffer>,
        number: Option<u64>,
    ) {
        let latency = completion.latency();
        self.delays.record_write(latency);
        let is_late = self.delays.get().is_some_and(|delay| latency > delay);
        let home = &mut self.homes.get_mut(&page).expect("its home is being written").current;
        let (was_recorded, nth_write) = (std::mem::replace(&mut home.recorded, true), home.nth_write);
        if !was_recorded {
            let blocked = is_late && self.is_blocked(nth_write);
            self.record(page, self.layout.partition_of(page), AccessKind::Write, blocked);
        }
        let home = &mut self.homes.get_mut(&page).expect("its home is being written").current;
        if let Err(failure) = completion.outcome
            && home.by_copy
            && home.attempts < ATTEMPTS
            && failure != Failure::DeviceLost
        {
            home.buffer = buffer;
            return self.send_home(page);
        }
        self.recycle(buffer);
        self.watch_idle_periods();
        self.home_ended(page, completion.outcome, number);
    }

    /// The write of a home has ended: begins the next, and completes its part, unless a copy did.
    fn home_ended(&mut self, page: u32, outcome: Result<(), Failure>, below: Option<u64>) {
        let homes = self.homes.get_mut(&page).expect("its home is being written");
        let (home, reads) = match homes.next.pop_front() {
            Some(next) => (std::mem::replace(&mut homes.current, next), None),
            None => {
                let homes = self.homes.remove(&page).expect("its home is being written");
                (homes.current, Some(homes.waiting_reads))
            }
        };
        let is_last = reads.is_some();
        if !is_last {
            self.send_home(page);
        }
        if let (Some(log), Some(below)) = (&mut self.log, below) {
            let length = home.request.length_bytes;
            match (home.number, self.pending.get_mut(home.pending)) {
                (Some(number), _) => log.insert(page, below, number, home.from, length),
                (None, Some(pending)) => pending.homes.push((page, below, home.from, length)),
                (None, None) => unreachable!("a request that has completed has a number"),
            }
        }
        if outcome.is_err() && is_last {
            // Copies of a version that the home does not have.
            self.drop_copies(page);
        }
        if !home.by_copy {
            self.finish(home.part, outcome);
        } else {
            self.homes_behind -= 1;
            if let Err(failure) = outcome {
                self.counts.homes_lost += 1;
                match self.pending.get_mut(home.pending) {
                    Some(pending) => drop(pending.failure.get_or_insert(failure)),
                    None => drop(self.lost_home.get_or_insert(failure)),
                }
            }
        }
        for read in reads.into_iter().flatten() {
            self.start_read(read);
        }
        if !self.waiting.is_empty() {
            self.start_waiting();
        }
    }

    /// Writes that are acknowledged, and whose homes are not written: page and number.
    pub(super) fn behind(&self) -> impl Iterator<Item = (u32, u64)> {
        let numbered = |home: &Home| home.number;
        self.homes.iter().flat_map(move |(&page, homes)| {
            homes.all().filter_map(numbered).map(move |number| (page, number))
        })
    }

    /// A write was not done within D: another copy, where it is blocked, and otherwise another look after D.
    pub(super) fn write_is_late(&mut self, key: Key) {
        let part = self.parts.get_mut(key).expect("it has not completed");
        part.deadline = Instant::FAR;
        let (page, at, pending) = (part.page, part.at, part.pending);
        let home = self.homes.get_mut(&page).and_then(|homes| homes.find(key));
        let nth_write = home.map_or(0, |home| home.nth_write);
        if !self.is_blocked(nth_write) {
            return self.set_timer(key);
        }
        self.parts.get_mut(key).expect("it has not completed").blocked = true;
        let home = self.homes.get_mut(&page).and_then(|homes| homes.find(key));
        if !home.is_none_or(|home| std::mem::replace(&mut home.recorded, true)) {
            self.record(page, self.layout.partition_of(page), AccessKind::Write, true);
        }
        if !self.has_copies() {
            return;
        }
        let Some(slot) = self.reserve(page) else { return };
        let bytes = self.bytes_of(pending, at, self.layout.page_bytes as usize);
        let copy = QueuedCopy { part: Some(key), cause: Operation::Write, bytes };
        let is_issued = if self.chips[self.groups.chip_of(slot) as usize].is_idle() {
            self.send_copy(slot, copy);
            true
        } else {
            self.queue_copy(slot, copy)
        };
        self.parts.get_mut(key).expect("it has not completed").ios += u32::from(is_issued);
        self.set_timer(key);
    }

    /// A copy of a write's page can be read: completes the write.
    pub(super) fn completed_by_copy(&mut self, key: Key) {
        let Some(part) = self.parts.get(key) else { return };
        if self.homes_behind >= MOST_PENDING {
            return;
        }
        let (page, pending) = (part.page, part.pending);
        let home = self.homes.get_mut(&page).and_then(|homes| homes.find(key));
        home.expect("its home is not written").by_copy = true;
        self.pending.get_mut(pending).expect("it is pending").by_copy = true;
        self.homes_behind += 1;
        self.counts.by_copy += 1;
        self.finish(key, Ok(()));
    }
}
