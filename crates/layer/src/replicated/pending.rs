//! Accepted requests: their order, their parts, and their completion.

use super::{Below, Io, IoKind, Replicated, RiskLog, failure_of};
use crate::slab::Key;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, Device, Failure, Operation, Request, SubmitError};
use flashlane_replication::{Candidate, Slot};

/// An accepted request.
pub(super) struct Pending {
    pub request: Request,
    pub submitted: Instant,
    pub order: u64,
    pub buffer: Option<Buffer>,
    /// Parts, or requests below, that have not completed.
    pub left: u32,
    pub failure: Option<Failure>,
    /// Whether a copy completed one of its parts.
    pub by_copy: bool,
    /// Homes that were written before the request completed, where risks are tracked: page, number below, range.
    pub homes: Vec<(u32, u64, u64, u64)>,
}

/// The pages of a request, while it is pending.
pub(super) struct Span {
    key: Key,
    order: u64,
    first: u32,
    last: u32,
    is_read: bool,
}

impl Span {
    fn conflicts(&self, other: &Self) -> bool {
        !(self.is_read && other.is_read) && self.first <= other.last && other.first <= self.last
    }
}

/// The part of a read or a write within one page, until it has completed.
pub(super) struct Part {
    pub pending: Key,
    pub is_read: bool,
    pub page: u32,
    /// The bytes of the page that it covers.
    pub from: u64,
    pub length: u64,
    /// Where they are in the request's buffer.
    pub at: usize,
    /// Requests below so far, queued copies included.
    pub ios: u32,
    /// When it looks for another place.
    pub deadline: Instant,
    pub blocked: bool,
    /// For a read: places not tried, whether the home was, reads in flight, the last of them, and the failure to
    /// report.
    pub candidates: Vec<Candidate>,
    pub tried_home: bool,
    pub reading: u32,
    pub last_io: Option<Key>,
    pub failure: Option<Failure>,
}

impl<B: Below> Replicated<B> {
    /// Accepts a request, or gives its buffer back.
    pub(super) fn accept(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.info.check(&request) {
            return Err((error, buffer));
        }
        if request.operation == Operation::Trim && self.has_trims == Some(false) {
            return Err((SubmitError::Unsupported { operation: Operation::Trim }, buffer));
        }
        if self.pending.len() >= self.info.depth as usize {
            return Err((SubmitError::Full { depth: self.info.depth }, buffer));
        }
        let transfers = matches!(request.operation, Operation::Read | Operation::Write);
        let length = buffer.as_ref().map(|buffer| buffer.len() as u64);
        assert!(
            !transfers || length.is_none_or(|length| length == request.length_bytes),
            "a buffer is as long as its request"
        );
        let order = self.next_order;
        let key = self.pending.insert(Pending {
            request,
            submitted: self.now(),
            order,
            buffer,
            left: 0,
            failure: None,
            by_copy: false,
            homes: Vec::new(),
        });
        if request.operation != Operation::Flush {
            let (first, last) = self.pages_of(&request);
            let is_read = request.operation == Operation::Read;
            self.spans.push(Span { key, order, first, last, is_read });
        }
        if !self.may_start(key) {
            self.waiting.push(key);
        } else if let Err(error) = self.start(key) {
            self.remove_span(key);
            let buffer = self.pending.remove(key).and_then(|pending| pending.buffer);
            return Err((error, buffer));
        }
        if !self.done.is_empty() {
            self.done.remove(&request.id);
        }
        self.next_order += 1;
        self.has_written |= matches!(request.operation, Operation::Write | Operation::Trim);
        self.process_refused();
        Ok(())
    }

    fn pages_of(&self, request: &Request) -> (u32, u32) {
        let page_bytes = self.layout.page_bytes;
        let last = request.offset_bytes + request.length_bytes - 1;
        ((request.offset_bytes / page_bytes) as u32, (last / page_bytes) as u32)
    }

    fn remove_span(&mut self, key: Key) {
        if let Some(at) = self.spans.iter().position(|span| span.key == key) {
            self.spans.swap_remove(at);
        }
    }

