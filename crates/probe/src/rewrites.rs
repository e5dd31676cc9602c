//! One page that is written over and over, and the pauses of these writes.
//!
//! A write of a part of the page first reads the rest, on the die that took the write before, and this read waits for
//! the erase of that die, however many dies there are, and whether or not they are known. It is no read of the host,
//! which may suspend an erase. Where a page is one sector, a read of the host follows each write instead.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::pattern::median;
use crate::pauses::Recurrence;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

/// A slow request takes at least this multiple of the median.
const SLOW: f64 = 1.4;
/// Number of blocks that writes across the end of a page should fill, at least.
const BLOCKS_MIN: usize = 16;
/// Number of writes across the end of a page, at most, where the period is not longer.
const ACROSS_MAX: usize = 1 << 16;
/// Share of the pauses of writes across the end of a page that show that two pages are programmed.
const TWO_PAGES_MIN: f64 = 0.75;
/// Share of the pauses that recur after a period.
const RECUR_MIN: f64 = 0.95;
/// Number of writes that the figure shows.
const SHOWN: usize = 2048;

/// Latencies of writes of all of a page but its first sector, or of whole pages of one sector and of reads after them.
pub(crate) struct Rewrites {
    page_at: u64,
    page_bytes: u64,
    latencies: Latencies,
}

#[derive(Default)]
struct Latencies {
    writes: Vec<f64>,
    reads: Vec<f64>,
}

impl Rewrites {
    pub(crate) fn new(page_at: u64, page_bytes: u64) -> Self {
        Self { page_at, page_bytes, latencies: Latencies::default() }
    }

    /// Continues to `wanted` writes.
    pub(crate) fn extend(&mut self, bench: &mut Bench<'_>, wanted: usize) -> Result<(), EarlyEnd> {
        let unit_bytes = bench.unit_bytes(true);
        let (with_reads, skipped) = match self.is_whole(bench) {
            true => (true, 0),
            false => (false, unit_bytes),
        };
        self.latencies.extend(bench, (self.page_at + skipped, self.page_bytes - skipped), with_reads, wanted)
    }

    /// Returns whether writes are those of whole pages.
    fn is_whole(&self, bench: &Bench<'_>) -> bool {
        self.page_bytes <= bench.unit_bytes(true)
    }

    /// Returns which writes pause, from the first pause on, without a `settling` part of these.
    pub(crate) fn pauses(&self, settling: f64) -> Vec<bool> {
        let [slow_write, slow_read] =
            [&self.latencies.writes, &self.latencies.reads].map(|latencies| SLOW * median(latencies));
        let pauses = self.latencies.above(slow_write, slow_read);
        let first = pauses.iter().position(|&is_pause| is_pause).unwrap_or_default();
        let settled = first + (settling * (pauses.len() - first) as f64) as usize;
        pauses[settled..].to_vec()
    }

    /// Returns whether the page is one page, by the pauses of other writes: those of its last sector fill blocks as
    /// fast as those of all of it, and those of its end and the next one's beginning in half of the writes. `seen` is
    /// the recurrence of the pauses so far.
    pub(crate) fn is_page(&self, bench: &mut Bench<'_>, seen: Recurrence) -> Result<bool, EarlyEnd> {
        let unit_bytes = bench.unit_bytes(true);
        let last_sector = self.page_at + self.page_bytes - unit_bytes;
        let writes = seen.writes * (BLOCKS_MIN * seen.unit).div_ceil(seen.writes).max(2);
        let expected = (writes / seen.unit) as f64;
        // Half a block more, so that dies that took as much as this one erase at other times.
        let mut of_end = Latencies::default();
        of_end.extend(bench, (last_sector, unit_bytes), self.is_whole(bench), writes + seen.unit / 2)?;
        if !self.are_as_before(&of_end, writes, seen) {
            return Ok(false);
        }
        if seen.writes == seen.unit {
            // Several pages may lie on dies that erased at the same time before.
            let mut again = Self::new(self.page_at, self.page_bytes);
            again.extend(bench, writes)?;
            if !self.are_as_before(&again.latencies, writes, seen) {
                return Ok(false);
            }
        }
        // The die of the next page may have free blocks to fill first.
        let (mut across, mut wanted) = (Latencies::default(), 1 + writes);
        loop {
            across.extend(bench, (last_sector, 2 * unit_bytes), self.is_whole(bench), wanted)?;
            let pauses = self.last_pauses(&across, writes);
            // Two dies that erase at a time pause once; then all pauses recur sooner.
            let recurs_sooner = seen.writes.is_multiple_of(2) && recurs_after(&pauses, seen.writes / 2);
            if recurs_sooner || count(&pauses) >= TWO_PAGES_MIN * 2.0 * expected {
                return Ok(true);
            }
            if wanted >= ACROSS_MAX {
                return Ok(false);
            }
            wanted = (4 * wanted).min(ACROSS_MAX.max(1 + writes));
        }
    }

