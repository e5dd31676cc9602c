//! `faulty(SPEC,…)`: a device that fails in the ways real ones do, when it is told to.
//!
//! A fault is just another device, so whatever is tested on a sound drive can be tested on a broken one. What
//! happens to the n-th accepted request follows from the seed, the settings and n alone: the same run fails the
//! same way wherever its files lie, and a refused request shifts nothing.
//!
//! Errors, delays and vanishing work over any device. Lost, torn and misdirected writes, misdirected reads and
//! flipped bits are about bytes and need a [`DataDevice`] below.

mod faults;
#[cfg(test)]
mod tests;

pub use faults::{Fault, Faults, Rate};

use crate::entry::{Capabilities, Entry, Plan, Prepared, Stack, StateChange, StateRequest};
use crate::label::label;
use crate::options::LayerError;
use faults::KINDS;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, Failure, Lane, Operation, Profile, Request, RequestId,
    SubmitError, Unit,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const ENTRY: Entry = Entry {
    name: "faulty",
    summary: "fails, delays, loses, tears, corrupts or misdirects requests, or vanishes, by seeded chance",
    adds: Capabilities { erase_units: false, bytes: false, stored_state: false },
    options: Faults::options,
    read: |options| Ok(Arc::new(Faults::parse(options)?)),
};

impl Plan for Faults {
    fn prepare(&self, inner: Stack, _: StateRequest) -> Result<Prepared, LayerError> {
        let faults = self.clone();
        Ok(Prepared::new(StateChange::None, move |seed| {
            Ok(match inner {
                Stack::Timing(device) => Stack::Timing(Box::new(Faulty::new(device, faults, seed)?)),
                Stack::Data(device) => Stack::Data(Box::new(Faulty::over_data(device, faults, seed))),
            })
        }))
    }
}

/// How long a write that never reaches the device takes to be acknowledged: a volatile cache's time.
const LOST_WRITE_LATENCY: Duration = Duration::from_us(20);
/// What Linux reports for a failed write: EIO.
const IO_ERROR: i32 = 5;

/// A device with faults.
pub struct Faulty<D> {
    inner: D,
    profile: Profile,
    faults: Faults,
    seed: Seed,
    accepted: Seen,
    completed: u64,
    /// What will become of each request in flight.
    in_flight: BTreeMap<RequestId, Ending>,
    /// Completions whose time has not come, by time and arrival.
    held: BTreeMap<(Instant, u64), Completion>,
    arrivals: u64,
    latest: Instant,
    /// What is to be done to the buffers of some requests before they are given back.
    altered: BTreeMap<RequestId, Altered>,
    injected: [u64; KINDS.len()],
    /// Kept for its memory only.
    arrived: Vec<Completion>,
}

/// Requests accepted so far.
#[derive(Clone, Copy, Default)]
struct Seen {
    all: u64,
    reads: u64,
    writes: u64,
}

/// How a request will end.
#[derive(Clone, Copy, Default)]
struct Ending {
    failure: Option<Failure>,
    delay: Duration,
}

/// A fault of bytes.
#[derive(Clone, Copy)]
enum ByteFault {
    Lost,
    Torn { done_bytes: u64 },
    Misdirected { offset_bytes: u64 },
    Flipped { bit: u64 },
}

/// What a buffer needs before it is given back.
enum Altered {
    /// The device had a part of it or nothing: this is the whole.
    Kept(Buffer),
    Flip {
        bit: u64,
    },
}

/// What befalls a request.
struct Fate {
    ending: Ending,
    bytes: Option<ByteFault>,
    struck: Vec<Fault>,
}

impl<D: Device> Faulty<D> {
    /// `inner` with faults that need no bytes.
    ///
    /// # Errors
    /// [`LayerError::NeedsBytes`] where one of the faults does.
    pub fn new(inner: D, faults: Faults, seed: Seed) -> Result<Self, LayerError> {
        match faults.needs_bytes() {
            None => Ok(Self::make(inner, faults, seed)),
            Some(key) => Err(LayerError::NeedsBytes { key, device: inner.profile().name.clone() }),
        }
    }

    fn make(inner: D, faults: Faults, seed: Seed) -> Self {
        let name = label(ENTRY.name, &inner.profile().name, &faults.to_string());
        let profile = Profile { name, ..inner.profile().clone() };
        Self {
            // Not from the device's name: a file elsewhere fails in the same way.
            seed: seed.derive(&faults.to_string()),
            inner,
            profile,
            faults,
            accepted: Seen::default(),
            completed: 0,
            in_flight: BTreeMap::new(),
            held: BTreeMap::new(),
            arrivals: 0,
            latest: Instant::ZERO,
            altered: BTreeMap::new(),
            injected: Default::default(),
            arrived: Vec::new(),
        }
    }

