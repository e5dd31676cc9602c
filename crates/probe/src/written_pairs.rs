//! Dies and channels of a drive that takes one request at a time, if it places pages in the order of writes.
//!
//! One read of two neighbouring pages is a pair of reads. Where places follow from the order of writes, the two pages
//! lie in any two chunks that they are written to: pages are overwritten in random order, and the turns of each two
//! neighbours are their chunks. Such a pair takes an array time longer on one die, as it does in a chunk, and the time
//! of a transfer longer on one channel. Where places follow from addresses, all pairs are alike, and nothing is found.
//!
//! - *One die per channel.* Where no order of the stripe lets pairs on different dies wait for a bus, though they would
//!   have been seen to, each die has its channel, or all share one (`busy_buses`).
//! - *Busy buses.* Where a bus takes longer for a page than an array, as with cache mode, those that wait are on one
//!   channel, and not only on one die: no dies explain them, but channels do.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::bus_time::BusTime;
use crate::busy_buses::Buses;
use crate::channels::{self, Channels};
use crate::dies::{ChunkPair, Dies};
use crate::error::EarlyEnd;
use crate::mapping::Neighbours;
use crate::pair::Pair;
use crate::pattern;
use crate::rewritten::Rewritten;
use flashlane_workload::Access;

/// Reads of a reference.
const REFERENCE: usize = 400;
/// Pages that are overwritten, at first and where these show no dies: at least so many, and so many chunks.
const PAGES_MIN: [u64; 2] = [6000, 24_000];
const CHUNKS: u64 = 400;
/// Pairs that are read.
const PAIRS_MAX: usize = 12_000;
/// An array time is seen in the mean of so many reads that it is this number of standard deviations, and at most so
/// many.
const DEVIATIONS: f64 = 8.0;
const READS_MAX: usize = 12;
/// Pairs on one die are faster than those in a chunk by at most this number of standard deviations.
const SLOW: f64 = 3.5;
/// Pairs on one die are as slow as those in a chunk, but for this share of the step. Pairs that only share a channel
/// are faster, and pass for slow ones where a cache answers some reads of the few chunks of a drive.
const DIFFERS_MAX: f64 = 0.1;
/// Pairs on a channel wait for at least this share of the time that follows from the times of a page on bus and link,
/// and for at most this multiple of a transfer; refuted by this number of standard errors.
const SEEN_OF_WAIT: f64 = 0.4;
const WAIT_MAX: f64 = 1.3;
const STANDARD_ERRORS: f64 = 6.0;
/// Least share of a transfer that the link does not hide.
const NOT_HIDDEN: f64 = 0.5;

/// What pairs show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WrittenPairs {
    /// `None` where all that share a channel take as long as on one die.
    pub(crate) dies: Option<Dies>,
    /// How much longer pairs take on one die, in microseconds.
    pub(crate) step_us: f64,
    /// Whether that is longer than they would wait for the bus of a channel: what looks like a die is one.
    pub(crate) is_array_time: bool,
    pub(crate) buses: Buses,
}

/// Looks for dies and channels. The area MUST have been filled in order, with `fill_bytes` per request, and nothing
/// been written since; it is when this returns.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    page_bytes: u64,
    fill_bytes: u64,
) -> Result<Option<WrittenPairs>, EarlyEnd> {
    let is_possible = chunk.size_bytes >= 2 * page_bytes;
    let Some(rewritten) = Rewritten::new(bench, area, chunk, page_bytes).filter(|_| is_possible) else {
        return Ok(None);
    };
    let Some(step) = PairStep::measure(bench, area, chunk, page_bytes)? else { return Ok(None) };
    let bus = BusTime::measure(bench, area, page_bytes)?;
    let mut pages = Pages { rewritten, pairs: Vec::new(), bus };
    let mut found = None;
    for least in PAGES_MIN {
        pages.overwrite(bench, least)?;
        found = pages.find(bench, &step)?.or(found);
        // Of few pairs too few share one of many dies, but enough a channel.
        if found.is_some_and(|found: WrittenPairs| found.dies.is_some()) {
            break;
        }
    }
    pages.rewritten.restore(bench, fill_bytes, 1)?;
    Ok(found)
}

/// How one read across two pages of a chunk differs from one across two chunks.
struct PairStep {
    step_us: f64,
    /// Pairs in a chunk take this long.
    inside_us: f64,
    /// Pairs on one die take longer than this: as long as those in a chunk, but for noise.
    slow_us: f64,
    /// Reads whose mean shows the step.
    reads: usize,
}

