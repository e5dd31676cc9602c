//! Placement handles: what they require of the translation layer.

use crate::config::refusal::{Refusal, require};
use crate::config::{DriveConfig, LevelName};

/// Checks the section, where there is one. Requires: counts and sizes of the flash are in range.
pub(super) fn validate(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    if config.placement.is_none() {
        return Ok(());
    }
    let only = |holds: bool, field: &'static str, allowed: &str| {
        require(holds, field, || {
            format!("there are placement handles ([placement]); allowed with them: {allowed}")
        })
    };
    only(!maps_blocks, "mapping.translation", "only 'page'")?;
    only(
        config.cleaning.separate,
        "cleaning.separate",
        "only true, since moved pages have a block of their own",
    )?;
    only(config.mapping.parity.is_none(), "mapping.parity", "none")?;
    only(config.mapping.cache.is_none(), "mapping.cache", "none")?;
    only(config.replication.is_none(), "replication.policy", "only 'none'")?;
    only(config.slc.is_none(), "slc", "none")?;
    only(config.flash.pages_per_program() == 1, "flash.programming", "only 'page'")?;
    only(config.compat.disksim.pool == LevelName::Plane, "compat.disksim.pool", "only 'plane'")
}
