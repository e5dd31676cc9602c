//! Channels by single reads of several neighbouring chunks: one request at a time, however places are chosen.
//!
//! A read of `n` chunks has them transferred on all channels at once, and each bus carries those of its channel one
//! after the other. So where the buses together are slower than the link, or nearly so, the read takes as long as the
//! channel with the *most* of these chunks: with each turn of the channels it takes a chunk's transfers longer.
//! Whatever the order of the stripe, it stays on a channel for a run of chunks and goes on to the next, so that run and
//! number of channels say how many chunks of any read share a channel.
//!
//! *Size.* Nothing is fitted but a bus between the limits that reads of flash and of trimmed space set (`bus_time`):
//! the time of a page and of a chunk are measured, and those of all reads follow. A pattern counts if they come out,
//! and those of no other pattern do: where two patterns predict different times, those measured have to be the one's. A
//! bus that six channels share may be as fast as the link, or as a chunk's dies, so that both take as long: only the
//! steps of several channels are theirs, which have to be seen beside the trend of the times. Dies whose array times
//! hide transfers (a chunk takes longer on its die than two on one bus) show nothing.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::bus_time::BusTime;
use crate::channels::Channels;
use crate::dies::PLANES_MAX;
use crate::error::EarlyEnd;
use crate::pattern;
use flashlane_workload::Access;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Most chunks of a read, of the first attempt and of further ones: in few turns of the channels few dies recur.
const CHUNKS_MAX: [usize; 8] = [8, 12, 18, 26, 40, 60, 90, 130];
/// Reads of an attempt, and pages that they read in total, at most.
const READS: usize = 260;
const PAGES_MAX: u64 = 130_000;
/// Reads of a page and of a chunk that the times of others follow from.
const REFERENCE: usize = 48;
/// Most channels, and longest run, in chunks.
const CHANNELS_MAX: usize = 64;
const LONGEST_RUN: usize = 48;
/// Longest run of one of two channels, as of eight packages of four dies with four planes.
const LONGEST_OF_TWO: usize = 128;
/// Times of a bus that are tried between its limits, and the most that these may differ from each other.
const BUS_TIMES: usize = 5;
const BUS_EXACT: f64 = 1.5;
/// Root mean square of what a pattern leaves unexplained, as a share of a chunk's transfers, at most: of several chunks
/// on a channel some may share a die.
const UNEXPLAINED: f64 = 0.25;
/// Lengths of reads of more than a turn of the channels, at least; and a quarter of a turn.
const LENGTHS_MIN: usize = 4;
/// Another pattern leaves at least this share of the squares that it is predicted to leave more than the best.
const OF_PREDICTED: f64 = 0.6;
/// And these squares are at least this number of variances of a read.
const LEAD_VARIANCES: f64 = 40.0;
/// Dies that take longer for a chunk than this multiple of its transfers are told from channels by that.
const SLOWER_DIE: f64 = 1.25;

/// Looks for the channels; `None` where the link or the dies hide them.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    page_bytes: u64,
) -> Result<Option<Channels>, EarlyEnd> {
    let is_possible = page_bytes > bench.sector_bytes() && chunk.size_bytes.is_multiple_of(page_bytes);
    let Some(bus) = BusTime::measure(bench, area, page_bytes)?.filter(|_| is_possible) else {
        return Ok(None);
    };
    if bus.most_us > BUS_EXACT * bus.least_us {
        return Ok(None);
    }
    let costs = Costs::measure(bench, area, chunk, page_bytes, bus)?;
    let chunks = area.chunks(chunk) as usize;
    let mut ends = BTreeSet::new();
    for most in CHUNKS_MAX {
        let most = most.min(chunks / 2);
        // The first reads are short, and as many of each length.
        let mean_pages = chunk.size_bytes / page_bytes * (most as u64).div_ceil(2);
        let rounds = (PAGES_MAX / mean_pages.max(1) / most as u64).min((READS / most) as u64);
        if rounds == 0 {
            break;
        }
        let mut spans = Vec::new();
        for nth in 0..rounds as usize * most {
            let count = 1 + nth % most;
            // A read that begins where another ended would look sequential, and start a readahead.
            let mut random_first = || bench.random().below((chunks - count) as u64 + 1) as usize;
            let mut first = random_first();
            while ends.contains(&first) && ends.len() < chunks / 4 {
                first = random_first();
            }
            ends.insert(first + count);
            let read = Access::read(area.chunk_start(chunk, first as u64), count as u64 * chunk.size_bytes);
            spans.push(Span { first, count, took_us: bench.one(read)?.as_us_f64() });
        }
        if let Some(found) = costs.fit(&spans) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A read of some chunks.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: usize,
    count: usize,
    took_us: f64,
}

/// An order of the stripe over channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pattern {
    run: usize,
    channels: usize,
    /// Place of the first chunk in its run.
    offset: usize,
}

