//! `[cleaning]`: garbage collection (GC), and `[wear]`: wear leveling.

use super::refusal::{Refusal, refusals, require, unused};
use super::section::{DriveKind, Facts, Section};
use super::{DriveConfig, IN_ORDER, PolicyOptions, Share, Time, limits};
use flashlane_policy::Policies;
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
    /// Whether the dies of a row with parity garbage-collect one after the other, so that the rest of the row can be
    /// read.
    pub rotate: bool,
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
            rotate: false,
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

impl Section for CleaningConfig {
    fn facts() -> Facts {
        Facts { room: &["cleaning.low"], ..Facts::of_translation("cleaning") }
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([limits::time("cleaning.idle", self.idle)])
    }

    fn without_effect(&self, drive: &DriveConfig) -> Vec<Refusal> {
        let is_idle_gc = self.high.0 > self.low.0;
        unused([
            (
                self.preemptible,
                "cleaning.preemptible",
                drive.scheduling.policy != IN_ORDER,
                "no operation of a die goes before GC; allowed: with another scheduling.policy than 'fifo'",
            ),
            (
                self.high.0 > 0.0,
                "cleaning.high",
                is_idle_gc,
                "GC goes on to cleaning.low in any case; allowed: more than cleaning.low",
            ),
            (
                !self.idle.0.is_zero(),
                "cleaning.idle",
                is_idle_gc || drive.slc.is_some(),
                "idle dies do nothing by themselves; allowed: with a cleaning.high above cleaning.low, or an SLC cache ([slc])",
            ),
        ])
    }

    fn is_random(&self, policies: &Policies) -> bool {
        policies.cleaning.is_random(&self.policy) || policies.pacing.is_random(&self.pacing)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        match setting {
            "cleaning.policy" => Some(&mut self.options),
            "cleaning.pacing" => Some(&mut self.pacing_options),
            _ => None,
        }
    }
}

impl Section for WearConfig {
    fn facts() -> Facts {
        Facts { kinds: &[DriveKind::Conventional, DriveKind::Lanes], ..Facts::of("wear") }
    }

    fn is_random(&self, policies: &Policies) -> bool {
        policies.wear.is_random(&self.policy)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        (setting == "wear.policy").then_some(&mut self.options)
    }
}

impl CleaningConfig {
    /// Checks the low watermark.
    pub(crate) fn watermark(&self) -> Result<(), Refusal> {
        require(self.low.0 < 0.5, "cleaning.low", || {
            format!("it is {}%; allowed: below 50%", self.low.0 * 100.0)
        })
    }
}
