//! A simulated device in real time: its completions are handed out when the wall clock reaches them.
//!
//! The time of the device is that of the clock, divided by the slowdown and counted from the start. Before each request
//! the simulation is advanced to that time, so a request reaches the simulated device when it reached us. Deadlines are
//! absolute: a late completion does not delay the next ones. The simulation never runs ahead of the clock, since a
//! later request can change what follows.
//!
//! Cost: one advance a call, O(events that have become due).
//!
//! Invariant: `due` has the completions that were simulated and not handed out, in the order of their times.

use flashlane_base::{Duration, Instant};
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Lane, Request, RequestId,
    SubmitError, Unit,
};
use flashlane_host::Clock;
use std::collections::VecDeque;

/// The clock of real time.
pub trait WallClock {
    /// Returns the time since the clock was started.
    fn now(&self) -> Instant;

    /// Returns when the clock has reached `until`.
    fn wait_until(&self, until: Instant);
}

impl WallClock for Clock {
    fn now(&self) -> Instant {
        self.now()
    }

    fn wait_until(&self, until: Instant) {
        self.wait_until(until);
    }
}

/// Interval of looks at a simulated device that does not know its next event.
const LOOK: Duration = Duration::from_us(20);

/// A simulated device in real time. Its own time, that of [`Device::now`] and of completions, is that of the clock; a
/// submission is rounded down to a whole simulated nanosecond.
pub struct RealTime<D, C = Clock> {
    inner: D,
    clock: C,
    info: DeviceInfo,
    /// Real time for each simulated time.
    slowdown: u32,
    /// Time of the clock, and of the device, at the start.
    start: (Instant, Instant),
    in_flight: u32,
    due: VecDeque<Completion>,
    reaped: Vec<Completion>,
}

impl<D: Device> RealTime<D> {
    /// Starts `inner` now. `slowdown`, at least 1, stretches its times.
    pub fn new(inner: D, slowdown: u32) -> Self {
        Self::with_clock(inner, slowdown, Clock::start())
    }
}

impl<D: Device, C: WallClock> RealTime<D, C> {
    /// Starts `inner` now on a clock.
    ///
    /// # Panics
    /// The slowdown is 0, or the time of `inner` is not virtual.
    pub fn with_clock(inner: D, slowdown: u32, clock: C) -> Self {
        assert!(slowdown > 0, "time stands still");
        assert!(inner.info().simulated, "only virtual time can be paced");
        let info = DeviceInfo { simulated: false, ..inner.info().clone() };
        let start = (clock.now(), inner.now());
        Self { inner, clock, info, slowdown, start, in_flight: 0, due: VecDeque::new(), reaped: Vec::new() }
    }

    /// Returns the factor by which times are stretched.
    pub fn slowdown(&self) -> u32 {
        self.slowdown
    }

    fn to_simulated(&self, at: Instant) -> Instant {
        self.start.1 + at.since(self.start.0) / u64::from(self.slowdown)
    }

    fn to_real(&self, at: Instant) -> Instant {
        match at {
            Instant::FAR => at,
            at => self.start.0 + at.since(self.start.1) * u64::from(self.slowdown),
        }
    }

    /// Simulates up to `until` of the clock.
    fn advance(&mut self, until: Instant) {
        let until = self.to_simulated(until);
        while self.inner.now() < until {
            self.inner.reap(until, &mut self.reaped);
        }
        // Completions of now, such as those after a power cut.
        self.inner.reap(self.inner.now(), &mut self.reaped);
        for completion in std::mem::take(&mut self.reaped) {
            let (submitted, completed) =
                (self.to_real(completion.submitted), self.to_real(completion.completed));
            self.due.push_back(Completion { submitted, completed, ..completion });
        }
    }

    fn accepted<T>(&mut self, accepted: Result<(), T>) -> Result<(), T> {
        self.in_flight += u32::from(accepted.is_ok());
        accepted
    }
}

