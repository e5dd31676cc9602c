//! Channels without the period of the dies: pairs of reads of random chunks, fitted to every order of the stripe.
//!
//! Whatever the order of its levels, a stripe stays on one channel for a *run* of chunks (those of the levels that
//! change before the channel), and then goes on to the next. So two chunks share a channel where the numbers of their
//! runs differ by a multiple of the number of channels. Each run and number of channels is fitted to the times of all
//! pairs together, which shows a wait that no single distance would, and needs to see two turns of the channels only,
//! not of the dies.
//!
//! *Bus or die.* A pair that shares a bus completes a page's transfer after a single read, one that shares a die an
//! array time more. The cost of a transfer follows from reads of a sector and of a page, alone and in pairs inside a
//! chunk. A pattern counts where its pairs wait for a transfer, and no array time; or where pairs inside a chunk wait
//! for no array time either, as with cache mode on a slow bus, where all that share a channel look alike.
//!
//! *A single channel.* All pairs wait for the bus, which is slower than the link: the wait of pairs of pages exceeds
//! that of pairs of sectors, which may wait for a command, by the time on the bus and not by that on the link.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::bus_time::BusTime;
use crate::dies::Dies;
use crate::error::EarlyEnd;
use crate::pair::{Pair, by_difference};
use crate::pattern::Point;
use crate::repetitions::repeat;
use crate::sector_channels;
use flashlane_workload::Access;

/// Pairs of the first attempt, and the factor of each further one.
const PAIRS: usize = 1500;
const ATTEMPTS: usize = 2;
const MORE: usize = 6;
/// Most channels, and longest run, in chunks.
const CHANNELS_MAX: usize = 64;
const LONGEST_RUN: usize = 128;
/// Times of pairs that share no channel vary by less than this multiple of those of pairs that do: where they vary
/// more, some wait for a channel that is missed.
const APART_VARIES: f64 = 6.0;
/// A step is seen from this number of its standard errors on.
const STANDARD_ERRORS: f64 = 8.0;
/// Every other pattern leaves at least this number of variances of a pair more than the best.
const LEAD_VARIANCES: f64 = 40.0;
/// A wait is one for the bus where it differs from that by less than this share of an array time.
const OF_ARRAY: f64 = 0.25;
/// Or by less than this share of a transfer, where an array time is not seen.
const OF_TRANSFER: f64 = 0.1;
/// Least share of a transfer that a wait for the bus is seen as: pairs whose array times differ meet on the bus seldom.
const WAIT_MIN: f64 = 0.4;
/// Most of it that pairs on different dies wait for.
const WAIT_MAX: f64 = 1.5;
/// A single channel is seen where the time on its bus exceeds that on the link by this share.
const BUS_EXCEEDS: f64 = 0.3;

/// The channels found, and the order of the stripe over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Channels {
    pub(crate) count: usize,
    /// Consecutive chunks on one channel; 0 where there is one channel.
    pub(crate) run: usize,
    /// How much longer pairs take that share a channel.
    pub(crate) step_us: f64,
    pub(crate) pairs: usize,
}

