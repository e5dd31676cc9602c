//! The header and footer of a written unit, as bytes: of a block, or of a superblock.
//!
//! Numbers are little-endian. Decoding checks every field: a header is accepted as a whole or not at all.

use crate::layout::{FIXED_BYTES, Geometry, Layout, UnitAddress};
use flashlane_device::{BlocksShape, UnitHead, UnitKind};

/// The layout version that is written, and the newest that is read.
pub const VERSION: u32 = 1;
/// The highest id of a block. The id floor in a superblock can still be one above it.
pub const ID_MAX: u64 = u64::MAX - 1;
/// The highest sequence number of a header: each opening takes 2³², so that no device that was written comes near.
pub(crate) const SEQUENCE_MAX: u64 = (1 << 63) - 1;

const CHECKSUM_AT: usize = 52;
const BODY_AT: usize = 56;
/// Offset of a superblock's list of retired units.
const RETIRED_AT: usize = 96;

/// A header or footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The formatting of the device it belongs to.
    pub format_id: u128,
    /// Sequence number: of two headers the one with the higher number is newer.
    pub sequence: u64,
    /// The unit it was written to.
    pub address: UnitAddress,
    /// Erase count of the unit when it was written; `None` where the device does not count.
    pub erases: Option<u32>,
    /// Content of the unit.
    pub content: Content,
}

/// Content of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A block.
    Block {
        /// Its id.
        id: u64,
        /// Bytes of user data.
        length_bytes: u64,
        /// Checksum of each granule of the payload.
        checksums: Box<[u32]>,
    },
    /// A copy of the superblock.
    Superblock(Superblock),
}

/// Metadata of the whole device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Lanes when it was formatted.
    pub lanes: u32,
    /// Units on a lane.
    pub units: u32,
    /// Bytes of a unit.
    pub unit_bytes: u64,
    /// Bytes of a granule.
    pub granule_bytes: u64,
    /// Fresh ids are at or above this one.
    pub id_floor: u64,
    /// Whether a log on another device belongs to the blocks, so that the device may be in use without a block on it.
    pub has_log: bool,
    /// Units taken out of use although the device does not report them as bad.
    pub retired: Vec<UnitAddress>,
}

impl Superblock {
    /// Returns the shape of the device when it was formatted.
    pub(crate) fn geometry(&self) -> Geometry {
        let &Self { lanes, units, unit_bytes, granule_bytes, .. } = self;
        Geometry { lanes, units, unit_bytes, granule_bytes }
    }
}

/// Why bytes cannot be decoded as a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The bytes do not begin with the magic of a header.
    #[error("no header begins there")]
    Foreign,
    /// A later version of this program wrote it.
    #[error("it has version {found}, and {VERSION} is the newest supported")]
    Newer {
        /// The version found.
        found: u32,
    },
    /// The checksum is wrong.
    #[error("its checksum is {found:#010x} and should be {expected:#010x}")]
    Damaged {
        /// The checksum of the bytes.
        found: u32,
        /// The checksum in the header.
        expected: u32,
    },
    /// The checksum is right and a field is out of range.
    #[error("its {field} is {found}, which is out of range")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        found: u64,
    },
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Returns the checksum of a header's bytes, with the checksum field taken as zero.
fn checksum(bytes: &[u8]) -> u32 {
    let sum = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    let sum = crc32c::crc32c_append(sum, &[0; 4]);
    crc32c::crc32c_append(sum, &bytes[BODY_AT..])
}

/// Writes the matching checksum into a header's bytes, whatever they contain.
pub fn seal_header(bytes: &mut [u8]) {
    let sum = checksum(bytes);
    bytes[CHECKSUM_AT..BODY_AT].copy_from_slice(&sum.to_le_bytes());
}

/// Returns the number of retired units that fit into a superblock of this layout.
pub(crate) fn retired_max(layout: &Layout) -> usize {
    (layout.header_bytes as usize - RETIRED_AT) / 8
}

impl Header {
    /// Encodes the header into `bytes`, which MUST be as long as the layout's header.
    ///
    /// # Panics
    /// If `bytes` is too short.
    pub fn encode(&self, bytes: &mut [u8]) {
        bytes.fill(0);
        let kind = match &self.content {
            Content::Block { .. } => UnitKind::Block,
            Content::Superblock(superblock) => UnitKind::Superblock(BlocksShape {
                lanes: superblock.lanes,
                units_per_lane: superblock.units,
                unit_bytes: superblock.unit_bytes,
                read_unit_bytes: superblock.granule_bytes,
            }),
        };
        let (format_id, UnitAddress { lane, unit }) = (self.format_id.to_le_bytes(), self.address);
        UnitHead { version: VERSION, kind, format: format_id, lane, unit, erases: self.erases }.encode(bytes);
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(32, &self.sequence.to_le_bytes());
        match &self.content {
            Content::Block { id, length_bytes, checksums } => {
                put(BODY_AT, &id.to_le_bytes());
                put(BODY_AT + 8, &length_bytes.to_le_bytes());
                for (nth, checksum) in checksums.iter().enumerate() {
                    put(FIXED_BYTES as usize + 4 * nth, &checksum.to_le_bytes());
                }
            }
            Content::Superblock(superblock) => {
                put(80, &superblock.id_floor.to_le_bytes());
                put(88, &(superblock.retired.len() as u32).to_le_bytes());
                put(92, &u32::from(superblock.has_log).to_le_bytes());
                for (nth, address) in superblock.retired.iter().enumerate() {
                    put(RETIRED_AT + 8 * nth, &address.lane.to_le_bytes());
                    put(RETIRED_AT + 8 * nth + 4, &address.unit.to_le_bytes());
                }
            }
        }
        seal_header(bytes);
    }