impl<D: Device, C: WallClock> Device for RealTime<D, C> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.advance(self.clock.now());
        let accepted = self.inner.submit(request);
        self.accepted(accepted)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        loop {
            let now = self.clock.now();
            self.advance(now.min(until));
            let ready = self.due.partition_point(|completion| completion.completed <= until);
            if ready > 0 {
                self.in_flight -= ready as u32;
                return out.extend(self.due.drain(..ready));
            }
            let is_idle = self.in_flight == 0 && until == Instant::FAR;
            if is_idle || now >= until {
                return;
            }
            let next = self.next_event().unwrap_or(now + LOOK);
            self.clock.wait_until(next.min(until));
        }
    }

    fn next_event(&self) -> Option<Instant> {
        match self.due.front() {
            Some(completion) => Some(completion.completed),
            None => self.inner.next_event().map(|at| self.to_real(at)),
        }
    }

    fn prefetch(&self, offset_bytes: u64, length_bytes: u64) {
        self.inner.prefetch(offset_bytes, length_bytes);
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.inner.unit(lane, index)
    }

    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        self.inner.has_foreign_data(lane, index)
    }

    fn give_up_content(&mut self, lane: Lane, index: u64) {
        self.inner.give_up_content(lane, index);
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        self.inner.at_risk()
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        self.advance(self.clock.now());
        self.inner.cut_power()
    }
}

impl<D: DataDevice, C: WallClock> DataDevice for RealTime<D, C> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.advance(self.clock.now());
        let accepted = self.inner.submit_with(request, buffer);
        self.accepted(accepted)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.inner.take_buffer(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_device::NullDevice;
    use flashlane_device_testing::{MemoryDisk, conformance};
    use flashlane_layer::Backed;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A clock that waits by advancing.
    #[derive(Clone, Default)]
    struct Hands(Rc<Cell<u64>>);

    impl WallClock for Hands {
        fn now(&self) -> Instant {
            Instant::from_ns(self.0.get())
        }

        fn wait_until(&self, until: Instant) {
            self.0.set(self.0.get().max(until.as_ns()));
        }
    }

    #[test]
    fn device_in_real_time_conforms() {
        conformance::check_data(&mut || {
            let inner = Backed::new(NullDevice::new(1 << 20));
            Box::new(RealTime::with_clock(inner, 1, Hands::default()))
        });
    }

    #[test]
    fn completion_is_handed_out_at_its_stretched_time() {
        let mut plain = MemoryDisk::new(1 << 20, 512, flashlane_base::Seed(1));
        plain.submit(Request::read(1, 0, 4096)).unwrap();
        let mut done = Vec::new();
        plain.reap(Instant::FAR, &mut done);
        let latency = done[0].latency();
        assert!(latency > Duration::ZERO);

        let clock = Hands::default();
        clock.0.set(1_000_000);
        let inner = MemoryDisk::new(1 << 20, 512, flashlane_base::Seed(1));
        let mut slow = RealTime::with_clock(inner, 4, clock.clone());
        clock.0.set(5_000_000);
        slow.submit(Request::read(1, 0, 4096)).unwrap();
        let due = Instant::from_ns(5_000_000) + latency * 4;
        done.clear();
        slow.reap(Instant::from_ns(due.as_ns() - 1), &mut done);
        assert_eq!((done.len(), clock.now().as_ns()), (0, due.as_ns() - 1));
        slow.reap(Instant::FAR, &mut done);
        assert_eq!((done[0].submitted.as_ns(), done[0].completed, clock.now()), (5_000_000, due, due));
    }

    #[test]
    fn late_reap_keeps_the_simulated_completion() {
        let clock = Hands::default();
        let inner = MemoryDisk::new(1 << 20, 512, flashlane_base::Seed(1));
        let mut device = RealTime::with_clock(inner, 1, clock.clone());
        device.submit(Request::read(1, 0, 4096)).unwrap();
        clock.0.set(3_000_000_000);
        let mut done = Vec::new();
        device.reap(Instant::FAR, &mut done);
        assert!(done[0].completed < Instant::from_ns(1_000_000_000) && device.now().as_ns() == 3_000_000_000);
    }
}
