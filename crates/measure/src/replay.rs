//! A recorded trace on a device, from the first request to the numbers.
//!
//! A latency counts from when a request was meant to arrive (Tene's "coordinated omission": a loop that waits for a
//! slow device before it issues the next request also stops measuring how slow it is). In front of the device stands
//! a queue without bound, first come first served: what has arrived while the device was full waits there, and the
//! wait is part of its latency. How long the device itself took is kept beside it.

mod client;
mod doubts;
mod figures;
mod fit;
mod options;
mod recording;
pub(crate) mod schema;
mod timing;

pub use fit::{Fitted, Refusal, Unfitting};
pub use options::{Beyond, MOST_IN_FLIGHT, Pace, PaceError, ReplayOptions, Unaligned};
pub use recording::{ByOperation, Slow};

use crate::engine::drive;
use crate::rate::per_second;
use crate::statistics::{Confidence, OverTime, Sample};
use crate::{Interruption, Options, Throughput};
use client::Replayer;
use flashlane_base::{Duration, Histogram};
use flashlane_device::{Counters, Device, Profile};
use flashlane_trace::Record;

/// Why there is no replay; nothing was submitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// There is no such pace.
    #[error(transparent)]
    Pace(#[from] PaceError),
    /// Not one request of the trace can be asked of the device.
    #[error(
        "of the {records} requests of the trace, none can be replayed on device '{device}'{}",
        .first.map_or(String::new(), |first| format!("; {first}"))
    )]
    Nothing {
        /// What the device is called.
        device: String,
        /// Requests that the trace has.
        records: u64,
        /// The first that the device cannot be asked for.
        first: Option<Refusal>,
    },
}

/// What came of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The device.
    pub profile: Profile,
    /// How it was replayed.
    pub options: ReplayOptions,
    /// How the trace's records fitted the device.
    pub fitted: Fitted,
    /// Requests measured: reads, writes and trims.
    pub requests: u64,
    /// Flushes, which are in [`latencies`](Self::latencies) and [`elapsed`](Self::elapsed) and in no other number.
    pub flushes: u64,
    /// Bytes that reads and writes moved.
    pub bytes: u64,
    /// Device time from the first arrival to the last completion.
    pub elapsed: Duration,
    /// From the first request to the last in the recording, as far as it was replayed.
    pub recorded_span: Duration,
    /// From arrival to completion, by operation.
    pub latencies: ByOperation,
    /// From submission to completion: without the wait for a full device.
    pub device_latencies: Histogram,
    /// On a real device, except in a closed loop: by how much the replay itself was late to submit a request that
    /// had arrived and that the device had room for. On a simulated device there is no such thing.
    pub lateness: Option<Box<Histogram>>,
    /// How long the same requests took in the recording, those of which it says so.
    pub recorded: Option<Box<Histogram>>,
    /// Latency and throughput over time, by the time of completion.
    pub over_time: OverTime,
    /// The slowest requests, the very slowest first.
    pub slowest: Vec<Slow>,
    /// What the device counted meanwhile.
    pub counters: Counters,
    /// The confidence interval of the mean latency; `None` for under 512 requests.
    pub confidence: Option<Confidence>,
    /// Single requests, in the order of their arrival: all, or an even draw. Their job is 0.
    pub samples: Vec<Sample>,
    /// Requests that waited because the device was full; the wait is in their latency.
    pub waited: u64,
    /// Requests that failed or never came back.
    pub failed: u64,
    /// Why the replay ended before its end.
    pub partial: Option<Interruption>,
}

/// Replays `records` on lane 0 of `device`, as `how` says; `options` say how it is observed.
///
/// The trace is read as it is replayed, in memory that does not grow with it. A device that fails, vanishes or stalls,
/// and a watch that breaks off, end the replay early: the result holds what was measured until then, and
/// [`Replay::partial`] says why.
///
/// # Errors
/// [`ReplayError::Pace`] where the pace cannot be, and [`ReplayError::Nothing`] where not one request of the
/// trace can be asked of the device; nothing was submitted then.
pub fn replay<D, I>(
    device: &mut D,
    records: I,
    how: &ReplayOptions,
    options: Options<'_>,
) -> Result<Replay, ReplayError>
where
    D: Device + ?Sized,
    I: IntoIterator<Item = Record>,
{
    how.pace.check()?;
    let profile = device.profile().clone();
    let before = device.counters();
    let slots = match how.pace {
        Pace::Closed { depth } => depth,
        _ => profile.depth.min(MOST_IN_FLIGHT),
    };
    let mut replayer = Replayer::new(device, records.into_iter(), how, slots, options);
    let ending = drive(device, slots, &mut replayer);
    let Replayer { fit, clock, recording, waited, .. } = replayer;
    let fitted = Fitted {
        backwards: if matches!(how.pace, Pace::Closed { .. }) { 0 } else { clock.backwards },
        ..fit.fitted
    };
    if recording.requests + recording.flushes == 0 && ending.interruption.is_none() {
        let first = fitted.first_refused.first().copied();
        return Err(ReplayError::Nothing { device: profile.name, records: fitted.records, first });
    }
    Ok(Replay {
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
        waited: waited + ending.waited,
        failed: ending.failed,
        partial: ending.interruption,
        fitted,
        profile,
    })
}

impl Replay {
    /// The mean latency in nanoseconds, from the exact sum over all requests; zero where there were none.
    pub fn mean_latency_ns(&self) -> f64 {
        self.latencies.all().mean_ns()
    }

    /// Requests a second of device time. A replay of no time at all counts as one nanosecond.
    pub fn iops(&self) -> f64 {
        self.per_second(self.requests)
    }

    /// Bytes a second of device time, likewise.
    pub fn bandwidth_bytes_per_s(&self) -> f64 {
        self.per_second(self.bytes)
    }

    /// How long the requests arrive: the recorded time at the replay's speed; none where time stamps are not looked at,
    /// or are all the same.
    pub(crate) fn asked_for(&self) -> Option<Duration> {
        let Pace::Open { speed } = self.options.pace else { return None };
        let ns = self.recorded_span.as_ns() as f64 / speed;
        (ns >= 1.0).then(|| Duration::from_ns(ns as u64))
    }

    /// What the trace asks for at its time stamps, of the requests that were measured; none as above.
    pub fn asked(&self) -> Option<Throughput> {
        let time = self.asked_for()?;
        let (requests, bytes) = (self.requests, self.bytes);
        Some(Throughput { iops: per_second(requests, time), bandwidth_bytes_per_s: per_second(bytes, time) })
    }

    pub(crate) fn per_second(&self, count: u64) -> f64 {
        per_second(count, self.elapsed)
    }
}

#[cfg(test)]
mod tests;
