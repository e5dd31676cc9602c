//! The loop: a fixed number of slots, each with one request in flight, waiting, paused, or free.
//!
//! A slot's index is its request's id, so a completion finds its request by one index and nothing is allocated once the
//! loop runs. A request that the full device refuses waits here in order; the wait is part of the latency, as in an
//! operating system's queue.
//!
//! The loop is closed where each completion triggers the slot's next access, and open where accesses have arrival times
//! ([`Client::arrival`]). On a device with erase units, a request waits while another is in flight on its unit that
//! excludes it, as an operating system lets one write at a time go to a zone; those for other units do not wait for it.
//! An open loop needs no queue, however far its device lags: with as many slots as the device takes requests, the next
//! access stays with the client until a slot is free, and its latency counts from its arrival.

use crate::Interruption;
use flashlane_base::{Duration, Instant, Operation};
use flashlane_device::{Completion, Device, Lane, PlacementHandle, QueueId, Request, RequestId, SubmitError};
use flashlane_workload::Access;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The next request of a slot.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The request.
    pub access: Access,
    /// Writes only: complete when the data is on flash.
    pub durable: bool,
    /// The submission queue in which it waits.
    pub queue: QueueId,
    /// Writes only: the placement handle.
    pub handle: PlacementHandle,
    /// When its latency begins; `Instant::FAR` for the time of issue.
    pub due: Instant,
    /// Whether its erase unit is erased before; the latency does not include that.
    pub erases_first: bool,
}

impl From<Access> for Task {
    #[inline]
    fn from(access: Access) -> Self {
        Self {
            access,
            durable: false,
            queue: QueueId(0),
            handle: PlacementHandle(0),
            due: Instant::FAR,
            erases_first: false,
        }
    }
}

/// What follows a failed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// The loop ends.
    End,
    /// The slot asks for its next task after this pause; `None` frees the slot.
    Next(Option<Duration>),
}

/// Supplies requests and receives their outcomes.
pub trait Client {
    /// Returns the arrival time of the next access, for any free slot; `None` where there is none, or none before a
    /// completion.
    fn arrival(&self) -> Option<Instant> {
        None
    }

    /// Returns when `slot` asks for its first task; `None` for at once.
    fn begins(&self, _slot: u32) -> Option<Instant> {
        None
    }

    /// Returns whether a paused `slot` that asks for a task at `due` would get none, at whatever time it is told. It is
    /// freed at once then: the device's clock is not moved for it.
    fn is_over(&self, _slot: u32, _due: Instant) -> bool {
        false
    }

    /// Returns the next task of `slot`; `None` frees the slot. A client that knows later accesses can call
    /// [`Device::prefetch`] for them.
    fn next(&mut self, slot: u32, device: &dyn Device) -> Option<Task>;

    /// The access of `slot` succeeded; its latency began at `due`. Returns the pause before the slot asks for its next
    /// task; `None` frees the slot.
    fn done(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> Option<Duration>;

    /// The access of `slot` failed; its latency began at `due`.
    fn failed(
        &mut self,
        _slot: u32,
        _access: &Access,
        _due: Instant,
        _completion: &Completion,
        _device: &dyn Device,
    ) -> AfterFailure {
        AfterFailure::End
    }

    /// The device refused the access of `slot` for another reason than being full. Returns whether to continue without
    /// it.
    fn refused(&mut self, _slot: u32, _access: &Access, _error: SubmitError, _device: &dyn Device) -> bool {
        false
    }

    /// Returns whether only the device's time ends the loop, and no number of requests.
    fn ends_by_time(&self) -> bool {
        false
    }

    /// Called at intervals, between completions: returns whether to stop. Requests in flight are then drained, except
    /// on a simulated device.
    fn stopped(&mut self) -> bool {
        false
    }
}

/// How a loop ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Why the loop ended early.
    pub interruption: Option<Interruption>,
    /// Requests that waited because the device was full.
    pub waited: u64,
    /// Requests that failed and ended the loop, or never completed.
    pub failed: u64,
}

/// Successive empty reaps with the device's clock standing still before the device counts as stalled.
const EMPTY_REAPS_MAX: u32 = 16;

