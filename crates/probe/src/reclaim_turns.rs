//! The reclaim unit from writes to many dies at once.
//!
//! Single writes leave a die idle until its next page: where there are many dies, an erase ends meanwhile. So dies are kept busy:
//!
//! - Where places follow from addresses, the pages of a few dies are written, one on each at a time. A die that erases is
//!   late, and others do not matter.
//! - Where they follow from the order of writes, whole turns of the stripe are written at once, a part in each request. Where
//!   fewer requests than dies can be in flight, a request has the pauses of several dies, which need not be rare.
//!
//! On a drive that is overwritten in order every die's erases recur after one reclaim unit of its writes, and so does all that
//! they cause. A period is accepted where slow writes recur exactly ([`exact_period`]), or where the latencies themselves do
//! ([`recurrence`]), of most requests and the same of all these. Where some erases are hidden, the rest may recur after
//! several units only: the dies then differ in the number of slow writes in a period, and the period is not accepted.

use crate::bench::Bench;
use crate::error::Interruption;
use crate::reclaim::{PageStripe, exact_period};
use flashlane_base::units::format_bytes;
use flashlane_result::probe::Finding;
use flashlane_workload::Access;

/// Dies that are written at once where addresses place pages.
const DIES_MAX: u64 = 16;
/// Number of bursts at first and at most, and bound on the pages of all.
const FIRST_BURSTS: u64 = 256;
const BURSTS_MAX: u64 = 4096;
const PAGES_MAX: u64 = 2 << 20;
/// A slow write exceeds the median by this multiple of the usual deviation, and by this share at least.
const DEVIATIONS: f64 = 6.0;
const EXCESS_MIN: f64 = 0.1;
/// Maximum number of slow writes per period: one for each plane of a die.
const IN_PERIOD_MAX: usize = 4;
/// A period leaves at most this share of the variance, and its parts leave at least the other one.
const LEFT_MAX: f64 = 0.2;
const LEFT_BY_PARTS_MIN: f64 = 0.6;
/// Reclaim units that a period may have, if they end between bursts.
const UNITS_MAX: usize = 32;
/// Share of requests that must show a period, and of these that must show the same.
const SEEN_MIN: f64 = 0.5;
const SAME_MIN: f64 = 0.95;
/// Confidence in a period that several requests show, and one.
const BY_SEVERAL: f64 = 0.9;
const BY_ONE: f64 = 0.75;

/// Bursts of writes to many dies.
struct Bursts {
    stripe: PageStripe,
    /// Whole turns of the stripe in the drive.
    turns: u64,
    /// Requests of a burst, and bytes of each.
    requests: u64,
    request_bytes: u64,
    /// Pages that each die takes in a burst.
    die_pages: u64,
}

impl Bursts {
    fn new(stripe: PageStripe, turns: u64, depth: u64, is_by_address: bool) -> Self {
        let PageStripe { page_bytes, stripe_pages, chunk_pages } = stripe;
        let dies = stripe_pages / chunk_pages;
        if is_by_address {
            let requests = dies.min(depth).min(DIES_MAX);
            return Self { stripe, turns, requests, request_bytes: page_bytes, die_pages: 1 };
        }
        let request_chunks = dies.div_ceil(depth);
        Self {
            stripe,
            turns,
            requests: dies.div_ceil(request_chunks),
            request_bytes: request_chunks * chunk_pages * page_bytes,
            die_pages: chunk_pages,
        }
    }

    /// Returns the writes of the `nth` burst.
    fn writes(&self, nth: u64) -> Vec<Access> {
        let PageStripe { page_bytes, stripe_pages, chunk_pages } = self.stripe;
        let bursts_of_turn = chunk_pages / self.die_pages;
        let start = nth / bursts_of_turn % self.turns * stripe_pages * page_bytes;
        let end = start + stripe_pages * page_bytes;
        // One page of a chunk, or as many whole chunks as a request holds.
        let in_chunk = nth % bursts_of_turn * self.die_pages * page_bytes;
        let distance_bytes = self.request_bytes.max(chunk_pages * page_bytes);
        (0..self.requests)
            .map(|request| start + request * distance_bytes + in_chunk)
            .map(|at| Access::write(at, self.request_bytes.min(end - at)))
            .collect()
    }
}

/// Writes bursts to a drive that was overwritten in order, of which there MUST be a turn, and looks for a period of the time that
/// each request takes. `is_by_address` is whether places are known to follow from addresses.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    stripe: PageStripe,
    turns: u64,
    is_by_address: bool,
) -> Result<Finding, Interruption> {
    let bursts = Bursts::new(stripe, turns, u64::from(bench.depth()), is_by_address);
    let burst_pages = bursts.requests * bursts.request_bytes / stripe.page_bytes;
    let most = (PAGES_MAX / burst_pages).clamp(16, BURSTS_MAX);
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); bursts.requests as usize];
    let mut wanted = FIRST_BURSTS.min(most);
    loop {
        for nth in times[0].len() as u64..wanted {
            let took = bench.durable_burst(&bursts.writes(nth))?;
            times.iter_mut().zip(took).for_each(|(times, took)| times.push(took.as_us_f64()));
        }
        if let Some((period, agreeing)) = common_period(&times, bursts.die_pages) {
            let pages = period as u64 * bursts.die_pages;
            let evidence = format!(
                "written from end to end over and over, with {} requests at once, {agreeing} of them are late with a period of \
                 {pages} pages of {} on each die",
                bursts.requests,
                format_bytes(stripe.page_bytes)
            );
            let confidence = if agreeing > 1 { BY_SEVERAL } else { BY_ONE };
            return Ok(Finding::found(pages * stripe.page_bytes, confidence, evidence));
        }
        if wanted == most {
            let why = "written from end to end more than once, the dies show no steady rhythm of pauses, neither page by page \
                       nor in turns of many dies";
            return Ok(Finding::not_determined(why));
        }
        wanted = (wanted * 4).min(most);
    }
}

