//! Counts Flashlane's blocks on a device that would be overwritten, by opening them read-only.

use crate::target::Real;
use flashlane_block::{BlockOptions, Blocks, LaneStatus, OpenError as BlockOpenError};
use flashlane_device::DataDevice;
use flashlane_host::{OpenOptions, OwnData, ZonedOptions};
use flashlane_layer::Lanes;

/// Finds the blocks that a real device holds, without writing. Where that fails, the signatures known to
/// `flashlane_host` still count.
pub(crate) fn own_data(device: &Real) -> OwnData {
    let host = OpenOptions { allow_page_cache: true, ..OpenOptions::read_only(device.path()) };
    match device.zoned {
        None => match host.open() {
            Err(_) => OwnData::Unknown,
            Ok(file) => match Lanes::open_checked(file) {
                Ok(lanes) => blocks_on(lanes, "Flashlane lanes"),
                Err(_) => OwnData::Unknown,
            },
        },
        Some(zoned) => {
            let zones = ZonedOptions {
                lanes: zoned.lanes,
                write_unit_bytes: zoned.write_unit_bytes,
                ..ZonedOptions::new(host)
            };
            match zones.open() {
                Ok(zones) => blocks_on(zones, "zones"),
                Err(_) => OwnData::Unknown,
            }
        }
    }
}

/// Describes the blocks on `device`, and damaged units that may have held some.
fn blocks_on<D: DataDevice>(device: D, what: &str) -> OwnData {
    let options = BlockOptions { without_superblock: true, ..BlockOptions::default() };
    let blocks = match Blocks::open(device, options) {
        Ok(blocks) => blocks,
        Err(BlockOpenError::NotFormatted { .. } | BlockOpenError::Unsuitable(_)) => return OwnData::Safe,
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
        counted(damaged, "damaged unit that may have held one", "damaged units that may have held some"),
    ];
    let held: Vec<String> = held.into_iter().flatten().collect();
    match held.is_empty() {
        true => OwnData::Safe,
        false => OwnData::Found(format!("{what} with {}", held.join(" and "))),
    }
}
