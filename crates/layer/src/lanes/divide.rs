//! Dividing a device into lanes: all that is on it is lost.

use super::disk::{Record, Superblock, TableSector, VERSION};
use super::error::LanesError;
use super::heads;
use super::layout::{Layout, SECTOR_BYTES, Shape};
use super::open::{Driven, PORTION_BYTES, check_below, first_superblock};
use flashlane_base::Seed;
use flashlane_device::{Buffer, DataDevice, Profile};

/// Where everything comes to lie on a device that is divided into `shape`. Nothing is asked of it.
pub(super) fn planned(below: &Profile, shape: Shape) -> Result<Layout, LanesError> {
    check_below(below)?;
    shape.check()?;
    shape.fits(below)?;
    Layout::new(shape, below.capacity_bytes)
}

/// Divides a device: its table first, then the heads of its units, the superblock at its beginning last, so that what is cut short is no device with
/// lanes, or a whole one.
pub(super) fn format<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    shape: Shape,
    seed: Seed,
) -> Result<(), LanesError> {
    const ACTION: &str = "write the table of units";
    let layout = planned(driven.device.profile(), shape)?;
    let mut random = seed.derive("id of lanes").source();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random.bits().to_le_bytes());
    id[8..].copy_from_slice(&random.bits().to_le_bytes());
    let superblock = Superblock { version: VERSION, id, shape, device_bytes: layout.device_bytes };
    // A copy at an earlier end goes first, while it is known of: it would be found again as long as the table is the old
    // one, or has its id.
    let earlier = first_superblock(driven)?.filter(|old| old.device_bytes < layout.device_bytes);
    let earlier = earlier.map(|old| old.device_bytes - SECTOR_BYTES);
    for at in earlier.into_iter().chain([0, layout.last_superblock()]) {
        driven.write("clear the superblock of the lanes", at, Buffer::zeroed(SECTOR_BYTES as usize))?;
    }
    let portion = PORTION_BYTES / SECTOR_BYTES;
    for slot in [0, 1] {
        for first in (0..layout.sectors()).step_by(portion as usize) {
            let count = portion.min(layout.sectors() - first);
            let mut blocks = Buffer::zeroed((count * SECTOR_BYTES) as usize);
            for (block, sector) in blocks.as_mut_slice().chunks_exact_mut(SECTOR_BYTES as usize).zip(first..)
            {
                let records = vec![Record::NEW; layout.records_of(sector) as usize];
                TableSector { sector, sequence: 1, records: &records }.encode(&id, block);
            }
            driven.write(ACTION, layout.slot(first, slot), blocks)?;
        }
    }
    heads::clear(driven, &layout)?;
    for at in [layout.last_superblock(), 0] {
        let block = Buffer::from_slice(&superblock.encode());
        driven.write("write the superblock of the lanes", at, block)?;
    }
    Ok(())
}
