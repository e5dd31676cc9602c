//! `[scheduling]`: the order of service at a die.

use super::PolicyOptions;
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
