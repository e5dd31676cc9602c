//! `faulty(SPEC,…)`: a device that fails on purpose in the ways real devices do.
//!
//! Faults are a layer, so that everything tested on a healthy drive can be tested on a failing one. The fate of the
//! n-th accepted request depends only on the seed, the settings and n: a run repeats its faults wherever its files are,
//! and refused requests do not count.
//!
//! Errors, delays and vanishing work over any device. Lost, torn and misdirected writes, misdirected reads and flipped
//! bits change data and need a [`DataDevice`] below.

mod faults;
#[cfg(test)]
mod tests;

pub use faults::{Fault, Faults, Rate};

use crate::entry::{Capabilities, Entry, Plan, Prepared, Stack, StateChange};
use crate::error::LayerError;
use crate::label::label;
use crate::state::StateOptions;
use faults::KINDS;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, Operation, PowerCurve,
    Request, RequestId, SubmitError, Unit, Zone,
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
    fn planned(&self, below: &DeviceInfo) -> Result<DeviceInfo, LayerError> {
        self.check_lane(below)?;
        Ok(below.clone())
    }

    fn prepare(&self, inner: Stack, _: StateOptions) -> Result<Prepared, LayerError> {
        self.check_lane(inner.info())?;
        let faults = self.clone();
        Ok(Prepared::new(StateChange::None, move |seed| {
            Ok(match inner {
                Stack::Timing(device) => Stack::Timing(Box::new(Faulty::new(device, faults, seed)?)),
                Stack::Data(device) => Stack::Data(Box::new(Faulty::over_data(device, faults, seed))),
            })
        }))
    }
}

/// Latency of the acknowledgement of a lost write: that of a volatile cache.
const LOST_WRITE_LATENCY: Duration = Duration::from_us(20);
/// Error that Linux reports for a failed write: EIO.
const IO_ERROR: i32 = 5;

/// A device with faults.
pub struct Faulty<D> {
    inner: D,
    info: DeviceInfo,
    faults: Faults,
    seed: Seed,
    accepted: Accepted,
    completed: u64,
    /// Outcome and delay of each request in flight.
    in_flight: BTreeMap<RequestId, Injected>,
    /// Completions held back until their time, by time and arrival.
    held: BTreeMap<(Instant, u64), Completion>,
    arrivals: u64,
    latest: Instant,
    /// Changes to buffers before they are returned.
    altered: BTreeMap<RequestId, Altered>,
    injected: [u64; KINDS.len()],
    /// Kept to reuse its memory.
    arrived: Vec<Completion>,
}

/// Counts of accepted requests.
#[derive(Clone, Copy, Default)]
struct Accepted {
    all: u64,
    reads: u64,
    writes: u64,
}

/// The injected outcome and delay of a request.
#[derive(Clone, Copy, Default)]
struct Injected {
    failure: Option<Failure>,
    delay: Duration,
}

/// A fault that changes data.
#[derive(Clone, Copy)]
enum ByteFault {
    Lost,
    Torn { done_bytes: u64 },
    Misdirected { offset_bytes: u64 },
    Flipped { bit: u64 },
}

/// The change to a buffer before it is returned.
enum Altered {
    /// The device received only a part of the buffer or none: return this one.
    Kept(Buffer),
    Flip {
        bit: u64,
    },
}

/// The faults of a request.
struct Draw {
    ending: Injected,
    bytes: Option<ByteFault>,
    faults: Vec<Fault>,
}

impl<D: Device> Faulty<D> {
    /// Adds faults that need no data to `inner`.
    ///
    /// # Errors
    /// [`LayerError::NeedsBytes`] where one of the faults needs data.
    pub fn new(inner: D, faults: Faults, seed: Seed) -> Result<Self, LayerError> {
        match faults.needs_bytes() {
            None => Ok(Self::make(inner, faults, seed)),
            Some(key) => Err(LayerError::NeedsBytes { key, device: inner.info().name.clone() }),
        }
    }

