//! What stood where a write went, for as long as a power cut may bring it back.
//!
//! Completed writes that are not durable are numbered as [`AtRisk`] counts them; each leaves the bytes that it replaced.
//! What the device no longer has at risk is thrown away with every flush, and whenever the bytes held have doubled, so
//! that they stay in proportion to the device's volatile pages.

use crate::chunks::Chunks;
use flashlane_device::{AtRisk, Lane};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Fewer bytes than this are not worth looking through.
const LEAST_BYTES: usize = 1 << 20;

/// Replaced bytes.
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

    /// Where this overlaps a range of its lane: as a range of `bytes`.
    fn overlap(&self, offset_bytes: u64, length_bytes: u64) -> Range<usize> {
        let first = offset_bytes.clamp(self.offset_bytes, self.end_bytes());
        let last = (offset_bytes + length_bytes).clamp(first, self.end_bytes());
        (first - self.offset_bytes) as usize..(last - self.offset_bytes) as usize
    }
}

/// What is at risk, by place.
struct Risks {
    /// Lane, offset and length, and the first write lost with each copy, in order.
    since: BTreeMap<(Lane, u64, u64), Vec<u64>>,
    longest: u64,
}

impl Risks {
    fn new(at_risk: &[AtRisk]) -> Self {
        let mut since: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for risk in at_risk {
            since.entry((risk.lane, risk.offset_bytes, risk.length_bytes)).or_default().push(risk.since);
        }
        since.values_mut().for_each(|since| since.sort_unstable());
        Self { since, longest: at_risk.iter().map(|risk| risk.length_bytes).max().unwrap_or(0) }
    }

    /// The parts of `replaced` that can come back: offset and length of the bytes at risk, how many of their copies the
    /// write is lost with, and where they overlap.
    fn parts(&self, replaced: &Replaced) -> Vec<(u64, u64, usize, Range<usize>)> {
        let Replaced { number, lane, offset_bytes, .. } = *replaced;
        let near = (lane, offset_bytes.saturating_sub(self.longest), 0)..(lane, replaced.end_bytes(), 0);
        self.since
            .range(near)
            .map(|(&(_, offset, length), since)| {
                let copies = since.partition_point(|&since| since <= number);
                (offset, length, copies, replaced.overlap(offset, length))
            })
            .filter(|(_, _, copies, inside)| *copies > 0 && !inside.is_empty())
            .collect()
    }
}

/// The replaced bytes of writes that may be undone, oldest first.
#[derive(Clone, Default)]
pub(crate) struct Undo {
    replaced: VecDeque<Replaced>,
    held_bytes: usize,
    kept_bytes: usize,
    next: u64,
}

impl Undo {
    /// A write that is not durable has completed and is about to replace the `length_bytes` from `offset_bytes` on.
    pub(crate) fn replacing(&mut self, chunks: &Chunks, lane: Lane, offset_bytes: u64, length_bytes: u64) {
        let mut bytes = vec![0; length_bytes as usize];
        chunks.read(lane, offset_bytes, &mut bytes);
        self.held_bytes += bytes.len();
        self.replaced.push_back(Replaced { number: self.next, lane, offset_bytes, bytes });
        self.next += 1;
    }

    /// A durable write has completed: whatever is undone, its bytes stay.
    pub(crate) fn durable(&mut self, lane: Lane, offset_bytes: u64, bytes: &[u8]) {
        for replaced in &mut self.replaced {
            let inside = replaced.overlap(offset_bytes, bytes.len() as u64);
            if replaced.lane == lane && !inside.is_empty() {
                let from = (replaced.offset_bytes + inside.start as u64 - offset_bytes) as usize;
                let length = inside.len();
                replaced.bytes[inside].copy_from_slice(&bytes[from..from + length]);
            }
        }
    }

    /// Whether enough is held that it is worth to ask the device what is still at risk.
    pub(crate) fn is_due(&self) -> bool {
        self.held_bytes > LEAST_BYTES.max(2 * self.kept_bytes)
    }

    /// Throws away what can no longer come back: bytes that are at risk no more, and those of a write over bytes that a
    /// write before it replaced, where they can only be undone together.
    pub(crate) fn keep(&mut self, at_risk: &[AtRisk]) {
        let risks = Risks::new(at_risk);
        // For each run of bytes and each copy of it at risk, the bytes of which the oldest version is held.
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

    /// Brings back what the power cut brings back, and forgets the rest: what is there now is on the medium.
    pub(crate) fn roll_back(&mut self, chunks: &mut Chunks, lost: &[AtRisk]) {
        let risks = Risks::new(lost);
        for replaced in self.replaced.drain(..).rev() {
            for (_, _, _, inside) in risks.parts(&replaced) {
                let offset_bytes = replaced.offset_bytes + inside.start as u64;
                chunks.write(replaced.lane, offset_bytes, &replaced.bytes[inside]);
            }
        }
        (self.held_bytes, self.kept_bytes) = (0, 0);
    }
}
