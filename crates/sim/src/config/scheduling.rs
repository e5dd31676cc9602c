//! `[scheduling]`: the order of service at a die.

use super::policies::check;
use super::refusal::Refusal;
use super::{DriveConfig, PolicyOptions};
use serde::Deserialize;

/// Order of service at a die.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulingConfig {
    /// The policy's name.
    pub policy: String,
    /// The policy's own settings.
    pub options: PolicyOptions,
}

impl Default for SchedulingConfig {
    fn default() -> Self {
        Self { policy: "fifo".into(), options: PolicyOptions::default() }
    }
}

pub(super) fn validate(config: &DriveConfig) -> Result<(), Refusal> {
    let scheduling = &config.scheduling;
    check(("scheduling.policy", "scheduling.options"), &scheduling.options, |options| {
        config.policies.scheduling.build(&scheduling.policy, options)
    })
    .map(drop)
}
