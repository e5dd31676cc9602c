//! The score of the probe's bounds on the 99th percentile: probes with a bound a little above and below the percentile
//! that a probe without one states, whose lines are run on a new drive and compared with the bound.
//!
//! A recommendation within a bound promises that a run of its line keeps it; the advice that no number in flight keeps
//! a bound promises that runs of its line, and of the same with one request in flight, miss it. Both may be left open,
//! where the measurements do not decide: this promises nothing, and is counted apart.

use super::{Subject, device, run_line};
use flashlane_base::{Duration, Seed};
use flashlane_probe::{Effort, Options, ProbeResult, probe};
use flashlane_workload::Workload;
use rayon::prelude::*;

/// Bounds, as multiples of the longest percentile that a probe without a bound states.
pub const FACTORS: [f64; 3] = [0.9, 1.05, 1.3];

/// The loads that a bound is kept for.
pub const LOADS: [&str; 2] = ["random_read", "random_write"];

/// Size of the requests, in bytes.
const REQUEST_BYTES: u64 = 4096;

/// What a probe says of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The line keeps it.
    Kept,
    /// No number in flight keeps it.
    Missed,
    /// The measurements do not decide.
    Open,
}

/// A bound, what a probe says of it, and what runs measure.
#[derive(Clone, Debug)]
pub struct BoundComparison {
    /// The drive's name and state.
    pub drive: String,
    /// The kind of load.
    pub load: &'static str,
    /// The bound, in nanoseconds.
    pub bound_ns: f64,
    /// What the probe says of it.
    pub claim: Claim,
    /// Lowest and highest 99th percentile that it states, in nanoseconds, where it recommends a point.
    pub stated_p99_ns: Option<[f64; 2]>,
    /// The lines that were run, each with its 99th percentile in nanoseconds: of a recommendation one, otherwise that
    /// of the nearest point, and the same with one request in flight.
    pub runs: Vec<(String, f64)>,
}

impl BoundComparison {
    /// Returns whether what the probe says holds; `None` where it leaves that open.
    pub fn holds(&self) -> Option<bool> {
        let bound_ns = self.bound_ns;
        match self.claim {
            Claim::Kept => Some(self.runs.iter().all(|&(_, p99_ns)| p99_ns <= bound_ns)),
            Claim::Missed => Some(self.runs.iter().all(|&(_, p99_ns)| p99_ns > bound_ns)),
            Claim::Open => None,
        }
    }
}

/// Probes every subject with bounds, on all cores. Calls `finished` for each subject as soon as it is done, in any
/// order.
pub fn compare_bounds(
    subjects: &[Subject],
    effort: Effort,
    seed: Seed,
    finished: &(dyn Fn(&[BoundComparison]) + Sync),
) -> Vec<BoundComparison> {
    let one = |subject| {
        let comparisons = compare_one(subject, effort, seed);
        finished(&comparisons);
        comparisons
    };
    subjects.par_iter().flat_map_iter(one).collect()
}

fn compare_one(subject: &Subject, effort: Effort, seed: Seed) -> Vec<BoundComparison> {
    let probed = |p99: Option<Duration>| {
        let mut device = device(&subject.config(subject.state), seed);
        let unit_bytes = device.info().read_unit_bytes.max(device.info().write_unit_bytes);
        let request_bytes = Some(REQUEST_BYTES.max(unit_bytes));
        let full_drive = subject.full_drive(seed);
        let options =
            Options { may_write: true, effort, seed, request_bytes, p99, full_drive, ..Options::default() };
        probe(&mut *device, options).expect("a drive of this size can be probed")
    };
    let without = probed(None);
    let mut comparisons = Vec::new();
    for load in LOADS {
        let Some(point) = without.recommendation.get(load) else { continue };
        let [_, longest_ns] = point.rate.p99_range_ns.unwrap_or([point.rate.p99_ns; 2]);
        for factor in FACTORS {
            let bound = Duration::from_ns((longest_ns * factor) as u64);
            comparisons.push(compare_bound(subject, seed, load, bound, &probed(Some(bound))));
        }
    }
    comparisons
}

/// Compares what a probe says of a bound with runs.
fn compare_bound(
    subject: &Subject,
    seed: Seed,
    load: &'static str,
    bound: Duration,
    result: &ProbeResult,
) -> BoundComparison {
    let point = result.recommendation.get(load);
    let advice = result.advice.iter().find(|advice| advice.about == load);
    let (initial_state, line) = match (point, advice.and_then(|advice| advice.repeat.first())) {
        (Some(point), _) => (point.initial_state(), Some(point.rate.workload.clone())),
        (None, Some(repeat)) => (repeat.state.as_deref(), Some(repeat.workload.clone())),
        (None, None) => (None, None),
    };
    let is_open = advice.is_some_and(|advice| advice.text.ends_with(" for certain"));
    let claim = match point.map(|point| point.keeps_bound(&point.rate)) {
        Some(Some(true)) => Claim::Kept,
        Some(None) => Claim::Open,
        None if is_open => Claim::Open,
        Some(Some(false)) | None => Claim::Missed,
    };
    let mut lines: Vec<Workload> =
        line.iter().map(|line| Workload::parse(line).expect("a line that can be run")).collect();
    if claim == Claim::Missed && lines.iter().any(|line| line.jobs[0].depth > 1) {
        let mut single = lines[0].clone();
        single.jobs[0].depth = 1;
        lines.push(single);
    }
    let config = subject.config(initial_state.unwrap_or(subject.state));
    let runs = lines.into_iter().map(|line| {
        let run = run_line(&config, seed, &line);
        (line.to_string(), run.latencies().latency().p99)
    });
    BoundComparison {
        drive: format!("{}, {}", subject.name, subject.state),
        load,
        bound_ns: bound.as_ns() as f64,
        claim,
        stated_p99_ns: point.map(|point| point.rate.p99_range_ns.unwrap_or([point.rate.p99_ns; 2])),
        runs: runs.collect(),
    }
}
