//! The loop: a fixed number of slots, each with one request in flight, waiting, thinking, or free.
//!
//! A slot's index is its request's id, so a completion finds its request by one index and nothing is allocated once
//! the loop runs. What a device does not take because it is full waits here in order; the wait is part of the
//! latency, as it is where an operating system queues for a drive.
//!
//! The loop is closed where a client keeps its slots busy by itself (a completion brings the next access), and open
//! where accesses arrive at times of their own ([`Client::arrival`]). An open loop needs no queue either, however far
//! its device lags behind: with as many slots as the device takes requests, the access that is next in order stays
//! with the client until a slot is free, and is due since it arrived.

use crate::Interruption;
use flashlane_base::{Duration, Instant};
use flashlane_device::{Completion, Device, Lane, Request, RequestId, SubmitError};
use flashlane_workload::Access;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a slot is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) access: Access,
    /// Writes only: complete when the bytes are on flash.
    pub(crate) durable: bool,
    /// Since when it is due; `Instant::FAR` where that is when it is issued.
    pub(crate) due: Instant,
}

impl From<Access> for Task {
    #[inline]
    fn from(access: Access) -> Self {
        Self { access, durable: false, due: Instant::FAR }
    }
}

/// Decides what each slot does next and hears how it ended.
pub(crate) trait Client<D: ?Sized> {
    /// When the next access arrives by itself, to be taken by any free slot; `None` where none does, or not before a
    /// completion.
    fn arrival(&self) -> Option<Instant> {
        None
    }

    /// When `slot` is to be asked for its first task; at once unless it says otherwise.
    fn begins(&self, _slot: u32) -> Option<Instant> {
        None
    }

    /// The next task of `slot`; where there is none now, the slot is free from then on. A client that knows what
    /// comes after may let the device expect it.
    fn next(&mut self, slot: u32, device: &D) -> Option<Task>;

    /// The access of `slot` succeeded; it was due at `due`. The answer is the pause before the slot is asked for its
    /// next; `None` frees it.
    fn done(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &D,
    ) -> Option<Duration>;

    /// The device refused the access of `slot`, for another reason than being full. Whether to go on without it.
    fn refused(&mut self, _slot: u32, _access: &Access, _error: SubmitError, _device: &D) -> bool {
        false
    }

    /// Asked now and then, between completions: whether to stop. A simulated device is left with what is in flight then.
    fn stopped(&mut self) -> bool {
        false
    }
}

/// How a loop ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Why before all slots retired.
    pub(crate) interruption: Option<Interruption>,
    /// Requests that waited because the device was full.
    pub(crate) waited: u64,
    /// Requests that failed or never came back.
    pub(crate) failed: u64,
}

/// How often in a row a device may return nothing, its clock standing still, before it counts as stalled.
const PATIENCE: u32 = 16;

/// Most work on a simulated device between two questions whether to stop (a few milliseconds): one for each turn of the
/// loop, and one for each [`ASK_BYTES`] that it moved.
const ASK_EVERY: u64 = 256;
const ASK_BYTES: u64 = 64 << 10;

/// How long a real device may idle towards the next access between two such questions.
const NAP: Duration = Duration::from_ms(100);

/// Drives `slots` requests at a time until all slots are free and nothing arrives any more, or something ends it.
/// Drains what is in flight, except where a simulated device's client stops.
pub(crate) fn drive<D, C>(device: &mut D, slots: u32, client: &mut C) -> Ending
where
    D: Device + ?Sized,
    C: Client<D>,
{
    let mut engine = Engine::new(device, slots, client);
    for slot in 0..slots {
        match engine.client.begins(slot) {
            Some(at) => engine.think(slot, at),
            None => engine.issue(slot),
        }
    }
    engine.run();
    engine.ending
}

/// What became of a request.
enum Submitted {
    Taken,
    /// The device is full.
    Full,
    /// The device will not have it: the slot is to do something else, or the loop ends.
    Refused,
}

struct Engine<'a, D: ?Sized, C> {
    device: &'a mut D,
    client: &'a mut C,
    /// By slot: what is in flight or waits.
    tasks: Vec<Task>,
    /// Slots without a task.
    free: Vec<u32>,
    in_flight: u64,
    /// Slots whose request the full device has not taken yet, first come first.
    waiting: VecDeque<u32>,
    /// Slots that think, soonest first.
    thinking: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Bytes completed since the client was last asked whether to stop.
    moved_bytes: u64,
    ending: Ending,
}

impl<'a, D: Device + ?Sized, C: Client<D>> Engine<'a, D, C> {
    fn new(device: &'a mut D, slots: u32, client: &'a mut C) -> Self {
        Self {
            device,
            client,
            tasks: vec![Access::read(0, 0).into(); slots as usize],
            free: Vec::with_capacity(slots as usize),
            in_flight: 0,
            waiting: VecDeque::new(),
            thinking: BinaryHeap::new(),
            moved_bytes: 0,
            ending: Ending::default(),
        }
    }

