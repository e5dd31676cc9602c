//! Chunk and page size.
//!
//! *Pairs*, beyond the paper: two single sectors on both sides of a boundary, read at once. On one die they queue for
//! its array, on two they do not, at any speed of the bus: the contrast is a whole array read, where the curves have
//! only half a transfer. Page boundaries inside a chunk show as reads that take two array times.
//!
//! *Single reads*, where a drive takes one request at a time, or where requests submitted at once arrive at different
//! times: one read of the two sectors around a page boundary takes two array times inside a chunk, and one between two
//! chunks.
//!
//! *Curves* as in chen11 (section 4.2, figure 2), which the probe only draws: the latency of a small read against its
//! offset. A read that crosses from one chunk into the next is served by two domains at once and is faster; the
//! distance of the valleys ([`valley_distance`]) is the chunk.
//!
//! Requires: the area was written once, in order. Otherwise pages lie in another order than their addresses, and places
//! that recur are not found.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::boundary_test::BoundaryTest;
use crate::error::EarlyEnd;
use crate::pattern::{self, Point};
use crate::repetitions::repeat;
use crate::verify::verify_and_correct;
use flashlane_workload::Access;

/// Measures the latency of reads of `sectors` sectors at offsets of `0..=offsets` sectors (chen11, program 1 (I)), in
/// microseconds.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub fn curve(
    bench: &mut Bench<'_>,
    area: Area,
    sectors: u64,
    offsets: usize,
    repetitions: usize,
) -> Result<Vec<Point>, EarlyEnd> {
    let sector = bench.sector_bytes();
    let room = (offsets as u64 + sectors + 1) * sector;
    repeat(bench, offsets + 1, repetitions, |bench, k| {
        let at = area.place(bench, room) + k as u64 * sector;
        bench.one(Access::read(at, sectors * sector)).map(|latency| latency.as_us_f64())
    })
}

/// Returns the distance of the valleys of a curve, in sectors; `None` where there are none or they do not recur.
///
/// A valley may be several offsets wide: those of a read of s sectors are up to s - 1 wide.
pub fn valley_distance(curve: &[Point]) -> Option<usize> {
    let inverted: Vec<Point> = curve.iter().map(|p| Point { value: -p.value, error: p.error }).collect();
    let highest = curve.iter().map(|p| p.value).fold(0.0, f64::max);
    let lifted: Vec<Point> =
        inverted.iter().map(|p| Point { value: p.value + 2.0 * highest, error: p.error }).collect();
    let standout = pattern::standout(&lifted)?;
    // Neighbouring places are one valley; its middle is the bottom.
    let mut bottoms: Vec<f64> = Vec::new();
    let mut run = Vec::new();
    for place in standout.places.iter().copied().chain([usize::MAX]) {
        if run.last().is_some_and(|&last| place != last + 1) {
            let (first, last) = (run[0], run[run.len() - 1]);
            // A valley cut off by an end of the curve has no known middle.
            if first > 0 && last + 1 < curve.len() {
                bottoms.push((first + last) as f64 / 2.0);
            }
            run.clear();
        }
        run.push(place);
    }
    let distance = bottoms.get(1)? - bottoms[0];
    let even = bottoms.len() >= 3 && bottoms.windows(2).all(|pair| pair[1] - pair[0] == distance);
    (even && distance.fract() == 0.0).then_some(distance as usize)
}

/// Looks for chunk boundaries: first in fine steps, then, for large chunks, in coarse ones, and last for chunks that
/// do not divide the distance of the repetitions' places. The numbers of `repetitions` MUST rise: each search goes on
/// to the next one where it finds none, and what it finds is verified by as many tests as the last one asks for.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub(crate) fn by_pairs(
    bench: &mut Bench<'_>,
    area: Area,
    repetitions: &[usize],
) -> Result<Option<Chunk>, EarlyEnd> {
    run_searches(bench, area, BoundaryTest::Pairs, &searches(bench), repetitions)
}