impl PairStep {
    fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        chunk: &Chunk,
        page_bytes: u64,
    ) -> Result<Option<Self>, EarlyEnd> {
        let found = Neighbours::measure(bench, area, chunk, page_bytes, REFERENCE)?;
        let step = found.step();
        // Some of the pairs across two chunks may share a channel: they are of two kinds.
        let deviation_us = found.inside.error * (REFERENCE as f64).sqrt();
        let reads = (DEVIATIONS * deviation_us / step.value.max(1e-3)).powi(2).ceil().max(1.0);
        let is_seen = step.value > DEVIATIONS * step.error && reads <= READS_MAX as f64;
        Ok(is_seen.then(|| Self {
            step_us: step.value,
            inside_us: found.inside.value,
            slow_us: found.inside.value - SLOW * deviation_us / reads.sqrt(),
            reads: reads as usize,
        }))
    }

    /// Returns the dies on one of which pairs are as slow as those in a chunk. Where what explains the slow pairs is
    /// faster, it is channels, and pairs on a die are slower still.
    fn dies(&self, pairs: &[Pair]) -> Option<Dies> {
        let dies = dies_of_slow(pairs, self.slow_us)?;
        let shared_us = shared_us(dies, pairs)?;
        match self.is_as_slow(shared_us) {
            true => Some(dies),
            false => dies_of_slow(pairs, f64::midpoint(shared_us, self.inside_us))
                .filter(|dies| self::shared_us(*dies, pairs).is_some_and(|us| self.is_as_slow(us))),
        }
    }

    fn is_as_slow(&self, us: f64) -> bool {
        (us - self.inside_us).abs() <= DIFFERS_MAX * self.step_us
    }
}

/// Returns the dies that explain which pairs take longer than `slow_us`.
fn dies_of_slow(pairs: &[Pair], slow_us: f64) -> Option<Dies> {
    let sample = |pair: &Pair| ChunkPair {
        by_address: pair.one,
        by_turn: pair.one,
        other: pair.other,
        is_shared: pair.took_us > slow_us,
    };
    let samples: Vec<ChunkPair> = pairs.iter().map(sample).collect();
    let fit = Dies::fit(&samples, &[]).filter(|fit| fit.rival.is_none() && fit.is_exact());
    fit.map(|fit| fit.dies)
}

/// Returns the time of pairs on one of the dies, in microseconds; `None` where there are none.
fn shared_us(dies: Dies, pairs: &[Pair]) -> Option<f64> {
    let shared = pairs.iter().filter(|pair| dies.shares(pair.one, pair.other));
    let mut took_us: Vec<f64> = shared.map(|pair| pair.took_us).collect();
    (!took_us.is_empty()).then(|| pattern::point(&mut took_us).value)
}

/// Returns how much longer pairs take on one of the dies than others, in microseconds; 0 where all or none share one.
fn seen_step_us(dies: Dies, pairs: &[Pair]) -> f64 {
    let middle = |shared: bool| {
        let kept = pairs.iter().filter(|pair| dies.shares(pair.one, pair.other) == shared);
        let mut took_us: Vec<f64> = kept.map(|pair| pair.took_us).collect();
        (!took_us.is_empty()).then(|| pattern::point(&mut took_us).value)
    };
    middle(true).zip(middle(false)).map_or(0.0, |(shared, apart)| shared - apart)
}

/// Two neighbouring pages: the offset of the boundary between them, and the chunks that they were written to.
#[derive(Clone, Copy)]
struct Written {
    boundary: u64,
    chunks: [usize; 2],
}

struct Pages<'a> {
    rewritten: Rewritten<'a>,
    pairs: Vec<Written>,
    /// `None` where the time on a bus cannot be measured.
    bus: Option<BusTime>,
}

