//! Interleaving degree and sub-domains: the distances in chunks at which two simultaneous reads collide.
//!
//! Two pages a whole stripe apart share a channel: their transfers queue for its bus. At certain multiples of the
//! stripe they share a package and die too: the array reads queue as well. So the time of a pair of simultaneous reads,
//! against their distance in chunks, shows the degree as the period of its steps and the sub-domains as the period of
//! the higher steps (chen11, section 4.3, with pairs instead of two jobs). Requires: the area was written once, in
//! order.
//!
//! *Power.* Where the link is slower than a channel's bus, the wait for the link hides the wait for the bus, and only
//! dies are seen. The costs of bus, link and command follow from single reads and from pairs that share a die or
//! nothing; they predict the step of a shared bus. A small read before a large one shows the step even on a slow link:
//! the small one leaves the link before the large one leaves the bus, so its time on the bus is not hidden. The sizes
//! are chosen for this; where the step would still be too small to be seen, a single level does not count as the
//! degree.
//!
//! *Cross-check.* Reads of a single sector hardly use the bus, so they show a shared bus as the smallest step and a
//! shared die as the clearest. A first level whose step does not shrink with the size is not a bus (planes of one die
//! look like this), and dies that larger reads hide behind their transfers (cache mode) become visible.
//!
//! A resource that all requests share, such as the only channel of a drive, cannot be distinguished from the link: the
//! domains of such a drive are its packages.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::pattern::{self, Point};
use crate::repetitions::repeat;
use flashlane_workload::Access;

/// Collisions by distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Stripe {
    /// Pair times by distance: element i is a distance of i + 1 chunks.
    pub row: Vec<Point>,
    /// Sizes of the two reads.
    pub read_bytes: Sizes,
    /// The shortest distance that collides, in chunks.
    pub first_level: Option<Level>,
    /// The shortest distance that collides more, where there are two levels.
    pub second_level: Option<Level>,
    /// The predicted step of a shared bus, in microseconds, and the least visible step.
    pub bus_step_us: Option<(f64, f64)>,
    /// The weaker verdict where the cross-check failed.
    lowered: Option<Verdict>,
}

/// Tolerances: a step shrinks in proportion to the read size, like a bus's, where it is below this multiple of the
/// proportion; and a step is more than a bus's from this multiple of the predicted bus step.
const LIKE_A_BUS: f64 = 1.3;
const MORE_THAN_A_BUS: f64 = 1.3;
/// Most difference of collisions beyond, as a share of the nearer ones.
const BEYOND: f64 = 0.25;
/// Least standard errors of the step of nearer ones.
const STEP_STANDARD_ERRORS: f64 = 8.0;
/// Clarity from which more repetitions would not change a level.
const NO_DOUBT: f64 = 0.5;
/// Two array times have a wider spread than one, but by less than this factor.
const WIDER: f64 = 2.5;

/// Collisions of one kind differ by this share of their step at most, beside what noise explains.
const OF_STEP: f64 = 0.1;

/// Pairs between the collisions that share no channel differ by less than this share of the step of a bus, or by less
/// than this number of errors of one distance: the least and the most of up to 400.
const OF_BUS_STEP: f64 = 0.5;
const ERRORS_BETWEEN: f64 = 8.0;

/// Bytes of the two reads of a pair, in order of submission.
pub type Sizes = [u64; 2];

/// A level of collisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Chunks between one collision and the next.
    pub period: usize,
    /// Mean height of the step in microseconds.
    pub step_us: f64,
    /// Clarity of the step, 0 to 1.
    pub clarity: f64,
}

/// The conclusion on the degree and the sub-domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both are seen.
    Both {
        /// Number of domains.
        degree: usize,
        /// Number of sub-domains per domain.
        sub_domains: usize,
    },
    /// The degree is seen; the sub-domains are not clear.
    Degree(usize),
    /// Dies are seen at this period, but a shared bus would not be visible.
    DiesOnly(usize),
    /// No collision recurs.
    Nothing,
}

