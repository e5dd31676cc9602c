//! The two phases of a run: its start-up, and the running phase with its period.
//!
//! A drive with a buffer or spare erased blocks is cheap to write until they are used up (the start-up phase), and from
//! then on oscillates between cheap and expensive I/Os (the running phase). A mean is valid only without the first and
//! over several periods of the second (Bouganim, Jonsson, Bonnet: "uFLIP: Understanding Flash IO Patterns", CIDR 2009,
//! section 4.2, which read both off a plot and left their detection to others).
//!
//! [`Phases::of`] finds both in the response times of one long run, in the order of submission, and [`counts`] derives
//! the lengths of later runs: uFLIP's `IOIgnore` and `IOCount`. Irregular expensive I/Os are not a period, and a run
//! that does not change from its first I/O on has no start-up.
//!
//! Two methods find the end of the start-up, and are combined here: the distribution of response times (`change`), and
//! the period of the running phase (`periodicity`), which is missing before (`carried_back`). SNIA's rule for steady
//! state is applied to the same series for comparison.
//!
//! Cost: a sort and some transforms; `cargo bench -p flashlane-measure --bench phases` says how long they take.

mod carried_back;
mod change;
mod correlation;
mod counts;
mod doubt;
mod periodicity;
mod plot;

pub use counts::{Counts, counts};
pub use doubt::PhaseDoubt;
pub use plot::plot;

use super::steady_state::{self, Steady};
use change::Beginning;
use periodicity::{Rhythm, Search};

/// The phases of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// I/Os of the run.
    pub requests: usize,
    /// The start-up phase.
    pub startup: Startup,
    /// The mean response time of the running phase, in nanoseconds.
    pub running_mean_ns: f64,
    /// Period of the running phase; `None` where it has none.
    pub period: Option<Period>,
    /// Where SNIA's rule calls the run steady; `None` where it never does, or the run is too short.
    pub snia: Option<Steady>,
    /// Doubts about the phases.
    pub doubts: Vec<PhaseDoubt>,
}

/// The start-up phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Startup {
    /// I/Os before the running phase; 0 without a start-up.
    pub requests: usize,
    /// Their mean response time in nanoseconds; `None` where there are none.
    pub mean_ns: Option<f64>,
    /// How it was recognised; `None` without a start-up.
    pub evidence: Option<Evidence>,
}

/// How a start-up was recognised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// Its response times have another distribution.
    Distribution {
        /// Divergence from the distribution of the running phase, in multiples of the greatest divergence by chance or
        /// of a stretch of its length within the running phase: at least 3.
        clarity: f64,
    },
    /// It lacks the period of the running phase.
    Rhythm,
}

/// The period of the running phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Length in I/Os, at least 2.
    pub requests: usize,
    /// Share of the variation of (logarithmic) response times that is periodic, above 0 to 1.
    pub strength: f64,
    /// Share of the strength that remains two periods later, 0 to 1: near 1 for a regular period.
    pub coherence: f64,
    /// Number of periods in the running phase.
    pub cycles: f64,
}

/// Fewest I/Os in which phases can be found.
pub const LEAST_REQUESTS: usize = 256;

impl Phases {
    /// Finds the phases of a run from its response times in nanoseconds, in the order of submission.
    ///
    /// A run of less than [`LEAST_REQUESTS`] gets neither start-up nor period, but a doubt.
    pub fn of(latencies_ns: &[u64]) -> Self {
        let requests = latencies_ns.len();
        let mut doubts = Vec::new();
        let mut startup = Startup { requests: 0, mean_ns: None, evidence: None };
        let mut period = None;
        if requests < LEAST_REQUESTS {
            doubts.push(PhaseDoubt::TooFew { requests, needed: LEAST_REQUESTS });
        } else {
            let beginning = change::find(latencies_ns);
            let logs: Vec<f64> = latencies_ns.iter().map(|&ns| (ns.max(1) as f64).ln()).collect();
            let settled = if let Beginning::Until { at, .. } = beginning { at } else { 0 };
            let search = periodicity::find(&logs[settled..]);
            let rhythm = if let Search::Found(rhythm) = search { Some(rhythm) } else { None };
            (startup.requests, startup.evidence) = startup_end(beginning, rhythm, &logs, settled);
            period = rhythm.map(|rhythm| Period::of(rhythm, requests - startup.requests));
            doubts.extend(doubt::about(beginning, search));
        }
        let (before, running) = latencies_ns.split_at(startup.requests);
        startup.mean_ns = (!before.is_empty()).then(|| mean(before));
        let snia = steady_state::since(latencies_ns);
        Self { requests, startup, running_mean_ns: mean(running), period, snia, doubts }
    }
}

/// Combines both methods of finding the end of the start-up.
fn startup_end(
    beginning: Beginning,
    rhythm: Option<Rhythm>,
    logs: &[f64],
    settled: usize,
) -> (usize, Option<Evidence>) {
    let by_distribution = match beginning {
        Beginning::Until { at, clarity } => (at, Some(Evidence::Distribution { clarity })),
        _ => (0, None),
    };
    let Some(rhythm) = rhythm else { return by_distribution };
    match carried_back::sets_in(logs, &rhythm, settled) {
        // The start of the rhythm is known to a period; within a period, the distribution is more exact.
        Some(at) if by_distribution.0 as f64 + rhythm.period <= at as f64 => (at, Some(Evidence::Rhythm)),
        _ => by_distribution,
    }
}

impl Period {
    fn of(rhythm: Rhythm, running: usize) -> Self {
        let Rhythm { period, strength, coherence, .. } = rhythm;
        let requests = (period.round() as usize).max(2);
        Self { requests, strength, coherence, cycles: running as f64 / period }
    }
}

fn mean(latencies_ns: &[u64]) -> f64 {
    latencies_ns.iter().map(|&ns| ns as f64).sum::<f64>() / latencies_ns.len().max(1) as f64
}

#[cfg(test)]
mod tests;
