//! Doubts: typed warnings about a result, computed once and kept with it.

mod balance;
mod flash;
mod load;
mod verify;

use crate::replay::Backlog;
use crate::statistics::steady_state::Window;
use crate::{Interruption, JobRun, Misread, Preconditioned, Refusal, Run};
pub use flash::{
    Load, about_drains, about_flash, about_free_blocks, about_over_provisioning, about_settings,
    is_filling_buffer, is_notable_in_buffer, never_written_share,
};
use flashlane_base::units::exact_bytes;
use flashlane_base::{BEYOND, Duration, requests_needed};
use flashlane_device::{OverProvisioningChange, ProgramsInParts};
use load::overloaded;

/// A warning about a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// The run ended early.
    #[error("the result is partial: {0}")]
    Partial(Interruption),
    /// Data read is not the data written.
    #[error("{}", verify::mismatches(*units, *unit_bytes, first))]
    Mismatches {
        /// Units that failed verification.
        units: u64,
        /// Bytes of a unit.
        unit_bytes: u64,
        /// The first of them.
        first: Vec<Misread>,
    },
    /// Nothing was verified.
    #[error("verify checked nothing: {}", verify::why_nothing(*has_writes))]
    NothingVerified {
        /// Whether the workload has writes.
        has_writes: bool,
    },
    /// Requests failed or never completed.
    #[error("{requests} requests failed or never completed; no other number includes them")]
    Failed {
        /// Number of requests.
        requests: u64,
    },
    /// Reads failed, and the run went on.
    #[error(
        "{reads} of {of} reads failed, since their data could not be corrected; no rate and no latency but their own \
         includes them"
    )]
    Unreadable {
        /// Reads that failed.
        reads: u64,
        /// Reads, these included.
        of: u64,
    },
    /// The device does not keep up with a rate.
    #[error(
        "the device does not keep up with the rate of job '{job}': from its first arrival to the end of the run, warm-up \
         included, {offered_per_s:.0} accesses a second arrived and {achieved_per_s:.0} completed, so that the last had \
         waited for {lag}; latencies say how long the backlog is, also one of the warm-up, and little of the device. Try \
         a lower rate"
    )]
    RateNotKept {
        /// Name of the job.
        job: String,
        /// The rate requested.
        offered_per_s: f64,
        /// The rate achieved, warm-up included.
        achieved_per_s: f64,
        /// How long the last issued access had waited.
        lag: Duration,
    },
    /// Preconditioning ended without a steady state.
    #[error(
        "the device was not steady when measuring began: after {rounds} rounds of preconditioning, over the last five \
         writes per second differ by up to {} their average, and a line through them {} it (SNIA's rule allows 20% and \
         10%)",
        amount(*excursion), change(*slope)
    )]
    NotSteady {
        /// Number of rounds.
        rounds: usize,
        /// Highest minus lowest of the last five, as a share of their average.
        excursion: f64,
        /// Their drift, as a signed share of the average.
        slope: f64,
    },
    /// Too few requests for the tail percentiles.
    #[error(
        "only {requests} requests were measured: p99 needs at least {needed}, of which {BEYOND} lie beyond it"
    )]
    TooFewRequests {
        /// Requests measured.
        requests: u64,
        /// Requests needed.
        needed: u64,
    },
    /// The confidence interval that ends the run was not reached.
    #[error("the mean latency is known to ±{:.2}%, not to the ±{:.2}% requested", reached * 100.0, wanted * 100.0)]
    ConfidenceNotReached {
        /// Share of the mean, to each side.
        reached: f64,
        /// Share requested.
        wanted: f64,
    },
    /// The mean latency is not well known.
    #[error("the mean latency is known only to ±{:.1}% (95% confidence)", relative * 100.0)]
    WideInterval {
        /// Share of the mean, to each side.
        relative: f64,
    },
    /// Latencies are correlated over too large a part of the run.
    #[error("latencies are correlated over long stretches: the confidence interval is too narrow")]
    Correlated,
    /// The latency changed during the run.
    #[error(
        "the latency was not steady: of five equal parts of the run, the mean latencies differ by up to {} their average, \
         and a line through them {} it from the first part to the last",
        amount(*excursion), change(*slope)
    )]
    Unsteady {
        /// Highest minus lowest part, as a share of the average.
        excursion: f64,
        /// Drift over the run, as a signed share of the average.
        slope: f64,
    },
    /// More requests in flight than the device takes.
    #[error(
        "{waited} requests waited because the device takes only {depth} at a time; the wait is in their latency"
    )]
    DeviceFull {
        /// Requests that waited.
        waited: u64,
        /// The device's depth.
        depth: u32,
    },
    /// Most pages read had never been written, and the drive answered without its flash.
    #[error(
        "{:.0}% of the pages read had never been written: the drive answered without its flash; begin with a full \
         one, by the setting initial.state=full",
        share * 100.0
    )]
    NotWritten {
        /// Their share of all pages read, 0 to 1.
        share: f64,
    },
    /// Settings changed one of the flash and the capacity.
    #[error("{}", flash::how_over_provisioning_changed(*capacity_bytes, *share, change))]
    OverProvisioningChanged {
        /// The drive's capacity.
        capacity_bytes: u64,
        /// Flash beyond the capacity, as a share of it.
        share: f64,
        /// The same share without these settings, and which they changed.
        change: OverProvisioningChange,
    },
    /// Idle GC is to reach more free blocks than the over-provisioning leaves.
    #[error(
        "cleaning.high of {:.1}% is never reached: once its capacity is written, the drive has at most {:.1}% of its blocks \
         free, so that idle GC moves pages over and over; set cleaning.high below that, or more over_provisioning",
        wanted_share * 100.0, most_share * 100.0
    )]
    FreeOutOfReach {
        /// Share of free blocks up to which idle GC goes on.
        wanted_share: f64,
        /// Most that can be free.
        most_share: f64,
    },
    /// The write buffer drains fewer mapping units to a die at a time than a program of the die takes.
    #[error("{}", flash::why_in_parts(drains))]
    ProgramsInParts {
        /// What drains, and what a program takes.
        drains: ProgramsInParts,
    },
    /// Paced GC moved many pages on planes with less free space than it keeps.
    #[error(
        "cleaning.pacing did not hold: {:.0}% of the pages that GC moved were moved while a plane had less free space \
         than pacing keeps; give each plane more blocks (flash.blocks), or the drive more over_provisioning",
        share * 100.0
    )]
    NotPaced {
        /// Share of the pages moved, 0 to 1.
        share: f64,
    },
    /// The drive wrote and erased no block.
    #[error("no GC ran: {}", flash::why_nothing_cleaned(*written_pages, *was_written, *is_recorded))]
    NothingCleaned {
        /// Whether the drive was full, had been preconditioned, or had erased blocks, before measuring began.
        was_written: bool,
        /// Whether the requests were recorded, so that there are no more of them.
        is_recorded: bool,
        /// Pages that the host wrote.
        written_pages: u64,
    },
    /// GC gave back fewer or more erased pages than the writes took, which changed the write amplification.
    #[error(
        "GC was not in balance: {}",
        balance::why_out_of_balance(*taken_pages, *collected_pages, *measured, *balanced, *is_recorded)
    )]
    GcOutOfBalance {
        /// Pages programmed, without parity.
        taken_pages: u64,
        /// Pages of the blocks that GC emptied.
        collected_pages: u64,
        /// Write amplification of the run.
        measured: f64,
        /// Write amplification where GC gives back as much as the writes take, from victims like those of the run;
        /// `None` where these had no stale page.
        balanced: Option<f64>,
        /// Whether the requests were recorded, so that there are no more of them.
        is_recorded: bool,
    },
    /// Flushes drained most pages from the write buffer.
    #[error(
        "flushes drained the write buffer: {flushed_pages} of the {drained_pages} pages that left it did so because the \
         host waited for one of {flushes} flushes, so that its size and policy hardly mattered"
    )]
    FlushesDrainedBuffer {
        /// Pages drained by flushes.
        flushed_pages: u64,
        /// All pages drained.
        drained_pages: u64,
        /// Number of flushes.
        flushes: u64,
    },
    /// Many of the pages written are still in the drive's buffer.
    #[error("{}", flash::why_left_in_buffer(*left_pages, *written_pages))]
    LeftInBuffer {
        /// By how many pages the buffer filled up.
        left_pages: u64,
        /// Pages that the host wrote.
        written_pages: u64,
    },
    /// A trace requires more throughput than the drive sustains, and its queue grows to the end.
    #[error("{}", overloaded(asked, sustained, *speed))]
    Overloaded {
        /// Throughput that the trace requires.
        asked: Throughput,
        /// Throughput of the drive.
        sustained: Throughput,
        /// Multiple of the recorded speed that the drive would have sustained in the slowest part of the trace.
        speed: f64,
    },
    /// A drive did not keep up with a part of a trace.
    #[error("{}", load::fell_behind(backlog, *asked_iops, *sustained_iops, *share, *speed))]
    FellBehind {
        /// The requests that waited.
        backlog: Backlog,
        /// Requests per second that the trace requires while the backlog grows.
        asked_iops: f64,
        /// Those that the drive completed.
        sustained_iops: f64,
        /// Share of all requests that waited.
        share: f64,
        /// Multiple of the recorded speed that the drive would have sustained in the slowest part of the trace.
        speed: f64,
    },
    /// Requests of a trace were left out because the device refuses them.
    #[error(
        "{requests} of {records} requests of the trace ({}) were left out of all numbers; the first: {first}",
        percent(*requests as f64 / *records as f64)
    )]
    LeftOut {
        /// Number of requests.
        requests: u64,
        /// Requests of the trace, as far as it was replayed.
        records: u64,
        /// The first of them.
        first: Refusal,
    },
    /// Requests of a trace were moved to lie within the device.
    #[error(
        "{requests} requests of the trace reached beyond the end of the device and were folded back into it (offset \
         modulo its {}, or ending there): requests that were apart may now meet",
        exact_bytes(*capacity_bytes)
    )]
    Folded {
        /// Number of requests.
        requests: u64,
        /// The device's capacity.
        capacity_bytes: u64,
    },
    /// Requests of a trace were widened to the device's units.
    #[error(
        "{requests} requests of the trace were widened to whole units of the device; the bytes added to \
         a write were not read first"
    )]
    Widened {
        /// Number of requests.
        requests: u64,
    },
    /// Requests of a trace were left out because their length is zero.
    #[error("{requests} requests of the trace have a length of zero and were left out")]
    ZeroLength {
        /// Number of requests.
        requests: u64,
    },
    /// Requests of a trace follow requests with later time stamps.
    #[error(
        "time runs backwards in the trace: {requests} requests have an earlier time stamp than one before them, and \
         were replayed together with it"
    )]
    TimeBackwards {
        /// Number of requests.
        requests: u64,
    },
    /// Pauses include the durations of requests where these were not recorded.
    #[error(
        "the recording does not say how long {requests} of {of} requests took: the time from one of these to the next \
         request was replayed as a pause, although it includes the duration"
    )]
    Untimed {
        /// Number of requests.
        requests: u64,
        /// Requests replayed.
        of: u64,
    },
    /// The replay submitted requests late.
    #[error(
        "the replay itself was late: 1% of the requests were submitted {p99} or more after they had arrived and the \
         device had room, against a p50 latency of {median}"
    )]
    LateSubmission {
        /// The 99th percentile of the lateness.
        p99: Duration,
        /// The median latency.
        median: Duration,
    },
    /// Only some of the requests were kept as samples.
    #[error(
        "{kept} of {requests} requests were kept as samples, drawn evenly; all other numbers include all requests"
    )]
    SamplesDrawn {
        /// Requests kept.
        kept: u64,
        /// Requests measured.
        requests: u64,
    },
}

