//! Chunk and page size.
//!
//! *Curves* as in chen11 (section 4.2, figure 2): the latency of a small read against its offset. A read that crosses
//! from one chunk into the next is served by two domains at once and is faster; the distance of the valleys is the
//! chunk.
//!
//! *Pairs*, beyond the paper: two single sectors on both sides of a boundary, read at once. On one die they queue for
//! its array, on two they do not, at any speed of the bus: the contrast is a whole array read, where the curves have
//! only half a transfer. Page boundaries inside a chunk show as reads that take two array times.

use crate::bench::Bench;
use crate::pattern::{self, Point, point};
use flashlane_measure::Interruption;
use flashlane_workload::Access;

/// An area of the device on which experiments run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub offset_bytes: u64,
    /// Length; MUST have been written once in order.
    pub length_bytes: u64,
}

/// Distance of the places of an experiment's repetitions: a multiple of every chunk of 2^a 3^b 5^c sectors up to 256
/// KiB (with b and c at most 1), so that each repetition has the same phase.
const STEP_BYTES: u64 = 15 * 256 * 1024;

impl Area {
    /// Returns a random place with the phase of the area's start and room for `room_bytes`.
    fn place(&self, bench: &mut Bench<'_>, room_bytes: u64) -> u64 {
        let places = (self.length_bytes.saturating_sub(room_bytes) / STEP_BYTES).max(1);
        self.offset_bytes + bench.random().below(places) * STEP_BYTES
    }
}

/// Measures the latency of reads of `sectors` sectors at offsets of `0..=offsets` sectors (chen11, program 1 (I)), in
/// microseconds.
///
/// # Errors
/// [`Interruption`] where the device fails.
pub fn curve(
    bench: &mut Bench<'_>,
    area: Area,
    sectors: u64,
    offsets: usize,
    repetitions: usize,
) -> Result<Vec<Point>, Interruption> {
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

/// Boundaries between chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundaries {
    /// Bytes between one boundary and the next.
    pub chunk_bytes: u64,
    /// The first boundary, from the area's start.
    pub phase_bytes: u64,
    /// Clarity of the difference, 0 to 1.
    pub clarity: f64,
    /// How much longer two reads take on one die than on two, in microseconds.
    pub contrast_us: f64,
    /// Number of boundaries seen.
    pub seen: usize,
}

