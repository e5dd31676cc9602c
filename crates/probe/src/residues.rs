//! The stripe in any order of its levels: which chunks share a die and which a channel.
//!
//! A stripe that changes channels first shows its levels as periods of the distance between two reads (`stripe`). One
//! that changes packages, dies or planes first does not: at one distance some pairs share a channel, and others do not.
//! But from chunk to chunk any stripe counts through its levels like digits, so it has a *period*: the shortest
//! distance at which all pairs share a die, wherever they are. Within the period the place of a chunk follows from its
//! number modulo the period, its *residue*. So pairs of two fixed residues are all alike. Requires: the area was
//! written once, in order.
//!
//! - *Period.* The lower part of a distance's times is as slow as pairs inside a chunk only where no pair is on two
//!   dies.
//! - *Dies.* Residues that collide with a base residue like pairs inside a chunk share its die: its planes, where they
//!   wait for each other. Their number divides the period.
//! - *Channels.* Those that share the base's channel are runs of `w` residues that recur every `w` times the number of
//!   channels, whatever the order of the levels. Each such pattern is fitted to the times of all residues; one is
//!   reported where it explains them, the collisions are clearly slower, and every other pattern fits clearly worse.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::dies::{Dies, PLANES_MAX};
use crate::error::EarlyEnd;
use crate::pattern::{self, Point, point};
use crate::repetitions::samples;
use crate::stripe::{Sizes, pair};
use flashlane_workload::Access;

/// Longest period searched for, in chunks.
const LONGEST: usize = 4096;
/// A difference counts from this number of standard errors.
const STANDARD_ERRORS: f64 = 6.0;
/// Pairs that share a die take as long as those inside a chunk, within this share of the contrast and less than the
/// shortest array time.
const ALIKE: f64 = 0.1;
const LESS_THAN_ARRAY_US: f64 = 1.5;
/// Pairs of a reference, as a multiple of an experiment's repetitions.
const REFERENCE: usize = 24;
/// Most candidates for the period that are tested.
const CANDIDATES_MAX: usize = 48;
/// The best pattern leaves at most this multiple of the variance that the points' errors explain.
const UNEXPLAINED: f64 = 4.0;
/// The next best pattern leaves at least this multiple of it more.
const LEAD_VARIANCES: f64 = 30.0;

/// The period of the stripe, and its channels where they are seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Residues {
    /// Shortest distance, in chunks, at which all pairs share a die.
    pub(crate) period: usize,
    /// A shorter distance, at which the fewest pairs collide.
    pub(crate) apart: usize,
    pub(crate) domains: Option<Domains>,
    pub(crate) beyond: Beyond,
}

/// What chunks show that are farther apart than a period: dies that the stripe reaches only after all planes of those
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// All recur over as many periods as a die has planes, or the planes are seen within the period: there are no
    /// others.
    Recurs,
    /// There are too few chunks for as many periods.
    Unknown,
    /// They do not recur.
    Differs,
}

/// Channels and their dies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Domains {
    pub(crate) degree: usize,
    /// `None` where chunks that share a die are not told from those that share a channel only.
    pub(crate) sub_domains: Option<usize>,
    /// Consecutive chunks on one channel.
    pub(crate) run: usize,
    /// How much longer pairs take that share a channel only.
    pub(crate) step_us: f64,
}

