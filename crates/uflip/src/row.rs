//! A run as its row in the result.

use crate::{Experiment, summary};
use flashlane_result::uflip::{Baseline, RunRow};

/// Returns the row of a run of an experiment; the caller sets the position of its samples, and whether garbage was
/// collected.
pub(crate) fn row(
    experiment: &Experiment,
    repetition: u32,
    ignored: u64,
    latencies_ns: &[u64],
    elapsed_ns: u64,
) -> RunRow {
    let parameter = experiment.benchmark.parameter();
    let running = &latencies_ns[(ignored as usize).min(latencies_ns.len())..];
    RunRow {
        id: format!("{}/{repetition}", experiment.name()),
        benchmark: Some(experiment.benchmark),
        baseline: experiment.pattern_name(),
        first: experiment.first,
        second: experiment.second,
        parameter: parameter.name.into(),
        value: experiment.value,
        unit: parameter.unit.into(),
        repetition,
        ignored,
        count: running.len() as u64,
        summary: summary::of(running),
        elapsed_ns,
        first_sample: 0,
        samples: latencies_ns.len() as u64,
        cleaned: None,
    }
}

/// Returns the row of a long run of the methodology: of an unvaried baseline.
pub(crate) fn row_of_methodology(
    what: &str,
    baseline: Baseline,
    ignored: u64,
    latencies_ns: &[u64],
    elapsed_ns: u64,
) -> RunRow {
    RunRow {
        id: format!("{what}/{}", baseline.name()),
        benchmark: None,
        parameter: what.into(),
        value: 0,
        unit: String::new(),
        ..row(&Experiment::alone(baseline), 1, ignored, latencies_ns, elapsed_ns)
    }
}
