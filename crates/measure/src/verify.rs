//! Data verification: a device layer that writes a header into each unit and checks the headers of units read.
//!
//! A unit's header contains its offset, the run, and the number of the write (its *generation*, in the order of
//! submission); a CRC-32C covers the whole unit. This detects lost, torn, misplaced and stale units, also where the
//! device reports success.
//!
//! Writes in flight together may take effect in either order. When a write completes, all writes to the unit that were
//! submitted before the oldest write then in flight with it are superseded; a read must not return a write that was
//! superseded when the read was submitted. Units that the run has not written are not checked.

use flashlane_base::units::exact_bytes;
use flashlane_base::{Instant, Operation, Seed};
use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, PowerCurve, Request, RequestId,
    SubmitError, TimeSplit,
};
use flashlane_workload::{Access, Job, Pattern, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Why a unit fails verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// No header, or bytes that do not match its checksum.
    #[error("no valid header, or bytes that do not match its checksum")]
    Garbled,
    /// The header has another offset.
    #[error("bytes that were written for offset {}", exact_bytes(*written_for_bytes))]
    Misplaced {
        /// The offset in the header.
        written_for_bytes: u64,
    },
    /// A superseded write.
    #[error("bytes of write {found}, which write {superseded_by} had superseded")]
    Stale {
        /// The write in the header, counted from 1.
        found: u64,
        /// The oldest valid write.
        superseded_by: u64,
    },
    /// The header is of another run, or of a write that was never submitted.
    #[error("bytes of another run")]
    Foreign,
}

/// A unit that failed verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at offset {}: {mismatch}", exact_bytes(*offset_bytes))]
pub struct Misread {
    /// Offset of the unit.
    pub offset_bytes: u64,
    /// Why it failed.
    pub mismatch: Mismatch,
}

/// Result of verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Size of a unit.
    pub unit_bytes: u64,
    /// Bytes read and checked during the measurement.
    pub checked_bytes: u64,
    /// Bytes read but not checked, because the run had not written them.
    pub unchecked_bytes: u64,
    /// Bytes read back and checked at the end.
    pub read_back_bytes: u64,
    /// Units that failed verification, each counted once.
    pub mismatches: u64,
    /// The first of these, in order of detection.
    pub first_mismatches: Vec<Misread>,
}

impl Verified {
    /// Returns whether no byte was checked.
    pub fn checked_nothing(&self) -> bool {
        self.checked_bytes + self.read_back_bytes == 0
    }
}

/// Mismatches listed in the result.
const NAMED: usize = 5;

const MAGIC: u64 = u64::from_le_bytes(*b"FLverify");
const HEADER_BYTES: usize = 40;
/// The smallest unit that holds a header.
pub(crate) const UNIT_MIN_BYTES: u64 = 64;
/// Units per block of the generation table.
const CHUNK: u64 = 512;
/// Longest read of the read-back.
const READ_BACK_BYTES: u64 = 128 << 10;

pub(crate) struct Verifying<'a> {
    device: &'a mut dyn DataDevice,
    /// Identifies this run in headers.
    tag: u64,
    /// Generation of the last write.
    generation: u64,
    /// By unit, in chunks: the oldest valid generation; zero where the run has not written.
    oldest: BTreeMap<u64, Box<[u64]>>,
    /// By unit: generations in flight, oldest first.
    in_flight: BTreeMap<u64, Vec<u64>>,
    /// Requests in flight, by id.
    pending: BTreeMap<u64, Pending>,
    spare: Vec<Buffer>,
    pub(crate) verified: Verified,
    /// Units that do not hold what was written, by number.
    mismatched: BTreeSet<u64>,
}

/// A request in flight.
struct Pending {
    request: Request,
    /// Generation of a write.
    generation: u64,
    /// By unit: for a read the oldest valid generation, for a write the oldest in flight with it.
    oldest: Vec<u64>,
}

