//! Interleaving degree and sub-domains: how many chunks apart two reads begin to get into each other's way.
//!
//! Two pages that lie a whole stripe apart share a channel: their transfers queue for its bus. A whole number of
//! stripes further they share a package and die too: the array reads queue as well. So the time of a pair of
//! simultaneous reads, against their distance in chunks, shows the degree as the period of its steps and the
//! sub-domains as the period of the higher ones among these (chen11, section 4.3, with pairs for its two jobs).
//!
//! *Power.* Where the link is slower than a channel's bus, waiting for the bus hides behind waiting for the link,
//! and only dies are seen. The costs of bus, link and command follow from single reads and from pairs that share a
//! die or nothing; from them, the step that a shared bus would show. A smaller read beside the larger one shows it
//! also on a slow link: the smaller is over the link before the larger is off the bus, and what it held the bus for
//! is not hidden. The sizes are chosen so; where even then the step would be too small to be seen, a single level is
//! not taken for the degree.
//!
//! *Cross-check.* Reads of a single sector hardly hold a bus, so with them a shared bus makes the least step and a
//! shared die the clearest. A first level whose step does not shrink with the size is no bus (planes of one die look
//! so), and dies that larger reads hide behind their transfers (cache mode) come out.
//!
//! What all requests share, such as the only channel of a drive, cannot be told from the link: such a drive's
//! packages are its domains.

use crate::chunk::{Area, Boundaries, repeat};
use crate::pattern::{self, Point};
use crate::rig::Rig;
use flashlane_measure::Interruption;
use flashlane_workload::Access;

/// What the distances show.
#[derive(Clone, Debug, PartialEq)]
pub struct Stripe {
    /// Pair times by distance: place i is a distance of i + 1 chunks.
    pub row: Vec<Point>,
    /// What was read of the two, in bytes.
    pub read_bytes: Sizes,
    /// The shortest distance that collides, in chunks.
    pub first_level: Option<Level>,
    /// The shortest distance that collides more, where there are two levels.
    pub second_level: Option<Level>,
    /// The step that a shared bus alone would show, in microseconds, and the least that would be seen.
    pub bus_step_us: Option<(f64, f64)>,
    /// What is left of the verdict, where a cross-check did not bear it out.
    lowered: Option<Verdict>,
}

/// A step shrinks in proportion to the size read, as a bus's does, where it is below this many times that; and a step
/// is more than a bus's from this many times that.
const LIKE_A_BUS: f64 = 1.3;
const MORE_THAN_A_BUS: f64 = 1.3;
/// Two array times spread wider than one, but by less than this.
const WIDER: f64 = 2.5;

/// Bytes of the two reads of a pair: first the one submitted first.
pub type Sizes = [u64; 2];

/// A level of collisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Chunks between one collision and the next.
    pub period: usize,
    /// Mean height of the step in microseconds.
    pub step_us: f64,
    /// How clear it is, 0 to 1.
    pub clarity: f64,
}

/// What can be said of the degree and the sub-domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both are seen.
    Both {
        /// Domains.
        degree: usize,
        /// Sub-domains of each.
        sub_domains: usize,
    },
    /// The degree is seen; within a domain the picture is not clear.
    Degree(usize),
    /// Dies are seen at this period, but a shared bus would not be.
    DiesOnly(usize),
    /// Nothing recurs.
    Nothing,
}

impl Stripe {
    /// What the levels add up to.
    pub fn verdict(&self) -> Verdict {
        if let Some(verdict) = self.lowered {
            return verdict;
        }
        match (self.first_level, self.second_level, self.bus_step_us) {
            (None, ..) => Verdict::Nothing,
            (Some(first), Some(second), _) => {
                Verdict::Both { degree: first.period, sub_domains: second.period / first.period }
            }
            (Some(first), None, Some((step, least))) if self.is_single(first) => {
                if step > least {
                    Verdict::Both { degree: first.period, sub_domains: 1 }
                } else {
                    Verdict::DiesOnly(first.period)
                }
            }
            // A single level whose step could not be explained: a bus or a die.
            (Some(first), None, None) if self.is_single(first) => Verdict::DiesOnly(first.period),
            (Some(first), None, _) => Verdict::Degree(first.period),
        }
    }

    /// The shortest distance, in chunks, at which pairs share a die for certain: the second level, or a single
    /// one; where collisions differ in another way, the distance at whose every multiple they are nearly as high as
    /// anywhere.
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

