//! What is written to the device, byte by byte (`docs/layout.md` has the tables). All numbers are little-endian.
//!
//! A block of [`SECTOR_BYTES`] ends in the CRC-32C of all that stands before. Superblocks of any version keep their magic,
//! their version and this checksum where they are, so that a newer one is told from a damaged one.

use super::layout::{Layout, RECORDS, SECTOR_BYTES, Shape};
use flashlane_device::UnitState;

/// What a superblock begins with.
const MAGIC: &[u8; 16] = b"flashlane lanes\0";

/// The version that dividing a device writes: the slots of the table lie at both ends of the device (since version 2), and
/// the head of each unit was cleared (since version 3).
pub const VERSION: u32 = 3;

/// The oldest version that is read, and written as it is: both slots of the table lie at the beginning.
pub const OLDEST_VERSION: u32 = 1;

/// Bytes before the checksum.
const SEALED: usize = SECTOR_BYTES as usize - 4;

/// The longest a record's place is.
pub(super) const RECORD_BYTES: usize = 16;
pub(super) const RECORDS_AT: usize = 32;

/// Writes the checksum at the end of a block.
///
/// # Panics
/// Where the block is not [`SECTOR_BYTES`] long.
pub fn seal(block: &mut [u8]) {
    assert_eq!(block.len() as u64, SECTOR_BYTES, "a block is a sector");
    let sum = crc32c::crc32c(&block[..SEALED]);
    block[SEALED..].copy_from_slice(&sum.to_le_bytes());
}

fn is_sealed(block: &[u8]) -> bool {
    crc32c::crc32c(&block[..SEALED]) == u32_at(block, SEALED)
}

pub(super) fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"))
}

/// Why a block is not a superblock that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It does not begin like one.
    #[error("is none of ours")]
    Foreign,
    /// Its checksum is wrong.
    #[error("is damaged")]
    Damaged,
    /// Its checksum is right, and yet it makes no sense.
    #[error("makes no sense")]
    Nonsense,
    /// The device cannot read it.
    #[error("cannot be read")]
    Unreadable,
    /// It is of a later version.
    #[error("is of version {0}")]
    Newer(u32),
}

/// What a device was divided into, and how large it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The version of the layout, [`OLDEST_VERSION`] to [`VERSION`].
    pub version: u32,
    /// Stands in every sector of the table too, so that none of another device or time is taken for one of this.
    pub id: [u8; 16],
    /// What it was divided into.
    pub shape: Shape,
    /// Bytes of the device, whole sectors.
    pub device_bytes: u64,
}

impl Superblock {
    /// As it is written.
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
        seal(&mut block);
        block
    }

    /// Reads a block of [`SECTOR_BYTES`].
    ///
    /// # Errors
    /// What it is instead.
    ///
    /// # Panics
    /// Where the block is shorter.
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
        // What was written had a layout.
        let found = Self { version, id, shape, device_bytes };
        let sound = device_bytes.is_multiple_of(SECTOR_BYTES) && Layout::of(&found).is_ok();
        if sound { Ok(found) } else { Err(Flaw::Nonsense) }
    }
}

/// What the table says of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What may be done with it.
    pub state: UnitState,
    /// How often it was erased; `None` where that is lost, until it is erased again.
    pub erases: Option<u32>,
}

/// As it is written where nobody knows how often a unit was erased.
const UNCOUNTED: u32 = u32::MAX;

impl Record {
    pub(super) const NEW: Self = Self { state: UnitState::ERASED, erases: Some(0) };

    /// Of a unit whose record is lost. It may hold the only copy of something: it is taken for written, so that nobody
    /// has to erase it unread.
    pub(super) fn lost(shape: &Shape) -> Self {
        Self { state: UnitState::Written { bytes: shape.unit_bytes }, erases: None }
    }

    pub(super) fn encode(&self, place: &mut [u8]) {
        let (kind, written_bytes) = match self.state {
            UnitState::Written { bytes } => (0, bytes),
            UnitState::Torn => (1, 0),
            UnitState::Bad => (2, 0),
        };
        place[0] = kind;
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
        Some(Self { state, erases })
    }
}

/// A sector of the table as it is written: some units' records, and how new they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableSector<'a> {
    pub sector: u64,
    /// Grows with every write of the sector, to either slot.
    pub sequence: u64,
    pub records: &'a [Record],
}

impl TableSector<'_> {
    /// Fills a block, whatever it held.
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

/// The sequence number and records of a block, where it is this device's sector of that number and undamaged.
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
    // A write has to come after each, so the last number is nobody's.
    Some((u64_at(block, 16), records?)).filter(|(sequence, _)| *sequence < u64::MAX / 2)
}

/// The id and the number of a block that looks like a sector of a table, whatever device's, and how many bytes are written
/// of each of its units.
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
        Superblock { version: VERSION, id: *b"sixteen bytes id", shape, device_bytes: 1 << 20 }
    }

    #[test]
    fn a_superblock_comes_back_and_every_flipped_bit_is_noticed() {
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
    fn a_sound_checksum_alone_makes_no_superblock() {
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
    fn a_table_sector_comes_back_only_where_it_belongs() {
        let superblock = superblock();
        let states = [UnitState::ERASED, UnitState::Written { bytes: 4096 }, UnitState::Torn, UnitState::Bad];
        let records = states.map(|state| Record { state, erases: Some(70_000) });
        let mut block = vec![0; SECTOR_BYTES as usize];
        TableSector { sector: 3, sequence: 9, records: &records }.encode(&superblock.id, &mut block);
        assert_eq!(decode_table(&block, &superblock, 3, 4), Some((9, records.to_vec())));
        assert_eq!(decode_table(&block, &superblock, 2, 4), None);
        assert_eq!(decode_table(&block, &superblock, 3, 5), None);
        let other = Superblock { id: [0; 16], ..superblock };
        assert_eq!(decode_table(&block, &other, 3, 4), None);
        // More written than a unit has, part of a write unit, a state that is none.
        for (at, byte) in [(RECORDS_AT + 8 + 2, 1), (RECORDS_AT + 8, 1), (RECORDS_AT, 3)] {
            let mut block = block.clone();
            block[at] = byte;
            seal(&mut block);
            assert_eq!(decode_table(&block, &superblock, 3, 4), None, "byte {at}");
        }
    }
}
