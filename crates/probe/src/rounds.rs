//! Rounds of a measurement, until the last five are steady.
//!
//! SNIA's rule looks at five rounds. A drive that reclaims many blocks at a time is fast and slow in turns, so that short rounds
//! may never meet it: of ten, each two become one, and the next ones are as long. Nothing is measured anew for that.
//! Rounds shorter than usual ones count only where no GC ran and they vary far less than the rule allows: with GC a drive wanders
//! for longer than they take, though five of them may be alike.
//!
//! *Invariant*: there are fewer than ten rounds, all but those that a time limit ended of the same number of requests.

use crate::point_measurement::is_cleaning;
use flashlane_base::Histogram;
use flashlane_device::Counters;
use flashlane_measure::Run;
use flashlane_measure::statistics::steady_state::{EXCURSION_MAX, ROUNDS, SLOPE_MAX, Window};

/// Share of the rule's limits within which rounds shorter than usual ones are steady.
const SHORT_LIMIT: f64 = 0.25;

/// One round: a run, or several one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) latencies: Histogram,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) ns: u64,
    pub(crate) counters: Counters,
}

impl From<&Run> for Round {
    fn from(run: &Run) -> Self {
        Self {
            latencies: run.latencies(),
            requests: run.requests,
            bytes: run.bytes(),
            ns: run.elapsed.as_ns(),
            counters: run.counters.clone(),
        }
    }
}

impl Round {
    /// Combines rounds, of which there MUST be at least one.
    pub(crate) fn combined(rounds: &[Self]) -> Self {
        let (first, others) = rounds.split_first().expect("at least one round");
        let mut all = first.clone();
        for round in others {
            all.latencies.merge(&round.latencies);
            all.requests += round.requests;
            all.bytes += round.bytes;
            all.ns += round.ns;
            all.counters = all.counters.plus(&round.counters);
        }
        all
    }

    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.ns.max(1) as f64
    }
}

/// The rounds so far.
pub(crate) struct Rounds {
    rounds: Vec<Round>,
    /// Requests of the next round, and of a usual one.
    requests: u64,
    usual_requests: u64,
}

impl Rounds {
    /// Begins with rounds of `requests` each, where usual ones have `usual_requests`.
    pub(crate) fn new(requests: u64, usual_requests: u64) -> Self {
        Self { rounds: Vec::new(), requests, usual_requests }
    }

    /// Returns the number of requests of the next round.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    pub(crate) fn push(&mut self, round: Round) {
        self.rounds.push(round);
        if self.rounds.len() == 2 * ROUNDS {
            self.rounds = self.rounds.chunks(2).map(Round::combined).collect();
            self.requests *= 2;
        }
        assert!(self.rounds.len() < 2 * ROUNDS);
    }

    /// Returns the last five rounds, once there are as many.
    pub(crate) fn window(&self) -> Option<&[Round]> {
        Some(self.rounds.last_chunk::<ROUNDS>()?)
    }

    /// Returns whether the last five rounds meet the rule.
    pub(crate) fn is_steady(&self) -> bool {
        let rates: Vec<f64> = self.rounds.iter().map(Round::bytes_per_s).collect();
        let Some(window) = Window::of(&rates) else { return false };
        if self.requests >= self.usual_requests {
            return window.is_steady();
        }
        self.rounds.iter().all(|round| is_cleaning(&round.counters) == Some(false))
            && window.excursion <= SHORT_LIMIT * EXCURSION_MAX
            && window.slope.abs() <= SHORT_LIMIT * SLOPE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes rounds that take `ns` for each request until they are steady; returns how many were needed.
    fn needed(requests: u64, usual_requests: u64, ns: impl Fn(u64) -> u64) -> Option<usize> {
        let mut rounds = Rounds::new(requests, usual_requests);
        let mut done = 0;
        for nth in 1..40 {
            let requests = rounds.requests();
            let taken = (done..done + requests).map(&ns).sum();
            let (latencies, counters) = (Histogram::coarse(), Counters(vec![("blocks_erased", 0)]));
            rounds.push(Round { latencies, requests, bytes: 4096 * requests, ns: taken, counters });
            done += requests;
            if rounds.is_steady() {
                let window = rounds.window().expect("five rounds");
                assert!(window.iter().all(|round| round.requests == rounds.requests()));
                return Some(nth);
            }
        }
        None
    }

    #[test]
    fn short_rounds_count_where_they_hardly_vary() {
        assert_eq!(needed(10, 40, |_| 100), Some(5));
        // Turns of 20 requests, 8% apart: rounds of ten are steady by the rule, but shorter than usual ones; each two are alike.
        let turns = |nth: u64| if nth % 20 < 10 { 104 } else { 96 };
        assert_eq!(needed(10, 10, turns), Some(5));
        assert_eq!(needed(10, 40, turns), Some(10));
    }

    #[test]
    fn rounds_grow_until_they_hold_whole_turns() {
        // Fast for 20 requests, and slow for as many: ten rounds of 10 are not enough, nor five more of 20.
        let turns = |nth: u64| if nth % 40 < 20 { 50 } else { 150 };
        assert_eq!(needed(10, 10, turns), Some(10 + 5));
        assert_eq!(needed(10, 10, |nth| 100 + nth * nth), None);
    }

    #[test]
    fn a_drift_that_ends_takes_five_rounds_more() {
        assert_eq!(needed(10, 10, |nth| if nth < 20 { 50 } else { 100 }), Some(7));
    }
}
