//! Over-provisioning: the flash beyond the capacity, as a share of the capacity.

use crate::config::refusal::{Refusal, require};
use crate::config::{Bytes, DriveConfig};
use crate::ftl::scheme_registry;
use crate::nand::Geometry;
use flashlane_device::{FreeOutOfReach, OverProvisioning, OverProvisioningChange};

impl DriveConfig {
    /// `(flash - capacity) / capacity`, where flash is all that can hold the host's data: without pages for summaries
    /// and parity, but with blocks that are bad from the start. `None` for devices with erase units, which move no
    /// data.
    pub fn over_provisioning(&self) -> Option<f64> {
        let capacity = self.capacity.0;
        (!self.has_erase_units() && capacity > 0)
            .then(|| flash_bytes(self).saturating_sub(capacity) as f64 / capacity as f64)
    }

    /// The over-provisioning of a drive with a translation layer, as the drive reports it.
    ///
    /// # Panics
    /// Where the profile is not validated.
    pub fn reserve(&self) -> Option<OverProvisioning> {
        let share = self.over_provisioning()?;
        Some(OverProvisioning {
            share,
            change: self.over_provisioning_change,
            out_of_reach: self.free_out_of_reach(),
        })
    }

    /// `cleaning.high`, where that many blocks cannot be free once the capacity is written. Not known where whole
    /// blocks are mapped: it is a share of their log there.
    fn free_out_of_reach(&self) -> Option<FreeOutOfReach> {
        let high = self.cleaning.high.0;
        if self.has_erase_units() || self.mapping.translation != "page" || high <= self.cleaning.low.0 {
            return None;
        }
        let geometry = Geometry::new(self).of_superblocks();
        let data_blocks = geometry.stored_units_per_plane().div_ceil(geometry.data_units);
        let good = geometry.blocks_per_plane - geometry.factory_bad_per_plane;
        let (most, blocks) = (good.saturating_sub(data_blocks), f64::from(geometry.blocks_per_plane));
        ((high * blocks) as u32 > most)
            .then(|| FreeOutOfReach { wanted_share: high, most_share: f64::from(most) / blocks })
    }

    /// Blocks that a plane needs beyond those of its data: free ones that GC keeps, open ones, log blocks. None for
    /// devices with erase units.
    ///
    /// # Panics
    /// Where the profile is not validated.
    pub fn spare_blocks_per_plane(&self) -> u32 {
        if self.has_erase_units() {
            return 0;
        }
        let geometry = Geometry::new(self).of_superblocks();
        scheme_registry::of(self, &geometry).spare_blocks(&geometry)
    }
}

/// The flash beyond the capacity of a drive with a translation layer.
struct Reserve {
    share: f64,
    flash_bytes: u64,
}

impl Reserve {
    /// Returns `None` for software-defined flash.
    ///
    /// Requires: counts and sizes of the flash are in range.
    fn of(config: &DriveConfig) -> Option<Self> {
        Some(Self { share: config.over_provisioning()?, flash_bytes: flash_bytes(config) })
    }
}

/// Returns how settings changed the over-provisioning of a profile: `of_file` is the profile's own drive, `config` the
/// one with settings, of which `set` are in no section. `None` where over-provisioning itself is set, or is as before.
///
/// Requires: both are checked.
pub(super) fn change(
    of_file: &DriveConfig,
    config: &DriveConfig,
    set: &[&str],
) -> Option<OverProvisioningChange> {
    if set.contains(&"over_provisioning") {
        return None;
    }
    let (before, now) = (Reserve::of(of_file)?, Reserve::of(config)?);
    let is_of_capacity = set.contains(&"capacity");
    // With a change of the flash, the capacity beside it confirms the reserve.
    let is_confirmed = is_of_capacity && now.flash_bytes != before.flash_bytes;
    (now.share != before.share && !is_confirmed)
        .then_some(OverProvisioningChange { profile_share: before.share, is_of_capacity })
}

/// Requires: counts and sizes of the flash are in range.
fn flash_bytes(config: &DriveConfig) -> u64 {
    let flash = Geometry::new(config).of_superblocks();
    u64::from(flash.planes)
        * u64::from(flash.blocks_per_plane)
        * u64::from(flash.data_units)
        * flash.unit_bytes
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

/// Returns the largest capacity for which `fits` holds, rounded down to three digits or more, and the least
/// over-provisioning, in percent and rounded up to a tenth, that leaves no more. `None` where no capacity fits.
///
/// Requires: where a capacity fits, smaller ones do; counts and sizes of the flash are in range.
pub(super) fn largest_capacity(
    config: &DriveConfig,
    fits: impl Fn(&DriveConfig) -> bool,
) -> Option<(u64, f64)> {
    let sector = config.sector.0;
    let mut config = config.clone();
    let flash_bytes = flash_bytes(&config);
    let mut fits = |sectors: u64| {
        config.capacity = Bytes(sectors * sector);
        fits(&config)
    };
    // The most sectors that are known to fit, and the fewest that are not.
    let (mut fitting, mut beyond) = (0, flash_bytes / sector + 1);
    while fitting + 1 < beyond {
        let middle = fitting + (beyond - fitting) / 2;
        match fits(middle) {
            true => fitting = middle,
            false => beyond = middle,
        }
    }
    let most = fitting * sector;
    let unit = [1 << 30, 1 << 20, 1 << 10].into_iter().find(|unit| most / unit >= 100).unwrap_or(1);
    let unit = unit.max(sector);
    let rounded = most / unit * unit;
    let share = (flash_bytes as f64 / most as f64 - 1.0) * 1000.0;
    (rounded > 0).then(|| (rounded, share.ceil() / 10.0))
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