fn run_searches(
    bench: &mut Bench<'_>,
    area: Area,
    test: BoundaryTest,
    searches: &[Search],
    repetitions: &[usize],
) -> Result<Option<Chunk>, EarlyEnd> {
    let samples = VERIFICATION_FACTOR * repetitions.last().copied().unwrap_or_default();
    for search in searches {
        let reach_bytes = search.reach_bytes.min(area.length_bytes / 4);
        let search = Search { reach_bytes, ..*search };
        for &repetitions in repetitions {
            let Some(candidate) = search_boundaries(bench, area, test, search, repetitions)? else {
                continue;
            };
            let verified = verify_and_correct(bench, area, test, candidate, samples)?;
            if verified.is_some() {
                return Ok(verified);
            }
        }
    }
    Ok(None)
}

/// Looks for pages and chunk boundaries by single reads. Returns the chunk and the size of a page.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub(crate) fn by_single_reads(
    bench: &mut Bench<'_>,
    area: Area,
    repetitions: usize,
) -> Result<Option<(Chunk, u64)>, EarlyEnd> {
    let Some((page_bytes, array_us)) = page_by_single_reads(bench, area, repetitions)? else {
        return Ok(None);
    };
    let search = |reach_bytes, is_spread| Search { step_bytes: page_bytes, reach_bytes, is_spread };
    let searches = [search(64 * page_bytes, true), search(1024 * 1024, true), search(3584 * 1024, false)];
    let found = run_searches(bench, area, BoundaryTest::Single { page_bytes }, &searches, &[repetitions])?;
    // Between two chunks the read saves the array time that it takes across two pages of a chunk.
    let is_array_time = |found: &Chunk| (0.5..1.5).contains(&(found.contrast_us / array_us));
    Ok(found.filter(is_array_time).map(|found| (found, page_bytes)))
}

/// Reach of the search for pages by single reads: several pages of the largest usual size.
const PAGES_REACH_BYTES: u64 = 96 * 1024;

/// Returns the page size and an array time in microseconds, from the places at which one read of two sectors takes two
/// array times: multiples of the page, but for boundaries between chunks.
fn page_by_single_reads(
    bench: &mut Bench<'_>,
    area: Area,
    repetitions: usize,
) -> Result<Option<(u64, f64)>, EarlyEnd> {
    let sector = bench.sector_bytes();
    let count = (PAGES_REACH_BYTES / sector) as usize;
    let row = repeat(bench, count, 2 * repetitions, |bench, k| {
        let at = area.place(bench, PAGES_REACH_BYTES + 2 * sector) + (k as u64 + 1) * sector;
        BoundaryTest::Single { page_bytes: sector }.measure(bench, at)
    })?;
    let Some(standout) = pattern::standout(&row) else { return Ok(None) };
    let divides = |sectors: &usize| standout.places.iter().all(|place| (place + 1).is_multiple_of(*sectors));
    let sectors = (1..=count).rev().find(divides).unwrap_or(1);
    // Half of the multiples at least lie inside a chunk. Where it seems that each sector is a page, the places that do
    // not stand out may be boundaries between pages, at which the drive overlaps the transfers of two.
    Ok((sectors > 1 && standout.places.len() >= 2 && 2 * standout.places.len() + 1 >= count / sectors)
        .then_some((sectors as u64 * sector, standout.height)))
}

/// Tests that verify a candidate, as a multiple of the repetitions of a place.
const VERIFICATION_FACTOR: usize = 32;

/// A search for boundaries.
#[derive(Clone, Copy, Debug)]
struct Search {
    /// Distance of the places that are tested.
    step_bytes: u64,
    reach_bytes: u64,
    /// Whether each place is tested all over the area at offsets of the same phase, if the chunk divides the distance
    /// between these; otherwise each is tested at the area's start, where data left in the drive's cache may hide a
    /// boundary.
    is_spread: bool,
}

fn searches(bench: &Bench<'_>) -> [Search; 4] {
    let sector = bench.sector_bytes();
    let search = |step_bytes, reach_bytes, is_spread| Search { step_bytes, reach_bytes, is_spread };
    [
        search(sector, 256 * 1024, true),
        search(4096.max(sector), 1024 * 1024, true),
        search(2048.max(sector), 512 * 1024, false),
        search(2048.max(sector), 3584 * 1024, false),
    ]
}

/// Returns the number of places measured where no boundary is found.
pub(crate) fn places(bench: &Bench<'_>) -> usize {
    searches(bench).into_iter().map(|search| (search.reach_bytes / search.step_bytes) as usize).sum()
}