    /// Returns whether no earlier request stands in the way.
    fn may_start(&self, key: Key) -> bool {
        let Some(pending) = self.pending.get(key) else { return false };
        if pending.request.operation == Operation::Flush {
            return self.homes.values().all(|homes| homes.first_order() > pending.order);
        }
        let Some(own) = self.spans.iter().rfind(|span| span.key == key) else { return false };
        if self.spans.iter().any(|span| span.order < own.order && span.conflicts(own)) {
            return false;
        }
        // A trim must not be overtaken by the home of an earlier write.
        pending.request.operation != Operation::Trim
            || self.homes.range(own.first..=own.last).next().is_none()
    }

    /// Begins the requests that nothing stands in the way of any more.
    pub(super) fn start_waiting(&mut self) {
        let mut at = 0;
        while at < self.waiting.len() {
            let key = self.waiting[at];
            if !self.may_start(key) {
                at += 1;
                continue;
            }
            self.waiting.remove(at);
            if let Err(error) = self.start(key) {
                // A trim is a hint: one that the device below turns out not to know does nothing.
                let is_hint = matches!(error, SubmitError::Unsupported { .. });
                let pending = self.pending.get_mut(key).expect("it is pending");
                pending.failure = (!is_hint).then(|| failure_of(&error));
                self.complete(key);
            }
            // What was started may have completed, and with it what others waited for.
            at = 0;
        }
    }

    /// Begins a request. A refusal changes nothing.
    fn start(&mut self, key: Key) -> Result<(), SubmitError> {
        let pending = self.pending.get(key).expect("it is pending");
        let request = pending.request;
        match request.operation {
            Operation::Read | Operation::Write => self.start_parts(key, &request),
            Operation::Trim => return self.start_trim(key, &request),
            Operation::Flush => {
                self.set_left(key, 1);
                self.send_other(key, Request::flush(0));
            }
            operation => unreachable!("a device without erase units refuses the {operation}"),
        }
        Ok(())
    }

    fn set_left(&mut self, key: Key, left: u32) {
        self.pending.get_mut(key).expect("it is pending").left = left;
    }

    fn send_other(&mut self, pending: Key, request: Request) -> Key {
        let kind = IoKind::Other { pending };
        self.send(
            Io { kind, partition: 0, extra: false, recorded: true, numbered: false, nth_write: 0 },
            request,
            None,
        )
    }

    fn start_parts(&mut self, key: Key, request: &Request) {
        let page_bytes = self.layout.page_bytes;
        let (first, last) = self.pages_of(request);
        self.set_left(key, last - first + 1);
        let end = request.offset_bytes + request.length_bytes;
        for page in first..=last {
            let start = u64::from(page) * page_bytes;
            let from = request.offset_bytes.max(start);
            let to = end.min(start + page_bytes);
            let part = self.parts.insert(Part {
                pending: key,
                is_read: request.operation == Operation::Read,
                page,
                from: from - start,
                length: to - from,
                at: (from - request.offset_bytes) as usize,
                ios: 0,
                deadline: Instant::FAR,
                blocked: false,
                candidates: Vec::new(),
                tried_home: false,
                reading: 0,
                last_io: None,
                failure: None,
            });
            match request.operation {
                Operation::Read => self.start_read(part),
                _ => self.start_write(part, request.durable),
            }
        }
    }

    /// Trims the homes, one request for each partition, and drops the copies.
    fn start_trim(&mut self, key: Key, request: &Request) -> Result<(), SubmitError> {
        let partition_bytes = u64::from(self.layout.data_pages) * self.layout.page_bytes;
        let (first, last) = self.pages_of(request);
        let end = request.offset_bytes + request.length_bytes;
        let (first_partition, last_partition) =
            (self.layout.partition_of(first), self.layout.partition_of(last));
        self.set_left(key, last_partition - first_partition + 1);
        for partition in first_partition..=last_partition {
            let start = u64::from(partition) * partition_bytes;
            let (from, to) = (request.offset_bytes.max(start), end.min(start + partition_bytes));
            let home = self.layout.home(partition * self.layout.data_pages);
            let io = self.send_other(key, Request::trim(0, home + (from - start), to - from));
            let is_refused = |refused: &(Completion, _)| refused.0.id.0 == io.number();
            if partition == first_partition && self.refused.back().is_some_and(is_refused) {
                self.refused.pop_back();
                let io = self.ios.remove(io);
                debug_assert!(io.is_some(), "a refused request is still known");
                self.has_trims = Some(false);
                return Err(UNSUPPORTED);
            }
        }
        for page in first..=last {
            self.drop_copies(page);
        }
        Ok(())
    }

