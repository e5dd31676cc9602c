//! Pairs events of the block layer into requests with arrival and completion.
//!
//! A request arrives at the drive when it is issued (`D`), and ends when it completes (`C`). Before, it was queued
//! (`Q`), possibly in several parts that were merged, or as part of one that was split. A device without a request
//! queue (device mapper, md) has only `Q` and `C`, and there a request arrives when it is queued. So queued and issued
//! ranges are held in order of arrival: an issue removes the queued ranges that it covers, and a completion releases
//! the ranges that it covers, with their duration. A range without a completion is released when [`WINDOW`] others are
//! behind it.

use crate::Record;
use crate::formats::blank;
use crate::sink::Sink;
use flashlane_base::{Instant, Operation};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of ranges held: more than a queue has, few enough for constant memory.
const WINDOW: usize = 1 << 14;

/// What happened to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Queue,
    Issue,
    Requeue,
    Complete,
}

/// An event of the block layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub action: Action,
    /// Time, device and range; `took` is `None`.
    pub record: Record,
    /// A flush precedes the write.
    pub flushes_first: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    Issued,
    /// Issued, requeued, and to be issued again; its arrival is the first issue.
    Requeued,
    Done,
    /// Queued, then issued as (part of) another range.
    Covered,
}

struct Entry {
    event: Event,
    line: u64,
    state: State,
}

/// Device, operation, first byte, and place in the order of arrival of a range.
type Key = (u32, Operation, u64, u64);

#[derive(Default)]
pub(crate) struct Pairing {
    /// In order of arrival.
    waiting: VecDeque<Entry>,
    /// Place of the first entry in that order.
    first: u64,
    /// Entries that are queued, issued or requeued.
    open: BTreeMap<Key, ()>,
    /// Devices with issues: their ranges that are only queued are not requests.
    issuing: Vec<u32>,
}

impl Pairing {
    /// Takes an event, and releases finished requests.
    pub fn event(&mut self, event: &Event, sink: &mut Sink) {
        match event.action {
            Action::Queue => self.wait(event, State::Queued, sink.lines),
            Action::Issue => self.issue(event, sink.lines),
            Action::Requeue => {
                if let Some(place) = self.at_start(event, State::Issued) {
                    self.entry(place).state = State::Requeued;
                }
            }
            Action::Complete => self.complete(event),
        }
        sink.skipped += 1;
        self.release(sink, WINDOW);
    }

    /// Releases the rest at the trace's end. Returns whether all of it fitted into the batch.
    pub fn finish(&mut self, sink: &mut Sink) -> bool {
        self.release(sink, 0);
        self.waiting.is_empty()
    }

    fn wait(&mut self, event: &Event, state: State, line: u64) {
        let Record { device, operation, offset_bytes, .. } = event.record;
        self.open.insert((device, operation, offset_bytes, self.first + self.waiting.len() as u64), ());
        self.waiting.push_back(Entry { event: *event, line, state });
    }

    fn issue(&mut self, event: &Event, line: u64) {
        let device = event.record.device;
        if let Err(place) = self.issuing.binary_search(&device) {
            self.issuing.insert(place, device);
        }
        if let Some(place) = self.at_start(event, State::Requeued) {
            self.entry(place).state = State::Issued;
            return;
        }
        while let Some(key) = self.covered(event, |state| state == State::Queued) {
            self.close(key, State::Covered);
        }
        self.wait(event, State::Issued, line);
    }

    fn complete(&mut self, event: &Event) {
        // The issued request; else, on devices that only queue, all ranges that were merged into one.
        let key = self.covered(event, |state| state != State::Queued);
        if let Some(key) = key {
            return self.done(key, event.record.at);
        }
        while let Some(key) = self.covered(event, |_| true) {
            self.done(key, event.record.at);
        }
    }

    fn done(&mut self, key: Key, at: Instant) {
        let entry = self.close(key, State::Done);
        let record = &mut entry.event.record;
        // A clock that runs backwards gives no duration.
        record.took = (at >= record.at).then(|| at.since(record.at));
    }

    fn close(&mut self, key: Key, state: State) -> &mut Entry {
        self.open.remove(&key);
        let entry = self.entry(key.3);
        entry.state = state;
        entry
    }

    fn entry(&mut self, place: u64) -> &mut Entry {
        &mut self.waiting[(place - self.first) as usize]
    }

    /// Returns the first open range within the event's whose state satisfies `is_meant`.
    fn covered(&self, event: &Event, is_meant: impl Fn(State) -> bool) -> Option<Key> {
        let Record { device, operation, offset_bytes, length_bytes, .. } = event.record;
        let from = (device, operation, offset_bytes, 0);
        let to = (device, operation, offset_bytes.saturating_add(length_bytes.max(1)), 0);
        let mut within = self.open.range(from..to).map(|(key, ())| *key);
        within.find(|key| is_meant(self.waiting[(key.3 - self.first) as usize].state))
    }

    /// Returns the first open range in this state that begins where the event's does.
    fn at_start(&self, event: &Event, state: State) -> Option<u64> {
        let key = self.covered(event, |found| found == state)?;
        (key.2 == event.record.offset_bytes).then_some(key.3)
    }

    /// Releases finished ranges, and open ones with more than `most` ranges held.
    fn release(&mut self, sink: &mut Sink, most: usize) {
        while sink.has_room()
            && let Some(front) = self.waiting.front()
        {
            let is_open = matches!(front.state, State::Queued | State::Issued | State::Requeued);
            if is_open && self.waiting.len() <= most {
                return;
            }
            let Some(entry) = self.waiting.pop_front() else { return };
            let record = &entry.event.record;
            if is_open {
                self.open.remove(&(record.device, record.operation, record.offset_bytes, self.first));
            }
            self.first += 1;
            let is_request = match entry.state {
                State::Queued => self.issuing.binary_search(&record.device).is_err(),
                State::Covered => false,
                State::Issued | State::Requeued | State::Done => true,
            };
            if is_request {
                push(&entry, sink);
            }
        }
    }
}

/// Pushes a request, and before it the flush that precedes it.
fn push(Entry { event, line, .. }: &Entry, sink: &mut Sink) {
    sink.skipped -= 1;
    let record = event.record;
    if event.flushes_first && record.operation == Operation::Write {
        // A flush has no length, and its device was counted already, so it is not refused.
        let _ = sink.push_of(*line, blank(record.at.as_ns(), record.device, Operation::Flush));
    }
    if let Err(reason) = sink.push_of(*line, record) {
        sink.refuse_of(*line, &reason, &[]);
    }
}
