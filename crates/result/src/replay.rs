//! `flashlane.replay/1`: a recorded trace on one device.
//!
//! What a run has too is the same here, field by field.

use crate::run::{ConfidenceRow, DeviceRow, OperationRow};
use crate::{Figure, Machine, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What [`ReplayResult::schema`] says.
pub const REPLAY_SCHEMA: &str = "flashlane.replay/1";

/// A replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayResult {
    /// Always [`REPLAY_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: DeviceRow,
    /// What was replayed; filled in by whoever read it, `null` where nobody said.
    pub trace: Option<TraceRow>,
    /// What decided when a request was issued: `open`, `closed` or `think`.
    pub pace: String,
    /// How many times as fast as recorded; `null` in a closed loop.
    pub speed: Option<f64>,
    /// Requests in flight, in a closed loop; else `null`.
    pub in_flight: Option<u32>,
    /// What became of requests beyond the device's end: `refuse` or `fold`.
    pub beyond: String,
    /// What became of requests that are not on the device's units: `widen` or `refuse`.
    pub unaligned: String,
    /// How the trace's requests fitted the device.
    pub fitted: FittedRow,
    /// The root of the randomness by which samples were drawn.
    pub seed: u64,
    /// Requests measured.
    pub requests: u64,
    /// Requests that waited because the device was full.
    pub waited: u64,
    /// Requests a second that the trace asks for at the replay's speed; `null` where its time stamps are not looked at.
    #[serde(default)]
    pub asked_iops: Option<f64>,
    /// Bytes a second, likewise.
    #[serde(default)]
    pub asked_bandwidth_bytes_per_s: Option<f64>,
    /// From the first request to the last in the recording, in seconds.
    pub recorded_span_s: f64,
    /// Device time, in seconds.
    pub elapsed_s: f64,
    /// Requests a second of device time.
    pub iops: f64,
    /// Bytes read and written a second of device time.
    pub bandwidth_bytes_per_s: f64,
    /// From arrival to completion, of all requests.
    pub latency_ns: Latency,
    /// From submission to completion.
    pub device_latency_ns: Latency,
    /// By how much the replay itself was late to submit; `null` on a simulated device and in a closed loop.
    pub lateness_ns: Option<Latency>,
    /// How long the same requests took in the recording; `null` where it does not say.
    pub recorded_latency_ns: Option<Latency>,
    /// How well the mean latency is known; `null` for a short replay.
    pub confidence: Option<ConfidenceRow>,
    /// The same by operation: `read`, `write`, `trim`, `flush`; only those that occurred.
    pub operations: BTreeMap<String, OperationRow>,
    /// The same over time.
    pub over_time: OverTimeRow,
    /// The slowest requests, the very slowest first.
    pub slowest: Vec<SlowRow>,
    /// What the measuring itself costs a request, measured over a device that does nothing; `null` for a simulated
    /// device, in whose time it costs nothing.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the replay ended before its end; `null` where it did not.
    pub partial: Option<String>,
    /// What a report draws; left out where a result is printed.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// What was replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceRow {
    /// Its file.
    pub name: String,
    /// Its format.
    pub format: String,
    /// Lines, or events, that were read.
    pub lines: u64,
    /// Lines that should be a request and are not.
    pub lines_refused: u64,
    /// The trace's devices, where all were laid side by side; else empty.
    #[serde(default)]
    pub side_by_side: Vec<PlacedRow>,
}

/// Where a device of the trace lies among all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedRow {
    /// Its number.
    pub number: u32,
    /// Its first byte.
    pub begin_bytes: u64,
    /// The bytes that it takes.
    pub length_bytes: u64,
}

/// How the requests of a trace fitted the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedRow {
    /// Requests taken from the trace.
    pub records: u64,
    /// Left out because they were of no length.
    pub zero_length: u64,
    /// Left out because the device cannot be asked for them.
    pub left_out: u64,
    /// Why, for the first of these.
    pub first_left_out: Vec<String>,
    /// Moved to lie within the device.
    pub folded: u64,
    /// Widened to the device's units.
    pub widened: u64,
    /// Arrived together with the one before, because their time stamp was earlier.
    pub backwards: u64,
    /// Pauses taken from the time between requests, because the duration was not recorded.
    pub untimed: u64,
}

/// Latency and throughput over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverTimeRow {
    /// Width of the slices, in seconds.
    pub slice_s: f64,
    /// The slices, first to last; requests belong to the one in which they completed.
    pub slices: Vec<SliceRow>,
}

/// What completed in one slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceRow {
    /// Its begin, in seconds since the replay began.
    pub from_s: f64,
    /// Requests.
    pub requests: u64,
    /// Requests a second, over the whole width.
    pub iops: f64,
    /// Bytes read and written a second, likewise.
    pub bandwidth_bytes_per_s: f64,
    /// Mean latency; `null` where nothing completed.
    pub mean_ns: Option<f64>,
    /// 99% took no longer, at most 6.25% too long; likewise.
    pub p99_ns: Option<f64>,
    /// The longest; likewise.
    pub max_ns: Option<f64>,
}

/// One of the slowest requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowRow {
    /// When it arrived, in seconds since the replay began.
    pub arrived_s: f64,
    /// What it did.
    pub operation: String,
    /// Where …
    pub offset_bytes: u64,
    /// … and how much.
    pub length_bytes: u64,
    /// From arrival to completion.
    pub took_ns: u64,
    /// From submission to completion.
    pub device_took_ns: u64,
}

crate::kind!(ReplayResult, REPLAY_SCHEMA);
