//! `zoned(PATH)`: a zoned drive as lanes of erase units, using the kernel's zone ioctls.
//!
//! Each zone is a unit: the zone's capacity (which may be less than its length) is the size of the unit, a reset is its
//! erase, and the write pointer gives the number of bytes written. Zone `i * lanes + l`, counted without the zones that
//! are not units, is unit `i` of lane `l`. The drive stores the states: opening reads only the report of its zones, so
//! two programs cannot disagree about them.
//!
//! - Conventional zones, and zones of another capacity than the first (the last zone of a drive may be shorter), are
//!   not units.
//! - Read-only and offline zones are bad units. A zone with its write pointer between two write units is torn.
//! - Erases are not counted: the drive does not report wear.
//! - A drive limits the number of partly written zones. At the limit, a write to an erased unit waits if a write in
//!   flight will fill a zone, or a reset will empty one, and is refused ([`Rule::TooManyOpen`]) otherwise.
//!
//! The first write to a zone opens it and the last one finishes it. The other two zone ioctls are not used: opening a
//! zone before its first write gains nothing, because the limit is tracked here; and a zone finished before its end
//! would look completely written to the next program that opens the drive.
//!
//! Writes are always durable when they complete. [`UnitStates`] admits one write in flight per zone, so the kernel's
//! order among several does not matter; the kernel splits a long write in order.

mod error;
mod open;
mod report;

pub use error::ZonedError;
pub use open::ZonedOptions;

use crate::doubt::Doubts;
use crate::file_device::FileDevice;
use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, Operation, Request,
    RequestId, Rule, SubmitError, Unit, UnitState, UnitStates,
};
use report::{Condition, Zone};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

/// A request in flight and its submission time.
#[derive(Clone, Copy)]
struct InFlight {
    request: Request,
    submitted: Instant,
}

/// A zoned drive as lanes of erase units.
pub struct ZonedDevice {
    drive: FileDevice,
    info: DeviceInfo,
    units: UnitStates,
    /// Zones that are units, in the order of their numbers.
    zones: Vec<Zone>,
    /// Number of zones that are not units.
    left_out: u64,
    /// Limit of partly written zones; `None` where the drive has no limit.
    most_open: Option<u32>,
    /// Numbers of zones that are partly written or being written.
    open: BTreeSet<u64>,
    /// Numbers of zones that will be partly written after all accepted requests.
    stay_open: BTreeSet<u64>,
    in_flight: BTreeMap<RequestId, InFlight>,
    /// Writes that wait until a zone is full.
    held: VecDeque<(Request, Option<Buffer>)>,
    /// Number of requests in flight in the drive.
    in_drive: usize,
    /// Completions of held writes that the drive refused.
    ready: Vec<Completion>,
    returned: Vec<(RequestId, Buffer)>,
    arrived: Vec<Completion>,
}

impl ZonedDevice {
    /// Returns the reasons to doubt measurements on this device. They belong in the result.
    pub fn doubts(&self) -> &Doubts {
        self.drive.doubts()
    }

    /// Returns a path that leads to the open drive ([`FileDevice::held_path`]).
    pub fn held_path(&self) -> PathBuf {
        self.drive.held_path()
    }

    /// Limit of partly written units; `None` where the drive has no limit.
    pub fn most_open(&self) -> Option<u32> {
        self.most_open
    }

    fn number(&self, request: &Request) -> u64 {
        let unit = request.offset_bytes / self.info.erase_unit_bytes;
        unit * u64::from(self.info.lanes) + u64::from(request.lane.0)
    }

