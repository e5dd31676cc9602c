//! Which damaged records of the lanes are still ours, and which places somebody else has written to since.
//!
//! A record may be written anew only where nothing is lost with what stands there. A place counts as our own, damaged,
//! where each of its sectors of 512 bytes
//!
//! - is as this device's record has it there, or as a write of the record that was torn would leave it, or
//! - is empty: zeros (never written, or discarded), or ones (erased),
//!
//! with at most one byte of the whole record wrong beside that, zeros left aside; or where the device cannot read it. Anything else is
//! foreign data. A record has few free bytes: in a superblock none, in a slot of the table the sequence number, the state
//! and erases of each unit within what one write can have changed, and the checksum. So no text, archive or file system is
//! taken for one, wherever it begins or ends.

use super::disk::{RECORD_BYTES, RECORDS_AT, Record, Superblock, u32_at, u64_at};
use super::layout::SECTOR_BYTES;
use flashlane_device::UNIT_MAGIC;

/// What devices write as a whole, at the least.
const WRITTEN_WHOLE: usize = 512;

/// Bytes of a record that may be wrong.
const WRONG_BYTES_MAX: usize = 1;

/// Erases of a unit that two writes of a sector of the table can lie apart.
const ERASES_APART: u32 = 2;

/// Writes of a sector, failed ones among them, that its two slots can lie apart.
const SEQUENCES_APART: u64 = 1 << 16;

pub(super) fn is_empty(piece: &[u8]) -> bool {
    piece.iter().all(|&byte| byte == 0) || piece.iter().all(|&byte| byte == 0xff)
}

/// Nothing is lost with zeros.
fn wrong_bytes(found: &[u8], expected: &[u8]) -> usize {
    found.iter().zip(expected).filter(|&(&found, &expected)| found != expected && found != 0).count()
}

/// Whether what stands where `superblock` should is our own: nothing, where the device cannot read it.
pub(super) fn is_our_superblock(found: Option<&[u8]>, superblock: &Superblock) -> bool {
    let Some(found) = found else { return true };
    let expected = superblock.encode();
    let pieces = found.chunks(WRITTEN_WHOLE).zip(expected.chunks(WRITTEN_WHOLE));
    let wrong = pieces.filter(|(found, _)| !is_empty(found)).map(|(found, right)| wrong_bytes(found, right));
    wrong.sum::<usize>() <= WRONG_BYTES_MAX
}

/// Whether a unit that is erased or torn begins with what the lanes or their user left there: nothing, or what was written
/// to this unit.
pub(super) fn is_our_head(found: &[u8], lane: u32, unit: u64) -> bool {
    let is_written =
        found.starts_with(&UNIT_MAGIC) && u32_at(found, 40) == lane && u64::from(u32_at(found, 44)) == unit;
    is_written || is_empty(found)
}

/// A sector of the table, one slot of which is not sound.
pub(super) struct Slot<'a> {
    pub superblock: &'a Superblock,
    pub sector: u64,
    /// Records that it has.
    pub count: u64,
    /// The other slot, where that is sound.
    pub sibling: Option<&'a [u8]>,
}

