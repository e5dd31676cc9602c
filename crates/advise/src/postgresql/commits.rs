//! `commit_delay`: how long a session that writes the log waits for the commits of others.
//!
//! Commits that arrive during a flush wait for the next one. With many sessions two groups of them alternate, and each
//! commit takes the time of two flushes. If a session waits before it flushes, as long as the sessions of the last
//! group need to come back, all commits share each flush. PostgreSQL's documentation of `commit_delay` recommends half
//! the time of a flushed write of 8 KiB.

use crate::proposal::{Kept, Proposal};
use crate::{CostModel, Trial};
use flashlane_base::Duration;

const NAME: &str = "commit_delay";
/// Longest delay.
const MOST: Duration = Duration::from_ms(100);
/// A sleep takes this much longer: the timer slack of Linux (`prctl`, `PR_SET_TIMERSLACK`).
const LATE: Duration = Duration::from_us(50);
/// Default of `commit_siblings`: with fewer other transactions there is no delay.
const SIBLINGS: u32 = 5;

/// Proposes half of the time of a commit.
///
/// # Errors
/// Why there is none, where that time is not known.
pub(super) fn delay(model: &CostModel) -> Result<Proposal, Kept> {
    let Some(commit) = model.commit() else {
        let why = "it follows from the time of a write of 8 KiB with its flush, as pg_test_fsync measures it: --commit";
        return Err(Kept { name: NAME.into(), now: "0".into(), why: why.into(), is_undecided: false });
    };
    let delay = Duration::from_ns((commit.mean / 2.0) as u64).min(MOST);
    let us = delay.as_ns() / 1000;
    Ok(Proposal {
        name: NAME.into(),
        now: "0".into(),
        proposed: us.to_string(),
        scope: "server; reload",
        apply: format!("ALTER SYSTEM SET commit_delay = {us}; SELECT pg_reload_conf();"),
        undo: "ALTER SYSTEM RESET commit_delay; SELECT pg_reload_conf();".into(),
        measured: format!("a write of 8 KiB with its flush takes {:.1} µs", commit.mean / 1e3),
        formula: "half the time of a flushed write, 100 ms at most; without it a commit takes two of these, and with it one, \
                  the delay, and 50 µs by which a sleep is late",
        void_when: "fewer sessions commit at once, synchronous_commit is off, or transactions take longer than flushes",
        on: format!("commits of {} or more sessions that come back within the delay", SIBLINGS + 1),
        trial: Trial::Commits { delay: delay + LATE },
        relies_on: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimate, RandomCost, ScanCost};

    fn gain(commit_us: f64) -> f64 {
        let sure = |mean: f64| Estimate { mean, half_width: 0.0 };
        let random = RandomCost { band_pages: 1000, depth: 1, page_ns: sure(1.0) };
        let scan = ScanCost { request_bytes: 8192, depth: 1, page_ns: sure(1.0) };
        let model = CostModel::new(8192, 1000, vec![random], vec![scan]).with_commit(sure(commit_us * 1e3));
        delay(&model).expect("the time is known").gain(&model).mean
    }

    #[test]
    fn delay_gains_a_third_unless_sleeps_are_late() {
        assert!((gain(20_000.0) - 40_000.0 / 30_050.0).abs() < 1e-6);
        assert!((gain(100.0) - 1.0).abs() < 1e-6);
        assert!(gain(20.0) < 1.0);
        // A delay of 100 ms is the longest.
        assert!((gain(400_000.0) - 800_000.0 / 500_050.0).abs() < 1e-6);
    }
}