/// Looks for the channels; `None` where a shared bus cannot be seen.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    page: u64,
    repetitions: usize,
    dies: Option<Dies>,
    bus: Option<BusTime>,
) -> Result<Option<Channels>, EarlyEnd> {
    let chunks = area.chunks(chunk);
    if chunks < 8 || bench.depth() < 2 {
        return Ok(None);
    }
    if page <= bench.sector_bytes() {
        return dies.map_or(Ok(None), |dies| sector_channels::find(bench, area, chunk, dies));
    }
    let costs = Costs::measure(bench, area, chunk, page, 16 * repetitions)?;
    let mut small = Vec::new();
    for _ in 0..PAIRS / 2 {
        small.push(Pair::measure(bench, area, chunk, page, bench.sector_bytes())?);
    }
    let mut pairs = Vec::new();
    for attempt in 0..ATTEMPTS {
        let count = PAIRS * MORE.pow(attempt as u32);
        while pairs.len() < count {
            pairs.push(Pair::measure(bench, area, chunk, page, page)?);
        }
        let single = bus.and_then(|bus| costs.single_channel(bus, &small, &pairs));
        if let Some(found) = single.or_else(|| costs.channels(&pairs, chunks as usize, dies)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the channels that pairs wait for which share none of the `dies`.
pub(crate) fn of_pairs(pairs: &[Pair], chunks: usize, dies: Dies) -> Option<Channels> {
    let (fit, pairs) = fit_apart(pairs, chunks, dies)?;
    Some(Channels { count: fit.channels, run: fit.run, step_us: fit.step_us, pairs })
}

/// Returns the channels as [`of_pairs`] does, where a pair alone varies by `deviation_us` and all others are explained:
/// where few of those on a channel wait, these may all be on every second one by chance.
pub(crate) fn of_all_pairs(pairs: &[Pair], chunks: usize, dies: Dies, deviation_us: f64) -> Option<Channels> {
    let (fit, pairs) = fit_apart(pairs, chunks, dies)?;
    fit.explained(deviation_us, pairs)
}

/// Fits the pairs that share none of the `dies`, and returns their number.
fn fit_apart(pairs: &[Pair], chunks: usize, dies: Dies) -> Option<(Fit, usize)> {
    let kept: Vec<Pair> = pairs.iter().copied().filter(|pair| !dies.shares(pair.one, pair.other)).collect();
    let fit = fit(&kept, chunks, &|run, channels| holds_whole_dies(dies, run, channels))?;
    Some((fit, kept.len()))
}

/// Deviations of pairs that share a channel as a share of their wait, and of others as one of those alone, at most.
const SHARED_VARIES: f64 = 1.2;
const ALONE_VARIES: f64 = 1.3;
/// Returns the channels that pairs wait for, in any order of the stripe, where a pair alone varies by `deviation_us`.
/// Up to half of those on a channel may wait for nothing, as they share a die; all others are explained.
pub(crate) fn of_any_pairs(pairs: &[Pair], chunks: usize, deviation_us: f64) -> Option<Channels> {
    best_fit(pairs, chunks, &|_, _| true)?.explained(deviation_us, pairs.len())
}

/// Returns the channels as [`of_any_pairs`] does, of pairs whose chunks are numbered in either of two ways, of which it
/// is not known which is right: by the one that explains the times clearly better, or by both.
pub(crate) fn of_either(pairs: [&[Pair]; 2], chunks: [usize; 2], deviation_us: f64) -> Option<Channels> {
    let fits = [0, 1].map(|way| best_fit(pairs[way], chunks[way], &|_, _| true));
    let found = [0, 1].map(|way| fits[way].and_then(|fit| fit.explained(deviation_us, pairs[way].len())));
    let left = fits.map(|fit| fit.map_or(f64::INFINITY, |fit| fit.left_us2));
    match found {
        [Some(one), Some(other)] if (one.count, one.run) == (other.count, other.run) => Some(one),
        // Chunks numbered wrongly may be apart by a multiple of other channels.
        [Some(one), _] if left[1] - left[0] > LEAD_VARIANCES * left[0] / pairs[0].len() as f64 => Some(one),
        [_, Some(other)] if left[0] - left[1] > LEAD_VARIANCES * left[1] / pairs[1].len() as f64 => {
            Some(other)
        }
        _ => None,
    }
}

/// Pairs that took longer than others, by how the chunks of both are numbered, and channels that explain them.
pub(crate) struct Late {
    /// Number of all of them.
    pub(crate) all: usize,
    /// Of these, pairs that share one of the channels, at the place of the runs that explains most of them.
    pub(crate) shared: usize,
    /// Most pairs that are alike in another way: whose chunks differ by the same number of channels, which is not 0.
    pub(crate) apart: usize,
}

impl Late {
    /// Counts the pairs that took longer than `late_us`.
    pub(crate) fn of(pairs: &[Pair], found: Channels, late_us: f64) -> Self {
        let late: Vec<&Pair> = pairs.iter().filter(|pair| pair.took_us > late_us).collect();
        let (run, channels) = (found.run.max(1), found.count);
        let apart = |pair: &Pair, offset: usize| {
            let [one, other] = [pair.one, pair.other].map(|chunk| (chunk + offset) / run);
            (other + channels - one % channels) % channels
        };
        let by_offset = (0..run).map(|offset| {
            let mut counts = vec![0; channels];
            late.iter().for_each(|pair| counts[apart(pair, offset)] += 1);
            (counts[0], counts[1..].iter().copied().max().unwrap_or(0))
        });
        let (shared, apart) =
            by_offset.fold((0, 0), |most, counts| (most.0.max(counts.0), most.1.max(counts.1)));
        Self { all: late.len(), shared, apart }
    }
}

fn holds_whole_dies(dies: Dies, run: usize, channels: usize) -> bool {
    dies.count().is_multiple_of(channels) && dies.period().is_multiple_of(run * channels)
}

/// Returns whether pairs of different dies wait for no channel of several dies: by every possible order their mean wait
/// is less than `most_us`, by this number of standard errors.
pub(crate) fn none_of_pairs(pairs: &[Pair], chunks: usize, dies: Dies, most_us: f64, errors: f64) -> bool {
    let all_pairs = PairSums::of(pairs);
    let is_possible =
        |run: usize, channels: usize| channels < dies.count() && holds_whole_dies(dies, run, channels);
    for run in 1..=LONGEST_RUN.min(dies.period()) {
        let all: Vec<usize> = (2..=CHANNELS_MAX).filter(|&channels| is_possible(run, channels)).collect();
        for offset in 0..if all.is_empty() { 0 } else { run } {
            let by_difference = by_difference(pairs, chunks, run, offset);
            let is_refuted = |channels: &usize| {
                let step = all_pairs.step(&by_difference, *channels);
                step.is_some_and(|step| step.value + errors * step.error < most_us)
            };
            if !all.iter().all(is_refuted) {
                return false;
            }
        }
    }
    true
}

/// Times of one read of a page, of its transfer on the bus and on the link, and of an array, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    one: Point,
    one_small: Point,
    /// A pair of pages inside a chunk.
    inside: Point,
    /// The size of a sector as a share of a page.
    small_share: f64,
    bus_us: f64,
    link_us: f64,
    /// Time that two reads on a die wait for its array, beyond the wait for the bus.
    array: Point,
}

impl Costs {
    fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        chunk: &Chunk,
        page: u64,
        repetitions: usize,
    ) -> Result<Self, EarlyEnd> {
        let (sector, pages) = (bench.sector_bytes(), chunk.size_bytes / page);
        let points = repeat(bench, 4, repetitions, |bench, kind| {
            let bytes = if kind % 2 == 0 { sector } else { page };
            let start = area.chunk_place(bench, chunk, chunk.size_bytes);
            let (first, apart) = (bench.random().below(pages), 1 + bench.random().below(pages.max(2) - 1));
            let at = |nth: u64| Access::read(start + nth % pages * page, bytes);
            let took = match kind {
                0 | 1 => bench.one(at(first))?,
                _ => bench.burst(&[at(first + apart), at(first)])?,
            };
            Ok(took.as_us_f64())
        })?;
        let [one_small, one, pair_small, pair] = std::array::from_fn(|kind| points[kind]);
        let rest = (page - sector) as f64;
        let both = (one.value - one_small.value) / rest;
        let bus = (((pair.value - pair_small.value) / rest) - both).clamp(0.0, both.max(0.0));
        let error = pair_small.error.hypot(one_small.error);
        Ok(Self {
            one,
            one_small,
            inside: pair,
            small_share: sector as f64 / page as f64,
            bus_us: bus * page as f64,
            link_us: (both - bus) * page as f64,
            array: Point { value: pair_small.value - one_small.value - bus * sector as f64, error },
        })
    }

    /// Time of a pair that shares a bus.
    fn shared_us(&self) -> f64 {
        self.one.value + self.bus_us
    }

    /// Returns the only channel, where all of the pairs of sectors and of pages wait for its bus.
    fn single_channel(&self, bus: BusTime, small: &[Pair], pairs: &[Pair]) -> Option<Channels> {
        let (small, large) = (Waits::of(small, self.one_small), Waits::of(pairs, self.one));
        let rest = 1.0 - self.small_share;
        let (bus_us, exceeds) = (rest * self.bus_us, rest * (self.bus_us - self.link_us));
        let is_seen =
            exceeds > BUS_EXCEEDS * bus_us && exceeds > STANDARD_ERRORS * large.error.hypot(small.error);
        // With two channels half of the pairs wait for the link only.
        let is_bus = large.mean - small.mean > bus_us - 0.25 * exceeds
            && large.lower - small.lower > bus_us - 0.4 * exceeds;
        // Pairs on a die wait longer still, so it is not the link that all of them wait for.
        let inside = self.inside.value - self.one.value - large.mean;
        let waits_for_die = inside > STANDARD_ERRORS * large.error.hypot(self.inside.error);
        // Nor is it by the time of a page on bus and link, as reads of trimmed space show it.
        let exceeds_link = large.mean > f64::midpoint(bus.least_us, bus.link_us)
            && bus.least_us > (1.0 + BUS_EXCEEDS) * bus.link_us;
        (is_seen && is_bus && waits_for_die && exceeds_link).then_some(Channels {
            count: 1,
            run: 0,
            step_us: exceeds,
            pairs: pairs.len(),
        })
    }

    /// Returns the channels that explain the pairs, where their wait is one for the bus.
    fn channels(&self, pairs: &[Pair], chunks: usize, dies: Option<Dies>) -> Option<Channels> {
        if let Some(dies) = dies {
            // What takes longer waited for an array: of a die that was taken for two.
            let most_us = WAIT_MAX * self.bus_us + 3.0 * self.array.error;
            return of_pairs(pairs, chunks, dies).filter(|found| found.step_us < most_us);
        }
        // Those that wait for an array are not compared with those that wait for a bus.
        let array_seen = self.array.value > STANDARD_ERRORS * self.array.error
            && self.array.value > OF_TRANSFER * self.bus_us;
        let most = if array_seen { self.shared_us() + 0.5 * self.array.value } else { f64::INFINITY };
        let kept: Vec<Pair> = pairs.iter().copied().filter(|pair| pair.took_us < most).collect();
        let fit = fit(&kept, chunks, &|_, _| true)?;
        let tolerance = match array_seen {
            true => OF_ARRAY * self.array.value,
            false => OF_TRANSFER * self.bus_us,
        };
        let is_exact = tolerance > 3.0 * fit.error_us;
        let expected = self.shared_us() - fit.apart_us;
        (is_exact && fit.step_us < expected + tolerance && fit.step_us > WAIT_MIN * expected).then_some(
            Channels { count: fit.channels, run: fit.run, step_us: fit.step_us, pairs: kept.len() },
        )
    }
}

/// How much longer pairs take than a single read, in microseconds: in the mean, and in that of the fastest quarter.
struct Waits {
    mean: f64,
    error: f64,
    lower: f64,
}

impl Waits {
    fn of(pairs: &[Pair], one: Point) -> Self {
        let mut waits: Vec<f64> = pairs.iter().map(|pair| pair.took_us - one.value).collect();
        waits.sort_unstable_by(f64::total_cmp);
        let n = waits.len() as f64;
        let mean = waits.iter().sum::<f64>() / n;
        let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / n;
        let lowest = &waits[..waits.len().div_ceil(4)];
        let lower = lowest.iter().sum::<f64>() / lowest.len() as f64;
        Self { mean, error: (variance / n).sqrt().hypot(one.error), lower }
    }
}

/// Of pairs of either kind, this part at each end of their times does not count, and without them this share of the
/// step is left at least.
const TRIMMED: usize = 10;
const OF_STEP: f64 = 0.4;
/// Parts of a multiple of the channels, and the least number of pairs that are in other parts than one, and share of
/// the step that these wait for.
const PARTS_MAX: i64 = 8;
const OTHERS_MIN: f64 = 16.0;
const OF_OTHERS: f64 = 0.3;

/// A pattern that explains times of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fit {
    run: usize,
    channels: usize,
    /// Place of the first chunk in its run.
    offset: usize,
    step_us: f64,
    error_us: f64,
    /// Mean time of pairs that share nothing.
    apart_us: f64,
    /// Mean square of what the pattern leaves of the times.
    left_us2: f64,
    /// Chunks of one run collide as those of later turns of the channels do.
    recurs: bool,
    /// Two turns of the channels are seen, and every other pattern explains clearly less.
    is_clear: bool,
}