    /// These levels as far as reads of single sectors bear them out; `dies_alone` is the period at which dies were
    /// seen before a bus was.
    fn checked(mut self, small: &Self, costs: &Costs, dies_alone: Option<usize>) -> Self {
        let Some(first) = self.first_level else { return self };
        let Some(second) = self.second_level else {
            match (small.first_level, small.second_level) {
                (Some(dies), _) if dies.period > first.period && dies.period.is_multiple_of(first.period) => {
                    self.second_level = Some(dies);
                }
                (Some(both), Some(dies)) if both.period == first.period => self.second_level = Some(dies),
                (Some(dies), None) if dies.period == first.period && small.dies_for_certain(dies, costs) => {}
                _ => self.lowered = Some(Verdict::Degree(first.period)),
            }
            return self;
        };
        // A level that shows only beside that of the dies is a bus.
        if dies_alone.is_none_or(|period| period == first.period) {
            let shrinks_to = small.read_bytes[1] as f64 / self.read_bytes[1] as f64;
            let (large, small) = (self.lesser_step_us(first, second), small.lesser_step_us(first, second));
            if small > LIKE_A_BUS * shrinks_to * large + 4.0 * costs.error {
                self.lowered = Some(Verdict::DiesOnly(first.period));
            }
        }
        self
    }

    /// Whether a single level is more than a shared bus would make.
    fn dies_for_certain(&self, level: Level, costs: &Costs) -> bool {
        let bus = costs.bus_step(self.read_bytes);
        self.is_single(level) && level.step_us > MORE_THAN_A_BUS * bus + 4.0 * costs.error
    }

