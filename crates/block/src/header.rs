//! What stands at both ends of a written unit, as bytes: of a block, or of a superblock.
//!
//! Numbers are little-endian. Every field is checked when it is read: a header is taken as a whole or not at all.

use crate::layout::{FIXED_BYTES, Layout};
use flashlane_device::UNIT_MAGIC;

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: u32 = 1;
/// The highest id that a block can have: a floor above it can still be written.
pub const ID_MAX: u64 = u64::MAX - 1;
/// In place of an erase count that the device does not tell.
pub(crate) const UNCOUNTED: u32 = u32::MAX;

const KIND_BLOCK: u32 = 1;
const KIND_SUPERBLOCK: u32 = 2;
const CHECKSUM_AT: usize = 52;
const BODY_AT: usize = 56;
/// Where a superblock's list of retired units begins.
const RETIRED_AT: usize = 96;

/// Where a unit lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The lane.
    pub lane: u32,
    /// The unit on it, from 0.
    pub unit: u32,
}

/// A header or footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which formatting of the device it belongs to.
    pub format: u128,
    /// Counts what is written, so that of two the newer is known.
    pub sequence: u64,
    /// Where it was written.
    pub place: Place,
    /// How often the unit had been erased then; [`u32::MAX`] where the device does not count.
    pub erases: u32,
    /// What the unit holds.
    pub content: Content,
}

/// What a unit holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A block.
    Block {
        /// Its id.
        id: u64,
        /// Bytes of user data.
        length_bytes: u64,
        /// A checksum of every granule of the payload.
        checksums: Box<[u32]>,
    },
    /// What is to be known of the whole device.
    Superblock(Superblock),
}

/// What is to be known of the whole device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Lanes when it was formatted.
    pub lanes: u32,
    /// Units of a lane.
    pub units: u32,
    /// Bytes of a unit.
    pub unit_bytes: u64,
    /// Bytes of a granule.
    pub granule_bytes: u64,
    /// No id below this is given out again.
    pub id_floor: u64,
    /// Units that are used no more although the device does not say so.
    pub retired: Vec<Place>,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Something else stands there.
    #[error("no header begins there")]
    Foreign,
    /// A later version of this program wrote it.
    #[error("it has version {found}, and {VERSION} is the newest that is known")]
    Newer {
        /// The version found.
        found: u32,
    },
    /// It is one, and damaged.
    #[error("its checksum is {found:#010x} and should be {expected:#010x}")]
    Damaged {
        /// The checksum of the bytes.
        found: u32,
        /// The checksum that they name.
        expected: u32,
    },
    /// Its checksum is right, and what it says cannot be.
    #[error("its {field} is {found}, which cannot be")]
    Impossible {
        /// Which field.
        field: &'static str,
        /// What it says.
        found: u64,
    },
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The checksum of a header's bytes, of which its own field counts as zero.
fn checksum(bytes: &[u8]) -> u32 {
    let sum = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    let sum = crc32c::crc32c_append(sum, &[0; 4]);
    crc32c::crc32c_append(sum, &bytes[BODY_AT..])
}

/// Makes the checksum of a header's bytes right, whatever they say; for tests.
pub fn seal_header(bytes: &mut [u8]) {
    let sum = checksum(bytes);
    bytes[CHECKSUM_AT..BODY_AT].copy_from_slice(&sum.to_le_bytes());
}

/// Retired units that a header of this layout has room for.
pub(crate) fn retired_most(layout: &Layout) -> usize {
    (layout.header_bytes as usize - RETIRED_AT) / 8
}

impl Header {
    /// Writes it over `bytes`, which are the layout's header bytes.
    ///
    /// # Panics
    /// Where `bytes` is too short for it: the layout sees to it that it is not.
    pub fn encode(&self, bytes: &mut [u8]) {
        bytes.fill(0);
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &UNIT_MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(16, &self.format.to_le_bytes());
        put(32, &self.sequence.to_le_bytes());
        put(40, &self.place.lane.to_le_bytes());
        put(44, &self.place.unit.to_le_bytes());
        put(48, &self.erases.to_le_bytes());
        match &self.content {
            Content::Block { id, length_bytes, checksums } => {
                put(12, &KIND_BLOCK.to_le_bytes());
                put(BODY_AT, &id.to_le_bytes());
                put(BODY_AT + 8, &length_bytes.to_le_bytes());
                for (nth, checksum) in checksums.iter().enumerate() {
                    put(FIXED_BYTES as usize + 4 * nth, &checksum.to_le_bytes());
                }
            }
            Content::Superblock(superblock) => {
                put(12, &KIND_SUPERBLOCK.to_le_bytes());
                put(56, &superblock.lanes.to_le_bytes());
                put(60, &superblock.units.to_le_bytes());
                put(64, &superblock.unit_bytes.to_le_bytes());
                put(72, &superblock.granule_bytes.to_le_bytes());
                put(80, &superblock.id_floor.to_le_bytes());
                put(88, &(superblock.retired.len() as u32).to_le_bytes());
                for (nth, place) in superblock.retired.iter().enumerate() {
                    put(RETIRED_AT + 8 * nth, &place.lane.to_le_bytes());
                    put(RETIRED_AT + 8 * nth + 4, &place.unit.to_le_bytes());
                }
            }
        }
        seal_header(bytes);
    }