/// Returns whether pairs, given by their number and the sum of their times, take a step longer than those apart; or
/// there are none, as in runs of one chunk.
fn is_step((pairs, time): (f64, f64), apart_us: f64, step_us: f64) -> bool {
    pairs == 0.0 || (WAIT_MIN..2.0).contains(&((time / pairs - apart_us) / step_us))
}

impl Fit {
    /// Returns whether pairs that share no channel vary far more than those that do: as where only a part of those that
    /// wait is predicted to.
    fn misses_some(&self, pairs: &[Pair]) -> bool {
        let run_of = |chunk: usize| (chunk + self.offset) / self.run;
        let [shared, apart] = [true, false].map(|is_shared| {
            let shares = |pair: &&Pair| {
                run_of(pair.one).abs_diff(run_of(pair.other)).is_multiple_of(self.channels) == is_shared
            };
            let kept: Vec<Pair> = pairs.iter().filter(shares).copied().collect();
            let PairSums { count, sum, squares } = PairSums::of(&kept);
            squares / count - (sum / count).powi(2)
        });
        apart > APART_VARIES * shared
    }

    /// Returns whether pairs that share a channel take longer also without those that took longest and least of either
    /// kind: a single one that garbage collection delayed is in some pattern by chance.
    fn is_of_many(&self, pairs: &[Pair]) -> bool {
        let run_of = |chunk: usize| (chunk + self.offset) / self.run;
        let [shared, apart] = [true, false].map(|is_shared| {
            let shares = |pair: &&Pair| {
                run_of(pair.one).abs_diff(run_of(pair.other)).is_multiple_of(self.channels) == is_shared
            };
            let mut took_us: Vec<f64> = pairs.iter().filter(shares).map(|pair| pair.took_us).collect();
            took_us.sort_unstable_by(f64::total_cmp);
            let ends = (took_us.len() / TRIMMED).max(2);
            let kept = &took_us[ends..took_us.len() - ends];
            kept.iter().sum::<f64>() / kept.len() as f64
        });
        shared - apart > OF_STEP * self.step_us
    }