impl Pattern {
    /// Returns the most chunks of a read that lie on one channel, and the number of channels with as many.
    fn busiest(self, span: &Span) -> Busiest {
        let Self { run, channels, offset } = self;
        let turn = run * channels;
        let (turns, rest) = (span.count / turn, span.count % turn);
        if rest == 0 {
            return Busiest { chunks: turns * run, channels };
        }
        let phase = (span.first + offset) % run;
        // The first run is cut off at its start, and may recur at the end.
        let first = rest.min(run - phase);
        let again = rest.saturating_sub(turn - phase);
        let (one, others) = (first + again, run.min(rest - first));
        let alike = ((rest - first - again) / run).max(1);
        let channels = match one.cmp(&others) {
            Ordering::Less => alike,
            Ordering::Equal => alike + 1,
            Ordering::Greater => 1,
        };
        Busiest { chunks: turns * run + one.max(others), channels }
    }
}

/// The channels with the most chunks of a read, and these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Busiest {
    chunks: usize,
    channels: usize,
}

/// Times in microseconds from which those of all reads follow.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// One read of a page.
    page_us: f64,
    /// One read of a chunk.
    chunk_us: f64,
    chunk_pages: f64,
    /// A page on a bus, at least and at most, and on the link.
    bus_us: [f64; 2],
    link_us: f64,
    /// How far the time on the link may be off.
    link_error_us: f64,
}

impl Costs {
    fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        chunk: &Chunk,
        page_bytes: u64,
        bus: BusTime,
    ) -> Result<Self, EarlyEnd> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..REFERENCE {
            for (times, bytes) in times.iter_mut().zip([page_bytes, chunk.size_bytes]) {
                let at = area.chunk_place(bench, chunk, 0);
                times.push(bench.one(Access::read(at, bytes))?.as_us_f64());
            }
        }
        let [page_us, chunk_us] = times.map(|mut times| pattern::point(&mut times).value);
        Ok(Self {
            page_us,
            chunk_us,
            chunk_pages: (chunk.size_bytes / page_bytes) as f64,
            bus_us: [bus.least_us, bus.most_us],
            link_us: bus.page_on_link_us,
            link_error_us: bus.page_on_link_us - bus.least_link_us,
        })
    }

    /// Returns the time of a read with these busiest channels, and with this time of a page on a bus.
    fn predicted_us(&self, span: &Span, busiest: Busiest, bus_us: f64) -> f64 {
        let pages = |chunks: usize| chunks as f64 * self.chunk_pages;
        // The last pages of all of them reach the link at once.
        let last_us = busiest.channels as f64 * self.link_us;
        let by_bus = pages(busiest.chunks) * bus_us + last_us;
        let by_link = bus_us + pages(span.count) * self.link_us;
        let first_us = self.page_us - bus_us - self.link_us;
        (first_us + by_bus.max(by_link)).max(self.chunk_us - self.link_us + last_us)
    }

    /// Returns what a pattern with this time of a bus leaves of the reads.
    fn tried_at(&self, spans: &[Span], pattern: Pattern, bus_us: f64) -> Tried {
        let predicted = |span: &Span| self.predicted_us(span, pattern.busiest(span), bus_us);
        let predicted: Vec<f64> = spans.iter().map(predicted).collect();
        let took = spans.iter().map(|span| span.took_us);
        Tried { left: mean_square(took, &predicted), pattern, predicted }
    }

    /// Returns the place of the first chunk that leaves the least of the reads, and what it leaves.
    fn tried(&self, spans: &[Span], run: usize, channels: usize) -> Tried {
        let [least, most] = self.bus_us;
        let with =
            |offset: usize, bus_us: f64| self.tried_at(spans, Pattern { run, channels, offset }, bus_us);
        let least_left = |one: &Tried, other: &Tried| one.left.total_cmp(&other.left);
        let middle = (0..run).map(|offset| with(offset, f64::midpoint(least, most))).min_by(least_left);
        let offset = middle.expect("a run has a chunk").pattern.offset;
        let step = (most - least) / (BUS_TIMES - 1) as f64;
        let all = (0..BUS_TIMES).map(|nth| with(offset, least + step * nth as f64));
        all.min_by(least_left).expect("several times are tried")
    }

    /// Returns the order of the stripe that explains the reads, and that no other does.
    fn fit(&self, spans: &[Span]) -> Option<Channels> {
        let longest = spans.iter().map(|span| span.count).max()?;
        let mut all = Vec::new();
        for run in 1..=LONGEST_RUN.min(longest) {
            // With one channel all runs are alike.
            let is_other = |channels: &usize| *channels > 1 || run == 1;
            // Of channels that do not recur the run matters only.
            for channels in
                (1..=CHANNELS_MAX).filter(is_other).take_while(|n| *n <= 2 || run * (n - 1) <= longest)
            {
                all.push(self.tried(spans, run, channels));
            }
        }
        let best = all.iter().min_by(|one, other| one.left.total_cmp(&other.left))?;
        let Pattern { run, channels, .. } = best.pattern;
        let chunk_bus_us = self.chunk_pages * self.bus_us[0];
        let is_explained = best.left.sqrt() < UNEXPLAINED * chunk_bus_us;
        let is_only = all.iter().all(|other| other.pattern == best.pattern || other.is_refuted_by(best))
            && self.without_buses(spans).iter().all(|other| other.is_refuted_by(best));
        let turn = run * channels;
        let recurs = self.least_turns() * turn + (turn / 4).max(LENGTHS_MIN) <= longest;
        let is_one = match channels {
            1 => self.is_no_long_run(spans, best),
            _ => self.differs_from_link(channels) && best.has_steps(spans),
        };
        (recurs && is_explained && is_only && is_one).then_some(Channels {
            count: channels,
            run,
            step_us: chunk_bus_us,
            pairs: spans.len(),
        })
    }
}

