//! Distinguishes damaged records of the lanes from foreign data that has replaced them.
//!
//! A record may be rewritten only where no foreign data is lost. A location counts as our own record, damaged, where
//! each of its 512-byte sectors
//!
//! - equals this device's record, or the remains of a torn write of it, or
//! - is empty: zeros (never written, or discarded), or ones (erased),
//!
//! and at most one other byte of the whole record is wrong, not counting zeros; or where the device cannot read it. In
//! a slot of the table the checksum MUST confirm that this byte is the only wrong one: a torn write and a wrong byte
//! together do not count as ours, since foreign data that begins just before the checksum looks like them. Anything
//! else is foreign data. A record has few free bytes: a superblock none, a slot of the table the sequence number, the
//! state and erases of each unit within the changes of one write, and the checksum, which a torn write leaves with any
//! value. So no text, archive or file system is mistaken for a record where it overlaps one by more than the four bytes
//! of the checksum.

use super::constants::SECTOR_BYTES;
use super::disk::{RECORD_BYTES, RECORDS_AT, Record, Superblock, is_sealed_but_for_a_byte, u32_at, u64_at};
use flashlane_device::UnitHead;
use flashlane_device::remains::{self, WRONG_BYTES_MAX, is_remains, wrong_bytes};

/// Largest difference of a unit's erases between two writes of a table sector.
const ERASES_APART: u32 = 2;

/// Largest difference of sequence numbers between the two slots of a sector, including failed writes.
const SEQUENCES_APART: u64 = 1 << 16;

pub(super) fn is_empty(piece: &[u8]) -> bool {
    // Compared as a whole, which is several times as fast as a search for the first byte that differs.
    let consists_of = |byte: u8| {
        piece.chunks(4096).all(|chunk| chunk.iter().fold(0, |differs, &found| differs | (found ^ byte)) == 0)
    };
    consists_of(0) || consists_of(0xff)
}

/// Returns whether the data at the location of `superblock` is ours. `None` stands for unreadable data.
pub(super) fn is_our_superblock(found: Option<&[u8]>, superblock: &Superblock) -> bool {
    found.is_none_or(|found| is_remains(found, &superblock.encode()))
}

/// Returns the first byte that is neither zero nor that of the record of `superblock`. Requires: the data is not ours.
pub(super) fn first_wrong_byte(found: &[u8], superblock: &Superblock) -> usize {
    let expected = superblock.encode();
    let is_wrong = |(&found, &expected): (&u8, &u8)| found != expected && found != 0;
    found.iter().zip(expected.iter()).position(is_wrong).expect("data without a wrong byte is ours")
}

/// Returns whether the head of an erased or torn unit was left by the lanes or their user: empty, or written for this
/// unit.
pub(super) fn is_our_head(found: &[u8], lane: u32, unit: u64) -> bool {
    let head = UnitHead::decode(found);
    is_empty(found) || head.is_some_and(|head| (head.lane, u64::from(head.unit)) == (lane, unit))
}

/// A table sector with an unsound slot.
pub(super) struct Slot<'a> {
    pub superblock: &'a Superblock,
    pub sector: u64,
    /// Number of records.
    pub count: u64,
    /// The other slot, where it is sound.
    pub sibling: Option<&'a [u8]>,
}

