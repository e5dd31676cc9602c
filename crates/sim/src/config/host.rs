//! `[host]`: the host's share of a request's time.

use super::refusal::{Refusal, refusals, unused};
use super::section::{Facts, Section};
use super::{DriveConfig, Share, Time, limits};
use flashlane_policy::Policies;
use serde::Deserialize;

/// The host's share of a request's time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// From the caller's submission to the drive's interface: system call, scheduler, interrupt.
    pub submission: Time,
    /// Uniform spread of the submission cost around its value, as a share of it.
    pub jitter: Share,
    /// From the drive's interface back to the caller: interrupt and completion path. The host does one completion after
    /// the other.
    pub completion: Time,
}

impl Section for HostConfig {
    fn facts() -> Facts {
        Facts::of("host")
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            limits::time("host.submission", self.submission),
            limits::time("host.completion", self.completion),
        ])
    }

    fn without_effect(&self, _drive: &DriveConfig) -> Vec<Refusal> {
        unused([(
            self.jitter.0 > 0.0,
            "host.jitter",
            !self.submission.0.is_zero(),
            "it is a share of host.submission, which is 0; allowed: with a time above 0",
        )])
    }

    fn is_random(&self, _policies: &Policies) -> bool {
        self.jitter.0 > 0.0
    }
}
