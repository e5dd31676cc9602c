//! The heads of the units of lanes that have lost records, and the records that follow from them.

use super::constants::RECORDS;
use super::disk::Record;
use super::layout::{Layout, Shape};
use super::ours::is_empty;
use super::table::Found;
use flashlane_device::{BlocksShape, UnitHead, UnitKind, UnitState};
use std::collections::BTreeMap;

/// The content of a unit's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Zeros or ones: not written since the erase.
    Empty,
    /// The header of a block, or of a superblock of blocks.
    Written(UnitHead),
    /// Foreign data, or unreadable.
    Unknown,
}

impl Head {
    pub(super) fn decode(bytes: &[u8]) -> Self {
        match UnitHead::decode(bytes).filter(UnitHead::is_of_blocks) {
            Some(head) => Self::Written(head),
            None if is_empty(bytes) => Self::Empty,
            None => Self::Unknown,
        }
    }
}

/// Returns whether a head belongs into this unit of the layout.
pub(super) fn is_in_place(head: &UnitHead, layout: &Layout, number: u64) -> bool {
    let Shape { lanes, unit_bytes, read_unit_bytes, .. } = layout.shape;
    let has_shape = |found: BlocksShape| {
        u64::from(found.units_per_lane) == layout.units_per_lane
            && (found.lanes, found.unit_bytes, found.read_unit_bytes) == (lanes, unit_bytes, read_unit_bytes)
    };
    (head.lane, head.unit.into()) == layout.lane_and_unit(number) && shape_of(head).is_none_or(has_shape)
}

/// Returns the shape that a superblock of blocks records.
pub(super) fn shape_of(head: &UnitHead) -> Option<BlocksShape> {
    match head.kind {
        UnitKind::Superblock(shape) => Some(shape),
        UnitKind::Block | UnitKind::Other(_) => None,
    }
}

/// The heads of the units of lanes that have lost records.
pub(super) struct Recovered {
    pub(super) heads: BTreeMap<u64, Head>,
    /// The most frequent formatting.
    pub(super) format: [u8; 16],
}

impl Recovered {
    /// Returns `None` where no head is a block's.
    pub(super) fn new(heads: BTreeMap<u64, Head>) -> Option<Self> {
        let format = most_frequent(headers(&heads).map(|(_, header)| header.format))?;
        Some(Self { heads, format })
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = (u64, &UnitHead)> {
        headers(&self.heads)
    }

    /// Returns the formatting of the blocks that the rest of the table confirms, or else the most frequent one: an
    /// earlier formatting leaves its headers in erased units.
    fn format_in_force(&self, records: &[Record], is_lost: impl Fn(u64) -> bool) -> [u8; 16] {
        let is_confirmed = |number: u64, header: &UnitHead| {
            let Record { state, erases, .. } = records[number as usize];
            !is_lost(number)
                && matches!(state, UnitState::Written { bytes: 1.. })
                && erases.is_some()
                && erases == header.erases
        };
        let confirmed = self.headers().filter(|(number, header)| is_confirmed(*number, header));
        most_frequent(confirmed.map(|(_, header)| header.format)).unwrap_or(self.format)
    }

    /// Replaces the records of lost sectors in `found` by those of the heads.
    pub fn fill(&self, layout: &Layout, records: &mut [Record], found: &[Found]) {
        let is_lost = |number: u64| found[(number / RECORDS) as usize].unsound == [true; 2];
        let format = self.format_in_force(records, is_lost);
        for (&number, head) in self.heads.iter().filter(|(number, _)| is_lost(**number)) {
            records[number as usize] = match head {
                Head::Empty => Record { erases: None, ..Record::NEW },
                Head::Written(header) if header.format == format => {
                    Record { erases: header.erases, ..Record::lost(&layout.shape) }
                }
                Head::Written(_) | Head::Unknown => Record::lost(&layout.shape),
            };
        }
    }
}

fn headers(heads: &BTreeMap<u64, Head>) -> impl Iterator<Item = (u64, &UnitHead)> {
    heads.iter().filter_map(|(&number, head)| match head {
        Head::Written(header) => Some((number, header)),
        _ => None,
    })
}

fn most_frequent(formats: impl Iterator<Item = [u8; 16]>) -> Option<[u8; 16]> {
    let mut units: BTreeMap<[u8; 16], u64> = BTreeMap::new();
    for format in formats {
        *units.entry(format).or_default() += 1;
    }
    units.into_iter().max_by_key(|(_, units)| *units).map(|(format, _)| format)
}