impl Slot<'_> {
    /// Returns whether the data in the slot is ours. `None` stands for unreadable data.
    pub fn is_ours(&self, found: Option<&[u8]>) -> bool {
        let Some(found) = found else { return true };
        assert_eq!(found.len() as u64, SECTOR_BYTES, "a slot is a sector");
        let (mut wrong, mut last_wrong) = (0, 0);
        for (nth, piece) in found.chunks(remains::SECTOR_BYTES).enumerate() {
            if !is_empty(piece) {
                let first = nth * remains::SECTOR_BYTES / RECORD_BYTES;
                for (field, at) in piece.chunks(RECORD_BYTES).zip(first..) {
                    let wrong_here = self.wrong_in(field, at);
                    wrong += wrong_here;
                    last_wrong = if wrong_here > 0 { at } else { last_wrong };
                }
            }
        }
        // Without a sound slot there is no evidence of the byte's right value.
        let may_be_wrong = if self.sibling.is_some() { WRONG_BYTES_MAX } else { 0 };
        let field = last_wrong * RECORD_BYTES..(last_wrong + 1) * RECORD_BYTES;
        wrong == 0 || wrong <= may_be_wrong && is_sealed_but_for_a_byte(found, field)
    }

    /// Counts the bytes of a field that no write of ours left there.
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
            // Earlier programs left records of another sector here.
            _ if self.record(field).is_some() => 0,
            _ => wrong_bytes(field, &[0; RECORD_BYTES]),
        }
    }

    /// Counts the wrong bytes of a field, with a check by `plausible` beside the field of the sound slot: none where it
    /// is plausible, one where it is with one byte from there, else all that differ.
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

    /// Returns whether a field has the sector's sequence number, number and count of records.
    fn is_numbered(&self, field: &[u8], sibling: Option<&[u8]>) -> bool {
        let sequence = u64_at(field, 0);
        u64::from(u32_at(field, 8)) == self.sector
            && u64::from(u32_at(field, 12)) == self.count
            && sequence < u64::MAX / 2
            && sibling.is_none_or(|sibling| u64_at(sibling, 0).abs_diff(sequence) <= SEQUENCES_APART)
    }

    /// Returns whether a field is a unit's record, within the changes of one write.
    fn is_record(&self, field: &[u8], sibling: Option<&[u8]>) -> bool {
        let erases = |record: Record| record.erases;
        let other = sibling.and_then(|sibling| self.record(sibling)).and_then(erases);
        self.record(field).is_some_and(|record| {
            erases(record).zip(other).is_none_or(|(one, other)| one.abs_diff(other) <= ERASES_APART)
        })
    }

    /// Returns the record of a field that is encoded exactly.
    fn record(&self, field: &[u8]) -> Option<Record> {
        let record = Record::decode(field, &self.superblock.shape)?;
        let mut written = [0; RECORD_BYTES];
        record.encode(&mut written);
        (written == field).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::super::constants::VERSION;
    use super::super::disk::TableSector;
    use super::super::layout::Shape;
    use super::*;
    use flashlane_device::UnitState;
    use proptest::prelude::*;

    const COUNT: u64 = 40;

    fn superblock() -> Superblock {
        let shape = Shape { lanes: 2, unit_bytes: 1 << 20, read_unit_bytes: 512, write_unit_bytes: 4096 };
        Superblock {
            version: VERSION,
            id: *b"sixteen bytes id",
            shape,
            device_bytes: 48 << 20,
            address_map: 1,
        }
    }

    fn records() -> Vec<Record> {
        let states = [UnitState::ERASED, UnitState::Written { bytes: 4096 }, UnitState::Torn, UnitState::Bad];
        (0..COUNT as usize)
            .map(|at| Record { state: states[at % 4], erases: Some(at as u32 * 700), content: None })
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
        /// Any mixture of the 512-byte sectors of two writes, or of a write and empty ones.
        #[test]
        fn torn_writes_are_ours(mask: u8, unit in 0..COUNT as usize, empty in prop::option::of(any::<bool>())) {
            let before = records();
            let mut after = before.clone();
            after[unit] = Record {
                state: UnitState::Torn,
                erases: after[unit].erases.map(|erases| erases + 1),
                content: None,
            };
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
        fn one_wrong_byte_is_damage_and_a_run_is_foreign(at in 0_usize..4080, byte: u8, more in 15_usize..4096) {
            let (mine, sibling) = (block(9, &records()), block(10, &records()));
            let mut damaged = mine.clone();
            damaged[at] = byte;
            prop_assert!(slot(&superblock(), Some(&sibling)).is_ours(Some(&damaged)));
            let mut whole = superblock().encode();
            whole[at] = byte;
            prop_assert!(is_our_superblock(Some(&whole), &superblock()));
            // A run of text at any location.
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
    fn record_of_other_lanes_is_foreign() {
        let other = Superblock { id: *b"another one's id", ..superblock() };
        assert!(!is_our_superblock(Some(&other.encode()), &superblock()));
        let mine = block(9, &records());
        assert!(!slot(&other, None).is_ours(Some(&mine)));
        assert!(!Slot { sector: 4, ..slot(&superblock(), None) }.is_ours(Some(&mine)));
    }
}
