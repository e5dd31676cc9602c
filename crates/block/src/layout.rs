//! The layout of an erase unit, and addresses of units.
//!
//! ```text
//! | header | payload: granules of one read unit each | footer |
//! ```
//!
//! A block fills one unit and is written with one request. The header names the block and carries a checksum of every
//! granule of the payload; the footer repeats the header, so that damage at one end loses neither. `docs/layout.md`
//! lists the bytes.

use flashlane_base::units::exact_bytes;
use flashlane_device::{DeviceInfo, Lane};

/// Bytes of a header before the checksums of its granules.
pub(crate) const FIXED_BYTES: u64 = 72;
/// Smallest header: a superblock with room for 20 retired units.
const HEADER_BYTES_MIN: u64 = 256;

/// The address of an erase unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitAddress {
    /// The lane.
    pub lane: u32,
    /// The unit on the lane, from 0.
    pub unit: u32,
}

impl UnitAddress {
    /// Returns the lane as the device names it.
    pub fn device_lane(self) -> Lane {
        Lane(self.lane)
    }
}

/// The third of the device in which a copy of the superblock is preferred, so that damage to one region leaves the
/// other copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    /// The first third.
    Front,
    /// The last third.
    Back,
}

impl Region {
    /// Returns how many units `address` lies outside the region, 0 inside it. Units are numbered as `lanes` lays them
    /// out over a file: unit 0 of each lane, then unit 1 of each.
    pub(crate) fn distance(self, address: UnitAddress, layout: &Layout) -> u64 {
        let number = u64::from(address.unit) * u64::from(layout.lanes) + u64::from(address.lane);
        let third = layout.all_units() / 3;
        let from_edge = match self {
            Self::Front => number,
            Self::Back => layout.all_units() - 1 - number,
        };
        (from_edge + 1).saturating_sub(third.max(1))
    }
}

/// The shape of a device, as a superblock records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Lanes.
    pub lanes: u32,
    /// Units on a lane.
    pub units: u32,
    /// Bytes of a unit.
    pub unit_bytes: u64,
    /// Bytes of a read unit.
    pub granule_bytes: u64,
}

impl std::fmt::Display for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lanes, units, unit_bytes, granule_bytes } = self;
        let (unit, granule) = (exact_bytes(*unit_bytes), exact_bytes(*granule_bytes));
        write!(f, "{lanes} lanes of {units} units of {unit}, read in units of {granule}")
    }
}

/// Sizes and counts derived from the properties of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Lanes of the device.
    pub lanes: u32,
    /// Erase units on a lane.
    pub units: u32,
    /// Bytes of an erase unit.
    pub unit_bytes: u64,
    /// Bytes of a granule: the device's read unit, and what one checksum covers.
    pub granule_bytes: u64,
    /// Bytes of a header, and of a footer: whole granules.
    pub header_bytes: u64,
    /// Granules of a payload.
    pub granules: u32,
}

/// Why a device cannot hold blocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    /// It has no erase units.
    #[error(
        "'{device}' has no erase units: blocks need software-defined flash, a zoned drive, or 'lanes(DEVICE)' over \
         another"
    )]
    NoEraseUnits {
        /// The device's name.
        device: String,
    },
    /// It has too few units for a block beside the superblocks.
    #[error("'{device}' has {units} erase units, and at least {least} are needed")]
    TooFewUnits {
        /// The device's name.
        device: String,
        /// Units over all lanes.
        units: u64,
        /// The least.
        least: u64,
    },
    /// A unit is too small, or a read unit too large, for a payload between header and footer.
    #[error(
        "'{device}' has erase units of {} and reads in units of {}: header and footer leave nothing for a block",
        exact_bytes(*unit_bytes), exact_bytes(*read_unit_bytes)
    )]
    UnitsTooSmall {
        /// The device's name.
        device: String,
        /// Bytes of an erase unit.
        unit_bytes: u64,
        /// Bytes of a read unit.
        read_unit_bytes: u64,
    },
    /// More units on a lane than a 32-bit number addresses.
    #[error("'{device}' has {units} erase units on a lane, and at most {most} can be addressed")]
    TooManyUnits {
        /// The device's name.
        device: String,
        /// Units of a lane.
        units: u64,
        /// The most.
        most: u64,
    },
}

impl Layout {
    /// Units never given to blocks: two for the copies of the superblock, two for the copies that replace them.
    pub const RESERVED_UNITS: u64 = 4;

