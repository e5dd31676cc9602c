//! Lanes of erase units in memory: the simplest device that has them, for tests of layers and stores above lanes.
//!
//! Every request takes a random time, so that completions come in any order; failures are drawn from the seed. After a
//! power cut a write or erase in flight is complete, not begun, or torn: any mixture of the old bytes, the new ones and
//! random ones. A clone is an independent device that behaves the same from then on.

use crate::queue::{InFlight, Queue};
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Lane, Operation, Request, RequestId,
    SubmitError, Unit, UnitStates,
};
use std::collections::BTreeSet;

/// Probabilities of failure per request, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryFaults {
    /// A write or an erase fails; half of the failures make the unit bad.
    pub unit_fails: f64,
    /// A write fails since no space is left below, and tears its unit, which can be erased again.
    pub no_space: f64,
    /// A read fails, once.
    pub read_fails: f64,
    /// A flush fails, once; a disk drops parts of its cache then, as Linux does with pages that could not be written.
    pub flush_fails: f64,
}

/// Lanes of erase units in memory.
#[derive(Clone, Debug)]
pub struct MemoryLanes {
    info: DeviceInfo,
    units: UnitStates,
    bytes: Vec<u8>,
    queue: Queue,
    random: Random,
    faults: MemoryFaults,
    /// Units that may be written at least once, and those that were: see
    /// [`with_space_for`](MemoryLanes::with_space_for).
    space: Option<(usize, BTreeSet<(Lane, u64)>)>,
}

/// EIO, which Linux reports for a failed request.
pub(crate) const IO_ERROR: i32 = 5;
/// ENOSPC, which Linux reports for a write to a sparse file where its file system is full.
const NO_SPACE: i32 = 28;

impl MemoryLanes {
    /// Creates `lanes` lanes of `units` erased units of `unit_bytes`, which is the write unit too.
    ///
    /// # Panics
    /// Where `unit_bytes` is not a multiple of `read_unit_bytes`.
    pub fn new(lanes: u32, units: u64, unit_bytes: u64, read_unit_bytes: u64, seed: Seed) -> Self {
        assert!(unit_bytes.is_multiple_of(read_unit_bytes), "an erase unit is whole read units");
        let info = DeviceInfo {
            write_unit_bytes: unit_bytes,
            lanes,
            erase_unit_bytes: unit_bytes,
            depth: 64,
            simulated: true,
            ..DeviceInfo::new("memory lanes", units * unit_bytes, read_unit_bytes)
        };
        Self {
            units: UnitStates::new(&info),
            bytes: vec![0; (info.capacity_bytes * u64::from(lanes)) as usize],
            info,
            queue: Queue::default(),
            random: seed.derive("memory lanes").source(),
            faults: MemoryFaults::default(),
            space: None,
        }
    }

    /// Returns the device as on a sparse file whose file system has space for this number of units: others fail to be
    /// written. An erase gives no space back.
    pub fn with_space_for(mut self, units: usize) -> Self {
        self.space = Some((units, BTreeSet::new()));
        self
    }

    /// Returns whether the unit of a write has space, or gets some.
    fn takes_space(&mut self, request: &Request) -> bool {
        let unit = (request.lane, request.offset_bytes / self.info.erase_unit_bytes);
        let Some((units, backed)) = &mut self.space else { return true };
        let has_space = backed.contains(&unit) || backed.len() < *units;
        if has_space {
            backed.insert(unit);
        }
        has_space
    }

    /// Returns the device with these probabilities of failure from now on.
    pub fn with_faults(mut self, faults: MemoryFaults) -> Self {
        self.faults = faults;
        self
    }

    /// The stored bytes of a lane, to damage.
    pub fn lane_mut(&mut self, lane: Lane) -> &mut [u8] {
        let size = self.info.capacity_bytes as usize;
        &mut self.bytes[lane.0 as usize * size..][..size]
    }

    fn take(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.admit(&request) {
            return Err((error, buffer));
        }
        self.units.accepted(&request);
        let outcome = match request.operation {
            Operation::Read if self.random.chance(self.faults.read_fails) => Err(Failure::Unreadable),
            Operation::Write if !self.takes_space(&request) => Err(Failure::Os(NO_SPACE)),
            // Without this fault the others are drawn as ever.
            Operation::Write if self.faults.no_space > 0.0 && self.random.chance(self.faults.no_space) => {
                Err(Failure::Os(NO_SPACE))
            }
            Operation::Write | Operation::Erase if self.random.chance(self.faults.unit_fails) => {
                // Half of the units become bad; the others can be erased again.
                Err(if self.random.chance(0.5) { Failure::BadUnit } else { Failure::Os(IO_ERROR) })
            }
            _ => Ok(()),
        };
        self.queue.push(request, outcome, buffer, &mut self.random);
        Ok(())
    }

