//! `flashlane.run/1` and `flashlane.runs/1`: one workload on one device, and several in turn.

use crate::{Figure, Machine, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What [`RunResult::schema`] says.
pub const RUN_SCHEMA: &str = "flashlane.run/1";

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: DeviceRow,
    /// What was asked of it, in the one-line form where that can say it.
    pub workload: String,
    /// The root of the workload's randomness.
    pub seed: u64,
    /// Requests measured.
    pub requests: u64,
    /// Device time, in seconds.
    pub elapsed_s: f64,
    /// Requests a second of device time.
    pub iops: f64,
    /// Bytes read and written a second of device time.
    pub bandwidth_bytes_per_s: f64,
    /// Latencies of all requests.
    pub latency_ns: Latency,
    /// How well the mean latency is known; `null` for a short run.
    pub confidence: Option<ConfidenceRow>,
    /// The same by operation: `read`, `write`, `trim`, `flush`; only those that occurred. Flushes are in no other number.
    pub operations: BTreeMap<String, OperationRow>,
    /// The same by job.
    pub jobs: Vec<JobRow>,
    /// Accesses a second that arrived, where every job has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// What was written before measuring, where the workload asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<PreconditionRow>,
    /// What was checked, where the workload asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifiedRow>,
    /// What the measuring itself costs a request, measured over a device that does nothing; `null` for a simulated
    /// device, in whose time it costs nothing.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the run ended before its end; `null` where it did not.
    pub partial: Option<String>,
    /// What a report draws; left out where a result is printed.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// What [`RunsResult::schema`] says.
pub const RUNS_SCHEMA: &str = "flashlane.runs/1";

/// Runs that were made in turn on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunsResult {
    /// Always [`RUNS_SCHEMA`].
    pub schema: String,
    /// The device's name.
    pub device: String,
    /// Each run, without its figures and warnings.
    pub runs: Vec<RunResult>,
    /// Doubts about the results, each with the run that it is about.
    pub warnings: Vec<Warning>,
    /// Why the last run ended before its end; `null` where it did not.
    pub partial: Option<String>,
    /// What a report draws.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

impl RunsResult {
    /// Of `wanted` runs those that were made.
    pub fn new(mut runs: Vec<RunResult>, wanted: usize) -> Self {
        let (mut warnings, mut figures) = (Vec::new(), Vec::new());
        let made = runs.len();
        for (nth, run) in (1..).zip(&mut runs) {
            let about =
                |warning: Warning| Warning { message: format!("run {nth}: {}", warning.message), ..warning };
            warnings.extend(run.warnings.drain(..).map(about));
            let of = |figure: Figure| Figure {
                id: format!("run-{nth}-{}", figure.id),
                title: format!("Run {nth}: {}", figure.title),
                ..figure
            };
            figures.extend(run.figures.drain(..).map(of));
        }
        let partial = runs.last().and_then(|run| run.partial.clone());
        let partial = partial.map(|reason| format!("{reason}, in run {made} of {wanted}"));
        let device = runs.first().map(|run| run.device.name.clone()).unwrap_or_default();
        Self { schema: RUNS_SCHEMA.into(), device, runs, warnings, partial, figures, machine: None }
    }
}

/// A device in a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// The spec or path it was opened by.
    pub name: String,
    /// Bytes that can be addressed.
    pub capacity_bytes: u64,
    /// Flash beyond the capacity, as a share of the capacity; only of a simulated drive with a translation layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning_share: Option<f64>,
    /// Unit of reads.
    pub read_unit_bytes: u64,
    /// Unit of writes.
    pub write_unit_bytes: u64,
    /// Requests it takes at a time.
    pub depth: u32,
    /// Whether its time is simulated.
    pub simulated: bool,
    /// What it counted.
    pub counters: CounterRow,
}

/// What a device counted while it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterRow {
    /// Flash pages programmed a page the host wrote; `null` without writes, or where the device cannot know.
    pub write_amplification: Option<f64>,
    /// Its counts by name.
    #[serde(flatten)]
    pub counts: BTreeMap<String, u64>,
}

/// The confidence interval of the mean latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceRow {
    /// The interval's level: 0.95.
    pub level: f64,
    /// Half its width.
    pub half_width_ns: f64,
    /// Batches of consecutive requests that it stands on.
    pub batches: u32,
}

/// One operation's share of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationRow {
    /// Requests measured.
    pub requests: u64,
    /// Requests a second.
    pub iops: f64,
    /// Their latencies.
    pub latency_ns: Latency,
}

/// One job's share of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its name.
    pub name: String,
    /// What it asked for, in the one-line form.
    pub workload: String,
    /// Requests measured.
    pub requests: u64,
    /// Requests a second.
    pub iops: f64,
    /// Bytes read and written a second.
    pub bandwidth_bytes_per_s: f64,
    /// Latencies of its requests.
    pub latency_ns: Latency,
    /// Accesses a second that arrived, where the job has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// How long the last access that was issued had waited for those before it, where the job has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
}

/// What was written before measuring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreconditionRow {
    /// Bytes that were written sequentially.
    pub sequential_bytes: u64,
    /// Bytes that were then written as the workload does.
    pub written_bytes: u64,
    /// Writes a second in each round of these.
    pub rounds_iops: Vec<f64>,
    /// Whether the last five rounds meet SNIA's rule.
    pub steady: bool,
    /// Of the last five: highest minus lowest, as a share of their average; `null` for fewer.
    pub excursion: Option<f64>,
    /// Of the last five: the drift, as a share of their average; `null` for fewer.
    pub slope: Option<f64>,
}

/// What was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedRow {
    /// Bytes of each header and what it covers.
    pub unit_bytes: u64,
    /// Bytes that were read and checked while it was measured.
    pub checked_bytes: u64,
    /// Bytes that were read and not checked, because the run had not written them.
    pub unchecked_bytes: u64,
    /// Bytes that were read back and checked at the end.
    pub read_back_bytes: u64,
    /// Units that were found to hold something else than what was written.
    #[serde(default)]
    pub mismatches: u64,
    /// The first of these, in words.
    #[serde(default)]
    pub first_mismatches: Vec<String>,
}

crate::kind!(RunResult, RUN_SCHEMA);
crate::kind!(RunsResult, RUNS_SCHEMA);

/// Several of an operation: `reads`, `flushes`.
pub fn plural(operation: &str) -> String {
    if operation.ends_with('h') { format!("{operation}es") } else { format!("{operation}s") }
}