    /// The device below.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    fn has_vanished(&self) -> bool {
        self.faults.vanish_after.is_some_and(|count| self.completed >= count)
    }

    /// The refusals that are this layer's own. Held-back requests are in flight here and not below.
    fn admit(&self, request: &Request) -> Result<(), SubmitError> {
        if self.has_vanished() {
            return Err(SubmitError::DeviceLost);
        }
        self.profile.check(request)?;
        if self.in_flight.len() >= self.profile.depth as usize {
            return Err(SubmitError::Full { depth: self.profile.depth });
        }
        Ok(())
    }

    /// What befalls the next request, if it is this one.
    fn fate(&self, request: &Request, has_bytes: bool) -> Fate {
        let mut random = self.seed.derive_nth("request", self.accepted.all).source();
        let mut fate = Fate { ending: Ending::default(), bytes: None, struck: Vec::new() };
        if let Some((_, time)) = self.faults.stuck.filter(|&(lane, _)| request.lane.0 == lane) {
            fate.ending.delay = time;
        }
        for kind in &KINDS {
            let nth = match kind.strikes {
                None => self.accepted.all + 1,
                Some(operation) if operation != request.operation => continue,
                Some(Operation::Read) => self.accepted.reads + 1,
                Some(_) => self.accepted.writes + 1,
            };
            if !self.faults.rate(kind.fault).happens(nth, &mut random) {
                continue;
            }
            match kind.fault {
                Fault::ReadError => fate.ending.failure = Some(Failure::Unreadable),
                Fault::WriteError => fate.ending.failure = Some(Failure::Os(IO_ERROR)),
                Fault::Delay => fate.ending.delay += self.faults.delay,
                // One fault of bytes a request is enough; the first kind goes first.
                _ if fate.bytes.is_some() || !has_bytes => continue,
                fault => {
                    fate.bytes = self.byte_fault(fault, request, &mut random);
                    if fate.bytes.is_none() {
                        continue;
                    }
                }
            }
            fate.struck.push(kind.fault);
        }
        fate
    }

    fn byte_fault(&self, fault: Fault, request: &Request, random: &mut Random) -> Option<ByteFault> {
        let length = request.length_bytes;
        match fault {
            Fault::LostWrite => Some(ByteFault::Lost),
            Fault::TornWrite => {
                let unit = self.profile.write_unit_bytes;
                let units = length / unit;
                (units > 1).then(|| ByteFault::Torn { done_bytes: unit * (1 + random.below(units - 1)) })
            }
            Fault::BitFlip => Some(ByteFault::Flipped { bit: random.below(length * 8) }),
            Fault::MisdirectedRead | Fault::MisdirectedWrite => {
                // Another place of the same size; a request for everything there is can go nowhere else.
                let unit = match fault {
                    Fault::MisdirectedRead => self.profile.read_unit_bytes,
                    _ => self.profile.write_unit_bytes,
                };
                let places = (self.profile.capacity_bytes - length) / unit;
                (places > 0).then(|| {
                    let mut place = random.below(places);
                    place += u64::from(place >= request.offset_bytes / unit);
                    ByteFault::Misdirected { offset_bytes: place * unit }
                })
            }
            Fault::ReadError | Fault::WriteError | Fault::Delay => None,
        }
    }

    fn accept(&mut self, request: &Request, fate: &Fate) {
        self.accepted.all += 1;
        self.accepted.reads += u64::from(request.operation == Operation::Read);
        self.accepted.writes += u64::from(request.operation == Operation::Write);
        for &fault in &fate.struck {
            self.injected[fault as usize] += 1;
        }
        self.altered.remove(&request.id);
        self.in_flight.insert(request.id, fate.ending);
    }

    fn hold(&mut self, completion: Completion) {
        self.held.insert((completion.completed, self.arrivals), completion);
        self.arrivals += 1;
    }

    /// Gives out what is due.
    fn release(&mut self, out: &mut Vec<Completion>) {
        let now = self.inner.now();
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            let mut completion = entry.remove();
            self.in_flight.remove(&completion.id);
            if self.has_vanished() {
                completion.outcome = Err(Failure::DeviceLost);
            } else {
                self.completed += 1;
            }
            // A real device may report a completion only after a held-back one of a later time was given out.
            self.latest = self.latest.max(completion.completed);
            completion.completed = self.latest;
            out.push(completion);
        }
    }
}