    fn admit(&self, request: &Request) -> Result<(), SubmitError> {
        self.info.check(request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.units.admit(request).map_err(|rule| request.refused_by(rule))?;
        if self.queue.len() >= self.info.depth as usize {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        Ok(())
    }

    fn span(&self, request: &Request) -> std::ops::Range<usize> {
        let from = u64::from(request.lane.0) * self.info.capacity_bytes + request.offset_bytes;
        from as usize..(from + request.length_bytes) as usize
    }

    fn finish(&mut self, mut ended: InFlight) -> Completion {
        if matches!(ended.outcome, Err(Failure::Os(_))) {
            self.tear(&ended);
        }
        let InFlight { request, outcome, buffer, .. } = &mut ended;
        self.units.ended(request, outcome);
        let span = self.span(request);
        match (request.operation, outcome, buffer) {
            (Operation::Erase, Ok(()), _) => self.bytes[span].fill(0),
            (Operation::Write, Ok(()), Some(buffer)) => self.bytes[span].copy_from_slice(buffer.as_slice()),
            (Operation::Read, Ok(()), Some(buffer)) => {
                buffer.as_mut_slice().copy_from_slice(&self.bytes[span]);
            }
            _ => {}
        }
        self.queue.complete(ended)
    }

    /// Leaves the range of a write or erase with a mixture of old, new and random bytes.
    fn tear(&mut self, cut: &InFlight) {
        let span = self.span(&cut.request);
        let unit = self.info.read_unit_bytes as usize;
        for (nth, piece) in self.bytes[span].chunks_mut(unit).enumerate() {
            match (cut.request.operation, self.random.below(8), &cut.buffer) {
                (Operation::Write, 0..4, Some(buffer)) => {
                    piece.copy_from_slice(&buffer.as_slice()[nth * unit..][..piece.len()]);
                }
                (Operation::Erase, 0..4, _) => piece.fill(0),
                (Operation::Write | Operation::Erase, 4, _) => {
                    piece.iter_mut().for_each(|byte| *byte = self.random.bits() as u8);
                }
                _ => {}
            }
        }
    }
}

impl Device for MemoryLanes {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.queue.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.take(request, None).map_err(|(error, _)| error)
    }

    fn next_event(&self) -> Option<Instant> {
        Some(self.queue.next_event())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.queue.advance(until, out);
        while let Some(ended) = self.queue.next_due() {
            out.push(self.finish(ended));
        }
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.get(lane, index)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(Vec::new())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        for cut in self.queue.cut_power() {
            let request = cut.request;
            let index = request.offset_bytes / self.info.erase_unit_bytes;
            let changes = matches!(request.operation, Operation::Write | Operation::Erase);
            match (self.random.below(4), self.units.get(request.lane, index)) {
                // Complete on the medium, though it is reported as failed.
                (0, _) => drop(self.finish(cut)),
                // Not begun.
                (1, Some(unit)) if changes => {
                    self.units.set(request.lane, index, unit.state, unit.erases);
                }
                _ => {
                    self.tear(&cut);
                    self.units.ended(&request, &Err(Failure::DeviceLost));
                }
            }
        }
        Some(Vec::new())
    }
}

impl DataDevice for MemoryLanes {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.take(request, Some(buffer))
            .map_err(|(error, buffer)| (error, buffer.expect("a buffer was given")))
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.queue.take_buffer(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;
    use flashlane_device::UnitState;

    #[test]
    fn memory_lanes_conform() {
        for (lanes, unit_bytes, read_unit_bytes) in [(1, 4096, 4096), (3, 4096, 512), (5, 2560, 128)] {
            conformance::check_data(&mut || {
                Box::new(MemoryLanes::new(lanes, 16, unit_bytes, read_unit_bytes, Seed(1)))
            });
        }
    }

    #[test]
    fn failing_memory_lanes_conform() {
        conformance::check_failing(&mut || {
            let faults = MemoryFaults { read_fails: 0.2, ..MemoryFaults::default() };
            Box::new(MemoryLanes::new(2, 16, 4096, 512, Seed(1)).with_faults(faults))
        });
    }

    #[test]
    fn power_cut_tears_only_units_in_flight() {
        let mut device = MemoryLanes::new(2, 4, 4096, 512, Seed(3));
        let kept = Request::write(1, 0, 4096);
        device.submit_with(kept, Buffer::from_slice(&[7; 4096])).unwrap();
        let mut out = Vec::new();
        device.reap(Instant::FAR, &mut out);
        let mut before = device.clone();
        device.submit_with(Request::write(2, 4096, 4096), Buffer::from_slice(&[9; 4096])).unwrap();
        let mut other = device.clone();
        // Complete, not begun, torn: each outcome occurs under some seed.
        let mut seen = BTreeSet::new();
        for seed in 0..40 {
            let mut device = device.clone();
            device.random = Seed(seed).source();
            device.cut_power();
            let unit = device.unit(Lane(0), 1).unwrap().state;
            let bytes = device.lane_mut(Lane(0))[4096..8192].to_vec();
            let kind = match unit {
                UnitState::Torn => 0,
                UnitState::Written { bytes: 4096 } => {
                    assert_eq!(bytes, [9; 4096]);
                    1
                }
                _ => {
                    assert_eq!(
                        (unit, &bytes[..]),
                        (UnitState::ERASED, &before.lane_mut(Lane(0))[4096..8192])
                    );
                    2
                }
            };
            seen.insert(kind);
        }
        assert_eq!(seen.len(), 3);
        assert_eq!(device.cut_power(), Some(Vec::new()));
        out.clear();
        device.reap(Instant::FAR, &mut out);
        assert_eq!(out.iter().map(|c| c.outcome).collect::<Vec<_>>(), [Err(Failure::DeviceLost)]);
        assert_eq!(device.unit(Lane(0), 0).unwrap().state, UnitState::Written { bytes: 4096 });
        assert_eq!(device.lane_mut(Lane(0))[..4096], [7; 4096]);
        // The clone is not affected.
        out.clear();
        other.reap(Instant::FAR, &mut out);
        assert_eq!(out[0].outcome, Ok(()));
        assert_eq!(other.lane_mut(Lane(0))[4096..8192], [9; 4096]);
    }
}
