//! Garbage collection and wear leveling: their policies.

use crate::config::refusal::{Refusal, require};
use crate::config::{DeferGc, DriveConfig};
use flashlane_base::Seed;

/// Checks the policies of GC. Requires: the translation scheme was checked.
pub(super) fn policies(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let gc = &config.cleaning;
    gc.options.check(("cleaning.policy", "cleaning.options"), |options| {
        config.policies.cleaning.build(&gc.policy, Seed(0), options)
    })?;
    let pacing = gc.pacing_options.check(("cleaning.pacing", "cleaning.pacing_options"), |options| {
        config.policies.pacing.build(&gc.pacing, options)
    })?;
    if !pacing.in_steps() {
        return Ok(());
    }
    require(!maps_blocks, "cleaning.pacing", || {
        format!("it is '{}'; allowed where whole blocks are mapped and merged: only 'watermark'", gc.pacing)
    })?;
    require(!gc.rotate, "cleaning.rotate", || {
        format!(
            "it is true; allowed with cleaning.pacing '{}', which spreads the moves over the writes: only false",
            gc.pacing
        )
    })?;
    require(gc.defer == DeferGc::No, "cleaning.defer", || {
        format!(
            "it says when the GC of a whole victim runs; allowed with cleaning.pacing '{}', which spreads the moves over \
             the writes: only 'no'",
            gc.pacing
        )
    })
}

/// Checks the wear leveling policy.
pub(super) fn wear(config: &DriveConfig) -> Result<(), Refusal> {
    let wear = &config.wear;
    let build = |options: &_| config.policies.wear.build(&wear.policy, options);
    wear.options.check(("wear.policy", "wear.options"), build).map(drop)
}
