//! Replays a recorded trace on a device and collects the result.
//!
//! Latency counts from a request's intended arrival (Tene's "coordinated omission": a loop that waits for a slow device
//! before it issues the next request also stops measuring how slow it is). An unbounded first-come-first-served queue
//! precedes the device: requests that arrive while the device is full wait there, and the wait is part of their
//! latency. The device's own latency is recorded too.

mod backlog;
mod client;
mod doubts;
mod figures;
mod fit;
mod options;
mod recording;
pub(crate) mod schema;
mod slowdown;
mod timing;

pub use backlog::Backlog;
pub use fit::{Fitted, Refusal, Unfitting};
pub use options::{Beyond, MOST_IN_FLIGHT, Pace, PaceError, ReplayOptions, Unaligned};
pub use recording::{ByOperation, Slow};

use crate::energy::{Power, power};
use crate::engine::drive;
use crate::rate::per_second;
use crate::run::bands;
use crate::statistics::{Band, Confidence, OverTime, Sample};
use crate::{Interruption, RunOptions, Throughput};
use client::Replayer;
use fit::Fit;
use flashlane_base::{Duration, Histogram};
use flashlane_device::{Counters, Device, DeviceInfo};
use flashlane_trace::Record;
use slowdown::Passage;

/// Error of a replay; no request was submitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// The pace is invalid.
    #[error(transparent)]
    Pace(#[from] PaceError),
    /// The device refuses every request of the trace.
    #[error(
        "of the {records} requests of the trace, none can be replayed on device '{device}'{}",
        .first.map_or(String::new(), |first| format!("; {first}"))
    )]
    Nothing {
        /// Name of the device.
        device: String,
        /// Requests of the trace.
        records: u64,
        /// The first refused request.
        first: Option<Refusal>,
    },
}

/// Result of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Properties of the device.
    pub info: DeviceInfo,
    /// How it was replayed.
    pub options: ReplayOptions,
    /// Changes that fitted the trace to the device.
    pub fitted: Fitted,
    /// Requests measured: reads, writes and trims.
    pub requests: u64,
    /// Flushes, which are in [`latencies`](Self::latencies) and [`elapsed`](Self::elapsed) and in no other number.
    pub flushes: u64,
    /// Bytes that reads and writes transferred.
    pub bytes: u64,
    /// Device time from the first arrival to the last completion.
    pub elapsed: Duration,
    /// Recorded time from the first request to the last, as far as it was replayed.
    pub recorded_span: Duration,
    /// Latencies from arrival to completion, by operation.
    pub latencies: ByOperation,
    /// Latencies from submission to completion, without the wait for a full device.
    pub device_latencies: Histogram,
    /// On a real device, except in a closed loop: how late the replay submitted requests that had arrived and for which
    /// the device had room. `None` on a simulated device.
    pub lateness: Option<Box<Histogram>>,
    /// Recorded durations of the same requests, where the trace has them.
    pub recorded: Option<Box<Histogram>>,
    /// Latency and throughput over time, by the time of completion.
    pub over_time: OverTime,
    /// The slowest requests, slowest first.
    pub slowest: Vec<Slow>,
    /// The device's counters over that time.
    pub counters: Counters,
    /// Confidence interval of the mean latency; `None` for under 512 requests.
    pub confidence: Option<Confidence>,
    /// Single requests, in the order of their arrival: all, or an even sample. Their job is 0.
    pub samples: Vec<Sample>,
    /// Where the time of requests went since their arrival, by operation; empty where the device does not record it.
    pub time_split: Vec<(&'static str, Vec<Band>)>,
    /// Power over the replay; `None` where the device does not count energy.
    pub power: Option<Power>,
    /// Requests that waited because the device was full; the wait is in their latency.
    pub waited: u64,
    /// The backlog that grew longest, where requests have time stamps.
    pub backlog: Option<Backlog>,
    /// How fast requests with time stamps passed through the drive.
    passage: Passage,
    /// Requests that failed or never completed.
    pub failed: u64,
    /// Why the replay ended early, if it did.
    pub partial: Option<Interruption>,
}

/// Replays `records` on lane 0 of `device` with `how`; `options` are for observing it.
///
/// The trace is read during the replay, in constant memory. The replay ends early where the device fails, disappears or
/// stalls, or where the watch breaks off: the result holds the measurements until then, and [`Replay::partial`] the
/// reason.
///
/// # Errors
/// [`ReplayError::Pace`] where the pace is invalid, and [`ReplayError::Nothing`] where the device refuses every request
/// of the trace; no request was submitted.
pub fn replay(
    device: &mut dyn Device,
    records: impl IntoIterator<Item = Record>,
    how: &ReplayOptions,
    options: RunOptions<'_>,
) -> Result<Replay, ReplayError> {
    replay_all(device, &mut records.into_iter(), how, options)
}

