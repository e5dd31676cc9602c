//! A device under observation: every call is checked against what holds at all times.

use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, Failure, Lane, Profile, Request, RequestId,
    SubmitError, Unit, UnitState,
};
use std::collections::BTreeMap;

/// Whether the device is expected to carry out what it accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// Every accepted request succeeds.
    Sound,
    /// Requests may fail and the device may vanish, lawfully.
    Failing,
}

/// A request in flight, and the clock just before and just after it was handed over.
struct Flying {
    request: Request,
    before: Instant,
    after: Instant,
}

/// A device, the law that is being tried on it, and what has been seen of it so far.
pub(super) struct Watched<D: Device> {
    device: D,
    law: &'static str,
    health: Health,
    in_flight: BTreeMap<RequestId, Flying>,
    next_id: u64,
    latest_now: Instant,
    latest_completed: Instant,
    /// Every completion, in order.
    pub log: Vec<Completion>,
}

impl<D: Device> Watched<D> {
    pub fn new(device: D, law: &'static str, health: Health) -> Self {
        let latest_now = device.now();
        Self {
            device,
            law,
            health,
            in_flight: BTreeMap::new(),
            next_id: 1,
            latest_now,
            latest_completed: Instant::ZERO,
            log: Vec::new(),
        }
    }

    /// Panics with the law's and the device's name unless `holds`.
    #[track_caller]
    pub fn require(&self, holds: bool, seen: impl FnOnce() -> String) {
        if !holds {
            panic!("'{}' breaks the law '{}': {}", self.device.profile().name, self.law, seen());
        }
    }

    pub fn profile(&self) -> &Profile {
        self.device.profile()
    }

    pub fn counters(&self) -> Counters {
        self.device.counters()
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether requests may fail lawfully.
    pub fn may_fail(&self) -> bool {
        self.health == Health::Failing
    }

    pub fn now(&mut self) -> Instant {
        let now = self.device.now();
        let latest = self.latest_now;
        self.require(now >= latest, || format!("the clock went back from {latest:?} to {now:?}"));
        self.latest_now = now;
        now
    }

    /// `request` under an id that was never used before.
    pub fn named(&mut self, request: Request) -> Request {
        let id = RequestId(self.next_id);
        // Ids are the caller's choice: large strides and high bits must come back as they went in.
        self.next_id = self.next_id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Request { id, ..request }
    }

    /// Hands over a request under a fresh id.
    pub fn submit(&mut self, request: Request) -> Result<RequestId, SubmitError> {
        let request = self.named(request);
        self.observe(request, |device| device.submit(request))
    }

    /// Hands over a request that the device has no reason to refuse.
    #[track_caller]
    pub fn must_submit(&mut self, request: Request) -> Option<RequestId> {
        match self.submit(request) {
            Ok(id) => Some(id),
            Err(SubmitError::DeviceLost) if self.may_fail() => None,
            Err(error) => {
                self.require(false, || format!("{request:?} was refused: {error}"));
                None
            }
        }
    }

    fn observe(
        &mut self,
        request: Request,
        hand_over: impl FnOnce(&mut D) -> Result<(), SubmitError>,
    ) -> Result<RequestId, SubmitError> {
        let before = self.now();
        let counted = self.device.counters();
        let answer = hand_over(&mut self.device);
        let after = self.now();
        match answer {
            Ok(()) => {
                let flying = Flying { request, before, after };
                let previous = self.in_flight.insert(request.id, flying);
                assert!(previous.is_none(), "the conformance body used an id twice");
                let (depth, count) = (self.device.profile().depth, self.in_flight.len());
                self.require(count <= depth as usize, || {
                    format!("{count} requests are in flight at a depth of {depth}")
                });
                Ok(request.id)
            }
            Err(error) => {
                self.require(self.device.counters() == counted, || {
                    format!("the refused {request:?} was counted")
                });
                self.require(!self.profile().simulated || before == after, || {
                    format!("the refused {request:?} took time")
                });
                Err(error)
            }
        }
    }

    /// Reaps until `until` and returns what completed.
    pub fn reap(&mut self, until: Instant) -> Vec<Completion> {
        // An entry that is already there must stay: reap appends.
        let earlier = Completion {
            id: RequestId(0),
            submitted: Instant::ZERO,
            completed: Instant::ZERO,
            outcome: Err(Failure::Os(0)),
        };
        let mut out = vec![earlier];
        let waiting = self.in_flight.len();
        self.device.reap(until, &mut out);
        let now = self.now();
        self.require(out.first() == Some(&earlier), || "reap touched what it did not append".into());
        out.remove(0);
        for completion in &out {
            self.judge(completion, now);
        }
        if out.is_empty() {
            let lawful = if until == Instant::FAR { waiting == 0 } else { now >= until };
            self.require(lawful, || {
                format!("reap gave nothing at {now:?} with {waiting} in flight, asked for until {until:?}")
            });
        }
        self.log.extend_from_slice(&out);
        out
    }

    fn judge(&mut self, completion: &Completion, now: Instant) {
        let Some(flying) = self.in_flight.remove(&completion.id) else {
            return self.require(false, || format!("{completion:?} belongs to no request in flight"));
        };
        let Flying { request, before, after } = flying;
        self.require((before..=after).contains(&completion.submitted), || {
            format!("{completion:?} was handed over between {before:?} and {after:?}")
        });
        self.require(completion.completed >= completion.submitted, || {
            format!("{completion:?} was done before it was asked for")
        });
        self.require(completion.completed <= now, || format!("{completion:?} lies ahead of {now:?}"));
        let latest = self.latest_completed;
        self.require(completion.completed >= latest, || {
            format!("{completion:?} comes after one completed at {latest:?}")
        });
        self.latest_completed = completion.completed;
        self.require(self.may_fail() || completion.outcome.is_ok(), || {
            format!("{request:?} failed: {:?}", completion.outcome)
        });
    }

    /// Waits for everything in flight.
    pub fn drain(&mut self) {
        while !self.in_flight.is_empty() {
            self.reap(Instant::FAR);
        }
        let left = self.reap(Instant::FAR);
        self.require(left.is_empty(), || format!("{left:?} completed out of nowhere"));
    }

    /// Hands over a request and waits for everything in flight.
    #[track_caller]
    pub fn complete(&mut self, request: Request) {
        self.must_submit(request);
        self.drain();
    }

    /// What the device knows of an erase unit.
    pub fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.device.unit(lane, index)
    }

