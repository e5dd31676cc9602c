//! A drive in memory with a volatile write cache, for trials: lawful, and as mean as the law allows.
//!
//! - Requests take random times, some of them long ones, in any order; now and then a part of the drive stands still,
//!   as in garbage collection.
//! - Completed writes are on the medium after a flush, or at random; a power cut loses all others.
//! - A power cut leaves each sector of a write in flight old or new, at random.
//! - A write that overlaps another write in flight is a bug of the caller, since their order is open.

use crate::SECTOR;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Lane, NullDevice, Operation,
    Request, RequestId, SubmitError,
};
use std::collections::BTreeMap;
use std::ops::Range;

struct InFlight {
    request: Request,
    buffer: Option<Buffer>,
    submitted: Instant,
}

/// A drive with a volatile write cache.
pub struct CachedDrive {
    info: DeviceInfo,
    now: Instant,
    /// Content as read, and content after a power cut.
    cached: Vec<u8>,
    medium: Vec<u8>,
    /// Sectors whose cached content is not on the medium, with the number of the first such write.
    dirty: BTreeMap<u64, u64>,
    next_number: u64,
    /// By time of completion, and by arrival.
    in_flight: BTreeMap<(Instant, u64), InFlight>,
    arrivals: u64,
    /// When each part of the drive goes on.
    busy_until: Vec<Instant>,
    ready: Vec<Completion>,
    done: BTreeMap<RequestId, Buffer>,
    random: Random,
}

fn span(request: &Request) -> Range<usize> {
    request.offset_bytes as usize..(request.offset_bytes + request.length_bytes) as usize
}

impl CachedDrive {
    /// Creates a drive of zeros in `parts` parts.
    pub fn new(capacity_bytes: u64, parts: u32, depth: u32, seed: Seed) -> Self {
        let info =
            DeviceInfo { name: "cached:".into(), depth, ..NullDevice::new(capacity_bytes).info().clone() };
        Self {
            info,
            now: Instant::ZERO,
            cached: vec![0; capacity_bytes as usize],
            medium: vec![0; capacity_bytes as usize],
            dirty: BTreeMap::new(),
            next_number: 0,
            in_flight: BTreeMap::new(),
            arrivals: 0,
            busy_until: vec![Instant::ZERO; parts as usize],
            ready: Vec::new(),
            done: BTreeMap::new(),
            random: seed.derive("cached drive").source(),
        }
    }

    /// Returns the drive after a power cut: with its content, and without a past.
    pub fn reopened(self) -> Self {
        Self { next_number: 0, ready: Vec::new(), done: BTreeMap::new(), ..self }
    }

    fn accept(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.info.check(&request) {
            return Err((error, buffer));
        }
        if self.in_flight.len() >= self.info.depth as usize {
            return Err((SubmitError::Full { depth: self.info.depth }, buffer));
        }
        let writes = |request: &Request| matches!(request.operation, Operation::Write | Operation::Trim);
        if writes(&request) {
            let own = span(&request);
            let others = self.in_flight.values().map(|other| &other.request).filter(|other| writes(other));
            for other in others {
                let other = span(other);
                assert!(own.end <= other.start || other.end <= own.start, "{request:?} overlaps {other:?}");
            }
        }
        let part_bytes = self.info.capacity_bytes / self.busy_until.len() as u64;
        let part = ((request.offset_bytes / part_bytes) as usize).min(self.busy_until.len() - 1);
        let began = self.now.max(self.busy_until[part]);
        if self.random.chance(0.1) {
            self.busy_until[part] = began + Duration::from_us(self.random.below(1500));
        }
        let longest = if self.random.chance(0.1) { 1000 } else { 20 };
        let time = began.max(self.busy_until[part]) + Duration::from_us(1 + self.random.below(longest));
        let in_flight = InFlight { request, buffer, submitted: self.now };
        self.in_flight.insert((time, self.arrivals), in_flight);
        self.arrivals += 1;
        Ok(())
    }

