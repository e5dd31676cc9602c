//! `[queues]`: submission queues of the host, and the order in which the drive fetches from them.

use super::PolicyOptions;
use super::refusal::{Refusal, range, refusals};
use super::section::{Facts, Section};
use flashlane_policy::Policies;
use serde::Deserialize;

/// Submission queues of the host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuesConfig {
    /// Queues; each request names one.
    pub count: u32,
    /// Commands that the drive works on at once; the others wait in their queues. As many as `link.depth` where absent.
    pub slots: Option<u32>,
    /// The policy that chooses the queue from which the next command is fetched.
    #[serde(default = "round_robin")]
    pub policy: String,
    /// The policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
}

fn round_robin() -> String {
    "round-robin".into()
}

impl Section for QueuesConfig {
    fn facts() -> Facts {
        Facts::of("queues")
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            range("queues.count", self.count, 1, 256),
            range("queues.slots", self.slots.unwrap_or(1), 1, 65536),
        ])
    }

    fn is_random(&self, policies: &Policies) -> bool {
        policies.arbitration.is_random(&self.policy)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        (setting == "queues.policy").then_some(&mut self.options)
    }
}