    /// Where the first erase unit of a lane begins that can be used; 0 on media without.
    pub fn base(&self, lane: Lane) -> u64 {
        let unit_bytes = self.profile().erase_unit_bytes;
        let good = |&index: &u64| self.unit(lane, index).is_none_or(|unit| unit.state != UnitState::Bad);
        let units = self.profile().capacity_bytes.checked_div(unit_bytes).unwrap_or(0);
        (0..units).find(good).unwrap_or(0) * unit_bytes
    }

    /// Makes the first units of a lane readable: media with an erase refuse reads of what was never written.
    pub fn prepare(&mut self, lane: Lane) {
        let Profile { erase_unit_bytes, write_unit_bytes, read_only, .. } = *self.profile();
        if erase_unit_bytes > 0 && !read_only {
            let base = self.base(lane);
            self.complete(Request::erase(0, base, erase_unit_bytes).on(lane));
            self.complete(Request::write(0, base, write_unit_bytes).on(lane));
        }
    }

    /// A read that the device accepts on a lane for which [`prepare`](Self::prepare) was called.
    pub fn a_read(&self, lane: Lane) -> Request {
        Request::read(0, self.base(lane), self.profile().read_unit_bytes).on(lane)
    }
}

impl<D: DataDevice> Watched<D> {
    /// Hands over a request with its bytes under a fresh id; a refusal gives the bytes back as they were.
    pub fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<RequestId, SubmitError> {
        let request = self.named(request);
        let bytes = buffer.as_slice().to_vec();
        let mut returned = None;
        let answer = self.observe(request, |device| {
            device.submit_with(request, buffer).map_err(|(error, buffer)| {
                returned = Some(buffer);
                error
            })
        });
        self.require(returned.is_none_or(|b| b.as_slice() == bytes), || {
            format!("the refused {request:?} lost its bytes")
        });
        answer
    }

    /// The bytes of a completed request, which can be taken once.
    pub fn take(&mut self, id: RequestId, length_bytes: u64) -> Vec<u8> {
        let Some(buffer) = self.device.take_buffer(id) else {
            self.require(false, || format!("the bytes of {id:?} were not given back"));
            return Vec::new();
        };
        let length = buffer.len();
        self.require(length as u64 == length_bytes, || {
            format!("{id:?} asked for {length_bytes} bytes and got {length}")
        });
        let again = self.device.take_buffer(id);
        self.require(again.is_none(), || format!("the bytes of {id:?} were given back twice"));
        buffer.as_slice().to_vec()
    }
}
