//! Replication: its space, its copies and its policy.

use super::policy::check;
use crate::config::refusal::{Refusal, require};
use crate::config::{DeferGc, DriveConfig};
use crate::nand::Geometry;
use flashlane_base::units::exact_bytes;
use flashlane_replication::MOST_COPIES;

/// Checks the section, where there is one. Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let Some(replication) = &config.replication else { return Ok(()) };
    let geometry = Geometry::new(config);
    let policy = &replication.policy;
    require(!maps_blocks && !geometry.has_superblocks(), "replication.policy", || {
        let (allowed, parts) =
            ("where pages are mapped one by one, without superblocks", "copies are single mapping units");
        format!("it is '{policy}', but {parts}; allowed: {allowed}, or 'none'")
    })?;
    require(geometry.dies >= 2, "replication.policy", || {
        format!("it is '{policy}', but the drive has one die; allowed with one die: 'none'")
    })?;
    let most = geometry.dies.min(MOST_COPIES);
    let copies = replication.most_copies(geometry.dies);
    require((2..=most).contains(&copies), "replication.copies", || {
        format!("it is {copies}; allowed with {} dies: 2 to {most}", geometry.dies)
    })?;
    let share = replication.space.0;
    require(share > 0.0 && share <= 1.0 && geometry.replica_units > 0, "replication.space", || {
        let least = u64::from(geometry.dies) * geometry.unit_bytes;
        format!(
            "it is {}%; allowed: up to 100%, and at least a mapping unit on each die, {} in all",
            share * 100.0,
            exact_bytes(least)
        )
    })?;
    require(config.cleaning.defer == DeferGc::No, "replication.policy", || {
        format!("it is '{policy}', and cleaning.defer is set; allowed with it: only 'none'")
    })?;
    check(("replication.policy", "replication.options"), &replication.options, |options| {
        config.policies.replication.build(policy, geometry.replica_units, options)
    })
    .map(drop)
}