/// Requests and bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Requests per second.
    pub iops: f64,
    /// Bytes read and written per second.
    pub bandwidth_bytes_per_s: f64,
}

/// Formats a share in percent, with two decimals below 1% so that a small share is not shown as 0%.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 1.0 { format!("{percent:.2}%") } else { format!("{percent:.0}%") }
}

/// Relative half width from which an interval is reported as wide.
const WIDE: f64 = 0.05;
/// A rate is not kept where the last access waited for more than this share of the run.
const LAG_MAX: f64 = 0.05;

/// Formats a share of an average: `31% of`, or from twice it on `2.8 times`.
fn amount(share: f64) -> String {
    if share < 2.0 { format!("{:.0}% of", share * 100.0) } else { format!("{share:.1} times") }
}

/// Formats a signed share of an average that a fitted line changes by.
fn change(share: f64) -> String {
    format!("{} by {}", if share < 0.0 { "falls" } else { "rises" }, amount(share.abs()))
}

impl Doubt {
    /// Returns a short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Partial(_) => "partial",
            Self::Mismatches { .. } => "verification-failed",
            Self::NothingVerified { .. } => "nothing-verified",
            Self::Failed { .. } => "requests-failed",
            Self::Unreadable { .. } => "reads-failed",
            Self::RateNotKept { .. } => "rate-not-kept",
            Self::NotSteady { .. } => "not-steady",
            Self::TooFewRequests { .. } => "too-few-requests",
            Self::ConfidenceNotReached { .. } => "confidence-not-reached",
            Self::WideInterval { .. } => "wide-confidence-interval",
            Self::Correlated => "correlated-latencies",
            Self::Unsteady { .. } => "unsteady",
            Self::DeviceFull { .. } => "device-full",
            Self::NotWritten { .. } => "not-written",
            Self::OverProvisioningChanged { .. } => "over-provisioning-changed",
            Self::FreeOutOfReach { .. } => "free-out-of-reach",
            Self::ProgramsInParts { .. } => "programs-in-parts",
            Self::NothingCleaned { .. } => "nothing-cleaned",
            Self::NotPaced { .. } => "not-paced",
            Self::GcOutOfBalance { .. } => "gc-out-of-balance",
            Self::LeftInBuffer { .. } => "left-in-buffer",
            Self::FlushesDrainedBuffer { .. } => "flushes-drained-buffer",
            Self::Overloaded { .. } | Self::FellBehind { .. } => "overloaded",
            Self::LeftOut { .. } => "left-out",
            Self::Folded { .. } => "folded",
            Self::Widened { .. } => "widened",
            Self::ZeroLength { .. } => "zero-length",
            Self::TimeBackwards { .. } => "time-runs-backwards",
            Self::Untimed { .. } => "untimed",
            Self::LateSubmission { .. } => "late-submission",
            Self::SamplesDrawn { .. } => "samples-drawn",
        }
    }
}

