//! Back-pressure: acknowledgements of writes are delayed where flushing and merging lag behind.
//!
//! The *debt* of a write says how far they lag, from 0 to 1. It is the most of
//! - the share of their memory that containers use, and the share of the log in use, which all slices have in common;
//! - the patches of its slice that are not merged over those that the merge policy allows in level 0. They are those in
//!   level 0, less what a merge that runs has done of them; the containers on their way there; and the open one, by how full
//!   it is.
//!
//! All of these change by bytes, not by steps, and so does the delay. Up to [`FREE`] there is none. Above it a write waits for
//! `longest * (debt - FREE) / (1 - FREE)`.
//!
//! Why this suffices: `n` writers that each wait for a write of `s` bytes write `n * s / delay` bytes a second. Debt grows by
//! what that exceeds the rate `r` at which the device and the merges drain it, and shrinks where it falls short, so it settles
//! where the delay is `n * s / r`. That is the shortest with which these writers can be served at that rate (Little's law), and
//! no rate has to be measured: measured while writers are delayed, it would be the rate of the writers. As long as it is below
//! `longest`, no write takes longer, and debt does not reach 1, where writes stop and wait for whole patches.
//!
//! The delay follows the debt while a write waits: it ends as soon as the write has waited for what the debt of that moment asks.

use crate::core::Core;
use crate::operation::{Outcome, Pending};
use flashlane_base::{Duration, Instant};
use flashlane_device::DataDevice;

/// Debt without delay.
const FREE: f64 = 0.5;

/// A write that is as safe as it is to be, and not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delayed {
    since: Instant,
    pending: Pending,
    sequence: u64,
}

/// Returns the delay of the acknowledgement of a write with this debt.
fn delay(debt: f64, longest: Duration) -> Duration {
    let over = ((debt - FREE) / (1.0 - FREE)).clamp(0.0, 1.0);
    Duration::from_ns((longest.as_ns() as f64 * over) as u64)
}

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Acknowledges a write to a slice, once its delay is over.
    pub(crate) fn acknowledge(&mut self, slice: u32, pending: Pending, sequence: u64) {
        let since = self.now();
        self.slices[slice as usize].delayed.push_back(Delayed { since, pending, sequence });
        self.writes.delayed_slices.insert(slice);
    }

    /// Completes the writes whose delay is over. Returns when that of the next one will be; [`Instant::FAR`] where there is none.
    pub(crate) fn finish_delayed(&mut self) -> Instant {
        let (now, mut next) = (self.now(), Instant::FAR);
        if self.writes.delayed_slices.is_empty() {
            return next;
        }
        let (common, patches_max) = (self.common_debt(), f64::from(self.policy.level_0_patches_max()));
        for nth in std::mem::take(&mut self.writes.delayed_slices) {
            let slice = &mut self.slices[nth as usize];
            let debt = common.max(slice.unmerged_patches(self.shape.block_bytes) / patches_max);
            let delay = delay(debt, self.options.write_delay_max);
            let over = slice.delayed.partition_point(|write| write.since + delay <= now);
            let over: Vec<Delayed> = slice.delayed.drain(..over).collect();
            if let Some(write) = slice.delayed.front() {
                next = next.min(write.since + delay);
                self.writes.delayed_slices.insert(nth);
            }
            for Delayed { pending, sequence, .. } in over {
                self.finish(pending, Outcome::Write(Ok(sequence)));
            }
        }
        next
    }

    /// Returns the share in use of the memory for containers or of the log, whichever is more.
    fn common_debt(&self) -> f64 {
        let memory = self.container_memory_bytes() as f64 / self.container_budget_bytes() as f64;
        memory.max(self.log.use_of_ring())
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
