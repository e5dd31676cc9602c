//! The reclaim unit: the erase block, or set of blocks, that a die erases at once when no free block is left.
//!
//! A drive that is repeatedly overwritten in order has no valid pages to move: when a die has filled a block it only
//! has to erase another, and unless that is hidden between writes, one write waits for it. So every n-th write to a die
//! is slow, and n pages are an erase block (of all planes that are opened together). Dies need not be in step: each is
//! analyzed separately, with its writes selected by the stripe found before. The experiment writes the whole drive, so
//! it runs only at full effort. Where single writes show nothing, many at once may (`reclaim_turns`).

use crate::bench::Bench;
use crate::error::Interruption;
use crate::reclaim_turns;
use flashlane_base::units::format_bytes;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

/// Distribution of consecutive pages over dies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageStripe {
    pub(crate) page_bytes: u64,
    /// Pages until the same die recurs.
    pub(crate) stripe_pages: u64,
    /// Consecutive pages on one die.
    pub(crate) chunk_pages: u64,
}

/// Request size of the overwrites.
const FILL_BYTES: u64 = 64 * 1024;
/// Number of overwrites: spare blocks are used first.
const ROUNDS: u64 = 2;
/// Initial and maximum number of single pages written to each die.
const FIRST_PAGES: u64 = 512;
const PAGES_MAX: u64 = 16384;
const WRITES_MAX: u64 = 4 << 20;
/// A slow write takes at least this multiple of the median.
const SLOW: f64 = 1.4;
/// Share of dies that must show the same period.
const AGREE: f64 = 0.9;
/// Maximum number of slow writes per period, where planes of a die are out of step.
const IN_PERIOD_MAX: usize = 8;

/// Overwrites the drive and looks for the period of each die's slow writes. `is_by_address` is whether places are known to
/// follow from addresses.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    stripe: PageStripe,
    is_by_address: bool,
) -> Result<(Finding, Figure), Interruption> {
    let capacity = bench.device().profile().capacity_bytes;
    let depth = bench.depth();
    for _ in 0..ROUNDS {
        let requests = capacity / FILL_BYTES;
        bench.stream((0..requests).map(|i| Access::write(i * FILL_BYTES, FILL_BYTES)), depth)?;
    }
    bench.flush_and_pause()?;
    let PageStripe { page_bytes, stripe_pages, .. } = stripe;
    let turns = capacity / (page_bytes * stripe_pages);
    let most = (PAGES_MAX * stripe_pages).min(capacity / page_bytes).min(WRITES_MAX);
    let mut latencies: Vec<f64> = Vec::new();
    let mut wanted = (FIRST_PAGES * stripe_pages).min(most);
    loop {
        for page in latencies.len() as u64..wanted {
            latencies.push(bench.durable_write(page * page_bytes, page_bytes)?.as_us_f64());
        }
        if let Some((pages, dies, agreeing)) = common_period(&latencies, stripe) {
            let evidence = format!(
                "written from end to end over and over, {agreeing} of {dies} dies pause every {pages} pages of {}",
                format_bytes(page_bytes)
            );
            let confidence = (90.0 * agreeing as f64 / dies as f64).round() / 100.0;
            return Ok((
                Finding::found(pages * page_bytes, confidence, evidence),
                figure(&latencies, stripe),
            ));
        }
        if wanted == most {
            let why = "the drive has less room than one turn of its dies";
            let finding = match turns {
                0 => Finding::not_determined(why),
                _ => reclaim_turns::find(bench, stripe, turns, is_by_address)?,
            };
            return Ok((finding, figure(&latencies, stripe)));
        }
        wanted = (wanted * 4).min(most);
    }
}

/// Returns the period in pages that nearly all dies share, the number of dies, and the number of those that agree.
fn common_period(latencies: &[f64], stripe: PageStripe) -> Option<(u64, usize, usize)> {
    let dies = (stripe.stripe_pages / stripe.chunk_pages) as usize;
    let periods: Vec<Option<usize>> = (0..dies).map(|die| period(&of_die(latencies, stripe, die))).collect();
    let mut found: Vec<usize> = periods.iter().flatten().copied().collect();
    found.sort_unstable();
    let middle = *found.get(found.len() / 2)?;
    let agreeing = found.iter().filter(|&&period| period == middle).count();
    let is_one_unit = !may_be_several_units(middle, stripe.chunk_pages as usize);
    (is_one_unit && agreeing as f64 >= AGREE * dies as f64).then_some((middle as u64, dies, agreeing))
}