/// Checks that a device with these properties takes a request of `records`, as [`replay`] with `how` would find. Reads
/// no further than the first one that it takes.
///
/// # Errors
/// Those of [`replay`].
pub fn check_replay(
    records: impl IntoIterator<Item = Record>,
    info: &DeviceInfo,
    how: &ReplayOptions,
) -> Result<(), ReplayError> {
    how.pace.check()?;
    let mut fit = Fit::new(info.clone(), how);
    if records.into_iter().any(|record| fit.fit(&record).is_some()) {
        return Ok(());
    }
    let Fitted { records, first_refused, .. } = fit.fitted;
    Err(ReplayError::Nothing { device: info.name.clone(), records, first: first_refused.first().copied() })
}

fn replay_all(
    device: &mut dyn Device,
    records: &mut dyn Iterator<Item = Record>,
    how: &ReplayOptions,
    options: RunOptions<'_>,
) -> Result<Replay, ReplayError> {
    how.pace.check()?;
    let info = device.info().clone();
    let before = device.counters();
    let time_splits = options.time_splits && device.record_time_splits();
    let options = RunOptions { time_splits, ..options };
    let slots = match how.pace {
        Pace::Closed { depth } => depth,
        _ => info.depth.min(MOST_IN_FLIGHT),
    };
    let mut replayer = Replayer::new(device, records, how, slots, options);
    let ending = drive(device, slots, &mut replayer);
    let Replayer { fit, clock, recording, waited, backlogs, passage, .. } = replayer;
    let fitted = Fitted {
        backwards: if matches!(how.pace, Pace::Closed { .. }) { 0 } else { clock.backwards },
        ..fit.fitted
    };
    if recording.requests + recording.flushes == 0 && ending.interruption.is_none() {
        let first = fitted.first_refused.first().copied();
        return Err(ReplayError::Nothing { device: info.name, records: fitted.records, first });
    }
    Ok(Replay {
        power: power(device, recording.started, recording.last),
        options: *how,
        requests: recording.requests,
        flushes: recording.flushes,
        bytes: recording.bytes,
        elapsed: recording.last.since(recording.started),
        recorded_span: clock.span(),
        slowest: recording.slowest,
        latencies: recording.latencies,
        device_latencies: recording.device,
        lateness: recording.lateness,
        recorded: recording.recorded,
        over_time: recording.over_time,
        counters: device.counters().since(&before),
        confidence: recording.batches.confidence(),
        samples: recording.samples.into_samples(),
        time_split: bands(&recording.time_parts[..]),
        waited: waited + ending.waited,
        backlog: backlogs.longest(),
        passage,
        failed: ending.failed,
        partial: ending.interruption,
        fitted,
        info,
    })
}

impl Replay {
    /// Returns the mean latency in nanoseconds, from the exact sum over all requests; zero without requests.
    pub fn mean_latency_ns(&self) -> f64 {
        self.latencies.all().mean_ns()
    }

    /// Requests per second of device time. A duration of zero counts as one nanosecond.
    pub fn iops(&self) -> f64 {
        self.per_second(self.requests)
    }

    /// Bytes per second of device time, likewise.
    pub fn bandwidth_bytes_per_s(&self) -> f64 {
        self.per_second(self.bytes)
    }

    /// Returns the time over which requests arrive: the recorded span at the replay's speed; `None` where the pace
    /// ignores time stamps, or all are equal.
    pub(crate) fn arrival_span(&self) -> Option<Duration> {
        let Pace::Open { speed } = self.options.pace else { return None };
        let ns = self.recorded_span.as_ns() as f64 / speed;
        (ns >= 1.0).then(|| Duration::from_ns(ns as u64))
    }

    /// Returns the throughput that the trace requires at its time stamps, over the requests measured; `None` where the
    /// pace ignores time stamps, or all are equal.
    pub fn asked(&self) -> Option<Throughput> {
        let time = self.arrival_span()?;
        let (requests, bytes) = (self.requests, self.bytes);
        Some(Throughput { iops: per_second(requests, time), bandwidth_bytes_per_s: per_second(bytes, time) })
    }

    pub(crate) fn per_second(&self, count: u64) -> f64 {
        per_second(count, self.elapsed)
    }
}

#[cfg(test)]
mod tests;
