//! Channels by reads beside the transfer of a written page: behind any link, wherever writes go, and without the dies.
//!
//! Two reads on a channel wait for each other on its bus, but where the link is slower it hides that: the second would
//! have waited for the link anyway. A read of one sector beside a write of a page does not, as the page is on its way
//! over the link before or long after the sector is. So a sector is read, and the write is submitted when its page
//! reaches its bus a little before the sector does: on the same channel the read then waits for the page. It is the
//! first on its die, so it waits for no program and no array, and a read on the very die of the page waits for nothing.
//! Where the array time is too short for that, a write of a sector is submitted before the read: the rest of its page
//! is read, and crosses the bus. There a read on the die of the page waits for its array, so that the dies have to be
//! known.
//!
//! - *When.* The time at which the array of a read ends, and that at which a page has crossed the link, follow from
//!   reads of flash and of trimmed space (`bus_time`). Where a page is one sector its time on the bus is not known, and
//!   several moments are tried.
//! - *Where.* Chunks that wait are fitted to every order of the stripe (`channels`), with the page placed by its
//!   address and by its turn: a written page by that of this write, and the rest of a page by that of the write before.
//!   The wait has to be as long as a transfer.
//! - *A single channel.* All wait but those on the die of the page, if the dies are known.
//!
//! A drive that keeps reads and writes apart shows nothing.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::bus_time::BusTime;
use crate::channels::{self, Channels, Late};
use crate::dies::Dies;
use crate::error::EarlyEnd;
use crate::mapping::Policy;
use crate::pair::Pair;
use crate::pattern::{self, Point};
use crate::rewritten::Rewritten;
use flashlane_base::Duration;
use flashlane_workload::Access;

/// Reads beside nothing.
const REFERENCE: usize = 200;
/// Reads beside writes of the attempts at each moment, in total.
const READS: [usize; 2] = [1200, 5000];
/// Share of the area that is written, in turn.
const WRITTEN: u64 = 8;
/// Fewest chunks: those written, and some turns of the channels behind them.
const CHUNKS_MIN: u64 = 16;
/// Shares of a transfer that are over when the read reaches the bus.
const OVER: [f64; 2] = [0.3, 0.6];
/// Moments that are tried where a page is one sector, as shares of the time of a read at flash.
const MOMENTS: [f64; 7] = [0.9, 0.82, 0.7, 0.55, 0.4, 0.25, 0.1];
/// A read waits for at least this share of what it should, and for at most this multiple of a transfer.
const OF_WAIT: f64 = 0.35;
const WAIT_MAX: f64 = 1.3;
/// Share of a wait that tells two waits apart.
const WAIT_MIN: f64 = 0.2;
/// More pairs show nothing new where a read's deviation is less than the first multiple of the wait, and none show
/// anything where it is more than the second.
const QUIET: f64 = 0.7;
const NOISY: f64 = 5.0;
/// A read that differs by more than this number of deviations waited for something else, or came from memory.
const DEVIATIONS: f64 = 8.0;
/// Without known dies, least share of the reads that waited which are on the channel of their page, where reads that
/// did not wait are this number of deviations below: others would show more channels or fewer, or chunks counted
/// wrongly.
const EXPLAINED: f64 = 0.92;
const LATE_DEVIATIONS: f64 = 3.0;
/// Standard errors of a wait of all reads.
const STANDARD_ERRORS: f64 = 8.0;

/// The drive, as far as it is known.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) page_bytes: u64,
    /// The dies, with whether places follow from addresses.
    pub(crate) dies: Option<(Dies, Policy)>,
    pub(crate) fill_bytes: u64,
}

