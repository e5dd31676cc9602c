//! The requests in flight of a device in memory, and its clock.
//!
//! Invariants:
//! - the clock never goes back, and no request in flight is due before it once [`Queue::next_due`] has returned `None`;
//! - a request is in flight until it is due or the power is cut, and then completes once.

use flashlane_base::{Duration, Instant, Random};
use flashlane_device::{Buffer, Completion, Failure, Operation, Request, RequestId};
use std::collections::BTreeMap;

/// Longest time of a request.
const LONGEST: Duration = Duration::from_us(100);

/// A request in flight, with the outcome that it will have.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) request: Request,
    pub(crate) submitted: Instant,
    pub(crate) outcome: Result<(), Failure>,
    pub(crate) buffer: Option<Buffer>,
}

/// Requests in flight, each for a random time, and the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    now: Instant,
    accepted: u64,
    in_flight: BTreeMap<(Instant, u64), InFlight>,
    returned: BTreeMap<RequestId, Buffer>,
    /// Completions of requests that a power cut ended, for the next reap.
    cut_off: Vec<Completion>,
}

impl Queue {
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// Adds a request. A flush completes after all requests in flight.
    pub(crate) fn push(
        &mut self,
        request: Request,
        outcome: Result<(), Failure>,
        buffer: Option<Buffer>,
        random: &mut Random,
    ) {
        let duration = Duration::from_ns(1 + random.below(LONGEST.as_ns()));
        let after = match (request.operation, self.in_flight.last_key_value()) {
            (Operation::Flush, Some((&(last, _), _))) => last,
            _ => self.now,
        };
        let in_flight = InFlight { request, submitted: self.now, outcome, buffer };
        self.in_flight.insert((after.max(self.now) + duration, self.accepted), in_flight);
        self.accepted += 1;
        self.returned.remove(&request.id);
    }

    /// Returns the time of the next completion, [`Instant::FAR`] if nothing is in flight.
    pub(crate) fn next_event(&self) -> Instant {
        if !self.cut_off.is_empty() {
            return self.now;
        }
        self.in_flight.first_key_value().map_or(Instant::FAR, |(&(time, _), _)| time.max(self.now))
    }

    /// Advances the clock to the next completion, at most to `until`. Where a power cut has ended requests, appends
    /// their completions to `out` instead.
    pub(crate) fn advance(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if !self.cut_off.is_empty() {
            return out.append(&mut self.cut_off);
        }
        match self.in_flight.first_key_value().map(|(&(time, _), _)| time) {
            None if until == Instant::FAR => {}
            None => self.now = self.now.max(until),
            Some(next) => self.now = self.now.max(next.min(until)),
        }
    }

    /// Takes out the next request that is due.
    pub(crate) fn next_due(&mut self) -> Option<InFlight> {
        Some(self.in_flight.first_entry().filter(|entry| entry.key().0 <= self.now)?.remove())
    }

    /// Completes a request that was taken out.
    pub(crate) fn complete(&mut self, ended: InFlight) -> Completion {
        let InFlight { request, submitted, outcome, buffer } = ended;
        if let Some(buffer) = buffer {
            self.returned.insert(request.id, buffer);
        }
        Completion { id: request.id, submitted, completed: self.now, outcome }
    }

    /// Takes out all requests, in the order in which they were due; the next reap reports them as lost.
    pub(crate) fn cut_power(&mut self) -> Vec<InFlight> {
        let cut: Vec<InFlight> = std::mem::take(&mut self.in_flight).into_values().collect();
        self.cut_off.extend(cut.iter().map(|ended| Completion {
            id: ended.request.id,
            submitted: ended.submitted,
            completed: self.now,
            outcome: Err(Failure::DeviceLost),
        }));
        cut
    }

    pub(crate) fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.returned.remove(&id)
    }
}