    /// Returns whether all that wait differ by the same part of a multiple of the channels, and others that should wait
    /// do not: then what is counted is a divisor of the channels, of chunks whose numbers are off by some. Of two parts
    /// the first may share a die.
    fn is_of_one_part(&self, pairs: &[Pair]) -> bool {
        let run_of = |chunk: usize| (chunk + self.offset) / self.run;
        let turns = |pair: &Pair| {
            let runs = run_of(pair.one) as i64 - run_of(pair.other) as i64;
            (runs % self.channels as i64 == 0).then_some(runs / self.channels as i64)
        };
        let shared: Vec<(i64, f64)> =
            pairs.iter().filter_map(|pair| turns(pair).map(|turns| (turns, pair.took_us))).collect();
        let others_wait = |parts: i64, part: i64| {
            let others = shared.iter().filter(|(turns, _)| turns.rem_euclid(parts) != part);
            let (count, sum) = others.fold((0.0, 0.0), |(count, sum), (_, us)| (count + 1.0, sum + us));
            count < OTHERS_MIN || sum / count - self.apart_us > OF_OTHERS * self.step_us
        };
        let mut all = (2..=PARTS_MAX).flat_map(|parts| (0..parts).map(move |part| (parts, part)));
        all.any(|(parts, part)| (parts, part) != (2, 1) && !others_wait(parts, part))
    }