    /// A trim or a flush has completed below.
    pub(super) fn other_completed(&mut self, key: Key, completion: &Completion) {
        let pending = self.pending.get_mut(key).expect("its request is pending");
        let operation = pending.request.operation;
        let unsupported = completion.outcome == Err(failure_of(&UNSUPPORTED));
        if operation == Operation::Trim && unsupported {
            // A trim is a hint: one that the device below turns out not to know does nothing.
            self.has_trims = Some(false);
        } else if let Err(failure) = completion.outcome {
            pending.failure.get_or_insert(failure);
        }
        if operation == Operation::Flush {
            if let Some(failure) = self.lost_home.take() {
                pending.failure.get_or_insert(failure);
            }
            self.prune_log();
        }
        self.part_left(key);
    }

    /// A part has completed, or a request below of a trim or a flush.
    fn part_left(&mut self, key: Key) {
        let pending = self.pending.get_mut(key).expect("its request is pending");
        pending.left -= 1;
        if pending.left == 0 {
            self.complete(key);
        }
    }

    /// Completes a part.
    pub(super) fn finish(&mut self, part: Key, outcome: Result<(), Failure>) {
        let part = self.parts.remove(part).expect("it has not completed");
        if self.has_copies() {
            let by_ios = if part.is_read { &mut self.counts.reads } else { &mut self.counts.writes };
            by_ios.count(part.ios);
        }
        if let Err(failure) = outcome {
            let pending = self.pending.get_mut(part.pending).expect("its request is pending");
            pending.failure.get_or_insert(failure);
        }
        self.part_left(part.pending);
    }

    /// Completes a request.
    pub(super) fn complete(&mut self, key: Key) {
        let pending = self.pending.remove(key).expect("it is pending");
        let Pending { request, submitted, buffer, failure, by_copy, homes, .. } = pending;
        if request.operation != Operation::Flush {
            self.remove_span(key);
        }
        if request.operation == Operation::Write && !request.durable {
            let number = self.next_number;
            self.next_number += 1;
            if let Some(log) = &mut self.log {
                for (page, below, from, length) in homes {
                    log.insert(page, below, number, from, length);
                }
            }
            if by_copy {
                let (first, last) = self.pages_of(&request);
                for page in first..=last {
                    if let Some(homes) = self.homes.get_mut(&page) {
                        homes.acknowledge(key, number);
                    }
                }
            }
            if self.log.as_ref().is_some_and(RiskLog::is_due) {
                self.prune_log();
            }
        }
        let completed = self.latest.max(submitted);
        self.latest = completed;
        if matches!(request.operation, Operation::Read | Operation::Write) && !self.settings.always {
            self.worth.record(completed.since(submitted));
        }
        let outcome = failure.map_or(Ok(()), Err);
        self.ready.push(Completion { id: request.id, submitted, completed, outcome });
        if let Some(buffer) = buffer {
            self.done.insert(request.id, buffer);
        }
        if !self.waiting.is_empty() {
            self.start_waiting();
        }
    }

    fn prune_log(&mut self) {
        if let (Some(log), Some(at_risk)) = (&mut self.log, self.below.device().at_risk()) {
            log.prune(&at_risk, &self.layout);
        }
    }

    /// A page has no copies any more.
    pub(super) fn drop_copies(&mut self, page: u32) {
        if !self.groups.is_replicated(page) {
            return;
        }
        let mut slots: Vec<Slot> = std::mem::take(&mut self.slots);
        slots.clear();
        self.groups.forget(page, &mut slots);
        self.slots = slots;
    }
}

/// The refusal of a trim.
const UNSUPPORTED: SubmitError = SubmitError::Unsupported { operation: Operation::Trim };