impl Stripe {
    /// Returns the conclusion from the levels.
    pub fn verdict(&self) -> Verdict {
        if let Some(verdict) = self.lowered {
            return verdict;
        }
        match (self.first_level, self.second_level, self.bus_step_us) {
            (None, ..) => Verdict::Nothing,
            (Some(first), Some(second), _) => {
                Verdict::Both { degree: first.period, sub_domains: second.period / first.period }
            }
            // A bus whose step would not be seen, or that could not be predicted: the level may be the dies.
            (Some(first), None, bus) if bus.is_none_or(|(step, least)| step <= least) => {
                Verdict::DiesOnly(first.period)
            }
            // Channels of several dies are at distances between, in some orders of the stripe.
            (Some(first), None, Some((step, _))) if !self.is_alike_between(first, step) => {
                Verdict::DiesOnly(first.period)
            }
            (Some(first), None, _) if self.is_single(first) => {
                Verdict::Both { degree: first.period, sub_domains: 1 }
            }
            (Some(first), None, _) => Verdict::Degree(first.period),
        }
    }

    /// Returns whether more repetitions would show the same: both levels are seen, each far above the noise, and a bus
    /// of the predicted step would be seen as well.
    pub(crate) fn leaves_no_doubt(&self) -> bool {
        let is_clear = |level: Option<Level>| level.is_some_and(|level| level.clarity >= NO_DOUBT);
        let is_bus_visible = self.bus_step_us.is_some_and(|(step, least)| step > least);
        matches!(self.verdict(), Verdict::Both { .. })
            && is_clear(self.first_level)
            && is_clear(self.second_level)
            && is_bus_visible
    }

    /// Returns whether more repetitions might show more. Where a bus could not be told from a die, they do not.
    pub(crate) fn may_become_clearer(&self) -> bool {
        !matches!(self.verdict(), Verdict::DiesOnly(_)) || self.bus_step_us.is_some()
    }

    /// Returns the shortest distance, in chunks, at which pairs certainly share a die: the second level, or a single
    /// one; where collisions differ in another way, the shortest distance whose multiples all have nearly the highest
    /// step.
    pub fn die_period(&self) -> Option<usize> {
        let first = self.first_level?;
        if let Some(second) = self.second_level {
            return Some(second.period);
        }
        if self.is_single(first) {
            return Some(first.period);
        }
        let floor = self.row.iter().map(|p| p.value).fold(f64::INFINITY, f64::min);
        let highest = self.multiples(first.period).iter().map(|p| p.value).fold(floor, f64::max);
        let strong = |distance: usize| {
            self.multiples(distance).iter().all(|p| p.value - floor > 0.8 * (highest - floor))
        };
        (first.period..=self.row.len() / 3).step_by(first.period).find(|&distance| strong(distance))
    }

    /// Returns a distance, in chunks, at which no pair shares a die; `None` where every pair does.
    pub fn apart(&self) -> Option<usize> {
        self.die_period().filter(|&period| period > 1).map(|period| period - 1)
    }

    /// Cross-checks the levels with reads of single sectors; `dies_alone` is the period at which dies were seen before
    /// a bus was.
    fn checked(mut self, small: &Self, costs: &Costs, dies_alone: Option<usize>) -> Self {
        let Some(first) = self.first_level else { return self };
        let Some(second) = self.second_level else {
            match (small.first_level, small.second_level) {
                (Some(dies), _) if dies.period > first.period && dies.period.is_multiple_of(first.period) => {
                    self.second_level = Some(dies);
                }
                (Some(both), Some(dies)) if both.period == first.period => self.second_level = Some(dies),
                (Some(dies), None) if dies.period == first.period && small.is_certainly_dies(dies, costs) => {
                }
                _ => self.lowered = Some(Verdict::Degree(first.period)),
            }
            return self;
        };
        if !small.is_alike_beside(first, second) {
            self.lowered = Some(Verdict::Degree(first.period));
            return self;
        }
        // A level that shows only beside the level of the dies is a bus.
        if dies_alone.is_none_or(|period| period == first.period) {
            let shrinks_to = small.read_bytes[1] as f64 / self.read_bytes[1] as f64;
            let (large, small) = (self.lesser_step_us(first, second), small.lesser_step_us(first, second));
            if small > LIKE_A_BUS * shrinks_to * large + 4.0 * costs.error {
                self.lowered = Some(Verdict::DiesOnly(first.period));
            }
        }
        self
    }

    /// Returns whether the step of a single level is higher than a shared bus would cause.
    fn is_certainly_dies(&self, level: Level, costs: &Costs) -> bool {
        let bus = costs.bus_step(self.read_bytes);
        self.is_single(level) && level.step_us > MORE_THAN_A_BUS * bus + 4.0 * costs.error
    }