    fn make(inner: D, faults: Faults, seed: Seed) -> Self {
        let name = label(ENTRY.name, &inner.info().name, &faults.to_string());
        let info = DeviceInfo { name, ..inner.info().clone() };
        Self {
            // The device's name is left out, so that a file at another path fails in the same way.
            seed: seed.derive(&faults.to_string()),
            inner,
            info,
            faults,
            accepted: Accepted::default(),
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

    /// Checks a request against this layer's limits. Held-back requests are in flight here but not below.
    fn admit(&self, request: &Request) -> Result<(), SubmitError> {
        if self.has_vanished() {
            return Err(SubmitError::DeviceLost);
        }
        self.info.check(request)?;
        if self.in_flight.len() >= self.info.depth as usize {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        Ok(())
    }

    /// Draws the faults of the next request, as if it were this one.
    fn draw(&self, request: &Request, has_bytes: bool) -> Draw {
        let mut random = self.seed.derive_nth("request", self.accepted.all).source();
        let mut draw = Draw { ending: Injected::default(), bytes: None, faults: Vec::new() };
        if let Some((_, time)) = self.faults.stuck.filter(|&(lane, _)| request.lane.0 == lane) {
            draw.ending.delay = time;
        }
        for kind in &KINDS {
            let nth = match kind.operation {
                None => self.accepted.all + 1,
                Some(operation) if operation != request.operation => continue,
                Some(Operation::Read) => self.accepted.reads + 1,
                Some(_) => self.accepted.writes + 1,
            };
            if !self.faults.rate(kind.fault).happens(nth, &mut random) {
                continue;
            }
            match kind.fault {
                Fault::ReadError => draw.ending.failure = Some(Failure::Unreadable),
                Fault::WriteError => draw.ending.failure = Some(Failure::Os(IO_ERROR)),
                Fault::Delay => draw.ending.delay += self.faults.delay,
                // A request gets at most one data fault, the first in the order of kinds.
                _ if draw.bytes.is_some() || !has_bytes => continue,
                fault => {
                    draw.bytes = self.byte_fault(fault, request, &mut random);
                    if draw.bytes.is_none() {
                        continue;
                    }
                }
            }
            draw.faults.push(kind.fault);
        }
        draw
    }

    fn byte_fault(&self, fault: Fault, request: &Request, random: &mut Random) -> Option<ByteFault> {
        let length = request.length_bytes;
        match fault {
            Fault::LostWrite => Some(ByteFault::Lost),
            Fault::TornWrite => {
                let unit = self.info.write_unit_bytes;
                let units = length / unit;
                (units > 1).then(|| ByteFault::Torn { done_bytes: unit * (1 + random.below(units - 1)) })
            }
            Fault::BitFlip => Some(ByteFault::Flipped { bit: random.below(length * 8) }),
            Fault::MisdirectedRead | Fault::MisdirectedWrite => {
                // Another offset for the same length; there is none for a request that covers the device.
                let unit = match fault {
                    Fault::MisdirectedRead => self.info.read_unit_bytes,
                    _ => self.info.write_unit_bytes,
                };
                let places = (self.info.capacity_bytes - length) / unit;
                (places > 0).then(|| {
                    let mut place = random.below(places);
                    place += u64::from(place >= request.offset_bytes / unit);
                    ByteFault::Misdirected { offset_bytes: place * unit }
                })
            }
            Fault::ReadError | Fault::WriteError | Fault::Delay => None,
        }
    }

    fn accept(&mut self, request: &Request, draw: &Draw) {
        self.accepted.all += 1;
        self.accepted.reads += u64::from(request.operation == Operation::Read);
        self.accepted.writes += u64::from(request.operation == Operation::Write);
        for &fault in &draw.faults {
            self.injected[fault as usize] += 1;
        }
        self.altered.remove(&request.id);
        self.in_flight.insert(request.id, draw.ending);
    }

    fn hold(&mut self, completion: Completion) {
        self.held.insert((completion.completed, self.arrivals), completion);
        self.arrivals += 1;
    }

    /// Moves the completions that are due to `out`.
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
            // A real device may report a completion only after a held-back one of a later time was returned.
            self.latest = self.latest.max(completion.completed);
            completion.completed = self.latest;
            out.push(completion);
        }
    }
}

impl<D: Device> Device for Faulty<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.admit(&request)?;
        let draw = self.draw(&request, false);
        self.inner.submit(request)?;
        self.accept(&request, &draw);
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        let held = self.held.first_key_value().map_or(Instant::FAR, |(&(time, _), _)| time);
        Some(self.inner.next_event()?.min(held))
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

    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        self.inner.has_foreign_data(lane, index)
    }

    fn give_up_content(&mut self, lane: Lane, index: u64) {
        self.inner.give_up_content(lane, index);
    }

    fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        self.inner.zone(lane, index)
    }

    fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        self.inner.appended_at(id)
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.inner.power_curve()
    }

    fn counters(&self) -> Counters {
        let mut counters = self.inner.counters();
        let enabled = KINDS.iter().filter(|kind| self.faults.rate(kind.fault) != Rate::Never);
        counters.0.extend(enabled.map(|kind| (kind.counter, self.injected[kind.fault as usize])));
        counters
    }
}

impl<D: DataDevice> Faulty<D> {
    /// Adds any faults to `inner`.
    pub fn over_data(inner: D, faults: Faults, seed: Seed) -> Self {
        Self::make(inner, faults, seed)
    }

    /// Submits a request as changed by a data fault.
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
        let mut draw = self.draw(&request, true);
        let submitted = match draw.bytes {
            None => self.inner.submit_with(request, buffer).map(|()| None),
            Some(fault) => match self.submit_altered(request, buffer, fault) {
                // The medium's rules forbid the changed request, so this fault cannot happen here.
                Err((SubmitError::Rule { .. }, buffer)) => {
                    draw.faults.retain(|&fault| !KINDS[fault as usize].needs_bytes);
                    self.inner.submit_with(request, buffer).map(|()| None)
                }
                answer => answer,
            },
        };
        let altered = submitted?;
        self.accept(&request, &draw);
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
