//! `backed(SPEC)`: bytes behind a device that models time only.
//!
//! The bytes of a write become visible when it completes, and a read gets its bytes when *it* completes, so that
//! what a reader sees depends on the order of completions and on nothing else. What was never written, and what was
//! trimmed or erased, reads as zeros. A request that failed moved nothing, or what it says it moved.
//!
//! Where the device knows what a power cut takes, the bytes that writes replaced are kept for as long as it may bring
//! them back: [`Device::cut_power`] then leaves the bytes that are on the medium. A trim is not undone, but for places
//! that were written before it and are lost with what was written after.
//!
//! On media with erase units a completed write is on the medium, and a power cut tears what it meets in flight: each read
//! unit of a write holds the new bytes, none, some of them, or garbage, and each of an erase the old bytes or none,
//! independently and drawn by lot. That is more than flash does, which is written in order: who gets along with this
//! gets along with that.

use crate::chunks::Chunks;
use crate::entry::{Capabilities, Entry, Plan, Prepared, Stack, StateChange, StateRequest};
use crate::label::label;
use crate::options::LayerError;
use crate::undo::Undo;
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, Failure, Lane, Operation, Profile, Request,
    RequestId, SubmitError, Unit, UnitState,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const ENTRY: Entry = Entry {
    name: "backed",
    summary: "keeps the bytes of a device that models time only, in memory",
    adds: Capabilities { erase_units: false, bytes: true, stored_state: false },
    options: Vec::new,
    read: |_| Ok(Arc::new(InMemory)),
};

/// It has no settings.
#[derive(Debug)]
struct InMemory;

impl Plan for InMemory {
    fn prepare(&self, inner: Stack, _: StateRequest) -> Result<Prepared, LayerError> {
        match inner {
            Stack::Timing(device) => Ok(Prepared::new(StateChange::None, |seed| {
                Ok(Stack::Data(Box::new(Backed::new(device).seeded(seed))))
            })),
            Stack::Data(device) => {
                Err(LayerError::HasBytes { layer: ENTRY.name, device: device.profile().name.clone() })
            }
        }
    }
}

/// Bytes behind a device that models time only. A copy shares the bytes that neither it nor the original writes to.
#[derive(Clone)]
pub struct Backed<D> {
    inner: D,
    profile: Profile,
    chunks: Chunks,
    /// Requests in flight whose completions change something here.
    moving: BTreeMap<RequestId, (Request, Option<Buffer>)>,
    /// Absent where the device does not know what is at risk, and on media with erase units, where nothing is.
    undo: Option<Undo>,
    /// What becomes of the bytes of units that a power cut tears.
    random: Random,
    /// Buffers of completed requests that nobody took yet; one an id at most.
    done: BTreeMap<RequestId, Buffer>,
}

impl<D: Device> Backed<D> {
    /// Zeros behind `inner`.
    pub fn new(inner: D) -> Self {
        let name = label(ENTRY.name, &inner.profile().name, "");
        let profile = Profile { name, ..inner.profile().clone() };
        Self {
            undo: inner.at_risk().filter(|_| profile.erase_unit_bytes == 0).map(|_| Undo::default()),
            random: torn(Seed(0)),
            inner,
            profile,
            chunks: Chunks::default(),
            moving: BTreeMap::new(),
            done: BTreeMap::new(),
        }
    }

    /// The same with another seed for what power cuts leave of units that they tear.
    pub fn seeded(mut self, seed: Seed) -> Self {
        self.random = torn(seed);
        self
    }

