//! The page size from the times of durable writes: the part of `write_rows` that looks for pages.
//!
//! - A write of two sectors takes two programs where a page ends between them, on the same die.
//! - Where chunks are of one page it never does; but a write that covers pages wholly need not read them first, and one
//!   that is shifted by a sector must.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::flash_read;
use crate::numbers;
use crate::page_ends;
use crate::pattern::{self, Point};
use crate::repetitions::{repeat, samples};
use crate::row_writer::{PAGES_REACH_BYTES, Writer};
use crate::write_rows::{RATIO_MAX, RATIO_MIN, REFERENCE, Spread};
use flashlane_workload::Access;
use std::ops::Range;

/// Writes at each place where a page may end.
const PAGE_WRITES: usize = 12;
/// Writes of whole pages, of each size, at first and where these leave it open whether a page is one sector.
const WHOLE_WRITES: [usize; 2] = [600, 2400];
/// Largest usual page.
const LARGEST_PAGE_BYTES: u64 = 16 * 1024;
/// Least share of writes that take two programs where a page ends: at half of the turns a chunk of two pages ends as
/// well.
const ENDS: f64 = 0.25;
/// Pages may be a power of two, or three times one. Of the latter the thirds that end no page do so less often than
/// others by this factor.
const THREE: u64 = 3;
const OF_THIRDS: f64 = 4.0;
/// Reads of sectors beside each other, and far apart.
const NEIGHBOURS: usize = 200;
/// Standard errors of a bound.
const STANDARD_ERRORS: f64 = 5.0;

/// Returns the page size from writes of two sectors, or of whole pages.
pub(crate) fn find(bench: &mut Bench<'_>, writer: &mut Writer) -> Result<Option<u64>, EarlyEnd> {
    let sector = bench.unit_bytes(true);
    let count = (PAGES_REACH_BYTES / sector) as usize;
    let singles = sector_writes(bench, writer, count as u64)?;
    let Some(single) = Spread::of(singles.clone()) else { return Ok(None) };
    // Without noise the second sector on the link would show, and be taken for a program.
    let least_us = (single.value + single.least_difference()).max(RATIO_MIN * single.value);
    let two_programs = least_us..RATIO_MAX * single.value;
    let slow = samples(bench, count, PAGE_WRITES, |bench, k| {
        let at = writer.place(bench) + k as u64 * sector;
        let took = bench.durable_write(at, 2 * sector)?.as_us_f64();
        Ok(f64::from(u8::from(two_programs.contains(&took))))
    })?;
    let is_end = |place: &Vec<f64>| place.iter().sum::<f64>() >= ENDS * PAGE_WRITES as f64;
    let ends: Vec<usize> = (0..count).filter(|&k| is_end(&slow[k])).map(|k| k + 1).collect();
    if ends.is_empty() {
        return whole_page(bench, writer);
    }
    // Writes that become slower with time would seem to take two programs, wherever they end.
    let later = sector_writes(bench, writer, count as u64)?;
    if Spread::of(later.clone()).is_none_or(|later| two_programs.contains(&later.value)) {
        return Ok(None);
    }
    let sectors = ends.iter().copied().fold(0, gcd);
    if !page_ends::are_of_pages(&ends, sectors, count) {
        return Ok(None);
    }
    // Where every place ends a page, none shows what garbage collection does to a write of one page; single sectors do.
    let delayed = singles.iter().chain(&later).filter(|took_us| two_programs.contains(took_us)).count();
    if sectors == 1 && delayed as f64 >= ENDS / 2.0 * (singles.len() + later.len()) as f64 {
        return Ok(None);
    }
    let seen_bytes = sectors as u64 * sector;
    let (is_third, thirds) = is_third_of_page(bench, writer, seen_bytes, two_programs)?;
    let factor = if is_third { THREE } else { 1 };
    // A write takes a page more where it crosses the end of one.
    let crossing = |writes: usize, ends_apart: u64| writes as u64 + writes as u64 / ends_apart;
    let page_writes = PAGE_WRITES as u64;
    writer.turn += 2 * REFERENCE as u64 + page_writes * crossing(count, factor * sectors as u64);
    writer.turn += page_writes * crossing(thirds, factor);
    Ok(Some(factor * seen_bytes))
}

