//! `flashlane.replay/1`: a replay as programs read it.
//!
//! What a run has too is the same here, field by field.

use super::{Pace, Replay, figures};
use crate::figure::Figure;
use crate::run::per_second;
use crate::schema::{ConfidenceRow, DeviceRow, OperationRow, Warning, operations};
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

impl From<&Replay> for ReplayResult {
    fn from(replay: &Replay) -> Self {
        let (speed, in_flight) = match replay.options.pace {
            Pace::Open { speed } | Pace::Think { speed } => (Some(speed), None),
            Pace::Closed { depth } => (None, Some(depth)),
        };
        let names: Vec<_> =
            replay.latencies.iter().map(|(operation, h)| (operation.to_string(), h)).collect();
        let by_name = names.iter().map(|(name, latencies)| (name.as_str(), *latencies));
        let slices = slices(replay);
        Self {
            schema: REPLAY_SCHEMA.into(),
            device: DeviceRow::new(&replay.profile, &replay.counters),
            trace: None,
            pace: replay.options.pace.name().into(),
            speed,
            in_flight,
            beyond: replay.options.beyond.name().into(),
            unaligned: replay.options.unaligned.name().into(),
            fitted: fitted(replay),
            seed: replay.options.seed.0,
            requests: replay.requests,
            waited: replay.waited,
            asked_iops: replay.asked().map(|asked| asked.iops),
            asked_bandwidth_bytes_per_s: replay.asked().map(|asked| asked.bandwidth_bytes_per_s),
            recorded_span_s: replay.recorded_span.as_s_f64(),
            elapsed_s: replay.elapsed.as_s_f64(),
            iops: replay.iops(),
            bandwidth_bytes_per_s: replay.bandwidth_bytes_per_s(),
            latency_ns: replay.latencies.all().latency(),
            device_latency_ns: replay.device_latencies.latency(),
            lateness_ns: replay.lateness.as_ref().map(|lateness| lateness.latency()),
            recorded_latency_ns: replay.recorded.as_ref().map(|recorded| recorded.latency()),
            confidence: replay.confidence.map(ConfidenceRow::from),
            operations: operations(by_name, replay.elapsed),
            slowest: slowest(replay),
            harness_ns_per_request: None,
            warnings: replay.doubts().iter().map(Warning::from).collect(),
            partial: replay.partial.map(|reason| reason.to_string()),
            figures: figures::of(replay, &slices),
            over_time: OverTimeRow { slice_s: replay.over_time.width().as_s_f64(), slices },
        }
    }
}

fn fitted(replay: &Replay) -> FittedRow {
    let fitted = &replay.fitted;
    FittedRow {
        records: fitted.records,
        zero_length: fitted.zero_length,
        left_out: fitted.refused,
        first_left_out: fitted.first_refused.iter().map(ToString::to_string).collect(),
        folded: fitted.folded,
        widened: fitted.widened,
        backwards: fitted.backwards,
        untimed: fitted.untimed,
    }
}

fn slices(replay: &Replay) -> Vec<SliceRow> {
    let (width, all) = (replay.over_time.width(), replay.over_time.slices());
    // The last of several is only partly filled; a rate over that part would be a spike.
    let lasts = if all.len() == 1 { replay.elapsed } else { width };
    let row = |(slice, at): (&crate::statistics::Slice, u64)| {
        let from = width * at;
        let latency = slice.latencies.as_ref().map(|latencies| latencies.latency());
        let requests = slice.latencies.as_ref().map_or(0, |latencies| latencies.len());
        SliceRow {
            from_s: from.as_s_f64(),
            requests,
            iops: per_second(requests, lasts),
            bandwidth_bytes_per_s: per_second(slice.bytes, lasts),
            mean_ns: latency.map(|latency| latency.mean),
            p99_ns: latency.map(|latency| latency.p99),
            max_ns: latency.map(|latency| latency.max),
        }
    };
    all.iter().zip(0..).map(row).collect()
}

fn slowest(replay: &Replay) -> Vec<SlowRow> {
    let row = |slow: &super::Slow| SlowRow {
        arrived_s: slow.arrived.as_s_f64(),
        operation: slow.access.operation.to_string(),
        offset_bytes: slow.access.offset_bytes,
        length_bytes: slow.access.length_bytes,
        took_ns: slow.latency.as_ns(),
        device_took_ns: slow.device_latency.as_ns(),
    };
    replay.slowest.iter().map(row).collect()
}
