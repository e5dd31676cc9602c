//! What a drive cannot be: the order of the checks, and which field a refusal names.

mod buffer;
mod cells;
mod cleaning;
mod compat;
mod exclusions;
mod flash;
pub(super) mod lanes;
mod large_units;
mod mapping;
mod policy;
mod readahead;
mod room;
mod superblocks;
pub(super) mod zones;

use super::reserve;
use crate::config::DriveConfig;
use crate::config::refusal::{Refusal, refusals, require};
use crate::ftl::scheme::Scheme;
use crate::nand::Geometry;
use flashlane_base::units::{exact_bytes, format_bytes};

/// Fields that can break the rule of a refusal beside the field that the refusal names.
fn sharing_rule(field: &str) -> Vec<&'static str> {
    match field {
        "flash.channels" => vec!["flash.packages", "flash.dies", "flash.planes"],
        "flash.blocks" => {
            let of_sections = DriveConfig::facts_of_sections().into_iter().flat_map(|facts| facts.room);
            ["capacity", "over_provisioning", "mapping.unit"].iter().chain(of_sections).copied().collect()
        }
        _ => Vec::new(),
    }
}

/// The field to name in the refusal of `field`: the last of those that were set and that the same rule is about, since
/// the profile was a drive without them.
pub(super) fn given<'a>(field: &'a str, set: &'a [String]) -> &'a str {
    if set.iter().any(|name| name == field) {
        return field;
    }
    let shared = sharing_rule(field);
    set.iter().rev().find(|name| shared.contains(&name.as_str())).map_or(field, String::as_str)
}

/// Sets the capacity where it follows from over-provisioning, and returns all that can be found wrong: rules over
/// several settings are checked where each of these is in range.
pub(super) fn complete_and_check(config: &mut DriveConfig) -> Result<(), Vec<Refusal>> {
    let mut found = ranges(config);
    let in_range = found.is_empty();
    if let Some(shown) = &config.lanes {
        let sizes = || {
            cells::without_cells(config)?;
            require(config.flash.cell.is_none(), "flash.cell", || {
                "it is not modelled beside [lanes]; allowed: leave it away".into()
            })?;
            flash::sizes(config).and_then(|()| lanes::validate(config, shown))
        };
        found.extend(in_range.then(sizes).and_then(Result::err));
    } else if let Some(zones) = &config.zones {
        let sizes = || flash::sizes(config).and_then(|()| zones::validate(config, zones));
        found.extend(in_range.then(sizes).and_then(Result::err));
    } else if in_range {
        found.extend(conventional(config));
    }
    found.extend(refusals([cleaning::wear(config), policy::scheduling(config), policy::arbitration(config)]));
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Checks the settings one by one.
fn ranges(config: &DriveConfig) -> Vec<Refusal> {
    let mut found: Vec<Refusal> =
        config.sections().into_iter().flat_map(|(_, section)| section.ranges()).collect();
    found.extend(flash::page(config).err());
    found
}

/// Checks the rules over several settings of a drive with a translation layer. Requires: each is in range.
fn conventional(config: &mut DriveConfig) -> Vec<Refusal> {
    let sizes = [mapping::striping(config), compat::summary(config), flash::sizes(config)];
    let mut found = refusals(sizes);
    if found.is_empty() {
        found = match structure(config) {
            Ok(scheme) => refusals([
                compat::summary_has_pages(config),
                buffer::sizes(config),
                mapping::policies(config).and_then(|()| buffer::policy(config)),
                cleaning::policies(config, scheme.maps_blocks()),
            ]),
            Err(refusal) => vec![refusal],
        };
    }
    found.extend(readahead::validate(config).err());
    found
}

/// Checks the translation layer, sets the capacity that follows from over-provisioning, and checks it: each rule only
/// where those before hold. Requires: sizes fit.
fn structure(config: &mut DriveConfig) -> Result<Scheme, Refusal> {
    let scheme = mapping::translation(config)?;
    superblocks::validate(config, scheme.maps_blocks())?;
    reserve::set_capacity(config);
    cells::validate(config, scheme.maps_blocks())?;
    let array = config.array_size();
    for (_, section) in config.sections() {
        if let Some(excluded) = section.exclusions() {
            exclusions::check(config, scheme.maps_blocks(), &excluded)?;
        }
        section.check(&array, &config.policies)?;
    }
    capacity(config, &scheme)?;
    Ok(scheme)
}

fn capacity(config: &DriveConfig, scheme: &Scheme) -> Result<(), Refusal> {
    let capacity = config.capacity.0;
    require(capacity > 0 && capacity.is_multiple_of(config.sector.0), "capacity", || {
        format!(
            "it is {}; allowed: a positive multiple of the sector of {}",
            exact_bytes(capacity),
            exact_bytes(config.sector.0)
        )
    })?;
    config.cleaning.watermark()?;
    let (needed, good) = blocks_of_plane(config, scheme);
    require(needed <= good, "flash.blocks", || {
        let of_share = config.over_provisioning.map(|share| {
            format!(
                "{}, which follows from an over_provisioning of {}%,",
                format_bytes(capacity),
                (share.0 * 1e6).round() / 1e4
            )
        });
        let fits = |config: &DriveConfig| {
            let (needed, good) = blocks_of_plane(config, scheme);
            needed <= good
        };
        let smaller = reserve::largest_capacity(config, fits).map_or_else(String::new, |(most, share)| {
            // More than all of the capacity cannot be given as a share.
            let as_share = if share <= 100.0 {
                format!(" (an over_provisioning of at least {share:.1}%)")
            } else {
                String::new()
            };
            format!("a capacity of at most {}{as_share}, ", exact_bytes(most))
        });
        let fewer_bad = room::fewer_bad_blocks(config, fits);
        let less_room = room::smaller(config, fits);
        let present = config.sections().into_iter().filter(|(_, section)| section.is_present());
        let (added, settings): (String, String) = present.map(|(facts, _)| facts.shortage).unzip();
        format!(
            "a plane has {good} good blocks, but its share of the capacity of {}{added} and its spare blocks for cleaning \
             need {needed}; allowed: {fewer_bad}more blocks, {less_room}{smaller}{settings}or a smaller cleaning.low",
            of_share.unwrap_or_else(|| exact_bytes(capacity)),
        )
    })
}

/// Returns the blocks that a plane needs for its share of the capacity, and those that it has.
fn blocks_of_plane(config: &DriveConfig, scheme: &Scheme) -> (u64, u64) {
    let geometry = Geometry::new(config).of_superblocks();
    (
        scheme.least_blocks_per_plane(&geometry),
        u64::from(geometry.blocks_per_plane - geometry.factory_bad_per_plane),
    )
}
