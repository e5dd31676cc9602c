//! A disk in memory: the simplest device without erase units that has a volatile cache, for tests of logs.
//!
//! Every request takes a random time. A completed write that is neither durable nor flushed is in the cache: after a
//! power cut each of its sectors holds the new bytes or those that were durable before, in any mixture. A write in
//! flight leaves, sector by sector, the old bytes, the new ones or, unless sectors are atomic, random ones. A clone is
//! an independent device that behaves the same from then on.

use crate::memory::{IO_ERROR, MemoryFaults};
use crate::queue::{InFlight, Queue};
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Operation, Request, RequestId,
    SubmitError,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A disk in memory.
#[derive(Clone, Debug)]
pub struct MemoryDisk {
    info: DeviceInfo,
    /// What reads return.
    bytes: Vec<u8>,
    /// What a power cut leaves at least, of the sectors in `cached`; elsewhere it is as in `bytes`.
    durable: BTreeMap<u64, Box<[u8]>>,
    /// Sectors whose bytes are not durable.
    cached: BTreeSet<u64>,
    queue: Queue,
    random: Random,
    faults: MemoryFaults,
    /// Whether a write in flight leaves each sector with old or new bytes.
    has_atomic_sectors: bool,
}

impl MemoryDisk {
    /// Creates a disk of zeros.
    ///
    /// # Panics
    /// Where `capacity_bytes` is not a multiple of `sector_bytes`.
    pub fn new(capacity_bytes: u64, sector_bytes: u64, seed: Seed) -> Self {
        assert!(capacity_bytes.is_multiple_of(sector_bytes), "a disk is whole sectors");
        let info = DeviceInfo {
            depth: 64,
            simulated: true,
            ..DeviceInfo::new("memory disk", capacity_bytes, sector_bytes)
        };
        Self {
            info,
            bytes: vec![0; capacity_bytes as usize],
            durable: BTreeMap::new(),
            cached: BTreeSet::new(),
            queue: Queue::default(),
            random: seed.derive("memory disk").source(),
            faults: MemoryFaults::default(),
            has_atomic_sectors: false,
        }
    }

    /// Returns the device with these probabilities of failure from now on; a write that fails is torn.
    pub fn with_faults(mut self, faults: MemoryFaults) -> Self {
        self.faults = faults;
        self
    }

    /// Returns the device as one on which a power cut leaves no sector with random bytes.
    pub fn with_atomic_sectors(mut self) -> Self {
        self.has_atomic_sectors = true;
        self
    }

    /// Returns the device as one that is not simulated: other programs may write to it, and layers check for that.
    pub fn shared_with_others(mut self) -> Self {
        self.info.simulated = false;
        self
    }

