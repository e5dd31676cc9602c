//! The two phases of a run: how long it starts up, and after how many I/Os the running phase repeats itself.
//!
//! A drive that has a buffer or erased blocks in store is cheap to write until they are used up (the start-up phase),
//! and from then on oscillates between cheap and expensive I/Os (the running phase). A mean says something only if the
//! first is left out and the second holds several periods (Bouganim, Jonsson, Bonnet: "uFLIP: Understanding Flash IO
//! Patterns", CIDR 2009, section 4.2, which read both off a plot and left finding them automatically to others).
//!
//! [`Phases::of`] finds both in the response times of one long run, in the order of submission, and [`counts`] what
//! follows for the runs to be measured: uFLIP's `IOIgnore` and `IOCount`. Neither phase is made up: irregular expensive
//! I/Os are no period, and a run that is alike from its first I/O on has a start-up of none.
//!
//! The end of the start-up shows in two ways, which are joined here: by the distribution of response times
//! (`change`), and by the rhythm of the running phase (`periodicity`), which is missing before (`carried_back`).
//! SNIA's rule for steady state is applied to the same series, to be compared.
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
    /// The phase before the running one.
    pub startup: Startup,
    /// The mean response time of the running phase, in nanoseconds.
    pub running_mean_ns: f64,
    /// After how many I/Os the running phase repeats itself; `None` where it does not.
    pub period: Option<Period>,
    /// Since when SNIA's rule calls the same run steady; `None` where it never does, or the run is too short.
    pub snia: Option<Steady>,
    /// What there is to doubt.
    pub doubts: Vec<PhaseDoubt>,
}

/// The start-up phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Startup {
    /// I/Os before the running phase: 0 where the run is alike from its beginning.
    pub requests: usize,
    /// Their mean response time in nanoseconds; `None` where there are none.
    pub mean_ns: Option<f64>,
    /// What it was recognised by; `None` where there is none.
    pub evidence: Option<Evidence>,
}

/// What a start-up was recognised by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// Its response times have another distribution.
    Distribution {
        /// How far its distribution is from that of the running phase, in multiples of what chance and the most
        /// unlike stretch of its length within the running phase reach: at least 3.
        clarity: f64,
    },
    /// It lacks the rhythm of the running phase.
    Rhythm,
}

/// The period of the running phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// I/Os from one round to the next: at least 2.
    pub requests: usize,
    /// The share of the variation of (logarithmic) response times that comes round again, above 0 to 1.
    pub strength: f64,
    /// Of that, the share that still does so two periods later, 0 to 1: near 1 for a period that is strictly kept.
    pub coherence: f64,
    /// How many periods the running phase of this run holds.
    pub cycles: f64,
}

/// Fewer I/Os tell nothing about phases.
pub const LEAST_REQUESTS: usize = 256;

impl Phases {
    /// Finds the phases of a run from its response times in nanoseconds, in the order of submission.
    ///
    /// A run of less than [`LEAST_REQUESTS`] gets neither start-up nor period, and a doubt.
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
            (startup.requests, startup.evidence) = join(beginning, rhythm, &logs, settled);
            period = rhythm.map(|rhythm| Period::of(rhythm, requests - startup.requests));
            doubts.extend(doubt::about(beginning, search));
        }
        let (before, running) = latencies_ns.split_at(startup.requests);
        startup.mean_ns = (!before.is_empty()).then(|| mean(before));
        let snia = steady_state::since(latencies_ns);
        Self { requests, startup, running_mean_ns: mean(running), period, snia, doubts }
    }
}

/// The end of the start-up by either of its signs.
fn join(
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
        // The rhythm is seen to begin with one of its rounds only: within that, the distribution knows better.
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