    /// Returns whether pairs on the first level only spread no wider than those on the second, where all share a die.
    /// Pairs of which some share a die, at some places, spread by its array time: then the second level counts the
    /// planes of a die as dies.
    fn is_alike_beside(&self, first: Level, second: Level) -> bool {
        let spread = |is_second: bool| {
            let multiples = (1..).zip(&self.row).filter(|(d, _)| d % first.period == 0);
            let kept = multiples.filter(|(d, _)| (d % second.period == 0) == is_second);
            pattern::typical_error(&kept.map(|(_, point)| *point).collect::<Vec<_>>())
        };
        spread(false) <= WIDER * spread(true) + 0.01 * second.step_us
    }

    /// Returns the step of places on the first level only.
    fn lesser_step_us(&self, first: Level, second: Level) -> f64 {
        let mean = |belongs: &dyn Fn(usize) -> bool| {
            let values: Vec<f64> =
                (1..).zip(&self.row).filter(|(d, _)| belongs(*d)).map(|(_, p)| p.value).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        mean(&|d| d.is_multiple_of(first.period) && !d.is_multiple_of(second.period))
            - mean(&|d| !d.is_multiple_of(first.period))
    }

    /// Returns whether all collisions are of one kind: within the noise no step is higher than another, and their
    /// spread is not wider than that of pairs without collision. It is wider for pairs that share a die only at some
    /// places.
    fn is_single(&self, level: Level) -> bool {
        let steps: Vec<Point> = self.multiples(level.period);
        let others: Vec<Point> =
            (1..).zip(&self.row).filter(|(d, _)| d % level.period != 0).map(|(_, p)| *p).collect();
        let (spread, usual) = (pattern::typical_error(&steps), pattern::typical_error(&others));
        // Where pairs of a distance are of two kinds, its error says nothing.
        let mut values: Vec<f64> = steps.iter().map(|point| point.value).collect();
        values.sort_unstable_by(f64::total_cmp);
        let middle = values[values.len() / 2];
        let differs = pattern::least_height(middle, WIDER * usual) + OF_STEP * level.step_us;
        pattern::standout(&steps).is_none()
            && spread <= WIDER * usual + 0.01 * level.step_us
            && values.iter().all(|value| (value - middle).abs() <= differs)
    }

    /// Returns whether pairs between the multiples of a single level differ by less than a shared bus of this step
    /// would let them, at some distance or other: in any order of the stripe all pairs of some distance share a channel
    /// with several dies, and no pairs of another distance do.
    fn is_alike_between(&self, level: Level, bus_step_us: f64) -> bool {
        let between = (1..).zip(&self.row).filter(|(d, _)| d % level.period != 0).map(|(_, p)| p.value);
        let mut values: Vec<f64> = between.collect();
        values.sort_unstable_by(f64::total_cmp);
        let Some((least, most)) = values.first().zip(values.last()) else { return true };
        let noise_us = ERRORS_BETWEEN * pattern::typical_error(&self.row);
        most - least < (OF_BUS_STEP * bus_step_us).max(noise_us)
    }

    fn multiples(&self, period: usize) -> Vec<Point> {
        self.row.iter().skip(period - 1).step_by(period).copied().collect()
    }
}

/// Measures pairs at distances of 1 to `reach` chunks, reading up to `page` bytes of each chunk.
///
/// # Errors
/// [`EarlyEnd`] where the device fails.
pub fn measure(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    page: u64,
    reach: usize,
    repetitions: usize,
) -> Result<Stripe, EarlyEnd> {
    let stripe = measure_with(bench, area, chunk, [page, page], reach, repetitions)?;
    let Some(costs) = Costs::measure(bench, area, chunk, &stripe, repetitions)? else { return Ok(stripe) };
    let equal =
        Stripe { bus_step_us: Some((costs.bus_step(stripe.read_bytes), stripe.least_us(&costs))), ..stripe };
    let (stripe, dies_alone) = match equal.verdict() {
        Verdict::DiesOnly(period) => {
            let unequal = costs.best_sizes(bench.sector_bytes(), page);
            let stripe = measure_with(bench, area, chunk, unequal, reach, 2 * repetitions)?;
            // Of two reads that reach the bus together, each is first half of the time: half of the step is seen.
            let step = costs.bus_step(unequal) / 2.0;
            let unequal = Stripe { bus_step_us: Some((step, stripe.least_us(&costs))), ..stripe };
            // A bus is shared wherever a die is.
            let divides = unequal.first_level.is_some_and(|first| period.is_multiple_of(first.period));
            (if divides { unequal } else { equal }, Some(period))
        }
        Verdict::Both { .. } => (equal, None),
        _ => return Ok(equal),
    };
    if !matches!(stripe.verdict(), Verdict::Both { .. }) {
        return Ok(stripe);
    }
    let sector = [bench.sector_bytes(); 2];
    let small = measure_with(bench, area, chunk, sector, reach, repetitions)?;
    Ok(stripe.checked(&small, &costs, dies_alone))
}

fn measure_with(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    read_bytes: Sizes,
    reach: usize,
    repetitions: usize,
) -> Result<Stripe, EarlyEnd> {
    let row = repeat(bench, reach, repetitions, |bench, i| pair(bench, area, chunk, i + 1, read_bytes))?;
    let mut stripe =
        Stripe { row, read_bytes, first_level: None, second_level: None, bus_step_us: None, lowered: None };
    stripe.first_level = level(&stripe.row);
    if let Some(first) = stripe.first_level {
        stripe.second_level = level(&stripe.multiples(first.period))
            .map(|second| Level { period: second.period * first.period, ..second })
            .filter(|second| second.period > first.period);
    }
    Ok(stripe)
}

/// Returns the period of the distances that stand out, which must begin with the first whole period.
fn level(row: &[Point]) -> Option<Level> {
    let standout = pattern::standout(row)?;
    let (phase, period) = pattern::period(&standout.places, row.len())?;
    (phase + 1 == period).then_some(Level { period, step_us: standout.height, clarity: standout.clarity })
}

/// Returns whether chunks more than a `turn` apart share a die at every multiple of `period`, as nearer ones do, seen
/// by reads of one of the sizes. Dies that the stripe reaches only after all planes of those before are a turn of
/// planes away.
pub(crate) fn collides_beyond(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    (period, turn): (usize, usize),
    sizes: [Sizes; 2],
    repetitions: usize,
) -> Result<bool, EarlyEnd> {
    let far = (area.chunks(chunk) as usize - 1 - turn) / period;
    assert!(far > 0, "no two chunks are a turn of {turn} apart");
    // A period of one chunk is that of a single die.
    let apart = if period > 1 { period - 1 } else { return Ok(true) };
    for read_bytes in sizes {
        let points = repeat(bench, 3, repetitions, |bench, kind| {
            let distance = match kind {
                0 => apart,
                1 => period,
                _ => turn + period * (1 + bench.random().below(far as u64) as usize),
            };
            pair(bench, area, chunk, distance, read_bytes)
        })?;
        let step = points[1].value - points[0].value;
        if step > STEP_STANDARD_ERRORS * points[1].error.hypot(points[0].error) {
            let share = (points[2].value - points[0].value) / step;
            return Ok((share - 1.0).abs() < BEYOND);
        }
    }
    Ok(false)
}

/// Measures the time of two simultaneous reads `distance` chunks apart, at a random place, in microseconds.
pub(crate) fn pair(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    distance: usize,
    read_bytes: Sizes,
) -> Result<f64, EarlyEnd> {
    let near = bench.random().below(area.chunks(chunk) - distance as u64);
    let at = |index: u64| area.chunk_start(chunk, index);
    // The farther one first: in ascending order neighbours would look sequential.
    let reads =
        [Access::read(at(near + distance as u64), read_bytes[0]), Access::read(at(near), read_bytes[1])];
    bench.burst(&reads).map(|time| time.as_us_f64())
}

/// Costs of a read besides its array time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Costs {
    bus_per_byte: f64,
    link_per_byte: f64,
    command: f64,
    /// Standard error of a step computed from these costs.
    error: f64,
}

