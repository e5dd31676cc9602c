//! Searches for the superblock's copy at an earlier end of the device, where neither end has a superblock.
//!
//! A device that has grown keeps the copy at its old end, whose offset only the first superblock records. Without that,
//! the table of units gives an estimate: it follows the first superblock in every shape, and its records give a lower
//! bound of the number of units and of their size. The copy lies after these; the search begins there, and identifies
//! the copy by its location and the table's id. If any unit was written whole, the search reads less than one unit per
//! lane; at worst it reads the whole device.

use super::blocking::{Blocking, PORTION_BYTES};
use super::constants::{RECORDS, SECTOR_BYTES};
use super::disk::{Superblock, table_sector};
use super::error::LanesError;
use flashlane_device::DataDevice;

const ACTION: &str = "look for the table of units";

/// Result of the search.
pub(super) enum CopySearch {
    /// A superblock, which records its own location.
    Copy(Superblock),
    /// A table of units without its superblock.
    TableOnly,
    Nothing,
}

/// Searches for the copy on a device of `device_bytes`, in whole sectors.
pub(super) fn copy<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    device_bytes: u64,
) -> Result<CopySearch, LanesError> {
    let Some((id, end)) = table(blocking, device_bytes)? else { return Ok(CopySearch::Nothing) };
    let mut found = None;
    each_sector(blocking, "look for the superblock's copy", (end, device_bytes), |at, block| {
        let sound = Superblock::decode(block).ok();
        found = sound.filter(|copy| copy.id == id && copy.device_bytes == at + SECTOR_BYTES);
        found.is_none()
    })?;
    Ok(found.map_or(CopySearch::TableOnly, CopySearch::Copy))
}

/// Returns the id of the table of units, if there is one: that of the first block that looks like a table sector.
pub(super) fn table_id<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    device_bytes: u64,
) -> Result<Option<[u8; 16]>, LanesError> {
    let mut id = None;
    let to = device_bytes.min(SECTOR_BYTES + PORTION_BYTES);
    each_sector(blocking, ACTION, (SECTOR_BYTES, to), |_, block| {
        id = table_sector(block).map(|(id, ..)| id);
        id.is_none()
    })?;
    Ok(id)
}

/// Returns the id of a table of units, and a lower bound of the end of the units that it has records of.
fn table<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    device_bytes: u64,
) -> Result<Option<([u8; 16], u64)>, LanesError> {
    let (mut known, mut units, mut unit_bytes) = (None, 0, SECTOR_BYTES);
    let mut from = SECTOR_BYTES;
    // Until there are no more sectors of the table.
    loop {
        let to = device_bytes.min(from + PORTION_BYTES);
        let mut seen = false;
        each_sector(blocking, ACTION, (from, to), |_, block| {
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
    // A lower bound: in version 1 both slots of each sector are here.
    let table_bytes = units.div_ceil(RECORDS) * SECTOR_BYTES;
    let end = units.saturating_mul(unit_bytes).saturating_add(SECTOR_BYTES + table_bytes);
    Ok(known.map(|id| (id, end.min(device_bytes).next_multiple_of(SECTOR_BYTES))))
}

/// Calls `visit` with each readable sector until it returns `false`.
fn each_sector<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    action: &'static str,
    (from, to): (u64, u64),
    mut visit: impl FnMut(u64, &[u8]) -> bool,
) -> Result<(), LanesError> {
    let mut at = from;
    while at < to {
        let count = (to - at).min(PORTION_BYTES) / SECTOR_BYTES;
        for block in blocking.read_sectors(action, at, count)? {
            if !block.is_none_or(|block| visit(at, &block)) {
                return Ok(());
            }
            at += SECTOR_BYTES;
        }
    }
    Ok(())
}