/// Returns the period in bursts that the requests share, and the number of those that show it. Each takes `die_pages` pages of a
/// die.
fn common_period(times: &[Vec<f64>], die_pages: u64) -> Option<(usize, usize)> {
    let period = |times: &Vec<f64>| {
        // Of several pages in a burst, a period that is no multiple of them seems to vary.
        match die_pages {
            1 => exact_period(times, slow(times)?, IN_PERIOD_MAX),
            _ => recurrence(times).map(|period| (period, 0)),
        }
    };
    let mut found: Vec<(usize, usize)> = times.iter().filter_map(period).collect();
    found.sort_unstable();
    let middle = *found.get(found.len() / 2)?;
    let agreeing = found.iter().filter(|&&period| period == middle).count();
    let is_seen = found.len() as f64 >= SEEN_MIN * times.len() as f64
        && agreeing as f64 >= SAME_MIN * found.len() as f64
        && middle.0 as u64 * die_pages >= 8;
    is_seen.then_some((middle.0, agreeing))
}

/// Returns the time from which on a write counts as slow.
fn slow(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = *sorted.get(sorted.len() / 2)?;
    // An eighth of the writes are faster than the median by more than a deviation, and none of them erases.
    let deviation = median - sorted[sorted.len() / 8];
    Some(median + (DEVIATIONS * deviation).max(EXCESS_MIN * median))
}

/// Returns the shortest distance after which the times recur: over three periods at least they differ by a small share of their
/// variance, and those at about a half, a third, … of it differ by much: units that end between bursts recur nearly after one, and
/// quite after several.
fn recurrence(times: &[f64]) -> Option<usize> {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    if variance <= 0.0 {
        return None;
    }
    let left = |distance: usize| {
        let squares: f64 = times.iter().zip(&times[distance..]).map(|(a, b)| (a - b).powi(2)).sum();
        squares / (2.0 * variance * (times.len() - distance) as f64)
    };
    let lefts: Vec<f64> = (1..=times.len() / 4).map(left).collect();
    let period = 1 + lefts.iter().position(|&left| left <= LEFT_MAX)?;
    let is_one = (2..=UNITS_MAX.min(period / 2))
        .flat_map(|units| [period / units, period.div_ceil(units)])
        .all(|part| lefts[part - 1] >= LEFT_BY_PARTS_MIN);
    (period > 1 && is_one).then_some(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPE: PageStripe = PageStripe { page_bytes: 4096, stripe_pages: 12, chunk_pages: 2 };

    /// Bursts in which a request waits for the slowest of three dies; each erases every `unit` bursts, out of step.
    fn times(count: usize, unit: f64) -> Vec<f64> {
        let erases = |burst: usize, die: usize| {
            let blocks = |burst: usize| ((burst as f64 + 7.3 * die as f64) / unit) as u64;
            blocks(burst + 1) > blocks(burst)
        };
        let time = |burst| {
            let pauses = (0..3).filter(|&die| erases(burst, die)).count();
            900.0 + (burst * 7 % 5) as f64 + 500.0 * pauses as f64
        };
        (0..count).map(time).collect()
    }

    #[test]
    fn times_that_recur_show_the_period() {
        assert_eq!(recurrence(&times(400, 24.0)), Some(24));
        assert_eq!(common_period(&[times(400, 24.0), times(400, 24.0)], 4), Some((24, 2)));
    }

    #[test]
    fn dies_with_unlike_numbers_of_pauses_are_rejected() {
        let pauses = |gaps: &[usize]| {
            let mut times = vec![300.0; 512];
            let mut at = 0;
            for gap in gaps.iter().cycle() {
                let Some(time) = times.get_mut(at) else { break };
                *time = 2300.0;
                at += gap;
            }
            times
        };
        assert_eq!(common_period(&[pauses(&[31, 33]), pauses(&[12, 52])], 1), Some((64, 2)));
        // A drive with units of 32 pages, of whose erases some are hidden.
        assert_eq!(common_period(&[pauses(&[17, 5, 42]), pauses(&[11, 53])], 1), None);
    }

    #[test]
    fn period_between_bursts_is_rejected() {
        // Eight units of 8.625 bursts recur after 69, which are not one unit.
        assert_eq!(recurrence(&times(1000, 8.625)), None);
        let noise: Vec<f64> =
            (0..400_u64).map(|nth| (nth.wrapping_mul(2_654_435_761) >> 7 & 255) as f64).collect();
        assert_eq!(recurrence(&noise), None);
        assert_eq!(recurrence(&[900.0; 100]), None);
    }

    #[test]
    fn bursts_write_the_parts_of_a_turn() {
        let by_order = Bursts::new(STRIPE, 3, 4, false);
        let at = |bursts: &Bursts, nth| -> Vec<(u64, u64)> {
            bursts
                .writes(nth)
                .iter()
                .map(|write| (write.offset_bytes / 4096, write.length_bytes / 4096))
                .collect()
        };
        assert_eq!(at(&by_order, 4), [(12, 4), (16, 4), (20, 4)]);
        let by_address = Bursts::new(STRIPE, 3, 4, true);
        assert_eq!(at(&by_address, 3), [(13, 1), (15, 1), (17, 1), (19, 1)]);
        assert_eq!(at(&by_address, 6), at(&by_address, 0));
    }
}
