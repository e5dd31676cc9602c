//! Where things lie in an erase unit.
//!
//! ```text
//! | header | payload: granules of one read unit each | footer |
//! ```
//!
//! A block fills one unit and is written at once. The header tells whose the unit is and carries a checksum of every
//! granule of the payload; the footer is the header again, so that damage at one place loses neither. `docs/layout.md`
//! has the bytes.

use flashlane_base::units::exact_bytes;
use flashlane_device::Profile;

/// Bytes of a header before the checksums of its granules.
pub(crate) const FIXED_BYTES: u64 = 72;
/// The least bytes of a header: what a superblock needs, a few retired units included.
const LEAST_HEADER_BYTES: u64 = 256;

/// Sizes and counts that follow from a device's profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Lanes of the device.
    pub lanes: u32,
    /// Erase units of a lane.
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
    /// It has too few units to hold anything beside the superblocks.
    #[error("'{device}' has {units} erase units, and at least {least} are needed")]
    TooFewUnits {
        /// The device's name.
        device: String,
        /// Units over all lanes.
        units: u64,
        /// The least.
        least: u64,
    },
    /// A unit is too small, or a read unit too large, for anything beside header and footer.
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
    /// More units on a lane than 32 bits count.
    #[error("'{device}' has {units} erase units on a lane, and at most {most} can be told apart")]
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
    /// Units that are never given to blocks: two for the copies of the superblock, two for the next ones.
    pub const RESERVED_UNITS: u64 = 4;

    /// The layout of a device with this profile.
    ///
    /// # Errors
    /// [`Unsuitable`] where it cannot hold blocks.
    pub fn new(profile: &Profile) -> Result<Self, Unsuitable> {
        let device = || profile.name.clone();
        let (unit_bytes, granule_bytes) = (profile.erase_unit_bytes, profile.read_unit_bytes);
        if unit_bytes == 0 {
            return Err(Unsuitable::NoEraseUnits { device: device() });
        }
        let units = profile.capacity_bytes / unit_bytes;
        let most = u64::from(u32::MAX);
        if units > most {
            return Err(Unsuitable::TooManyUnits { device: device(), units, most });
        }
        let (all, least) = (units * u64::from(profile.lanes), Self::RESERVED_UNITS + 1);
        if all < least {
            return Err(Unsuitable::TooFewUnits { device: device(), units: all, least });
        }
        // Checksums of fewer granules need a smaller header, which leaves room for more granules: the first answer is
        // at most a granule from the best, and it is simple.
        let in_unit = unit_bytes / granule_bytes;
        let header_granules = (FIXED_BYTES + 4 * in_unit).max(LEAST_HEADER_BYTES).div_ceil(granule_bytes);
        let granules = in_unit.saturating_sub(2 * header_granules);
        if granules == 0 || granules > most {
            let (unit_bytes, read_unit_bytes) = (unit_bytes, granule_bytes);
            return Err(Unsuitable::UnitsTooSmall { device: device(), unit_bytes, read_unit_bytes });
        }
        Ok(Self {
            lanes: profile.lanes,
            units: units as u32,
            unit_bytes,
            granule_bytes,
            header_bytes: header_granules * granule_bytes,
            granules: granules as u32,
        })
    }

    /// Bytes of user data that a block holds at most.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.granules) * self.granule_bytes
    }

    /// Where the footer begins in a unit.
    pub fn footer_offset(&self) -> u64 {
        self.header_bytes + self.block_bytes()
    }

    /// Erase units over all lanes.
    pub fn all_units(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_device::{Device, NullDevice};
    use flashlane_device_testing::MemoryLanes;

    fn profile(lanes: u32, units: u64, unit_bytes: u64, read_unit_bytes: u64) -> Profile {
        let small = MemoryLanes::new(1, 1, unit_bytes, read_unit_bytes, Seed(1)).profile().clone();
        Profile { lanes, capacity_bytes: units * unit_bytes, ..small }
    }

    #[test]
    fn of_eight_mebibytes_two_read_units_are_not_the_users() {
        let layout = Layout::new(&profile(44, 2048, 8 << 20, 8 << 10)).unwrap();
        assert_eq!(layout.header_bytes, 8 << 10);
        assert_eq!(layout.block_bytes(), (8 << 20) - (16 << 10));
        assert_eq!(layout.footer_offset() + layout.header_bytes, 8 << 20);
        assert_eq!(layout.all_units(), 44 * 2048);
    }

    #[test]
    fn header_and_footer_hold_what_they_must_whatever_the_units() {
        for (unit_bytes, read_unit_bytes) in [(4096, 512), (8 << 20, 512), (8 << 20, 4096), (10_240, 512)] {
            let layout = Layout::new(&profile(4, 8, unit_bytes, read_unit_bytes)).unwrap();
            assert!(layout.header_bytes >= FIXED_BYTES + 4 * u64::from(layout.granules), "{layout:?}");
            assert!(layout.footer_offset() + layout.header_bytes <= unit_bytes, "{layout:?}");
        }
    }

    #[test]
    fn what_cannot_hold_blocks_is_told_why() {
        let refusal = |profile: &Profile| Layout::new(profile).unwrap_err().to_string();
        assert!(refusal(NullDevice::new(1 << 20).profile()).contains("'lanes(DEVICE)'"));
        assert!(refusal(&profile(1, 4, 4096, 512)).contains("has 4 erase units, and at least 5"));
        assert!(refusal(&profile(1, 64, 4096, 4096)).contains("leave nothing for a block"));
    }
}
