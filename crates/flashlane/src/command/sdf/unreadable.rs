//! Blocks that cannot be read as a whole: which bytes of them, and why.

use super::verdict::unit_named;
use flashlane_block::{BlockInfo, GetFailure, Outcome};
use flashlane_open::AnyBlocks;
use std::ops::Range;

/// A block that cannot be read as a whole.
pub struct Unreadable {
    pub info: BlockInfo,
    /// Byte ranges of the block that cannot be read, if known.
    pub damaged: Vec<Range<u64>>,
    /// Whether the data fails its checksum; otherwise the device fails to read it.
    pub is_damaged: bool,
}

impl Unreadable {
    /// Describes the damaged range, and where readable data begins again.
    pub fn places(&self) -> Option<String> {
        let (first, last) = (self.damaged.first()?, self.damaged.last()?);
        let places = match self.damaged.len() {
            1 => String::new(),
            several => format!(" in {several} places"),
        };
        let (from, to) = (first.start, last.end);
        Some(match to < self.info.length_bytes {
            true => format!(
                "damaged{places} from byte {from} to {} of the block, sound from byte {to} on",
                to - 1
            ),
            false => format!("damaged{places} from byte {from} of the block to its end"),
        })
    }

    /// Returns whether a part of the block may be readable.
    pub fn has_sound_part(&self) -> bool {
        let damaged_bytes: u64 = self.damaged.iter().map(|range| range.end - range.start).sum();
        damaged_bytes < self.info.length_bytes
    }

    pub fn named(&self, blocks: &AnyBlocks) -> String {
        let places = self.places().map_or_else(String::new, |places| format!(", {places}"));
        format!("id {}: {}{places}", self.info.id, unit_named(blocks, self.info.address))
    }
}

impl Unreadable {
    /// Looks at a block of which a read failed so.
    pub fn of(blocks: &mut AnyBlocks, info: BlockInfo, failure: &GetFailure) -> Self {
        let damaged = damaged_ranges(blocks, &info);
        Self { info, damaged, is_damaged: matches!(failure, GetFailure::Damaged { .. }) }
    }
}

/// Returns the blocks with a damaged header or footer that cannot be read, and so not be rewritten.
pub fn unreadable_ends(blocks: &mut AnyBlocks) -> Vec<Unreadable> {
    let ids: Vec<u64> = blocks.damaged_ends().filter_map(|end| end.id).collect();
    let mut unreadable = Vec::new();
    for info in ids.into_iter().filter_map(|id| blocks.info(id)).collect::<Vec<_>>() {
        if let Some(Err(failure)) = read(blocks, &info, 0..info.length_bytes) {
            unreadable.push(Unreadable::of(blocks, info, &failure));
        }
    }
    unreadable
}

/// Reads a part of a block; `None` where it is not there.
fn read(blocks: &mut AnyBlocks, info: &BlockInfo, range: Range<u64>) -> Option<Result<(), GetFailure>> {
    let ticket = blocks.get(info.id, range.start, range.end - range.start).ok()?;
    match blocks.wait(ticket)?.outcome {
        Outcome::Get(result) => Some(result.map(|data| blocks.reuse(data))),
        _ => None,
    }
}

/// Reads a block again, one read unit at a time, and returns the ranges that fail. Empty if all reads succeed or after
/// Ctrl-C.
fn damaged_ranges(blocks: &mut AnyBlocks, info: &BlockInfo) -> Vec<Range<u64>> {
    let mut damaged: Vec<Range<u64>> = Vec::new();
    let step = blocks.status().layout.granule_bytes;
    for from in (0..info.length_bytes).step_by(step as usize) {
        if flashlane_host::interrupted() {
            return Vec::new();
        }
        let to = info.length_bytes.min(from + step);
        if let Some(Err(_)) = read(blocks, info, from..to) {
            match damaged.last_mut().filter(|range| range.end == from) {
                Some(range) => range.end = to,
                None => damaged.push(from..to),
            }
        }
    }
    damaged
}
