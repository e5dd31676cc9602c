//! Counts Flashlane's blocks on a device that would be overwritten, by opening them read-only.

use crate::target::Real;
use flashlane_block::{BlockInfo, BlockOptions, Blocks, LaneStatus, OpenError as BlockOpenError};
use flashlane_device::{DataDevice, Lane};
use flashlane_host::{FileDevice, OpenOptions, OwnData, PageCache, ZonedOptions};
use flashlane_layer::Lanes;
use std::ops::Range;
use std::path::PathBuf;

/// Finds the blocks that a real device holds, without writing. Where that fails, the signatures known to
/// `flashlane_host` still count. `held` is the path to the device where the caller has it open for writing.
pub(crate) fn own_data(device: &Real, held: Option<PathBuf>) -> OwnData {
    let read_only = match held {
        None => read_only(device),
        Some(path) => OpenOptions { path, is_held: true, ..read_only(device) },
    };
    let found = match device.zoned {
        None => lanes_by(&read_only).map(|lanes| blocks_on(lanes, "Flashlane lanes")),
        Some(zoned) => {
            let zones = ZonedOptions {
                lanes: zoned.lanes,
                write_unit_bytes: zoned.write_unit_bytes,
                ..ZonedOptions::new(read_only)
            };
            zones.open().ok().map(|zones| blocks_on(zones, "zones"))
        }
    };
    found.unwrap_or(OwnData::Unknown)
}

/// Returns the byte ranges of the blocks on the lanes over a real device, found without writing; none where they cannot
/// be opened.
pub(crate) fn block_ranges(device: &Real) -> Vec<Range<u64>> {
    let blocks =
        lanes_by(&read_only(device)).and_then(|lanes| Blocks::open(lanes, BlockOptions::default()).ok());
    let Some(blocks) = blocks else { return Vec::new() };
    let range = |block: BlockInfo| {
        let address = block.address;
        blocks.device().unit_range(Lane(address.lane), address.unit.into())
    };
    blocks.list().map(range).collect()
}

fn read_only(device: &Real) -> OpenOptions {
    OpenOptions { page_cache: PageCache::Tolerate, ..OpenOptions::read_only(device.path()) }
}

/// Returns the lanes over a real device; `None` where they cannot be opened.
fn lanes_by(read_only: &OpenOptions) -> Option<Lanes<FileDevice>> {
    Lanes::open_checked(read_only.open().ok()?).ok()
}

/// Describes the blocks on `device`, and damaged units that may have held some.
fn blocks_on<D: DataDevice>(device: D, what: &str) -> OwnData {
    let options = BlockOptions { without_superblock: true, ..BlockOptions::default() };
    let blocks = match Blocks::open(device, options) {
        Ok(blocks) => blocks,
        Err(BlockOpenError::NotFormatted { .. } | BlockOpenError::Unsuitable(_)) => {
            return OwnData::Preserved(Vec::new());
        }
        Err(_) => return OwnData::Found(format!("{what} with Flashlane blocks that cannot be opened")),
    };
    let status = blocks.status();
    let damaged = status.lanes.iter().map(|lane: &LaneStatus| lane.damaged).sum::<u64>();
    let counted = |count: u64, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {more}")),
    };
    let held = [
        counted(status.blocks, "block", "blocks"),
        counted(damaged, "damaged unit that may hold a block", "damaged units that may hold blocks"),
    ];
    let held: Vec<String> = held.into_iter().flatten().collect();
    match held.is_empty() {
        true if blocks.has_log() => {
            OwnData::Found(format!("{what} of a store, whose pairs may still be in its log"))
        }
        true => OwnData::Preserved(Vec::new()),
        false => OwnData::Found(format!("{what} with {}", held.join(" and "))),
    }
}