impl Costs {
    /// Returns the number of turns of the channels that reads have to cover. Where a die takes longer for a chunk than
    /// a bus for two, a second die on a channel need not show, and chunks on the planes of a die that read at once take
    /// a transfer each: they look like channels until all planes are read.
    fn least_turns(&self) -> usize {
        let is_hidden = self.chunk_us - self.link_us > 2.0 * self.chunk_pages * self.bus_us[1];
        if is_hidden { PLANES_MAX } else { 1 }
    }

    /// Returns what is left where no bus is waited for: by dies that recur, each of which takes its chunks one after
    /// the other, if that takes longer than their transfers; last by dies that do not recur, so that only the link is
    /// waited for.
    fn without_buses(&self, spans: &[Span]) -> Vec<Tried> {
        let longest = spans.iter().map(|span| span.count).max().unwrap_or(0);
        let page_us = (self.chunk_us - self.page_us) / (self.chunk_pages - 1.0).max(1.0);
        let die_us = if self.chunk_pages > 1.0 { page_us * self.chunk_pages } else { self.page_us };
        let first = if die_us > SLOWER_DIE * self.chunk_pages * self.bus_us[1] { 1 } else { longest };
        (first..=longest)
            .map(|channels| {
                let pattern = Pattern { run: 1, channels, offset: 0 };
                let predicted = spans.iter().map(|span| {
                    let chunks = span.count.div_ceil(channels);
                    self.predicted_us(
                        span,
                        Busiest { chunks: 1, channels: span.count.min(channels) },
                        self.bus_us[0],
                    )
                    .max(self.chunk_us + (chunks - 1) as f64 * die_us)
                });
                let predicted: Vec<f64> = predicted.collect();
                let took = spans.iter().map(|span| span.took_us);
                Tried { left: mean_square(took, &predicted), pattern, predicted }
            })
            .collect()
    }

    /// Returns whether the link takes longer, or less long, for a page of each channel than a bus for one, by more than
    /// that may be off: else turns of these channels are told from the link's by nothing.
    fn differs_from_link(&self, channels: usize) -> bool {
        let [least, most] = self.bus_us;
        (f64::midpoint(least, most) - channels as f64 * self.link_us).abs()
            > 0.5 * (most - least) + channels as f64 * self.link_error_us
    }