    /// Decodes the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`HeaderError`] where there is no valid header.
    pub fn decode(bytes: &[u8], layout: &Layout) -> Result<Self, HeaderError> {
        let Some(bytes) = bytes.get(..layout.header_bytes as usize) else { return Err(HeaderError::Foreign) };
        let Some(head) = UnitHead::decode(bytes) else { return Err(HeaderError::Foreign) };
        // A later version may compute its checksum differently, so the version is checked first.
        if head.version > VERSION {
            return Err(HeaderError::Newer { found: head.version });
        }
        let (expected, found) = (u32_at(bytes, CHECKSUM_AT), checksum(bytes));
        if expected != found {
            return Err(HeaderError::Damaged { found, expected });
        }
        let sequence = u64_at(bytes, 32);
        // The next ones must fit.
        if sequence > SEQUENCE_MAX {
            return out_of_range("sequence", sequence);
        }
        let content = match head.kind {
            UnitKind::Block => decode_block(bytes, layout)?,
            UnitKind::Superblock(shape) => Content::Superblock(decode_superblock(bytes, &shape, layout)?),
            UnitKind::Other(kind) => return out_of_range("kind", kind.into()),
        };
        Ok(Self {
            format_id: u128::from_le_bytes(head.format),
            sequence,
            address: UnitAddress { lane: head.lane, unit: head.unit },
            erases: head.erases,
            content,
        })
    }
}

fn out_of_range<T>(field: &'static str, found: u64) -> Result<T, HeaderError> {
    Err(HeaderError::OutOfRange { field, found })
}

fn decode_block(bytes: &[u8], layout: &Layout) -> Result<Content, HeaderError> {
    let (id, length_bytes) = (u64_at(bytes, BODY_AT), u64_at(bytes, BODY_AT + 8));
    if id > ID_MAX {
        return out_of_range("id", id);
    }
    if length_bytes > layout.block_bytes() {
        return out_of_range("length", length_bytes);
    }
    let checksum_of = |nth| u32_at(bytes, FIXED_BYTES as usize + 4 * nth as usize);
    let checksums = (0..layout.granules).map(checksum_of).collect();
    Ok(Content::Block { id, length_bytes, checksums })
}

fn decode_superblock(bytes: &[u8], shape: &BlocksShape, layout: &Layout) -> Result<Superblock, HeaderError> {
    let count = u32_at(bytes, 88);
    if count as usize > retired_max(layout) {
        return out_of_range("count of retired units", count.into());
    }
    let has_log = u32_at(bytes, 92);
    if has_log > 1 {
        return out_of_range("mark of a log", has_log.into());
    }
    let address_of = |nth: u32| {
        let at = RETIRED_AT + 8 * nth as usize;
        UnitAddress { lane: u32_at(bytes, at), unit: u32_at(bytes, at + 4) }
    };
    Ok(Superblock {
        lanes: shape.lanes,
        units: shape.units_per_lane,
        unit_bytes: shape.unit_bytes,
        granule_bytes: shape.read_unit_bytes,
        id_floor: u64_at(bytes, 80),
        has_log: has_log == 1,
        retired: (0..count).map(address_of).collect(),
    })
}

/// Returns the checksum of granule `nth` of a block's payload. It covers the block and the granule's number as well as
/// the bytes, so that bytes of another block, or of another granule of this one, do not match.
pub(crate) fn granule_checksum(format_id: u128, sequence: u64, nth: u32, bytes: &[u8]) -> u32 {
    let mut whose = [0; 28];
    whose[..16].copy_from_slice(&format_id.to_le_bytes());
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
            format_id: 0x1234_5678_9abc_def0_1122_3344_5566_7788,
            sequence: 7,
            address: UnitAddress { lane: 1, unit: 3 },
            erases: Some(5),
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
            has_log: true,
            retired: vec![UnitAddress { lane: 0, unit: 2 }, UnitAddress { lane: 1, unit: 7 }],
        };
        Header { erases: None, content: Content::Superblock(superblock), ..block() }
    }

    #[test]
    fn encoded_header_decodes_to_the_same() {
        for header in [block(), superblock()] {
            let mut bytes = [0xff; 512];
            header.encode(&mut bytes);
            assert_eq!(Header::decode(&bytes, &LAYOUT), Ok(header));
        }
    }

    #[test]
    fn flipped_bit_is_detected() {
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
    fn decode_error_names_what_was_found() {
        let mut bytes = [0; 512];
        assert_eq!(Header::decode(&bytes, &LAYOUT), Err(HeaderError::Foreign));
        block().encode(&mut bytes);
        bytes[8] = 2;
        assert_eq!(Header::decode(&bytes, &LAYOUT), Err(HeaderError::Newer { found: 2 }));
        let content = Content::Block { id: 1, length_bytes: 3073, checksums: [0; 6].into() };
        Header { content, ..block() }.encode(&mut bytes);
        let error = Header::decode(&bytes, &LAYOUT).unwrap_err();
        assert_eq!(error.to_string(), "its length is 3073, which is out of range");
    }

    #[test]
    fn retired_units_fit_as_computed_by_hand() {
        // The smallest header, one read unit of 512 bytes, and units of 8 MiB read in 8 KiB (sdf14, section 2).
        for (header_bytes, max) in [(256, 20), (512, 52), (8192, 1012)] {
            assert_eq!(retired_max(&Layout { header_bytes, ..LAYOUT }), max);
        }
    }

    #[test]
    fn granule_checksum_covers_block_and_granule_number() {
        let sums = [(1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 1)]
            .map(|(format_id, sequence, nth)| granule_checksum(format_id, sequence, nth, &[3; 512]));
        for (at, sum) in sums.iter().enumerate() {
            assert!(!sums[..at].contains(sum));
        }
    }
}
