//! An undo log of completed writes that a power cut may still lose.
//!
//! Completed writes that are not durable are numbered as in [`AtRisk`]; each entry holds the data that a write
//! replaced. Entries no longer at risk are pruned with every flush, and whenever the log has doubled, so that it stays
//! in proportion to the device's volatile pages.

use crate::bytes::Bytes;
use flashlane_device::{AtRisk, Lane};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Smallest log that is pruned without a flush.
const LEAST_BYTES: usize = 1 << 20;

/// Data that a write replaced.
#[derive(Clone)]
struct Replaced {
    number: u64,
    lane: Lane,
    offset_bytes: u64,
    bytes: Vec<u8>,
}

impl Replaced {
    fn end_bytes(&self) -> u64 {
        self.offset_bytes + self.bytes.len() as u64
    }

    /// Returns the overlap with a range of the same lane, as a range of `bytes`.
    fn overlap(&self, offset_bytes: u64, length_bytes: u64) -> Range<usize> {
        let first = offset_bytes.clamp(self.offset_bytes, self.end_bytes());
        let last = (offset_bytes + length_bytes).clamp(first, self.end_bytes());
        (first - self.offset_bytes) as usize..(last - self.offset_bytes) as usize
    }
}

/// Ranges at risk, by location.
struct Risks {
    /// For lane, offset and length, the first write lost with each copy, in order.
    first_writes: BTreeMap<(Lane, u64, u64), Vec<u64>>,
    longest: u64,
}

impl Risks {
    fn new(at_risk: &[AtRisk]) -> Self {
        let mut first_writes: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for risk in at_risk {
            first_writes
                .entry((risk.lane, risk.offset_bytes, risk.length_bytes))
                .or_default()
                .push(risk.first_write);
        }
        first_writes.values_mut().for_each(|writes| writes.sort_unstable());
        Self { first_writes, longest: at_risk.iter().map(|risk| risk.length_bytes).max().unwrap_or(0) }
    }

    /// Returns the parts of `replaced` that may come back: offset and length of the range at risk, the number of its
    /// copies that the write is lost with, and the overlap.
    fn parts(&self, replaced: &Replaced) -> Vec<(u64, u64, usize, Range<usize>)> {
        let Replaced { number, lane, offset_bytes, .. } = *replaced;
        let near = (lane, offset_bytes.saturating_sub(self.longest), 0)..(lane, replaced.end_bytes(), 0);
        self.first_writes
            .range(near)
            .map(|(&(_, offset, length), first_writes)| {
                let copies = first_writes.partition_point(|&first| first <= number);
                (offset, length, copies, replaced.overlap(offset, length))
            })
            .filter(|(_, _, copies, inside)| *copies > 0 && !inside.is_empty())
            .collect()
    }
}

/// Replaced data of writes that may be undone, oldest first.
#[derive(Clone, Default)]
pub(crate) struct Undo {
    replaced: VecDeque<Replaced>,
    held_bytes: usize,
    kept_bytes: usize,
    next: u64,
}

impl Undo {
    /// Records the data that a completed write, which is not durable, is about to replace.
    pub(crate) fn before_write(
        &mut self,
        stored: &mut Bytes,
        lane: Lane,
        offset_bytes: u64,
        length_bytes: u64,
    ) {
        let mut bytes = vec![0; length_bytes as usize];
        stored.read(lane, offset_bytes, &mut bytes);
        self.held_bytes += bytes.len();
        self.replaced.push_back(Replaced { number: self.next, lane, offset_bytes, bytes });
        self.next += 1;
    }

    /// Updates the log for a completed durable write: its data must survive any undo.
    pub(crate) fn after_durable_write(&mut self, lane: Lane, offset_bytes: u64, bytes: &[u8]) {
        for replaced in &mut self.replaced {
            let inside = replaced.overlap(offset_bytes, bytes.len() as u64);
            if replaced.lane == lane && !inside.is_empty() {
                let from = (replaced.offset_bytes + inside.start as u64 - offset_bytes) as usize;
                let length = inside.len();
                replaced.bytes[inside].copy_from_slice(&bytes[from..from + length]);
            }
        }
    }

    /// Returns whether the log is large enough to be pruned.
    pub(crate) fn is_due(&self) -> bool {
        self.held_bytes > LEAST_BYTES.max(2 * self.kept_bytes)
    }

    /// Drops entries that can no longer come back: those no longer at risk, and newer versions of data whose older
    /// version is held too, where both can only be undone together.
    pub(crate) fn prune(&mut self, at_risk: &[AtRisk]) {
        let risks = Risks::new(at_risk);
        // For each range at risk and each of its copies, the bytes whose oldest version is held.
        let mut held: BTreeMap<(Lane, u64, usize), Vec<bool>> = BTreeMap::new();
        let mut kept = VecDeque::new();
        for replaced in self.replaced.drain(..) {
            for (offset, length, copies, inside) in risks.parts(&replaced) {
                let Replaced { number, lane, .. } = replaced;
                let offset_bytes = replaced.offset_bytes + inside.start as u64;
                let held = held.entry((lane, offset, copies)).or_insert_with(|| vec![false; length as usize]);
                let held = &mut held[(offset_bytes - offset) as usize..][..inside.len()];
                if held.contains(&false) {
                    held.fill(true);
                    let bytes = replaced.bytes[inside].to_vec();
                    kept.push_back(Replaced { number, lane, offset_bytes, bytes });
                }
            }
        }
        self.replaced = kept;
        self.held_bytes = self.replaced.iter().map(|replaced| replaced.bytes.len()).sum();
        self.kept_bytes = self.held_bytes;
    }

    /// Restores the data of lost writes after a power cut, and clears the log: the rest is on the medium.
    pub(crate) fn roll_back(&mut self, stored: &mut Bytes, lost: &[AtRisk]) {
        let risks = Risks::new(lost);
        for replaced in self.replaced.drain(..).rev() {
            for (_, _, _, inside) in risks.parts(&replaced) {
                let offset_bytes = replaced.offset_bytes + inside.start as u64;
                stored.write(replaced.lane, offset_bytes, &replaced.bytes[inside]);
            }
        }
        (self.held_bytes, self.kept_bytes) = (0, 0);
    }
}
