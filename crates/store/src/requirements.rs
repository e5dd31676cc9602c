//! What a store needs of its two devices, known before either is written.

use crate::core::shape_of;
use crate::error::CreateError;
use crate::log::{LogConfig, LogLayout};
use crate::options::{Slices, StoreOptions};
use flashlane_block::{FormatError, Layout};
use flashlane_device::DeviceInfo;

/// Pages of the log's ring beside four blocks.
const RING_PAGES_MIN: u64 = 16;
/// Page of a log on a device with smaller units.
const LOG_PAGE_BYTES: u64 = 4096;

/// Room that a store needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Bytes of a block of the device.
    pub block_bytes: u64,
    /// Blocks that the device can hold.
    pub blocks: u64,
    /// Bytes of a log of which half holds a full container of each slice, and another one that is on its way to the
    /// device: up to there it slows no writer (`pacing.rs`). A smaller one works, writes smaller patches, and slows
    /// writers earlier.
    pub log_bytes: u64,
}

impl Requirements {
    /// Returns what a store with these slices needs beside a device with these properties.
    ///
    /// # Errors
    /// [`CreateError`] where the device cannot hold the store.
    pub fn new(device: &DeviceInfo, slices: &Slices, options: &StoreOptions) -> Result<Self, CreateError> {
        let layout = Layout::new(device).map_err(FormatError::Unsuitable)?;
        let shape = shape_of(layout.block_bytes(), layout.granule_bytes, &slices.bounds)?;
        slices.check(shape.key_bytes_max())?;
        options.check(&shape, slices.bounds.len() as u64)?;
        let (blocks, count) = (layout.all_units() - Layout::RESERVED_UNITS, slices.bounds.len() as u64);
        // Writing admits a value only above the reserve, and a block for each container and one more.
        let least = options.reserve_blocks.saturating_add(count + 1);
        if blocks < least {
            // All lanes have as many units, and a capacity is that of one.
            let lanes = u64::from(device.lanes);
            let units = least.saturating_add(Layout::RESERVED_UNITS).div_ceil(lanes).saturating_mul(lanes);
            return Err(CreateError::DeviceTooSmall {
                device: device.name.clone(),
                blocks,
                least,
                slices: count,
                least_bytes: units.saturating_mul(device.erase_unit_bytes),
                unit_bytes: previous_power_of_two(device.capacity_bytes * lanes / units),
            });
        }
        let ring_pages = RING_PAGES_MIN + (4 * (1 + count) * shape.block_bytes).div_ceil(LOG_PAGE_BYTES);
        let header = LogLayout::header_bytes(LOG_PAGE_BYTES, &slices.bounds);
        Ok(Self { block_bytes: shape.block_bytes, blocks, log_bytes: ring_pages * LOG_PAGE_BYTES + header })
    }

    /// Checks that a device can hold the log of the store.
    ///
    /// # Errors
    /// [`CreateError::LogHasEraseUnits`] and [`CreateError::LogTooSmall`].
    pub fn check_log(&self, log: &DeviceInfo, slices: &Slices) -> Result<(), CreateError> {
        let config = LogConfig::new(0, slices.bounds.clone());
        log_layout(log, &config, self.block_bytes).map(drop)
    }
}

/// Returns the largest power of two that is at most `number`; 0 for 0.
fn previous_power_of_two(number: u64) -> u64 {
    number.checked_ilog2().map_or(0, |bits| 1 << bits)
}