/// Returns the largest unit that divides all writes of `workload`: each unit costs a header and a check.
pub(crate) fn unit_bytes(workload: &Workload, info: &DeviceInfo) -> u64 {
    let writes = workload.jobs.iter().filter(|job| job.mix.changes() == Some(Operation::Write));
    let unit = |job: &Job| match job.pattern {
        Pattern::Ordered { .. } | Pattern::List(_) => info.write_unit_bytes,
        _ => {
            let align = job.align_bytes.unwrap_or(job.size_bytes);
            [job.area_offset_bytes, job.shift_bytes, align].into_iter().fold(job.size_bytes, common_divisor)
        }
    };
    writes.map(unit).reduce(common_divisor).unwrap_or(info.write_unit_bytes)
}

/// Returns the greatest common common_divisor.
fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

impl<'a> Verifying<'a> {
    pub(crate) fn new(device: &'a mut dyn DataDevice, unit_bytes: u64, seed: Seed) -> Self {
        Self {
            tag: seed.derive("verify").0,
            generation: 0,
            oldest: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            pending: BTreeMap::new(),
            spare: Vec::new(),
            verified: Verified { unit_bytes, ..Verified::default() },
            mismatched: BTreeSet::new(),
            device,
        }
    }

    /// Returns reads of all units that the run has written.
    pub(crate) fn read_back(&self) -> Vec<Access> {
        let unit = self.verified.unit_bytes;
        let length_max = (READ_BACK_BYTES / unit).max(1) * unit;
        let mut reads: Vec<Access> = Vec::new();
        for (chunk, generations) in &self.oldest {
            for (index, _) in (0..).zip(generations).filter(|(_, oldest)| **oldest > 0) {
                let offset_bytes = (chunk * CHUNK + index) * unit;
                match reads.last_mut() {
                    Some(last)
                        if last.offset_bytes + last.length_bytes == offset_bytes
                            && last.length_bytes < length_max =>
                    {
                        last.length_bytes += unit;
                    }
                    _ => reads.push(Access::read(offset_bytes, unit)),
                }
            }
        }
        reads
    }

    fn oldest(&self, unit: u64) -> u64 {
        self.oldest.get(&(unit / CHUNK)).map_or(0, |chunk| chunk[(unit % CHUNK) as usize])
    }

    /// Returns the units that lie wholly within a request.
    fn units(&self, request: &Request) -> std::ops::Range<u64> {
        let unit = self.verified.unit_bytes;
        let end = (request.offset_bytes + request.length_bytes) / unit;
        request.offset_bytes.div_ceil(unit)..end.max(request.offset_bytes.div_ceil(unit))
    }

    fn fill(&self, buffer: &mut Buffer, request: &Request, generation: u64) {
        let mut random = Seed(self.tag).derive_nth("payload", generation).source();
        let unit = self.verified.unit_bytes;
        let pieces = buffer.as_mut_slice().chunks_exact_mut(unit as usize);
        for (offset, piece) in (request.offset_bytes..).step_by(unit as usize).zip(pieces) {
            for word in piece[HEADER_BYTES..].chunks_mut(8) {
                word.copy_from_slice(&random.bits().to_le_bytes()[..word.len()]);
            }
            let words = [MAGIC, self.tag, offset, generation];
            piece
                .chunks_exact_mut(8)
                .zip(words)
                .for_each(|(at, word)| at.copy_from_slice(&word.to_le_bytes()));
            piece[32..HEADER_BYTES].fill(0);
            let sum = crc32c::crc32c(piece);
            piece[32..36].copy_from_slice(&sum.to_le_bytes());
        }
    }