    /// Writes a cached sector to the medium.
    fn destage(&mut self, sector: u64) {
        let place = (sector * SECTOR) as usize..((sector + 1) * SECTOR) as usize;
        self.medium[place.clone()].copy_from_slice(&self.cached[place]);
        self.dirty.remove(&sector);
    }

    fn complete(&mut self, in_flight: InFlight) {
        let InFlight { request, mut buffer, submitted } = in_flight;
        let place = span(&request);
        let sectors = request.offset_bytes / SECTOR..(request.offset_bytes + request.length_bytes) / SECTOR;
        match request.operation {
            Operation::Read => {
                if let Some(buffer) = &mut buffer {
                    buffer.as_mut_slice().copy_from_slice(&self.cached[place]);
                }
            }
            Operation::Write => {
                if let Some(buffer) = &buffer {
                    self.cached[place].copy_from_slice(buffer.as_slice());
                }
                for sector in sectors {
                    if request.durable {
                        self.destage(sector);
                    } else {
                        self.dirty.entry(sector).or_insert(self.next_number);
                    }
                }
                self.next_number += u64::from(!request.durable);
            }
            Operation::Trim => {
                self.cached[place].fill(0);
                sectors.for_each(|sector| self.destage(sector));
            }
            Operation::Flush => self.dirty.clone().into_keys().for_each(|sector| self.destage(sector)),
            _ => unreachable!("there are no erase units"),
        }
        while self.random.chance(0.3)
            && let Some((&sector, _)) = self.dirty.first_key_value()
        {
            self.destage(sector);
        }
        self.done.extend(buffer.map(|buffer| (request.id, buffer)));
        self.ready.push(Completion { id: request.id, submitted, completed: self.now, outcome: Ok(()) });
    }
}

impl Device for CachedDrive {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.accept(request, None).map_err(|(error, _)| error)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.ready.is_empty() {
            match self.in_flight.first_entry().filter(|entry| entry.key().0 <= until) {
                Some(entry) => {
                    let ((time, _), in_flight) = entry.remove_entry();
                    self.now = self.now.max(time);
                    self.complete(in_flight);
                }
                None if until < Instant::FAR => self.now = self.now.max(until),
                None => {}
            }
        }
        out.append(&mut self.ready);
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        let at_risk = self.dirty.iter().map(|(&sector, &first_write)| AtRisk {
            lane: Lane(0),
            offset_bytes: sector * SECTOR,
            length_bytes: SECTOR,
            first_write,
        });
        Some(at_risk.collect())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        let lost = self.at_risk()?;
        self.dirty.clear();
        for (_, InFlight { request, buffer, submitted }) in std::mem::take(&mut self.in_flight) {
            if request.operation == Operation::Write {
                self.next_number += u64::from(!request.durable);
                let place = &mut self.medium[span(&request)];
                let new = buffer.iter().flat_map(|buffer| buffer.as_slice().chunks(SECTOR as usize));
                for (there, new) in place.chunks_mut(SECTOR as usize).zip(new) {
                    if self.random.chance(0.5) {
                        there.copy_from_slice(new);
                    }
                }
            }
            self.done.extend(buffer.map(|buffer| (request.id, buffer)));
            let (completed, outcome) = (self.now, Err(Failure::DeviceLost));
            self.ready.push(Completion { id: request.id, submitted, completed, outcome });
        }
        self.cached.copy_from_slice(&self.medium);
        self.busy_until.fill(self.now);
        Some(lost)
    }
}

impl DataDevice for CachedDrive {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("the caller's buffer"));
        self.accept(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_drive_loses_exactly_what_was_at_risk() {
        let mut drive = CachedDrive::new(64 * SECTOR, 4, 8, Seed(1));
        let mut lost = 0;
        for round in 1..200 {
            let bytes = Buffer::from_slice(&[round as u8; SECTOR as usize]);
            drive.submit_with(Request::write(round, 0, SECTOR), bytes).unwrap();
            drive.reap(Instant::FAR, &mut Vec::new());
            let is_lost = !drive.cut_power().unwrap().is_empty();
            assert_eq!(drive.cached[0] == round as u8, !is_lost);
            lost += u64::from(is_lost);
        }
        assert!((50..200).contains(&lost), "{lost}");
    }
}