/// Looks for chunk boundaries: first in fine steps, then, for large chunks, in coarse ones.
///
/// # Errors
/// [`Interruption`] where the device fails.
pub fn boundaries(
    bench: &mut Bench<'_>,
    area: Area,
    repetitions: usize,
) -> Result<Option<Boundaries>, Interruption> {
    for (step, reach) in searches(bench) {
        let found = boundaries_at(bench, area, step, reach.min(area.length_bytes / 4), repetitions)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Step and reach of each search, in bytes.
fn searches(bench: &Bench<'_>) -> [(u64, u64); 2] {
    let sector = bench.sector_bytes();
    [(sector, 256 * 1024), (4096.max(sector), 1024 * 1024)]
}

/// Returns the number of places measured where no boundary is found.
pub(crate) fn places(bench: &Bench<'_>) -> usize {
    searches(bench).into_iter().map(|(step, reach)| (reach / step) as usize).sum()
}

fn boundaries_at(
    bench: &mut Bench<'_>,
    area: Area,
    step: u64,
    reach: u64,
    repetitions: usize,
) -> Result<Option<Boundaries>, Interruption> {
    let sector = bench.sector_bytes();
    let count = (reach / step) as usize;
    // Place k tests for a boundary at (k + 1) * step. The upper sector goes first: two reads in ascending order might
    // be taken for a sequential stream and prefetched.
    let row = repeat(bench, count, repetitions, |bench, k| {
        let boundary = area.place(bench, reach + step) + (k as u64 + 1) * step;
        let pair = [Access::read(boundary, sector), Access::read(boundary - sector, sector)];
        bench.burst(&pair).map(|time| time.as_us_f64())
    })?;
    // On two dies the pair is fast: boundaries lie *below* the rest.
    let highest = row.iter().map(|p| p.value).fold(0.0, f64::max);
    let inverted: Vec<Point> =
        row.iter().map(|p| Point { value: 2.0 * highest - p.value, error: p.error }).collect();
    let Some(standout) = pattern::standout(&inverted) else { return Ok(None) };
    Ok(pattern::period(&standout.places, count).map(|(phase, period)| Boundaries {
        chunk_bytes: period as u64 * step,
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
/// [`Interruption`] where the device fails.
pub fn page_bytes(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Boundaries,
    repetitions: usize,
) -> Result<Option<u64>, Interruption> {
    let sector = bench.sector_bytes();
    let inside = (chunk.chunk_bytes / sector).saturating_sub(1) as usize;
    if inside == 0 {
        return Ok(Some(chunk.chunk_bytes));
    }
    // Several chunks where a single one has too few places for any to stand out.
    let chunks = LEAST_PLACES.div_ceil(inside);
    let row = repeat(bench, chunks * inside, repetitions, |bench, k| {
        let start = area.place(bench, (chunks as u64 + 1) * chunk.chunk_bytes) + chunk.phase_bytes;
        let boundary = start + (k / inside) as u64 * chunk.chunk_bytes + (k % inside + 1) as u64 * sector;
        bench.one(Access::read(boundary - sector, 2 * sector)).map(|latency| latency.as_us_f64())
    })?;
    let Some(standout) = pattern::standout(&row) else {
        return page_of_uniform_chunk(bench, area, chunk, repetitions);
    };
    let page = (standout.places[0] + 1) as u64 * sector;
    let boundary = |k: usize| ((k % inside + 1) as u64 * sector).is_multiple_of(page);
    let expected = (0..row.len()).filter(|&k| boundary(k));
    Ok((chunk.chunk_bytes.is_multiple_of(page) && expected.eq(standout.places.iter().copied()))
        .then_some(page))
}

const LEAST_PLACES: usize = 12;

/// Returns the chunk as the page size where a read of two sectors saves an array time against two reads of one each.
///
/// Where all reads of two sectors inside a chunk take equally long, either the chunk is one page or each sector is one.
/// In one page the read of two sectors saves an array time; of two pages it saves only a command, which is the
/// difference between two reads on different dies and one read. No saving proves nothing: the bus may hide the array
/// time.
fn page_of_uniform_chunk(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Boundaries,
    repetitions: usize,
) -> Result<Option<u64>, Interruption> {
    let sector = bench.sector_bytes();
    let points = repeat(bench, 4, 16 * repetitions, |bench, kind| {
        let start = area.place(bench, 4 * chunk.chunk_bytes) + chunk.phase_bytes + chunk.chunk_bytes;
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
    Ok((saved > 2.0 * least).then_some(chunk.chunk_bytes))
}

/// Measures places `0..count` in random order, `repetitions` times, and summarizes each.
pub(crate) fn repeat(
    bench: &mut Bench<'_>,
    count: usize,
    repetitions: usize,
    measure: impl FnMut(&mut Bench<'_>, usize) -> Result<f64, Interruption>,
) -> Result<Vec<Point>, Interruption> {
    let mut all = samples(bench, count, repetitions, measure)?;
    Ok(all.iter_mut().map(|repetitions| point(repetitions)).collect())
}

/// Measures places `0..count` in random order, `repetitions` times.
pub(crate) fn samples(
    bench: &mut Bench<'_>,
    count: usize,
    repetitions: usize,
    mut measure: impl FnMut(&mut Bench<'_>, usize) -> Result<f64, Interruption>,
) -> Result<Vec<Vec<f64>>, Interruption> {
    let mut all = vec![Vec::with_capacity(repetitions); count];
    let mut order: Vec<usize> = (0..count).collect();
    for _ in 0..repetitions {
        // A random order spreads slow drifts of the drive or the machine evenly over the places.
        bench.random().shuffle(&mut order);
        for &k in &order {
            all[k].push(measure(bench, k)?);
        }
    }
    Ok(all)
}
