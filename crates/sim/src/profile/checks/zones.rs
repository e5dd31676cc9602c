//! Zoned drives: sizes that must divide each other, limits, and what has no meaning beside `[zones]`.

use crate::config::refusal::{Refusal, range, require};
use crate::config::{DriveConfig, InitialState, ZonesConfig};
use flashlane_base::units::exact_bytes;

/// Fields in no section that have no meaning beside `[zones]`.
pub(in crate::profile) const WITHOUT: &[&str] = &["over_provisioning"];

/// Checks a drive with zones. Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, zones: &ZonesConfig) -> Result<(), Refusal> {
    let link = &config.link;
    for (field, is) in [
        ("link.page_command", link.page_command != Default::default()),
        ("link.read_write_exclusion", link.read_write_exclusion),
        ("link.commands_wait", link.commands_wait != Default::default()),
    ] {
        require(!is, field, || "it is not modelled beside [zones]; allowed: leave it away".into())?;
    }
    require(config.flash.factory_bad.0 == 0.0, "flash.factory_bad", || {
        "zones have no spare blocks; allowed beside [zones]: 0%".into()
    })?;
    require(config.host.completion == Default::default(), "host.completion", || {
        "it is not modelled beside [zones]; allowed: leave it away".into()
    })?;
    cells(config)?;
    require(config.initial.state != InitialState::Fragmented, "initial.state", || {
        "it is 'fragmented'; allowed beside [zones]: 'fresh' or 'full', since zones are written in order"
            .into()
    })?;
    sizes(config, zones)?;
    counts(config, zones)?;
    limits(zones)
}

/// Checks page types. What is programmed at once needs no buffer beside that of the zone.
fn cells(config: &DriveConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    let Some(cell) = flash.cell else { return super::cells::without_cells(config) };
    for (field, times) in
        [("flash.read_by_type", &flash.read_by_type), ("flash.program_by_type", &flash.program_by_type)]
    {
        require(times.is_empty() || times.len() as u32 == cell.bits(), field, || {
            format!("it has {} times; allowed with flash.cell: {}", times.len(), cell.bits())
        })?;
    }
    let at_once = flash.pages_per_program();
    require(at_once == 1 || flash.program_by_type.is_empty(), "flash.program_by_type", || {
        "all pages of a word line are programmed at once, in flash.program; allowed with it: flash.programming = 'page'"
            .into()
    })?;
    require(flash.pages.is_multiple_of(at_once), "flash.pages", || {
        format!("it is {}; allowed: whole word lines of {at_once} pages", flash.pages)
    })?;
    require(flash.page.0 * u64::from(at_once) <= 1 << 20, "flash.page", || {
        "all pages of a word line are programmed at once (flash.programming); allowed: word lines of up to 1 MiB".into()
    })
}

fn sizes(config: &DriveConfig, zones: &ZonesConfig) -> Result<(), Refusal> {
    let (flash, capacity) = (&config.flash, zones.capacity.0);
    require(capacity > 0 && capacity.is_multiple_of(flash.page.0), "zones.capacity", || {
        let (given, page) = (exact_bytes(capacity), exact_bytes(flash.page.0));
        format!("it is {given}; allowed: a positive multiple of the flash page of {page}")
    })?;
    let size = zones.size.map_or(capacity, |size| size.0);
    require(capacity <= size, "zones.capacity", || {
        let (given, size) = (exact_bytes(capacity), exact_bytes(size));
        format!("it is {given}; allowed: at most zones.size, {size}")
    })?;
    require(config.capacity.0 > 0 && config.capacity.0.is_multiple_of(capacity), "capacity", || {
        let (given, zone) = (exact_bytes(config.capacity.0), exact_bytes(capacity));
        format!("it is {given}; allowed: whole zones of {zone} (zones.capacity)")
    })?;
    let at_once = config.program_bytes();
    require((at_once..1 << 40).contains(&zones.buffer.0), "zones.buffer", || {
        let (given, least) = (exact_bytes(zones.buffer.0), exact_bytes(at_once));
        format!("it is {given}; allowed: from {least}, which are programmed at once, to 1 TiB")
    })
}

fn counts(config: &DriveConfig, zones: &ZonesConfig) -> Result<(), Refusal> {
    let flash = &config.flash;
    let dies = flash.channels * flash.packages * flash.dies;
    let of_zone = zones.dies.unwrap_or(dies);
    require(of_zone > 0 && dies.is_multiple_of(of_zone), "zones.dies", || {
        format!("it is {of_zone}; allowed: a number by which the {dies} dies can be divided")
    })?;
    let groups = u64::from(dies / of_zone);
    let count = config.capacity.0 / zones.capacity.0;
    require(count < 1 << 24, "zones.capacity", || {
        format!("there are {count} zones; allowed: fewer than 16777216")
    })?;
    let lanes = zones.lanes.map_or(groups, u64::from);
    require(lanes > 0 && count.is_multiple_of(lanes), "zones.lanes", || {
        format!("it is {lanes}; allowed: a number by which the {count} zones can be divided")
    })?;
    let block = flash.page.0 * u64::from(flash.pages) * u64::from(flash.planes) * u64::from(of_zone);
    let blocks = count.div_ceil(groups) * zones.capacity.0.div_ceil(block);
    range("flash.blocks", flash.blocks, blocks.min(u64::from(u32::MAX)) as u32, 1 << 20)
}

fn limits(zones: &ZonesConfig) -> Result<(), Refusal> {
    for (field, limit) in [("zones.max_open", zones.max_open), ("zones.max_active", zones.max_active)] {
        require(limit != Some(0), field, || {
            "it is 0; allowed: at least 1, or none given where there is no limit".into()
        })?;
    }
    let (open, active) = (zones.max_open, zones.max_active);
    require(open.zip(active).is_none_or(|(open, active)| open <= active), "zones.max_open", || {
        let (open, active) = (open.unwrap_or(0), active.unwrap_or(0));
        format!("it is {open}; allowed: at most zones.max_active, {active}, since open zones are active")
    })
}
