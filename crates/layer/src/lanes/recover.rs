//! Recovers lanes whose superblocks are both lost, as after a partition table was written to both ends of the device,
//! or sectors of whose table are lost in both slots, from the blocks on them.
//!
//! The block layer begins each unit with a head (`flashlane_device::UnitHead`): the unit's address, the id of the
//! formatting, the unit's erases and, in a copy of its superblock, the shape. Where a shape is given, and every such
//! head lies where that shape puts it, the lanes are opened read-only with that shape; only a repair that may overwrite
//! foreign data writes. The remaining sectors of the table are used. Records of lost sectors
//! are taken from the heads: a unit with the head of a block of the most frequent formatting is written, one with an
//! empty head is erased, and any other counts as written, with unknown erases. An erase moves no bytes, so deleted
//! blocks may reappear.
//!
//! Where a superblock is left, it has the shape, and a head that lies elsewhere than this shape puts it is not a
//! block's.
//!
//! Without a given shape, a quick search detects blocks, and their shape where it finds a superblock of the blocks.

use super::blocking::{Blocking, PORTION_BYTES};
use super::constants::{SECTOR_BYTES, VERSION};
use super::disk::{Superblock, address_map_of, table_sector};
use super::error::LanesError;
use super::heads;
use super::layout::{Layout, Shape};
use super::open::Opened;
use super::recovered::{Head, Recovered, is_in_place, shape_of};
use flashlane_device::{BlocksShape, DataDevice, UnitHead};
use std::collections::BTreeMap;
use std::ops::Range;

/// Options of the recovery of lanes from the blocks on them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoverOptions {
    /// The shape of the lanes, where it is given.
    pub shape: Option<Shape>,
    /// Whether to search for blocks where the lanes cannot be opened, or sectors of their table are lost.
    pub looks_for_blocks: bool,
}

/// After `error` found no superblock, opens the lanes in the given shape, or reports the blocks found.
pub(super) fn lanes<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    options: RecoverOptions,
    error: LanesError,
) -> Result<Opened, LanesError> {
    let is_lost = matches!(
        error,
        LanesError::NotFormatted { .. } | LanesError::NoSuperblock { .. } | LanesError::Damaged { .. }
    );
    if !is_lost {
        return Err(error);
    }
    if let Some(shape) = options.shape
        && let Some(opened) = in_shape(blocking, shape)?
    {
        return Ok(opened);
    }
    if !options.looks_for_blocks {
        return Err(error);
    }
    let found = match blocks(blocking)? {
        FoundBlocks::None => return Err(error),
        FoundBlocks::OfUnknownShape => None,
        FoundBlocks::OfShape(shape) => Some(shape.settings()),
    };
    let device = blocking.device.info().name.clone();
    Err(match options.shape {
        None => LanesError::OnlyBlocks { device, shape: found },
        Some(given) => LanesError::OtherPlaces { device, given: given.settings(), found },
    })
}

/// Returns the lanes in this shape, where the heads of the units, or the rest of the table, confirm it.
fn in_shape<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    shape: Shape,
) -> Result<Option<Opened>, LanesError> {
    let below = blocking.device.info().clone();
    let device_bytes = below.capacity_bytes / SECTOR_BYTES * SECTOR_BYTES;
    if shape.fits(&below).is_err() {
        return Ok(None);
    }
    let Ok(layout) = Layout::new(shape, device_bytes) else { return Ok(None) };
    let Some(recovered) = Recovered::new(read_heads(blocking, &layout)?) else { return Ok(None) };
    let headers = || recovered.headers();
    if !headers().all(|(number, header)| is_in_place(header, &layout, number)) {
        return Ok(None);
    }
    let id = table_id(blocking, &layout)?;
    // The head of the first unit has the same location in many shapes.
    if id.is_none() && headers().count() == 1 && headers().all(|(_, header)| shape_of(header).is_none()) {
        return Ok(None);
    }
    // The id separates these lanes from others on the device, and the formatting exists only in these.
    let id = id.unwrap_or(recovered.format);
    let address_map = address_map_of(&below);
    let superblock = Superblock { version: VERSION, id, shape, device_bytes, address_map };
    let mut opened = Opened::without_superblock(blocking, superblock)?;
    opened.recovered = Some(recovered);
    Ok(Some(opened))
}

/// Returns the heads of the units of lanes whose superblock has this layout, where there is a block's.
pub(super) fn in_layout<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
) -> Result<Option<Recovered>, LanesError> {
    let mut heads = read_heads(blocking, layout)?;
    for (&number, head) in &mut heads {
        if matches!(head, Head::Written(header) if !is_in_place(header, layout, number)) {
            *head = Head::Unknown;
        }
    }
    Ok(Recovered::new(heads))
}

fn read_heads<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
) -> Result<BTreeMap<u64, Head>, LanesError> {
    let mut found = BTreeMap::new();
    heads::read_all(blocking, layout, |number, bytes| {
        found.insert(number, bytes.map_or(Head::Unknown, Head::decode));
    })?;
    Ok(found)
}

/// Returns the id of the table, where a sector of it is left.
fn table_id<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
) -> Result<Option<[u8; 16]>, LanesError> {
    for slot in [0, 1] {
        for first in (0..layout.sectors()).step_by((PORTION_BYTES / SECTOR_BYTES) as usize) {
            let count = (PORTION_BYTES / SECTOR_BYTES).min(layout.sectors() - first);
            let sectors =
                blocking.read_sectors("look for the table of units", layout.slot(first, slot), count)?;
            for (block, number) in sectors.iter().zip(first..) {
                if let Some((id, sector, written)) = block.as_deref().and_then(table_sector)
                    && (sector, written.len() as u64) == (number, layout.records_of(number))
                {
                    return Ok(Some(id));
                }
            }
        }
    }
    Ok(None)
}

/// What a quick search for blocks found.
enum FoundBlocks {
    None,
    /// Blocks, but no superblock of theirs.
    OfUnknownShape,
    OfShape(Shape),
}

/// Searches quickly for blocks, and for a superblock of them, where the guard of real devices searches too.
fn blocks<D: DataDevice>(blocking: &mut Blocking<'_, D>) -> Result<FoundBlocks, LanesError> {
    const ACTION: &str = "look for blocks";
    const { assert!(UnitHead::ALIGNMENT_BYTES == SECTOR_BYTES) };
    let mut found = FoundBlocks::None;
    for Range { start, end } in UnitHead::search_ranges(blocking.device.info().capacity_bytes) {
        let sectors = blocking.read_sectors(ACTION, start, (end - start) / SECTOR_BYTES)?;
        for block in sectors.into_iter().flatten() {
            let Some(head) = UnitHead::decode(&block).filter(UnitHead::is_of_blocks) else { continue };
            if let Some(BlocksShape { lanes, unit_bytes, read_unit_bytes, .. }) = shape_of(&head) {
                let shape = Shape { lanes, unit_bytes, read_unit_bytes, write_unit_bytes: unit_bytes };
                return Ok(FoundBlocks::OfShape(shape));
            }
            found = FoundBlocks::OfUnknownShape;
        }
    }
    Ok(found)
}
