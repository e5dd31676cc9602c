//! The paper's method: the same requests on the same drive with the same buffer, by either policy; mean response times
//! beside each other.
//!
//! By `parallel` the same number of pages leaves each of the eight lists when the buffer is full; `lru` is taken to be the
//! same algorithm (section II, Algorithm 1) with one list, from which that number leaves. It could also be read to let as
//! many pages go as all eight lists together: then `parallel` takes 9% off under IOzone instead of 38% (27% in the paper),
//! and under PostMark `lru` is the faster with the smallest buffer too, where the paper has the two cross.
//!
//! Traces are replayed in open loop at their time stamps, as DiskSim does. A response time counts from the request's
//! arrival, so that it holds the wait for a drive whose queue is full; the paper does not say where it counts from.

use super::workload::Program;
use crate::FigureError;
use crate::lab::Lab;
use crate::study::Outcome;
use flashlane_base::Operation;
use flashlane_measure::{Replay, ReplayOptions};
use flashlane_trace::Record;

/// Packages of `msr-64g`.
pub(super) const PACKAGES: u32 = 8;

/// A buffer, but for its policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) size_mib: u32,
    /// Pages that leave each list at once, of 8 to 512: by `parallel` for each package, by `lru`, which has one list, for
    /// all of them.
    pub(super) batch_pages: u32,
    /// Pages leave ahead of need once the host has been idle so long.
    pub(super) idle_drain: Option<&'static str>,
    /// What a read may have to wait for pages on their way to flash.
    pub(super) read_wait: Option<&'static str>,
}

impl Buffer {
    /// A buffer of which half leaves at once by `parallel`. The paper does not say how many pages do, but for 8 to 512 of
    /// each package (section II): these are half of its smallest and half of its largest buffer, 1 and 64 MB.
    pub(super) fn of(size_mib: u32) -> Self {
        Self { size_mib, batch_pages: 8 * size_mib, idle_drain: None, read_wait: None }
    }
}

/// What came of the same requests by either policy.
pub(super) struct Pair {
    pub(super) lru: Replay,
    pub(super) parallel: Replay,
}

impl Pair {
    /// By how much `parallel` shortens the mean response time, in percent of that by `lru`.
    pub(super) fn gain_percent(&self) -> f64 {
        100.0 * (1.0 - mean_ms(&self.parallel) / mean_ms(&self.lru))
    }

    /// How many times as long as by `parallel` all drains together take by `lru`.
    pub(super) fn drains_longer(&self) -> f64 {
        counted(&self.lru, "buffer_drain_ns") / counted(&self.parallel, "buffer_drain_ns").max(1.0)
    }
}

/// The mean response time in ms.
pub(super) fn mean_ms(replay: &Replay) -> f64 {
    replay.mean_latency_ns() / 1e6
}

/// A counter of the drive; it has all that are asked for here.
pub(super) fn counted(replay: &Replay, counter: &str) -> f64 {
    replay.counters.get(counter).unwrap_or_default() as f64
}

/// Replays the same requests by either policy.
pub(super) fn compare<I: Iterator<Item = Record>>(
    lab: &mut Lab<'_>,
    buffer: Buffer,
    records: impl Fn() -> I,
) -> Result<Pair, FigureError> {
    let mut by = |policy| replay(lab, policy, buffer, records());
    Ok(Pair { lru: by("lru")?, parallel: by("parallel")? })
}

/// Replays requests by one policy.
pub(super) fn replay(
    lab: &mut Lab<'_>,
    policy: &str,
    buffer: Buffer,
    records: impl Iterator<Item = Record>,
) -> Result<Replay, FigureError> {
    // The drive counts pages for each package, however many lists there are.
    let lists = if policy == "lru" { 1 } else { PACKAGES };
    let pages = buffer.batch_pages * lists / PACKAGES;
    let (size, pages) = (format!("{}MiB", buffer.size_mib), pages.to_string());
    let mut overrides =
        vec![("buffer.policy", policy), ("buffer.size", &*size), ("buffer.batch_pages_per_package", &*pages)];
    overrides.extend(buffer.idle_drain.map(|time| ("buffer.idle_drain", time)));
    overrides.extend(buffer.read_wait.map(|time| ("buffer.read_wait", time)));
    lab.replay("msr-64g", &overrides, records, &ReplayOptions::default())
}

/// The requests of a program, or a warning in the outcome where its trace is not there.
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
