//! The heads of the units of lanes without a superblock, and the records that follow from them.

use super::constants::RECORDS;
use super::disk::{Record, u32_at, u64_at};
use super::layout::Layout;
use super::table::Found;
use flashlane_device::UNIT_MAGIC;
use std::collections::BTreeMap;

/// The content of a unit's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Zeros or ones: not written since the erase.
    Empty,
    /// The header of a block, or of a superblock of blocks.
    Written(Header),
    /// Foreign data, or unreadable.
    Unknown,
}

/// The fields of a block's header that locate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) format: [u8; 16],
    pub(super) lane: u32,
    pub(super) unit: u64,
    /// Number of the unit's erases; `None` where it was not counted.
    pub(super) erases: Option<u32>,
    /// Lanes, units per lane, bytes of a unit and of a read unit, in a superblock of blocks.
    pub(super) shape: Option<(u32, u64, u64, u64)>,
}

impl Header {
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        const SUPERBLOCK: u32 = 2;
        if !bytes.starts_with(&UNIT_MAGIC) || !matches!(u32_at(bytes, 12), 1 | SUPERBLOCK) {
            return None;
        }
        let shape = || (u32_at(bytes, 56), u32_at(bytes, 60).into(), u64_at(bytes, 64), u64_at(bytes, 72));
        Some(Self {
            format: bytes[16..32].try_into().expect("sixteen bytes"),
            lane: u32_at(bytes, 40),
            unit: u32_at(bytes, 44).into(),
            erases: Some(u32_at(bytes, 48)).filter(|&erases| erases != u32::MAX),
            shape: (u32_at(bytes, 12) == SUPERBLOCK).then(shape),
        })
    }
}

/// The heads of the units of lanes without a superblock.
pub(super) struct Recovered {
    pub(super) heads: BTreeMap<u64, Head>,
    /// The most frequent formatting.
    pub(super) format: [u8; 16],
}

impl Recovered {
    /// Replaces the records of lost sectors in `found` by those of the heads.
    pub fn fill(&self, layout: &Layout, records: &mut [Record], found: &[Found]) {
        let is_lost = |number: u64| found[(number / RECORDS) as usize].unsound == [true; 2];
        for (&number, head) in self.heads.iter().filter(|(number, _)| is_lost(**number)) {
            records[number as usize] = match head {
                Head::Empty => Record { erases: None, ..Record::NEW },
                Head::Written(header) if header.format == self.format => {
                    Record { erases: header.erases, ..Record::lost(&layout.shape) }
                }
                Head::Written(_) | Head::Unknown => Record::lost(&layout.shape),
            };
        }
    }
}