/// Returns whether a period may be several reclaim units: one that ends with a chunk erases before the die's next chunk, unseen,
/// so that where chunks do not divide the unit, the pauses recur after the least common multiple of both. All others are seen, so
/// that there are at most one more than the slow writes of a period. No unit is less than a chunk.
fn may_be_several_units(period: usize, chunk_pages: usize) -> bool {
    (2..=IN_PERIOD_MAX + 1).filter(|&units| period.is_multiple_of(units)).any(|units| {
        let unit = period / units;
        let first_at_an_end = (1..=units).find(|nth| (nth * unit).is_multiple_of(chunk_pages));
        unit >= chunk_pages && first_at_an_end == Some(units)
    })
}

/// Returns the latencies of the writes to one die, in order.
fn of_die(latencies: &[f64], stripe: PageStripe, die: usize) -> Vec<f64> {
    let (stripe, chunk) = (stripe.stripe_pages as usize, stripe.chunk_pages as usize);
    latencies.chunks(stripe).flat_map(|row| row.iter().skip(die * chunk).take(chunk)).copied().collect()
}

/// Returns the period of a die's slow writes, exact over at least three periods.
fn period(latencies: &[f64]) -> Option<usize> {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (period, _) = exact_period(latencies, SLOW * sorted.get(sorted.len() / 2)?, IN_PERIOD_MAX)?;
    Some(period)
}

/// Returns the period of latencies above `slow`, with at most `most` of them in each, and their number in a period, exact over
/// at least three periods.
pub(crate) fn exact_period(latencies: &[f64], slow: f64, most: usize) -> Option<(usize, usize)> {
    let places: Vec<usize> = (0..latencies.len()).filter(|&i| latencies[i] > slow).collect();
    let gaps: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let repeats =
        |group: &usize| gaps.len() >= 3 * group && gaps.iter().zip(&gaps[*group..]).all(|(a, b)| a == b);
    let group = (1..=most).find(repeats)?;
    let period = gaps[..group].iter().sum();
    // A shorter period is not a block.
    (period >= 8).then_some((period, group))
}

fn figure(latencies: &[f64], stripe: PageStripe) -> Figure {
    let points = of_die(latencies, stripe, 0);
    Figure {
        id: "reclaim".into(),
        title: "Writes to one die of a drive written full".into(),
        x: Axis::linear("page", ""),
        y: Axis::linear("latency", "us"),
        series: vec![Series {
            name: "durable writes".into(),
            points: points.iter().take(2048).enumerate().map(|(i, l)| (i as f64, *l)).collect(),
            ..Series::default()
        }],
        caption: "Where a block is full, the next write waits until another is erased.".into(),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPE: PageStripe = PageStripe { page_bytes: 4096, stripe_pages: 12, chunk_pages: 2 };

    /// Six dies in chunks of two pages; each erases when it has written 64 pages, out of step with the others.
    fn latencies(pages: usize, missing: usize) -> Vec<f64> {
        (0..pages)
            .map(|page| {
                let (die, turn) = (page % 12 / 2, page / 12 * 2 + page % 2);
                let erases = turn % 64 == 7 * die && page != missing;
                300.0 + (page % 5) as f64 + if erases { 1500.0 } else { 0.0 }
            })
            .collect()
    }

    #[test]
    fn dies_out_of_step_show_their_block() {
        assert_eq!(common_period(&latencies(12 * 200, usize::MAX), STRIPE), Some((64, 6, 6)));
    }

    #[test]
    fn chunks_that_do_not_divide_the_unit_hide_pauses() {
        // Seen on drives with units of 128, 16, 128 and 16 pages in chunks of 3, 5, 7 and 3.
        for (period, chunk_pages) in [(384, 3), (80, 5), (896, 7), (48, 3)] {
            assert!(may_be_several_units(period, chunk_pages), "{period} {chunk_pages}");
        }
        for (period, chunk_pages) in [(128, 4), (128, 3), (64, 1), (928, 232), (138, 138)] {
            assert!(!may_be_several_units(period, chunk_pages), "{period} {chunk_pages}");
        }
    }

    #[test]
    fn period_with_an_exception_is_rejected() {
        let pause = (0..2400).find(|&page| latencies(2400, usize::MAX)[page] > 1000.0 && page > 800).unwrap();
        assert_eq!(common_period(&latencies(2400, pause), STRIPE), None);
        assert_eq!(common_period(&vec![300.0; 2400], STRIPE), None);
    }
}
