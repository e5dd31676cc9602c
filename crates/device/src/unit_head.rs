//! The first bytes of each erase unit that the block layer writes, before those that depend on its content.
//!
//! Layers below and the safety checks of real devices tell blocks from foreign data by them, without a checksum: of a
//! damaged header, the address often remains. `docs/layout.md` has the whole header. Both search in the same places
//! ([`UnitHead::search_ranges`]), so that blocks which can be recovered are not overwritten unnoticed.

use std::iter;
use std::ops::Range;

/// First bytes of every erase unit that the block layer writes.
pub const UNIT_MAGIC: [u8; 8] = *b"FLBLOCKS";

const BLOCK: u32 = 1;
const SUPERBLOCK: u32 = 2;
/// Number of erases written where the device does not count them.
const UNCOUNTED: u32 = u32::MAX;

/// Length of the range at the beginning that is searched whole, since most layouts begin their units there.
const NEAR_BYTES: u64 = 2 << 20;
/// Units of whole MiB begin at multiples of this.
const FAR_STEP_BYTES: u64 = 1 << 20;
/// End of the range in which every multiple of [`FAR_STEP_BYTES`] is searched.
const FAR_END_BYTES: u64 = 256 << 20;
/// Length of a range behind the first: units that are no whole MiB begin anywhere.
const LOOK_BYTES: u64 = 64 << 10;
/// Most ranges over the rest of a device.
const SPREAD_LOOKS: u64 = 512;

/// The head of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitHead {
    /// Version of the layout. The lane and the unit have the same location in all versions.
    pub version: u32,
    /// Content of the unit.
    pub kind: UnitKind,
    /// Id of the formatting that the unit belongs to.
    pub format: [u8; 16],
    /// The lane it was written to.
    pub lane: u32,
    /// The unit it was written to, counted on its lane.
    pub unit: u32,
    /// Number of the unit's erases when it was written; `None` where the device does not count.
    pub erases: Option<u32>,
}

/// Content of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A block.
    Block,
    /// A copy of the superblock, with the shape of the device.
    Superblock(BlocksShape),
    /// Undefined: damaged, or foreign data.
    Other(u32),
}

/// The shape of a device that was formatted for blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlocksShape {
    /// Lanes.
    pub lanes: u32,
    /// Units on a lane.
    pub units_per_lane: u32,
    /// Bytes of a unit.
    pub unit_bytes: u64,
    /// Bytes of a read unit.
    pub read_unit_bytes: u64,
}

impl UnitHead {
    /// Length of a head with its shape: a unit has at least as many bytes.
    pub const BYTES: usize = 80;

    /// Units begin at multiples of this.
    pub const ALIGNMENT_BYTES: u64 = 4096;

    /// Returns where to search for heads on a device of unknown layout, from its beginning on: at most 768 ranges, of
    /// 50 MiB in all. The first 2 MiB; 64 KiB at each MiB up to 256 MiB; then 64 KiB at up to 512 places, an odd number
    /// of MiB apart, so that some are at the beginning of units of any power of two. Ranges begin and end at multiples
    /// of [`ALIGNMENT_BYTES`](Self::ALIGNMENT_BYTES); a rest shorter than that is left out.
    pub fn search_ranges(device_bytes: u64) -> impl Iterator<Item = Range<u64>> {
        let device_bytes = device_bytes / Self::ALIGNMENT_BYTES * Self::ALIGNMENT_BYTES;
        let near = (0..NEAR_BYTES).step_by(FAR_STEP_BYTES as usize).map(|at| at..at + FAR_STEP_BYTES);
        let far = (NEAR_BYTES..FAR_END_BYTES).step_by(FAR_STEP_BYTES as usize);
        let rest_bytes = device_bytes.saturating_sub(FAR_END_BYTES);
        let stride = rest_bytes.div_ceil(SPREAD_LOOKS).div_ceil(FAR_STEP_BYTES) | 1;
        let spread = iter::successors(Some(FAR_END_BYTES), move |at| at.checked_add(stride * FAR_STEP_BYTES));
        near.chain(far.chain(spread).map(|at| at..at.saturating_add(LOOK_BYTES)))
            .map(move |range| range.start..range.end.min(device_bytes))
            .take_while(|range| !range.is_empty())
    }

