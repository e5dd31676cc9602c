//! Looking for a superblock's copy where the device's end was when it was divided, once neither end of it has one.
//!
//! A device that has grown since keeps the copy at its old end, and only the first superblock says where that was. Without
//! it the table of units does roughly: it stands right behind the first superblock, in the same place whatever the shape,
//! and its records tell how many units there are at least and how large. The copy lies behind so many; from there on it is
//! looked for, and known by its place and by the table's id. Where any unit was written whole that takes reads of less than
//! one unit of each lane; at most it takes reading the device.

use super::disk::{Superblock, table_sector};
use super::error::LanesError;
use super::layout::{RECORDS, SECTOR_BYTES};
use super::open::{Driven, PORTION_BYTES};
use flashlane_device::DataDevice;

const ACTION: &str = "look for the table of units";

/// What was found.
pub(super) enum Sought {
    /// A superblock: where it lies follows from it.
    Copy(Superblock),
    /// A table of units, and no superblock that belongs to it.
    TableOnly,
    Nothing,
}

/// Looks for the copy on a device of so many bytes, whole sectors.
pub(super) fn copy<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    device_bytes: u64,
) -> Result<Sought, LanesError> {
    let Some((id, end)) = table(driven, device_bytes)? else { return Ok(Sought::Nothing) };
    let mut found = None;
    each_sector(driven, "look for the superblock's copy", (end, device_bytes), |at, block| {
        let sound = Superblock::decode(block).ok();
        found = sound.filter(|copy| copy.id == id && copy.device_bytes == at + SECTOR_BYTES);
        found.is_none()
    })?;
    Ok(found.map_or(Sought::TableOnly, Sought::Copy))
}

/// The id of the table of units, where there is one: that of the first sector which looks like one of a table's.
pub(super) fn table_id<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    device_bytes: u64,
) -> Result<Option<[u8; 16]>, LanesError> {
    let mut id = None;
    let to = device_bytes.min(SECTOR_BYTES + PORTION_BYTES);
    each_sector(driven, ACTION, (SECTOR_BYTES, to), |_, block| {
        id = table_sector(block).map(|(id, ..)| id);
        id.is_none()
    })?;
    Ok(id)
}

/// The id of a table of units, and where at the earliest the units end of which it has records.
fn table<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    device_bytes: u64,
) -> Result<Option<([u8; 16], u64)>, LanesError> {
    let (mut known, mut units, mut unit_bytes) = (None, 0, SECTOR_BYTES);
    let mut from = SECTOR_BYTES;
    // As far as there is any of it.
    loop {
        let to = device_bytes.min(from + PORTION_BYTES);
        let mut seen = false;
        each_sector(driven, ACTION, (from, to), |_, block| {
            if let Some((id, sector, written_bytes)) = table_sector(block)
                && *known.get_or_insert(id) == id
            {
                seen = true;
                units = units.max(sector * RECORDS + written_bytes.len() as u64);
                unit_bytes = written_bytes.into_iter().fold(unit_bytes, u64::max);
            }
            true
        })?;
        from = to;
        if !seen || from == device_bytes {
            break;
        }
    }
    // At the least: in version 1 both slots of each sector stand here.
    let table_bytes = units.div_ceil(RECORDS) * SECTOR_BYTES;
    let end = units.saturating_mul(unit_bytes).saturating_add(SECTOR_BYTES + table_bytes);
    Ok(known.map(|id| (id, end.min(device_bytes).next_multiple_of(SECTOR_BYTES))))
}

/// Gives `visit` one sector after the other, those that can be read, until it has enough.
fn each_sector<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    action: &'static str,
    (from, to): (u64, u64),
    mut visit: impl FnMut(u64, &[u8]) -> bool,
) -> Result<(), LanesError> {
    let mut at = from;
    while at < to {
        let count = (to - at).min(PORTION_BYTES) / SECTOR_BYTES;
        for block in driven.read_sectors(action, at, count)? {
            if !block.is_none_or(|block| visit(at, &block)) {
                return Ok(());
            }
            at += SECTOR_BYTES;
        }
    }
    Ok(())
}
