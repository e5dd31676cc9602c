//! The time in which a served device had commands, to show whether clients kept it busy.
//!
//! A client whose next command comes late, because of its own computing, the socket or the kernel, leaves the device
//! idle. No latency and no lateness of a reply shows that.

use flashlane_base::{Duration, Instant};

/// The time in which commands were in progress.
///
/// Invariant: periods do not overlap, and `busy` is at most the time from `first` to `last`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    /// When the first command was read.
    first: Option<Instant>,
    /// Since when commands are in progress, where any are.
    busy_from: Option<Instant>,
    /// Latest end of a command.
    last: Instant,
    /// Sum of the periods that are over.
    busy: Duration,
}

impl Activity {
    /// A command was read.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        // No earlier than the end of the period before.
        self.busy_from.get_or_insert(now.max(self.last));
    }

    /// A command ended at `at`; `is_busy` is whether others are in progress.
    pub(crate) fn end(&mut self, at: Instant, is_busy: bool) {
        self.last = self.last.max(at);
        if !is_busy && let Some(from) = self.busy_from.take() {
            self.busy += self.last.since(from);
            assert!(self.busy <= self.span(), "busy for longer than served");
        }
    }

    /// Returns the time from the first command to the latest end of one.
    pub fn span(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.last.since(first))
    }

    /// Returns the share of [`span`](Self::span) in which no command was in progress; `None` without any time.
    pub fn idle_share(&self) -> Option<f64> {
        let current = self.busy_from.map_or(Duration::ZERO, |from| self.last.since(from));
        let (busy, span) = (self.busy + current, self.span());
        (span > Duration::ZERO).then(|| 1.0 - busy.as_ns() as f64 / span.as_ns() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_share_counts_time_without_commands() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let mut activity = Activity::default();
        assert_eq!((activity.span(), activity.idle_share()), (Duration::ZERO, None));
        // Two commands from 100 to 200 µs, one from 600 to 700 µs: 400 of 600 µs are idle.
        activity.begin(at(100));
        activity.begin(at(150));
        activity.end(at(170), true);
        activity.end(at(200), false);
        activity.begin(at(600));
        activity.end(at(700), false);
        assert_eq!(activity.span(), Duration::from_us(600));
        let share = activity.idle_share().expect("time has passed");
        assert!((share - 4.0 / 6.0).abs() < 1e-9, "{share}");
        // Now busy from 800 µs on: 500 of 800 µs are idle.
        activity.begin(at(800));
        activity.end(at(900), true);
        let share = activity.idle_share().expect("time has passed");
        assert!((share - 5.0 / 8.0).abs() < 1e-9, "{share}");
    }
}
