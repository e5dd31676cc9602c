//! Page, chunk and mapping from the times of durable writes, where reads do not show them.
//!
//! A program takes several times as long as an array read, a command, or a wait for the link, so it is seen where these
//! hide the array time of a read; and one request of two pages shows what two requests show, so a drive that takes one
//! request at a time is no exception. Durable writes bypass a write buffer.
//!
//! - *Page.* A write of two sectors takes two programs where a page ends between them, on the same die. Where chunks
//!   are of one page it never does; but a write that covers pages wholly need not read them first, and one that is
//!   shifted by a sector must.
//! - *Chunk.* Pages are written in order, two per request. Both wait for one die unless a chunk ends between them, so
//!   the fast requests are a whole number of chunks apart. Where all are fast, a chunk is one page.
//! - *Mapping.* The same addresses are written three times, at other turns in the order of all writes. The ends of
//!   chunks stay at their addresses, or at their turns.

use crate::area::{Area, Chunk, PLACE_STEP_BYTES};
use crate::bench::Bench;
use crate::bus_time;
use crate::busy_rows;
use crate::chunk_ends::Ends;
use crate::error::EarlyEnd;
use crate::flash_read;
use crate::mapping::Policy;
use crate::pattern;
use crate::row_writer::Writer;
use crate::written_page;
use flashlane_workload::Access;
use std::collections::BTreeSet;

/// Slow requests, at least, where the other mapping predicts ends of chunks; and a third as many as ends.
const LEAST_REFUTING: usize = 2;
/// Bytes of a row: four chunks of 1 MiB, and a part of one.
const ROW_BYTES: u64 = 9 << 19;
/// Factor of the length of a row that shows too few ends of chunks.
pub(crate) const LONGER: u64 = 4;
/// Writes of a reference.
pub(crate) const REFERENCE: usize = 48;
/// Times differ from this number of standard deviations, and from this share, on.
const DEVIATIONS: f64 = 6.0;
const SHARE: f64 = 0.02;
/// Two programs, one after the other, take at least this multiple of the time of one write, and at most the other one.
pub(crate) const RATIO_MIN: f64 = 1.3;
pub(crate) const RATIO_MAX: f64 = 2.3;
/// Half of a program is at least this number of standard deviations: few requests that wait for one seem not to.
const HALF_DEVIATIONS: f64 = 3.0;
/// Least share of the requests of each row that wait for no second program where chunks are of one page: of larger
/// chunks one of the rows ends at most every second request between two.
const ALONE: f64 = 0.75;

/// What the writes show.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WriteRows {
    pub(crate) page_bytes: u64,
    /// Chunk of the area, which is in order again, and the mapping, which chunks of one page do not show.
    pub(crate) chunk: Option<(Chunk, Option<Policy>)>,
}

/// What is known of the drive from reads, and the requests that fill the area.
#[derive(Clone, Copy)]
pub(crate) struct KnownFromReads<'a> {
    pub(crate) page_bytes: Option<u64>,
    pub(crate) chunk: Option<&'a Chunk>,
    /// Whether that chunk is certain: the area is filled in its phase, whatever chunk the writes show.
    pub(crate) keeps_chunk: bool,
    pub(crate) fill_bytes: u64,
}

/// Writes to an area, looks for pages (unless known) and chunks, and fills the area in order again. The area MUST have
/// been filled, and nothing been written since.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    known: KnownFromReads<'_>,
) -> Result<Option<WriteRows>, EarlyEnd> {
    let mut writer = Writer { area, page_bytes: 0, turn: 0, row_bytes: ROW_BYTES };
    let (mut page_bytes, mut chunk) = look(bench, &mut writer, known.page_bytes)?;
    let is_missing = page_bytes.is_none() || (chunk.is_none() && !known.keeps_chunk);
    if is_missing && spare_collection(bench, &mut writer)? {
        (page_bytes, chunk) = look(bench, &mut writer, page_bytes)?;
    }
    let rows = match page_bytes {
        Some(page_bytes) => {
            align(bench, &mut writer, area, known, chunk.as_ref())?;
            Some(WriteRows { page_bytes, chunk: chunk.map(|found| found.boundaries(page_bytes)) })
        }
        None => None,
    };
    let fill_bytes = known.fill_bytes;
    bench.fill_durably(area.offset_bytes, area.length_bytes, fill_bytes)?;
    Ok(rows)
}

