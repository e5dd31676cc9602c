//! Doubts about a result: typed, computed once, carried with the result wherever it is shown.

use crate::{Interruption, Run};

/// A reason not to take a result at face value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// The run ended before its end.
    #[error("the result is partial: {0}")]
    Partial(Interruption),
    /// Requests failed or never came back.
    #[error("{requests} requests failed or never came back; they are in no other number")]
    Failed {
        /// How many.
        requests: u64,
    },
    /// So few requests that the tail says nothing.
    #[error("only {requests} requests were measured: a 99.9th percentile needs at least {needed}")]
    TooFewRequests {
        /// How many there were.
        requests: u64,
        /// How many are needed.
        needed: u64,
    },
    /// The confidence interval that was to end the run was not reached.
    #[error("the mean latency is known to ±{:.2}%, not to the ±{:.2}% asked for", reached * 100.0, wanted * 100.0)]
    ConfidenceNotReached {
        /// Share of the mean, to each side.
        reached: f64,
        /// Share asked for.
        wanted: f64,
    },
    /// The mean latency is not well known.
    #[error("the mean latency is known only to ±{:.1}% (95% confidence)", relative * 100.0)]
    WideInterval {
        /// Share of the mean, to each side.
        relative: f64,
    },
    /// Latencies depend on each other over longer than the run can judge.
    #[error("latencies are correlated over long stretches: the confidence interval is too narrow")]
    Correlated,
    /// The latency changed during the run.
    #[error(
        "the latency was not steady: over five equal parts of the run it varied by {:.0}% and drifted by {:.0}%",
        excursion * 100.0, slope * 100.0
    )]
    Unsteady {
        /// Highest minus lowest part, as a share of the average.
        excursion: f64,
        /// Drift over the run, as a share of the average; signed.
        slope: f64,
    },
    /// More requests in flight than the device takes.
    #[error(
        "{waited} requests waited because the device takes only {depth} at a time; the wait is in their latency"
    )]
    DeviceFull {
        /// Requests that waited.
        waited: u64,
        /// The device's depth.
        depth: u32,
    },
    /// What was read had mostly never been written, and the drive answered without its flash.
    #[error(
        "{:.0}% of the pages read had never been written: the drive answered without its flash; begin with a full \
         one, by the setting initial.state=full",
        share * 100.0
    )]
    NotWritten {
        /// Their share of all pages read, 0 to 1.
        share: f64,
    },
    /// Not every request was kept.
    #[error(
        "{kept} of {requests} requests were kept as samples, drawn evenly; all other numbers are of all requests"
    )]
    SamplesDrawn {
        /// Kept.
        kept: u64,
        /// Measured.
        requests: u64,
    },
}

/// A 99.9th percentile with at least one request beyond it.
const REQUESTS_NEEDED: u64 = 1000;
/// From here on an interval is called wide.
const WIDE: f64 = 0.05;

impl Doubt {
    /// A short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Partial(_) => "partial",
            Self::Failed { .. } => "requests-failed",
            Self::TooFewRequests { .. } => "too-few-requests",
            Self::ConfidenceNotReached { .. } => "confidence-not-reached",
            Self::WideInterval { .. } => "wide-confidence-interval",
            Self::Correlated => "correlated-latencies",
            Self::Unsteady { .. } => "unsteady",
            Self::DeviceFull { .. } => "device-full",
            Self::NotWritten { .. } => "not-written",
            Self::SamplesDrawn { .. } => "samples-drawn",
        }
    }
}

impl Run {
    /// What there is to doubt, gravest first.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut doubts: Vec<Doubt> = self.partial.map(Doubt::Partial).into_iter().collect();
        if self.failed > 0 {
            doubts.push(Doubt::Failed { requests: self.failed });
        }
        if self.requests < REQUESTS_NEEDED {
            doubts.push(Doubt::TooFewRequests { requests: self.requests, needed: REQUESTS_NEEDED });
        }
        doubts.extend(self.doubts_about_mean());
        if let Some(window) = self.steadiness.filter(|window| !window.is_steady()) {
            doubts.push(Doubt::Unsteady { excursion: window.excursion, slope: window.slope });
        }
        if self.waited > 0 {
            doubts.push(Doubt::DeviceFull { waited: self.waited, depth: self.profile.depth });
        }
        doubts.extend(self.doubt_about_flash());
        let kept = self.samples.len() as u64;
        if kept > 0 && kept < self.requests {
            doubts.push(Doubt::SamplesDrawn { kept, requests: self.requests });
        }
        doubts
    }

    /// Only a simulated drive tells.
    fn doubt_about_flash(&self) -> Option<Doubt> {
        let read = self.counters.get("host_pages_read").filter(|&pages| pages > 0)?;
        let answered = ["flash_pages_read", "buffer_read_hits", "readahead_page_hits"];
        let answered: u64 = answered.iter().filter_map(|name| self.counters.get(name)).sum();
        let share = read.saturating_sub(answered) as f64 / read as f64;
        (share > 0.5).then_some(Doubt::NotWritten { share })
    }

    fn doubts_about_mean(&self) -> Option<Doubt> {
        let confidence = self.confidence?;
        let reached = confidence.relative();
        match self.workload.stop.confidence {
            Some(wanted) if reached > wanted => Some(Doubt::ConfidenceNotReached { reached, wanted }),
            _ if confidence.correlated => Some(Doubt::Correlated),
            _ if reached > WIDE => Some(Doubt::WideInterval { relative: reached }),
            _ => None,
        }
    }
}
