//! Runs transactions on a device and collects the result.

use crate::clients::Clients;
use crate::recording::Header;
use crate::{Setup, Source, Unfit};
use flashlane_base::{Duration, Histogram};
use flashlane_device::{Counters, Device, DeviceInfo};
use flashlane_measure::engine::drive;
use flashlane_measure::statistics::{Confidence, OverTime};
use flashlane_measure::{ByOperation, Interruption, RunOptions, rate};

/// Why a transaction began anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It was the youngest of several that waited for each other.
    Deadlock,
    /// It waited too long for a lock.
    LockWait,
}

impl Restart {
    /// Both reasons.
    pub const ALL: [Self; 2] = [Self::Deadlock, Self::LockWait];

    /// Returns a short, stable name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::LockWait => "lock-wait",
        }
    }
}

/// Why a run ended early. Results until then are kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Partial {
    /// The device failed, or the run was stopped.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
    /// The recording could not be read to its end.
    #[error("the recording ended early: {0}")]
    Damaged(String),
}

/// Result of running transactions.
#[derive(Clone, Debug)]
pub struct Run {
    /// Properties of the device.
    pub info: DeviceInfo,
    /// How they were run.
    pub setup: Setup,
    /// Facts of the recording.
    pub header: Header,
    /// Transactions measured.
    pub transactions: u64,
    /// Device time from the end of the warm-up to the last commit.
    pub elapsed: Duration,
    /// Page accesses in that time, with those of transactions that were restarted.
    pub accesses: u64,
    /// Accesses for which a page was read from the device.
    pub misses: u64,
    /// Frames of the pool that were free when measuring began.
    pub free_at_begin: u32,
    /// How often the recording was begun.
    pub passes: u64,
    /// Transactions that began after their recorded time, because no client was free; 0 in a closed loop.
    pub late: u64,
    /// The longest of these delays.
    pub longest_delay: Duration,
    /// Waits for locks.
    pub lock_waits: u64,
    /// Restarted transactions, in the order of [`Restart::ALL`].
    pub restarts: [u64; Restart::ALL.len()],
    /// Response times: from the beginning of a transaction to its commit, with its restarts; at an open pace from the
    /// time at which it was to begin.
    pub responses: Histogram,
    /// Response times by kind, for kinds that occurred.
    pub kinds: Vec<(String, Histogram)>,
    /// Confidence interval of the mean response time; `None` for under 512 transactions.
    pub confidence: Option<Confidence>,
    /// Response times over time, by the time of commit.
    pub over_time: OverTime,
    /// Latencies of the device's reads and writes.
    pub requests: ByOperation,
    /// The device's counters over that time.
    pub counters: Counters,
    /// Requests that waited because the device was full; the wait is in their latency.
    pub waited: u64,
    /// Requests that failed or never completed.
    pub failed: u64,
    /// Why the run ended early, if it did.
    pub partial: Option<Partial>,
}

/// Runs the transactions of `source` on lane 0 of `device`. Page *p* is at byte *p × page size*; the pool begins empty,
/// and what is dirty in it at the end stays unwritten.
///
/// The run ends early where the device fails, disappears or stalls, the source cannot be read, or the watch breaks off:
/// the result holds the measurements until then, and [`Run::partial`] the reason.
///
/// # Errors
/// [`Unfit`] where the setup is refused, or does not fit the device; no request was submitted.
pub fn run(
    device: &mut dyn Device,
    source: &mut dyn Source,
    setup: &Setup,
    options: RunOptions<'_>,
) -> Result<Run, Unfit> {
    let info = device.info().clone();
    let header = source.header().clone();
    setup.check(&header, &info)?;
    let mut clients = Clients::new(source, setup, device.now(), options.watch)?;
    let ending = drive(device, setup.requests(), &mut clients);
    let Clients { record, damage, .. } = clients;
    let passes = source.passes();
    let interrupted = ending.interruption.map(Partial::Interrupted);
    let kinds = record.kinds.into_iter().zip(&header.kinds);
    Ok(Run {
        transactions: record.transactions,
        elapsed: record.last.since(record.started),
        accesses: record.accesses,
        misses: record.misses,
        free_at_begin: record.free_at_begin,
        passes,
        late: record.late,
        longest_delay: record.longest_delay,
        lock_waits: record.lock_waits,
        restarts: record.restarts,
        responses: record.responses,
        kinds: kinds.filter_map(|(responses, kind)| Some((kind.clone(), *responses?))).collect(),
        confidence: record.batches.confidence(),
        over_time: record.over_time,
        requests: record.requests,
        counters: if record.measures { device.counters().since(&record.before) } else { Counters::default() },
        waited: ending.waited,
        failed: ending.failed,
        partial: interrupted.or(damage.map(|damage| Partial::Damaged(damage.to_string()))),
        setup: setup.clone(),
        header,
        info,
    })
}

impl Run {
    /// Transactions per second of device time. A duration of zero counts as one nanosecond.
    pub fn transactions_per_s(&self) -> f64 {
        rate::per_second(self.transactions, self.elapsed)
    }

    /// Returns the share of the accesses that found their page in the pool; `None` without accesses.
    pub fn hit_share(&self) -> Option<f64> {
        (self.accesses > 0).then(|| 1.0 - self.misses as f64 / self.accesses as f64)
    }
}