/// Looks for the period, unless the dies are known, and the channels; `None` where no period is found.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    page: u64,
    repetitions: usize,
    dies: Option<Dies>,
) -> Result<Option<Residues>, EarlyEnd> {
    let sector = bench.sector_bytes();
    let chunks = area.chunks(chunk) as usize;
    if let Some(dies) = dies {
        let (period, apart) = (dies.period(), dies.apart());
        let search = Search { area, chunk, chunks, repetitions };
        let shared_die = SharedDie::Known(dies);
        let domains = match chunks > 2 * period {
            true => search.domains_twice(bench, period, page.max(sector), &shared_die)?,
            false => None,
        };
        return Ok(Some(Residues { period, apart, domains, beyond: Beyond::Recurs }));
    }
    let reach = LONGEST.min(chunks / 3);
    if reach < 2 || chunk.size_bytes < 2 * sector {
        return Ok(None);
    }
    let pair_times = PairTimes::measure(bench, area, chunk, REFERENCE * repetitions)?;
    if pair_times.contrast_us() < STANDARD_ERRORS * pair_times.same.error.hypot(pair_times.fast.error) {
        return Ok(None);
    }
    let search = Search { area, chunk, chunks, repetitions };
    let mut row =
        samples(bench, reach, repetitions, |bench, i| pair(bench, area, chunk, i + 1, [sector; 2]))?;
    // All pairs share a die where the period is 1, and none shows what two dies would be.
    let Some(period) = search.period(bench, &pair_times, &mut row)?.filter(|&period| period > 1) else {
        return Ok(None);
    };
    let value = |i: &usize| row[*i].iter().sum::<f64>();
    let apart = (0..period - 1).min_by(|a, b| value(a).total_cmp(&value(b))).map_or(1, |i| i + 1);
    assert!(apart < period, "a distance of {apart} is told from the period, {period}");
    let beyond = search.beyond(bench, &pair_times, period)?;
    let shared_die = SharedDie::Seen(pair_times);
    let domains = search.domains_twice(bench, period, page.max(sector), &shared_die)?;
    let has_planes = domains.is_some_and(|domains| domains.sees_planes(period));
    let beyond = if has_planes { Beyond::Recurs } else { beyond };
    Ok(Some(Residues { period, apart, domains, beyond }))
}

impl Domains {
    /// Returns whether several chunks of a period are on each die: those of its planes.
    fn sees_planes(self, period: usize) -> bool {
        self.sub_domains.is_some_and(|sub_domains| sub_domains * self.degree < period)
    }

    fn is_like(self, other: Self) -> bool {
        (self.degree, self.sub_domains, self.run) == (other.degree, other.sub_domains, other.run)
    }
}

/// Times of pairs of sectors inside a chunk, which share a die, and across its boundaries, which do not.
struct PairTimes {
    same: Point,
    fast: Point,
    /// Halfway between the means of the lower half of the times, and of the lower quarter.
    half_us: f64,
    quarter_us: f64,
}

impl PairTimes {
    fn measure(bench: &mut Bench<'_>, area: Area, chunk: &Chunk, count: usize) -> Result<Self, EarlyEnd> {
        let sector = bench.sector_bytes();
        let inside = chunk.size_bytes / sector - 1;
        let mut kinds = samples(bench, 2, count, |bench, kind| {
            let start = area.chunk_place(bench, chunk, 2 * chunk.size_bytes) + chunk.size_bytes;
            let at = if kind == 0 { start + (1 + bench.random().below(inside)) * sector } else { start };
            let reads = [Access::read(at, sector), Access::read(at - sector, sector)];
            bench.burst(&reads).map(|time| time.as_us_f64())
        })?;
        let [same, fast] = [0, 1].map(|kind| point(&mut kinds[kind]));
        let middle = |part: usize| f64::midpoint(lower(&kinds[0], part), lower(&kinds[1], part));
        Ok(Self { same, fast, half_us: middle(2), quarter_us: middle(4) })
    }

    fn contrast_us(&self) -> f64 {
        self.same.value - self.fast.value
    }

    /// Returns whether pairs are clearly faster than those inside a chunk.
    fn is_apart(&self, pairs: Point) -> bool {
        let least = (4.0 * pairs.error.hypot(self.same.error)).max(APART * self.contrast_us());
        self.same.value - pairs.value > least.max(LESS_THAN_ARRAY_US)
    }

    /// Returns whether pairs take as long as those inside a chunk.
    fn is_same(&self, pairs: Point) -> bool {
        let slack = (4.0 * pairs.error.hypot(self.same.error))
            .max((ALIKE * self.contrast_us()).min(LESS_THAN_ARRAY_US));
        (pairs.value - self.same.value).abs() < slack
    }
}

/// Pairs are clearly faster than those inside a chunk from this share of the contrast on.
const APART: f64 = 0.25;

/// Mean of the lowest part, a whole fraction, of sorted times.
fn lower(sorted: &[f64], part: usize) -> f64 {
    let lowest = &sorted[..sorted.len().div_ceil(part)];
    lowest.iter().sum::<f64>() / lowest.len() as f64
}

