//! Runs a workload on a device and collects the result.
//!
//! The first `warmup_requests` completions are not counted, and measuring begins with the last of them (without a
//! warm-up, with the first submission). Then exactly `requests` more are issued, and all of them are counted; a run
//! that stops by time or confidence issues no more requests from then on and counts those in flight. Elapsed time is
//! the device time to the last completion.

use crate::closed_loop::watched_loop;
use crate::energy::{self, Power};
use crate::engine::{Ending, drive};
use crate::options::{Progress, Watch};
use crate::precondition::{self, Preconditioned};
use crate::rate::per_second;
use crate::recorder::{KINDS, Recorder};
use crate::statistics::steady_state::Window;
use crate::statistics::{Band, Confidence, Sample, TimeParts};
use crate::terms::Lag;
use crate::verify::{UNIT_MIN_BYTES, Verified, Verifying, unit_bytes};
use crate::{Interruption, MeasureError, RunOptions};
use flashlane_base::{Duration, Histogram, Operation};
use flashlane_device::{Counters, DataDevice, Device, DeviceInfo};
use flashlane_workload::{Limits, Precondition, Unfit, Workload};

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Properties of the device.
    pub info: DeviceInfo,
    /// The workload that was run.
    pub workload: Workload,
    /// Results by job, in the workload's order.
    pub jobs: Vec<JobRun>,
    /// Requests measured.
    pub requests: u64,
    /// Device time from the beginning of measuring to the last completion.
    pub elapsed: Duration,
    /// The device's counters over that time.
    pub counters: Counters,
    /// Confidence interval of the mean latency over all jobs; `None` for under 512 requests.
    pub confidence: Option<Confidence>,
    /// Variation of the mean latency over five equal parts of the run; `None` for under 512 requests.
    pub steadiness: Option<Window>,
    /// Single requests, in the order of their submission: all, or an even sample.
    pub samples: Vec<Sample>,
    /// Where the time of requests went, by operation; empty where the device does not record it.
    pub time_split: Vec<(&'static str, Vec<Band>)>,
    /// Power over the run; `None` where the device does not count energy.
    pub power: Option<Power>,
    /// Requests that waited because the device was full; the wait is in their latency.
    pub waited: u64,
    /// Requests that failed or never completed; reads that are counted as unreadable ([`JobRun::unreadable`]) are not
    /// among them.
    pub failed: u64,
    /// Result of preconditioning, where the workload requires it.
    pub precondition: Option<Preconditioned>,
    /// Whether the drive had been preconditioned to a steady state, or had erased blocks, before measuring began.
    pub was_written: bool,
    /// Result of verification, where the workload requires it.
    pub verified: Option<Verified>,
    /// Why the run ended early, if it did.
    pub partial: Option<Interruption>,
}

/// Result of a job.
#[derive(Clone, Debug, Default)]
pub struct JobRun {
    /// Name of the job.
    pub name: String,
    /// Bytes per access.
    pub size_bytes: u64,
    /// Latencies of its reads.
    pub reads: Option<Box<Histogram>>,
    /// Latencies of its writes.
    pub writes: Option<Box<Histogram>>,
    /// Latencies of its trims.
    pub trims: Option<Box<Histogram>>,
    /// Latencies of its appends.
    pub appends: Option<Box<Histogram>>,
    /// Latencies of its flushes, which are not accesses and in no other number.
    pub flushes: Option<Box<Histogram>>,
    /// Latencies of its reads that failed since their data could not be corrected, which are in no other number;
    /// simulated devices only.
    pub unreadable: Option<Box<Histogram>>,
    /// How well it kept its rate, where it has one.
    pub lag: Option<Lag>,
}

/// Returns the limits of a device that a workload must fit.
pub fn limits(info: &DeviceInfo) -> Limits {
    Limits {
        capacity_bytes: info.capacity_bytes,
        read_unit_bytes: info.read_unit_bytes,
        write_unit_bytes: info.write_unit_bytes,
        read_only: info.read_only,
        erase_units: info.erase_unit_bytes > 0,
        zones: info.zones.is_some(),
        keeps_bytes: false,
        queues: info.queues,
        placement_handles: info.placement_handles,
    }
}

/// Runs `workload` on lane 0 of `device`.
///
/// Reads of a simulated device that fail since their data cannot be corrected are counted apart
/// ([`JobRun::unreadable`]). The run ends early where the device fails otherwise, disappears or stalls, or where the
/// watch breaks off: the result holds the measurements until then, and [`Run::partial`] the reason.
///
/// # Errors
/// [`MeasureError::Unfit`] where the workload does not fit the device; no request was submitted.
pub fn run(
    device: &mut dyn Device,
    workload: &Workload,
    mut options: RunOptions<'_>,
) -> Result<Run, MeasureError> {
    check(workload, device.info(), false)?;
    let (precondition, ended) = preconditioned(device, workload, &mut options);
    Ok(Run { precondition, ..measured(device, workload, options, ended) })
}