    /// Reads the header that `bytes`, the layout's header bytes, begin with.
    ///
    /// # Errors
    /// [`HeaderError`] says why there is none.
    pub fn decode(bytes: &[u8], layout: &Layout) -> Result<Self, HeaderError> {
        if bytes.len() < layout.header_bytes as usize || bytes[..8] != UNIT_MAGIC {
            return Err(HeaderError::Foreign);
        }
        let bytes = &bytes[..layout.header_bytes as usize];
        let (expected, found) = (u32_at(bytes, CHECKSUM_AT), checksum(bytes));
        let version = u32_at(bytes, 8);
        // A later version may compute its checksum otherwise, so this comes first.
        if version > VERSION {
            return Err(HeaderError::Newer { found: version });
        }
        if expected != found {
            return Err(HeaderError::Damaged { found, expected });
        }
        let impossible = |field, found| Err(HeaderError::Impossible { field, found });
        let sequence = u64_at(bytes, 32);
        // Another has to be able to follow.
        if sequence == u64::MAX {
            return impossible("sequence", sequence);
        }
        let content = match u32_at(bytes, 12) {
            KIND_BLOCK => {
                let (id, length_bytes) = (u64_at(bytes, BODY_AT), u64_at(bytes, BODY_AT + 8));
                if id > ID_MAX {
                    return impossible("id", id);
                }
                if length_bytes > layout.block_bytes() {
                    return impossible("length", length_bytes);
                }
                let checksum_of = |nth| u32_at(bytes, FIXED_BYTES as usize + 4 * nth as usize);
                let checksums = (0..layout.granules).map(checksum_of).collect();
                Content::Block { id, length_bytes, checksums }
            }
            KIND_SUPERBLOCK => {
                let count = u32_at(bytes, 88);
                if count as usize > retired_most(layout) {
                    return impossible("count of retired units", count.into());
                }
                let place_of = |nth: u32| {
                    let at = RETIRED_AT + 8 * nth as usize;
                    Place { lane: u32_at(bytes, at), unit: u32_at(bytes, at + 4) }
                };
                Content::Superblock(Superblock {
                    lanes: u32_at(bytes, 56),
                    units: u32_at(bytes, 60),
                    unit_bytes: u64_at(bytes, 64),
                    granule_bytes: u64_at(bytes, 72),
                    id_floor: u64_at(bytes, 80),
                    retired: (0..count).map(place_of).collect(),
                })
            }
            kind => return impossible("kind", kind.into()),
        };
        Ok(Self {
            format: u128::from_le_bytes(bytes[16..32].try_into().expect("sixteen bytes")),
            sequence,
            place: Place { lane: u32_at(bytes, 40), unit: u32_at(bytes, 44) },
            erases: u32_at(bytes, 48),
            content,
        })
    }
}

/// The checksum of a granule of a block's payload. It is of the block and the place in it as well as of the bytes, so
/// that bytes of another block, or from elsewhere in this one, are told from the right ones.
pub(crate) fn granule_checksum(format: u128, sequence: u64, nth: u32, bytes: &[u8]) -> u32 {
    let mut whose = [0; 28];
    whose[..16].copy_from_slice(&format.to_le_bytes());
    whose[16..24].copy_from_slice(&sequence.to_le_bytes());
    whose[24..].copy_from_slice(&nth.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&whose), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout =
        Layout { lanes: 2, units: 8, unit_bytes: 4096, granule_bytes: 512, header_bytes: 512, granules: 6 };

    fn block() -> Header {
        Header {
            format: 0x1234_5678_9abc_def0_1122_3344_5566_7788,
            sequence: 7,
            place: Place { lane: 1, unit: 3 },
            erases: 5,
            content: Content::Block { id: 99, length_bytes: 3000, checksums: (1..=6).collect() },
        }
    }

    fn superblock() -> Header {
        let superblock = Superblock {
            lanes: 2,
            units: 8,
            unit_bytes: 4096,
            granule_bytes: 512,
            id_floor: 100,
            retired: vec![Place { lane: 0, unit: 2 }, Place { lane: 1, unit: 7 }],
        };
        Header { erases: UNCOUNTED, content: Content::Superblock(superblock), ..block() }
    }

    #[test]
    fn what_is_written_is_read() {
        for header in [block(), superblock()] {
            let mut bytes = [0xff; 512];
            header.encode(&mut bytes);
            assert_eq!(Header::decode(&bytes, &LAYOUT), Ok(header));
        }
    }

    #[test]
    fn no_flipped_bit_goes_unseen() {
        for header in [block(), superblock()] {
            let mut bytes = [0; 512];
            header.encode(&mut bytes);
            for bit in 0..512 * 8 {
                let mut flipped = bytes;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(Header::decode(&flipped, &LAYOUT).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn refusals_say_what_was_found() {
        let mut bytes = [0; 512];
        assert_eq!(Header::decode(&bytes, &LAYOUT), Err(HeaderError::Foreign));
        block().encode(&mut bytes);
        bytes[8] = 2;
        assert_eq!(Header::decode(&bytes, &LAYOUT), Err(HeaderError::Newer { found: 2 }));
        let content = Content::Block { id: 1, length_bytes: 3073, checksums: [0; 6].into() };
        Header { content, ..block() }.encode(&mut bytes);
        let error = Header::decode(&bytes, &LAYOUT).unwrap_err();
        assert_eq!(error.to_string(), "its length is 3073, which cannot be");
    }

    #[test]
    fn room_for_retired_units_worked_out_by_hand() {
        // The least header, one of a read unit of 512 bytes, and that of units of 8 MiB read in 8 KiB (sdf14, section 2).
        for (header_bytes, most) in [(256, 20), (512, 52), (8192, 1012)] {
            assert_eq!(retired_most(&Layout { header_bytes, ..LAYOUT }), most);
        }
    }

    #[test]
    fn a_granule_is_known_by_its_block_and_place() {
        let sums = [(1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 1)]
            .map(|(format, sequence, nth)| granule_checksum(format, sequence, nth, &[3; 512]));
        for (at, sum) in sums.iter().enumerate() {
            assert!(!sums[..at].contains(sum));
        }
    }
}
