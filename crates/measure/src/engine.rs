//! The closed loop: a fixed number of slots, each with one request in flight, due, or thinking.
//!
//! A slot's index is its request's id, so a completion finds its request by one index and nothing is allocated once
//! the loop runs. What a device does not take because it is full waits here in order; the wait is part of the
//! latency, as it is where an operating system queues for a drive.

use crate::Interruption;
use flashlane_base::{Duration, Instant};
use flashlane_device::{Completion, Device, Lane, Request, RequestId, SubmitError};
use flashlane_workload::Access;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Decides what each slot does next and hears how it ended.
pub(crate) trait Client<D: ?Sized> {
    /// The next access of `slot`; `None` retires it. A client that knows what comes after may let the device expect
    /// it.
    fn next(&mut self, slot: u32, device: &D) -> Option<Access>;

    /// The access of `slot` succeeded. `completion.submitted` includes a wait for a full device. The answer is the
    /// pause before the slot's next access; `None` retires it.
    fn done(&mut self, slot: u32, access: &Access, completion: &Completion, device: &D) -> Option<Duration>;

    /// Asked now and then, between completions: whether to stop.
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

/// Completions of a simulated device between two questions whether to stop (a fraction of a millisecond).
const ASK_EVERY: u32 = 1024;

/// Drives `slots` requests at a time until every slot has retired or something ends it. Drains what is in flight.
pub(crate) fn drive<D, C>(device: &mut D, slots: u32, client: &mut C) -> Ending
where
    D: Device + ?Sized,
    C: Client<D>,
{
    let mut engine = Engine::new(device, slots, client);
    for slot in 0..slots {
        engine.issue(slot);
    }
    engine.run();
    engine.ending
}

struct Engine<'a, D: ?Sized, C> {
    device: &'a mut D,
    client: &'a mut C,
    /// By slot: what is in flight or waits.
    accesses: Vec<Access>,
    /// By slot: since when its request waited for a full device, else `Instant::FAR`.
    due: Vec<Instant>,
    in_flight: u64,
    /// Slots whose request the full device has not taken yet, first come first.
    waiting: VecDeque<u32>,
    /// Slots that think, soonest first.
    thinking: BinaryHeap<Reverse<(Instant, u32)>>,
    ending: Ending,
}

impl<'a, D: Device + ?Sized, C: Client<D>> Engine<'a, D, C> {
    fn new(device: &'a mut D, slots: u32, client: &'a mut C) -> Self {
        Self {
            device,
            client,
            accesses: vec![Access::read(0, 0); slots as usize],
            due: vec![Instant::FAR; slots as usize],
            in_flight: 0,
            waiting: VecDeque::new(),
            thinking: BinaryHeap::new(),
            ending: Ending::default(),
        }
    }

    fn run(&mut self) {
        let ask_every = if self.device.profile().simulated { ASK_EVERY } else { 1 };
        let mut ask_in = ask_every;
        let mut fruitless = 0;
        let mut completions = Vec::new();
        while self.in_flight > 0 || !self.thinking.is_empty() {
            let until = if self.thinking.is_empty() { Instant::FAR } else { self.wake() };
            let before = (until != Instant::FAR || fruitless > 0).then(|| self.device.now());
            self.device.reap(until, &mut completions);
            if completions.is_empty() {
                ask_in = 1;
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
            ask_in -= 1;
            if ask_in == 0 {
                ask_in = ask_every;
                if self.ending.interruption.is_none() && self.client.stopped() {
                    self.interrupt(Interruption::Stopped);
                }
            }
        }
    }

    /// Issues what is due and says when the next is.
    fn wake(&mut self) -> Instant {
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

    /// Starts the next request of `slot`.
    #[inline]
    fn issue(&mut self, slot: u32) {
        if self.ending.interruption.is_some() {
            return;
        }
        let Some(access) = self.client.next(slot, self.device) else { return };
        self.accesses[slot as usize] = access;
        if !self.waiting.is_empty() || !self.submit(slot) {
            self.hold(slot);
        }
    }

    /// Hands the request of `slot` to the device; false where the device is full.
    #[inline]
    fn submit(&mut self, slot: u32) -> bool {
        let access = self.accesses[slot as usize];
        let request = Request {
            id: RequestId(u64::from(slot)),
            operation: access.operation,
            lane: Lane(0),
            offset_bytes: access.offset_bytes,
            length_bytes: access.length_bytes,
            durable: false,
        };
        match self.device.submit(request) {
            Ok(()) => self.in_flight += 1,
            Err(SubmitError::Full { .. }) if self.in_flight > 0 => return false,
            Err(error) => self.interrupt(Interruption::Refused { access, error }),
        }
        true
    }

    #[cold]
    fn hold(&mut self, slot: u32) {
        if self.ending.interruption.is_some() {
            return;
        }
        self.due[slot as usize] = self.device.now();
        self.waiting.push_back(slot);
        self.ending.waited += 1;
    }

    /// Hands over what waits, as far as the device takes it.
    #[cold]
    fn release(&mut self) {
        while let Some(&slot) = self.waiting.front() {
            if !self.submit(slot) {
                return;
            }
            // An interruption during the submission has emptied the queue.
            self.waiting.pop_front();
        }
    }

    #[inline]
    fn complete(&mut self, mut completion: Completion) {
        let slot = completion.id.0 as u32;
        let access = self.accesses[slot as usize];
        self.in_flight -= 1;
        let due = self.due[slot as usize];
        if due != Instant::FAR {
            completion.submitted = completion.submitted.min(due);
            self.due[slot as usize] = Instant::FAR;
        }
        if !self.waiting.is_empty() {
            self.release();
        }
        if let Err(failure) = completion.outcome {
            self.ending.failed += 1;
            self.interrupt(Interruption::Failed { access, failure });
            return;
        }
        match self.client.done(slot, &access, &completion, self.device) {
            Some(Duration::ZERO) => self.issue(slot),
            Some(think) => self.think(slot, completion.completed + think),
            None => {}
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
