//! `[cleaning]`: garbage collection (GC), and `[wear]`: wear leveling.

use super::policies::check;
use super::refusal::{Refusal, require};
use super::{DriveConfig, PolicyOptions, Share, Time, limits};
use flashlane_base::Seed;
use serde::Deserialize;

/// Garbage collection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CleaningConfig {
    /// The policy's name.
    pub policy: String,
    /// GC of a plane is due before a write when no more than this share of its blocks is free.
    pub low: Share,
    /// An idle die's planes are garbage-collected until this share of their blocks is free; has an effect above `low`
    /// only.
    pub high: Share,
    /// How long a die must have been idle before GC runs in the background.
    pub idle: Time,
    /// Whether a waiting operation of better rank goes between two moves of GC.
    pub preemptible: bool,
    /// How long GC that is due lets other operations pass.
    pub defer: DeferGc,
    /// Whether moved pages go to separate blocks instead of sharing the host's open block.
    pub separate: bool,
    /// Whether the planes of a die are filled and cleaned block beside block, so that moves and erases on them share
    /// array times; only with `flash.multi_plane`.
    pub multi_plane: bool,
    /// How GC is spread over the host's writes: the pacing policy's name.
    pub pacing: String,
    /// The pacing policy's own settings.
    pub pacing_options: PolicyOptions,
    /// The policy's own settings.
    pub options: PolicyOptions,
}

/// How long GC that is due lets other operations of its die pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeferGc {
    /// Not at all: it begins as soon as the die is free.
    #[default]
    No,
    /// Until another operation of the die is queued, which then waits for it.
    UntilNextOperation,
    /// While operations of the host wait, between any two moves, until the next block is opened: the rest of it then
    /// goes first.
    BehindHost,
}

/// Wear leveling.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WearConfig {
    /// The policy's name.
    pub policy: String,
    /// The policy's own settings.
    pub options: PolicyOptions,
}

impl Default for CleaningConfig {
    fn default() -> Self {
        Self {
            policy: "greedy".into(),
            low: Share(0.05),
            high: Share(0.0),
            idle: Time::default(),
            preemptible: false,
            defer: DeferGc::No,
            separate: false,
            multi_plane: false,
            pacing: "watermark".into(),
            pacing_options: PolicyOptions::default(),
            options: PolicyOptions::default(),
        }
    }
}

impl Default for WearConfig {
    fn default() -> Self {
        Self { policy: "dynamic".into(), options: PolicyOptions::default() }
    }
}

impl CleaningConfig {
    pub(super) fn ranges(&self) -> Result<(), Refusal> {
        limits::time("cleaning.idle", self.idle)
    }

    pub(super) fn watermark(&self) -> Result<(), Refusal> {
        require(self.low.0 < 0.5, "cleaning.low", || {
            format!("it is {}%; allowed: below 50%", self.low.0 * 100.0)
        })
    }
}

/// Requires: the translation scheme was checked.
pub(super) fn policies(config: &DriveConfig, maps_blocks: bool) -> Result<(), Refusal> {
    let gc = &config.cleaning;
    check(("cleaning.policy", "cleaning.options"), &gc.options, |options| {
        config.policies.cleaning.build(&gc.policy, Seed(0), options)
    })?;
    let pacing = check(("cleaning.pacing", "cleaning.pacing_options"), &gc.pacing_options, |options| {
        config.policies.pacing.build(&gc.pacing, options)
    })?;
    if !pacing.in_steps() {
        return Ok(());
    }
    require(!maps_blocks, "cleaning.pacing", || {
        format!("it is '{}'; allowed where whole blocks are mapped and merged: only 'watermark'", gc.pacing)
    })?;
    require(gc.defer == DeferGc::No, "cleaning.defer", || {
        format!(
            "it says when the GC of a whole victim runs; allowed with cleaning.pacing '{}', which spreads the moves over \
             the writes: only 'no'",
            gc.pacing
        )
    })
}

pub(super) fn wear(config: &DriveConfig) -> Result<(), Refusal> {
    let wear = &config.wear;
    let build = |options: &_| config.policies.wear.build(&wear.policy, options);
    check(("wear.policy", "wear.options"), &wear.options, build).map(drop)
}

pub(super) fn is_random(config: &DriveConfig) -> bool {
    let policies = &config.policies;
    policies.cleaning.is_random(&config.cleaning.policy)
        || policies.pacing.is_random(&config.cleaning.pacing)
        || policies.wear.is_random(&config.wear.policy)
}
