//! What a measurement of one point gives.

use flashlane_base::{Histogram, Seed};
use flashlane_device::Counters;
use flashlane_measure::Run;
use flashlane_measure::statistics::steady_state::Window;
use flashlane_result::probe::Rate;
use flashlane_workload::Workload;

/// Measurement of one point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) bandwidth_bytes_per_s: f64,
    pub(crate) iops: f64,
    pub(crate) p50_ns: f64,
    pub(crate) p99_ns: f64,
    pub(crate) requests: u64,
    /// Whether the latency was steady over the run, by the rule of `run`.
    pub(crate) steady: bool,
    /// Flash pages programmed per page written, where the device counts them.
    pub(crate) write_amplification: Option<f64>,
    /// Whether GC ran meanwhile, where the device counts it.
    pub(crate) cleaning: Option<bool>,
    /// The workload line that repeats it.
    pub(crate) workload: String,
}

impl From<&Measured> for Rate {
    fn from(measured: &Measured) -> Self {
        Self {
            bandwidth_bytes_per_s: measured.bandwidth_bytes_per_s.round(),
            iops: measured.iops.round(),
            p50_ns: measured.p50_ns,
            p99_ns: measured.p99_ns,
            requests: measured.requests,
            steady: measured.steady,
            workload: measured.workload.clone(),
        }
    }
}

impl From<&Run> for Measured {
    fn from(run: &Run) -> Self {
        Self {
            steady: run.steadiness.as_ref().is_some_and(Window::is_steady),
            ..Self::of_rounds(std::slice::from_ref(run))
        }
    }
}

impl Measured {
    /// Combines runs of one workload, of which there MUST be at least one.
    pub(crate) fn of_rounds(rounds: &[Run]) -> Self {
        let mut latencies = Histogram::new();
        let (mut requests, mut bytes, mut ns) = (0, 0, 0);
        let mut counters = Counters::default();
        for run in rounds {
            latencies.merge(&run.latencies());
            requests += run.requests;
            bytes += run.bytes();
            ns += run.elapsed.as_ns();
            counters = counters.plus(&run.counters);
        }
        let (latency, per_s) = (latencies.latency(), 1e9 / ns.max(1) as f64);
        Self {
            bandwidth_bytes_per_s: bytes as f64 * per_s,
            iops: requests as f64 * per_s,
            p50_ns: latency.p50,
            p99_ns: latency.p99,
            requests,
            steady: false,
            write_amplification: counters.write_amplification(),
            cleaning: is_cleaning(&counters),
            workload: line(&rounds[0].workload),
        }
    }
}

/// Returns a workload as a line for `run`, without the default seed of 0.
pub(crate) fn line(workload: &Workload) -> String {
    workload.to_string().replacen(",seed=0", "", usize::from(workload.seed == Seed(0)))
}

/// Returns whether GC ran, where the device counts it.
pub(crate) fn is_cleaning(counters: &Counters) -> Option<bool> {
    let moved = counters.get("pages_moved_by_cleaning").is_some_and(|pages| pages > 0);
    counters.get("blocks_erased").map(|blocks| blocks > 0 || moved)
}