impl Slot<'_> {
    /// Whether what stands in the slot is our own: nothing, where the device cannot read it.
    pub fn is_ours(&self, found: Option<&[u8]>) -> bool {
        let Some(found) = found else { return true };
        assert_eq!(found.len() as u64, SECTOR_BYTES, "a slot is a sector");
        let mut wrong = 0;
        for (nth, piece) in found.chunks(WRITTEN_WHOLE).enumerate() {
            if !is_empty(piece) {
                let first = nth * WRITTEN_WHOLE / RECORD_BYTES;
                let fields = piece.chunks(RECORD_BYTES).zip(first..);
                wrong += fields.map(|(field, at)| self.wrong_in(field, at)).sum::<usize>();
            }
        }
        // With no sound slot beside it there is nothing to say what the byte should be.
        wrong <= if self.sibling.is_some() { WRONG_BYTES_MAX } else { 0 }
    }

    /// Bytes of the field with this number that no write of ours left there.
    fn wrong_in(&self, field: &[u8], at: usize) -> usize {
        let records = RECORDS_AT / RECORD_BYTES;
        match at {
            0 => wrong_bytes(field, &self.superblock.id),
            1 => self.wrong_beside(field, at, |field, sibling| self.is_numbered(field, sibling)),
            _ if ((at - records) as u64) < self.count => {
                self.wrong_beside(field, at, |field, sibling| self.is_record(field, sibling))
            }
            // The last four bytes are the checksum.
            _ if (at + 1) * RECORD_BYTES == SECTOR_BYTES as usize => {
                wrong_bytes(&field[..RECORD_BYTES - 4], &[0; 12])
            }
            // Earlier programs left records of another sector there.
            _ if self.record(field).is_some() => 0,
            _ => wrong_bytes(field, &[0; RECORD_BYTES]),
        }
    }

    /// The same of a field that is `plausible` or not beside that of the sound slot: with one of its bytes from there, or
    /// with all of them.
    fn wrong_beside(
        &self,
        field: &[u8],
        at: usize,
        plausible: impl Fn(&[u8], Option<&[u8]>) -> bool,
    ) -> usize {
        let sibling = self.sibling.map(|slot| &slot[at * RECORD_BYTES..][..RECORD_BYTES]);
        if plausible(field, sibling) {
            return 0;
        }
        let Some(sibling) = sibling else { return RECORD_BYTES };
        let is_one = (0..RECORD_BYTES).any(|byte| {
            let mut field = field.to_vec();
            field[byte] = sibling[byte];
            plausible(&field, Some(sibling))
        });
        if is_one { 1 } else { wrong_bytes(field, sibling) }
    }

    /// Whether a field has the sector's sequence number, its number and how many records it has.
    fn is_numbered(&self, field: &[u8], sibling: Option<&[u8]>) -> bool {
        let sequence = u64_at(field, 0);
        u64::from(u32_at(field, 8)) == self.sector
            && u64::from(u32_at(field, 12)) == self.count
            && sequence < u64::MAX / 2
            && sibling.is_none_or(|sibling| u64_at(sibling, 0).abs_diff(sequence) <= SEQUENCES_APART)
    }

    /// Whether a field is a unit's record, as one write more or less has it.
    fn is_record(&self, field: &[u8], sibling: Option<&[u8]>) -> bool {
        let erases = |record: Record| record.erases;
        let other = sibling.and_then(|sibling| self.record(sibling)).and_then(erases);
        self.record(field).is_some_and(|record| {
            erases(record).zip(other).is_none_or(|(one, other)| one.abs_diff(other) <= ERASES_APART)
        })
    }

    /// The record, where all of it is as it is written.
    fn record(&self, field: &[u8]) -> Option<Record> {
        let record = Record::decode(field, &self.superblock.shape)?;
        let mut written = [0; RECORD_BYTES];
        record.encode(&mut written);
        (written == field).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::{TableSector, VERSION};
    use super::super::layout::Shape;
    use super::*;
    use flashlane_device::UnitState;
    use proptest::prelude::*;

    const COUNT: u64 = 40;

    fn superblock() -> Superblock {
        let shape = Shape { lanes: 2, unit_bytes: 1 << 20, read_unit_bytes: 512, write_unit_bytes: 4096 };
        Superblock { version: VERSION, id: *b"sixteen bytes id", shape, device_bytes: 48 << 20 }
    }

    fn records() -> Vec<Record> {
        let states = [UnitState::ERASED, UnitState::Written { bytes: 4096 }, UnitState::Torn, UnitState::Bad];
        (0..COUNT as usize)
            .map(|at| Record { state: states[at % 4], erases: Some(at as u32 * 700) })
            .collect()
    }

    fn block(sequence: u64, records: &[Record]) -> Vec<u8> {
        let mut block = vec![0; SECTOR_BYTES as usize];
        TableSector { sector: 3, sequence, records }.encode(&superblock().id, &mut block);
        block
    }

    fn slot<'a>(superblock: &'a Superblock, sibling: Option<&'a [u8]>) -> Slot<'a> {
        Slot { superblock, sector: 3, count: COUNT, sibling }
    }

    proptest! {
        /// Any mixture of the sectors of two writes, or of a write and nothing.
        #[test]
        fn torn_writes_are_ours(mask: u8, unit in 0..COUNT as usize, empty in prop::option::of(any::<bool>())) {
            let before = records();
            let mut after = before.clone();
            after[unit] = Record { state: UnitState::Torn, erases: after[unit].erases.map(|erases| erases + 1) };
            let (old, new) = (block(9, &before), block(11, &after));
            let mut torn = match empty {
                None => old,
                Some(ones) => vec![if ones { 0xff } else { 0 }; 4096],
            };
            for piece in (0..8).filter(|piece| mask >> piece & 1 == 1) {
                torn[piece * 512..][..512].copy_from_slice(&new[piece * 512..][..512]);
            }
            let sibling = block(10, &before);
            prop_assert!(slot(&superblock(), Some(&sibling)).is_ours(Some(&torn)));
            prop_assert!(slot(&superblock(), None).is_ours(Some(&torn)));
            let whole = superblock().encode();
            let mut torn = vec![0; 4096];
            for piece in (0..8).filter(|piece| mask >> piece & 1 == 1) {
                torn[piece * 512..][..512].copy_from_slice(&whole[piece * 512..][..512]);
            }
            prop_assert!(is_our_superblock(Some(&torn), &superblock()));
        }

        #[test]
        fn one_wrong_byte_is_damage_and_more_are_foreign(at in 0_usize..4080, byte: u8, more in 15_usize..4096) {
            let (mine, sibling) = (block(9, &records()), block(10, &records()));
            let mut damaged = mine.clone();
            damaged[at] = byte;
            prop_assert!(slot(&superblock(), Some(&sibling)).is_ours(Some(&damaged)));
            let mut whole = superblock().encode();
            whole[at] = byte;
            prop_assert!(is_our_superblock(Some(&whole), &superblock()));
            // A run of text, wherever it lies.
            let end = (at + 1 + more).min(4096);
            prop_assume!(end - at >= 16);
            damaged[at..end].fill(b't');
            whole[at..end].fill(b't');
            prop_assert!(!slot(&superblock(), Some(&sibling)).is_ours(Some(&damaged)));
            prop_assert!(!slot(&superblock(), None).is_ours(Some(&damaged)));
            prop_assert!(!is_our_superblock(Some(&whole), &superblock()));
        }
    }

    #[test]
    fn a_record_of_other_lanes_is_foreign() {
        let other = Superblock { id: *b"another one's id", ..superblock() };
        assert!(!is_our_superblock(Some(&other.encode()), &superblock()));
        let mine = block(9, &records());
        assert!(!slot(&other, None).is_ours(Some(&mine)));
        assert!(!Slot { sector: 4, ..slot(&superblock(), None) }.is_ours(Some(&mine)));
    }
}
