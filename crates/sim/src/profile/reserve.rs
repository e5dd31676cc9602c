//! Over-provisioning: the flash beyond the capacity, as a share of the capacity.

use crate::config::refusal::{Refusal, require};
use crate::config::{Bytes, DriveConfig};
use crate::ftl::schemes;
use crate::nand::Geometry;

impl DriveConfig {
    /// `(flash - capacity) / capacity`, where flash is all that can hold the host's data: without pages for summaries and
    /// parity, but with blocks that are bad from the start. `None` for software-defined flash, which moves no data.
    pub fn over_provisioning(&self) -> Option<f64> {
        let capacity = self.capacity.0;
        (self.lanes.is_none() && capacity > 0)
            .then(|| flash_bytes(self).saturating_sub(capacity) as f64 / capacity as f64)
    }

    /// Blocks that a plane needs beyond those of its data: free ones that GC keeps, open ones, log blocks. None for
    /// software-defined flash.
    ///
    /// # Panics
    /// Where the profile is not validated.
    pub fn spare_blocks_per_plane(&self) -> u32 {
        if self.lanes.is_some() {
            return 0;
        }
        let geometry = Geometry::new(self).of_superblocks();
        schemes::of(self, &geometry).spare_blocks(&geometry)
    }
}

/// The flash beyond the capacity of a drive with a translation layer.
pub(super) struct Reserve {
    pub(super) share: f64,
    pub(super) flash_bytes: u64,
}

impl Reserve {
    /// Returns `None` for software-defined flash.
    ///
    /// Requires: counts and sizes of the flash are in range.
    pub(super) fn of(config: &DriveConfig) -> Option<Self> {
        Some(Self { share: config.over_provisioning()?, flash_bytes: flash_bytes(config) })
    }
}

/// Requires: counts and sizes of the flash are in range.
fn flash_bytes(config: &DriveConfig) -> u64 {
    let flash = Geometry::new(config).of_superblocks();
    u64::from(flash.planes) * u64::from(flash.blocks) * u64::from(flash.data_units) * flash.unit_bytes
}

/// Sets the capacity of a profile that gives over-provisioning instead, in whole sectors.
///
/// Requires: counts and sizes of the flash are in range.
pub(super) fn set_capacity(config: &mut DriveConfig) {
    if let Some(share) = config.over_provisioning {
        let capacity = (flash_bytes(config) as f64 / (1.0 + share.0)) as u64;
        config.capacity = Bytes(capacity / config.sector.0 * config.sector.0);
    }
}

/// Removes from `table` the one of capacity and over-provisioning that does not apply: a setting replaces the file's.
pub(super) fn choose_one(table: &mut toml::Table, set: &[&str]) -> Result<(), Refusal> {
    let (capacity, over_provisioning) = ("capacity", "over_provisioning");
    let both = |has: &dyn Fn(&str) -> bool| has(capacity) && has(over_provisioning);
    let is_set = |field: &str| set.contains(&field);
    if !both(&is_set) {
        for (field, other) in [(capacity, over_provisioning), (over_provisioning, capacity)] {
            if is_set(field) {
                table.remove(other);
            }
        }
    }
    require(!both(&|field| table.contains_key(field)), over_provisioning, || {
        "capacity is given too, and each follows from the other; allowed: one of capacity and over_provisioning".into()
    })?;
    require(table.contains_key(capacity) || table.contains_key(over_provisioning), capacity, || {
        "it is missing; allowed: a size, or over_provisioning in its place, from which it follows".into()
    })
}