impl Pages<'_> {
    /// Overwrites pages of the area's start in random order, each on flash before the next.
    fn overwrite(&mut self, bench: &mut Bench<'_>, least: u64) -> Result<(), EarlyEnd> {
        let rewritten = &mut self.rewritten;
        let (page_bytes, offset_bytes) = (rewritten.page_bytes, rewritten.area.offset_bytes);
        let wanted = least.max(CHUNKS * rewritten.chunk.size_bytes / page_bytes);
        let pages = wanted.min(rewritten.pages()) & !1;
        let mut order: Vec<u64> = (0..pages).collect();
        bench.random().shuffle(&mut order);
        // Chunks are counted from that of the first page written.
        let turn = rewritten.turn();
        let first = rewritten.chunk_of(turn);
        let mut chunks = vec![[0; 2]; pages as usize / 2];
        for (nth, &page) in order.iter().enumerate() {
            bench.durable_write(offset_bytes + page * page_bytes, page_bytes)?;
            chunks[page as usize / 2][page as usize % 2] = rewritten.chunk_of(turn + nth as u64) - first;
        }
        rewritten.count(pages);
        let boundary = |pair: usize| offset_bytes + (2 * pair as u64 + 1) * page_bytes;
        self.pairs = chunks
            .into_iter()
            .enumerate()
            .map(|(pair, chunks)| Written { boundary: boundary(pair), chunks })
            .collect();
        bench.random().shuffle(&mut self.pairs);
        self.pairs.truncate(PAIRS_MAX);
        Ok(())
    }

    fn find(&self, bench: &mut Bench<'_>, step: &PairStep) -> Result<Option<WrittenPairs>, EarlyEnd> {
        let sector = bench.sector_bytes();
        let small = self.read(bench, [sector; 2], step.reads)?;
        let dies = step.dies(&small);
        let buses = match dies {
            Some(dies) => self.buses(bench, dies)?,
            None => self.busy_buses(bench)?,
        };
        let is_found = dies.is_some() || buses != Buses::Unclear;
        let sector_us = self
            .bus
            .map_or(f64::INFINITY, |bus| bus.most_us * sector as f64 / self.rewritten.page_bytes as f64);
        // Of the pairs themselves: in those across two chunks a cache may have answered, as these are few.
        let step_us = dies.map_or(step.step_us, |dies| seen_step_us(dies, &small));
        let is_array_time = step_us > WAIT_MAX * sector_us;
        Ok(is_found.then_some(WrittenPairs { dies, step_us, is_array_time, buses }))
    }

    /// Number of chunks that pairs were written to, from the first one on.
    fn chunks(&self) -> usize {
        self.pairs.iter().flat_map(|pair| pair.chunks).max().map_or(0, |last| last + 1)
    }

    /// Returns the channels of known dies.
    fn buses(&self, bench: &mut Bench<'_>, dies: Dies) -> Result<Buses, EarlyEnd> {
        let (sector, page) = (bench.sector_bytes(), self.rewritten.page_bytes);
        let half = (page / 2 / sector * sector).max(sector);
        let mut whole = Vec::new();
        for sizes in [[page; 2], [half, page], [sector, page]] {
            let pairs = self.read(bench, sizes, 1)?;
            // What takes longer than a transfer, where that is known, waited for an array.
            let is_transfer = |found: &Channels| {
                self.bus.is_none_or(|bus| found.step_us < WAIT_MAX * bus.most_us + bus.deviation_us)
            };
            if let Some(found) = channels::of_pairs(&pairs, self.chunks(), dies).filter(is_transfer) {
                return Ok(Buses::Channels(found));
            }
            if whole.is_empty() {
                whole = pairs;
            }
        }
        let Some(bus) = self.bus else { return Ok(Buses::Unclear) };
        // The link separates reads that share no bus.
        let waits_us = [bus.least_us, bus.page_on_link_us].map(|hold_us| bus.mean_wait_us(hold_us, 0.0));
        let least_us = SEEN_OF_WAIT * (waits_us[0] - waits_us[1]);
        whole.retain(|pair| !dies.shares(pair.one, pair.other));
        let is_none =
            least_us > 0.0 && channels::none_of_pairs(&whole, self.chunks(), dies, least_us, STANDARD_ERRORS);
        Ok(if is_none { Buses::OneDieEach { bus_us: bus.least_us } } else { Buses::Unclear })
    }

    /// Returns the channels where pairs wait for one bus as long as on one die.
    fn busy_buses(&self, bench: &mut Bench<'_>) -> Result<Buses, EarlyEnd> {
        let Some(bus) = self.bus else { return Ok(Buses::Unclear) };
        let least_us = bus.least_us - bus.page_on_link_us;
        if least_us < NOT_HIDDEN * bus.most_us {
            return Ok(Buses::Unclear);
        }
        let pairs = self.read(bench, [self.rewritten.page_bytes; 2], 1)?;
        let found = channels::of_any_pairs(&pairs, self.chunks(), bus.deviation_us);
        let is_wait =
            |found: &Channels| (SEEN_OF_WAIT * least_us..WAIT_MAX * bus.most_us).contains(&found.step_us);
        Ok(found.filter(is_wait).map_or(Buses::Unclear, Buses::Channels))
    }

    /// Reads the end of the first page of each pair and the start of the second in one request, several times.
    fn read(&self, bench: &mut Bench<'_>, sizes: [u64; 2], reads: usize) -> Result<Vec<Pair>, EarlyEnd> {
        let mut times = vec![Vec::with_capacity(reads); self.pairs.len()];
        for _ in 0..reads {
            for (pair, times) in self.pairs.iter().zip(&mut times) {
                let read = Access::read(pair.boundary - sizes[0], sizes[0] + sizes[1]);
                times.push(bench.one(read)?.as_us_f64());
            }
        }
        let took = self.pairs.iter().zip(&mut times).map(|(pair, times)| Pair {
            one: pair.chunks[0],
            other: pair.chunks[1],
            took_us: pattern::point(times).value,
        });
        Ok(took.collect())
    }
}