/// Returns whether pages are three times as large as it seems: at places that are no multiples of three pages of a
/// power of two, each third of such a page ends one in a third of the writes. Returns also how many ends were tried.
fn is_third_of_page(
    bench: &mut Bench<'_>,
    writer: &Writer,
    seen_bytes: u64,
    two_programs: Range<f64>,
) -> Result<(bool, usize), EarlyEnd> {
    let sector = bench.unit_bytes(true);
    let thirds = (PAGES_REACH_BYTES / seen_bytes) as usize;
    let places = writer.area.length_bytes / (THREE * PAGES_REACH_BYTES);
    if thirds < 2 * THREE as usize || places < 4 {
        return Ok((false, 0));
    }
    let slow = samples(bench, thirds, PAGE_WRITES, |bench, k| {
        let place = writer.area.offset_bytes + bench.random().below(places - 2) * THREE * PAGES_REACH_BYTES;
        let at = place + (k as u64 + 1) * seen_bytes - sector;
        let took = bench.durable_write(at, 2 * sector)?.as_us_f64();
        Ok(f64::from(u8::from(two_programs.contains(&took))))
    })?;
    // Of pages of this size, ends of chunks may be one of the three residues in places; of larger ones the others never
    // end one, but for what garbage collection delays.
    let share = |residue: u64| {
        let ends: Vec<f64> = (1..)
            .zip(&slow)
            .filter(|(nth, _)| nth % THREE == residue)
            .flat_map(|(_, took)| took.clone())
            .collect();
        ends.iter().sum::<f64>() / ends.len().max(1) as f64
    };
    Ok((share(0) >= ENDS && share(1).max(share(2)) < share(0) / OF_THIRDS, thirds))
}

/// Measures writes of one sector among the first `count` of random places, in microseconds.
fn sector_writes(bench: &mut Bench<'_>, writer: &Writer, count: u64) -> Result<Vec<f64>, EarlyEnd> {
    let sector = bench.unit_bytes(true);
    let mut times = Vec::new();
    for _ in 0..REFERENCE {
        let at = writer.place(bench) + bench.random().below(count) * sector;
        times.push(bench.durable_write(at, sector)?.as_us_f64());
    }
    Ok(times)
}

/// Returns the least size whose writes are faster at their own multiples than shifted by a sector: a page, which need
/// not be read before it is written.
fn whole_page(bench: &mut Bench<'_>, writer: &mut Writer) -> Result<Option<u64>, EarlyEnd> {
    for writes in WHOLE_WRITES {
        let found = whole_page_of(bench, writer, writes)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn whole_page_of(bench: &mut Bench<'_>, writer: &mut Writer, writes: usize) -> Result<Option<u64>, EarlyEnd> {
    let sector = bench.unit_bytes(true);
    let sizes: Vec<u64> =
        (0..).map(|power| sector << power).take_while(|size| 2 * size <= PAGES_REACH_BYTES).collect();
    let points = repeat(bench, 2 * sizes.len(), writes, |bench, kind| {
        let at = writer.place(bench) + (kind % 2) as u64 * sector;
        bench.durable_write(at, sizes[kind / 2]).map(|time| time.as_us_f64())
    })?;
    let saved: Vec<Point> = points
        .chunks(2)
        .map(|pair| Point { value: pair[1].value - pair[0].value, error: pair[0].error.hypot(pair[1].error) })
        .collect();
    let most_us = |size: usize| saved[size].value + STANDARD_ERRORS * saved[size].error;
    let saves =
        |size: &usize| saved[*size].value > pattern::least_height(points[2 * size].value, saved[*size].error);
    let Some(found) = (0..sizes.len()).find(saves) else {
        // A page of several sectors would save the read of at least one, in writes of each of its multiples.
        let read_us = flash_read::longer_us(bench, writer)?.unwrap_or(0.0);
        let is_refuted = |page: usize| (page..sizes.len()).any(|multiple| most_us(multiple) < 0.6 * read_us);
        let is_sector = (1..sizes.len()).filter(|&page| sizes[page] <= LARGEST_PAGE_BYTES).all(is_refuted);
        return Ok((is_sector && !do_neighbours_wait(bench, writer)?).then_some(sector));
    };
    // Its double saves as well, but longer writes wait for many programs, which hides it. What is shorter saves
    // nothing.
    let is_least = (0..found).all(|size| most_us(size) < 0.5 * saved[found].value);
    Ok((is_least && found + 1 < sizes.len() && saves(&(found + 1))).then(|| sizes[found]))
}

/// Returns whether two reads of neighbouring sectors wait for each other, where those of others do not: they are on one
/// die, so that a chunk is no single sector. Garbage collection may hide what writes would show.
fn do_neighbours_wait(bench: &mut Bench<'_>, writer: &Writer) -> Result<bool, EarlyEnd> {
    let sector = bench.sector_bytes();
    if bench.depth() < 2 {
        return Ok(false);
    }
    let points = repeat(bench, 2, NEIGHBOURS, |bench, kind| {
        let one = writer.place(bench) + sector;
        let other = if kind == 0 { one - sector } else { writer.place(bench) };
        let reads = [Access::read(one, sector), Access::read(other, sector)];
        bench.burst(&reads).map(|time| time.as_us_f64())
    })?;
    let error = points[0].error.hypot(points[1].error);
    Ok(points[0].value - points[1].value > pattern::least_height(points[1].value, error))
}

fn gcd(a: usize, b: usize) -> usize {
    numbers::gcd(a as u64, b as u64) as usize
}