/// Looks for the page, unless it is known, and for chunks.
fn look(
    bench: &mut Bench<'_>,
    writer: &mut Writer,
    known_page: Option<u64>,
) -> Result<(Option<u64>, Option<FoundChunks>), EarlyEnd> {
    let found = match known_page {
        Some(page_bytes) => Some(page_bytes),
        None => written_page::find(bench, writer)?,
    };
    let Some(page_bytes) = found else { return Ok((None, None)) };
    writer.page_bytes = page_bytes;
    let chunk = match WriteTimes::measure(bench, writer)? {
        Some(write_times) => measure(bench, writer, write_times)?,
        None => None,
    };
    let chunk = match chunk {
        Some(found) => Some(found),
        None => busy_rows::find(bench, writer)?,
    };
    Ok((found, chunk))
}

/// Trims the second half of the area, so that garbage collection has blocks to erase that hold nothing to move: pages
/// that were written in order fill whole blocks. Leaves the first half to be written. Returns false where that is too
/// small, or the device has no trim.
fn spare_collection(bench: &mut Bench<'_>, writer: &mut Writer) -> Result<bool, EarlyEnd> {
    let Area { offset_bytes, length_bytes } = writer.area;
    let kept_bytes = length_bytes / 2 / PLACE_STEP_BYTES * PLACE_STEP_BYTES;
    if kept_bytes < 2 * PLACE_STEP_BYTES {
        return Ok(false);
    }
    writer.area = Area { offset_bytes, length_bytes: kept_bytes };
    bench.trim_range(offset_bytes + kept_bytes, offset_bytes + length_bytes)
}

/// Writes until the area's first page, which is written next, lies in a chunk as it did; or begins one that was found.
fn align(
    bench: &mut Bench<'_>,
    writer: &mut Writer,
    filled: Area,
    known: KnownFromReads<'_>,
    found: Option<&FoundChunks>,
) -> Result<(), EarlyEnd> {
    let page_bytes = writer.page_bytes;
    let pages = |bytes: u64| bytes / page_bytes;
    let (period, phase) = match (found, known.chunk) {
        (Some(FoundChunks { ends, policy: Some(Policy::WriteOrder), .. }), _) if !known.keeps_chunk => {
            (ends.period, ends.phase)
        }
        (_, Some(chunk)) if chunk.size_bytes.is_multiple_of(page_bytes) => {
            let (period, filled) = (pages(chunk.size_bytes), pages(filled.length_bytes));
            (period, (period - filled % period) % period)
        }
        _ => return Ok(()),
    };
    while writer.turn % period != phase {
        writer.write(bench, writer.row_pages(), 1)?;
    }
    Ok(())
}

/// Time of one write, and limits of the time on the bus of a page and of a program, in microseconds.
struct WriteTimes {
    single: Spread,
    most_bus_us: f64,
    least_program_us: f64,
}

impl WriteTimes {
    fn measure(bench: &mut Bench<'_>, writer: &mut Writer) -> Result<Option<Self>, EarlyEnd> {
        let mut times = Vec::new();
        for _ in 0..REFERENCE {
            let page = writer.row_pages() + bench.random().below(writer.row_pages());
            times.push(writer.write(bench, page, 1)?);
        }
        let sector = bench.sector_bytes();
        let mut reads = [Vec::new(), Vec::new()];
        for _ in 0..REFERENCE {
            for (times, bytes) in reads.iter_mut().zip([sector, writer.page_bytes]) {
                let at = writer.random_page(bench);
                times.push(bench.one(Access::read(at, bytes))?.as_us_f64());
            }
        }
        let [small, large] = reads.map(|mut times| pattern::point(&mut times));
        // A cache that holds what is read shows no transfer and no array time: both would be taken for parts of a
        // program.
        if bus_time::is_from_memory(bench, writer.area, writer.page_bytes, large)? {
            return Ok(None);
        }
        let rest = writer.page_bytes - sector;
        let flash = flash_read::longer_us(bench, writer)?;
        let most_bus_us = match rest {
            // No part of a page can be read, and all of its time at flash may be the transfer.
            0 => flash.map_or(large.value, |us| us + 4.0 * large.error),
            _ => (large.value - small.value + 4.0 * large.error) * writer.page_bytes as f64 / rest as f64,
        };
        // Of a read of flash, what is not its transfer is the array time.
        let flash_us = flash.unwrap_or(0.0);
        let transfer_us = most_bus_us * sector as f64 / writer.page_bytes as f64;
        let least_array_us = (flash_us - transfer_us - 4.0 * small.error).max(0.0);
        // A write takes a program where a read takes an array time and a command.
        Ok(Spread::of(times).map(|single| Self {
            single,
            most_bus_us,
            least_program_us: single.value - large.value - 4.0 * large.error + least_array_us,
        }))
    }
}

