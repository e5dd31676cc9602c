//! `zoned(PATH)`: a zoned drive as lanes of erase units, through the kernel's zone ioctls.
//!
//! A zone is a unit: what can be written of it (its capacity, which may be less than its length) is the unit's size, a
//! reset is its erase, its write pointer says how much is written. Zone `i * lanes + l`, counted without those that are no
//! units, is unit `i` of lane `l`. The drive itself keeps the states: opening reads the report of its zones and nothing
//! else, and two programs cannot come to differ about them.
//!
//! - Conventional zones, and zones of another capacity than the first (the last of a drive may be shorter), are no units.
//! - A zone that is read-only or offline is bad. One whose write pointer stands between two write units is torn.
//! - Erases are not counted: the drive keeps its own books of wear, and tells nobody.
//! - A drive keeps so many zones partly written at once. A write to an erased unit waits for a place where one will come
//!   free by writes that are in flight, and is refused ([`Rule::TooManyOpen`]) where none will.
//!
//! Zones are opened by their first write and finished by their last. The kernel's other two ioctls are not used: a zone that
//! is opened before its first write gains nothing, since the places are kept count of here; one that is finished before its
//! end would look, to whoever opens the drive next, as if it had been written whole.
//!
//! Writes are always durable when they complete. One write a zone is in flight, as the book of units has it, so nothing
//! depends on the kernel's order among several; a long one is split by the kernel, in order.

mod error;
mod open;
mod report;

pub use error::ZonedError;
pub use open::ZonedOptions;

use crate::doubt::Doubt;
use crate::file_device::FileDevice;
use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, Failure, Lane, Operation, Profile, Request, RequestId,
    Rule, SubmitError, Unit, UnitState, Units,
};
use report::{Condition, Zone};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A request on its way: what was asked, and when.
#[derive(Clone, Copy)]
struct Asked {
    request: Request,
    submitted: Instant,
}

/// A zoned drive as lanes of erase units.
pub struct ZonedDevice {
    drive: FileDevice,
    profile: Profile,
    book: Units,
    /// The zones that are units, in the order of their numbers.
    zones: Vec<Zone>,
    /// Zones that are no units.
    left_out: u64,
    /// Zones that the drive keeps partly written at once; `None` where it names no limit.
    most_open: Option<u32>,
    /// Numbers of zones that are partly written, or being written.
    open: BTreeSet<u64>,
    /// Those that will be partly written when all that was accepted is done.
    stay_open: BTreeSet<u64>,
    in_flight: BTreeMap<RequestId, Asked>,
    /// Writes that wait for a zone to be filled, and what else is in flight below.
    held: VecDeque<(Request, Option<Buffer>)>,
    below: usize,
    /// Completions of held writes that the drive would not take.
    ready: Vec<Completion>,
    returned: Vec<(RequestId, Buffer)>,
    arrived: Vec<Completion>,
}

impl ZonedDevice {
    /// Reasons to doubt what is measured here. They belong into the result.
    pub fn warnings(&self) -> &[Doubt] {
        self.drive.warnings()
    }

    /// Units that may be partly written at once; `None` where the drive names no limit.
    pub fn most_open(&self) -> Option<u32> {
        self.most_open
    }

    fn number(&self, request: &Request) -> u64 {
        let unit = request.offset_bytes / self.profile.erase_unit_bytes;
        unit * u64::from(self.profile.lanes) + u64::from(request.lane.0)
    }

    /// Everything that can be said against a request before it is taken.
    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        self.profile.check(request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.book.admit(request).map_err(|rule| request.refused_by(rule))?;
        if request.operation == Operation::Write
            && let Some(most) = self.most_open.filter(|&most| self.stay_open.len() >= most as usize)
            && !self.stay_open.contains(&self.number(request))
        {
            return Err(request.refused_by(Rule::TooManyOpen { most }));
        }
        if self.in_flight.len() >= self.profile.depth as usize {
            return Err(SubmitError::Full { depth: self.profile.depth });
        }
        Ok(())
    }

    /// Whether the drive has no place for one more zone that is partly written.
    fn must_wait(&self, request: &Request) -> bool {
        request.operation == Operation::Write
            && self.most_open.is_some_and(|most| self.open.len() >= most as usize)
            && !self.open.contains(&self.number(request))
    }