/// Returns the layout of a log on a device with these properties.
pub(crate) fn log_layout(
    info: &DeviceInfo,
    config: &LogConfig,
    block_bytes: u64,
) -> Result<LogLayout, CreateError> {
    if info.erase_unit_bytes > 0 {
        return Err(CreateError::LogHasEraseUnits { device: info.name.clone() });
    }
    let least_pages = |page_bytes: u64| RING_PAGES_MIN + (4 * block_bytes).div_ceil(page_bytes);
    match LogLayout::new(info, config) {
        Some(layout) if layout.pages >= least_pages(layout.page_bytes) => Ok(layout),
        found => {
            let page_bytes = found.map_or(LOG_PAGE_BYTES, |layout| layout.page_bytes);
            let header_bytes = LogLayout::header_bytes(page_bytes, &config.bounds);
            Err(CreateError::LogTooSmall {
                device: info.name.clone(),
                given_bytes: info.capacity_bytes,
                least_bytes: least_pages(page_bytes) * page_bytes + header_bytes,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use flashlane_base::Seed;
    use flashlane_device::Device;
    use flashlane_device_testing::{MemoryDisk, MemoryLanes};

    #[test]
    fn required_log_suits_and_least_log_is_named_exactly() {
        let device = || MemoryLanes::new(4, 64, 8192, 512, Seed(1));
        let (slices, options) = (Slices::even(4), StoreOptions::default());
        let needs = Requirements::new(device().info(), &slices, &options).unwrap();
        let create = |bytes: u64| {
            let log = MemoryDisk::new(bytes, 512, Seed(1));
            let checked = needs.check_log(log.info(), &slices);
            let created = Store::create(device(), log, 1, slices.clone(), options.clone()).map(drop);
            assert_eq!(checked, created, "a log of {bytes} bytes");
            created
        };
        create(needs.log_bytes).unwrap();
        let Err(CreateError::LogTooSmall { least_bytes, .. }) = create(8192) else {
            panic!("a log of 8 KiB")
        };
        create(least_bytes).unwrap();
        let too_small = create(least_bytes - 4096);
        assert!(matches!(too_small, Err(CreateError::LogTooSmall { .. })), "{too_small:?}");
    }

    #[test]
    fn device_without_room_for_values_is_refused() {
        let options = StoreOptions { reserve_blocks: 24, ..StoreOptions::default() };
        let of = |units: u64, slices: u32| {
            let device = MemoryLanes::new(1, units, 8192, 512, Seed(1));
            Requirements::new(device.info(), &Slices::even(slices), &options).map(|needs| needs.blocks)
        };
        assert_eq!(of(4 + 24 + 2, 1), Ok(26));
        // A device of 29 units of 8 KiB would need units of 7.7 KiB, one of 30 units and 3 slices units of 7.5 KiB.
        let refused = |blocks: u64, least: u64, slices: u64| {
            Err(CreateError::DeviceTooSmall {
                device: "memory lanes".into(),
                blocks,
                least,
                slices,
                least_bytes: (least + 4) * 8192,
                unit_bytes: 4096,
            })
        };
        assert_eq!(of(4 + 24 + 1, 1), refused(25, 26, 1));
        assert_eq!(of(4 + 24 + 2, 3), refused(26, 28, 3));
    }

    #[test]
    fn invalid_options_are_refused_before_the_format() {
        let options = |change: fn(&mut StoreOptions)| {
            let mut options = StoreOptions::default();
            change(&mut options);
            options
        };
        for options in [
            options(|options| options.memory_bytes = 4096),
            options(|options| options.merge = "unknown".into()),
            options(|options| options.merge_blocks_max = 1),
            options(|options| options.reserve_blocks = 1),
            options(|options| options.reserve_blocks = u64::MAX),
        ] {
            let (device, log) =
                (MemoryLanes::new(4, 64, 8192, 512, Seed(1)), MemoryDisk::new(1 << 20, 512, Seed(1)));
            let slices = Slices::even(4);
            let refused = Requirements::new(device.info(), &slices, &options).unwrap_err();
            let created = Store::create(device, log, 1, slices, options).map(drop);
            assert_eq!(created, Err(refused));
        }
    }

    #[test]
    fn least_device_of_several_lanes_is_named_exactly() {
        let (slices, options) =
            (Slices::even(1), StoreOptions { reserve_blocks: 24, ..StoreOptions::default() });
        let of = |units: u64, unit_bytes: u64| {
            let device = MemoryLanes::new(8, units, unit_bytes, 512, Seed(1));
            Requirements::new(device.info(), &slices, &options)
        };
        let Err(CreateError::DeviceTooSmall { least_bytes, unit_bytes, .. }) = of(3, 64 << 10) else {
            panic!("24 units have room for 20 blocks")
        };
        assert_eq!((least_bytes, unit_bytes), (8 * 4 * (64 << 10), 32 << 10));
        of(least_bytes / 8 / (64 << 10), 64 << 10).unwrap();
        of(3 * (64 << 10) / unit_bytes, unit_bytes).unwrap();
    }
}