    /// Checks a request before it is accepted.
    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        self.info.check(request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.units.admit(request).map_err(|rule| request.refused_by(rule))?;
        if request.operation == Operation::Write
            && let Some(most) = self.most_open.filter(|&most| self.stay_open.len() >= most as usize)
            && !self.stay_open.contains(&self.number(request))
        {
            return Err(request.refused_by(Rule::TooManyOpen { most, waits: false }));
        }
        if self.in_flight.len() >= self.info.depth as usize {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        Ok(())
    }

    /// Returns whether a write must wait because the drive is at its limit of partly written zones.
    fn must_wait(&self, request: &Request) -> bool {
        request.operation == Operation::Write
            && self.most_open.is_some_and(|most| self.open.len() >= most as usize)
            && !self.open.contains(&self.number(request))
    }

    /// Translates a request to the drive.
    fn to_drive(&self, request: &Request) -> Request {
        if request.operation == Operation::Flush {
            return *request;
        }
        let zone = self.zones[self.number(request) as usize];
        let within = request.offset_bytes % self.info.erase_unit_bytes;
        let erase = request.operation == Operation::Erase;
        Request {
            lane: Lane(0),
            offset_bytes: zone.start + within,
            length_bytes: if erase { zone.length } else { request.length_bytes },
            durable: request.operation == Operation::Write,
            ..*request
        }
    }

    fn submit_to_drive(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let translated = self.to_drive(&request);
        match buffer {
            Some(buffer) => {
                self.drive
                    .submit_with(translated, buffer)
                    .map_err(|(error, buffer)| (error, Some(buffer)))?;
            }
            None => self.drive.submit(translated).map_err(|error| (error, None))?,
        }
        self.in_drive += 1;
        if request.operation == Operation::Write {
            self.open.insert(self.number(&request));
        }
        Ok(())
    }

    fn accept(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.check(&request) {
            return Err((error, buffer));
        }
        let submitted = self.drive.now();
        if self.must_wait(&request) {
            self.held.push_back((request, buffer));
        } else {
            self.submit_to_drive(request, buffer)?;
        }
        self.units.accepted(&request);
        let unit_bytes = self.info.erase_unit_bytes;
        match request.operation {
            Operation::Write if !(request.offset_bytes + request.length_bytes).is_multiple_of(unit_bytes) => {
                self.stay_open.insert(self.number(&request));
            }
            Operation::Write | Operation::Erase => {
                self.stay_open.remove(&self.number(&request));
            }
            _ => {}
        }
        self.in_flight.insert(request.id, InFlight { request, submitted });
        Ok(())
    }

    /// Submits held writes that need not wait any longer. With nothing in flight in the drive no zone will fill up, so
    /// the drive itself must accept or refuse them.
    fn submit_held(&mut self) {
        while let Some((request, _)) = self.held.front()
            && (self.in_drive == 0 || !self.must_wait(request))
        {
            let (request, buffer) = self.held.pop_front().expect("there is one");
            if let Err((error, buffer)) = self.submit_to_drive(request, buffer) {
                self.returned.extend(buffer.map(|buffer| (request.id, buffer)));
                let completed = self.drive.now();
                let failure = match error {
                    SubmitError::DeviceLost => Failure::DeviceLost,
                    _ => Failure::Os(libc::EIO),
                };
                let refused =
                    Completion { id: request.id, submitted: completed, completed, outcome: Err(failure) };
                let refused = self.finish(refused);
                self.ready.push(refused);
            }
        }
    }

    /// Updates the states for a completed request, and returns its completion.
    fn finish(&mut self, completion: Completion) -> Completion {
        let InFlight { request, submitted } =
            self.in_flight.remove(&completion.id).expect("a completed request was in flight");
        let mut outcome = completion.outcome;
        if matches!(request.operation, Operation::Write | Operation::Erase) {
            let number = self.number(&request);
            if outcome.is_err() && self.is_lost(number) {
                outcome = Err(Failure::BadUnit);
            }
            self.units.ended(&request, &outcome);
            let index = request.offset_bytes / self.info.erase_unit_bytes;
            let unit_bytes = self.info.erase_unit_bytes;
            match self.units.get(request.lane, index).map(|unit| unit.state) {
                Some(UnitState::Torn) => {
                    self.open.insert(number);
                    self.stay_open.insert(number);
                }
                Some(UnitState::Written { bytes }) if bytes > 0 && bytes < unit_bytes => {}
                _ => {
                    self.open.remove(&number);
                    self.stay_open.remove(&number);
                }
            }
        } else {
            self.units.ended(&request, &outcome);
        }
        Completion { submitted, outcome, ..completion }
    }

    /// Returns whether a zone is read-only or offline after a failed request.
    #[cold]
    fn is_lost(&self, number: u64) -> bool {
        let start = self.zones[number as usize].start;
        let zones = report::report(self.drive.file(), start, 1).unwrap_or_default();
        zones.first().is_some_and(|zone| matches!(zone.condition, Condition::ReadOnly | Condition::Offline))
    }
}

impl Device for ZonedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.accept(request, None).map_err(|(error, _)| error)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.drive.reap(until, &mut arrived);
        self.in_drive -= arrived.len();
        for completion in arrived.drain(..) {
            out.push(self.finish(completion));
        }
        self.arrived = arrived;
        self.submit_held();
        out.append(&mut self.ready);
    }

    fn counters(&self) -> Counters {
        Counters(vec![("zones_left_out", self.left_out)])
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        // These counts begin at the open, so they say nothing about the zone's wear.
        self.units.get(lane, index).map(|unit| Unit { erases: None, ..unit })
    }
}

impl DataDevice for ZonedDevice {
    /// # Panics
    /// The length of the buffer differs from that of the read or write.
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("the caller's buffer"));
        self.accept(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        if let Some(at) = self.returned.iter().position(|(of, _)| *of == id) {
            return Some(self.returned.swap_remove(at).1);
        }
        self.drive.take_buffer(id)
    }
}
