//! The conformance tests pass sound devices of several shapes, and catch each kind of broken one.

use super::*;
use flashlane_base::{Duration, Instant};
use flashlane_device::{
    Buffer, Completion, Counters, DeviceInfo, Failure, Lane, Operation, Request, RequestId, SubmitError,
    Unit, UnitState, UnitStates,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// What a [`Tiny`] device does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    CompletesTwice,
    ForgetsOne,
    WrongId,
    OutOfOrder,
    FromTheFuture,
    DatedWrong,
    ClockGoesBack,
    OversleepsDeadline,
    NeverFull,
    AcceptsBeyondTheEnd,
    CountsRefused,
    SlowAfterRefusal,
    Fails,
    ClearsOutput,
    SharesState,
    StaleRead,
    LosesBuffer,
    Overwrites,
}

/// A drive that serves requests in order, one microsecond each, and stores data.
struct Tiny {
    info: DeviceInfo,
    bug: Bug,
    now: Instant,
    free: Instant,
    count: u64,
    queue: Vec<(Completion, Request)>,
    bytes: Vec<Vec<u8>>,
    buffers: BTreeMap<RequestId, Buffer>,
    units: Option<UnitStates>,
    shared: Rc<Cell<u64>>,
}

fn info() -> DeviceInfo {
    DeviceInfo { write_unit_bytes: 4096, depth: 8, simulated: true, ..DeviceInfo::new("tiny", 1 << 20, 512) }
}

impl Tiny {
    fn new(info: DeviceInfo, bug: Bug, shared: &Rc<Cell<u64>>) -> Self {
        let bytes = vec![vec![0; info.capacity_bytes as usize]; info.lanes as usize];
        let mut units = (info.erase_unit_bytes > 0).then(|| UnitStates::new(&info));
        if let Some(units) = &mut units {
            units.set(Lane(0), 0, UnitState::Bad, Some(0));
            if info.read_only {
                // Full since before the test.
                let full = UnitState::Written { bytes: info.erase_unit_bytes };
                (1..units.per_lane()).for_each(|index| units.set(Lane(0), index, full, Some(1)));
            }
        }
        Self {
            info,
            bug,
            now: Instant::ZERO,
            free: Instant::ZERO,
            count: 0,
            queue: Vec::new(),
            bytes,
            buffers: BTreeMap::new(),
            units,
            shared: shared.clone(),
        }
    }

    fn finish(&mut self, request: Request) {
        let lane = &mut self.bytes[request.lane.0 as usize];
        let span = request.offset_bytes as usize..(request.offset_bytes + request.length_bytes) as usize;
        let Some(buffer) = self.buffers.get_mut(&request.id) else { return };
        match request.operation {
            Operation::Write if self.bug == Bug::StaleRead && self.count.is_multiple_of(7) => {}
            Operation::Write => lane[span].copy_from_slice(buffer.as_slice()),
            Operation::Read => buffer.as_mut_slice().copy_from_slice(&lane[span]),
            _ => {}
        }
    }
}

impl Device for Tiny {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, mut request: Request) -> Result<(), SubmitError> {
        if let Err(error) = self.info.check(&request) {
            match self.bug {
                Bug::AcceptsBeyondTheEnd if request.offset_bytes == self.info.capacity_bytes => {
                    request.offset_bytes = 0;
                }
                bug => {
                    self.count += u64::from(bug == Bug::CountsRefused);
                    if bug == Bug::SlowAfterRefusal {
                        self.free = self.now.max(self.free) + Duration::from_us(1);
                    }
                    return Err(error);
                }
            }
        }
        if let Some(units) = &self.units
            && let Err(rule) = units.admit(&request)
            && self.bug != Bug::Overwrites
        {
            return Err(request.refused_by(rule));
        }
        if self.queue.len() >= self.info.depth as usize && self.bug != Bug::NeverFull {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        if let Some(units) = self.units.as_mut().filter(|_| self.bug != Bug::Overwrites) {
            units.accepted(&request);
        }
        self.count += 1;
        self.shared.set(self.shared.get() + 1);
        let mut service = Duration::from_us(1);
        if self.bug == Bug::SharesState {
            service = Duration::from_ns(1_000 + self.shared.get());
        }
        self.free = self.now.max(self.free) + service;
        let mut completion =
            Completion { id: request.id, submitted: self.now, completed: self.free, outcome: Ok(()) };
        match self.bug {
            Bug::WrongId if self.count == 20 => completion.id = RequestId(0),
            Bug::DatedWrong => completion.submitted += Duration::from_ns(1),
            Bug::Fails => completion.outcome = Err(Failure::Unreadable),
            Bug::ForgetsOne if self.count == 20 => return Ok(()),
            _ => {}
        }
        self.queue.push((completion, request));
        if self.bug == Bug::CompletesTwice && self.count == 20 {
            self.queue.push((completion, request));
        }
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.bug == Bug::ClearsOutput {
            out.clear();
        }
        let target = match self.queue.first() {
            Some(_) if self.bug == Bug::OutOfOrder => until.min(self.free),
            Some((next, _)) => until.min(next.completed),
            None if until == Instant::FAR => self.now,
            None => until,
        };
        self.now = match self.bug {
            Bug::ClockGoesBack if self.count == 20 => Instant::from_ns(self.now.as_ns() - 1),
            Bug::OversleepsDeadline if target > self.now => target + Duration::from_ns(5),
            _ => self.now.max(target),
        };
        let ahead = if self.bug == Bug::FromTheFuture { 1_000 } else { 0 };
        let due = self.now + Duration::from_ns(ahead);
        let ready = self.queue.iter().take_while(|(c, _)| c.completed <= due).count();
        let mut done: Vec<_> = self.queue.drain(..ready).collect();
        if self.bug == Bug::OutOfOrder {
            done.reverse();
        }
        for (completion, request) in done {
            if let Some(units) = self.units.as_mut().filter(|_| self.bug != Bug::Overwrites) {
                units.ended(&request, &completion.outcome);
            }
            self.finish(request);
            out.push(completion);
        }
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.as_ref()?.get(lane, index)
    }

