//! uFLIP on the paper's drives: once for each drive, with all micro-benchmarks that its figures use.
//!
//! Enforcing the state by writes takes nearly all of the time. A quick study does so only on the drive whose figures
//! show the effects of such writes (Figures 3 and 5); the others begin in the fragmented state of their profiles, which
//! is computed. It skips every other value, except those that figures show individually.

use crate::FigureError;
use crate::lab::Lab;
use crate::study::SharedMeasurement;
use flashlane_result::Warning;
use flashlane_result::uflip::RunRow;
use flashlane_uflip::{Baseline, Benchmark, Effort, Options, StateMethod, UflipResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A drive's result, with the response times that figures show individually.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Benchmarked {
    pub(super) result: UflipResult,
    /// Response times of the methodology's long run of random writes, in nanoseconds.
    pub(super) long_rw_ns: Vec<u64>,
}

/// The benchmarks that Table 3 uses.
const TABLE_3: [Benchmark; 5] = [
    Benchmark::Granularity,
    Benchmark::Locality,
    Benchmark::Partitioning,
    Benchmark::Order,
    Benchmark::Pause,
];

/// The drives, longest duration first.
pub(super) const DRIVES: &[SharedMeasurement] = &[
    SharedMeasurement {
        name: "mtron-like",
        figures: &["table3", "fig3", "fig5", "fig8"],
        weight: 80,
        measure: |lab| benchmarked(lab, "mtron-like", &[], StateMethod::Random),
    },
    SharedMeasurement {
        name: "memoright-like",
        figures: &["table3", "fig6", "fig8"],
        weight: 20,
        measure: |lab| benchmarked(lab, "memoright-like", &[Benchmark::Granularity], StateMethod::AsIs),
    },
    SharedMeasurement {
        name: "samsung-like",
        figures: &["table3", "fig5", "fig8", "alignment"],
        weight: 20,
        measure: |lab| benchmarked(lab, "samsung-like", &[Benchmark::Alignment], StateMethod::AsIs),
    },
    SharedMeasurement {
        name: "transcend-module-like",
        figures: &["table3"],
        weight: 20,
        measure: |lab| benchmarked(lab, "transcend-module-like", &[], StateMethod::AsIs),
    },
    SharedMeasurement {
        name: "kingston-dti-like",
        figures: &["table3", "fig4", "fig5", "fig7"],
        weight: 20,
        measure: |lab| benchmarked(lab, "kingston-dti-like", &[Benchmark::Granularity], StateMethod::AsIs),
    },
];

/// Runs uFLIP on a drive. Figures use all values of `whole`; a quick study enforces the state by `quick_state`.
fn benchmarked(
    lab: &mut Lab<'_>,
    profile: &str,
    whole: &[Benchmark],
    quick_state: StateMethod,
) -> Result<Value, FigureError> {
    let mut benchmarks = TABLE_3.to_vec();
    benchmarks.extend(whole.iter().filter(|benchmark| !TABLE_3.contains(benchmark)));
    let grid = |benchmark: &Benchmark| {
        (*benchmark, if whole.contains(benchmark) { Effort::Full } else { Effort::Normal })
    };
    let options = Options {
        effort: lab.either(Effort::Full, Effort::Normal),
        grids: lab.either(Vec::new(), benchmarks.iter().map(grid).collect()),
        benchmarks,
        state: lab.either(StateMethod::Random, quick_state),
        ..Options::default()
    };
    let outcome = lab.uflip(profile, options)?;
    let long_run = outcome.result.runs.iter().find(|run| run.id == "phases/RW");
    let long_run = long_run.expect("the methodology's runs are always made");
    let long_rw_ns =
        outcome.latencies_ns[long_run.first_sample as usize..][..long_run.samples as usize].to_vec();
    let found = Benchmarked { result: outcome.result, long_rw_ns };
    Ok(serde_json::to_value(found).expect("a result is plain data"))
}

impl Benchmarked {
    /// Returns the mean response time of a baseline at a value of a micro-benchmark over the repetitions, in
    /// milliseconds.
    pub(super) fn mean_ms(&self, benchmark: Benchmark, baseline: Baseline, value: i64) -> f64 {
        let of = |run: &&RunRow| {
            run.benchmark == Some(benchmark)
                && run.first == baseline
                && run.second.is_none()
                && run.value == value
        };
        let means: Vec<f64> =
            self.result.runs.iter().filter(of).map(|run| run.summary.mean_ns / 1e6).collect();
        means.iter().sum::<f64>() / means.len() as f64
    }

    /// Returns a warning about the values that a quick study skips.
    pub(super) fn left_out(&self) -> Option<Warning> {
        self.result.states.is_empty().then(|| {
            Warning::new(
                "state-as-is",
                "drives other than the Mtron began in the fragmented state of their profiles and were not \
                      written all over first; without --quick all are, and more values are measured",
            )
        })
    }
}
