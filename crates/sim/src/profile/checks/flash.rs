//! The flash array: sizes that must fit each other, and its number of mapping units.

use super::large_units;
use crate::config::refusal::{Refusal, require};
use crate::config::{Bytes, DriveConfig};
use flashlane_base::units::exact_bytes;

/// The most mapping units that a drive may have: their numbers are 32 bits, with one value kept for "none".
const MOST_UNITS: u64 = u32::MAX as u64 - 1;

/// Checks sector and page.
pub(super) fn page(config: &DriveConfig) -> Result<(), Refusal> {
    let (sector, page) = (config.sector.0, config.flash.page.0);
    require(sector.is_power_of_two() && (512..=65536).contains(&sector), "sector", || {
        format!("it is {}; allowed: a power of two from 512 B to 64 KiB", exact_bytes(sector))
    })?;
    require(page.is_multiple_of(sector) && page > 0 && page <= 1 << 20, "flash.page", || {
        format!(
            "it is {}; allowed: a multiple of the sector of {}, up to 1 MiB",
            exact_bytes(page),
            exact_bytes(sector)
        )
    })
}

/// Checks the array's numbers of planes and mapping units. Requires: counts are in range, and [`page`] holds.
pub(super) fn sizes(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    let planes = u64::from(flash.channels) * u64::from(flash.packages * flash.dies * flash.planes);
    require(planes <= 1 << 16, "flash.channels", || {
        format!("channels * packages * dies * planes is {planes}; allowed: at most 65536")
    })?;
    let unit = config.mapping.unit.unwrap_or(flash.page).0;
    let is_fraction = unit > 0 && flash.page.0.is_multiple_of(unit) && unit.is_multiple_of(config.sector.0);
    require(is_fraction || large_units::is_large(config), "mapping.unit", || {
        format!(
            "it is {}; allowed: a whole fraction of the flash page of {} in whole sectors, or 2, 4, 8, 16, 32 or 64 pages, up \
             to 1 MiB",
            exact_bytes(unit),
            exact_bytes(flash.page.0)
        )
    })?;
    large_units::validate(config)?;
    require(flash.spare.0 <= flash.page.0, "flash.spare", || {
        let (given, page) = (exact_bytes(flash.spare.0), exact_bytes(flash.page.0));
        format!("it is {given}; allowed: at most the page of {page}")
    })?;
    let units_of_block = u64::from(flash.pages) * flash.page.0 / unit;
    require(units_of_block < 1 << 15, "flash.pages", || {
        format!("a block has {units_of_block} mapping units; allowed: at most 32767")
    })?;
    let units = planes * u64::from(flash.blocks) * units_of_block;
    require(units <= MOST_UNITS, "flash.blocks", || {
        let larger = unit_with_few_enough(config).map_or_else(String::new, |unit| {
            let chunk =
                if config.mapping.chunk.0.is_multiple_of(unit) { "" } else { ", and mapping.chunk the same" };
            format!(", as with mapping.unit={}{chunk}", exact_bytes(unit).replace(' ', ""))
        });
        format!("the drive has {units} mapping units; allowed: at most {MOST_UNITS}{larger}")
    })?;
    let step = flash.suspend_step;
    require(
        step.is_none_or(|step| !step.0.is_zero() && flash.suspend.is_some()),
        "flash.suspend_step",
        || {
            "it says when a program can be suspended; allowed: a time above 0, and only with flash.suspend"
                .into()
        },
    )?;
    require(flash.noise.0 < 1.0, "flash.noise", || "it is 100%; allowed: below 100%".into())
}

/// The smallest mapping unit in bytes, twice the drive's or more, with which it has no more than [`MOST_UNITS`]; `None`
/// where no unit does, or the drive does not map units.
fn unit_with_few_enough(config: &DriveConfig) -> Option<u64> {
    if config.has_erase_units() {
        return None;
    }
    let unit = config.mapping.unit.unwrap_or(config.flash.page);
    let larger = (1..20).map(|doublings| Bytes(unit.0 << doublings));
    let mut fits = larger.filter(|&unit| {
        let mut config = config.clone();
        config.mapping.unit = Some(unit);
        // Of a unit that is a fraction of the page, sizes that are no fraction of it are refused.
        sizes(&config).is_ok()
    });
    fits.next().map(|unit| unit.0)
}
