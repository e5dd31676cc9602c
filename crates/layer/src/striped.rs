//! `striped(SPEC,lanes=N,stripe=SIZE)`: N lanes of a device with erase units as one lane, whose units are striped over
//! them.
//!
//! A block of software-defined flash lies on one channel, so that a value is read at a channel's speed, and reads of
//! random values leave channels idle while others have a queue (sdf14, section 3.3.1). A striped unit is N units, one
//! of each lane: a large access uses all N, at the price of N times as many erase units at once, and of more requests
//! for the same bytes.
//!
//! `stripes` knows where bytes lie. Nothing is stored: a device has to be opened with the same settings each time. The
//! superblock of blocks is of another shape with other lanes, and not found with stripes of another size.
//!
//! Invariants:
//! - A request has a part in flight on each lane that it touches, and completes with the last of them, failed if one
//!   has.
//! - The parts of all requests fit the queue below, since each has one for each lane at most.
//! - The units of one striped unit change together. Where they differ, because power was cut or one failed, the unit is
//!   torn, or bad if one is.
//! - A unit with foreign data in a part is torn: it can be neither read nor written, and only an erase of it gives that
//!   data up.

pub(crate) mod settings;
mod stripes;
#[cfg(test)]
mod tests;

use crate::below::{Below, Bytes, Timing, failure_of};
use crate::error::LayerError;
use crate::slab::{Key, Slab};
use flashlane_base::Instant;
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, Operation,
    PowerCurve, Readiness, Request, RequestId, SubmitError, TimeSplit, Unit, UnitState, UnitStates,
};
pub use settings::Settings;
use std::collections::BTreeMap;
use std::ops::Range;
use stripes::Stripes;

/// Lanes striped over those of a device.
#[derive(Clone)]
pub struct Striped<B> {
    below: B,
    info: DeviceInfo,
    stripes: Stripes,
    units: UnitStates,
    pending: Slab<Pending>,
    parts: Slab<Part>,
    /// Buffers of completed requests until they are taken.
    done: BTreeMap<RequestId, Buffer>,
    /// Completions that a power cut left to be reported.
    ready: Vec<Completion>,
    /// Where the time of the last completions went, where that is recorded.
    splits: Vec<(RequestId, TimeSplit)>,
    // Kept to reuse their memory.
    arrived: Vec<Completion>,
    spare: Vec<Buffer>,
}

/// A request in flight.
#[derive(Clone)]
struct Pending {
    request: Request,
    submitted: Instant,
    /// Absent where its only part has it, and where it has none.
    buffer: Option<Buffer>,
    parts: u32,
    outcome: Result<(), Failure>,
}

/// A request to the device below, for the bytes of a request on one lane.
#[derive(Clone, Copy)]
struct Part {
    of: Key,
    /// The lane, counted from the first of its striped one.
    at: u32,
    /// Whether it has the buffer of the request.
    is_only: bool,
}

/// How much larger than needed a buffer may be that is used again: buffers of large requests have the slack of a huge
/// page.
const SLACK_BYTES: usize = 4 << 20;

impl<B: Below> Striped<B> {
    /// Stripes the lanes of `below`.
    ///
    /// # Errors
    /// [`LayerError::Unsuited`] where they cannot be.
    pub fn new(below: B, settings: Settings) -> Result<Self, LayerError> {
        let (stripes, info) = settings.over(below.device().info())?;
        let mut striped = Self {
            below,
            units: UnitStates::new(&info),
            info,
            stripes,
            pending: Slab::new(),
            parts: Slab::new(),
            done: BTreeMap::new(),
            ready: Vec::new(),
            splits: Vec::new(),
            arrived: Vec::new(),
            spare: Vec::new(),
        };
        striped.find_units();
        Ok(striped)
    }

    /// Returns the layer over a device that `change` makes of the one below, which MUST have the same properties and
    /// units.
    pub fn map(self, change: impl FnOnce(B) -> B) -> Self {
        Self { below: change(self.below), ..self }
    }

    /// Returns the device below, with the requests in flight there.
    pub fn into_inner(self) -> B {
        self.below
    }

    /// Takes the states of units from the device below. Requires: nothing is in flight.
    fn find_units(&mut self) {
        for lane in (0..self.info.lanes).map(Lane) {
            for index in 0..self.units.per_lane() {
                self.find_unit(lane, index);
            }
        }
    }

    /// Returns the units that make up a striped unit.
    fn parts_of(&self, lane: Lane, index: u64) -> impl Iterator<Item = (Lane, u64)> + use<B> {
        let lanes = self.stripes.lanes;
        (0..lanes).map(move |at| (Lane(lane.0 * lanes + at), index))
    }

    /// Takes the state of a unit from its parts.
    fn find_unit(&mut self, lane: Lane, index: u64) {
        let Unit { state, erases } = self.found(lane, index);
        self.units.set(lane, index, state, erases);
    }