/// Median of times, and their standard deviation from those around it.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) value: f64,
    /// The eighth that few others undercut: garbage collection may delay most writes.
    low: f64,
    sigma: f64,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_unstable_by(f64::total_cmp);
        let n = times.len();
        let value = *times.get(n / 2)?;
        Some(Self { value, low: times[n / 8], sigma: (times[n * 3 / 4] - times[n / 4]) / 1.349 })
    }

    pub(crate) fn least_difference(self) -> f64 {
        (DEVIATIONS * self.sigma).max(SHARE * self.value)
    }
}

/// A request of two pages.
#[derive(Clone, Copy)]
pub(crate) struct TwoPageWrite {
    /// Number of its second page in the area.
    pub(crate) address: u64,
    /// Number of its second page in the order of writes.
    pub(crate) turn: u64,
    pub(crate) took_us: f64,
}

/// Ends of chunks and the mapping.
pub(crate) struct FoundChunks {
    pub(crate) ends: Ends,
    pub(crate) policy: Option<Policy>,
    pub(crate) contrast_us: f64,
    pub(crate) clarity: f64,
}

/// Rows of writes.
const ROWS: usize = 3;

/// Returns the first pages of three rows, and the turns at which they begin.
pub(crate) fn rows(writer: &Writer) -> [(u64, u64); ROWS] {
    // Turns less addresses are further by this number in the second row, and by twice this number and one in the third.
    // The two have no common divisor, so no period is shared by addresses and turns.
    let (start, further) = (writer.turn, writer.row_pages() + 2);
    [(0, start), (1, start + further + 1), (0, start + 2 * further + 1)]
}

/// Returns the chunks that rows of requests of two pages show: at first of the usual length, then of a longer one, as
/// the planes of a die that cannot work together may be one chunk of several MiB.
fn measure(
    bench: &mut Bench<'_>,
    writer: &mut Writer,
    write_times: WriteTimes,
) -> Result<Option<FoundChunks>, EarlyEnd> {
    let samples = write_rows(bench, writer)?;
    let found = one_page(&samples, &write_times);
    if found.is_some() {
        return Ok(found);
    }
    let Some(rows) = classify(&samples, &write_times) else { return Ok(None) };
    let found = rows.found();
    if found.is_some() || rows.fast.is_empty() {
        return Ok(found);
    }
    let usual = std::mem::replace(&mut writer.row_bytes, LONGER * ROW_BYTES);
    let samples = write_rows(bench, writer)?;
    writer.row_bytes = usual;
    Ok(classify(&samples, &write_times).and_then(|rows| rows.found()))
}

/// Writes three rows, which together test the end of each page at turns of both parities.
fn write_rows(bench: &mut Bench<'_>, writer: &mut Writer) -> Result<Vec<TwoPageWrite>, EarlyEnd> {
    let pages = writer.row_pages();
    let mut samples = Vec::new();
    for (first, begins) in rows(writer) {
        writer.write_until(bench, begins)?;
        for pair in 0..pages / 2 - 1 {
            let (address, turn) = (first + 2 * pair + 1, writer.turn + 1);
            let took_us = writer.write(bench, address - 1, 2)?;
            samples.push(TwoPageWrite { address, turn, took_us });
        }
    }
    assert!(samples.iter().all(|sample| sample.address <= pages), "rows end before the pages between them");
    Ok(samples)
}

impl FoundChunks {
    /// Returns the boundaries of the area when it is filled again, and the mapping.
    fn boundaries(self, page_bytes: u64) -> (Chunk, Option<Policy>) {
        let phase_pages = match self.policy {
            Some(Policy::Lba) => self.ends.phase,
            Some(Policy::WriteOrder) | None => 0,
        };
        let boundaries = Chunk {
            size_bytes: self.ends.period * page_bytes,
            phase_bytes: phase_pages * page_bytes,
            clarity: self.clarity,
            contrast_us: self.contrast_us,
            seen: self.ends.seen,
        };
        (boundaries, self.policy)
    }
}

