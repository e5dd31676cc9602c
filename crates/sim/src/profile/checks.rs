//! What a drive cannot be: the order of the checks, and which field a refusal names.

mod buffer;
mod cleaning;
mod compat;
mod flash;
pub(super) mod lanes;
mod mapping;
mod policy;
mod readahead;
mod replication;
mod superblocks;

use super::reserve;
use crate::config::DriveConfig;
use crate::config::refusal::{Refusal, require};
use crate::ftl::scheme::Scheme;
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;

/// Fields that can break the rule of a refusal beside the field that the refusal names.
const SHARED_RULES: [(&str, &[&str]); 2] = [
    ("flash.channels", &["flash.packages", "flash.dies", "flash.planes"]),
    (
        "flash.blocks",
        &[
            "capacity",
            "over_provisioning",
            "cleaning.low",
            "flash.factory_bad",
            "flash.channels",
            "flash.packages",
            "flash.dies",
            "flash.planes",
            "flash.pages",
            "flash.page",
            "mapping.unit",
            "mapping.translation_options.log_blocks",
        ],
    ),
];

/// The field to name in the refusal of `field`: the last of those that were set and that the same rule is about, since
/// the profile was a drive without them.
pub(super) fn given<'a>(field: &'a str, set: &'a [String]) -> &'a str {
    if set.iter().any(|name| name == field) {
        return field;
    }
    let shared = SHARED_RULES.iter().find(|(named, _)| *named == field).map_or(&[][..], |(_, others)| others);
    set.iter().rev().find(|name| shared.contains(&name.as_str())).map_or(field, String::as_str)
}

/// Sets the capacity, too, where it follows from over-provisioning.
pub(super) fn validate(config: &mut DriveConfig) -> Result<(), Refusal> {
    config.host.ranges()?;
    config.link.ranges()?;
    config.cleaning.ranges()?;
    config.buffer.as_ref().map_or(Ok(()), |buffer| buffer.ranges())?;
    config.replication.as_ref().map_or(Ok(()), |replication| replication.ranges())?;
    config.flash.ranges()?;
    flash::page(config)?;
    if let Some(shown) = &config.lanes {
        flash::sizes(config)?;
        lanes::validate(config, shown)?;
        cleaning::wear(config)?;
        return policy::scheduling(config);
    }
    mapping::striping(config)?;
    compat::summary(config)?;
    flash::sizes(config)?;
    let scheme = mapping::translation(config)?;
    superblocks::validate(config, scheme.maps_blocks())?;
    reserve::set_capacity(config);
    replication::validate(config, scheme.maps_blocks())?;
    capacity(config, &scheme)?;
    compat::summary_has_pages(config)?;
    buffer::sizes(config)?;
    mapping::policies(config)?;
    cleaning::policies(config, scheme.maps_blocks())?;
    readahead::validate(config)?;
    buffer::policy(config)?;
    cleaning::wear(config)?;
    policy::scheduling(config)
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
    let geometry = Geometry::new(config).of_superblocks();
    let blocks_needed = scheme.least_blocks_per_plane(&geometry);
    let good = geometry.blocks - geometry.factory_bad_per_plane;
    require(blocks_needed <= u64::from(good), "flash.blocks", || {
        format!(
            "a plane has {good} good blocks, but its share of the capacity of {} and its spare blocks for cleaning \
             need {blocks_needed}; allowed: more blocks, a smaller capacity (or more over_provisioning), or a smaller cleaning.low",
            exact_bytes(capacity)
        )
    })
}