    /// The device below.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    fn accepted(&mut self, request: Request, buffer: Option<Buffer>) {
        self.done.remove(&request.id);
        let clears = matches!(request.operation, Operation::Trim | Operation::Erase);
        let counts = matches!(request.operation, Operation::Write | Operation::Flush) && self.undo.is_some();
        if clears || counts || buffer.is_some() {
            self.moving.insert(request.id, (request, buffer));
        }
    }

    /// Moves the bytes of a completed request.
    fn settle(&mut self, completion: &Completion) {
        let Some((request, buffer)) = self.moving.remove(&completion.id) else { return };
        let moved = match completion.outcome {
            Ok(()) => request.length_bytes,
            Err(Failure::Short { done_bytes }) => u64::from(done_bytes).min(request.length_bytes),
            Err(_) => 0,
        };
        let Request { lane, offset_bytes, operation, .. } = request;
        self.remember(&request, buffer.as_ref(), moved);
        if matches!(operation, Operation::Trim | Operation::Erase) {
            self.chunks.clear(lane, offset_bytes, moved);
        }
        let Some(mut buffer) = buffer else { return };
        match operation {
            Operation::Read => {
                self.chunks.read(lane, offset_bytes, &mut buffer.as_mut_slice()[..moved as usize]);
            }
            Operation::Write => self.chunks.write(lane, offset_bytes, &buffer.as_slice()[..moved as usize]),
            _ => {}
        }
        self.done.insert(request.id, buffer);
    }

    /// Leaves in torn units what a power cut leaves there of the writes and erases that were in flight.
    fn tear(&mut self) {
        let (unit_bytes, step) = (self.profile.erase_unit_bytes, self.profile.read_unit_bytes);
        let Self { inner, chunks, moving, random, .. } = self;
        for (request, buffer) in moving.values() {
            let Request { lane, offset_bytes, length_bytes, operation, .. } = *request;
            let state = inner.unit(lane, offset_bytes / unit_bytes).map(|unit| unit.state);
            if state != Some(UnitState::Torn) {
                continue; // it had ended, or did nothing
            }
            for at in (0..length_bytes).step_by(step as usize) {
                match (operation, buffer) {
                    (Operation::Erase, _) if random.chance(0.5) => {
                        chunks.clear(lane, offset_bytes + at, step);
                    }
                    (Operation::Write, Some(buffer)) => {
                        let left = left_of(&buffer.as_slice()[at as usize..][..step as usize], random);
                        chunks.write(lane, offset_bytes + at, &left);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Sees to it that a completed write can be undone, or that it is not: before its bytes are moved.
    fn remember(&mut self, request: &Request, buffer: Option<&Buffer>, moved: u64) {
        let Some(undo) = &mut self.undo else { return };
        // A write without a buffer moves nothing.
        let bytes = buffer.map_or(&[][..], |buffer| &buffer.as_slice()[..moved as usize]);
        match request.operation {
            Operation::Write if request.durable => {
                undo.durable(request.lane, request.offset_bytes, bytes);
            }
            Operation::Write => {
                undo.replacing(&self.chunks, request.lane, request.offset_bytes, bytes.len() as u64);
            }
            _ => {}
        }
        if undo.is_due() || request.operation == Operation::Flush {
            undo.keep(&self.inner.at_risk().unwrap_or_default());
        }
    }
}

impl<D: Device> Device for Backed<D> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.inner.submit(request)?;
        self.accepted(request, None);
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        self.inner.reap(until, out);
        for completion in &out[first..] {
            self.settle(completion);
        }
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.inner.unit(lane, index)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        self.inner.at_risk()
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        if self.profile.erase_unit_bytes > 0 {
            let lost = self.inner.cut_power()?;
            assert!(lost.is_empty(), "a completed write to an erase unit is on the medium");
            self.tear();
            return Some(lost);
        }
        let undo = self.undo.as_mut()?;
        let lost = self.inner.cut_power()?;
        undo.roll_back(&mut self.chunks, &lost);
        Some(lost)
    }
}

impl<D: Device> DataDevice for Backed<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        if let Err(error) = self.inner.submit(request) {
            return Err((error, buffer));
        }
        if matches!(request.operation, Operation::Read | Operation::Write) {
            assert_eq!(buffer.len() as u64, request.length_bytes, "a buffer is as long as its request");
        }
        self.accepted(request, Some(buffer));
        Ok(())
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}

fn torn(seed: Seed) -> Random {
    seed.derive("torn units").source()
}

/// What the medium holds of a read unit whose write was cut short: all of it, nothing, the beginning, or garbage.
fn left_of(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut left = bytes.to_vec();
    match random.below(4) {
        0 => {}
        1 => left.fill(0),
        2 => left[random.below(bytes.len() as u64) as usize..].fill(0),
        _ => left.iter_mut().for_each(|byte| *byte = random.bits() as u8),
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_device::NullDevice;
    use flashlane_device_testing::conformance;

    #[test]
    fn it_conforms() {
        conformance::check_data(&mut || Box::new(Backed::new(NullDevice::new(1 << 20))));
    }

    #[test]
    fn a_read_that_completes_before_a_write_sees_what_was_there_before() {
        let mut device = Backed::new(NullDevice::new(1 << 20));
        let bytes = Buffer::from_slice(&[7; 512]);
        device.submit_with(Request::read(1, 0, 512), Buffer::zeroed(512)).unwrap();
        device.submit_with(Request::write(2, 0, 512), bytes).unwrap();
        device.submit_with(Request::read(3, 0, 512), Buffer::zeroed(512)).unwrap();
        let mut out = Vec::new();
        device.reap(Instant::FAR, &mut out);
        assert_eq!(out.len(), 3);
        assert_eq!(device.take_buffer(RequestId(1)).unwrap().as_slice(), [0; 512]);
        assert_eq!(device.take_buffer(RequestId(3)).unwrap().as_slice(), [7; 512]);
        assert!(device.take_buffer(RequestId(4)).is_none());
    }
}