/// Returns chunks of one page where no request waits for a second program, but for the few that garbage collection
/// delays. Both pages on one die take a program longer at least than one page; on one channel they may take a transfer
/// longer, which may be as long.
fn one_page(samples: &[TwoPageWrite], write_times: &WriteTimes) -> Option<FoundChunks> {
    let single = write_times.single;
    // Of writes that garbage collection does not delay.
    let half_us = (write_times.least_program_us - (single.value - single.low)) / 2.0;
    let is_parallel = |sample: &&TwoPageWrite| sample.took_us < single.low + half_us;
    let is_alone =
        |row: &[TwoPageWrite]| row.iter().filter(is_parallel).count() as f64 >= ALONE * row.len() as f64;
    // Two pages take no less than one, unless those of one page were all delayed.
    let least_us = samples.iter().map(|sample| sample.took_us).fold(f64::INFINITY, f64::min);
    let is_one_page = half_us > HALF_DEVIATIONS * single.sigma
        && least_us > single.low - HALF_DEVIATIONS * single.sigma - SHARE * single.low
        && samples.chunks(samples.len().div_ceil(ROWS)).all(is_alone);
    let ends = Ends { period: 1, phase: 0, seen: samples.len() };
    let contrast_us = write_times.least_program_us;
    is_one_page.then_some(FoundChunks { ends, policy: None, contrast_us, clarity: 1.0 })
}

/// Requests that waited for one die, and those that did not.
pub(crate) struct Rows {
    pub(crate) slow: Vec<TwoPageWrite>,
    pub(crate) fast: Vec<TwoPageWrite>,
    pub(crate) slow_us: f64,
}

/// Tells requests apart; `None` where ends of chunks between two dies of a channel would not be seen.
fn classify(samples: &[TwoPageWrite], write_times: &WriteTimes) -> Option<Rows> {
    let single = write_times.single;
    // What takes longer waited for garbage collection.
    let is_own = |us: &f64| *us < RATIO_MAX * single.value;
    let mut times: Vec<f64> = samples.iter().map(|sample| sample.took_us).filter(is_own).collect();
    times.sort_unstable_by(f64::total_cmp);
    let slow_us = *times.get(times.len() * 3 / 4)?;
    let least = (DEVIATIONS * std::f64::consts::SQRT_2 * single.sigma).max(SHARE * slow_us);
    let is_serial = slow_us > RATIO_MIN * single.value && slow_us < RATIO_MAX * single.value;
    // On two dies of a channel only the program is saved, and no time on the bus.
    let saved_us = slow_us - single.value - write_times.most_bus_us;
    if !is_serial || saved_us < least {
        return None;
    }
    let mut rows = Rows { slow: Vec::new(), fast: Vec::new(), slow_us };
    for &sample in samples {
        // What lies between was delayed by less than a program.
        if sample.took_us < slow_us - least.max(saved_us / 2.0) {
            rows.fast.push(sample);
        } else if (sample.took_us - slow_us).abs() < least {
            rows.slow.push(sample);
        }
    }
    Some(rows)
}

impl Rows {
    pub(crate) fn found(&self) -> Option<FoundChunks> {
        let (address, turn) = (|sample: &TwoPageWrite| sample.address, |sample: &TwoPageWrite| sample.turn);
        let (ends, policy) = match (self.ends(address), self.ends(turn)) {
            (Some(ends), None) if self.are_refuted(ends, address, turn) => (ends, Some(Policy::Lba)),
            (None, Some(ends)) if self.are_refuted(ends, turn, address) => (ends, Some(Policy::WriteOrder)),
            _ => return None,
        };
        let fast: Vec<f64> = self.fast.iter().map(|sample| sample.took_us).collect();
        let contrast_us = self.slow_us - fast.iter().sum::<f64>() / fast.len() as f64;
        let slowest = fast.iter().copied().fold(0.0, f64::max);
        let clarity = ((self.slow_us - slowest) / contrast_us).clamp(0.0, 1.0);
        Some(FoundChunks { ends, policy, contrast_us, clarity })
    }

    /// Returns whether ends by a key do not recur by the other one. Within a row they recur by both, so that it takes
    /// slow requests where the other one predicts ends in other rows.
    fn are_refuted(
        &self,
        ends: Ends,
        key: impl Fn(&TwoPageWrite) -> u64,
        other: impl Fn(&TwoPageWrite) -> u64,
    ) -> bool {
        let at_ends = self.fast.iter().filter(|sample| key(sample) % ends.period == ends.phase);
        let phases: BTreeSet<u64> = at_ends.map(|sample| other(sample) % ends.period).collect();
        let slow =
            |phase: &u64| self.slow.iter().filter(|sample| other(sample) % ends.period == *phase).count();
        phases.iter().map(slow).sum::<usize>() >= LEAST_REFUTING.max(ends.seen / 3)
    }