    /// Checks a unit that was read; `oldest` is its oldest valid generation.
    fn check(&self, piece: &mut [u8], offset: u64, oldest: u64) -> Result<(), Mismatch> {
        let word = |at: usize| piece[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or_default();
        let [magic, tag, written_for_bytes, found] = [word(0), word(8), word(16), word(24)];
        let sum = word(32);
        piece[32..HEADER_BYTES].fill(0);
        if magic != MAGIC || u64::from(crc32c::crc32c(piece)) != sum {
            return Err(Mismatch::Garbled);
        }
        if tag != self.tag || found > self.generation {
            return Err(Mismatch::Foreign);
        }
        if written_for_bytes != offset {
            return Err(Mismatch::Misplaced { written_for_bytes });
        }
        if found < oldest { Err(Mismatch::Stale { found, superseded_by: oldest }) } else { Ok(()) }
    }

    fn completed(&mut self, completion: &Completion) {
        let Some(pending) = self.pending.remove(&completion.id.0) else { return };
        let buffer = self.device.take_buffer(completion.id);
        let units = self.units(&pending.request);
        match pending.request.operation {
            Operation::Write => {
                for (unit, oldest) in units.zip(pending.oldest) {
                    if let Some(generations) = self.in_flight.get_mut(&unit) {
                        generations.retain(|&generation| generation != pending.generation);
                        if generations.is_empty() {
                            self.in_flight.remove(&unit);
                        }
                    }
                    let chunk = self.oldest.entry(unit / CHUNK);
                    let kept =
                        &mut chunk.or_insert_with(|| vec![0; CHUNK as usize].into())[(unit % CHUNK) as usize];
                    *kept = oldest.max(*kept);
                }
                self.spare.extend(buffer);
            }
            _ if completion.outcome.is_err() => {}
            _ => {
                let Some(mut buffer) = buffer else { return };
                self.check_read(&pending, &mut buffer);
                self.spare.push(buffer);
            }
        }
    }

    /// Checks each unit of a read that the run has written. A mismatch is recorded and does not end the run.
    fn check_read(&mut self, pending: &Pending, buffer: &mut Buffer) {
        let unit_bytes = self.verified.unit_bytes;
        let mut checked = 0;
        for (unit, &oldest) in self.units(&pending.request).zip(&pending.oldest) {
            if oldest > 0 {
                let offset = unit * unit_bytes;
                let from = (offset - pending.request.offset_bytes) as usize;
                let piece = &mut buffer.as_mut_slice()[from..from + unit_bytes as usize];
                if let Err(mismatch) = self.check(piece, offset, oldest) {
                    self.note(unit, Misread { offset_bytes: offset, mismatch });
                }
                checked += unit_bytes;
            }
        }
        self.verified.checked_bytes += checked;
        self.verified.unchecked_bytes += pending.request.length_bytes - checked;
    }

    fn note(&mut self, unit: u64, misread: Misread) {
        if self.mismatched.insert(unit) {
            self.verified.mismatches += 1;
            if self.verified.first_mismatches.len() < NAMED {
                self.verified.first_mismatches.push(misread);
            }
        }
    }
}

impl Device for Verifying<'_> {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn now(&self) -> Instant {
        self.device.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        if !matches!(request.operation, Operation::Read | Operation::Write) {
            return self.device.submit(request);
        }
        let length = request.length_bytes as usize;
        let spare = self.spare.iter().position(|buffer| buffer.len() == length);
        let mut buffer = spare.map_or_else(|| Buffer::zeroed(length), |index| self.spare.swap_remove(index));
        let generation = self.generation + 1;
        let writes = request.operation == Operation::Write;
        if writes {
            self.fill(&mut buffer, &request, generation);
        }
        if let Err((error, buffer)) = self.device.submit_with(request, buffer) {
            self.spare.push(buffer);
            return Err(error);
        }
        let units = self.units(&request);
        let oldest = if writes {
            self.generation = generation;
            units
                .map(|unit| {
                    let generations = self.in_flight.entry(unit).or_default();
                    generations.push(generation);
                    generations[0]
                })
                .collect()
        } else {
            units.map(|unit| self.oldest(unit)).collect()
        };
        self.pending.insert(request.id.0, Pending { request, generation, oldest });
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        self.device.reap(until, out);
        for completion in &out[first..] {
            self.completed(completion);
        }
    }

    fn prefetch(&self, offset_bytes: u64, length_bytes: u64) {
        self.device.prefetch(offset_bytes, length_bytes);
    }

    fn counters(&self) -> Counters {
        self.device.counters()
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.device.power_curve()
    }

    fn record_time_splits(&mut self) -> bool {
        self.device.record_time_splits()
    }

    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.device.time_split(id)
    }
}

#[cfg(test)]
mod tests;
