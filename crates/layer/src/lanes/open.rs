//! Finds the lanes on a device, with one blocking request at a time.
//!
//! **Opening never writes.** Damage is noted, and repaired in a separate step (`Lanes::repair`, and the first write or
//! erase that the lanes accept). A device on which foreign data has replaced a record (`ours`), or whose superblock no
//! sector of the table confirms, opens only read-only, so that nothing on it is overwritten.

use super::blocking::{Blocking, PORTION_BYTES};
use super::constants::SECTOR_BYTES;
use super::disk::{Record, Superblock, address_map_of, decode_table};
use super::error::LanesError;
use super::flaw::Flaw;
use super::layout::{Layout, Shape};
use super::ours;
use super::recovered::Recovered;
use super::search::{self, CopySearch};
use super::table::Found;
use flashlane_base::units::exact_bytes;
use flashlane_device::{Buffer, DataDevice, DeviceInfo};

/// Checks that a device can be formatted with lanes.
pub(super) fn check_below(below: &DeviceInfo) -> Result<(), LanesError> {
    let refuse = |reason: String| Err(LanesError::Below { device: below.name.clone(), reason });
    if below.lanes != 1 {
        return refuse(format!("it has {} lanes already", below.lanes));
    }
    if below.erase_unit_bytes > 0 {
        return refuse("it has erase units already".into());
    }
    if !SECTOR_BYTES.is_multiple_of(below.write_unit_bytes) {
        return refuse(format!(
            "it is written in units of {}, the table of units in sectors of {}",
            exact_bytes(below.write_unit_bytes),
            exact_bytes(SECTOR_BYTES)
        ));
    }
    if below.depth < 2 {
        return refuse("it takes one request at a time, and the table of units needs a second".into());
    }
    Ok(())
}

/// Damage to the records of the lanes on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Number of unsound superblocks, of the two: the lanes are read from the other.
    pub superblocks: u32,
    /// Number of table sectors with one unsound slot: the records are in the other.
    pub sectors: u64,
    /// Number of table sectors with two unsound slots: their units count as written, as they may hold data, and their
    /// erases are unknown.
    pub lost_sectors: u64,
    /// Number of the damaged records above that were replaced by foreign data (`ours`).
    pub foreign: u64,
    /// Number of units that the table has as erased or torn, but that begin with foreign data (`heads`), where that was
    /// checked.
    pub foreign_units: u64,
}

/// The first record that foreign data has replaced.
#[derive(Clone, Debug)]
pub(super) struct Foreign {
    at: u64,
    /// The first bytes that no record of ours has there.
    bytes: Vec<u8>,
}

/// The lanes found on a device.
pub(super) struct Opened {
    pub superblock: Superblock,
    pub layout: Layout,
    pub damage: Damage,
    /// Offsets of superblocks to rewrite.
    pub superblocks: Vec<u64>,
    /// The content of the units' heads, where lost records are recovered from them.
    pub recovered: Option<Recovered>,
    foreign: Option<Foreign>,
    /// Number of table slots that the device cannot read.
    unreadable: u64,
}

impl Opened {
    /// Creates the result for `superblock`, with the damage to its two copies.
    fn new(superblock: Superblock, layout: Layout, places: [SuperblockCopy; 2]) -> Self {
        let mut opened = Self {
            superblock,
            layout,
            damage: Damage::default(),
            superblocks: Vec::new(),
            recovered: None,
            foreign: None,
            unreadable: 0,
        };
        for SuperblockCopy { at, bytes, found } in places {
            if found != Ok(superblock) {
                opened.damage.superblocks += 1;
                opened.superblocks.push(at);
                let bytes = bytes.as_ref().map(Buffer::as_slice);
                if !ours::is_our_superblock(bytes, &superblock) {
                    let bytes = bytes.expect("unreadable records are ours");
                    opened.note_foreign(at, bytes, ours::first_wrong_byte(bytes, &superblock));
                }
            }
        }
        opened
    }

    /// Opens the lanes of a superblock that has no copy on the device.
    pub fn without_superblock<D: DataDevice>(
        blocking: &mut Blocking<'_, D>,
        superblock: Superblock,
    ) -> Result<Self, LanesError> {
        let layout = superblock.layout()?;
        let places = [superblock_at(blocking, 0)?, superblock_at(blocking, layout.last_superblock())?];
        Ok(Self::new(superblock, layout, places))
    }

