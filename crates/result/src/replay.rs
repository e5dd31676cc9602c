//! `flashlane.replay/1`: a recorded trace on one device.
//!
//! Fields that runs also have are the same here.

use crate::energy::EnergyRow;
use crate::run::{ConfidenceRow, DeviceRow, OperationRow};
use crate::time_split::TimeSplitRow;
use crate::{Figure, Machine, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`ReplayResult::schema`].
pub const REPLAY_SCHEMA: &str = "flashlane.replay/1";

/// A replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayResult {
    /// Always [`REPLAY_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: DeviceRow,
    /// The trace, set by its reader; `null` if unknown.
    pub trace: Option<TraceRow>,
    /// Pace of the replay: `open`, `closed` or `think`.
    pub pace: String,
    /// Speed relative to the recording; `null` in a closed loop.
    pub speed: Option<f64>,
    /// Requests in flight in a closed loop; otherwise `null`.
    pub in_flight: Option<u32>,
    /// Handling of requests beyond the device's end: `refuse` or `fold`.
    pub beyond: String,
    /// Handling of unaligned requests: `widen` or `refuse`.
    pub unaligned: String,
    /// Changes that fitted the trace to the device.
    pub fitted: FittedRow,
    /// Seed for drawing samples.
    pub seed: u64,
    /// Requests measured.
    pub requests: u64,
    /// Requests that waited because the device was full.
    pub waited: u64,
    /// Requests per second that the trace requires at the replay's speed; `null` where the pace ignores time stamps.
    #[serde(default)]
    pub asked_iops: Option<f64>,
    /// Bytes per second, likewise.
    #[serde(default)]
    pub asked_bandwidth_bytes_per_s: Option<f64>,
    /// Recorded time from the first request to the last, in seconds.
    pub recorded_span_s: f64,
    /// Device time, in seconds.
    pub elapsed_s: f64,
    /// Requests per second of device time.
    pub iops: f64,
    /// Bytes read and written per second of device time.
    pub bandwidth_bytes_per_s: f64,
    /// Latencies from arrival to completion, of all requests.
    pub latency_ns: Latency,
    /// Latencies from submission to completion.
    pub device_latency_ns: Latency,
    /// How late the replay submitted requests; `null` on a simulated device and in a closed loop.
    pub lateness_ns: Option<Latency>,
    /// Recorded durations of the same requests; `null` where the trace has none.
    pub recorded_latency_ns: Option<Latency>,
    /// Confidence interval of the mean latency; `null` for a short replay.
    pub confidence: Option<ConfidenceRow>,
    /// Results by operation: `read`, `write`, `trim`, `flush`, for operations that occurred.
    pub operations: BTreeMap<String, OperationRow>,
    /// Where the time of requests went, by operation; empty where the device does not record it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_split: Vec<TimeSplitRow>,
    /// The energy; missing where the device does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyRow>,
    /// Results over time.
    pub over_time: OverTimeRow,
    /// The slowest requests, slowest first.
    pub slowest: Vec<SlowRow>,
    /// Cost of measuring per request, measured with a null device; `null` for a simulated device, in whose time it
    /// costs nothing.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the replay ended early; `null` if it did not.
    pub partial: Option<String>,
    /// Figures of the report; omitted in printed results.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// The trace that was replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceRow {
    /// Name of the file.
    pub name: String,
    /// Format of the trace.
    pub format: String,
    /// Lines or events read.
    pub lines: u64,
    /// Lines that are not valid requests.
    pub lines_refused: u64,
    /// The trace's devices, if placed side by side; otherwise empty.
    #[serde(default)]
    pub side_by_side: Vec<PlacedRow>,
}

/// Range of a device of the trace, with devices placed side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedRow {
    /// Number in the trace.
    pub number: u32,
    /// Begin of the range.
    pub begin_bytes: u64,
    /// Length of the range.
    pub length_bytes: u64,
}

/// Changes that fitted a trace to the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedRow {
    /// Requests taken from the trace.
    pub records: u64,
    /// Left out because their length is zero.
    pub zero_length: u64,
    /// Left out because the device refuses them.
    pub left_out: u64,
    /// Reasons for the first of these.
    pub first_left_out: Vec<String>,
    /// Moved to lie within the device.
    pub folded: u64,
    /// Widened to the device's units.
    pub widened: u64,
    /// Replayed together with the request before, because of an earlier time stamp.
    pub backwards: u64,
    /// Requests whose pause is the whole time between requests, because the duration was not recorded.
    pub untimed: u64,
}

/// Latency and throughput over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverTimeRow {
    /// Width of the slices, in seconds.
    pub slice_s: f64,
    /// The slices in order; requests belong to the slice of their completion.
    pub slices: Vec<SliceRow>,
}

/// Completions in one slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceRow {
    /// Begin of the slice, in seconds since the replay began.
    pub from_s: f64,
    /// Requests.
    pub requests: u64,
    /// Requests per second, over the whole width.
    pub iops: f64,
    /// Bytes read and written per second, likewise.
    pub bandwidth_bytes_per_s: f64,
    /// Mean latency; `null` without completions.
    pub mean_ns: Option<f64>,
    /// 99th percentile of latencies, at most 6.25% too high; `null` likewise.
    pub p99_ns: Option<f64>,
    /// Longest latency; `null` likewise.
    pub max_ns: Option<f64>,
}

/// One of the slowest requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowRow {
    /// Arrival, in seconds since the replay began.
    pub arrived_s: f64,
    /// Operation.
    pub operation: String,
    /// Offset on the device.
    pub offset_bytes: u64,
    /// Length of the request.
    pub length_bytes: u64,
    /// Time from arrival to completion.
    pub took_ns: u64,
    /// Time from submission to completion.
    pub device_took_ns: u64,
}

crate::kind!(ReplayResult, REPLAY_SCHEMA);
