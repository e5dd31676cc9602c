//! The mapping policy: a page's place follows from its address, or from the order of writes.
//!
//! As chen11 (section 4.4): a part of the area is overwritten once, page by page, in random order. Then pairs of pages
//! whose *addresses* are a whole number of stripes apart are read, and pairs whose *turns* in the order of writing are.
//! The kind that still collides on a die names the policy; where both or neither collide, it is not determined.
//! Requires: the area was written once, in order, before [`overwrite`].
//!
//! *Neighbours*, beyond the paper: one read across two pages of a chunk takes two array times, and one across two
//! chunks a single one. Chunks that were seen follow from the address or from the order of writes. So where neighbours
//! in a chunk still share a die after the overwrite, it is the address, and where they do no more than others, it is
//! the order. This needs no period, and no second request in flight.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::boundary_test::BoundaryTest;
use crate::error::EarlyEnd;
use crate::pattern::Point;
use crate::repetitions::{repeat, samples};
use crate::stripe;
use flashlane_workload::Access;
use std::ops::Range;

/// Shares of the step of a shared die that count as a collision, and as none. A share far outside of 0 to 1 is no
/// share.
const COLLIDES: Range<f64> = 0.7..1.3;
const DOES_NOT: Range<f64> = -0.3..0.3;
/// The step of a shared die is a measure where it is this number of standard errors above zero.
const STANDARD_ERRORS: f64 = 6.0;

/// Mean times of the four kinds of pairs, in microseconds.
///
/// Means, not medians, include the pairs that share a die by chance, which are half of them on a drive with two dies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collisions {
    /// Addresses a whole number of stripes apart.
    pub by_address: f64,
    /// Addresses apart by a distance at which they share nothing.
    pub by_address_apart: f64,
    /// Turns a whole number of stripes apart.
    pub by_turn: f64,
    /// Turns apart by such a distance.
    pub by_turn_apart: f64,
}

/// A mapping policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A page's place follows from its address.
    Lba,
    /// A page's place follows from the order of writes.
    WriteOrder,
}

impl Policy {
    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lba => "lba",
            Self::WriteOrder => "write-order",
        }
    }
}

/// An area that was overwritten in random order.
pub struct Overwritten {
    /// Page addresses in the order of writes.
    pub turns: Vec<u64>,
    /// Page size.
    pub page_bytes: u64,
}

/// Measures how much longer two single sectors take on one die than on two, in microseconds. The area MUST be in order.
/// `period` and `apart` are distances in chunks: at the first pairs share a die, at the second they share nothing.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub(crate) fn die_step(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    (period, apart): (usize, usize),
    repetitions: usize,
) -> Result<Point, EarlyEnd> {
    let sector = bench.sector_bytes();
    let points = repeat(bench, 2, repetitions, |bench, i| {
        let distance = if i == 0 { period } else { apart };
        stripe::pair(bench, area, chunk, distance, [sector; 2])
    })?;
    Ok(Point { value: points[0].value - points[1].value, error: points[0].error.hypot(points[1].error) })
}

/// Overwrites an area once, page by page, in random order.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub fn overwrite(bench: &mut Bench<'_>, area: Area, page_bytes: u64) -> Result<Overwritten, EarlyEnd> {
    let mut turns: Vec<u64> =
        (0..area.length_bytes / page_bytes).map(|i| area.offset_bytes + i * page_bytes).collect();
    bench.random().shuffle(&mut turns);
    // Each is on flash before the next: a buffer might write them in another order.
    for &at in &turns {
        bench.durable_write(at, page_bytes)?;
    }
    bench.flush_and_pause()?;
    Ok(Overwritten { turns, page_bytes })
}

/// Measures the four kinds of pairs; pages share a die at a distance of `stripe_pages`, and nothing at the shorter
/// distance of `apart_pages`.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub fn collisions(
    bench: &mut Bench<'_>,
    area: Area,
    written: &Overwritten,
    (stripe_pages, apart_pages): (u64, u64),
    repetitions: usize,
) -> Result<Collisions, EarlyEnd> {
    let page = written.page_bytes;
    let sector = bench.sector_bytes();
    let pages = written.turns.len() as u64;
    let stripes = (pages / stripe_pages).saturating_sub(2).clamp(1, 8);
    let kinds = samples(bench, 4, repetitions, |bench, kind| {
        let whole = stripe_pages * (1 + bench.random().below(stripes));
        let distance = if kind % 2 == 0 { whole } else { whole - stripe_pages + apart_pages };
        let first = bench.random().below(pages - distance);
        let at = |index: u64| match kind {
            0 | 1 => area.offset_bytes + index * page,
            _ => written.turns[index as usize],
        };
        let reads = [Access::read(at(first + distance), sector), Access::read(at(first), sector)];
        bench.burst(&reads).map(|time| time.as_us_f64())
    })?;
    let mean = |kind: usize| trimmed_mean(&kinds[kind]);
    Ok(Collisions {
        by_address: mean(0),
        by_address_apart: mean(1),
        by_turn: mean(2),
        by_turn_apart: mean(3),
    })
}

impl Collisions {
    /// Returns the steps by address and by turn, as shares of `step_us`, the step of a shared die.
    pub fn shares(&self, step_us: f64) -> (f64, f64) {
        ((self.by_address - self.by_address_apart) / step_us, (self.by_turn - self.by_turn_apart) / step_us)
    }