/// Like [`run`], for a workload that verifies, on a device that stores data: writes carry headers, reads check them,
/// and all written units are read back after measuring. [`Verified::mismatches`] counts the failures, which do not end
/// the run.
///
/// # Errors
/// As [`run`].
pub fn run_verified(
    device: &mut dyn DataDevice,
    workload: &Workload,
    mut options: RunOptions<'_>,
) -> Result<Run, MeasureError> {
    let info = device.info().clone();
    check(workload, &info, true)?;
    let unit_bytes = unit_bytes(workload, &info);
    let (precondition, ended) = preconditioned(device, workload, &mut options);
    let mut verifying = Verifying::new(device, unit_bytes, workload.seed);
    let RunOptions { samples, mut watch, time_splits } = options;
    let watching = watch.as_mut().map(|watch| watch as Watch<'_>);
    let mut run = Run {
        precondition,
        ..measured(&mut verifying, workload, RunOptions { samples, watch: watching, time_splits }, ended)
    };
    let checked_bytes = verifying.verified.checked_bytes;
    if run.partial.is_none() {
        let read_back = verifying.read_back();
        let depth = info.depth.min(READ_BACK_DEPTH);
        let done = Progress {
            requests: run.requests,
            requests_wanted: workload.stop.requests,
            elapsed: run.elapsed,
            time_wanted: workload.stop.time,
            preconditions: false,
        };
        let mut stopped = || watch.as_mut().is_some_and(|watch| watch(&done).is_break());
        let mut reads = read_back.into_iter();
        let ended = watched_loop(&mut verifying, &mut reads, depth, &mut |_, _| {}, &mut stopped);
        if let Err(MeasureError::Interrupted(reason)) = ended {
            run.partial = Some(reason);
        }
    }
    let read_back_bytes = verifying.verified.checked_bytes - checked_bytes;
    run.verified = Some(Verified { checked_bytes, read_back_bytes, ..verifying.verified });
    Ok(run)
}

/// Requests in flight during the read-back.
const READ_BACK_DEPTH: u32 = 32;

/// Checks that `workload` can run on a device with these properties; `keeps_bytes` says whether data written to it can
/// be read back, as a workload that verifies requires. [`run`] and [`run_verified`] begin with it.
///
/// # Errors
/// [`MeasureError::Unfit`] with the first field that does not fit.
pub fn check(workload: &Workload, info: &DeviceInfo, keeps_bytes: bool) -> Result<(), MeasureError> {
    let limits = Limits { keeps_bytes, ..limits(info) };
    let unfit = workload.check(&limits).and_then(|()| match unverifiable(workload, info) {
        Some(allowed) if workload.verify => {
            Err(Unfit { job: None, field: "verify", given: "true".into(), allowed })
        }
        _ => Ok(()),
    });
    unfit.map_err(|unfit| MeasureError::Unfit { device: info.name.clone(), unfit })
}

/// Returns the rule that `workload` breaks where its writes cannot be verified.
fn unverifiable(workload: &Workload, info: &DeviceInfo) -> Option<String> {
    if unit_bytes(workload, info) < UNIT_MIN_BYTES {
        Some(format!("writes of multiples of at least {UNIT_MIN_BYTES} B, which hold a header"))
    } else if workload.jobs.iter().any(|job| job.mix.changes() == Some(Operation::Trim)) {
        Some("no trims: the content of a trimmed range is up to the drive".into())
    } else if workload.jobs.iter().any(|job| job.mix.changes() == Some(Operation::Append)) {
        Some("no appends: where one lies is known only when it has completed".into())
    } else {
        None
    }
}

/// Preconditions the device where the workload requires it; also returns why that ended early, if it did.
fn preconditioned(
    device: &mut dyn Device,
    workload: &Workload,
    options: &mut RunOptions<'_>,
) -> (Option<Preconditioned>, Option<Interruption>) {
    let (done, ended) = match workload.precondition {
        None => return (None, None),
        Some(Precondition::Steady) => precondition::steady(device, workload, &mut options.watch),
        Some(Precondition::Mixed { bytes }) => {
            precondition::mixed(device, bytes, workload, &mut options.watch)
        }
    };
    (Some(done), ended)
}

/// Drives the workload, unless the run has already `ended`, and collects the result.
fn measured(
    device: &mut dyn Device,
    workload: &Workload,
    options: RunOptions<'_>,
    ended: Option<Interruption>,
) -> Run {
    let info = device.info().clone();
    let time_splits = options.time_splits && device.record_time_splits();
    let options = RunOptions { time_splits, ..options };
    let mut recorder = Recorder::new(device, workload, options);
    let slots = recorder.slots();
    let ending = match ended {
        Some(_) => Ending { interruption: ended, ..Ending::default() },
        None => drive(device, slots, &mut recorder),
    };
    let lags = recorder.lags();
    let cleaned_before = recorder.before.get("blocks_erased").is_some_and(|blocks| blocks > 0);
    let mut histograms = recorder.histograms.into_iter();
    let unreadable: u64 = recorder.unreadable.iter().flatten().map(|reads| reads.len()).sum();
    let nothing_read =
        (recorder.measured == 0 && unreadable > 0).then_some(Interruption::NothingRead { reads: unreadable });
    let of_jobs = workload.jobs.iter().zip(lags).zip(recorder.unreadable);
    let jobs = of_jobs.map(|((job, lag), unreadable)| {
        let [reads, writes, trims, flushes, appends] = [(); KINDS].map(|()| histograms.next().flatten());
        JobRun {
            name: job.name.clone(),
            size_bytes: job.size_bytes,
            reads,
            writes,
            trims,
            appends,
            flushes,
            unreadable,
            lag,
        }
    });
    Run {
        jobs: jobs.collect(),
        requests: recorder.measured,
        elapsed: recorder.last.since(recorder.started),
        counters: device.counters().since(&recorder.before),
        confidence: recorder.batches.confidence(),
        steadiness: recorder.batches.rounds().and_then(|rounds| Window::of(&rounds)),
        samples: recorder.samples.into_samples(),
        time_split: bands(recorder.time_parts.as_deref().map_or(&[], |parts| &parts[..])),
        power: energy::power(device, recorder.started, recorder.last),
        waited: ending.waited,
        failed: ending.failed,
        precondition: None,
        was_written: workload.precondition == Some(Precondition::Steady) || cleaned_before,
        verified: None,
        partial: ending.interruption.or(nothing_read),
        info,
        workload: workload.clone(),
    }
}

impl JobRun {
    /// Latencies of its accesses.
    pub fn latencies(&self) -> Histogram {
        merge(self.kinds())
    }

    /// Requests measured.
    pub fn requests(&self) -> u64 {
        self.kinds().map(Histogram::len).sum()
    }

    /// Bytes that its reads and writes transferred.
    pub fn bytes(&self) -> u64 {
        let moved =
            [&self.reads, &self.writes, &self.appends].into_iter().flatten().map(|h| h.len()).sum::<u64>();
        moved.saturating_mul(self.size_bytes)
    }

    fn kinds(&self) -> impl Iterator<Item = &Histogram> {
        [&self.reads, &self.writes, &self.trims, &self.appends].into_iter().filter_map(|kind| kind.as_deref())
    }
}

impl Run {
    /// Returns the latencies of all jobs.
    pub fn latencies(&self) -> Histogram {
        merge(self.jobs.iter().flat_map(JobRun::kinds))
    }

    /// Returns the latencies of all jobs by operation (`read`, `write`, `trim`, `append`, `flush`), for operations that
    /// occurred.
    pub fn operations(&self) -> Vec<(&'static str, Histogram)> {
        let of = |kind: fn(&JobRun) -> Option<&Histogram>| merge(self.jobs.iter().filter_map(kind));
        let all = [
            ("read", of(|job| job.reads.as_deref())),
            ("write", of(|job| job.writes.as_deref())),
            ("trim", of(|job| job.trims.as_deref())),
            ("append", of(|job| job.appends.as_deref())),
            ("flush", of(|job| job.flushes.as_deref())),
        ];
        all.into_iter().filter(|(_, histogram)| !histogram.is_empty()).collect()
    }

    /// Returns the latencies of all reads that failed since their data could not be corrected.
    pub fn unreadable(&self) -> Histogram {
        merge(self.jobs.iter().filter_map(|job| job.unreadable.as_deref()))
    }

    /// Bytes that reads and writes transferred.
    pub fn bytes(&self) -> u64 {
        self.jobs.iter().map(JobRun::bytes).sum()
    }

    /// Requests per second of device time. A duration of zero counts as one nanosecond.
    pub fn iops(&self) -> f64 {
        self.per_second(self.requests)
    }

    /// Bytes per second of device time, likewise.
    pub fn bandwidth_bytes_per_s(&self) -> f64 {
        self.per_second(self.bytes())
    }

    pub(crate) fn per_second(&self, count: u64) -> f64 {
        per_second(count, self.elapsed)
    }
}

/// The operations, by [`kind`](crate::recorder::kind).
const NAMES: [&str; KINDS] = ["read", "write", "trim", "flush", "append"];

/// Returns the bands of each kind of operation that occurred.
pub(crate) fn bands(kinds: &[TimeParts]) -> Vec<(&'static str, Vec<Band>)> {
    let all = NAMES.into_iter().zip(kinds.iter().map(TimeParts::bands));
    all.filter(|(_, bands)| !bands.is_empty()).collect()
}

fn merge<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all = Histogram::new();
    histograms.for_each(|histogram| all.merge(histogram));
    all
}
