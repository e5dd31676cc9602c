//! `flashlane.run/1` and `flashlane.runs/1`: one workload on one device, and several, one after the other.

use crate::energy::EnergyRow;
use crate::time_split::TimeSplitRow;
use crate::{Figure, Machine, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`RunResult::schema`].
pub const RUN_SCHEMA: &str = "flashlane.run/1";

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: DeviceRow,
    /// The workload, in the one-line form if possible.
    pub workload: String,
    /// Root seed of the workload.
    pub seed: u64,
    /// Requests measured.
    pub requests: u64,
    /// Device time, in seconds.
    pub elapsed_s: f64,
    /// Requests per second of device time.
    pub iops: f64,
    /// Bytes read and written per second of device time.
    pub bandwidth_bytes_per_s: f64,
    /// Latencies of all requests.
    pub latency_ns: Latency,
    /// Confidence interval of the mean latency; `null` for a short run.
    pub confidence: Option<ConfidenceRow>,
    /// Results by operation: `read`, `write`, `trim`, `flush`, for operations that occurred. Flushes are in no other
    /// number.
    pub operations: BTreeMap<String, OperationRow>,
    /// Requests that failed while the run went on, by operation and cause, which are in no other number; missing where
    /// there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureRow>,
    /// Where the time of requests went, by operation; empty where the device does not record it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_split: Vec<TimeSplitRow>,
    /// The energy; missing where the device does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyRow>,
    /// Results by job.
    pub jobs: Vec<JobRow>,
    /// The least slowdown of a job beside the others, over the greatest: 1 where all are slowed down alike. With
    /// `--alone` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<f64>,
    /// Arrivals per second, if every job has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// Result of preconditioning, if the workload requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<PreconditionRow>,
    /// Result of verification, if the workload requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifiedRow>,
    /// Cost of measuring per request, measured with a null device; `null` for a simulated device, in whose time it
    /// costs nothing.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the run ended early; `null` if it did not.
    pub partial: Option<String>,
    /// Figures of the report; omitted in printed results.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// Value of [`RunsResult::schema`].
pub const RUNS_SCHEMA: &str = "flashlane.runs/1";

/// Several runs on one device, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunsResult {
    /// Always [`RUNS_SCHEMA`].
    pub schema: String,
    /// Name of the device.
    pub device: String,
    /// Each run, without its figures and warnings.
    pub runs: Vec<RunResult>,
    /// Doubts about the results, each with its run.
    pub warnings: Vec<Warning>,
    /// Why the last run ended early; `null` if it did not.
    pub partial: Option<String>,
    /// Figures of the report.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

impl RunsResult {
    /// Combines the completed runs of `wanted` planned ones.
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
    /// The spec or path given.
    pub name: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Flash beyond the capacity, as a share of the capacity, for simulated drives with a translation layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning_share: Option<f64>,
    /// Unit of reads.
    pub read_unit_bytes: u64,
    /// Unit of writes.
    pub write_unit_bytes: u64,
    /// Most requests in flight.
    pub depth: u32,
    /// Whether its time is simulated.
    pub simulated: bool,
    /// Its counters.
    pub counters: CounterRow,
}

/// Counters of a device during the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterRow {
    /// Bytes programmed into flash per byte that the host wrote; `null` without writes, or where the device cannot
    /// know.
    pub write_amplification: Option<f64>,
    /// Counts by name.
    #[serde(flatten)]
    pub counts: BTreeMap<String, u64>,
}

/// The confidence interval of the mean latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceRow {
    /// The interval's level: 0.95.
    pub level: f64,
    /// Half width of the interval.
    pub half_width_ns: f64,
    /// Number of batches of consecutive requests.
    pub batches: u32,
}

/// Results of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationRow {
    /// Requests measured.
    pub requests: u64,
    /// Requests per second.
    pub iops: f64,
    /// Latencies of these requests.
    pub latency_ns: Latency,
}

/// Requests that failed for one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureRow {
    /// The operation: `read`.
    pub operation: String,
    /// The cause: `uncorrectable`.
    pub cause: String,
    /// Number of requests.
    pub requests: u64,
    /// Latencies of these requests.
    pub latency_ns: Latency,
}

/// Results of one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Name of the job.
    pub name: String,
    /// The job in the one-line form.
    pub workload: String,
    /// Requests measured.
    pub requests: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes read and written per second.
    pub bandwidth_bytes_per_s: f64,
    /// Latencies of its requests.
    pub latency_ns: Latency,
    /// Arrivals per second, if the job has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// How long the last issued access had waited for a slot, if the job has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
    /// The job by itself, on a drive of its own. With `--alone` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<AloneRow>,
}

/// A job by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AloneRow {
    /// Requests per second.
    pub iops: f64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// The 99th percentile, in nanoseconds.
    pub p99_ns: f64,
    /// Mean latency beside the other jobs over that alone.
    pub slowdown: f64,
}

/// Result of preconditioning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreconditionRow {
    /// Bytes written sequentially.
    pub sequential_bytes: u64,
    /// Bytes then written by the workload's own writes, or in requests of mixed sizes.
    pub written_bytes: u64,
    /// Writes per second in each round.
    pub rounds_iops: Vec<f64>,
    /// Whether the last five rounds meet SNIA's rule; false without rounds, as after mixed requests.
    pub steady: bool,
    /// Highest minus lowest of the last five rounds, as a share of their average; `null` for fewer.
    pub excursion: Option<f64>,
    /// Drift over the last five rounds, as a share of their average; `null` for fewer.
    pub slope: Option<f64>,
}

/// Result of verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedRow {
    /// Size of a verified unit.
    pub unit_bytes: u64,
    /// Bytes read and checked during the measurement.
    pub checked_bytes: u64,
    /// Bytes read but not checked, because the run had not written them.
    pub unchecked_bytes: u64,
    /// Bytes read back and checked at the end.
    pub read_back_bytes: u64,
    /// Units that failed verification.
    #[serde(default)]
    pub mismatches: u64,
    /// Descriptions of the first of these.
    #[serde(default)]
    pub first_mismatches: Vec<String>,
}

crate::kind!(RunResult, RUN_SCHEMA);
crate::kind!(RunsResult, RUNS_SCHEMA);

/// Returns the plural of an operation: `reads`, `flushes`.
pub fn plural(operation: &str) -> String {
    if operation.ends_with('h') { format!("{operation}es") } else { format!("{operation}s") }
}