/// Turns in which the clock of a simulated device stands still before a loop that only time ends is one without end:
/// far more than any number of requests in flight.
const STILL_TURNS_MAX: u64 = 1 << 22;

/// Most work on a simulated device between two calls of [`Client::stopped`] (a few milliseconds): one unit per turn of
/// the loop, and one per [`STOP_CHECK_BYTES`] transferred.
const STOP_CHECK_WORK: u64 = 256;
const STOP_CHECK_BYTES: u64 = 64 << 10;

/// Longest idle time on a real device between two calls of [`Client::stopped`].
const IDLE_MAX: Duration = Duration::from_ms(100);

/// Drives up to `slots` requests at a time until all slots are free and no arrival is left, or an interruption. Drains
/// requests in flight, except where the client of a simulated device stops.
pub fn drive<C: Client>(device: &mut dyn Device, slots: u32, client: &mut C) -> Ending {
    let mut engine = Engine::new(device, slots, client);
    for slot in 0..slots {
        match engine.client.begins(slot) {
            Some(at) => engine.pause(slot, at),
            None => engine.issue(slot),
        }
    }
    engine.run();
    engine.ending
}

/// Result of a submission.
enum Submitted {
    Taken,
    /// The device is full.
    Full,
    /// The erase unit is busy with another request, or waits for another unit.
    Busy,
    /// The device refuses the request: the slot takes another, or the loop ends.
    Refused,
}

struct Engine<'a, C> {
    device: &'a mut dyn Device,
    client: &'a mut C,
    /// By slot: the task in flight or waiting.
    tasks: Vec<Task>,
    /// Slots without a task.
    free: Vec<u32>,
    in_flight: u64,
    /// Slots whose request the full device has not taken yet, first come, first served.
    waiting: VecDeque<u32>,
    /// Slots whose erase unit is busy, and the unit, in the order in which they were issued.
    held: VecDeque<(u32, u64)>,
    /// Slots that pause, with the ends of their pauses, soonest first.
    paused: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Bytes completed since the last call of [`Client::stopped`].
    moved_bytes: u64,
    ending: Ending,
}

impl<'a, C: Client> Engine<'a, C> {
    fn new(device: &'a mut dyn Device, slots: u32, client: &'a mut C) -> Self {
        Self {
            device,
            client,
            tasks: vec![Access::read(0, 0).into(); slots as usize],
            free: Vec::with_capacity(slots as usize),
            in_flight: 0,
            waiting: VecDeque::new(),
            held: VecDeque::new(),
            paused: BinaryHeap::new(),
            moved_bytes: 0,
            ending: Ending::default(),
        }
    }

    fn run(&mut self) {
        let simulated = self.device.info().simulated;
        // The first requests of a large simulated drive fault its tables in and take long.
        let mut check_after = 1;
        let mut turns = 0;
        let mut empty_reaps = 0;
        let mut completions = Vec::new();
        // When the clock last moved, as far as it was looked at, and the turns since.
        let (mut moved, mut still_turns) = (self.device.now(), 0);
        loop {
            let mut until = self.issue_due();
            if self.in_flight == 0 && until == Instant::FAR {
                return;
            }
            let before = (until != Instant::FAR || empty_reaps > 0).then(|| self.device.now());
            if let Some(now) = before.filter(|_| !simulated && until != Instant::FAR) {
                until = until.min(now + IDLE_MAX);
            }
            self.device.reap(until, &mut completions);
            if completions.is_empty() {
                empty_reaps = if before == Some(self.device.now()) { empty_reaps + 1 } else { 1 };
                if empty_reaps > EMPTY_REAPS_MAX {
                    self.stall();
                    return;
                }
            } else {
                empty_reaps = 0;
                for completion in completions.drain(..) {
                    self.complete(completion);
                }
            }
            turns += 1;
            if turns + self.moved_bytes / STOP_CHECK_BYTES >= check_after {
                let now = self.device.now();
                still_turns = if now == moved { still_turns + turns } else { 0 };
                moved = now;
                if still_turns >= STILL_TURNS_MAX && self.client.ends_by_time() {
                    self.interrupt(Interruption::TimeStands);
                    return;
                }
                (turns, self.moved_bytes) = (0, 0);
                check_after = if simulated { STOP_CHECK_WORK.min(2 * check_after) } else { 1 };
                if self.ending.interruption.is_none() && self.client.stopped() {
                    self.interrupt(Interruption::Stopped);
                    if simulated {
                        // Large requests take long to simulate, and a simulated device needs no draining.
                        return;
                    }
                }
            }
        }
    }

