//! The superblocks and table sectors on the device (`docs/layout.md` has their fields). All numbers are little-endian.
//!
//! A block of [`SECTOR_BYTES`] ends in the CRC-32C of the bytes before. The magic, version and checksum of a superblock
//! have the same location in all versions, so that a newer superblock differs from a damaged one.

use super::constants::{OLDEST_VERSION, RECORDS, SECTOR_BYTES, VERSION};
use super::content_sum::ContentSum;
use super::error::LanesError;
use super::flaw::Flaw;
use super::layout::{Layout, Shape};
use flashlane_device::{DeviceInfo, UnitState};
use std::ops::Range;

/// First bytes of a superblock.
const MAGIC: &[u8; 16] = b"flashlane lanes\0";

/// Length of a block before its checksum.
const SEALED: usize = SECTOR_BYTES as usize - 4;

/// Length of a record.
pub(super) const RECORD_BYTES: usize = 16;
pub(super) const RECORDS_AT: usize = 32;

/// Writes the checksum at the end of a block.
///
/// # Panics
/// The block is not [`SECTOR_BYTES`] long.
pub fn seal(block: &mut [u8]) {
    assert_eq!(block.len() as u64, SECTOR_BYTES, "a block is a sector");
    let sum = crc32c::crc32c(&block[..SEALED]);
    block[SEALED..].copy_from_slice(&sum.to_le_bytes());
}

fn is_sealed(block: &[u8]) -> bool {
    crc32c::crc32c(&block[..SEALED]) == u32_at(block, SEALED)
}

/// Returns whether another value of exactly one byte in `range` makes the checksum of a block right.
///
/// A change of one bit changes the checksum by a value that depends only on the bit's location, and changes of several
/// bits by the XOR of theirs.
pub(super) fn is_sealed_but_for_a_byte(block: &[u8], range: Range<usize>) -> bool {
    let sum = |bytes: &[u8]| crc32c::crc32c(&bytes[..SEALED]);
    let difference = sum(block) ^ u32_at(block, SEALED);
    let mut changed = vec![0; SECTOR_BYTES as usize];
    let unchanged = sum(&changed);
    range.filter(|&at| at < SEALED).any(|at| {
        let of_bits: [u32; 8] = std::array::from_fn(|bit| {
            changed[at] = 1 << bit;
            sum(&changed) ^ unchanged
        });
        changed[at] = 0;
        (1_u32..256).any(|byte| {
            let of_byte = of_bits.iter().zip(0..).filter(|&(_, bit)| byte >> bit & 1 == 1);
            of_byte.fold(0, |sum, (of_bit, _)| sum ^ of_bit) == difference
        })
    })
}

pub(super) fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"))
}

/// The shape of a device's lanes, and the length of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The version of the layout, [`OLDEST_VERSION`] to [`VERSION`].
    pub version: u32,
    /// Id of the lanes. It is also in every sector of the table, to exclude sectors of other devices and earlier
    /// formats.
    pub id: [u8; 16],
    /// The shape of the lanes.
    pub shape: Shape,
    /// Length of the device, in whole sectors.
    pub device_bytes: u64,
    /// How layers below move addresses (`address_map_of`); 0 where an earlier version did not record it.
    pub address_map: u64,
}

/// Returns what is recorded of how the layers of a device move addresses. It is never 0.
pub(super) fn address_map_of(below: &DeviceInfo) -> u64 {
    below.address_map | 1
}

impl Superblock {
    /// Returns the layout of the device.
    pub(super) fn layout(&self) -> Result<Layout, LanesError> {
        Layout::of_version(self.version, self.shape, self.device_bytes)
    }

    /// Encodes the block.
    pub fn encode(&self) -> Vec<u8> {
        let mut block = vec![0; SECTOR_BYTES as usize];
        block[..16].copy_from_slice(MAGIC);
        block[16..20].copy_from_slice(&self.version.to_le_bytes());
        block[20..24].copy_from_slice(&self.shape.lanes.to_le_bytes());
        block[24..32].copy_from_slice(&self.shape.unit_bytes.to_le_bytes());
        block[32..40].copy_from_slice(&self.shape.read_unit_bytes.to_le_bytes());
        block[40..48].copy_from_slice(&self.shape.write_unit_bytes.to_le_bytes());
        block[48..56].copy_from_slice(&self.device_bytes.to_le_bytes());
        block[56..72].copy_from_slice(&self.id);
        block[72..80].copy_from_slice(&self.address_map.to_le_bytes());
        seal(&mut block);
        block
    }

