//! Options for observing a run; none changes the measurement.

use flashlane_base::Duration;
use std::ops::ControlFlow;

/// Called at intervals with the progress of a run, or of another measurement that reports a `P`; [`ControlFlow::Break`]
/// ends it, and the measurements until then are kept.
pub type Watch<'a, P = Progress> = &'a mut dyn FnMut(&P) -> ControlFlow<()>;

/// Options for observing a run.
pub struct RunOptions<'a> {
    /// Most requests kept as samples, drawn evenly from all; zero keeps none.
    pub samples: usize,
    /// Receives the progress and can stop the run.
    pub watch: Option<Watch<'a>>,
    /// Whether the device records where the time of requests goes, if it can.
    pub time_splits: bool,
}

impl Default for RunOptions<'_> {
    /// 100,000 samples (4 MB), unwatched, without time splits.
    fn default() -> Self {
        Self { samples: 100_000, watch: None, time_splits: false }
    }
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Requests measured.
    pub requests: u64,
    /// Requests after which the run stops, if any.
    pub requests_wanted: Option<u64>,
    /// Device time since measuring began.
    pub elapsed: Duration,
    /// Device time after which the run stops, if any.
    pub time_wanted: Option<Duration>,
    /// Whether this is the progress of preconditioning ([`flashlane_workload::Precondition`]).
    pub preconditions: bool,
}

impl Progress {
    /// Returns the share done, 0 to 1, the larger by count and by time; `None` where only a confidence interval ends
    /// the run.
    pub fn share(&self) -> Option<f64> {
        let by_count = self.requests_wanted.map(|n| self.requests as f64 / n.max(1) as f64);
        let by_time = self.time_wanted.map(|t| self.elapsed.as_ns() as f64 / t.as_ns().max(1) as f64);
        match (by_count, by_time) {
            (Some(a), Some(b)) => Some(a.max(b).min(1.0)),
            (a, b) => a.or(b).map(|share| share.min(1.0)),
        }
    }
}
