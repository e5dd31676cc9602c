//! The way back to the caller: what a completion costs the host, which does one after the other.
//!
//! Where requests are many and small it is this that bounds them: of the 12.9 us of a request in Linux (Foong et al., as
//! sdf14 has it in section 4.3) more than two thirds are the completion's, and one processor takes the interrupts.

use flashlane_base::{Duration, Instant};

/// The completions' processor.
pub(crate) struct Returns {
    cost: Duration,
    free_at: Instant,
}

impl Returns {
    pub(crate) fn new(cost: Duration) -> Self {
        Self { cost, free_at: Instant::ZERO }
    }

    /// When the caller has what the drive has completed `now`; at once where that costs nothing.
    #[inline]
    pub(crate) fn next(&mut self, now: Instant) -> Option<Instant> {
        if self.cost.is_zero() {
            return None;
        }
        self.free_at = self.free_at.max(now) + self.cost;
        Some(self.free_at)
    }
}