    /// Returns the layout of a device with these properties.
    ///
    /// # Errors
    /// [`Unsuitable`] where it cannot hold blocks.
    pub fn new(info: &DeviceInfo) -> Result<Self, Unsuitable> {
        let device = || info.name.clone();
        let (unit_bytes, granule_bytes) = (info.erase_unit_bytes, info.read_unit_bytes);
        if unit_bytes == 0 {
            return Err(Unsuitable::NoEraseUnits { device: device() });
        }
        let units = info.capacity_bytes / unit_bytes;
        let most = u64::from(u32::MAX);
        if units > most {
            return Err(Unsuitable::TooManyUnits { device: device(), units, most });
        }
        let (all, least) = (units * u64::from(info.lanes), Self::RESERVED_UNITS + 1);
        if all < least {
            return Err(Unsuitable::TooFewUnits { device: device(), units: all, least });
        }
        // Header and footer also take granules, so fewer checksums are needed than counted here: the result is at most
        // one granule below the optimum.
        let in_unit = unit_bytes / granule_bytes;
        let header_granules = (FIXED_BYTES + 4 * in_unit).max(HEADER_BYTES_MIN).div_ceil(granule_bytes);
        let granules = in_unit.saturating_sub(2 * header_granules);
        if granules == 0 || granules > most {
            let (unit_bytes, read_unit_bytes) = (unit_bytes, granule_bytes);
            return Err(Unsuitable::UnitsTooSmall { device: device(), unit_bytes, read_unit_bytes });
        }
        Ok(Self {
            lanes: info.lanes,
            units: units as u32,
            unit_bytes,
            granule_bytes,
            header_bytes: header_granules * granule_bytes,
            granules: granules as u32,
        })
    }

    /// Returns the most bytes of user data in a block.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.granules) * self.granule_bytes
    }

    /// Returns the offset of the footer in a unit.
    pub fn footer_offset(&self) -> u64 {
        self.header_bytes + self.block_bytes()
    }

    /// Returns the number of erase units on all lanes.
    pub fn all_units(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.units)
    }

    /// Returns the offset of a unit on its lane.
    pub(crate) fn unit_offset(&self, unit: u32) -> u64 {
        u64::from(unit) * self.unit_bytes
    }

    /// Returns the shape that a superblock records.
    pub(crate) fn geometry(&self) -> Geometry {
        let &Self { lanes, units, unit_bytes, granule_bytes, .. } = self;
        Geometry { lanes, units, unit_bytes, granule_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_device::{Device, NullDevice};
    use flashlane_device_testing::MemoryLanes;

    fn info(lanes: u32, units: u64, unit_bytes: u64, read_unit_bytes: u64) -> DeviceInfo {
        let small = MemoryLanes::new(1, 1, unit_bytes, read_unit_bytes, Seed(1)).info().clone();
        DeviceInfo { lanes, capacity_bytes: units * unit_bytes, ..small }
    }

    #[test]
    fn header_and_footer_take_one_read_unit_each_of_8_mib() {
        let layout = Layout::new(&info(44, 2048, 8 << 20, 8 << 10)).unwrap();
        assert_eq!(layout.header_bytes, 8 << 10);
        assert_eq!(layout.block_bytes(), (8 << 20) - (16 << 10));
        assert_eq!(layout.footer_offset() + layout.header_bytes, 8 << 20);
        assert_eq!(layout.all_units(), 44 * 2048);
    }

    #[test]
    fn header_has_room_for_the_checksums_of_any_unit_size() {
        for (unit_bytes, read_unit_bytes) in [(4096, 512), (8 << 20, 512), (8 << 20, 4096), (10_240, 512)] {
            let layout = Layout::new(&info(4, 8, unit_bytes, read_unit_bytes)).unwrap();
            assert!(layout.header_bytes >= FIXED_BYTES + 4 * u64::from(layout.granules), "{layout:?}");
            assert!(layout.footer_offset() + layout.header_bytes <= unit_bytes, "{layout:?}");
        }
    }

    #[test]
    fn refusal_names_what_makes_a_device_unsuitable() {
        let refusal = |info: &DeviceInfo| Layout::new(info).unwrap_err().to_string();
        assert!(refusal(NullDevice::new(1 << 20).info()).contains("'lanes(DEVICE)'"));
        assert!(refusal(&info(1, 4, 4096, 512)).contains("has 4 erase units, and at least 5"));
        assert!(refusal(&info(1, 64, 4096, 4096)).contains("leave nothing for a block"));
    }
}