/// How it is told which residues share a die.
enum SharedDie {
    Known(Dies),
    Seen(PairTimes),
}

struct Search<'a> {
    area: Area,
    chunk: &'a Chunk,
    /// Chunks in the area.
    chunks: usize,
    repetitions: usize,
}

impl Search<'_> {
    /// Returns the shortest distance at which all pairs collide, and at twice of which they do, too.
    fn period(
        &self,
        bench: &mut Bench<'_>,
        pair_times: &PairTimes,
        row: &mut [Vec<f64>],
    ) -> Result<Option<usize>, EarlyEnd> {
        let mut tested = 0;
        for (i, times) in row.iter_mut().enumerate() {
            times.sort_unstable_by(f64::total_cmp);
            if lower(times, 2) < pair_times.half_us {
                continue;
            }
            tested += 1;
            if tested > CANDIDATES_MAX {
                return Ok(None);
            }
            if self.collides(bench, pair_times, i + 1)? && self.collides(bench, pair_times, 2 * (i + 1))? {
                return Ok(Some(i + 1));
            }
        }
        Ok(None)
    }

    fn collides(
        &self,
        bench: &mut Bench<'_>,
        pair_times: &PairTimes,
        distance: usize,
    ) -> Result<bool, EarlyEnd> {
        let sector = bench.sector_bytes();
        let mut times = Vec::new();
        for _ in 0..8 * self.repetitions {
            times.push(pair(bench, self.area, self.chunk, distance, [sector; 2])?);
        }
        let pairs = point(&mut times);
        Ok(lower(&times, 4) > pair_times.quarter_us && pair_times.is_same(pairs))
    }

    /// Returns whether chunks collide as far apart as the area and the planes of a die allow.
    fn beyond(
        &self,
        bench: &mut Bench<'_>,
        pair_times: &PairTimes,
        period: usize,
    ) -> Result<Beyond, EarlyEnd> {
        let turns = ((self.chunks - 1) / period).min(PLANES_MAX);
        Ok(match self.collides(bench, pair_times, turns * period)? {
            false => Beyond::Differs,
            true if turns < PLANES_MAX => Beyond::Unknown,
            true => Beyond::Recurs,
        })
    }

    /// Returns the channels where they are the same seen from two bases.
    fn domains_twice(
        &self,
        bench: &mut Bench<'_>,
        period: usize,
        page: u64,
        shared_die: &SharedDie,
    ) -> Result<Option<Domains>, EarlyEnd> {
        let Some(one) = self.domains(bench, period, page, shared_die)? else { return Ok(None) };
        Ok(self.domains(bench, period, page, shared_die)?.filter(|other| other.is_like(one)))
    }

    /// Finds the residues that share a die and a channel with a random one.
    fn domains(
        &self,
        bench: &mut Bench<'_>,
        period: usize,
        page: u64,
        shared_die: &SharedDie,
    ) -> Result<Option<Domains>, EarlyEnd> {
        let sector = bench.sector_bytes();
        let base = bench.random().below(period as u64) as usize;
        let small = match shared_die {
            SharedDie::Known(_) => Vec::new(),
            SharedDie::Seen(_) => self.row(bench, (period, base), [sector; 2])?,
        };
        // Residues on the base's die, and the others.
        let (die, others): (Vec<usize>, Vec<usize>) = (1..period).partition(|&residue| match shared_die {
            SharedDie::Known(dies) => dies.shares(base, base + residue),
            SharedDie::Seen(pair_times) => pair_times.is_same(small[residue - 1]),
        });
        let planes = die.len() + 1;
        if !period.is_multiple_of(planes) {
            return Ok(None);
        }
        for sizes in [[page, page], [sector, page], [(page / 2 / sector * sector).max(sector), page]] {
            let row = self.row(bench, (period, base), sizes)?;
            let points = others.iter().map(|&residue| (residue, row[residue - 1])).collect();
            let Some(points) = from_flash(points) else { continue };
            if let Some(pattern) = Pattern::fit(period, &points, &die) {
                let is_told = match shared_die {
                    SharedDie::Known(_) => true,
                    SharedDie::Seen(pair_times) => others
                        .iter()
                        .filter(|residue| pattern.shares(**residue))
                        .all(|residue| pair_times.is_apart(small[residue - 1])),
                };
                return Ok(Some(Domains {
                    degree: pattern.channels,
                    sub_domains: is_told.then_some(period / pattern.channels / planes),
                    run: pattern.run,
                    step_us: pattern.step_us,
                }));
            }
        }
        Ok(None)
    }

    /// Measures pairs of a chunk with residue `base` and one of each residue from it: element i is i + 1 after it.
    fn row(
        &self,
        bench: &mut Bench<'_>,
        (period, base): (usize, usize),
        sizes: Sizes,
    ) -> Result<Vec<Point>, EarlyEnd> {
        let repetitions = (800 * self.repetitions / period).clamp(self.repetitions, 4 * self.repetitions);
        let pages = (self.chunk.size_bytes / sizes[0].max(sizes[1])).max(1);
        let mut row = samples(bench, period - 1, repetitions, |bench, i| {
            let mut place = |residue: usize| {
                let stripes = (self.chunks - residue).div_ceil(period) as u64;
                let index = residue as u64 + bench.random().below(stripes) * period as u64;
                let page = bench.random().below(pages) * sizes[0].max(sizes[1]);
                self.area.chunk_start(self.chunk, index) + page
            };
            let (one, other) = (place(base), place(base + i + 1));
            // The base comes second, so that unequal sizes are the same way round in all pairs.
            let reads = [Access::read(other, sizes[0]), Access::read(one, sizes[1])];
            bench.burst(&reads).map(|time| time.as_us_f64())
        })?;
        Ok(row.iter_mut().map(|times| point(times)).collect())
    }
}

