//! `[scheduling]`: the order of service at a die.

use super::refusal::{Refusal, refusals, require, unused};
use super::section::{Facts, Section};
use super::{DriveConfig, PolicyOptions, Time, limits};
use flashlane_policy::Policies;
use serde::Deserialize;

/// The policy that serves operations in their order, so that none passes another.
pub(crate) const IN_ORDER: &str = "fifo";

/// Order of service at a die.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulingConfig {
    /// The policy's name.
    pub policy: String,
    /// The policy's own settings.
    pub options: PolicyOptions,
    /// Longest time that reads pass a write waiting at their die, or keep it suspended; without bound where absent.
    pub write_wait: Option<Time>,
    /// The same for an erase that the host asks for; as `write_wait` where absent.
    pub erase_wait: Option<Time>,
}

impl Section for SchedulingConfig {
    fn facts() -> Facts {
        Facts::of("scheduling")
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            limits::time("scheduling.write_wait", self.write_wait.unwrap_or_default()),
            limits::time("scheduling.erase_wait", self.erase_wait.unwrap_or_default()),
            require(self.erase_wait.is_none() || self.write_wait.is_some(), "scheduling.erase_wait", || {
                "it is given without scheduling.write_wait, so that reads pass writes and erases without bound; allowed: \
                 only with it"
                    .into()
            }),
        ])
    }

    fn without_effect(&self, drive: &DriveConfig) -> Vec<Refusal> {
        let reads_pass = self.policy != IN_ORDER || drive.flash.suspend.is_some();
        unused([(
            self.write_wait.is_some(),
            "scheduling.write_wait",
            reads_pass,
            "no read passes a write; allowed: with another scheduling.policy than 'fifo', or with flash.suspend",
        )])
    }

    fn is_random(&self, policies: &Policies) -> bool {
        policies.scheduling.is_random(&self.policy)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        (setting == "scheduling.policy").then_some(&mut self.options)
    }
}

impl Default for SchedulingConfig {
    fn default() -> Self {
        Self {
            policy: IN_ORDER.into(),
            options: PolicyOptions::default(),
            write_wait: None,
            erase_wait: None,
        }
    }
}
