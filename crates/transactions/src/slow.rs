//! Which requests were slow, as far as a host can see: those that took more than twice the median of their operation.
//!
//! The median is followed, not computed: each request moves the estimate towards itself by a small share, so that half
//! of the requests are above it.

use flashlane_base::{Duration, Operation};

/// A request slower than this many medians is slow.
const TIMES: f64 = 2.0;
/// Share of the median by which a request moves it.
const STEP: f64 = 1.0 / 64.0;

/// Medians of reads and writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slowness {
    reads_ns: Option<f64>,
    writes_ns: Option<f64>,
}

impl Slowness {
    /// Returns whether a read or write that took so long was slow, and counts it.
    pub fn is_slow(&mut self, operation: Operation, took: Duration) -> bool {
        let median = if operation == Operation::Write { &mut self.writes_ns } else { &mut self.reads_ns };
        let took_ns = took.as_ns() as f64;
        let median_ns = median.unwrap_or(took_ns);
        *median = Some(if took_ns > median_ns { median_ns * (1.0 + STEP) } else { median_ns / (1.0 + STEP) });
        took_ns > TIMES * median_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn requests_above_two_medians_are_slow() {
        let mut slowness = Slowness::default();
        let mut random = Seed(1).source();
        let mut slow = [0_u32; 2];
        for _ in 0..10_000 {
            // A fifth takes ten times as long; writes take longer than reads.
            for (at, (operation, ns)) in
                [(Operation::Read, 100), (Operation::Write, 4000)].into_iter().enumerate()
            {
                let took = if random.chance(0.2) { ns * 10 } else { ns + random.below(ns / 2) };
                slow[at] += u32::from(slowness.is_slow(operation, Duration::from_ns(took)));
            }
        }
        assert!(slow.iter().all(|slow| (1800..2200).contains(slow)), "{slow:?}");
    }
}