    /// Issues the requests that are due, and returns when the next is.
    #[inline]
    fn issue_due(&mut self) -> Instant {
        let soonest = if self.paused.is_empty() { Instant::FAR } else { self.issue_paused() };
        soonest.min(self.issue_arrived())
    }

    /// Issues for slots whose pause has ended, and returns when the next pause ends.
    fn issue_paused(&mut self) -> Instant {
        let now = self.device.now();
        while let Some(&Reverse((due, slot))) = self.paused.peek() {
            let is_over = self.client.is_over(slot, due);
            if due > now && !is_over {
                return due;
            }
            self.paused.pop();
            if is_over {
                self.free.push(slot);
            } else {
                self.issue(slot);
            }
        }
        Instant::FAR
    }

    /// Issues accesses that have arrived while slots are free, and returns the next arrival time.
    #[inline]
    fn issue_arrived(&mut self) -> Instant {
        while let Some(arrival) = self.client.arrival() {
            if self.free.is_empty() || self.ending.interruption.is_some() {
                break;
            }
            if arrival > self.device.now() {
                return arrival;
            }
            if let Some(slot) = self.free.pop() {
                self.issue(slot);
            }
        }
        Instant::FAR
    }

    /// Starts the next request of `slot`.
    #[inline]
    fn issue(&mut self, slot: u32) {
        while self.ending.interruption.is_none() {
            let Some(task) = self.client.next(slot, self.device) else {
                self.free.push(slot);
                return;
            };
            self.tasks[slot as usize] = task;
            if !self.held.is_empty() && self.is_held(slot) {
                return self.hold(slot);
            }
            if !self.waiting.is_empty() {
                return self.enqueue(slot);
            }
            match self.submit(slot) {
                Submitted::Taken => return,
                Submitted::Full => return self.enqueue(slot),
                Submitted::Busy => return self.hold(slot),
                Submitted::Refused => {}
            }
        }
    }

    /// Hands the request of `slot` to the device.
    #[inline]
    fn submit(&mut self, slot: u32) -> Submitted {
        let Task { access, durable, queue, handle, erases_first, .. } = self.tasks[slot as usize];
        let mut request = Request {
            id: RequestId(u64::from(slot)),
            operation: access.operation,
            lane: Lane(0),
            queue,
            handle,
            offset_bytes: access.offset_bytes,
            length_bytes: access.length_bytes,
            durable,
        };
        if erases_first {
            request = self.erase_of(request);
        }
        match self.device.submit(request) {
            Ok(()) => {
                self.in_flight += 1;
                Submitted::Taken
            }
            Err(SubmitError::Full { .. }) if self.in_flight > 0 => Submitted::Full,
            Err(SubmitError::Rule { rule, .. }) if self.in_flight > 0 && rule.waits() => Submitted::Busy,
            Err(error) => {
                if !self.client.refused(slot, &access, error, self.device) {
                    self.interrupt(Interruption::Refused { access, error });
                }
                Submitted::Refused
            }
        }
    }

    #[cold]
    fn enqueue(&mut self, slot: u32) {
        let task = &mut self.tasks[slot as usize];
        task.due = task.due.min(self.device.now());
        self.waiting.push_back(slot);
        self.ending.waited += 1;
    }

    /// Submits waiting requests until the device is full.
    #[cold]
    fn submit_waiting(&mut self) {
        while let Some(&slot) = self.waiting.front() {
            let submitted = self.submit(slot);
            if matches!(submitted, Submitted::Full) {
                return;
            }
            // An interruption in `submit` has emptied the queue.
            self.waiting.pop_front();
            match submitted {
                Submitted::Refused => self.issue(slot),
                Submitted::Busy => self.hold(slot),
                Submitted::Taken | Submitted::Full => {}
            }
        }
    }