    /// Decodes a block of [`SECTOR_BYTES`].
    ///
    /// # Errors
    /// The flaw of the block.
    ///
    /// # Panics
    /// The block is shorter.
    pub fn decode(block: &[u8]) -> Result<Self, Flaw> {
        if &block[..16] != MAGIC {
            return Err(Flaw::Foreign);
        }
        if !is_sealed(block) {
            return Err(Flaw::Damaged);
        }
        let version = match u32_at(block, 16) {
            known @ OLDEST_VERSION..=VERSION => known,
            0 => return Err(Flaw::Nonsense),
            newer => return Err(Flaw::Newer(newer)),
        };
        let shape = Shape {
            lanes: u32_at(block, 20),
            unit_bytes: u64_at(block, 24),
            read_unit_bytes: u64_at(block, 32),
            write_unit_bytes: u64_at(block, 40),
        };
        let device_bytes = u64_at(block, 48);
        let id = block[56..72].try_into().expect("sixteen bytes");
        // A written superblock had a valid layout.
        let found = Self { version, id, shape, device_bytes, address_map: u64_at(block, 72) };
        let sound = device_bytes.is_multiple_of(SECTOR_BYTES) && found.layout().is_ok();
        if sound { Ok(found) } else { Err(Flaw::Nonsense) }
    }
}

/// The table's record of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// State of the unit.
    pub state: UnitState,
    /// Number of erases; `None` where it was lost, until the next erase.
    pub erases: Option<u32>,
    /// Checksum of the bytes of a unit that is erased or wholly written (`content`); `None` where it is unknown. An
    /// erase changes no byte, and keeps it. Of a torn unit: that of its bytes before foreign data came into it, while
    /// it was erased; a write that is torn leaves none.
    pub content: Option<ContentSum>,
}

/// Encoding of an unknown number of erases.
const UNCOUNTED: u32 = u32::MAX;

impl Record {
    pub(super) const NEW: Self = Self { state: UnitState::ERASED, erases: Some(0), content: None };

    /// Returns the record of a unit whose record is lost. It counts as written, because the unit may hold the only copy
    /// of data, which must not be erased unread.
    pub(super) fn lost(shape: &Shape) -> Self {
        Self { state: UnitState::Written { bytes: shape.unit_bytes }, erases: None, content: None }
    }

    /// Returns whether a first write found foreign data in the unit, which no erase has given up since. A reader of
    /// records that does not know this erases the unit, and keeps the checksum.
    pub(super) fn has_foreign_data(&self) -> bool {
        self.state == UnitState::Torn && self.content.is_some()
    }

    /// Returns the record of a unit with known content after a first write has found foreign data in it.
    pub(super) fn with_foreign_data(self) -> Self {
        let found = Self { state: UnitState::Torn, ..self };
        assert!(found.has_foreign_data(), "foreign data differs from known content");
        found
    }

    pub(super) fn encode(&self, place: &mut [u8]) {
        let (kind, written_bytes) = match self.state {
            UnitState::Written { bytes } => (0, bytes),
            UnitState::Torn => (1, 0),
            UnitState::Bad => (2, 0),
        };
        place[0] = kind;
        place[1..4].copy_from_slice(&ContentSum::encode(self.content));
        place[4..8].copy_from_slice(&self.erases.unwrap_or(UNCOUNTED).to_le_bytes());
        place[8..16].copy_from_slice(&written_bytes.to_le_bytes());
    }

    pub(super) fn decode(place: &[u8], shape: &Shape) -> Option<Self> {
        let bytes = u64_at(place, 8);
        let state = match place[0] {
            0 if bytes <= shape.unit_bytes && bytes.is_multiple_of(shape.write_unit_bytes) => {
                UnitState::Written { bytes }
            }
            1 => UnitState::Torn,
            2 => UnitState::Bad,
            _ => return None,
        };
        let erases = Some(u32_at(place, 4)).filter(|&erases| erases != UNCOUNTED);
        let content = ContentSum::decode([place[1], place[2], place[3]]);
        Some(Self { state, erases, content })
    }
}

/// The content of a table sector: the records of some units, and a sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableSector<'a> {
    pub sector: u64,
    /// Increases with every write of the sector, to either slot.
    pub sequence: u64,
    pub records: &'a [Record],
}

impl TableSector<'_> {
    /// Encodes into a block, overwriting all of it.
    pub fn encode(&self, id: &[u8; 16], block: &mut [u8]) {
        block.fill(0);
        block[..16].copy_from_slice(id);
        block[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        block[24..28].copy_from_slice(&(self.sector as u32).to_le_bytes());
        block[28..32].copy_from_slice(&(self.records.len() as u32).to_le_bytes());
        for (record, place) in self.records.iter().zip(block[RECORDS_AT..].chunks_exact_mut(RECORD_BYTES)) {
            record.encode(place);
        }
        seal(block);
    }
}

/// Returns the sequence number and records of a block, if it is this device's sector of that number and undamaged.
pub(super) fn decode_table(
    block: &[u8],
    superblock: &Superblock,
    sector: u64,
    count: u64,
) -> Option<(u64, Vec<Record>)> {
    let ours = block[..16] == superblock.id
        && is_sealed(block)
        && u64::from(u32_at(block, 24)) == sector
        && u64::from(u32_at(block, 28)) == count;
    if !ours {
        return None;
    }
    let places = block[RECORDS_AT..].chunks_exact(RECORD_BYTES).take(count as usize);
    let records: Option<Vec<_>> = places.map(|place| Record::decode(place, &superblock.shape)).collect();
    // A write must follow each, so the largest sequence number is unused.
    Some((u64_at(block, 16), records?)).filter(|(sequence, _)| *sequence < u64::MAX / 2)
}