    /// The state of a striped unit by that of its parts.
    fn found(&self, lane: Lane, index: u64) -> Unit {
        let Stripes { lanes, .. } = self.stripes;
        let unit_of = |(lane, index)| self.below.device().unit(lane, index);
        let units: Vec<Unit> = self.parts_of(lane, index).filter_map(unit_of).collect();
        debug_assert_eq!(units.len(), lanes as usize, "the layer has units where the device has them");
        let written = units.iter().map(|unit| match unit.state {
            UnitState::Written { bytes } => bytes,
            UnitState::Torn | UnitState::Bad => 0,
        });
        let has = |state| units.iter().any(|unit| unit.state == state);
        let state = match self.stripes.written(written) {
            _ if has(UnitState::Bad) => UnitState::Bad,
            _ if self.has_foreign_data(lane, index) => UnitState::Torn,
            // The next write begins on a multiple of the write unit: what ends elsewhere is a part of one.
            Some(bytes) if !has(UnitState::Torn) && bytes.is_multiple_of(self.info.write_unit_bytes) => {
                UnitState::Written { bytes }
            }
            _ => UnitState::Torn,
        };
        let erases = units.iter().map(|unit| unit.erases).reduce(|most, erases| Some(most?.max(erases?)));
        Unit { state, erases: erases.flatten() }
    }

