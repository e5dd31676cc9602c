//! `[queues]`: submission queues of the host, and the order in which the drive fetches from them.

use super::PolicyOptions;
use super::refusal::{Refusal, range, refusals};
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

impl QueuesConfig {
    pub(crate) fn ranges(&self) -> Vec<Refusal> {
        refusals([
            range("queues.count", self.count, 1, 256),
            range("queues.slots", self.slots.unwrap_or(1), 1, 65536),
        ])
    }
}
