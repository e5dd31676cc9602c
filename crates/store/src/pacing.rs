//! Back-pressure: acknowledgements of writes are delayed where flushing and merging lag behind.
//!
//! The *debt* of a write says how far they lag, from 0 to 1. It is the most of
//! - the share of their memory that containers use, and the share of the log in use, which all slices have in common;
//! - the patches of its slice that are not merged over those that the merge policy allows in level 0. They are those in
//!   level 0, less what a merge that runs has done of them; the containers on their way there; and the open one, by how
//!   full it is.
//!
//! All of these change by bytes, not by steps, and so does the delay. Up to [`FREE`] there is none. Above it a write
//! waits for `longest * (debt - FREE) / (1 - FREE)`.
//!
//! Why this suffices: `n` writers that each wait for a write of `s` bytes write `n * s / delay` bytes a second. Debt
//! grows by what that exceeds the rate `r` at which the device and the merges drain it, and shrinks where it falls
//! short, so it settles where the delay is `n * s / r`. That is the shortest with which these writers can be served at
//! that rate (Little's law), and no rate has to be measured: measured while writers are delayed, it would be the rate
//! of the writers. As long as it is below `longest`, no write takes longer, and debt does not reach 1, where writes
//! stop and wait for whole patches.
//!
//! The delay follows the debt while a write waits: it ends as soon as the write has waited for what the debt of that
//! moment asks.

use crate::operation::Pending;
use flashlane_base::{Duration, Instant};
use std::collections::VecDeque;

/// Debt without delay.
const FREE: f64 = 0.5;

/// Returns the delay of the acknowledgement of a write with this debt.
pub(crate) fn delay(debt: f64, longest: Duration) -> Duration {
    let over = ((debt - FREE) / (1.0 - FREE)).clamp(0.0, 1.0);
    Duration::from_ns((longest.as_ns() as f64 * over) as u64)
}

/// A write that is as safe as requested, and not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    since: Instant,
    pending: Pending,
    sequence: u64,
}

/// The delayed writes of a slice, in the order in which they became safe.
#[derive(Debug, Default)]
pub(crate) struct DelayedWrites(VecDeque<Delayed>);

impl DelayedWrites {
    /// Adds a write that became safe now.
    pub(crate) fn add(&mut self, since: Instant, pending: Pending, sequence: u64) {
        assert!(
            self.0.back().is_none_or(|last| last.since <= since),
            "writes become safe one after the other"
        );
        self.0.push_back(Delayed { since, pending, sequence });
    }

    /// Removes the first write and returns it with its number, if it has waited for `delay`.
    pub(crate) fn pop_over(&mut self, delay: Duration, now: Instant) -> Option<(Pending, u64)> {
        let is_over = self.0.front().is_some_and(|write| write.since + delay <= now);
        let Delayed { pending, sequence, .. } = if is_over { self.0.pop_front()? } else { return None };
        Some((pending, sequence))
    }

    /// Returns when the first one will have waited for `delay`.
    pub(crate) fn next_due(&self, delay: Duration) -> Option<Instant> {
        self.0.front().map(|write| write.since + delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_grows_with_debt_up_to_the_longest() {
        let after = |debt: f64| delay(debt, Duration::from_ms(80)).as_ns() / 1_000_000;
        assert_eq!([0.0, 0.5, 0.75, 1.0, 9.0].map(after), [0, 0, 40, 80, 80]);
    }

    #[test]
    fn writers_settle_at_the_rate_that_is_drained() {
        // Each step of a millisecond drains 200 of a capacity of 100,000 bytes; writers wait for writes of 1000 bytes.
        for writers in [1, 4, 10, 15] {
            let (mut used, mut longest) = (0.0_f64, 0.0_f64);
            let mut due = vec![0.0; writers];
            for now in 0..20_000 {
                used = (used - 200.0).max(0.0);
                for due in due.iter_mut().filter(|due| **due <= f64::from(now)) {
                    used += 1000.0;
                    let delay = delay(used / 100_000.0, Duration::from_ms(100)).as_ns() as f64 / 1e6;
                    *due = f64::from(now) + delay.max(1.0);
                    if now > 10_000 {
                        longest = longest.max(delay);
                    }
                }
                assert!(used < 100_000.0, "{writers} writers reach the limit");
            }
            let expected = writers as f64 * 5.0;
            assert!(longest < 1.2 * expected + 1.0, "{writers} writers: {longest} instead of {expected} ms");
        }
    }
}
