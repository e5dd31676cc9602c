//! The reclaim unit: what a die empties and erases as one, once every block is in use.
//!
//! A drive that is written from end to end over and over has nothing left to move: when a die has filled a block it
//! only has to erase another, and where that is not hidden between its writes, one of them waits for it. So of the writes to one die
//! every so-many-th is slow, and so many pages are an erase block (of as many planes as are opened together). Dies
//! need not be in step: each is looked at by itself, its writes picked out by the stripe that was found before. The
//! whole drive has to be written for it, so this is looked for only at full effort.

use crate::rig::Rig;
use flashlane_base::units::format_bytes;
use flashlane_measure::Interruption;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

/// How consecutive pages are spread over dies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) page_bytes: u64,
    /// Pages after which the same die comes again.
    pub(crate) stripe_pages: u64,
    /// Pages that stay together on one die.
    pub(crate) chunk_pages: u64,
}

/// Requests with which the drive is written over.
const FILL_BYTES: u64 = 64 * 1024;
/// Times that it is: spare blocks are used up first.
const ROUNDS: u64 = 2;
/// Pages written to each die, one by one, first and at most.
const FIRST_PAGES: u64 = 512;
const MOST_PAGES: u64 = 16384;
const MOST_WRITES: u64 = 4 << 20;
/// A slow write takes at least this many times the usual.
const SLOW: f64 = 1.4;
/// The share of dies that must show the same period.
const AGREE: f64 = 0.9;
/// Slow writes may come in groups of so many a period, where planes of a die are out of step.
const MOST_IN_PERIOD: usize = 8;

/// Writes the drive full and looks for each die's rhythm.
pub(crate) fn find(rig: &mut Rig<'_>, layout: Layout) -> Result<(Finding, Figure), Interruption> {
    let capacity = rig.device().profile().capacity_bytes;
    let depth = rig.depth();
    for _ in 0..ROUNDS {
        let requests = capacity / FILL_BYTES;
        rig.stream((0..requests).map(|i| Access::write(i * FILL_BYTES, FILL_BYTES)), depth)?;
    }
    rig.settle()?;
    let Layout { page_bytes, stripe_pages, .. } = layout;
    let most = (MOST_PAGES * stripe_pages).min(capacity / page_bytes).min(MOST_WRITES);
    let mut latencies: Vec<f64> = Vec::new();
    let mut wanted = (FIRST_PAGES * stripe_pages).min(most);
    loop {
        for page in latencies.len() as u64..wanted {
            latencies.push(rig.durable_write(page * page_bytes, page_bytes)?.as_us_f64());
        }
        if let Some((pages, dies, agreeing)) = common_period(&latencies, layout) {
            let evidence = format!(
                "written from end to end over and over, {agreeing} of {dies} dies pause every {pages} pages of {}",
                format_bytes(page_bytes)
            );
            let confidence = (90.0 * agreeing as f64 / dies as f64).round() / 100.0;
            return Ok((
                Finding::found(pages * page_bytes, confidence, evidence),
                figure(&latencies, layout),
            ));
        }
        if wanted == most {
            let why = "written from end to end more than once, the dies show no steady rhythm of pauses";
            return Ok((Finding::not_determined(why), figure(&latencies, layout)));
        }
        wanted = (wanted * 4).min(most);
    }
}

/// The period in pages that nearly all dies share; with the number of dies, and of those that agree.
fn common_period(latencies: &[f64], layout: Layout) -> Option<(u64, usize, usize)> {
    let dies = (layout.stripe_pages / layout.chunk_pages) as usize;
    let periods: Vec<Option<usize>> = (0..dies).map(|die| period(&of_die(latencies, layout, die))).collect();
    let mut found: Vec<usize> = periods.iter().flatten().copied().collect();
    found.sort_unstable();
    let middle = *found.get(found.len() / 2)?;
    let agreeing = found.iter().filter(|&&period| period == middle).count();
    (agreeing as f64 >= AGREE * dies as f64).then_some((middle as u64, dies, agreeing))
}

/// The latencies of the writes that go to one die, in order.
fn of_die(latencies: &[f64], layout: Layout, die: usize) -> Vec<f64> {
    let (stripe, chunk) = (layout.stripe_pages as usize, layout.chunk_pages as usize);
    latencies.chunks(stripe).flat_map(|row| row.iter().skip(die * chunk).take(chunk)).copied().collect()
}

/// The period of the slow ones among a die's writes, exact over at least three periods.
fn period(latencies: &[f64]) -> Option<usize> {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let slow = SLOW * sorted.get(sorted.len() / 2)?;
    let places: Vec<usize> = (0..latencies.len()).filter(|&i| latencies[i] > slow).collect();
    let gaps: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let repeats =
        |group: &usize| gaps.len() >= 3 * group && gaps.iter().zip(&gaps[*group..]).all(|(a, b)| a == b);
    let group = (1..=MOST_IN_PERIOD).find(repeats)?;
    let period = gaps[..group].iter().sum();
    // A pause at every other write is no block.
    (period >= 8).then_some(period)
}

fn figure(latencies: &[f64], layout: Layout) -> Figure {
    let points = of_die(latencies, layout, 0);
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

    const LAYOUT: Layout = Layout { page_bytes: 4096, stripe_pages: 12, chunk_pages: 2 };

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
    fn dies_out_of_step_show_their_block_all_the_same() {
        assert_eq!(common_period(&latencies(12 * 200, usize::MAX), LAYOUT), Some((64, 6, 6)));
    }

    #[test]
    fn a_rhythm_with_an_exception_is_none() {
        let pause = (0..2400).find(|&page| latencies(2400, usize::MAX)[page] > 1000.0 && page > 800).unwrap();
        assert_eq!(common_period(&latencies(2400, pause), LAYOUT), None);
        assert_eq!(common_period(&vec![300.0; 2400], LAYOUT), None);
    }
}
