//! The paper's method: the same requests on the same drive with the same buffer, with either policy; comparison of mean
//! response times.
//!
//! When the buffer is full, `parallel` drains the same number of pages from each of the eight lists; `lru` is taken to
//! be the same algorithm (section II, Algorithm 1) with one list, from which that number drains. Another reading is
//! that it drains as many pages as all eight lists together: then `parallel` saves 9% with IOzone instead of 38% (27%
//! in the paper), and with PostMark `lru` is faster with the smallest buffer too, where in the paper the curves cross.
//!
//! Traces are replayed in open loop at their time stamps, as in DiskSim. A response time counts from the request's
//! arrival, so it includes the wait for a full queue; the paper does not say where it begins.

use super::workload::Program;
use crate::FigureError;
use crate::lab::Lab;
use crate::study::Outcome;
use flashlane_base::Operation;
use flashlane_measure::{Replay, ReplayOptions};
use flashlane_trace::Record;

/// Packages of `msr-64g`.
pub(super) const PACKAGES: u32 = 8;

/// A buffer without its policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) size_mib: u32,
    /// Pages drained at once from each list, 8 to 512; `parallel` has a list for each package, `lru` one list for all.
    pub(super) batch_pages: u32,
    /// Idle time of the host after which pages drain early.
    pub(super) idle_drain: Option<&'static str>,
    /// Longest wait of a read behind draining pages.
    pub(super) read_wait: Option<&'static str>,
}

impl Buffer {
    /// A buffer of which `parallel` drains half at once. The paper gives only a range, 8 to 512 pages of each package
    /// (section II): these are half of its smallest and half of its largest buffer, 1 and 64 MB.
    pub(super) fn of(size_mib: u32) -> Self {
        Self { size_mib, batch_pages: 8 * size_mib, idle_drain: None, read_wait: None }
    }
}

/// The same requests with either policy.
pub(super) struct Pair {
    pub(super) lru: Replay,
    pub(super) parallel: Replay,
}

impl Pair {
    /// Returns the reduction of the mean response time by `parallel`, in percent of that with `lru`.
    pub(super) fn gain_percent(&self) -> f64 {
        100.0 * (1.0 - mean_ms(&self.parallel) / mean_ms(&self.lru))
    }

    /// Returns the ratio of the total drain time with `lru` to that with `parallel`.
    pub(super) fn drains_longer(&self) -> f64 {
        counted(&self.lru, "buffer_drain_ns") / counted(&self.parallel, "buffer_drain_ns").max(1.0)
    }
}

/// The mean response time in ms.
pub(super) fn mean_ms(replay: &Replay) -> f64 {
    replay.mean_latency_ns() / 1e6
}

/// Returns a counter of the drive, which has all counters used here.
pub(super) fn counted(replay: &Replay, counter: &str) -> f64 {
    replay.counters.get(counter).unwrap_or_default() as f64
}

/// Replays the same requests with either policy.
pub(super) fn compare<I: Iterator<Item = Record>>(
    lab: &mut Lab<'_>,
    buffer: Buffer,
    records: impl Fn() -> I,
) -> Result<Pair, FigureError> {
    let mut by = |policy| replay(lab, policy, buffer, records());
    Ok(Pair { lru: by("lru")?, parallel: by("parallel")? })
}

/// Replays requests with one policy.
pub(super) fn replay(
    lab: &mut Lab<'_>,
    policy: &str,
    buffer: Buffer,
    records: impl Iterator<Item = Record>,
) -> Result<Replay, FigureError> {
    // The drive's setting is pages per package, for any number of lists.
    let lists = if policy == "lru" { 1 } else { PACKAGES };
    let pages = buffer.batch_pages * lists / PACKAGES;
    let (size, pages) = (format!("{}MiB", buffer.size_mib), pages.to_string());
    let mut overrides =
        vec![("buffer.policy", policy), ("buffer.size", &*size), ("buffer.batch_pages_per_package", &*pages)];
    overrides.extend(buffer.idle_drain.map(|time| ("buffer.idle_drain", time)));
    overrides.extend(buffer.read_wait.map(|time| ("buffer.read_wait", time)));
    lab.replay("msr-64g", &overrides, records, &ReplayOptions::default())
}

/// Returns the requests of a program; adds a warning to the outcome where its trace is missing.
pub(super) fn requests(
    lab: &Lab<'_>,
    program: &Program,
    outcome: &mut Outcome,
) -> Result<Option<Vec<Record>>, FigureError> {
    match program.records(lab)? {
        Ok(records) => Ok(Some(records)),
        Err(file) => {
            outcome.warnings.push(lab.no_trace(file));
            Ok(None)
        }
    }
}

/// The mean response time of reads in ms.
pub(super) fn read_ms(replay: &Replay) -> f64 {
    replay.latencies.of(Operation::Read).map_or(0.0, |latencies| latencies.mean_ns() / 1e6)
}
