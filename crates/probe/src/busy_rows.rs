//! Chunk and mapping by reads beside programs, where a bus hides array times and programs from requests of two pages.
//!
//! Pages are written in order, and while each is programmed, a sector of the one written before is read. On one die it
//! waits for the rest of the program, which no bus hides; where a chunk ends between the two pages, it does not. Rows
//! at the same addresses but other turns show the mapping, as in `write_rows`.
//!
//! *Chunks of one page.* No page waits for its neighbour. This counts where pages written a number of turns before do
//! wait, and dies explain which (`dies`): then programs are seen, and pages just written are read from flash. A drive
//! that suspends programs for reads shows nothing, but its reads may wait for long transfers, or for garbage
//! collection, at any number of turns.

use crate::bench::Bench;
use crate::beside::{REFERENCE, References, Timing};
use crate::bus_time;
use crate::chunk_ends::Ends;
use crate::dies::{ChunkPair, Dies};
use crate::error::EarlyEnd;
use crate::row_writer::Writer;
use crate::write_rows::{FoundChunks, LONGER, Rows, TwoPageWrite, rows};
use flashlane_workload::Access;

/// Reads of pages written a random number of turns before, that number at most, and least reads of these that wait.
const RANDOM_READS: usize = 1500;
const TURNS_MAX: u64 = 200;
const WAIT_MIN: usize = 12;
/// Largest share of neighbours that are late for another reason, as garbage collection; of chunks of two pages half
/// are.
const STRAY: f64 = 0.2;

/// Looks for the ends of chunks. Requires: pages are written in the order of addresses where they are read.
pub(crate) fn find(bench: &mut Bench<'_>, writer: &mut Writer) -> Result<Option<FoundChunks>, EarlyEnd> {
    if bench.depth() < 2 {
        return Ok(None);
    }
    let Some(timing) = timing(bench, writer)? else { return Ok(None) };
    let row = Row::measure(bench, writer, &timing)?;
    if row.late.len() as f64 <= STRAY * row.early.len() as f64 {
        return one_page(bench, writer, &timing);
    }
    let found = row.found();
    if found.is_some() || row.early.is_empty() {
        return Ok(found);
    }
    // The planes of a die that cannot work together may be one chunk of several MiB.
    writer.row_bytes *= LONGER;
    Ok(Row::measure(bench, writer, &timing)?.found())
}

/// Pages whose neighbour was late, and those whose was not.
struct Row {
    late: Vec<TwoPageWrite>,
    early: Vec<TwoPageWrite>,
}

impl Row {
    fn measure(bench: &mut Bench<'_>, writer: &mut Writer, timing: &Timing) -> Result<Self, EarlyEnd> {
        let mut row = Self { late: Vec::new(), early: Vec::new() };
        for (first, begins) in rows(writer) {
            writer.write_until(bench, begins)?;
            writer.write(bench, first, 1)?;
            for page in first + 1..writer.row_pages() {
                if let Some(sample) = sample(bench, writer, timing, page, 1)? {
                    let is_late = sample.took_us > timing.late_us;
                    if is_late { row.late.push(sample) } else { row.early.push(sample) }
                }
            }
        }
        Ok(row)
    }

    fn found(&self) -> Option<FoundChunks> {
        let slow_us =
            self.late.iter().map(|sample| sample.took_us).sum::<f64>() / self.late.len().max(1) as f64;
        Rows { slow: self.late.clone(), fast: self.early.clone(), slow_us }.found()
    }
}

/// Measures when a read is late beside the write of a page.
fn timing(bench: &mut Bench<'_>, writer: &mut Writer) -> Result<Option<Timing>, EarlyEnd> {
    let sector = bench.sector_bytes();
    let [mut writes, mut reads, mut page_reads] = [const { Vec::new() }; 3];
    for _ in 0..REFERENCE {
        let page = writer.row_pages() + bench.random().below(writer.row_pages());
        writes.push(writer.write(bench, page, 1)?);
        for (times, bytes) in [(&mut reads, sector), (&mut page_reads, writer.page_bytes)] {
            let at = writer.random_page(bench);
            times.push(bench.one(Access::read(at, bytes))?.as_us_f64());
        }
    }
    let references = References::of([writes, reads, page_reads], 0.0);
    // A cache that holds what is read shows no transfer: one that a read waits for would be taken for a program.
    if bus_time::is_from_memory(bench, writer.area, writer.page_bytes, references.read_page)? {
        return Ok(None);
    }
    Ok(Timing::of_reads(&references))
}

/// Writes a page and reads the one this number of pages before it; `None` where the read waited for more than a
/// program.
fn sample(
    bench: &mut Bench<'_>,
    writer: &mut Writer,
    timing: &Timing,
    page: u64,
    before: u64,
) -> Result<Option<TwoPageWrite>, EarlyEnd> {
    let at = |page: u64| writer.area.offset_bytes + page * writer.page_bytes;
    let write = Access::write(at(page), writer.page_bytes);
    let read = Access::read(at(page - before), bench.sector_bytes());
    let took_us = bench.read_beside_write(write, timing.after, read)?.as_us_f64();
    let sample = TwoPageWrite { address: page, turn: writer.turn, took_us };
    writer.turn += 1;
    Ok((took_us < timing.most_us).then_some(sample))
}

/// Chunks of one page, where pages written some turns before wait.
fn one_page(
    bench: &mut Bench<'_>,
    writer: &mut Writer,
    timing: &Timing,
) -> Result<Option<FoundChunks>, EarlyEnd> {
    let (mut waited, mut wait_us, mut pairs) = (0, 0.0, Vec::new());
    let pages = writer.row_pages();
    for nth in 0..RANDOM_READS as u64 {
        let page = nth % pages;
        let before = 1 + bench.random().below(TURNS_MAX.min(page.max(1)));
        if before > page || nth < TURNS_MAX {
            writer.write(bench, page, 1)?;
        } else if let Some(TwoPageWrite { turn, took_us, .. }) = sample(bench, writer, timing, page, before)?
        {
            let (turn, is_shared) = (turn as usize, took_us > timing.late_us);
            pairs.push(ChunkPair {
                by_address: turn,
                by_turn: turn,
                other: turn - before as usize,
                is_shared,
            });
            if is_shared {
                waited += 1;
                wait_us += took_us - timing.alone_us;
            }
        }
    }
    // Each chunk is a page, and each page a turn.
    let is_seen = waited >= WAIT_MIN && Dies::fit(&pairs, &[]).is_some();
    Ok(is_seen.then(|| FoundChunks {
        ends: Ends { period: 1, phase: 0, seen: RANDOM_READS },
        policy: None,
        contrast_us: wait_us / waited as f64,
        clarity: 1.0,
    }))
}