/// Returns the id, the number and the bytes written of each unit, if a block looks like a table sector of any device.
pub(super) fn table_sector(block: &[u8]) -> Option<([u8; 16], u64, Vec<u64>)> {
    let count = u64::from(u32_at(block, 28));
    if !(1..=RECORDS).contains(&count) || !is_sealed(block) {
        return None;
    }
    let places = block[RECORDS_AT..].chunks_exact(RECORD_BYTES).take(count as usize);
    let id = block[..16].try_into().expect("sixteen bytes");
    Some((id, u32_at(block, 24).into(), places.map(|place| u64_at(place, 8)).collect()))
}

const _: () = assert!(RECORDS_AT + RECORDS as usize * RECORD_BYTES <= SEALED);

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        let shape = Shape { lanes: 2, unit_bytes: 8192, read_unit_bytes: 512, write_unit_bytes: 4096 };
        Superblock {
            version: VERSION,
            id: *b"sixteen bytes id",
            shape,
            device_bytes: 1 << 20,
            address_map: 1,
        }
    }

    #[test]
    fn superblock_round_trips_and_bit_flips_are_detected() {
        let block = superblock().encode();
        assert_eq!(Superblock::decode(&block), Ok(superblock()));
        for bit in 0..block.len() * 8 {
            let mut other = block.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            let expected = if bit < 128 { Flaw::Foreign } else { Flaw::Damaged };
            assert_eq!(Superblock::decode(&other), Err(expected), "bit {bit}");
        }
    }

    #[test]
    fn checksum_locates_exactly_one_wrong_byte() {
        let block = superblock().encode();
        assert!(!is_sealed_but_for_a_byte(&block, 0..16), "no byte is wrong");
        for (at, byte) in [(0, b'F'), (15, 1), (56, 0xff), (4091, b'D')] {
            let field = at / 16 * 16..at / 16 * 16 + 16;
            let mut damaged = block.clone();
            damaged[at] = byte;
            assert!(is_sealed_but_for_a_byte(&damaged, field.clone()), "byte {at}");
            assert!(!is_sealed_but_for_a_byte(&damaged, 512..528), "byte {at}");
            damaged[4092] ^= 1;
            assert!(!is_sealed_but_for_a_byte(&damaged, field), "byte {at} and the checksum");
        }
    }

    #[test]
    fn impossible_fields_are_refused_despite_a_checksum() {
        let altered = |at: usize, byte| {
            let mut block = superblock().encode();
            block[at] = byte;
            seal(&mut block);
            Superblock::decode(&block)
        };
        assert_eq!(altered(16, 4), Err(Flaw::Newer(4)));
        let old = Superblock { version: OLDEST_VERSION, ..superblock() };
        assert_eq!(altered(16, 1), Ok(old));
        assert_eq!(Superblock::decode(&old.encode()), Ok(old));
        assert_eq!(altered(16, 0), Err(Flaw::Nonsense));
        assert_eq!(altered(20, 0), Err(Flaw::Nonsense));
        assert_eq!(altered(24, 1), Err(Flaw::Nonsense));
        assert_eq!(altered(48, 1), Err(Flaw::Nonsense));
        assert_eq!(altered(55, 1), Err(Flaw::Nonsense));
    }

    #[test]
    fn table_sector_decodes_only_in_its_location() {
        let superblock = superblock();
        let states = [UnitState::ERASED, UnitState::Written { bytes: 4096 }, UnitState::Torn, UnitState::Bad];
        let records = states.map(|state| Record {
            state,
            erases: Some(70_000),
            content: ContentSum::decode([1, 2, 3]),
        });
        let mut block = vec![0; SECTOR_BYTES as usize];
        TableSector { sector: 3, sequence: 9, records: &records }.encode(&superblock.id, &mut block);
        assert_eq!(decode_table(&block, &superblock, 3, 4), Some((9, records.to_vec())));
        assert_eq!(decode_table(&block, &superblock, 2, 4), None);
        assert_eq!(decode_table(&block, &superblock, 3, 5), None);
        let other = Superblock { id: [0; 16], ..superblock };
        assert_eq!(decode_table(&block, &other, 3, 4), None);
        // More written than a unit has, part of a write unit, an unknown state.
        for (at, byte) in [(RECORDS_AT + 8 + 2, 1), (RECORDS_AT + 8, 1), (RECORDS_AT, 3)] {
            let mut block = block.clone();
            block[at] = byte;
            seal(&mut block);
            assert_eq!(decode_table(&block, &superblock, 3, 4), None, "byte {at}");
        }
    }
}
