//! The result as programs read it: `flashlane.uflip/1` (docs/json.md).

use crate::{
    Baseline, BaselinePhases, Benchmark, Characteristics, Enforcement, Experiment, Hint, Interference,
    Summary,
};
use flashlane_measure::figure::Figure;
use flashlane_measure::schema::{DeviceRow, Warning};
use serde::{Deserialize, Serialize};

/// What [`UflipResult::schema`] says.
pub const RESULT_SCHEMA: &str = "flashlane.uflip/1";

/// A drive, benchmarked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UflipResult {
    /// Always [`RESULT_SCHEMA`].
    pub schema: String,
    /// The program's version.
    pub version: String,
    /// The device.
    pub device: DeviceRow,
    /// How much was measured: `quick`, `normal`, `full`.
    pub mode: String,
    /// The root of all randomness.
    pub seed: u64,
    /// The part of the device that was used, from its beginning.
    pub area_bytes: u64,
    /// The share of the mean within which its confidence interval was to lie.
    pub bound: f64,
    /// The drive in one row.
    pub characteristics: Characteristics,
    /// The paper's seven design hints for this drive.
    pub hints: Vec<Hint>,
    /// The states that were enforced: the first before all else, the others when the room for sequential writes had run
    /// out.
    pub states: Vec<Enforcement>,
    /// Start-up and period of each baseline.
    pub phases: Vec<BaselinePhases>,
    /// How far apart runs stood, and why.
    pub pause: Interference,
    /// I/Os in all.
    pub ios: u64,
    /// Bytes written in all.
    pub written_bytes: u64,
    /// How long all of it took, in seconds of the device's time.
    pub elapsed_s: f64,
    /// The median over all experiments of how far their repetitions are apart, as a share of their mean.
    pub spread: Option<f64>,
    /// Steps that were taken from the journal of a run that had been stopped.
    #[serde(default)]
    pub resumed_steps: u64,
    /// What the measuring itself costs an I/O, one at a time, over a device that does nothing.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// Every run.
    pub runs: Vec<RunRow>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the benchmark ended before its end; `null` where it did not.
    pub partial: Option<String>,
    /// What a report draws.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Its experiment's name and its repetition.
    pub id: String,
    /// The micro-benchmark; `null` for the long runs of the methodology.
    pub benchmark: Option<Benchmark>,
    /// Its pattern, as people write it: `SR`, `SR/RW`.
    pub baseline: String,
    /// Its baseline, or the first of two.
    pub first: Baseline,
    /// The second, where two take turns.
    pub second: Option<Baseline>,
    /// The parameter's name.
    pub parameter: String,
    /// Its value.
    pub value: i64,
    /// Its unit: `B`, `ns`, or nothing.
    pub unit: String,
    /// Which of the repetitions, from 1.
    pub repetition: u32,
    /// I/Os at its beginning that do not count.
    pub ignored: u64,
    /// I/Os that do.
    pub count: u64,
    /// Their response times.
    #[serde(flatten)]
    pub summary: Summary,
    /// How long the run took, in nanoseconds.
    pub elapsed_ns: u64,
    /// Its first single I/O among all that are kept, the ignored ones included …
    pub first_sample: u64,
    /// … and how many it has.
    pub samples: u64,
}

impl RunRow {
    /// The row of a run of an experiment. Its samples are placed by whoever collects them.
    pub(crate) fn of(
        experiment: &Experiment,
        repetition: u32,
        ignored: u64,
        latencies_ns: &[u64],
        elapsed_ns: u64,
    ) -> Self {
        let parameter = experiment.benchmark.parameter();
        let running = &latencies_ns[(ignored as usize).min(latencies_ns.len())..];
        Self {
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
            summary: Summary::of(running),
            elapsed_ns,
            first_sample: 0,
            samples: latencies_ns.len() as u64,
        }
    }

    /// The row of a long run of the methodology: of a baseline as it is, with nothing that varies.
    pub(crate) fn of_methodology(
        what: &str,
        baseline: Baseline,
        ignored: u64,
        latencies_ns: &[u64],
        elapsed_ns: u64,
    ) -> Self {
        Self {
            id: format!("{what}/{}", baseline.name()),
            benchmark: None,
            parameter: what.into(),
            value: 0,
            unit: String::new(),
            ..Self::of(&Experiment::alone(baseline), 1, ignored, latencies_ns, elapsed_ns)
        }
    }
}