    /// The step of places that belong to the first level only.
    fn lesser_step_us(&self, first: Level, second: Level) -> f64 {
        let mean = |belongs: &dyn Fn(usize) -> bool| {
            let values: Vec<f64> =
                (1..).zip(&self.row).filter(|(d, _)| belongs(*d)).map(|(_, p)| p.value).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        mean(&|d| d.is_multiple_of(first.period) && !d.is_multiple_of(second.period))
            - mean(&|d| !d.is_multiple_of(first.period))
    }

    /// Whether all collisions are alike: within the noise no step is higher than another, and they spread no wider
    /// than what does not collide. Pairs that share a die by chance, at one place and not at another, do.
    fn is_single(&self, level: Level) -> bool {
        let steps: Vec<Point> = self.multiples(level.period);
        let others: Vec<Point> =
            (1..).zip(&self.row).filter(|(d, _)| d % level.period != 0).map(|(_, p)| *p).collect();
        let (spread, usual) = (pattern::typical_error(&steps), pattern::typical_error(&others));
        pattern::standout(&steps).is_none() && spread <= WIDER * usual + 0.01 * level.step_us
    }

    fn multiples(&self, period: usize) -> Vec<Point> {
        self.row.iter().skip(period - 1).step_by(period).copied().collect()
    }
}

/// Measures pairs at distances of 1 to `reach` chunks, reading up to `page` bytes of each chunk.
///
/// # Errors
/// [`Interruption`] where the device fails.
pub fn measure(
    rig: &mut Rig<'_>,
    area: Area,
    chunk: &Boundaries,
    page: u64,
    reach: usize,
    repetitions: usize,
) -> Result<Stripe, Interruption> {
    let stripe = measure_with(rig, area, chunk, [page, page], reach, repetitions)?;
    let Some(costs) = Costs::measure(rig, area, chunk, &stripe, repetitions)? else { return Ok(stripe) };
    let equal =
        Stripe { bus_step_us: Some((costs.bus_step(stripe.read_bytes), stripe.least_us(&costs))), ..stripe };
    let (stripe, dies_alone) = match equal.verdict() {
        Verdict::DiesOnly(period) => {
            let unequal = costs.best_sizes(rig.sector_bytes(), page);
            let stripe = measure_with(rig, area, chunk, unequal, reach, 2 * repetitions)?;
            // Two reads that reach the bus together take turns in being first: half of the step is seen.
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
    let sector = [rig.sector_bytes(); 2];
    let small = measure_with(rig, area, chunk, sector, reach, repetitions)?;
    Ok(stripe.checked(&small, &costs, dies_alone))
}

fn measure_with(
    rig: &mut Rig<'_>,
    area: Area,
    chunk: &Boundaries,
    read_bytes: Sizes,
    reach: usize,
    repetitions: usize,
) -> Result<Stripe, Interruption> {
    let row = repeat(rig, reach, repetitions, |rig, i| pair(rig, area, chunk, i + 1, read_bytes))?;
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

/// The distance period of the places that stand out, which must begin with the first whole period.
fn level(row: &[Point]) -> Option<Level> {
    let standout = pattern::standout(row)?;
    let (phase, period) = pattern::period(&standout.places, row.len())?;
    (phase + 1 == period).then_some(Level { period, step_us: standout.height, clarity: standout.clarity })
}

/// The time of two simultaneous reads `distance` chunks apart, at a random place, in microseconds.
pub(crate) fn pair(
    rig: &mut Rig<'_>,
    area: Area,
    chunk: &Boundaries,
    distance: usize,
    read_bytes: Sizes,
) -> Result<f64, Interruption> {
    let chunks = (area.length_bytes - chunk.phase_bytes) / chunk.chunk_bytes;
    let near = rig.random().below(chunks - distance as u64);
    let at = |index: u64| area.offset_bytes + chunk.phase_bytes + index * chunk.chunk_bytes;
    // The further one first: in ascending order neighbours would look sequential.
    let reads =
        [Access::read(at(near + distance as u64), read_bytes[0]), Access::read(at(near), read_bytes[1])];
    rig.burst(&reads).map(|time| time.as_us_f64())
}

/// What a read costs beside its array time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Costs {
    bus_per_byte: f64,
    link_per_byte: f64,
    command: f64,
    /// The standard error of a step computed from them.
    error: f64,
}

impl Costs {
    /// From single reads and pairs, each small and large. Alone a read takes array + bus + command + link. A second
    /// one that shares nothing is later by command + link; one that shares the die by array + bus, if that is longer.
    fn measure(
        rig: &mut Rig<'_>,
        area: Area,
        chunk: &Boundaries,
        stripe: &Stripe,
        repetitions: usize,
    ) -> Result<Option<Self>, Interruption> {
        let Some(together) = stripe.die_period() else { return Ok(None) };
        let (small, large) = (rig.sector_bytes(), stripe.read_bytes[1]);
        if large == small {
            return Ok(None);
        }
        let alone = |rig: &mut Rig<'_>, bytes: u64| {
            let chunks = (area.length_bytes - chunk.phase_bytes) / chunk.chunk_bytes;
            let at = area.offset_bytes + chunk.phase_bytes + rig.random().below(chunks) * chunk.chunk_bytes;
            rig.one(Access::read(at, bytes)).map(|time| time.as_us_f64())
        };
        let apart = together + 1;
        let points = repeat(rig, 6, 4 * repetitions, |rig, kind| match kind {
            0 => pair(rig, area, chunk, together, [small; 2]),
            1 => pair(rig, area, chunk, apart, [small; 2]),
            2 => alone(rig, small),
            3 => pair(rig, area, chunk, together, [large; 2]),
            4 => pair(rig, area, chunk, apart, [large; 2]),
            _ => alone(rig, large),
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

    /// How much later a pair is done when it shares a bus, its first read being first on it, than when it shares
    /// nothing. Times count from when both arrays are done.
    fn bus_step(&self, [first, second]: Sizes) -> f64 {
        let bus = |bytes: u64| bytes as f64 * self.bus_per_byte;
        let first_over_link = bus(first) + self.command + first as f64 * self.link_per_byte;
        let shared = (bus(first) + bus(second)).max(first_over_link);
        let apart = bus(second).max(first_over_link);
        shared - apart
    }

    /// The size of the first read that shows a shared bus best beside a second of a whole page.
    fn best_sizes(&self, sector: u64, page: u64) -> Sizes {
        (1..=page / sector)
            .map(|sectors| [sectors * sector, page])
            .max_by(|a, b| self.bus_step(*a).total_cmp(&self.bus_step(*b)))
            .expect("a page has at least one sector")
    }
}

impl Stripe {
    /// The least step that would be seen for certain: twice the height at which a place of the row stands out, and
    /// the uncertainty of the step's own prediction.
    fn least_us(&self, costs: &Costs) -> f64 {
        let mut values: Vec<f64> = self.row.iter().map(|p| p.value).collect();
        values.sort_unstable_by(f64::total_cmp);
        2.0 * pattern::least_height(values[values.len() / 5], pattern::typical_error(&self.row))
            + 4.0 * costs.error
    }
}
