//! The completion path: what a completion costs the host, which handles one after the other.
//!
//! With many small requests this is the limit: of the 12.9 us of a request in Linux (Foong et al., cited by sdf14,
//! section 4.3) more than two thirds are the completion's, and one processor takes the interrupts.

use flashlane_base::{Duration, Instant};

/// The processor that handles completions.
#[derive(Clone)]
pub(crate) struct CompletionPath {
    cost: Duration,
    free_at: Instant,
}

impl CompletionPath {
    pub(crate) fn new(cost: Duration) -> Self {
        Self { cost, free_at: Instant::ZERO }
    }

    /// When the caller has a completion that the drive reports `now`; `None` where that takes no time.
    #[inline]
    pub(crate) fn next(&mut self, now: Instant) -> Option<Instant> {
        if self.cost.is_zero() {
            return None;
        }
        self.free_at = self.free_at.max(now) + self.cost;
        Some(self.free_at)
    }
}