/// Most points that may be faster than pairs that share nothing, as a share of all.
const CACHED: f64 = 0.1;

/// Returns the points without those clearly faster than pairs that share nothing: the drive read them ahead after reads
/// of the base. `None` where these are many.
fn from_flash(mut points: Vec<(usize, Point)>) -> Option<Vec<(usize, Point)>> {
    let mut values: Vec<f64> = points.iter().map(|(_, point)| point.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let floor = *values.get(values.len() / 4)?;
    let row: Vec<Point> = points.iter().map(|(_, point)| *point).collect();
    let least = floor - 2.0 * pattern::least_height(floor, pattern::typical_error(&row));
    let all = points.len();
    points.retain(|(_, point)| point.value > least);
    ((all - points.len()) as f64 <= CACHED * all as f64).then_some(points)
}

/// Residues that share the base's channel: the base is `offset` in a run of `run` residues, which recurs with each of
/// the channels in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pattern {
    run: usize,
    channels: usize,
    offset: usize,
    step_us: f64,
}

impl Pattern {
    fn shares(&self, residue: usize) -> bool {
        ((self.offset + residue) / self.run).is_multiple_of(self.channels)
    }

    /// Returns the pattern that explains the points, by residue. The residues of `die` share the base's die, and so its
    /// channel, which holds whole dies.
    fn fit(period: usize, points: &[(usize, Point)], die: &[usize]) -> Option<Self> {
        let count = points.len() as f64;
        let sum: f64 = points.iter().map(|(_, point)| point.value).sum();
        let squares: f64 = points.iter().map(|(_, point)| point.value * point.value).sum();
        // Squared errors that each pattern leaves, with the times of residues that share and of those that do not.
        let mut best: Option<(f64, Self, f64, f64)> = None;
        let mut next = f64::INFINITY;
        for (run, channels) in runs(period) {
            for offset in 0..run {
                let tried = Self { run, channels, offset, step_us: 0.0 };
                let holds_dies = (period / channels).is_multiple_of(die.len() + 1);
                if !holds_dies || !die.iter().all(|&residue| tried.shares(residue)) {
                    continue;
                }
                let (mut shared, mut sharing) = (0.0, 0.0);
                for (residue, point) in points {
                    if tried.shares(*residue) {
                        shared += 1.0;
                        sharing += point.value;
                    }
                }
                if shared == 0.0 || shared == count {
                    continue;
                }
                let rest = (sum - sharing) / (count - shared);
                let step_us = sharing / shared - rest;
                let left = squares - sharing * sharing / shared - (sum - sharing) * rest;
                if step_us > 0.0 && best.as_ref().is_none_or(|(least, ..)| left < *least) {
                    next = best.map_or(next, |(least, ..)| least);
                    best = Some((left, Self { step_us, ..tried }, shared, rest));
                } else {
                    next = next.min(left);
                }
            }
        }
        let (left, pattern, shared, rest) = best?;
        let variance = points.iter().map(|(_, point)| point.error * point.error).sum::<f64>() / count;
        let error = (variance * (1.0 / shared + 1.0 / (count - shared))).sqrt();
        let unexplained = left.max(0.0) / (count - 2.0).max(1.0);
        let noise = variance.max(unexplained).max(1e-6);
        (pattern.step_us > pattern::least_height(rest, error)
            && unexplained <= UNEXPLAINED * variance + (ALIKE * pattern.step_us).powi(2)
            && next - left > LEAD_VARIANCES * noise)
            .then_some(pattern)
    }
}

