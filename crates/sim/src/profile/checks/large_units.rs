//! Mapping units larger than a flash page: their sizes, and what does not go with them.

use super::exclusions;
use crate::config::refusal::{Refusal, require};
use crate::config::section::{Exclusions, Other};
use crate::config::{DriveConfig, Rebuilding};
use flashlane_base::units::exact_bytes;

/// The most pages of a unit, of which each has a whole part of the unit's 64.
const MOST_PAGES: u64 = 64;
const MOST_BYTES: u64 = 1 << 20;

/// Whether a mapping unit is a number of pages that is allowed, above one. Requires: a page is above 0.
pub(super) fn is_large(config: &DriveConfig) -> bool {
    let (unit, page) = (config.mapping.unit.unwrap_or(config.flash.page).0, config.flash.page.0);
    let pages = unit / page;
    unit.is_multiple_of(page)
        && pages.is_power_of_two()
        && (2..=MOST_PAGES).contains(&pages)
        && unit <= MOST_BYTES
}

/// Checks what goes with them, where there are some.
pub(super) fn validate(config: &DriveConfig) -> Result<(), Refusal> {
    if !is_large(config) {
        return Ok(());
    }
    let (unit, page) = (config.mapping.unit.unwrap_or_default().0, config.flash.page.0);
    let reason = format!("mapping.unit is {}, larger than a page; allowed with it", exact_bytes(unit));
    let only = |holds: bool, field: &'static str, allowed: &str| {
        require(holds, field, || format!("{reason}: {allowed}"))
    };
    let others = &[
        Other::BlockMapping,
        Other::Section("mapping.cache"),
        Other::Section("replication"),
        Other::Summaries,
    ];
    let maps_blocks = config.mapping.translation != "page";
    exclusions::check(config, maps_blocks, &Exclusions { reason: reason.clone(), others })?;
    only(config.mapping.rebuild == Rebuilding::None, "mapping.rebuild", "only 'none'")?;
    only(!config.cleaning.multi_plane, "cleaning.multi_plane", "only false")?;
    only(config.flash.cell.is_none(), "flash.cell", "none")?;
    only(config.compat.disksim.summary.is_none(), "compat.disksim.summary", "none")?;
    only(
        u64::from(config.flash.pages).is_multiple_of(unit / page),
        "flash.pages",
        "a multiple of the pages of a unit",
    )?;
    let holds_one = |bytes: u64| bytes >= unit;
    only(
        config.buffer.as_ref().is_none_or(|buffer| holds_one(buffer.size.0)),
        "buffer.size",
        "at least a unit",
    )?;
    let window = config.readahead.as_ref().map(|readahead| readahead.window.0);
    only(window.is_none_or(holds_one), "readahead.window", "at least a unit")
}