    /// Returns whether the reads refute two channels in runs as long as any, wherever they begin: within a run all
    /// chunks are on one bus.
    fn is_no_long_run(&self, spans: &[Span], single: &Tried) -> bool {
        let bus_us = f64::midpoint(self.bus_us[0], self.bus_us[1]);
        (1..=LONGEST_OF_TWO).flat_map(|run| (0..run).map(move |offset| (run, offset))).all(|(run, offset)| {
            self.tried_at(spans, Pattern { run, channels: 2, offset }, bus_us).is_refuted_by(single)
        })
    }
}

/// A pattern with the times that it predicts, and the mean square that it leaves.
struct Tried {
    left: f64,
    pattern: Pattern,
    predicted: Vec<f64>,
}

impl Tried {
    /// Returns whether the reads are those of the other pattern: where that is right, this one leaves as much more as
    /// they differ.
    fn is_refuted_by(&self, best: &Self) -> bool {
        let differ = mean_square(self.predicted.iter().copied(), &best.predicted);
        let count = self.predicted.len() as f64;
        self.left - best.left > OF_PREDICTED * differ && differ * count > LEAD_VARIANCES * best.left
    }

    /// Returns whether the times step as this pattern predicts with each turn of the channels: beside their trend,
    /// which is the mean over a turn, they have to be as those predicted are.
    fn has_steps(&self, spans: &[Span]) -> bool {
        let turn = self.pattern.run * self.pattern.channels;
        let beside_trend = |us: &[f64]| -> Vec<f64> {
            let near = |one: &Span, other: &Span| 2 * one.count.abs_diff(other.count) <= turn;
            let trend = |at: &Span| {
                let near = spans.iter().zip(us).filter(|(span, _)| near(at, span)).map(|(_, us)| *us);
                let (count, sum) = near.fold((0.0, 0.0), |(count, sum), us| (count + 1.0, sum + us));
                sum / count
            };
            spans.iter().zip(us).map(|(span, us)| us - trend(span)).collect()
        };
        let took: Vec<f64> = spans.iter().map(|span| span.took_us).collect();
        let (took, predicted) = (beside_trend(&took), beside_trend(&self.predicted));
        let product: f64 = took.iter().zip(&predicted).map(|(took, predicted)| took * predicted).sum();
        let squares: f64 = predicted.iter().map(|predicted| predicted.powi(2)).sum();
        squares > 0.0 && product > OF_PREDICTED * squares
    }
}