impl Costs {
    /// Measures single reads and pairs, each small and large. A single read takes array + bus + command + link. A
    /// second one that shares nothing completes command + link later; one that shares the die array + bus later, if
    /// that is longer.
    fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        chunk: &Chunk,
        stripe: &Stripe,
        repetitions: usize,
    ) -> Result<Option<Self>, EarlyEnd> {
        let (Some(together), Some(apart)) = (stripe.die_period(), stripe.apart()) else { return Ok(None) };
        let (small, large) = (bench.sector_bytes(), stripe.read_bytes[1]);
        if large == small {
            return Ok(None);
        }
        let alone = |bench: &mut Bench<'_>, bytes: u64| {
            let at = area.chunk_place(bench, chunk, 0);
            bench.one(Access::read(at, bytes)).map(|time| time.as_us_f64())
        };
        let points = repeat(bench, 6, 4 * repetitions, |bench, kind| match kind {
            0 => pair(bench, area, chunk, together, [small; 2]),
            1 => pair(bench, area, chunk, apart, [small; 2]),
            2 => alone(bench, small),
            3 => pair(bench, area, chunk, together, [large; 2]),
            4 => pair(bench, area, chunk, apart, [large; 2]),
            _ => alone(bench, large),
        })?;
        let [die_small, free_small, one_small, die_large, free_large, one_large] =
            std::array::from_fn(|kind| points[kind].value);
        let bytes = (large - small) as f64;
        let sum = (one_large - one_small) / bytes;
        let difference = ((die_large - free_large) - (die_small - free_small)) / bytes;
        let link_per_byte = ((sum - difference) / 2.0).max(0.0);
        Ok(Some(Self {
            bus_per_byte: ((sum + difference) / 2.0).max(0.0),
            link_per_byte,
            command: (free_small - one_small - small as f64 * link_per_byte).max(0.0),
            error: points.iter().map(|p| p.error * p.error).sum::<f64>().sqrt(),
        }))
    }

    /// Predicts how much later a pair completes when it shares a bus, and its first read is first on it, than when it
    /// shares nothing. Times count from the end of both array reads.
    fn bus_step(&self, [first, second]: Sizes) -> f64 {
        let bus = |bytes: u64| bytes as f64 * self.bus_per_byte;
        let first_over_link = bus(first) + self.command + first as f64 * self.link_per_byte;
        let shared = (bus(first) + bus(second)).max(first_over_link);
        let apart = bus(second).max(first_over_link);
        shared - apart
    }

    /// Returns the sizes that show a shared bus best, with a whole page as the second read.
    fn best_sizes(&self, sector: u64, page: u64) -> Sizes {
        (1..=page / sector)
            .map(|sectors| [sectors * sector, page])
            .max_by(|a, b| self.bus_step(*a).total_cmp(&self.bus_step(*b)))
            .expect("a page has at least one sector")
    }
}