    /// The stored bytes, to damage.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn sectors(&self, request: &Request) -> Range<u64> {
        let sector = self.info.read_unit_bytes;
        request.offset_bytes / sector..(request.offset_bytes + request.length_bytes) / sector
    }

    fn span(&self, sector: u64) -> Range<usize> {
        let bytes = self.info.read_unit_bytes as usize;
        sector as usize * bytes..(sector as usize + 1) * bytes
    }

    fn take(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let refused = match self.info.check(&request) {
            Err(error) => Some(error),
            Ok(()) if self.queue.len() >= self.info.depth as usize => {
                Some(SubmitError::Full { depth: self.info.depth })
            }
            Ok(()) if request.operation == Operation::Trim => {
                Some(SubmitError::Unsupported { operation: Operation::Trim })
            }
            Ok(()) => None,
        };
        if let Some(error) = refused {
            return Err((error, buffer));
        }
        let outcome = match request.operation {
            Operation::Read if self.random.chance(self.faults.read_fails) => Err(Failure::Unreadable),
            Operation::Flush if self.random.chance(self.faults.flush_fails) => Err(Failure::Os(IO_ERROR)),
            Operation::Write if self.random.chance(self.faults.unit_fails) => Err(Failure::Os(IO_ERROR)),
            _ => Ok(()),
        };
        self.queue.push(request, outcome, buffer, &mut self.random);
        Ok(())
    }

    fn finish(&mut self, mut ended: InFlight) -> Completion {
        if ended.outcome.is_err() {
            self.tear(&ended);
        }
        let InFlight { request, outcome, buffer, .. } = &mut ended;
        let span = request.offset_bytes as usize..(request.offset_bytes + request.length_bytes) as usize;
        match (request.operation, outcome, buffer) {
            (Operation::Write, Ok(()), Some(buffer)) => {
                for sector in self.sectors(request) {
                    if request.durable {
                        self.cached.remove(&sector);
                        self.durable.remove(&sector);
                    } else if self.cached.insert(sector) {
                        self.durable.insert(sector, self.bytes[self.span(sector)].into());
                    }
                }
                self.bytes[span].copy_from_slice(buffer.as_slice());
            }
            (Operation::Read, Ok(()), Some(buffer)) => {
                buffer.as_mut_slice().copy_from_slice(&self.bytes[span])
            }
            (Operation::Flush, Ok(()), _) => {
                self.cached.clear();
                self.durable.clear();
            }
            (Operation::Flush, Err(_), _) => drop(self.drop_cached()),
            _ => {}
        }
        self.queue.complete(ended)
    }

    /// Empties the cache: each sector in it becomes durable or is lost. Returns those that are lost.
    fn drop_cached(&mut self) -> Vec<AtRisk> {
        let mut lost = Vec::new();
        for sector in std::mem::take(&mut self.cached) {
            let durable = self.durable.remove(&sector).expect("a cached sector has durable bytes");
            if self.random.chance(0.5) {
                let span = self.span(sector);
                lost.push(self.at_risk_in(sector));
                self.bytes[span].copy_from_slice(&durable);
            }
        }
        lost
    }

    /// Returns a sector as one whose bytes a power cut would lose.
    fn at_risk_in(&self, sector: u64) -> AtRisk {
        let span = self.span(sector);
        AtRisk {
            lane: Default::default(),
            offset_bytes: span.start as u64,
            length_bytes: span.len() as u64,
            first_write: 0,
        }
    }

    /// Leaves the sectors of a write with a mixture of old, new and random bytes.
    fn tear(&mut self, cut: &InFlight) {
        let (Operation::Write, Some(buffer)) = (cut.request.operation, &cut.buffer) else { return };
        let unit = self.info.read_unit_bytes as usize;
        for (new, sector) in buffer.as_slice().chunks(unit).zip(self.sectors(&cut.request)) {
            let span = self.span(sector);
            match self.random.below(8) {
                0..4 => self.bytes[span].copy_from_slice(new),
                4 if !self.has_atomic_sectors => {
                    self.bytes[span].iter_mut().for_each(|byte| *byte = self.random.bits() as u8)
                }
                _ => continue,
            }
            self.cached.remove(&sector);
            self.durable.remove(&sector);
        }
    }
}

impl Device for MemoryDisk {
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

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(self.cached.iter().map(|&sector| self.at_risk_in(sector)).collect())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        let lost = self.drop_cached();
        for cut in self.queue.cut_power() {
            self.tear(&cut);
        }
        Some(lost)
    }
}

impl DataDevice for MemoryDisk {
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

    #[test]
    fn memory_disk_conforms() {
        for sector_bytes in [512, 4096] {
            conformance::check_data(&mut || Box::new(MemoryDisk::new(1 << 20, sector_bytes, Seed(1))));
        }
    }

    #[test]
    fn power_cut_takes_only_what_is_cached() {
        let complete = |disk: &mut MemoryDisk, request: Request, byte: u8| {
            disk.submit_with(request, Buffer::from_slice(&vec![byte; request.length_bytes as usize]))
                .unwrap();
            let mut out = Vec::new();
            while out.is_empty() {
                disk.reap(Instant::FAR, &mut out);
            }
        };
        let mut seen = BTreeSet::new();
        for seed in 0..40 {
            let mut disk = MemoryDisk::new(4096, 512, Seed(seed));
            complete(&mut disk, Request::write(1, 0, 1024), 1);
            complete(&mut disk, Request::flush(2), 0);
            complete(&mut disk, Request::write(3, 512, 1024), 2);
            complete(&mut disk, Request { durable: true, ..Request::write(4, 2048, 512) }, 3);
            disk.cut_power().unwrap();
            let sectors: Vec<u8> = disk.bytes_mut().chunks(512).map(|sector| sector[0]).collect();
            assert_eq!((sectors[0], sectors[4]), (1, 3));
            seen.insert((sectors[1], sectors[2]));
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(1, 0), (1, 2), (2, 0), (2, 2)]);
    }
}
