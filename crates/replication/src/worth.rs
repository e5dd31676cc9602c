//! Whether copies are worth their writes, measured: accesses in rounds with copies against those in rounds without.
//!
//! What a copy saves shows at its own access. What it costs does not: the garbage collection that its write causes
//! comes later and delays any access. So neither is attributed; the mean latency of all accesses decides. Accesses that
//! are blocked are few and long, and the means of rounds vary: copies are given up where they cost more than a standard
//! error. The better kind runs for a number of rounds that doubles each time a round of the other kind confirms it, so
//! that a drive that copies slow down is slowed down in one round of [`MOST_RUN`] + 1, and one that changes is noticed.

use flashlane_base::Duration;

/// The default number of accesses in a round.
pub const ROUND: u32 = 2048;
/// The share of a round, at its beginning, that still feels the round before and does not count.
const SETTLING: u32 = 4;
/// Weight of a round in the mean of its kind, and the number of rounds that such a mean stands for.
const WEIGHT: f64 = 0.25;
const REMEMBERED: f64 = (2.0 - WEIGHT) / WEIGHT;
/// Rounds of the better kind at most between two of the other.
const MOST_RUN: u32 = 16;

/// The mean latencies of rounds of one kind, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    mean: f64,
    variance: f64,
    count: u32,
}

impl Rounds {
    fn add(&mut self, mean: f64) {
        self.count = self.count.saturating_add(1);
        if self.count == 1 {
            self.mean = mean;
            return;
        }
        let change = mean - self.mean;
        self.mean += WEIGHT * change;
        self.variance = (1.0 - WEIGHT) * (self.variance + WEIGHT * change * change);
    }

    /// The square of the mean's standard error.
    fn error_squared(&self) -> f64 {
        self.variance / f64::from(self.count).clamp(1.0, REMEMBERED)
    }
}

/// The rounds with copies and without, and the one in progress.
#[derive(Clone, Debug)]
pub struct Worth {
    /// Accesses of a round.
    round: u32,
    with: Rounds,
    without: Rounds,
    /// Whether this round is with copies, and whether they are worth it as far as is known.
    has_copies: bool,
    are_better: bool,
    accesses: u32,
    sum_ns: u64,
    /// Rounds of the better kind until the other is tried, and that number for the next time.
    left: u32,
    run: u32,
}

impl Worth {
    /// The first round of `round` accesses, at least one, is with copies, the second without.
    pub fn new(round: u32) -> Self {
        assert!(round > 0, "a round has accesses");
        Self {
            round,
            with: Rounds::default(),
            without: Rounds::default(),
            has_copies: true,
            are_better: true,
            accesses: 0,
            sum_ns: 0,
            left: 1,
            run: 1,
        }
    }

    /// Whether copies are written and read in this round.
    pub fn has_copies(&self) -> bool {
        self.has_copies
    }

    /// An access has completed.
    pub fn record(&mut self, latency: Duration) {
        self.accesses += 1;
        if self.accesses > self.round / SETTLING {
            self.sum_ns = self.sum_ns.saturating_add(latency.as_ns());
        }
        if self.accesses == self.round {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        debug_assert!(self.left > 0 && self.run <= MOST_RUN, "the round is one of a run");
        let mean = self.sum_ns as f64 / f64::from(self.round - self.round / SETTLING);
        (self.accesses, self.sum_ns) = (0, 0);
        let of_kind = if self.has_copies { &mut self.with } else { &mut self.without };
        of_kind.add(mean);
        let was_attempt = self.has_copies != self.are_better;
        let was_better = self.are_better;
        let (with, without) = (&self.with, &self.without);
        if without.count > 0 {
            let error = (with.error_squared() + without.error_squared()).sqrt();
            self.are_better = with.mean <= without.mean + error;
        }
        if self.are_better != was_better {
            self.run = 1;
        } else if was_attempt {
            self.run = (self.run * 2).min(MOST_RUN);
        } else {
            self.left -= 1;
            if self.left == 0 {
                (self.has_copies, self.left) = (!self.are_better, 1);
            }
            return;
        }
        (self.has_copies, self.left) = (self.are_better, self.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds with copies of `rounds`, where these change the latency from 100 us to `us`.
    fn with_copies(worth: &mut Worth, rounds: u32, us: u64) -> u32 {
        let mut with = 0;
        for _ in 0..rounds {
            let has_copies = worth.has_copies();
            with += u32::from(has_copies);
            for _ in 0..worth.round {
                assert_eq!(worth.has_copies(), has_copies, "a round is of one kind");
                worth.record(Duration::from_us(if has_copies { us } else { 100 }));
            }
        }
        with
    }

    #[test]
    fn the_better_kind_has_all_but_few_rounds_and_a_change_is_noticed() {
        let mut worth = Worth::new(8);
        assert!(with_copies(&mut worth, 100, 80) >= 90);
        // One attempt in 17 rounds, and what the mean remembers.
        assert!(with_copies(&mut worth, 170, 150) <= 17 + 16);
        assert!(with_copies(&mut worth, 170, 150) <= 11);
        assert!(with_copies(&mut worth, 340, 50) >= 340 - 5 * 17 - 20);
    }
}
