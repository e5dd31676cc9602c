//! What a request costs the host before it reaches the drive.

use crate::config::HostConfig;
use flashlane_base::{Duration, Random, Seed};

/// The submission cost of the host.
#[derive(Clone)]
pub(crate) struct Submission {
    cost: Duration,
    jitter: f64,
    random: Random,
}

impl Submission {
    pub(crate) fn new(config: &HostConfig, seed: Seed) -> Self {
        let random = seed.derive("host jitter").source();
        Self { cost: config.submission.0, jitter: config.jitter.0, random }
    }

    /// What the next request costs.
    #[inline]
    pub(crate) fn next(&mut self) -> Duration {
        if self.jitter == 0.0 {
            return self.cost;
        }
        let factor = 1.0 + self.jitter * (2.0 * self.random.unit() - 1.0);
        Duration::from_ns((self.cost.as_ns() as f64 * factor) as u64)
    }
}