fn mean_square(values: impl Iterator<Item = f64>, others: &[f64]) -> f64 {
    values.zip(others).map(|(one, other)| (one - other).powi(2)).sum::<f64>() / others.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    const COSTS: Costs = Costs {
        page_us: 50.0,
        chunk_us: 114.0,
        chunk_pages: 4.0,
        bus_us: [19.0, 21.0],
        link_us: 2.0,
        link_error_us: 0.0,
    };

    /// Reads of up to 48 chunks, on channels as counted one by one.
    fn spans(run: usize, channels: usize, bus_us: f64) -> Vec<Span> {
        let mut random = Seed(5).source();
        (0..240)
            .map(|nth| {
                let (first, count) = (random.below(600) as usize, 1 + nth % 48);
                let mut on = vec![0; channels];
                (first..first + count).for_each(|chunk| on[(chunk + 3) / run % channels] += 1);
                let most = on.iter().copied().max().unwrap();
                let busiest =
                    Busiest { chunks: most, channels: on.into_iter().filter(|n| *n == most).count() };
                let span = Span { first, count, took_us: 0.0 };
                let pattern = Pattern { run, channels, offset: 3 };
                assert_eq!(pattern.busiest(&span), busiest, "{pattern:?} {span:?}");
                Span { took_us: COSTS.predicted_us(&span, busiest, bus_us) + random.unit(), ..span }
            })
            .collect()
    }

    #[test]
    fn channels_are_found_in_any_order() {
        for (run, channels) in [(1, 1), (1, 6), (1, 12), (2, 8), (4, 5), (12, 2)] {
            let found = COSTS.fit(&spans(run, channels, 20.0)).unwrap();
            assert_eq!(
                (found.count, (channels > 1).then_some(found.run)),
                (channels, (channels > 1).then_some(run))
            );
        }
    }

    #[test]
    fn channels_that_do_not_recur_or_that_the_link_hides_are_not_found() {
        assert_eq!(COSTS.fit(&spans(1, 40, 20.0)), None);
        let slow_link = Costs { link_us: 21.0, ..COSTS };
        let mut spans = spans(1, 6, 20.0);
        spans.iter_mut().for_each(|span| {
            span.took_us = slow_link.predicted_us(span, Busiest { chunks: 1, channels: 1 }, 20.0)
        });
        assert_eq!(slow_link.fit(&spans), None);
    }

    #[test]
    fn long_run_is_no_single_channel() {
        let mut spans = spans(60, 12, 20.0);
        // Some of them cross the end of a run.
        spans.retain(|span| span.count <= 12);
        assert_eq!(COSTS.fit(&spans), None);
    }

    /// As seen on a drive with 20 channels: its link takes as long for six chunks as a bus for one.
    #[test]
    fn line_without_steps_shows_no_channels() {
        let costs = Costs {
            page_us: 32.5,
            chunk_us: 69.3,
            bus_us: [4.0, 4.2],
            link_us: 0.646,
            link_error_us: 0.0,
            ..COSTS
        };
        let mut random = Seed(5).source();
        let mut spans = |us: &dyn Fn(&Span) -> f64| -> Vec<Span> {
            (0..180)
                .map(|nth| {
                    let span = Span { first: random.below(8000) as usize, count: 1 + nth % 90, took_us: 0.0 };
                    Span { took_us: us(&span) + random.unit(), ..span }
                })
                .collect()
        };
        let (six, four) =
            (Pattern { run: 1, channels: 6, offset: 0 }, Pattern { run: 1, channels: 4, offset: 0 });
        for pattern in [six, four] {
            let found = costs.fit(&spans(&|span| costs.predicted_us(span, pattern.busiest(span), 4.0)));
            assert_eq!(found.map(|found| found.count), Some(pattern.channels));
        }
        let line = |span: &Span| (31.6 + 2.745 * span.count as f64).max(68.6 + 0.66 * span.count as f64);
        assert_eq!(costs.fit(&spans(&line)), None);
    }

    /// As seen on a drive with 24 dies, each of which takes as long for a chunk as a bus for six.
    #[test]
    fn dies_that_recur_are_no_channels() {
        let costs = Costs {
            page_us: 82.8,
            chunk_us: 4990.7,
            chunk_pages: 128.0,
            bus_us: [5.71, 6.56],
            link_us: 2.685,
            link_error_us: 0.0,
        };
        for seed in 0..20 {
            let mut random = Seed(seed).source();
            let spans: Vec<Span> = (1..=40_usize)
                .map(|count| {
                    let first = random.below(80) as usize;
                    let (on_link, on_die) = (57.0 + 341.8 * count as f64, 4970.0 * count.div_ceil(24) as f64);
                    Span { first, count, took_us: on_link.max(on_die) + 10.0 * random.unit() }
                })
                .collect();
            assert_eq!(costs.fit(&spans), None, "seed {seed}");
        }
    }

    /// As seen on a drive with a fast link: reads of up to 65 chunks wait for dies, and of more for the link.
    #[test]
    fn bend_from_dies_to_the_link_is_no_turn_of_channels() {
        let costs = Costs {
            page_us: 120.5,
            chunk_us: 330.6,
            chunk_pages: 3.0,
            bus_us: [6.8, 9.0],
            link_us: 1.415,
            link_error_us: 0.0,
        };
        let mut random = Seed(5).source();
        let spans: Vec<Span> = (0..260)
            .map(|nth| {
                let (first, count) = (random.below(3000) as usize, 1 + nth % 130);
                let chunks = count as f64;
                let dies = (328.0 + 4.0 * chunks).min(347.0_f64.max(328.0 + 1.36 * chunks));
                Span { first, count, took_us: dies.max(116.6 + 4.28 * chunks) + random.unit() }
            })
            .collect();
        assert_eq!(costs.fit(&spans), None);
    }

    /// Dies take as long for a chunk as the pattern of channels says, but their array times are no transfers.
    #[test]
    fn steps_of_another_height_are_not_found() {
        assert_eq!(COSTS.fit(&spans(1, 6, 32.0)), None);
    }
}