    /// Notes a record at `at` that foreign data has replaced from byte `from` of it.
    fn note_foreign(&mut self, at: u64, bytes: &[u8], from: usize) {
        self.damage.foreign += 1;
        let shown = &bytes[from..bytes.len().min(from + 16)];
        self.foreign.get_or_insert_with(|| Foreign { at: at + from as u64, bytes: shown.to_vec() });
    }

    /// Checks that the device may be written: no record to rewrite was replaced by foreign data, the table confirms
    /// the superblock, and no record was recovered.
    pub fn check_writable(&self, device: &str) -> Result<(), LanesError> {
        if self.recovered.is_some() && self.damage.superblocks == 2 {
            return Err(LanesError::Recovered { device: device.into() });
        }
        if let Some(Foreign { at, bytes }) = &self.foreign {
            return Err(LanesError::Foreign {
                device: device.into(),
                records: self.damage.foreign,
                at: *at,
                found: describe(bytes),
            });
        }
        let is_partial = self.damage.lost_sectors < self.layout.sectors();
        // Blocks that were deleted may have been recovered.
        if !is_partial || self.recovered.is_some() {
            return Err(LanesError::NoTable {
                device: device.into(),
                is_partial,
                unreadable: self.unreadable,
            });
        }
        Ok(())
    }
}

/// Formats bytes for a message: as text where all are printable, else in hexadecimal.
fn describe(bytes: &[u8]) -> String {
    let is_text = bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    if is_text {
        return format!("the text '{}'", bytes.escape_ascii());
    }
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("the bytes {} (hexadecimal)", hex.join(" "))
}

/// The location of a superblock, and the block read from it.
struct SuperblockCopy {
    at: u64,
    bytes: Option<Buffer>,
    found: Result<Superblock, Flaw>,
}

fn superblock_at<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    at: u64,
) -> Result<SuperblockCopy, LanesError> {
    let bytes = blocking.read("read the superblock of the lanes", at, SECTOR_BYTES)?;
    let found = bytes.as_ref().map_or(Err(Flaw::Unreadable), |block| Superblock::decode(block.as_slice()));
    Ok(SuperblockCopy { at, bytes, found })
}

/// Returns the superblock at the beginning, where it is sound.
pub(super) fn first_superblock<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
) -> Result<Option<Superblock>, LanesError> {
    Ok(superblock_at(blocking, 0)?.found.ok())
}

/// Refuses a device whose layers move addresses in another way than when it was formatted: everything but what no layer
/// moves would look damaged.
fn check_address_map(found: &Superblock, below: &DeviceInfo) -> Result<(), LanesError> {
    match found.address_map == 0 || found.address_map == address_map_of(below) {
        true => Ok(()),
        false => Err(LanesError::OtherLayers { device: below.name.clone() }),
    }
}

/// Finds the superblock, and the damage to its two copies. Nothing is written.
pub(super) fn superblock<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    accept: impl FnOnce(&Shape) -> Result<(), LanesError>,
) -> Result<Opened, LanesError> {
    let below = blocking.device.info().clone();
    check_below(&below)?;
    let device = || below.name.clone();
    let device_bytes = below.capacity_bytes / SECTOR_BYTES * SECTOR_BYTES;
    let too_small = || Err(LanesError::TooSmall { device_bytes, needed_bytes: 2 * SECTOR_BYTES });
    if device_bytes < SECTOR_BYTES {
        return too_small();
    }
    let first = superblock_at(blocking, 0)?;
    if let Ok(found) = first.found {
        check_address_map(&found, &below)?;
    }
    // The copy lies at the end that the device had when it was formatted.
    let recorded = first.found.map_or(device_bytes, |found| found.device_bytes);
    if recorded > device_bytes {
        return Err(LanesError::Shorter {
            device: device(),
            recorded_bytes: recorded,
            found_bytes: device_bytes,
        });
    }
    if device_bytes < 2 * SECTOR_BYTES {
        return too_small();
    }
    let mut last = superblock_at(blocking, recorded - SECTOR_BYTES)?;
    // A copy that records another end than its own location belongs to another device.
    if last.found.is_ok_and(|found| found.device_bytes != recorded) {
        last.found = Err(Flaw::Nonsense);
    }
    let is_flawed = |found| !matches!(found, Ok(_) | Err(Flaw::Newer(_)));
    // So does a copy left by a longer device that was shortened, formatted again and extended.
    if is_flawed(first.found)
        && let Ok(found) = last.found
        && search::table_id(blocking, device_bytes)?.is_some_and(|id| id != found.id)
    {
        last.found = Err(Flaw::Nonsense);
    }
    let mut has_table = false;
    if is_flawed(first.found) && is_flawed(last.found) {
        match search::copy(blocking, device_bytes)? {
            CopySearch::Copy(found) => last = superblock_at(blocking, found.device_bytes - SECTOR_BYTES)?,
            CopySearch::TableOnly => has_table = true,
            CopySearch::Nothing => {}
        }
    }
    let superblock = chosen(first.found, last.found, has_table, &below.name)?;
    check_address_map(&superblock, &below)?;
    superblock.shape.fits(&below)?;
    accept(&superblock.shape)?;
    let layout = superblock.layout()?;
    Ok(Opened::new(superblock, layout, [first, last]))
}

