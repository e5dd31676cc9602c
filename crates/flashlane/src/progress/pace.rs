//! Remaining time of an activity, from the times at which it reported the share done.
//!
//! Shares of a measurement need not take alike long: writes slow down once a buffer is full, and the stages of a
//! benchmark differ. So the time that a share takes is measured several times: in both halves of the time so far, in
//! its last quarter, and with the wait since the last report. The estimate is a time where these nearly agree, a range
//! where they differ, and absent where they differ much or little is done.

use flashlane_base::Duration;
use std::fmt;

/// Least part of the work since the first report that must be done, and least time that it must have taken: before,
/// what was timed may be the first requests of a drive, or one stage of several.
const LEAST_DONE: f64 = 0.25;
const LEAST_TIME_S: f64 = 1.0;
/// Quotients of the limits of an estimate up to which it counts as one time, and as a range.
const ONE_TIME: f64 = 1.5;
const RANGE: f64 = 4.0;
/// Difference of the limits that matters to no one.
const ONE_TIME_S: f64 = 2.0;
/// Reports kept.
const REPORTS: usize = 512;

/// Remaining time of an activity, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToGo {
    Unknown,
    About { s: f64 },
    Between { least_s: f64, most_s: f64 },
}

/// The reports of an activity.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Times at which the share done changed, in seconds, with the share from then on. Both rise.
    changes: Vec<(f64, f64)>,
}

impl Pace {
    /// Takes the present share done, `None` where it is unknown. A share that falls a little is of a plan that grew,
    /// and one that falls further begins another activity.
    pub(super) fn look(&mut self, share: Option<f64>, elapsed: Duration) {
        let Some(share) = share else { return self.changes.clear() };
        match self.changes.last() {
            Some(&(_, last)) if share < last / 2.0 => self.changes.clear(),
            _ => self.changes.truncate(self.changes.partition_point(|&(_, known)| known <= share)),
        }
        if self.changes.last().is_none_or(|&(_, last)| share > last) {
            self.changes.push((elapsed.as_s_f64(), share));
        }
        if self.changes.len() > REPORTS {
            let mut nth = 0..;
            self.changes.retain(|_| nth.next().is_some_and(|nth: usize| nth.is_multiple_of(2)));
        }
    }

    /// Estimates the remaining time.
    pub(super) fn to_go(&self, elapsed: Duration) -> ToGo {
        let (Some(&(began_s, first)), Some(&(changed_s, share))) =
            (self.changes.first(), self.changes.last())
        else {
            return ToGo::Unknown;
        };
        let (done, left, took_s) = (share - first, (1.0 - share).max(0.0), changed_s - began_s);
        let is_enough = took_s >= LEAST_TIME_S && done >= LEAST_DONE * (1.0 - first);
        let since_s = (elapsed.as_s_f64() - changed_s).max(0.0);
        if left == 0.0 {
            return ToGo::About { s: 0.0 };
        }
        if !is_enough {
            return ToGo::Unknown;
        }
        // What is left, at the pace from `from` to `to`, both parts of the time so far.
        let at_pace = |from: f64, to: f64| {
            let [before, after] = [from, to].map(|part| self.share_at(began_s + took_s * part));
            left * took_s * (to - from) / (after - before)
        };
        let paces = [at_pace(0.0, 0.5), at_pace(0.5, 1.0), at_pace(0.75, 1.0)];
        // The wait since the last report is either a part of what is left, or of what the work so far took.
        let least_s = (paces.into_iter().fold(f64::INFINITY, f64::min) - since_s).max(0.0);
        let most_s = paces.into_iter().fold(left * (took_s + since_s) / done, f64::max);
        if most_s - least_s <= ONE_TIME_S {
            ToGo::About { s: (least_s + most_s) / 2.0 }
        } else if most_s <= ONE_TIME * least_s {
            ToGo::About { s: (least_s * most_s).sqrt() }
        } else if most_s <= RANGE * least_s {
            ToGo::Between { least_s, most_s }
        } else {
            ToGo::Unknown
        }
    }

    /// Returns the share done at a time between the first report and the last, at an even pace between two reports.
    fn share_at(&self, at_s: f64) -> f64 {
        let behind = self.changes.partition_point(|&(s, _)| s <= at_s).clamp(1, self.changes.len() - 1);
        let ((from_s, from), (to_s, to)) = (self.changes[behind - 1], self.changes[behind]);
        from + (to - from) * (at_s - from_s) / (to_s - from_s)
    }
}

impl fmt::Display for ToGo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unknown => f.write_str("the time to go is not known yet"),
            Self::About { s } => write!(f, "about {} to go", rounded_time(s)),
            Self::Between { least_s, most_s } => {
                let (least, most) = (rounded_time(least_s), rounded_time(most_s));
                let number = |time: &str| {
                    time.split_once(' ').map(|(number, unit)| (number.to_owned(), unit.to_owned()))
                };
                match (number(&least), number(&most)) {
                    (Some((number, one)), Some((_, other))) if one == other => {
                        write!(f, "{number} to {most} to go")
                    }
                    _ => write!(f, "{least} to {most} to go"),
                }
            }
        }
    }
}

/// Formats a time coarsely: `7 s`, `50 s`, `12 min`, `3.5 h`.
pub(super) fn rounded_time(s: f64) -> String {
    if s < 20.0 {
        format!("{s:.0} s")
    } else if s < 100.0 {
        format!("{:.0} s", (s / 5.0).round() * 5.0)
    } else if s < 100.0 * 60.0 {
        format!("{:.0} min", s / 60.0)
    } else {
        format!("{:.1} h", s / 3600.0)
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
