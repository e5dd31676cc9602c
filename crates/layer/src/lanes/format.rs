//! Formats a device with lanes: all data on it is lost.

use super::blocking::{Blocking, PORTION_BYTES};
use super::constants::{RECORDS, SECTOR_BYTES, VERSION};
use super::content;
use super::disk::{Record, Superblock, TableSector, address_map_of};
use super::error::LanesError;
use super::heads;
use super::layout::{Layout, Shape};
use super::open::{check_below, first_superblock};
use flashlane_base::Seed;
use flashlane_device::{Buffer, DataDevice, DeviceInfo};

/// Returns the layout of a device formatted with `shape`, without accessing it.
pub(super) fn planned(below: &DeviceInfo, shape: Shape) -> Result<Layout, LanesError> {
    check_below(below)?;
    shape.check()?;
    shape.fits(below)?;
    Layout::new(shape, below.capacity_bytes)
}

/// Formats a device: first the table, then the heads of the units, and the superblock at the beginning last, so that an
/// interrupted format leaves either no lanes or all of them. The content of the units is read first if requested.
pub(super) fn format_device<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    shape: Shape,
    seed: Seed,
    reads_content: bool,
) -> Result<(), LanesError> {
    const ACTION: &str = "write the table of units";
    let layout = planned(blocking.device.info(), shape)?;
    let mut random = seed.derive("id of lanes").source();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random.bits().to_le_bytes());
    id[8..].copy_from_slice(&random.bits().to_le_bytes());
    let address_map = address_map_of(blocking.device.info());
    let superblock =
        Superblock { version: VERSION, id, shape, device_bytes: layout.device_bytes, address_map };
    // First clear a copy at an earlier end, while its location is known. It would be found again while the old table
    // remains, or where the new table has the old id.
    let earlier = first_superblock(blocking)?.filter(|old| old.device_bytes < layout.device_bytes);
    let earlier = earlier.map(|old| old.device_bytes - SECTOR_BYTES);
    for at in earlier.into_iter().chain([0, layout.last_superblock()]) {
        blocking.write("clear the superblock of the lanes", at, Buffer::zeroed(SECTOR_BYTES as usize))?;
    }
    let contents = if reads_content { content::read_all(blocking, &layout)? } else { Vec::new() };
    let record =
        |number: u64| Record { content: contents.get(number as usize).copied().flatten(), ..Record::NEW };
    let portion = PORTION_BYTES / SECTOR_BYTES;
    for slot in [0, 1] {
        for first in (0..layout.sectors()).step_by(portion as usize) {
            let count = portion.min(layout.sectors() - first);
            let mut blocks = Buffer::zeroed((count * SECTOR_BYTES) as usize);
            for (block, sector) in blocks.as_mut_slice().chunks_exact_mut(SECTOR_BYTES as usize).zip(first..)
            {
                let units = sector * RECORDS..sector * RECORDS + layout.records_of(sector);
                let records: Vec<Record> = units.map(record).collect();
                TableSector { sector, sequence: 1, records: &records }.encode(&id, block);
            }
            blocking.write(ACTION, layout.slot(first, slot), blocks)?;
        }
    }
    heads::clear(blocking, &layout)?;
    for at in [layout.last_superblock(), 0] {
        let block = Buffer::from_slice(&superblock.encode());
        blocking.write("write the superblock of the lanes", at, block)?;
    }
    Ok(())
}