/// Returns the superblock that counts of the two copies. `has_table` says whether a table of units was found where
/// both are damaged.
fn chosen(
    first: Result<Superblock, Flaw>,
    last: Result<Superblock, Flaw>,
    has_table: bool,
    device: &str,
) -> Result<Superblock, LanesError> {
    let device = device.to_owned();
    Err(match (first, last) {
        (Ok(found), _) => return Ok(found),
        (Err(Flaw::Newer(version)), _) | (Err(_), Err(Flaw::Newer(version))) => {
            LanesError::Newer { device, version }
        }
        (Err(_), Ok(found)) => return Ok(found),
        (Err(Flaw::Foreign), Err(Flaw::Foreign)) if has_table => LanesError::NoSuperblock { device },
        (Err(Flaw::Foreign), Err(Flaw::Foreign)) => LanesError::NotFormatted { device },
        (Err(first), Err(last)) if [first, last].contains(&Flaw::Unreadable) => {
            LanesError::Unreadable { device, first, last }
        }
        (Err(first), Err(last)) => LanesError::Damaged { device, first, last },
    })
}

/// Reads the table: a record for each unit, and the condition of each sector. Nothing is written.
pub(super) fn table<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    opened: &mut Opened,
) -> Result<(Vec<Record>, Vec<Found>), LanesError> {
    const ACTION: &str = "read the table of units";
    let (layout, superblock) = (opened.layout, opened.superblock);
    let mut records = Vec::with_capacity(layout.units() as usize);
    let mut found = Vec::with_capacity(layout.sectors() as usize);
    let portion = PORTION_BYTES / SECTOR_BYTES;
    for first in (0..layout.sectors()).step_by(portion as usize) {
        let count = portion.min(layout.sectors() - first);
        let slots_0 = blocking.read_sectors(ACTION, layout.slot(first, 0), count)?;
        let slots_1 = blocking.read_sectors(ACTION, layout.slot(first, 1), count)?;
        for ((slot_0, slot_1), sector) in slots_0.iter().zip(&slots_1).zip(first..) {
            let of = layout.records_of(sector);
            let blocks = [slot_0, slot_1].map(|block| block.as_deref());
            let decoded =
                blocks.map(|block| block.and_then(|block| decode_table(block, &superblock, sector, of)));
            opened.unreadable += blocks.iter().filter(|block| block.is_none()).count() as u64;
            let unsound = decoded.each_ref().map(Option::is_none);
            let flawed = decoded.iter().filter(|slot| slot.is_none()).count();
            match flawed {
                0 => {}
                1 => opened.damage.sectors += 1,
                _ => opened.damage.lost_sectors += 1,
            }
            for slot in [0, 1].into_iter().filter(|&slot| decoded[slot].is_none()) {
                let sibling = blocks[1 - slot].filter(|_| decoded[1 - slot].is_some());
                let damaged = ours::Slot { superblock: &superblock, sector, count: of, sibling };
                if let Some(bytes) = blocks[slot].filter(|_| !damaged.is_ours(blocks[slot])) {
                    opened.note_foreign(layout.slot(sector, slot as u64), bytes, 0);
                }
            }
            let in_sync = decoded[0].as_ref().map(|slot| &slot.1) == decoded[1].as_ref().map(|slot| &slot.1);
            let newest = u64::from(sequence(&decoded[1]) > sequence(&decoded[0]));
            let [slot_0, slot_1] = decoded;
            let (sequence, these) = (if newest == 1 { slot_1 } else { slot_0 })
                .unwrap_or_else(|| (0, vec![Record::lost(&layout.shape); of as usize]));
            records.extend(these);
            found.push(Found { sequence, newest, in_sync: in_sync && flawed == 0, unsound });
        }
    }
    Ok((records, found))
}

/// Returns the sequence number of a slot; `None` orders first.
fn sequence(slot: &Option<(u64, Vec<Record>)>) -> Option<u64> {
    slot.as_ref().map(|(sequence, _)| *sequence)
}