impl Stripe {
    /// Returns the least step that is certainly visible: twice the height at which a place of the row stands out, plus
    /// the uncertainty of the predicted step.
    fn least_us(&self, costs: &Costs) -> f64 {
        let mut values: Vec<f64> = self.row.iter().map(|p| p.value).collect();
        values.sort_unstable_by(f64::total_cmp);
        2.0 * pattern::least_height(values[values.len() / 5], pattern::typical_error(&self.row))
            + 4.0 * costs.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As seen with two planes behind 28 channels and before two packages: at odd multiples of 28 half of the pairs
    /// share a die.
    #[test]
    fn planes_that_some_pairs_share_are_no_dies() {
        let row = |at: [(f64, f64); 4]| -> Vec<Point> {
            (1..=400)
                .map(|distance: usize| {
                    let (step, error) =
                        if distance.is_multiple_of(28) { at[distance / 28 % 4] } else { (0.0, 0.08) };
                    Point { value: 44.0 + step, error }
                })
                .collect()
        };
        let level = |period, step_us| Level { period, step_us, clarity: 1.0 };
        let stripe = |row, read_bytes| Stripe {
            row,
            read_bytes,
            first_level: Some(level(28, 4.7)),
            second_level: Some(level(112, 2.1)),
            bus_step_us: Some((4.0, 0.5)),
            lowered: None,
        };
        let costs = Costs { bus_per_byte: 0.003, link_per_byte: 0.001, command: 0.1, error: 0.1 };
        let whole = stripe(row([(5.5, 0.08), (4.5, 0.24), (4.0, 0.07), (4.5, 0.26)]), [2048; 2]);
        let verdict =
            |sectors| whole.clone().checked(&stripe(row(sectors), [512; 2]), &costs, Some(112)).verdict();
        let of_some = [(6.5, 0.07), (3.2, 1.15), (0.8, 0.06), (3.2, 1.15)];
        assert_eq!(verdict(of_some), Verdict::Degree(28));
        let of_all = [(6.5, 0.07), (0.8, 0.09), (0.8, 0.06), (0.8, 0.09)];
        assert_eq!(verdict(of_all), Verdict::Both { degree: 28, sub_domains: 4 });
    }

    #[test]
    fn period_of_one_chunk_has_no_distance_apart() {
        let apart = |period| {
            let level = Level { period, step_us: 40.0, clarity: 1.0 };
            let stripe = Stripe {
                row: Vec::new(),
                read_bytes: [512; 2],
                first_level: Some(level),
                second_level: Some(level),
                bus_step_us: None,
                lowered: None,
            };
            stripe.apart()
        };
        assert_eq!((apart(1), apart(12)), (None, Some(11)));
    }
}