    /// The request as the drive has it.
    fn below(&self, request: &Request) -> Request {
        if request.operation == Operation::Flush {
            return *request;
        }
        let zone = self.zones[self.number(request) as usize];
        let within = request.offset_bytes % self.profile.erase_unit_bytes;
        let erase = request.operation == Operation::Erase;
        Request {
            lane: Lane(0),
            offset_bytes: zone.start + within,
            length_bytes: if erase { zone.length } else { request.length_bytes },
            durable: request.operation == Operation::Write,
            ..*request
        }
    }

    fn hand_over(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let below = self.below(&request);
        match buffer {
            Some(buffer) => {
                self.drive.submit_with(below, buffer).map_err(|(error, buffer)| (error, Some(buffer)))?;
            }
            None => self.drive.submit(below).map_err(|error| (error, None))?,
        }
        self.below += 1;
        if request.operation == Operation::Write {
            self.open.insert(self.number(&request));
        }
        Ok(())
    }

    fn take(
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
            self.hand_over(request, buffer)?;
        }
        self.book.accepted(&request);
        if request.operation == Operation::Write {
            let number = self.number(&request);
            let unit_bytes = self.profile.erase_unit_bytes;
            if request.offset_bytes % unit_bytes + request.length_bytes == unit_bytes {
                self.stay_open.remove(&number);
            } else {
                self.stay_open.insert(number);
            }
        }
        self.in_flight.insert(request.id, Asked { request, submitted });
        Ok(())
    }

    /// Hands over held writes that have a place now. With nothing in flight below no place will come free: then the drive
    /// is to say what it makes of them.
    fn go_on(&mut self) {
        while let Some((request, _)) = self.held.front()
            && (self.below == 0 || !self.must_wait(request))
        {
            let (request, buffer) = self.held.pop_front().expect("there is one");
            if let Err((error, buffer)) = self.hand_over(request, buffer) {
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

    /// Notes the end of a request.
    fn finish(&mut self, completion: Completion) -> Completion {
        let Asked { request, submitted } =
            self.in_flight.remove(&completion.id).expect("what completes was asked for");
        let mut outcome = completion.outcome;
        if matches!(request.operation, Operation::Write | Operation::Erase) {
            let number = self.number(&request);
            if outcome.is_err() && self.is_lost(number) {
                outcome = Err(Failure::BadUnit);
            }
            self.book.ended(&request, &outcome);
            let index = request.offset_bytes / self.profile.erase_unit_bytes;
            let unit_bytes = self.profile.erase_unit_bytes;
            match self.book.get(request.lane, index).map(|unit| unit.state) {
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
            self.book.ended(&request, &outcome);
        }
        Completion { submitted, outcome, ..completion }
    }

    /// Whether the drive has given a zone up, after a request failed there.
    #[cold]
    fn is_lost(&self, number: u64) -> bool {
        let start = self.zones[number as usize].start;
        let told = report::report(self.drive.file(), start, 1).unwrap_or_default();
        told.first().is_some_and(|zone| matches!(zone.condition, Condition::ReadOnly | Condition::Offline))
    }
}

impl Device for ZonedDevice {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn now(&self) -> Instant {
        self.drive.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.take(request, None).map_err(|(error, _)| error)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.drive.reap(until, &mut arrived);
        self.below -= arrived.len();
        for completion in arrived.drain(..) {
            out.push(self.finish(completion));
        }
        self.arrived = arrived;
        self.go_on();
        out.append(&mut self.ready);
    }

    fn counters(&self) -> Counters {
        Counters(vec![("zones_left_out", self.left_out)])
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        // What the book counts begins with this opening, and says nothing of the zone's wear.
        self.book.get(lane, index).map(|unit| Unit { erases: None, ..unit })
    }
}

impl DataDevice for ZonedDevice {
    /// # Panics
    /// Where the buffer is not as long as the read or write.
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("a buffer that was given"));
        self.take(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        if let Some(at) = self.returned.iter().position(|(of, _)| *of == id) {
            return Some(self.returned.swap_remove(at).1);
        }
        self.drive.take_buffer(id)
    }
}