    /// Returns the channels, where the pattern is clear and explains all that pairs differ by.
    fn explained(self, deviation_us: f64, pairs: usize) -> Option<Channels> {
        let varies =
            SHARED_VARIES * self.step_us.powi(2) / self.channels as f64 + ALONE_VARIES * deviation_us.powi(2);
        let channels = Channels { count: self.channels, run: self.run, step_us: self.step_us, pairs };
        (self.is_clear && self.left_us2 < varies).then_some(channels)
    }
}

/// Returns the pattern of those possible, by run and number of channels, that explains the times clearly better than
/// any other.
fn fit(pairs: &[Pair], chunks: usize, is_possible: &dyn Fn(usize, usize) -> bool) -> Option<Fit> {
    best_fit(pairs, chunks, is_possible).filter(|fit| fit.is_clear)
}

/// Returns the pattern of those possible that explains the times best, and whether it is clear.
fn best_fit(pairs: &[Pair], chunks: usize, is_possible: &dyn Fn(usize, usize) -> bool) -> Option<Fit> {
    let all_pairs = PairSums::of(pairs);
    let count = all_pairs.count;
    // Squared errors left, and the best pattern of each.
    let (mut best, mut next): (Option<(f64, Fit)>, f64) = (None, f64::INFINITY);
    for run in 1..=LONGEST_RUN.min(chunks / 4) {
        let all: Vec<usize> =
            (2..=CHANNELS_MAX.min(chunks / run + 1)).filter(|&channels| is_possible(run, channels)).collect();
        for offset in 0..if all.is_empty() { 0 } else { run } {
            let by_difference = by_difference(pairs, chunks, run, offset);
            // With as many channels as runs no two runs share one.
            for &channels in &all {
                let Some((left, tried)) = all_pairs.fit(&by_difference, [run, channels, offset]) else {
                    continue;
                };
                if left >= next {
                    continue;
                }
                match &mut best {
                    Some((least, found)) if left < *least => {
                        // The same pattern at another offset is no other.
                        if (found.run, found.channels) != (run, channels) {
                            next = *least;
                        }
                        (*least, *found) = (left, tried);
                    }
                    Some((_, found)) if (found.run, found.channels) == (run, channels) => {}
                    Some(_) => next = left,
                    None => best = Some((left, tried)),
                }
            }
        }
    }
    let (left, fit) = best?;
    let is_seen = fit.recurs
        && 2 * fit.run * fit.channels <= chunks
        && !fit.misses_some(pairs)
        && fit.is_of_many(pairs)
        && !fit.is_of_one_part(pairs);
    let is_clear = is_seen
        && fit.step_us > STANDARD_ERRORS * fit.error_us
        && next - left > LEAD_VARIANCES * left / count;
    Some(Fit { is_clear, ..fit })
}

