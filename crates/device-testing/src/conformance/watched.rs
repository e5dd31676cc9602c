//! A device under observation: every call is checked for the invariants.

use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, PowerCurve, Request,
    RequestId, SubmitError, Unit, UnitState, Zone,
};
use std::collections::BTreeMap;

/// Whether accepted requests may fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// Every accepted request succeeds.
    Sound,
    /// Requests may fail and the device may be lost.
    Failing,
}

/// A request in flight, and the clock just before and just after its submission.
struct InFlight {
    request: Request,
    before: Instant,
    after: Instant,
}

/// A device, the law under test, and the observations so far.
pub(super) struct Watched<D: Device> {
    device: D,
    law: &'static str,
    health: Health,
    in_flight: BTreeMap<RequestId, InFlight>,
    next_id: u64,
    latest_now: Instant,
    latest_completed: Instant,
    /// Every completion, in order.
    pub log: Vec<Completion>,
}

impl<D: Device> Watched<D> {
    pub fn new(mut device: D, law: &'static str, health: Health) -> Self {
        let latest_now = device.now();
        device.record_time_splits();
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

    /// Panics with the names of the law and the device unless `holds`.
    #[track_caller]
    pub fn require(&self, holds: bool, seen: impl FnOnce() -> String) {
        if !holds {
            panic!("'{}' breaks the law '{}': {}", self.device.info().name, self.law, seen());
        }
    }

    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    pub fn counters(&self) -> Counters {
        self.device.counters()
    }

    pub fn power_curve(&self) -> Option<PowerCurve> {
        self.device.power_curve()
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns whether requests may fail.
    pub fn may_fail(&self) -> bool {
        self.health == Health::Failing
    }

    pub fn next_event(&self) -> Option<Instant> {
        self.device.next_event()
    }

    pub fn now(&mut self) -> Instant {
        let now = self.device.now();
        let latest = self.latest_now;
        self.require(now >= latest, || format!("the clock went back from {latest:?} to {now:?}"));
        self.latest_now = now;
        now
    }

    /// Returns `request` with an unused id.
    pub fn with_fresh_id(&mut self, request: Request) -> Request {
        let id = RequestId(self.next_id);
        // Ids are chosen by the caller: large strides and high bits must come back unchanged.
        self.next_id = self.next_id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Request { id, ..request }
    }

    /// Submits a request with a fresh id.
    pub fn submit(&mut self, request: Request) -> Result<RequestId, SubmitError> {
        let request = self.with_fresh_id(request);
        self.observe(request, |device| device.submit(request))
    }

    /// Submits a request that the device has no reason to refuse.
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
        submit: impl FnOnce(&mut D) -> Result<(), SubmitError>,
    ) -> Result<RequestId, SubmitError> {
        let before = self.now();
        let counted = self.device.counters();
        let answer = submit(&mut self.device);
        let after = self.now();
        match answer {
            Ok(()) => {
                let previous = self.in_flight.insert(request.id, InFlight { request, before, after });
                assert!(previous.is_none(), "the conformance tests used an id twice");
                let (depth, count) = (self.device.info().depth, self.in_flight.len());
                self.require(count <= depth as usize, || {
                    format!("{count} requests are in flight at a depth of {depth}")
                });
                Ok(request.id)
            }
            Err(error) => {
                self.require(self.device.counters() == counted, || {
                    format!("the refused {request:?} was counted")
                });
                self.require(!self.info().simulated || before == after, || {
                    format!("the refused {request:?} took time")
                });
                Err(error)
            }
        }
    }

    /// Reaps until `until` and returns what completed.
    pub fn reap(&mut self, until: Instant) -> Vec<Completion> {
        // An earlier entry must stay: reap appends.
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
        self.require(out.first() == Some(&earlier), || "reap changed entries that it did not append".into());
        out.remove(0);
        for completion in &out {
            self.check(completion, now);
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

    fn check(&mut self, completion: &Completion, now: Instant) {
        let Some(ended) = self.in_flight.remove(&completion.id) else {
            return self.require(false, || format!("{completion:?} belongs to no request in flight"));
        };
        let InFlight { request, before, after } = ended;
        self.require((before..=after).contains(&completion.submitted), || {
            format!("{completion:?} was submitted between {before:?} and {after:?}")
        });
        self.require(completion.completed >= completion.submitted, || {
            format!("{completion:?} completed before it was submitted")
        });
        self.require(completion.completed <= now, || format!("{completion:?} lies ahead of {now:?}"));
        let latest = self.latest_completed;
        self.require(completion.completed >= latest, || {
            format!("{completion:?} comes after one completed at {latest:?}")
        });
        self.latest_completed = completion.completed;
        let (split, latency) = (self.device.time_split(completion.id), completion.latency());
        self.require(split.is_none_or(|split| split.total() == latency), || {
            format!("{completion:?} took {latency}, and its parts {split:?}")
        });
        self.require(self.may_fail() || completion.outcome.is_ok(), || {
            format!("{request:?} failed: {:?}", completion.outcome)
        });
    }

    /// Waits for all requests in flight.
    pub fn drain(&mut self) {
        while !self.in_flight.is_empty() {
            self.reap(Instant::FAR);
        }
        let left = self.reap(Instant::FAR);
        self.require(left.is_empty(), || format!("{left:?} completed out of nowhere"));
    }

    /// Submits a request and waits for all requests in flight.
    #[track_caller]
    pub fn complete(&mut self, request: Request) {
        self.must_submit(request);
        self.drain();
    }

    pub fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.device.unit(lane, index)
    }

    pub fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        self.device.zone(lane, index)
    }

    pub fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        self.device.appended_at(id)
    }

    /// Returns the start of a lane's first usable erase unit; 0 on media without erase units.
    pub fn base(&self, lane: Lane) -> u64 {
        let unit_bytes = self.info().erase_unit_bytes;
        let good = |&index: &u64| self.unit(lane, index).is_none_or(|unit| unit.state != UnitState::Bad);
        let units = self.info().capacity_bytes.checked_div(unit_bytes).unwrap_or(0);
        (0..units).find(good).unwrap_or(0) * unit_bytes
    }

    /// Writes the first units of a lane: media with erase units refuse reads of unwritten bytes.
    pub fn prepare(&mut self, lane: Lane) {
        let DeviceInfo { erase_unit_bytes, write_unit_bytes, read_only, .. } = *self.info();
        if erase_unit_bytes > 0 && !read_only {
            let base = self.base(lane);
            self.complete(Request::erase(0, base, erase_unit_bytes).on(lane));
            self.complete(Request::write(0, base, write_unit_bytes).on(lane));
        }
    }

    /// Returns a read that the device accepts on a lane that was [prepared](Self::prepare).
    pub fn a_read(&self, lane: Lane) -> Request {
        Request::read(0, self.base(lane), self.info().read_unit_bytes).on(lane)
    }
}

impl<D: DataDevice> Watched<D> {
    /// Submits a request with a buffer and a fresh id, and checks that a refusal returns the buffer unchanged.
    pub fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<RequestId, SubmitError> {
        let request = self.with_fresh_id(request);
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

    /// Takes the data of a completed request, and checks that it can be taken only once.
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