    /// Decodes the head at the start of `bytes`. `None` where it does not begin with [`UNIT_MAGIC`], or is shorter than
    /// a head.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < Self::BYTES || !bytes.starts_with(&UNIT_MAGIC) {
            return None;
        }
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let kind = match u32_at(12) {
            BLOCK => UnitKind::Block,
            SUPERBLOCK => UnitKind::Superblock(BlocksShape {
                lanes: u32_at(56),
                units_per_lane: u32_at(60),
                unit_bytes: u64_at(64),
                read_unit_bytes: u64_at(72),
            }),
            other => UnitKind::Other(other),
        };
        Some(Self {
            version: u32_at(8),
            kind,
            format: bytes[16..32].try_into().expect("sixteen bytes"),
            lane: u32_at(40),
            unit: u32_at(44),
            erases: Some(u32_at(48)).filter(|&erases| erases != UNCOUNTED),
        })
    }

    /// Encodes the head into `bytes`. Bytes 32 to 40 and 52 to 56 remain, and from byte 56 all but the shape of a
    /// superblock.
    ///
    /// # Panics
    /// If `bytes` is shorter than a head.
    pub fn encode(&self, bytes: &mut [u8]) {
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &UNIT_MAGIC);
        put(8, &self.version.to_le_bytes());
        put(16, &self.format);
        put(40, &self.lane.to_le_bytes());
        put(44, &self.unit.to_le_bytes());
        put(48, &self.erases.unwrap_or(UNCOUNTED).to_le_bytes());
        let kind = match self.kind {
            UnitKind::Block => BLOCK,
            UnitKind::Other(kind) => kind,
            UnitKind::Superblock(shape) => {
                put(56, &shape.lanes.to_le_bytes());
                put(60, &shape.units_per_lane.to_le_bytes());
                put(64, &shape.unit_bytes.to_le_bytes());
                put(72, &shape.read_unit_bytes.to_le_bytes());
                SUPERBLOCK
            }
        };
        put(12, &kind.to_le_bytes());
    }

    /// Returns whether the head is that of a block or a superblock, of any version.
    pub fn is_of_blocks(&self) -> bool {
        self.version > 0 && !matches!(self.kind, UnitKind::Other(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_is_bounded_and_meets_units_of_any_power_of_two() {
        for device_bytes in [0, 4095, 4096, 70_000, 3 << 20, 256 << 20, (300 << 20) + 5000, 1 << 40, u64::MAX]
        {
            let ranges: Vec<_> = UnitHead::search_ranges(device_bytes).collect();
            let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            assert!(ranges.len() <= 768 && bytes <= 50 << 20, "{device_bytes}: {}, {bytes}", ranges.len());
            assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
            assert!(ranges.iter().all(|range| range.start % 4096 == 0 && range.end % 4096 == 0));
            assert!(ranges.last().is_none_or(|range| range.end <= device_bytes));
        }
        let ranges: Vec<_> = UnitHead::search_ranges(1 << 40).collect();
        for unit_bytes in [64 << 10, 128 << 10, 1 << 20, 8 << 20, 64 << 20] {
            for first in [8192, 1 << 20, 3 << 20] {
                let holds_one = |range: &&Range<u64>| {
                    let from = range.start.max(first) - first;
                    first + from.next_multiple_of(unit_bytes) < range.end
                };
                let hits =
                    ranges.iter().filter(|range| range.start >= FAR_END_BYTES).filter(holds_one).count();
                assert!(hits >= 7, "{hits} of units of {unit_bytes} from {first}");
            }
        }
    }

    #[test]
    fn encoded_head_decodes_to_the_same() {
        let shape = BlocksShape { lanes: 44, units_per_lane: 9, unit_bytes: 8 << 20, read_unit_bytes: 8192 };
        let head = UnitHead {
            version: 1,
            kind: UnitKind::Superblock(shape),
            format: [7; 16],
            lane: 3,
            unit: 5,
            erases: None,
        };
        for head in [head, UnitHead { kind: UnitKind::Block, erases: Some(8), ..head }] {
            let mut bytes = [0; UnitHead::BYTES];
            head.encode(&mut bytes);
            assert_eq!(UnitHead::decode(&bytes), Some(head));
            assert_eq!(UnitHead::decode(&bytes[1..]), None);
            assert_eq!((bytes[40], bytes[44]), (3, 5), "the address of docs/layout.md");
        }
    }
}