    /// Returns whether the last writes to another place pause as often as those `seen` before, and with the same
    /// period.
    fn are_as_before(&self, latencies: &Latencies, writes: usize, seen: Recurrence) -> bool {
        let pauses = self.last_pauses(latencies, writes);
        let expected = (writes / seen.unit) as f64;
        let is_alike = (count(&pauses) - expected).abs() <= (1.0 - RECUR_MIN) * expected + 1.0;
        is_alike && recurs_after(&pauses, seen.writes)
    }

    /// Returns which of the last writes to another place pause. Erases take as long as those before.
    fn last_pauses(&self, latencies: &Latencies, writes: usize) -> Vec<bool> {
        // Before, either the writes or the reads waited for erases, and now both may.
        let erase = f64::min(excess(&self.latencies.writes), excess(&self.latencies.reads));
        let [slow_write, slow_read] =
            [&latencies.writes, &latencies.reads].map(|latencies| median(latencies) + erase / 2.0);
        let pauses = latencies.above(slow_write, slow_read);
        pauses[pauses.len() - writes..].to_vec()
    }

    /// Returns why the pauses show no unit.
    pub(crate) fn why_open(&self) -> String {
        let pauses = self.pauses(0.0).into_iter().filter(|&is_pause| is_pause).count();
        let writes = self.latencies.writes.len();
        format!("of {writes} writes of one page {pauses} pause, and not with a period that fits all dies")
    }

    pub(crate) fn figure(&self) -> Figure {
        let last = |latencies: &[f64]| -> Vec<(f64, f64)> {
            let from = latencies.len().saturating_sub(SHOWN);
            latencies[from..].iter().enumerate().map(|(nth, latency)| (nth as f64, *latency)).collect()
        };
        let Latencies { writes, reads } = &self.latencies;
        let named = [("durable writes", writes), ("reads after them", reads)];
        let series = named.into_iter().filter(|(_, latencies)| !latencies.is_empty());
        Figure {
            id: "reclaim".into(),
            title: "One page of a trimmed drive, written over and over".into(),
            x: Axis::linear("write", ""),
            y: Axis::linear("latency", "us"),
            series: series
                .map(|(name, latencies)| Series {
                    name: name.into(),
                    points: last(latencies),
                    ..Series::default()
                })
                .collect(),
            caption: "Where a write begins a block, the next one waits until another block is erased.".into(),
            ..Figure::default()
        }
    }
}

impl Latencies {
    /// Continues to `wanted` writes of a place, each followed by a read of it where `with_reads`.
    fn extend(
        &mut self,
        bench: &mut Bench<'_>,
        (offset_bytes, length_bytes): (u64, u64),
        with_reads: bool,
        wanted: usize,
    ) -> Result<(), EarlyEnd> {
        while self.writes.len() < wanted {
            self.writes.push(bench.durable_write(offset_bytes, length_bytes)?.as_us_f64());
            if with_reads {
                self.reads.push(bench.one(Access::read(offset_bytes, length_bytes))?.as_us_f64());
            }
        }
        Ok(())
    }

    /// Returns which writes, or reads after them, take longer.
    fn above(&self, slow_write: f64, slow_read: f64) -> Vec<bool> {
        let is_slow = |(nth, write): (usize, &f64)| {
            *write > slow_write || self.reads.get(nth).is_some_and(|read| *read > slow_read)
        };
        self.writes.iter().enumerate().map(is_slow).collect()
    }
}

fn count(pauses: &[bool]) -> f64 {
    pauses.iter().filter(|&&is_pause| is_pause).count() as f64
}

/// Returns whether nearly all pauses recur after this number of writes.
fn recurs_after(pauses: &[bool], writes: usize) -> bool {
    let later = &pauses[writes..];
    let recurring = pauses.iter().zip(later).filter(|&(&earlier, &later)| earlier && later).count() as f64;
    count(later) > 0.0 && recurring >= RECUR_MIN * count(later)
}

/// Returns how much longer than the median slow requests take; infinity where there are none.
fn excess(latencies: &[f64]) -> f64 {
    let usual = median(latencies);
    let slow: Vec<f64> = latencies.iter().copied().filter(|latency| *latency > SLOW * usual).collect();
    median(&slow) - usual
}