    fn run(&mut self) {
        let simulated = self.device.profile().simulated;
        // The first requests of a large simulated drive touch its tables for the first time and take long.
        let mut ask_every = 1;
        let mut turns = 0;
        let mut fruitless = 0;
        let mut completions = Vec::new();
        loop {
            let mut until = self.wake();
            if self.in_flight == 0 && until == Instant::FAR {
                return;
            }
            let before = (until != Instant::FAR || fruitless > 0).then(|| self.device.now());
            if let Some(now) = before.filter(|_| !simulated && until != Instant::FAR) {
                until = until.min(now + NAP);
            }
            self.device.reap(until, &mut completions);
            if completions.is_empty() {
                fruitless = if before == Some(self.device.now()) { fruitless + 1 } else { 1 };
                if fruitless > PATIENCE {
                    self.stall();
                    return;
                }
            } else {
                fruitless = 0;
                for completion in completions.drain(..) {
                    self.complete(completion);
                }
            }
            turns += 1;
            if turns + self.moved_bytes / ASK_BYTES >= ask_every {
                (turns, self.moved_bytes) = (0, 0);
                ask_every = if simulated { ASK_EVERY.min(2 * ask_every) } else { 1 };
                if self.ending.interruption.is_none() && self.client.stopped() {
                    self.interrupt(Interruption::Stopped);
                    if simulated {
                        // Large requests take long to simulate, and a simulated device needs no answer.
                        return;
                    }
                }
            }
        }
    }

    /// Issues what is due and says when the next is.
    #[inline]
    fn wake(&mut self) -> Instant {
        let soonest = if self.thinking.is_empty() { Instant::FAR } else { self.rouse() };
        soonest.min(self.admit())
    }

    /// Issues for slots that have thought long enough.
    fn rouse(&mut self) -> Instant {
        let now = self.device.now();
        while let Some(&Reverse((due, slot))) = self.thinking.peek() {
            if due > now {
                return due;
            }
            self.thinking.pop();
            self.issue(slot);
        }
        Instant::FAR
    }

    /// Issues what has arrived, as far as slots are free.
    #[inline]
    fn admit(&mut self) -> Instant {
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
            if !self.waiting.is_empty() {
                return self.hold(slot);
            }
            match self.submit(slot) {
                Submitted::Taken => return,
                Submitted::Full => return self.hold(slot),
                Submitted::Refused => {}
            }
        }
    }

    /// Hands the request of `slot` to the device.
    #[inline]
    fn submit(&mut self, slot: u32) -> Submitted {
        let Task { access, durable, .. } = self.tasks[slot as usize];
        let request = Request {
            id: RequestId(u64::from(slot)),
            operation: access.operation,
            lane: Lane(0),
            offset_bytes: access.offset_bytes,
            length_bytes: access.length_bytes,
            durable,
        };
        match self.device.submit(request) {
            Ok(()) => {
                self.in_flight += 1;
                Submitted::Taken
            }
            Err(SubmitError::Full { .. }) if self.in_flight > 0 => Submitted::Full,
            Err(error) => {
                if !self.client.refused(slot, &access, error, self.device) {
                    self.interrupt(Interruption::Refused { access, error });
                }
                Submitted::Refused
            }
        }
    }

    #[cold]
    fn hold(&mut self, slot: u32) {
        let task = &mut self.tasks[slot as usize];
        task.due = task.due.min(self.device.now());
        self.waiting.push_back(slot);
        self.ending.waited += 1;
    }

    /// Hands over what waits, as far as the device takes it.
    #[cold]
    fn release(&mut self) {
        while let Some(&slot) = self.waiting.front() {
            let submitted = self.submit(slot);
            if matches!(submitted, Submitted::Full) {
                return;
            }
            // An interruption during the submission has emptied the queue.
            self.waiting.pop_front();
            if matches!(submitted, Submitted::Refused) {
                self.issue(slot);
            }
        }
    }

    #[inline]
    fn complete(&mut self, completion: Completion) {
        let slot = completion.id.0 as u32;
        let Task { access, due, .. } = self.tasks[slot as usize];
        self.in_flight -= 1;
        self.moved_bytes += access.length_bytes;
        if !self.waiting.is_empty() {
            self.release();
        }
        if let Err(failure) = completion.outcome {
            self.ending.failed += 1;
            self.interrupt(Interruption::Failed { access, failure });
            return;
        }
        let due = due.min(completion.submitted);
        match self.client.done(slot, &access, due, &completion, self.device) {
            Some(Duration::ZERO) => self.issue(slot),
            Some(think) => self.think(slot, completion.completed + think),
            None => self.free.push(slot),
        }
    }

    fn think(&mut self, slot: u32, due: Instant) {
        if self.ending.interruption.is_none() {
            self.thinking.push(Reverse((due, slot)));
        }
    }

    /// Notes the first reason to end; from here on nothing is issued, only drained.
    #[cold]
    fn interrupt(&mut self, reason: Interruption) {
        self.ending.interruption.get_or_insert(reason);
        self.waiting.clear();
        self.thinking.clear();
    }

    #[cold]
    fn stall(&mut self) {
        self.ending.failed += self.in_flight;
        self.interrupt(Interruption::Stalled { in_flight: self.in_flight });
    }
}