impl<D: Device> Device for Faulty<D> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.admit(&request)?;
        let fate = self.fate(&request, false);
        self.inner.submit(request)?;
        self.accept(&request, &fate);
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        loop {
            let due = self.held.first_key_value().map_or(Instant::FAR, |(&(time, _), _)| time);
            let mut arrived = std::mem::take(&mut self.arrived);
            self.inner.reap(until.min(due), &mut arrived);
            for mut completion in arrived.drain(..) {
                let ending = self.in_flight.get(&completion.id).copied().unwrap_or_default();
                completion.completed += ending.delay;
                if let (Ok(()), Some(failure)) = (completion.outcome, ending.failure) {
                    completion.outcome = Err(failure);
                }
                self.hold(completion);
            }
            self.arrived = arrived;
            self.release(out);
            let idle = until == Instant::FAR && self.in_flight.is_empty();
            if out.len() > first || idle || self.inner.now() >= until {
                return;
            }
        }
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.inner.unit(lane, index)
    }

    fn counters(&self) -> Counters {
        let mut counters = self.inner.counters();
        let asked = KINDS.iter().filter(|kind| self.faults.rate(kind.fault) != Rate::Never);
        counters.0.extend(asked.map(|kind| (kind.counter, self.injected[kind.fault as usize])));
        counters
    }
}

impl<D: DataDevice> Faulty<D> {
    /// `inner` with any faults.
    pub fn over_data(inner: D, faults: Faults, seed: Seed) -> Self {
        Self::make(inner, faults, seed)
    }

    /// Hands over a request as its fault has it.
    fn submit_altered(
        &mut self,
        request: Request,
        buffer: Buffer,
        fault: ByteFault,
    ) -> Result<Option<Altered>, (SubmitError, Buffer)> {
        match fault {
            ByteFault::Lost => {
                let submitted = self.inner.now();
                let completed = submitted + LOST_WRITE_LATENCY;
                self.hold(Completion { id: request.id, submitted, completed, outcome: Ok(()) });
                Ok(Some(Altered::Kept(buffer)))
            }
            ByteFault::Torn { done_bytes } => {
                let part = Buffer::from_slice(&buffer.as_slice()[..done_bytes as usize]);
                let shorter = Request { length_bytes: done_bytes, ..request };
                match self.inner.submit_with(shorter, part) {
                    Ok(()) => Ok(Some(Altered::Kept(buffer))),
                    Err((error, _)) => Err((error, buffer)),
                }
            }
            ByteFault::Misdirected { offset_bytes } => {
                let elsewhere = Request { offset_bytes, ..request };
                self.inner.submit_with(elsewhere, buffer).map(|()| None)
            }
            ByteFault::Flipped { bit } => {
                self.inner.submit_with(request, buffer).map(|()| Some(Altered::Flip { bit }))
            }
        }
    }
}

impl<D: DataDevice> DataDevice for Faulty<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        if let Err(error) = self.admit(&request) {
            return Err((error, buffer));
        }
        let mut fate = self.fate(&request, true);
        let handed_over = match fate.bytes {
            None => self.inner.submit_with(request, buffer).map(|()| None),
            Some(fault) => match self.submit_altered(request, buffer, fault) {
                // The medium's rules forbid the altered request: then this fault cannot happen here.
                Err((SubmitError::Rule { .. }, buffer)) => {
                    fate.struck.retain(|&struck| !KINDS[struck as usize].needs_bytes);
                    self.inner.submit_with(request, buffer).map(|()| None)
                }
                answer => answer,
            },
        };
        let altered = handed_over?;
        self.accept(&request, &fate);
        if let Some(altered) = altered {
            self.altered.insert(request.id, altered);
        }
        Ok(())
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        if self.in_flight.contains_key(&id) {
            return None;
        }
        let below = self.inner.take_buffer(id);
        match self.altered.remove(&id) {
            None => below,
            Some(Altered::Kept(buffer)) => Some(buffer),
            Some(Altered::Flip { bit }) => below.map(|mut buffer| {
                buffer.as_mut_slice()[(bit / 8) as usize] ^= 1 << (bit % 8);
                buffer
            }),
        }
    }
}