/// Runs and numbers of channels whose product divides the period.
fn runs(period: usize) -> Vec<(usize, usize)> {
    let divisors = |of: usize| (1..=of).filter(move |divisor| of.is_multiple_of(*divisor));
    divisors(period)
        .flat_map(|whole| divisors(whole).map(move |run| (run, whole / run)))
        .filter(|(_, channels)| *channels > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(period: usize, shares: impl Fn(usize) -> bool) -> Vec<(usize, Point)> {
        (1..period)
            .map(|residue| {
                let wobble = [0.3, -0.2, 0.1, -0.4, 0.2][residue % 5];
                let value = 100.0 + wobble + if shares(residue) { 12.0 } else { 0.0 };
                (residue, Point { value, error: 0.4 })
            })
            .collect()
    }

    #[test]
    fn channels_are_found_in_any_order_of_levels() {
        // Packages first, then channels, then dies: 4 * 6 * 2.
        for base in 0..4 {
            let points = row(48, |residue| ((base + residue) / 4) % 6 == 0);
            let pattern = Pattern::fit(48, &points, &[]).unwrap();
            assert_eq!((pattern.run, pattern.channels, pattern.offset), (4, 6, base));
        }
        let channels_first = Pattern::fit(48, &row(48, |residue| residue % 6 == 0), &[]).unwrap();
        assert_eq!((channels_first.run, channels_first.channels), (1, 6));
        let channels_last = Pattern::fit(48, &row(48, |residue| residue < 8), &[]).unwrap();
        assert_eq!((channels_last.run, channels_last.channels), (8, 6));
    }

    #[test]
    fn plane_on_the_same_die_decides_between_runs() {
        // Two packages, two planes, six channels, seen from the second of a run: the third residue is on its die.
        let mut points = row(24, |residue| residue <= 2 || residue == 23);
        points.remove(1);
        assert_eq!(Pattern::fit(24, &points, &[]), None, "runs of three and of four explain the rest");
        let pattern = Pattern::fit(24, &points, &[2]).unwrap();
        assert_eq!((pattern.run, pattern.channels), (4, 6));
    }

    #[test]
    fn prefetched_chunks_are_no_evidence() {
        let mut points = row(48, |residue| residue % 6 == 0);
        (points[0].1.value, points[1].1.value) = (70.0, 80.0);
        assert_eq!(Pattern::fit(48, &points, &[]), None);
        let pattern = Pattern::fit(48, &from_flash(points).unwrap(), &[]).unwrap();
        assert_eq!((pattern.run, pattern.channels), (1, 6));
        assert_eq!(from_flash(row(48, |residue| residue % 8 != 0)).map(|points| points.len()), None);
    }

    #[test]
    fn row_without_a_pattern_has_no_channels() {
        assert_eq!(Pattern::fit(48, &row(48, |_| false), &[]), None);
        assert_eq!(Pattern::fit(48, &row(48, |residue| residue * residue % 7 == 1), &[]), None);
    }
}