    fn counters(&self) -> Counters {
        Counters(vec![("requests", self.count)])
    }
}

impl DataDevice for Tiny {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        match self.submit(request) {
            Ok(()) => drop(self.buffers.insert(request.id, buffer)),
            Err(error) if self.bug == Bug::LosesBuffer => return Err((error, Buffer::default())),
            Err(error) => return Err((error, buffer)),
        }
        Ok(())
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.buffers.remove(&id)
    }
}

fn check_tiny(info: &DeviceInfo, bug: Bug) {
    let shared = Rc::new(Cell::new(0));
    check_data(&mut || Box::new(Tiny::new(info.clone(), bug, &shared)));
}

#[test]
fn sound_device_of_any_shape_passes() {
    let plain = info();
    for shape in [
        plain.clone(),
        DeviceInfo { depth: 1, ..plain.clone() },
        DeviceInfo { read_unit_bytes: 1, write_unit_bytes: 1, ..plain.clone() },
        DeviceInfo { capacity_bytes: 4096, read_unit_bytes: 4096, ..plain.clone() },
        DeviceInfo { capacity_bytes: 12 * 520, read_unit_bytes: 520, write_unit_bytes: 520, ..plain.clone() },
        DeviceInfo { lanes: 44, capacity_bytes: 64 << 10, ..plain.clone() },
        DeviceInfo { read_only: true, ..plain.clone() },
        DeviceInfo { erase_unit_bytes: 64 << 10, write_unit_bytes: 64 << 10, lanes: 2, ..plain.clone() },
        DeviceInfo { erase_unit_bytes: 64 << 10, read_only: true, ..plain },
    ] {
        check_tiny(&shape, Bug::None);
    }
}

#[test]
fn bug_is_caught_and_its_law_named() {
    for (bug, law) in [
        (Bug::CompletesTwice, "belongs to no request in flight"),
        (Bug::ForgetsOne, "in flight at a depth of 8"),
        (Bug::WrongId, "belongs to no request in flight"),
        (Bug::OutOfOrder, "comes after one completed at"),
        (Bug::FromTheFuture, "lies ahead of"),
        (Bug::DatedWrong, "was submitted between"),
        (Bug::ClockGoesBack, "the clock went back"),
        (Bug::OversleepsDeadline, "'reap returns by its deadline'"),
        (Bug::NeverFull, "in flight at a depth of 8"),
        (Bug::AcceptsBeyondTheEnd, "was accepted"),
        (Bug::CountsRefused, "was counted"),
        (Bug::SlowAfterRefusal, "'a refused request changes nothing'"),
        (Bug::Fails, "failed: Err(Unreadable)"),
        (Bug::ClearsOutput, "reap changed entries that it did not append"),
        (Bug::SharesState, "'the same calls on two fresh drives give the same completions'"),
        (Bug::StaleRead, "'reads return what was last written'"),
        (Bug::LosesBuffer, "lost its bytes"),
    ] {
        let caught = catch_unwind(AssertUnwindSafe(|| check_tiny(&info(), bug)));
        let message = caught.expect_err(&format!("{bug:?} passed"));
        let message = message.downcast_ref::<String>().expect("the laws panic with a text");
        assert!(message.contains(law), "{bug:?}: {message}");
    }
}

#[test]
fn overwritable_erase_unit_is_caught() {
    let shape = DeviceInfo { erase_unit_bytes: 64 << 10, write_unit_bytes: 32 << 10, ..info() };
    check_tiny(&shape, Bug::None);
    let caught = catch_unwind(AssertUnwindSafe(|| check_tiny(&shape, Bug::Overwrites)));
    let message = caught.expect_err("it passed");
    let message = message.downcast_ref::<String>().expect("the laws panic with a text");
    assert!(
        message.contains("'an erase unit is erased as a whole, then written once and in order'"),
        "{message}"
    );
}

#[test]
fn null_device_passes() {
    check(&mut || Box::new(flashlane_device::NullDevice::new(1 << 30)));
}

#[test]
fn failing_device_keeps_other_laws() {
    let shared = Rc::new(Cell::new(0));
    check_failing(&mut || Box::new(Tiny::new(info(), Bug::Fails, &shared)));
}