fn search_boundaries(
    bench: &mut Bench<'_>,
    area: Area,
    test: BoundaryTest,
    Search { step_bytes: step, reach_bytes: reach, is_spread }: Search,
    repetitions: usize,
) -> Result<Option<Chunk>, EarlyEnd> {
    let count = (reach / step) as usize;
    // Place k tests for a boundary at (k + 1) * step.
    let row = repeat(bench, count, repetitions, |bench, k| {
        let start = if is_spread { area.place(bench, reach + step) } else { area.offset_bytes };
        test.measure(bench, start + (k as u64 + 1) * step)
    })?;
    // On two dies the pair is fast: boundaries lie *below* the rest.
    let highest = row.iter().map(|p| p.value).fold(0.0, f64::max);
    let inverted: Vec<Point> =
        row.iter().map(|p| Point { value: 2.0 * highest - p.value, error: p.error }).collect();
    let Some(standout) = pattern::standout(&inverted) else { return Ok(None) };
    Ok(pattern::period(&standout.places, count).map(|(phase, period)| Chunk {
        size_bytes: period as u64 * step,
        phase_bytes: (phase as u64 + 1) * step % (period as u64 * step),
        clarity: standout.clarity,
        contrast_us: standout.height,
        seen: standout.places.len(),
    }))
}

/// Measures the page size, given the chunk: reads across a page boundary inside a chunk take two array times, one after
/// the other. `None` where the boundaries seen do not divide the chunk evenly, or where none and all of the places
/// inside a chunk as boundaries cannot be distinguished.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub fn page_bytes(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    repetitions: usize,
) -> Result<Option<u64>, EarlyEnd> {
    let sector = bench.sector_bytes();
    let inside = (chunk.size_bytes / sector).saturating_sub(1) as usize;
    if inside == 0 {
        return Ok(Some(chunk.size_bytes));
    }
    // Several chunks where a single one has too few places for any to stand out.
    let chunks = PLACES_MIN.div_ceil(inside);
    let row = repeat(bench, chunks * inside, repetitions, |bench, k| {
        let start = area.chunk_place(bench, chunk, (chunks as u64 + 1) * chunk.size_bytes);
        let boundary = start + (k / inside) as u64 * chunk.size_bytes + (k % inside + 1) as u64 * sector;
        bench.one(Access::read(boundary - sector, 2 * sector)).map(|latency| latency.as_us_f64())
    })?;
    let Some(standout) = pattern::standout(&row) else {
        return page_of_uniform_chunk(bench, area, chunk, repetitions);
    };
    let page = (standout.places[0] + 1) as u64 * sector;
    let boundary = |k: usize| ((k % inside + 1) as u64 * sector).is_multiple_of(page);
    let expected = (0..row.len()).filter(|&k| boundary(k));
    Ok((chunk.size_bytes.is_multiple_of(page) && expected.eq(standout.places.iter().copied()))
        .then_some(page))
}

/// Fewest places of a row in which some can stand out.
const PLACES_MIN: usize = 12;

/// Returns the chunk as the page size where a read of two sectors saves an array time against two reads of one each.
///
/// Where all reads of two sectors inside a chunk take equally long, either the chunk is one page or each sector is one.
/// In one page the read of two sectors saves an array time; of two pages it saves only a command, which is the
/// difference between two reads on different dies and one read. No saving proves nothing: the bus may hide the array
/// time.
fn page_of_uniform_chunk(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    repetitions: usize,
) -> Result<Option<u64>, EarlyEnd> {
    let sector = bench.sector_bytes();
    let points = repeat(bench, 4, 16 * repetitions, |bench, kind| {
        let start = area.chunk_place(bench, chunk, 4 * chunk.size_bytes) + chunk.size_bytes;
        let accesses: &[Access] = match kind {
            0 => &[Access::read(start, 2 * sector)],
            1 => &[Access::read(start + sector, sector), Access::read(start, sector)],
            2 => &[Access::read(start, sector)],
            _ => &[Access::read(start, sector), Access::read(start - sector, sector)],
        };
        bench.burst(accesses).map(|time| time.as_us_f64())
    })?;
    let [both, pair, one, apart] = std::array::from_fn(|kind| points[kind].value);
    let error = points.iter().map(|p| p.error * p.error).sum::<f64>().sqrt();
    let least = pattern::least_height(pair, error);
    let saved = (pair - both) - (apart - one);
    Ok((saved > 2.0 * least).then_some(chunk.size_bytes))
}