    fn admit(&self, request: &Request) -> Result<(), SubmitError> {
        self.info.check(request)?;
        if self.pending.len() >= self.info.depth as usize {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        self.units.admit(request).map_err(|rule| request.refused_by(rule))
    }

    /// Returns the request below for the bytes of a request on lane `at` of its striped one; `None` where there are
    /// none.
    fn part_of(&self, request: &Request, at: u32) -> Option<Request> {
        let lane = Lane(request.lane.0 * self.stripes.lanes + at);
        if request.operation == Operation::Flush {
            return (at == 0).then(|| request.on(lane));
        }
        let Range { start, end } = self.stripes.on_lane(&self.stripes.range_of(request), at);
        let part_start = request.offset_bytes / self.stripes.unit_bytes() * self.stripes.part_bytes;
        let (offset_bytes, length_bytes) = (part_start + start, end - start);
        (length_bytes > 0).then(|| Request { offset_bytes, length_bytes, ..*request }.on(lane))
    }

    fn accept(
        &mut self,
        request: Request,
        mut buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.admit(&request) {
            return Err((error, buffer));
        }
        let submitted = self.now();
        let requests: Vec<(u32, Request)> =
            (0..self.stripes.lanes).filter_map(|at| Some((at, self.part_of(&request, at)?))).collect();
        debug_assert!(!requests.is_empty(), "each byte lies on a lane");
        let is_only = requests.len() == 1;
        let pending = Pending { request, submitted, buffer: None, parts: 0, outcome: Ok(()) };
        let of = self.pending.insert(pending);
        let mut outcome = Ok(());
        let mut sent = 0;
        for (at, part) in requests {
            let part_buffer = match &buffer {
                Some(_) if is_only => buffer.take(),
                Some(whole) => Some(self.split(&request, at, part.length_bytes, whole)),
                None => None,
            };
            let key = self.parts.insert(Part { of, at, is_only });
            let part = Request { id: RequestId(key.number()), ..part };
            let Err((error, part_buffer)) = self.below.send(part, part_buffer) else {
                sent += 1;
                continue;
            };
            self.parts.remove(key);
            if is_only {
                buffer = part_buffer;
            } else {
                self.spare.extend(part_buffer);
            }
            if sent == 0 {
                self.pending.remove(of);
                return Err((request.refused_below(error), buffer));
            }
            // Lanes that differ, as where one is slower: what was sent goes on, and the request fails.
            outcome = Err(failure_of(&error));
            break;
        }
        self.units.accepted(&request);
        self.done.remove(&request.id);
        let pending = self.pending.get_mut(of).expect("it was inserted above");
        (pending.parts, pending.outcome, pending.buffer) = (sent, outcome, buffer);
        Ok(())
    }

    /// Returns the buffer of a part: of a write with its bytes.
    fn split(&mut self, request: &Request, at: u32, length_bytes: u64, whole: &Buffer) -> Buffer {
        let length_bytes = length_bytes as usize;
        // Not much larger: a small read has to leave the buffers of large ones.
        let suits =
            |spare: &Buffer| (length_bytes..2 * length_bytes + SLACK_BYTES).contains(&spare.capacity());
        let mut part = match self.spare.iter().position(suits) {
            Some(found) => self.spare.swap_remove(found),
            None => Buffer::zeroed(length_bytes),
        };
        part.set_len(length_bytes);
        if request.operation == Operation::Write {
            let (mut to, from) = (part.as_mut_slice(), whole.as_slice());
            for piece in self.stripes.pieces(&self.stripes.range_of(request), at) {
                let (here, rest) = to.split_at_mut(piece.len());
                here.copy_from_slice(&from[piece]);
                to = rest;
            }
        }
        part
    }

    /// Takes in the end of a part. Returns the completion of its request where it was the last.
    fn part_ended(&mut self, completion: &Completion) -> Option<Completion> {
        let mut buffer = self.below.take(completion.id);
        let part = self.parts.remove(Key::from_number(completion.id.0)).expect("a part in flight");
        let pending = self.pending.get_mut(part.of).expect("the request of a part in flight");
        if part.is_only {
            pending.buffer = buffer.take();
        } else if let (Some(from), Some(whole)) = (&buffer, &mut pending.buffer)
            && pending.request.operation == Operation::Read
            && completion.outcome.is_ok()
        {
            let range = self.stripes.range_of(&pending.request);
            let mut from = from.as_slice();
            for piece in self.stripes.pieces(&range, part.at) {
                let (here, rest) = from.split_at(piece.len());
                whole.as_mut_slice()[piece].copy_from_slice(here);
                from = rest;
            }
        }
        self.recycle(buffer);
        let pending = self.pending.get_mut(part.of).expect("as above");
        pending.outcome = worse(pending.outcome, completion.outcome, part.is_only);
        pending.parts -= 1;
        if pending.parts > 0 {
            return None;
        }
        let Pending { request, submitted, buffer, outcome, .. } =
            self.pending.remove(part.of).expect("as above");
        self.units.ended(&request, &outcome);
        let (lane, index) = (request.lane, request.offset_bytes / self.stripes.unit_bytes());
        // An erase keeps what it finds.
        if request.operation == Operation::Erase && self.has_foreign_data(lane, index) {
            self.find_unit(lane, index);
        }
        self.splits.extend(self.below.device().time_split(completion.id).map(|split| (request.id, split)));
        self.done.extend(buffer.map(|buffer| (request.id, buffer)));
        Some(Completion { id: request.id, submitted, completed: completion.completed, outcome })
    }

    /// Keeps the buffers of the last few requests.
    fn recycle(&mut self, buffer: Option<Buffer>) {
        if self.spare.len() >= 4 * self.stripes.lanes as usize {
            self.spare.remove(0);
        }
        self.spare.extend(buffer);
    }

    /// Reaps the device below once. Returns the completions that this made.
    fn reap_below(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.below.device_mut().reap(until, &mut arrived);
        for completion in arrived.drain(..) {
            out.extend(self.part_ended(&completion));
        }
        self.arrived = arrived;
    }
}

/// The outcome of a request with these outcomes of its parts: the first failure, unless a later one says more of the
/// unit: that it is bad, or has foreign data.
fn worse(before: Result<(), Failure>, part: Result<(), Failure>, is_only: bool) -> Result<(), Failure> {
    let part = match part {
        // The bytes that were transferred are not the first of the request.
        Err(Failure::Short { .. }) if !is_only => Err(Failure::Short { done_bytes: 0 }),
        part => part,
    };
    match (before, part) {
        (_, Err(Failure::BadUnit)) | (Ok(()), _) => part,
        (Err(Failure::BadUnit), _) => before,
        (_, Err(Failure::ForeignData)) => part,
        (failed, _) => failed,
    }
}

impl<B: Below> Device for Striped<B> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.below.device().now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.accept(request, None).map_err(|(error, _)| error)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        self.splits.clear();
        out.append(&mut self.ready);
        while out.len() == first {
            self.reap_below(until, out);
            if self.now() >= until || (until == Instant::FAR && self.pending.is_empty()) {
                return;
            }
        }
    }

    fn next_event(&self) -> Option<Instant> {
        self.below.device().next_event()
    }

    fn readiness(&mut self) -> Readiness {
        if self.ready.is_empty() { self.below.device_mut().readiness() } else { Readiness::Ready }
    }

    fn wait_readable(&self, descriptors: &[i32], until: Instant) {
        self.below.device().wait_readable(descriptors, until);
    }

    fn counters(&self) -> Counters {
        self.below.device().counters()
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.below.device().power_curve()
    }

    fn record_time_splits(&mut self) -> bool {
        self.below.device_mut().record_time_splits()
    }

    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.splits.iter().find(|(of, _)| *of == id).map(|(_, split)| *split)
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.get(lane, index)
    }

    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        self.parts_of(lane, index).any(|(lane, index)| self.below.device().has_foreign_data(lane, index))
    }

    fn give_up_content(&mut self, lane: Lane, index: u64) {
        for (lane, index) in self.parts_of(lane, index) {
            self.below.device_mut().give_up_content(lane, index);
        }
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        let at_risk = self.below.device().at_risk()?;
        assert!(at_risk.is_empty(), "a completed write to an erase unit is on the medium");
        Some(at_risk)
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        let lost = self.at_risk()?;
        self.below.device_mut().cut_power()?;
        let mut ready = std::mem::take(&mut self.ready);
        while !self.pending.is_empty() {
            self.reap_below(Instant::FAR, &mut ready);
        }
        self.ready = ready;
        // Of a request that was cut short, its parts may all have ended, or none have begun.
        self.find_units();
        Some(lost)
    }
}

impl<D: DataDevice> DataDevice for Striped<Bytes<D>> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("the caller's buffer"));
        self.accept(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}