/// Returns the gravest doubts, shared by runs and replays: an early end, failed requests, too few requests.
pub(crate) fn about_the_end(partial: Option<Interruption>, failed: u64, requests: u64) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = partial.map(Doubt::Partial).into_iter().collect();
    if failed > 0 {
        doubts.push(Doubt::Failed { requests: failed });
    }
    let needed = requests_needed(0.99);
    if requests < needed {
        doubts.push(Doubt::TooFewRequests { requests, needed });
    }
    doubts
}

/// Reports samples that are not all requests.
pub(crate) fn about_samples(kept: usize, requests: u64) -> Option<Doubt> {
    let kept = kept as u64;
    (kept > 0 && kept < requests).then_some(Doubt::SamplesDrawn { kept, requests })
}

/// Reports preconditioning without a steady state.
fn doubt_about_precondition(done: &Preconditioned) -> Option<Doubt> {
    let window = done.window.filter(|window| !window.is_steady())?;
    let Window { excursion, slope, .. } = window;
    Some(Doubt::NotSteady { rounds: done.rounds.len(), excursion, slope })
}

impl Run {
    /// Returns the doubts about the result, gravest first.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = self.doubts_about_rates();
        doubts.extend(self.doubt_about_verify());
        doubts.extend(self.precondition.as_ref().and_then(doubt_about_precondition));
        doubts.extend(about_the_end(self.partial, self.failed, self.requests));
        doubts.extend(self.doubt_about_reads());
        doubts.sort_by_key(|doubt| match doubt {
            Doubt::Mismatches { .. } => 0,
            Doubt::Partial(_) | Doubt::Failed { .. } | Doubt::Unreadable { .. } => 1,
            Doubt::NothingVerified { .. } => 2,
            _ => 3,
        });
        doubts.extend(self.doubts_about_mean());
        if let Some(window) = self.steadiness.filter(|window| !window.is_steady()) {
            doubts.push(Doubt::Unsteady { excursion: window.excursion, slope: window.slope });
        }
        if self.waited > 0 {
            doubts.push(Doubt::DeviceFull { waited: self.waited, depth: self.info.depth });
        }
        doubts.extend(about_flash(&self.info, &self.counters, Load::Made { after_writes: self.was_written }));
        let flushes: u64 = self.jobs.iter().filter_map(|job| Some(job.flushes.as_ref()?.len())).sum();
        doubts.extend(about_samples(self.samples.len(), self.requests + flushes));
        doubts
    }

    /// Reports jobs whose rate was not kept.
    fn doubts_about_rates(&self) -> Vec<Doubt> {
        let doubt = |job: &JobRun| {
            let lag = job.lag.filter(|lag| lag.last.as_s_f64() > LAG_MAX * self.elapsed.as_s_f64())?;
            Some(Doubt::RateNotKept {
                job: job.name.clone(),
                offered_per_s: lag.offered_per_s,
                achieved_per_s: lag.achieved_per_s,
                lag: lag.last,
            })
        };
        self.jobs.iter().filter_map(doubt).collect()
    }

    /// Reports reads that failed.
    fn doubt_about_reads(&self) -> Option<Doubt> {
        let reads = self.unreadable().len();
        let succeeded: u64 = self.jobs.iter().filter_map(|job| Some(job.reads.as_ref()?.len())).sum();
        (reads > 0).then_some(Doubt::Unreadable { reads, of: reads + succeeded })
    }

    fn doubts_about_mean(&self) -> Option<Doubt> {
        let confidence = self.confidence?;
        let reached = confidence.relative();
        match self.workload.stop.confidence {
            Some(wanted) if reached > wanted => Some(Doubt::ConfidenceNotReached { reached, wanted }),
            _ if confidence.correlated => Some(Doubt::Correlated),
            _ if reached > WIDE => Some(Doubt::WideInterval { relative: reached }),
            _ => None,
        }
    }
}
