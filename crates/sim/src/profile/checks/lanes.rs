//! Software-defined flash: sizes of stripes and units, and what has no meaning beside `[lanes]`.

use crate::config::refusal::{Refusal, range, require};
use crate::config::{DriveConfig, InitialState, LanesConfig};
use flashlane_base::units::exact_bytes;

/// Fields in no section that have no meaning beside `[lanes]`.
pub(in crate::profile) const WITHOUT: &[&str] = &["sector", "over_provisioning"];

/// Checks a drive with lanes. Requires: counts and sizes of the flash are in range.
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
    let row = page * flash.planes_per_channel();
    require((row..1 << 40).contains(&lanes.window.0), "lanes.window", || {
        let (given, row) = (exact_bytes(lanes.window.0), exact_bytes(row));
        format!("it is {given}; allowed: from {row}, a page of each plane of a channel, to 1 TiB")
    })?;
    capacity(config)?;
    require(config.wear.policy != "static", "wear.policy", || {
        "it is 'static', which moves data that is not written; allowed beside [lanes]: 'none' or 'dynamic'"
            .into()
    })?;
    require(config.initial.state != InitialState::Fragmented, "initial.state", || {
        "it is 'fragmented'; allowed beside [lanes]: 'fresh' or 'full', since units are whole blocks".into()
    })
}

fn capacity(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    let unit = flash.channel_block_bytes();
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