/// Looks for the channels. The area MUST have been filled in order, with `fill_bytes` per request, and nothing been
/// written since; it is when this returns. `None` where no read waits for a transfer.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    known: Known,
) -> Result<Option<Channels>, EarlyEnd> {
    let is_possible = bench.depth() > 1 && area.chunks(chunk) >= CHUNKS_MIN;
    let pages = Rewritten::new(bench, area, chunk, known.page_bytes).filter(|_| is_possible);
    let Some(pages) = pages else { return Ok(None) };
    let Some(bus) = BusTime::measure(bench, area, known.page_bytes)? else { return Ok(None) };
    let sector_share = bench.sector_bytes() as f64 / known.page_bytes as f64;
    if bus.least_us <= 0.0 && sector_share < 1.0 {
        return Ok(None);
    }
    let turns = (0..pages.pages() / WRITTEN).collect();
    let mut search = Search { pages, known, alone: Point::default(), bus, turns };
    search.alone = search.reference(bench)?;
    let mut found = None;
    // A read beside a part of a page on the same die waits for an array: dies have to be known.
    let is_told = |moment: &Moment| known.dies.is_some() || moment.first == First::Read;
    for moment in moments(&bus, sector_share).into_iter().filter(is_told) {
        found = search.at(bench, moment)?;
        if found.is_some() {
            break;
        }
    }
    let among = search.written_pages();
    search.pages.restore(bench, known.fill_bytes, among)?;
    Ok(found)
}

/// What is submitted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// The read, and then the write of a page.
    Read,
    /// The write of a sector, and then the read.
    PartWrite,
}

/// When a read and a write are submitted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment {
    first: First,
    /// Time until the second is.
    after_us: f64,
    /// How long the read waits on the channel of the page, in the mean; `None` where the time on the bus is not known.
    wait_us: Option<f64>,
}

/// Returns when the transfer of a page holds the bus while a read gets there. The command of a write and its data cross
/// the link first; whether that of a read does, or goes with its data, differs between drives.
fn moments(bus: &BusTime, sector_share: f64) -> Vec<Moment> {
    let sector_us = bus.most_sector_us.max(0.0);
    if sector_share >= 1.0 {
        // A page is one sector, and all of its time at flash may be the transfer.
        let all = MOMENTS.iter().map(|share| share * bus.flash_us - sector_us).filter(|us| *us >= 0.0);
        return all
            .chain([0.0])
            .map(|after_us| Moment { first: First::Read, after_us, wait_us: None })
            .collect();
    }
    let transfer_us = f64::midpoint(bus.least_us, bus.most_us);
    let command_us = (sector_us - sector_share * bus.page_on_link_us).max(0.0);
    // The array ends when the sector needs its share of the transfer only.
    let array_us = bus.flash_us - sector_share * transfer_us;
    let wait_us = |over: f64| {
        let deviation_us = std::f64::consts::SQRT_2 * bus.deviation_us;
        Some(mean_rest(bus.least_us, over * transfer_us, deviation_us))
    };
    let of_page = OVER.map(|over| Moment {
        first: First::Read,
        after_us: array_us - bus.page_on_link_us - command_us - over * transfer_us,
        wait_us: wait_us(over),
    });
    let of_part = OVER.map(|over| Moment {
        first: First::PartWrite,
        after_us: sector_us + over * transfer_us,
        wait_us: wait_us(over),
    });
    of_page.into_iter().chain(of_part).filter(|moment| moment.after_us >= 0.0).collect()
}

/// Intervals of the integral, and its reach in standard deviations.
const STEPS: usize = 512;
const REACH: f64 = 6.0;

/// Returns the mean rest of an interval of this length at a moment in it, normally distributed around `at` with this
/// deviation; nothing is left of it before it begins.
fn mean_rest(length: f64, at: f64, deviation: f64) -> f64 {
    let nodes = (0..=STEPS).map(|step| REACH * (2.0 * step as f64 / STEPS as f64 - 1.0));
    let (sum, weights) = nodes.fold((0.0, 0.0), |(sum, weights), node| {
        let (weight, moment) = ((-0.5 * node * node).exp(), at + node * deviation);
        let rest = if (0.0..length).contains(&moment) { length - moment } else { 0.0 };
        (sum + weight * rest, weights + weight)
    });
    sum / weights
}

/// A read beside the write of a page, in chunks as `Rewritten` numbers them.
struct Sample {
    by_address: usize,
    by_turn: usize,
    other: usize,
    took_us: f64,
}