/// The number of pairs, the sum of their times and the sum of the squares of these.
struct PairSums {
    count: f64,
    sum: f64,
    squares: f64,
}

impl PairSums {
    fn of(pairs: &[Pair]) -> Self {
        Self {
            count: pairs.len() as f64,
            sum: pairs.iter().map(|pair| pair.took_us).sum(),
            squares: pairs.iter().map(|pair| pair.took_us * pair.took_us).sum(),
        }
    }

    /// Returns the number and the time of the pairs whose runs differ by a multiple of `channels`; `None` where these,
    /// or the others, are few.
    fn sharing(&self, by_difference: &[(f64, f64)], channels: usize) -> Option<(f64, f64)> {
        let (mut shared, mut sharing) = (0.0, 0.0);
        for (pairs, time) in by_difference.iter().step_by(channels) {
            shared += pairs;
            sharing += time;
        }
        (8.0..=self.count - 8.0).contains(&shared).then_some((shared, sharing))
    }

    /// Returns how much longer pairs take whose runs differ by a multiple of `channels`; `None` where few do, or few do
    /// not.
    fn step(&self, by_difference: &[(f64, f64)], channels: usize) -> Option<Point> {
        let Self { count, sum, squares } = *self;
        let (shared, sharing) = self.sharing(by_difference, channels)?;
        let value = sharing / shared - (sum - sharing) / (count - shared);
        let variance = squares / count - (sum / count).powi(2);
        Some(Point { value, error: (variance * (1.0 / shared + 1.0 / (count - shared))).sqrt() })
    }

    /// Fits a pattern: pairs whose runs differ by a multiple of `channels` share one. Returns it with the squared
    /// errors that it leaves; `None` where few pairs share a channel, or few do not, or those that do are no slower.
    fn fit(&self, by_difference: &[(f64, f64)], [run, channels, offset]: [usize; 3]) -> Option<(f64, Fit)> {
        let Self { count, sum, squares } = *self;
        let (shared, sharing) = self.sharing(by_difference, channels)?;
        let apart_us = (sum - sharing) / (count - shared);
        let step_us = sharing / shared - apart_us;
        if step_us <= 0.0 {
            return None;
        }
        let left = squares - sharing * sharing / shared - (sum - sharing) * apart_us;
        let error_us = (left / count * (1.0 / shared + 1.0 / (count - shared))).sqrt();
        let same_run = by_difference[0];
        let recurs = is_step(same_run, apart_us, step_us)
            && is_step((shared - same_run.0, sharing - same_run.1), apart_us, step_us);
        let left_us2 = left / count;
        Some((
            left,
            Fit { run, channels, offset, step_us, error_us, apart_us, left_us2, recurs, is_clear: false },
        ))
    }
}

#[cfg(test)]
#[path = "channels_tests.rs"]
mod tests;