    /// The erase of the unit that a request is for.
    #[cold]
    fn erase_of(&self, request: Request) -> Request {
        let unit_bytes = self.device.info().erase_unit_bytes;
        let offset_bytes = request.offset_bytes - request.offset_bytes % unit_bytes;
        Request {
            operation: Operation::Erase,
            offset_bytes,
            length_bytes: unit_bytes,
            durable: false,
            handle: PlacementHandle(0),
            ..request
        }
    }

    /// The erase unit of a slot's request.
    fn unit_of(&self, slot: u32) -> u64 {
        let unit_bytes = self.device.info().erase_unit_bytes.max(1);
        self.tasks[slot as usize].access.offset_bytes / unit_bytes
    }

    /// Whether requests for the same erase unit are held, behind which this one goes.
    #[cold]
    fn is_held(&self, slot: u32) -> bool {
        let unit = self.unit_of(slot);
        self.held.iter().any(|&(_, of)| of == unit)
    }

    /// Holds a slot's request until its erase unit is no longer busy.
    #[cold]
    fn hold(&mut self, slot: u32) {
        let now = self.device.now();
        let task = &mut self.tasks[slot as usize];
        task.due = task.due.min(now);
        let unit = self.unit_of(slot);
        self.held.push_back((slot, unit));
    }

    /// Submits held requests, of each erase unit in their order.
    #[cold]
    fn submit_held(&mut self) {
        let mut busy = Vec::new();
        let mut at = 0;
        while let Some(&(slot, unit)) = self.held.get(at) {
            if busy.contains(&unit) {
                at += 1;
                continue;
            }
            match self.submit(slot) {
                Submitted::Taken => drop(self.held.remove(at)),
                Submitted::Refused => {
                    self.held.remove(at);
                    self.issue(slot);
                }
                Submitted::Full => return,
                Submitted::Busy => {
                    busy.push(unit);
                    at += 1;
                }
            }
        }
    }

    /// The unit of a slot's request is erased: the request follows before any other.
    #[cold]
    fn erased(&mut self, slot: u32) {
        self.tasks[slot as usize].erases_first = false;
        match self.submit(slot) {
            Submitted::Taken => {}
            Submitted::Full | Submitted::Busy => {
                let unit = self.unit_of(slot);
                self.held.push_front((slot, unit));
            }
            Submitted::Refused => self.issue(slot),
        }
    }

    #[inline]
    fn complete(&mut self, completion: Completion) {
        let slot = completion.id.0 as u32;
        let Task { access, due, erases_first, .. } = self.tasks[slot as usize];
        self.in_flight -= 1;
        self.moved_bytes += access.length_bytes;
        if erases_first && completion.outcome.is_ok() {
            return self.erased(slot);
        }
        if !self.held.is_empty() {
            self.submit_held();
        }
        if !self.waiting.is_empty() {
            self.submit_waiting();
        }
        let due = due.min(completion.submitted);
        let next = match completion.outcome {
            Ok(()) => self.client.done(slot, &access, due, &completion, self.device),
            Err(failure) => match self.client.failed(slot, &access, due, &completion, self.device) {
                AfterFailure::Next(next) => next,
                AfterFailure::End => {
                    self.ending.failed += 1;
                    self.interrupt(Interruption::Failed { access, failure });
                    return;
                }
            },
        };
        match next {
            Some(Duration::ZERO) => self.issue(slot),
            Some(pause) => self.pause(slot, completion.completed + pause),
            None => self.free.push(slot),
        }
    }

    fn pause(&mut self, slot: u32, due: Instant) {
        if self.ending.interruption.is_none() {
            self.paused.push(Reverse((due, slot)));
        }
    }

    /// Records the first reason to end; from here on requests are only drained.
    #[cold]
    fn interrupt(&mut self, reason: Interruption) {
        self.ending.interruption.get_or_insert(reason);
        self.waiting.clear();
        self.held.clear();
        self.paused.clear();
    }

    #[cold]
    fn stall(&mut self) {
        self.ending.failed += self.in_flight;
        self.interrupt(Interruption::Stalled { in_flight: self.in_flight });
    }
}