struct Search<'a> {
    pages: Rewritten<'a>,
    known: Known,
    /// Reads beside nothing, and their deviation in place of an error.
    alone: Point,
    bus: BusTime,
    /// Turns at which the pages that are written were written last: in order, when the area was filled.
    turns: Vec<u64>,
}

impl Search<'_> {
    fn written_pages(&self) -> u64 {
        self.pages.pages() / WRITTEN
    }

    /// Most time of a page on the bus.
    fn most_us(&self) -> f64 {
        WAIT_MAX * self.bus.most_us
    }

    /// Returns the time of reads beside nothing, with the deviation of one.
    fn reference(&self, bench: &mut Bench<'_>) -> Result<Point, EarlyEnd> {
        let mut times = Vec::new();
        for _ in 0..REFERENCE {
            let at = self.pages.random_page_behind(bench, self.written_pages());
            times.push(bench.one(Access::read(at, bench.sector_bytes()))?.as_us_f64());
        }
        let point = pattern::point(&mut times);
        Ok(Point { error: point.error * (REFERENCE as f64).sqrt(), ..point })
    }

    /// Returns the channels that reads at this moment show.
    fn at(&mut self, bench: &mut Bench<'_>, moment: Moment) -> Result<Option<Channels>, EarlyEnd> {
        let noise = moment.wait_us.map_or(0.0, |wait_us| self.alone.error / wait_us.max(0.01));
        if noise > NOISY {
            return Ok(None);
        }
        let mut samples: Vec<Sample> = Vec::new();
        for count in READS {
            for _ in samples.len()..count {
                samples.extend(self.sample(bench, moment)?);
            }
            if samples.len() < REFERENCE {
                return Ok(None);
            }
            let found = self.channels(&samples, moment);
            if found.is_some() || noise < QUIET {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Reads a sector beside the write of a page; `None` where the read waited for more than a transfer, or came from
    /// memory.
    fn sample(&mut self, bench: &mut Bench<'_>, moment: Moment) -> Result<Option<Sample>, EarlyEnd> {
        let among = self.written_pages();
        let (number, turn) = (self.pages.next_in_turn(among), self.pages.turn());
        let before = std::mem::replace(&mut self.turns[number as usize], turn);
        let on_bus = match moment.first {
            First::Read => turn,
            First::PartWrite => before,
        };
        let [by_address, by_turn] = [number, on_bus].map(|page| self.pages.chunk_of(page));
        let first = self.pages.chunk_of(among) + 1;
        let behind = self.pages.area.chunks(self.pages.chunk) as usize + 1 - first;
        let other = first + bench.random().below(behind as u64) as usize;
        let at = self.pages.page_in(bench, other);
        let read = Access::read(at, bench.sector_bytes());
        let page = self.pages.next_page(among);
        let after = Duration::from_ns((moment.after_us * 1e3) as u64);
        let took = match moment.first {
            First::Read => {
                bench.write_beside_read(read, after, Access::write(page, self.known.page_bytes))?
            }
            First::PartWrite => {
                bench.read_beside_write(Access::write(page, bench.unit_bytes(true)), after, read)?
            }
        };
        let took_us = took.as_us_f64();
        let slack_us = DEVIATIONS * self.alone.error;
        let (least, most) = (self.alone.value - slack_us, self.alone.value + self.most_us() + slack_us);
        let sample = Sample { by_address, by_turn, other, took_us };
        Ok((least..most).contains(&took_us).then_some(sample))
    }

    /// Returns the channels that explain the reads, if these wait for transfers.
    fn channels(&self, samples: &[Sample], moment: Moment) -> Option<Channels> {
        let found = match self.known.dies {
            Some((dies, policy)) => {
                let (pairs, chunks) = pairs_by(samples, policy)?;
                channels::of_all_pairs(&pairs, chunks, dies, self.alone.error)
                    .or_else(|| self.single(&pairs, dies))
            }
            None => {
                let [by_address, by_turn] =
                    [Policy::Lba, Policy::WriteOrder].map(|policy| pairs_by(samples, policy));
                let ((one, chunks), (other, others)) = by_address.zip(by_turn)?;
                let found = channels::of_either([&one, &other], [chunks, others], self.alone.error)?;
                let late_us = self.alone.value + found.step_us / 2.0;
                // Where reads vary by less than half of the wait, it is seen which of them waited.
                let is_told = found.step_us > 2.0 * LATE_DEVIATIONS * self.alone.error;
                let late = [&one, &other].map(|pairs| Late::of(pairs, found, late_us));
                let [shared, apart] = [|late: &Late| late.shared, |late: &Late| late.apart]
                    .map(|count| late.iter().map(count).max().unwrap_or(0));
                let is_explained = shared as f64 >= EXPLAINED * late[0].all as f64 && shared >= apart;
                (!is_told || is_explained).then_some(found)
            }
        };
        // Of those on a channel at least half are not on the die of the page. Reads that are no transfer apart may
        // differ by the rounding of their times, and a clock's.
        let visible_us = pattern::least_height(self.alone.value, 0.0);
        let least_us = (OF_WAIT * moment.wait_us.unwrap_or(0.0)).max(visible_us);
        found.filter(|found| (least_us..self.most_us()).contains(&found.step_us))
    }

    /// Returns the only channel, where all reads wait but those on the die of the page.
    fn single(&self, pairs: &[Pair], dies: Dies) -> Option<Channels> {
        let (same, others): (Vec<&Pair>, Vec<&Pair>) =
            pairs.iter().partition(|pair| dies.shares(pair.one, pair.other));
        let [mut same, mut others] =
            [same, others].map(|pairs| pairs.iter().map(|pair| pair.took_us).collect::<Vec<f64>>());
        if same.len().min(others.len()) < REFERENCE / 8 {
            return None;
        }
        let [same, others_middle] = [&mut same, &mut others].map(|times| pattern::point(times));
        // With two channels half of the others do not wait.
        let lower = &others[..others.len() / 4];
        let lower_us = lower.iter().sum::<f64>() / lower.len() as f64;
        let step_us = others_middle.value - same.value;
        let is_seen = step_us > STANDARD_ERRORS * same.error.hypot(others_middle.error)
            && lower_us > same.value + WAIT_MIN * step_us
            && (same.value - self.alone.value).abs() < WAIT_MIN * step_us;
        is_seen.then_some(Channels { count: 1, run: 0, step_us, pairs: pairs.len() })
    }
}

/// Returns pairs of the written and the read chunk, with the written one placed by a policy, and the number of chunks.
fn pairs_by(samples: &[Sample], policy: Policy) -> Option<(Vec<Pair>, usize)> {
    let pair = |sample: &Sample| {
        let one = match policy {
            Policy::Lba => sample.by_address,
            Policy::WriteOrder => sample.by_turn,
        };
        // The first whole chunk is number 1 there; number 0 may begin before the area.
        let one = one.checked_sub(1).filter(|one| *one + 1 != sample.other)?;
        Some(Pair { one, other: sample.other - 1, took_us: sample.took_us })
    };
    let pairs: Vec<Pair> = samples.iter().filter_map(pair).collect();
    let last = pairs.iter().map(|pair| pair.one.max(pair.other)).max()?;
    Some((pairs, last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_sim::{Drive, profile};

    const BUS: BusTime = BusTime {
        least_us: 10.0,
        most_us: 10.0,
        link_us: 20.0,
        least_link_us: 19.0,
        page_on_link_us: 20.0,
        least_sector_us: 4.0,
        most_sector_us: 4.0,
        deviation_us: 0.5,
        flash_us: 60.0,
    };

    #[test]
    fn page_reaches_the_bus_before_the_array_ends() {
        // A sector takes 2 of 20 µs on the link and 1 of 10 µs on the bus; the array ends after 59 µs.
        let when = |bus, share| -> Vec<(First, f64)> {
            moments(bus, share).iter().map(|moment| (moment.first, moment.after_us)).collect()
        };
        let parts = [(First::PartWrite, 7.0), (First::PartWrite, 10.0)];
        assert_eq!(when(&BUS, 0.1), [[(First::Read, 34.0), (First::Read, 31.0)], parts].concat());
        let short_array = BusTime { flash_us: 15.0, ..BUS };
        assert_eq!(when(&short_array, 0.1), parts);
        assert_eq!(when(&short_array, 1.0).last(), Some(&(First::Read, 0.0)));
    }

    #[test]
    fn rest_of_a_transfer_is_waited_for() {
        assert!((mean_rest(10.0, 3.0, 0.01) - 7.0).abs() < 0.01);
        assert_eq!(mean_rest(10.0, -2.0, 0.01), 0.0);
        // Half of the arrivals are before it begins.
        assert!((mean_rest(10.0, 0.0, 0.1) - 5.0).abs() < 0.1);
    }

    /// Reads of pages wait 20 µs for the link, and a page takes 7 µs on a bus.
    fn found(overrides: &[(&str, &str)], dies: Option<(Dies, Policy)>) -> Option<Channels> {
        let overrides: Vec<(String, String)> =
            overrides.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        let slow = "name = \"slow link\"\ncapacity = \"256MiB\"\nsector = \"512B\"\n\
                    [link]\nbandwidth = \"200MB/s\"\nread_command = \"8us\"\nwrite_command = \"8us\"\ndepth = 8\n\
                    [mapping]\npolicy = \"lba\"\nchunk = \"16KiB\"\n\
                    order = [\"package\", \"plane\", \"channel\", \"die\"]\n[cleaning]\nlow = \"3%\"\n\
                    [flash]\nchannels = 6\npackages = 2\ndies = 2\nplanes = 1\nblocks = 64\npages = 64\n\
                    page = \"4KiB\"\nread = \"50us\"\nprogram = \"300us\"\nerase = \"2ms\"\nbus = \"600MB/s\"\n\
                    noise = \"2%\"\n";
        let mut drive = Drive::new(&profile::parse("slow link", slow, &overrides).unwrap(), Seed(1));
        let mut stop = || false;
        let mut bench = Bench::new(&mut drive, Seed(1), &mut stop);
        let area = Area { offset_bytes: 0, length_bytes: 16 << 20 };
        let (page_bytes, fill_bytes) = (4096, 256 << 10);
        bench.fill(0, area.length_bytes, fill_bytes).unwrap();
        let chunk = Chunk { size_bytes: 16384, phase_bytes: 0, clarity: 1.0, contrast_us: 50.0, seen: 100 };
        find(&mut bench, area, &chunk, Known { page_bytes, dies, fill_bytes }).unwrap()
    }

    #[test]
    fn reads_wait_for_the_bus_of_a_written_page() {
        let shape = |found: Option<Channels>| found.map(|found| (found.count, found.run));
        assert_eq!(shape(found(&[], None)), Some((6, 2)), "by address");
        assert_eq!(shape(found(&[("mapping.policy", "write-order")], None)), Some((6, 2)), "by turn");
        // Each page is written several times.
        let dies = Dies { inner: 24, planes: 1, outer: 1, offset: 0 };
        for (name, policy) in [("lba", Policy::Lba), ("write-order", Policy::WriteOrder)] {
            let short_array = [("flash.read", "12us"), ("mapping.policy", name)];
            assert_eq!(
                shape(found(&short_array, Some((dies, policy)))),
                Some((6, 2)),
                "beside a part, {name}"
            );
            assert_eq!(found(&short_array, None), None, "a die is not told from a channel, {name}");
        }
        let sectors = found(&[("sector", "4096B"), ("link.bandwidth", "600MB/s")], None);
        assert_eq!(shape(sectors), Some((6, 2)), "of pages of one sector");
    }

    #[test]
    fn dies_that_share_no_bus_show_none() {
        let alone = [("packages", "1"), ("dies", "1"), ("blocks", "256")];
        assert_eq!(found(&alone, None), None);
        assert_eq!(found(&[("bus", "8000MB/s")], None), None, "too short to be waited for");
    }
}
