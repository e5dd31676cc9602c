//! When transactions are to begin.

use crate::Pace;
use flashlane_base::{Duration, Instant};

/// The times at which transactions are to begin, made from the recorded ones: the first transaction begins with the
/// run, and where a recording begins again, its first transaction begins with the last one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pace: Pace,
    /// The recorded time of the first transaction of this pass, and when it is to begin.
    origin: Option<(Instant, Instant)>,
    pass: u64,
    /// The latest of all times so far.
    latest: Instant,
}

impl Schedule {
    pub(crate) fn new(pace: Pace, started: Instant) -> Self {
        Self { pace, origin: None, pass: 0, latest: started }
    }

    /// Returns when the transaction of this recorded time, from this pass through the recording, is to begin; `None`
    /// where recorded times are ignored.
    pub(crate) fn of(&mut self, recorded: Instant, pass: u64) -> Option<Instant> {
        let Pace::Open { speed } = self.pace else { return None };
        if pass != self.pass {
            (self.pass, self.origin) = (pass, None);
        }
        let (first, begins) = *self.origin.get_or_insert((recorded, self.latest));
        // A recording is in the order of commits: a transaction may have begun before the first one.
        let after = if recorded > first { recorded.since(first) } else { Duration::ZERO };
        let at = begins + Duration::from_ns((after.as_ns() as f64 / speed) as u64);
        self.latest = self.latest.max(at);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn passes_follow_each_other() {
        let mut schedule = Schedule::new(Pace::Open { speed: 2.0 }, at(1000));
        let times = [(500, 1), (700, 1), (400, 1), (900, 1), (500, 2), (600, 2)];
        let begins = times.map(|(recorded, pass)| schedule.of(at(recorded), pass).unwrap());
        assert_eq!(begins, [1000, 1100, 1000, 1200, 1200, 1250].map(at));
    }

    #[test]
    fn closed_loop_ignores_recorded_times() {
        assert_eq!(Schedule::new(Pace::Closed, at(0)).of(at(5), 1), None);
    }
}
