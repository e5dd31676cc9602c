//! Software-defined flash as a profile has it: the section `[lanes]`, which stands in place of those of a translation
//! layer, and what such a drive cannot be.

use super::refusal::{Refusal, range, require};
use super::{Bytes, DriveConfig, Share};
use flashlane_base::units::exact_bytes;
use serde::Deserialize;

impl DriveConfig {
    /// Returns the number of lanes that the device has: 1 where it has a translation layer.
    pub fn lane_count(&self) -> u32 {
        if self.lanes.is_some() { self.flash.channels } else { 1 }
    }
}

/// Sections and fields of a drive that hides its flash: none of them has a meaning beside `[lanes]`.
pub(super) const CONVENTIONAL: &[&str] =
    &["sector", "over_provisioning", "readahead", "buffer", "mapping", "cleaning", "compat"];

/// Every channel shown to software as a lane.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanesConfig {
    /// Bytes of a unit that lie on one plane before the next plane's begin: whole pages, and a whole fraction of an
    /// erase block, which is the default.
    pub stripe: Option<Bytes>,
    /// Smallest unit of a read: a whole fraction of the page, which is the default.
    pub read_unit: Option<Bytes>,
    /// What of one request is on its way between host and flash at once: at least a page of each of a channel's planes.
    pub window: Bytes,
    /// Share of the erases of a block that fail, on a block at the end of its endurance; in proportion to its wear
    /// before. Where endurance is unlimited, the share on every block.
    #[serde(default)]
    pub erase_failures: Share,
    /// Share of the times that a block is written in which one of its programs fails, on a worn block as above.
    #[serde(default)]
    pub write_failures: Share,
}

/// The planes of a channel, whose blocks make up a unit.
pub(crate) fn planes_per_lane(config: &DriveConfig) -> u64 {
    let flash = &config.flash;
    u64::from(flash.packages) * u64::from(flash.dies) * u64::from(flash.planes)
}

/// Bytes of a unit.
pub(crate) fn unit_bytes(config: &DriveConfig) -> u64 {
    config.flash.page.0 * u64::from(config.flash.pages) * planes_per_lane(config)
}

/// Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, lanes: &LanesConfig) -> Result<(), Refusal> {
    let (flash, link) = (&config.flash, &config.link);
    for (field, is) in [
        ("host.completion", config.host.completion != Default::default()),
        ("link.page_command", link.page_command != Default::default()),
        ("link.read_write_exclusion", link.read_write_exclusion),
        ("link.commands_wait", link.commands_wait != Default::default()),
    ] {
        require(!is, field, || "it is not modelled beside [lanes]; allowed: leave it away".into())?;
    }
    let page = flash.page.0;
    let block = page * u64::from(flash.pages);
    let stripe = lanes.stripe.map_or(block, |stripe| stripe.0);
    require(
        stripe > 0 && stripe.is_multiple_of(page) && block.is_multiple_of(stripe),
        "lanes.stripe",
        || {
            let (stripe, page, block) = (exact_bytes(stripe), exact_bytes(page), exact_bytes(block));
            format!(
                "it is {stripe}; allowed: whole pages of {page} by which the erase block of {block} can be divided"
            )
        },
    )?;
    let read_unit = lanes.read_unit.map_or(page, |unit| unit.0);
    require(read_unit > 0 && page.is_multiple_of(read_unit), "lanes.read_unit", || {
        let (given, page) = (exact_bytes(read_unit), exact_bytes(page));
        format!("it is {given}; allowed: a size by which the page of {page} can be divided")
    })?;
    let row = page * planes_per_lane(config);
    require((row..1 << 40).contains(&lanes.window.0), "lanes.window", || {
        let (given, row) = (exact_bytes(lanes.window.0), exact_bytes(row));
        format!("it is {given}; allowed: from {row}, a page of each plane of a channel, to 1 TiB")
    })?;
    capacity(config)?;
    require(config.wear.policy != "static", "wear.policy", || {
        "it is 'static', which moves data that is not written; allowed beside [lanes]: 'none' or 'dynamic'"
            .into()
    })?;
    require(config.initial.state != super::InitialState::Fragmented, "initial.state", || {
        "it is 'fragmented'; allowed beside [lanes]: 'fresh' or 'full', since units are whole blocks".into()
    })
}

fn capacity(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    let unit = unit_bytes(config);
    let step = unit * u64::from(flash.channels);
    require(config.capacity.0 > 0 && config.capacity.0.is_multiple_of(step), "capacity", || {
        format!(
            "it is {}; allowed beside [lanes]: a multiple of {}, a unit of {} on each of {} channels",
            exact_bytes(config.capacity.0),
            exact_bytes(step),
            exact_bytes(unit),
            flash.channels
        )
    })?;
    let units = config.capacity.0 / step;
    range("flash.blocks", flash.blocks, units.min(u64::from(u32::MAX)) as u32, 1 << 20)
}