    /// Returns the policy that the steps show as shares of `step`, that of a shared die, if any. A step within its
    /// error measures nothing.
    pub fn policy(&self, step: Point) -> Option<Policy> {
        if step.value <= STANDARD_ERRORS * step.error {
            return None;
        }
        let (address, turn) = self.shares(step.value);
        match (address, turn) {
            _ if COLLIDES.contains(&address) && DOES_NOT.contains(&turn) => Some(Policy::Lba),
            _ if COLLIDES.contains(&turn) && DOES_NOT.contains(&address) => Some(Policy::WriteOrder),
            _ => None,
        }
    }
}

/// Mean times of reads across two pages of a chunk, and across two chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Neighbours {
    /// Across two pages of a chunk.
    pub(crate) inside: Point,
    /// Across two chunks.
    pub(crate) across: Point,
}

impl Neighbours {
    /// Measures both kinds of reads. A chunk MUST have more than one page.
    pub(crate) fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        chunk: &Chunk,
        page_bytes: u64,
        repetitions: usize,
    ) -> Result<Self, EarlyEnd> {
        let test = BoundaryTest::Single { page_bytes };
        let inside_places = chunk.size_bytes / page_bytes - 1;
        let kinds = samples(bench, 2, repetitions, |bench, kind| {
            let start = area.chunk_place(bench, chunk, 2 * chunk.size_bytes) + chunk.size_bytes;
            let page = if kind == 0 { 1 + bench.random().below(inside_places) } else { 0 };
            test.measure(bench, start + page * page_bytes)
        })?;
        let [inside, across] = [0, 1].map(|kind| mean(&kinds[kind]));
        Ok(Self { inside, across })
    }

    /// Returns the step of a shared die in microseconds.
    pub(crate) fn step(self) -> Point {
        Point {
            value: self.inside.value - self.across.value,
            error: self.inside.error.hypot(self.across.error),
        }
    }

    /// Returns the step as a share of that of `before`, which was measured before the overwrite.
    pub(crate) fn share(self, before: Self) -> f64 {
        self.step().value / before.step().value
    }

    /// Returns the policy that these times, measured after the overwrite, show against those `before`, if any.
    pub(crate) fn policy(self, before: Self) -> Option<Policy> {
        let (step, share) = (before.step(), self.share(before));
        // Pages that a cache answers for are faster than any on flash.
        let is_from_flash = self.inside.value.min(self.across.value) > before.across.value - 0.3 * step.value;
        let is_exact = step.value > STANDARD_ERRORS * step.error.max(self.step().error);
        match share {
            _ if !is_exact || !is_from_flash => None,
            _ if COLLIDES.contains(&share) => Some(Policy::Lba),
            _ if DOES_NOT.contains(&share) => Some(Policy::WriteOrder),
            _ => None,
        }
    }
}

/// Returns the trimmed mean of times and its standard error.
fn mean(times: &[f64]) -> Point {
    let value = trimmed_mean(times);
    let n = times.len() as f64;
    let squares = times.iter().map(|time| (time - value).powi(2)).sum::<f64>();
    Point { value, error: squares.sqrt() / n }
}

/// Mean of all but the largest 2%, which may be due to interrupts and other load on the machine.
fn trimmed_mean(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.truncate(times.len() - times.len() / 50);
    sorted.iter().sum::<f64>() / sorted.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collisions(by_address: f64, by_turn: f64) -> Collisions {
        Collisions { by_address, by_address_apart: 100.0, by_turn, by_turn_apart: 100.0 }
    }

    fn step(value: f64) -> Point {
        Point { value, error: 0.01 * value }
    }

    #[test]
    fn steps_of_a_die_name_the_policy() {
        assert_eq!(collisions(150.0, 101.0).policy(step(50.0)), Some(Policy::Lba));
        assert_eq!(collisions(99.0, 148.0).policy(step(50.0)), Some(Policy::WriteOrder));
        assert_eq!(collisions(150.0, 150.0).policy(step(50.0)), None);
    }

    #[test]
    fn shares_of_a_vanishing_step_are_no_evidence() {
        assert_eq!(collisions(150.0, 100.0).policy(step(0.4)), None);
        assert_eq!(collisions(100.0, 90.0).policy(step(0.001)), None);
        assert_eq!(collisions(150.0, 70.0).policy(step(50.0)), None);
    }

    #[test]
    fn step_within_its_error_names_no_policy() {
        let shown = collisions(102.0, 100.1);
        assert_eq!(shown.policy(Point { value: 2.0, error: 0.3 }), Some(Policy::Lba));
        assert_eq!(shown.policy(Point { value: 2.0, error: 0.4 }), None);
    }

    #[test]
    fn neighbours_name_the_policy_unless_a_cache_answers() {
        let times = |inside: f64, across: f64| {
            let point = |value| Point { value, error: 0.5 };
            Neighbours { inside: point(inside), across: point(across) }
        };
        let before = times(140.0, 100.0);
        assert_eq!(times(141.0, 101.0).policy(before), Some(Policy::Lba));
        assert_eq!(times(106.0, 105.0).policy(before), Some(Policy::WriteOrder));
        assert_eq!(times(120.0, 100.0).policy(before), None);
        assert_eq!(times(30.0, 30.0).policy(before), None, "read from a cache");
        assert_eq!(times(104.0, 104.0).policy(times(104.0, 100.0)), None, "a step within its error");
    }
}