    /// Returns the distance of the fast requests by a key, if nearly all lie a whole number of distances apart, and
    /// nearly no slow one does.
    fn ends(&self, key: impl Fn(&TwoPageWrite) -> u64) -> Option<Ends> {
        let [fast, slow] =
            [&self.fast, &self.slow].map(|samples| samples.iter().map(&key).collect::<Vec<_>>());
        Ends::find(&fast, &slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows over chunks of `period` pages; a program takes 500 µs, a page 20 µs on the bus.
    fn rows(period: u64, policy: Policy, varies: f64) -> Option<FoundChunks> {
        let (pages, further) = (256, 258);
        let mut samples = Vec::new();
        for (first, begins) in [(0, 0), (1, further + 1), (0, 2 * further + 1)] {
            for pair in 0..pages / 2 - 1 {
                let (address, turn) = (first + 2 * pair + 1, 5 + begins + 2 * pair + 1);
                let key = if policy == Policy::Lba { address } else { turn };
                let wobble = varies * [0.4, -0.9, 0.1, 1.0, -0.6][(turn * turn % 5) as usize];
                let took_us = 530.0 + wobble + if key % period == 1 % period { 20.0 } else { 520.0 };
                samples.push(TwoPageWrite { address, turn, took_us });
            }
        }
        let single = Spread { value: 530.0, low: 530.0 - 0.4 * varies, sigma: 0.4 * varies };
        let write_times = WriteTimes { single, most_bus_us: 25.0, least_program_us: 450.0 };
        one_page(&samples, &write_times).or_else(|| classify(&samples, &write_times)?.found())
    }

    #[test]
    fn ends_of_chunks_stay_at_addresses_or_turns() {
        for period in [2, 3, 7, 12, 31, 64] {
            for policy in [Policy::Lba, Policy::WriteOrder] {
                let found = rows(period, policy, 20.0).unwrap();
                assert_eq!((found.ends.period, found.ends.phase), (period, 1), "{policy:?}");
                assert_eq!(found.policy, Some(policy), "{period}");
            }
        }
    }

    #[test]
    fn row_of_few_chunks_shows_none() {
        assert!(rows(100, Policy::Lba, 0.0).is_some());
        assert!(rows(128, Policy::Lba, 0.0).is_none(), "two ends are not a period");
    }

    #[test]
    fn pages_that_never_wait_are_chunks() {
        let found = rows(1, Policy::Lba, 20.0).unwrap();
        assert_eq!((found.ends.period, found.policy), (1, None));
        assert!(rows(1, Policy::Lba, 300.0).is_none(), "noise hides a program");
    }

    /// As seen on a full drive, whose garbage collection delayed most writes of one page: two on one die take 280 µs
    /// longer than one.
    #[test]
    fn delayed_writes_of_one_page_show_no_chunk_of_one() {
        let samples: Vec<TwoPageWrite> = (0..429)
            .map(|turn| TwoPageWrite {
                address: turn,
                turn,
                took_us: if turn % 3 == 0 { 490.0 } else { 760.0 },
            })
            .collect();
        let single = Spread { value: 1200.0, low: 480.0, sigma: 40.0 };
        let write_times = WriteTimes { single, most_bus_us: 290.0, least_program_us: 860.0 };
        assert!(one_page(&samples, &write_times).is_none());
        let usual = Spread { value: 490.0, low: 480.0, sigma: 20.0 };
        let alone: Vec<TwoPageWrite> =
            samples.iter().map(|sample| TwoPageWrite { took_us: 490.0, ..*sample }).collect();
        let write_times = WriteTimes { single: usual, most_bus_us: 290.0, least_program_us: 180.0 };
        assert!(one_page(&alone, &write_times).is_some());
    }

    #[test]
    fn programs_that_noise_or_the_bus_hides_show_no_chunk() {
        assert!(rows(12, Policy::Lba, 300.0).is_none());
        let samples: Vec<TwoPageWrite> = (0..96)
            .map(|turn| TwoPageWrite {
                address: turn,
                turn,
                took_us: if turn % 12 == 0 { 530.0 } else { 780.0 },
            })
            .collect();
        let write_times = |most_bus_us| WriteTimes {
            single: Spread { value: 500.0, low: 499.0, sigma: 1.0 },
            most_bus_us,
            least_program_us: 300.0,
        };
        assert!(classify(&samples, &write_times(25.0)).is_some());
        assert!(classify(&samples, &write_times(270.0)).is_none(), "with cache mode the bus hides programs");
    }
}
