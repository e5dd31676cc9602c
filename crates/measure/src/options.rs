//! How a run is observed; nothing here changes what is measured.

use flashlane_base::Duration;
use std::ops::ControlFlow;

/// Called now and then during a run; [`ControlFlow::Break`] ends it, and what was measured stands.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// How a run is observed.
pub struct Options<'a> {
    /// At most this many single requests are kept, drawn evenly from all; zero keeps none.
    pub samples: usize,
    /// Progress and the way to stop.
    pub watch: Option<Watch<'a>>,
}

impl Default for Options<'_> {
    /// 100,000 samples (3.2 MB), unwatched.
    fn default() -> Self {
        Self { samples: 100_000, watch: None }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Requests measured.
    pub requests: u64,
    /// Requests after which the run stops, where it does by count.
    pub requests_wanted: Option<u64>,
    /// Device time since measuring began.
    pub elapsed: Duration,
    /// Device time after which the run stops, where it does by time.
    pub time_wanted: Option<Duration>,
    /// Whether this is of the writes before measuring ([`flashlane_workload::Precondition`]).
    pub preconditions: bool,
}

impl Progress {
    /// The share done, 0 to 1, by whichever end is nearer; `None` where only a confidence interval ends the run.
    pub fn share(&self) -> Option<f64> {
        let by_count = self.requests_wanted.map(|n| self.requests as f64 / n.max(1) as f64);
        let by_time = self.time_wanted.map(|t| self.elapsed.as_ns() as f64 / t.as_ns().max(1) as f64);
        match (by_count, by_time) {
            (Some(a), Some(b)) => Some(a.max(b).min(1.0)),
            (a, b) => a.or(b).map(|share| share.min(1.0)),
        }
    }
}
