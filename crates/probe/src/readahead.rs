//! Readahead: the maximum number of interleaved sequential streams whose reads are faster than random ones.
//!
//! chen11 (section 5.3) shows that two interleaved readers defeat a readahead that follows one.
//!
//! The reader pauses for the time of two reads between reads: where consecutive pages lie on one die, flash is no
//! faster than the reader, and without a pause no page could be prefetched in time.
//!
//! The difference must recur: sequential and random reads are measured in turns, and every sequential turn has to be
//! faster than every random one.
//!
//! Streams that begin together have their first windows fetched one after the other, and a cache that just holds a
//! window of each drops parts of them before they are read. Later fetches are spread evenly. So where some reads of the
//! streams are fast, and too few, the same streams are read on.

use crate::area::Area;
use crate::bench::Bench;
use crate::bus_time;
use crate::error::EarlyEnd;
use crate::pattern::{Point, median, point};
use flashlane_base::Duration;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

/// Turns of random and sequential reads.
const TURNS: usize = 5;
/// Reads of each stream; the first half only lets the drive detect the stream.
const READS: u64 = 32;
/// Most reads of each stream, where some are fast: windows of up to half of them are read by then.
const READS_MAX: u64 = 16 * READS;
/// Most reads that are slow of several streams, as a share of all, beyond those of a single one.
const SLOW_MAX: f64 = 0.25;
/// Number of streams from which on a cache counts, and most of them of which it holds the second page.
const FEW: u64 = 8;
const CACHED_MAX: f64 = 0.02;
/// Places that are tried for the start of a stream, most of which may be in a buffer.
const STARTS_MAX: usize = 16;
/// Maximum number of streams tried.
const STREAMS_MAX: u64 = 64;
/// Sequential reads below the first share of a random read's latency were prefetched, those above the second were not.
const FETCHED: f64 = 0.85;
const NOT_FETCHED: f64 = 0.95;

/// Finds the number of streams, and draws latency against streams. Where the probe may write, reads of trimmed space
/// show whether random reads come from flash.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    page: u64,
    may_write: bool,
) -> Result<(Finding, Figure), EarlyEnd> {
    let first = random_latency(bench, area, page, Duration::ZERO)?;
    let pause = Duration::from_ns((2e3 * first.value) as u64);
    let reader = Reader { area, page, pause, random_us: first.value };
    let compared = Compared::measure(bench, &reader)?;
    let (random, one) = (compared.random, compared.sequential_us);
    let mut curve = vec![(1.0, one)];
    let finding = if one > NOT_FETCHED * random.value
        && may_write
        && bus_time::is_from_memory(bench, area, page, random)?
    {
        Finding::not_determined(format!(
            "random reads take {:.1} µs, no longer than those of trimmed space: they come from a buffer, not from flash",
            random.value
        ))
    } else if one > NOT_FETCHED * random.value {
        Finding::absent(
            0.95,
            format!("sequential reads take {one:.1} µs, random ones {:.1} µs", random.value),
        )
    } else if !compared.is_clear() {
        Finding::not_determined(format!(
            "sequential reads take {one:.1} µs, random ones {:.1} µs: too close to call",
            random.value
        ))
    } else {
        let limit = compared.streams_followed(bench, &reader, &mut curve)?;
        let StreamLimit { followed, lost, is_cached, is_unsettled } = limit;
        let seen = format!(
            "sequential reads of {followed} interleaved streams come in {one:.1} µs where random ones take {:.1} µs",
            random.value
        );
        match lost {
            Some(_) if is_cached => Finding::not_determined(format!(
                "{seen}; but a cache held some of what they read, and these leave others to be followed"
            )),
            Some(lost) if is_unsettled => Finding::not_determined(format!(
                "{seen}; with {lost} some do, and the area has no room to read them further"
            )),
            Some(lost) => Finding::found(followed, 0.95, format!("{seen}; with {lost} they do not")),
            // Readahead may follow more, or a cache hold all that they read.
            None => Finding::not_determined(format!("{seen}; more were not tried")),
        }
    };
    Ok((finding, figure(curve, random.value)))
}

/// Reads of pages of an area, each after a pause.
struct Reader {
    area: Area,
    page: u64,
    pause: Duration,
    /// A random read of flash, in microseconds.
    random_us: f64,
}

impl Reader {
    fn random(&self, bench: &mut Bench<'_>) -> Result<Point, EarlyEnd> {
        random_latency(bench, self.area, self.page, self.pause)
    }

    fn read(&self, bench: &mut Bench<'_>, page: u64) -> Result<f64, EarlyEnd> {
        bench.pause(self.pause);
        let at = self.area.offset_bytes + page * self.page;
        bench.one(Access::read(at, self.page)).map(|latency| latency.as_us_f64())
    }

    /// Reads the first page of a stream within `share` pages from the `first` on. Returns it: one that comes from
    /// flash, unless all that were tried do not. A stream in a buffer, or in what was read ahead before, is none to
    /// follow. Leaves room for `READS_MAX` reads, or half of `share` if that is less, and for `2 * READS` at least.
    fn begin(&self, bench: &mut Bench<'_>, first: u64, share: u64) -> Result<u64, EarlyEnd> {
        let kept = (2 * READS).max(READS_MAX.min(share / 2));
        let slack = share.saturating_sub(kept).max(1);
        let mut start = first;
        for _ in 0..STARTS_MAX {
            start = first + bench.random().below(slack);
            if self.read(bench, start)? >= FETCHED * self.random_us {
                break;
            }
        }
        Ok(start)
    }
}

/// Latencies of random reads and of one sequential stream, measured in turns.
struct Compared {
    random: Point,
    sequential_us: f64,
    fastest_random_us: f64,
    slowest_sequential_us: f64,
    /// All sequential reads.
    all_us: Vec<f64>,
}

/// Interleaved streams.
struct Streams {
    /// First page of each.
    starts: Vec<u64>,
    /// Reads of each so far.
    reads: u64,
    /// Reads of each that its share of the area has room for.
    room: u64,
    /// Share of the streams of which the second read was answered from memory.
    cached: f64,
}

impl Streams {
    fn begin(bench: &mut Bench<'_>, reader: &Reader, streams: u64) -> Result<Self, EarlyEnd> {
        let share = reader.area.length_bytes / streams / reader.page;
        let (mut starts, mut room) = (Vec::new(), share);
        for stream in 0..streams {
            let start = reader.begin(bench, stream * share, share)?;
            room = room.min((stream + 1) * share - start);
            starts.push(start);
        }
        Ok(Self { starts, reads: 1, room, cached: 0.0 })
    }

    /// Reads on until each has `reads` reads. Returns the latencies of the second half of all, in microseconds.
    fn read_to(&mut self, bench: &mut Bench<'_>, reader: &Reader, reads: u64) -> Result<Vec<f64>, EarlyEnd> {
        let (mut times, mut cached) = (Vec::new(), 0);
        for i in self.reads..reads {
            for start in &self.starts {
                let took_us = reader.read(bench, start + i)?;
                if i >= reads / 2 {
                    times.push(took_us);
                }
                // No drive reads ahead before the second read of a stream.
                cached += usize::from(i == 1 && took_us < FETCHED * reader.random_us);
            }
        }
        self.reads = reads;
        self.cached += cached as f64 / self.starts.len() as f64;
        Ok(times)
    }
}

/// A measurement of interleaved streams.
struct Round {
    are_followed: bool,
    median_us: f64,
    cached: f64,
    /// Whether some reads are fast, too few to be followed, where the area has no room to read on.
    is_unsettled: bool,
}

/// The most streams that a drive follows, and the fewest with which it no longer does, if any were tried.
struct StreamLimit {
    followed: u64,
    lost: Option<u64>,
    /// Whether a cache held some of what the streams read.
    is_cached: bool,
    /// Whether some reads of the fewest that it no longer follows were fast when they came to the end of their room.
    is_unsettled: bool,
}

impl Compared {
    fn measure(bench: &mut Bench<'_>, reader: &Reader) -> Result<Self, EarlyEnd> {
        let (mut random, mut sequential, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            random.push(reader.random(bench)?);
            let mut times = Streams::begin(bench, reader, 1)?.read_to(bench, reader, READS)?;
            all.extend_from_slice(&times);
            sequential.push(point(&mut times).value);
        }
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / TURNS as f64;
        Ok(Self {
            random: Point {
                value: mean(&mut random.iter().map(|turn| turn.value)),
                error: random.iter().map(|turn| turn.error).fold(0.0, f64::max),
            },
            sequential_us: mean(&mut sequential.iter().copied()),
            fastest_random_us: random.iter().map(|turn| turn.value).fold(f64::INFINITY, f64::min),
            slowest_sequential_us: sequential.iter().copied().fold(0.0, f64::max),
            all_us: all,
        })
    }

    /// Halfway from sequential reads to random ones, in microseconds.
    fn middle_us(&self) -> f64 {
        f64::midpoint(self.sequential_us, self.random.value)
    }

    /// Returns whether reads of several streams are as those of one: most are fast, and about as many as of one stream.
    /// Where a cache holds parts of some streams, these are fast and leave others to be followed.
    fn are_followed(&self, times: &[f64]) -> bool {
        point(&mut times.to_vec()).value < self.middle_us()
            && self.fast_share(times) > self.fast_share(&self.all_us) - SLOW_MAX
    }

    fn fast_share(&self, times: &[f64]) -> f64 {
        times.iter().filter(|took_us| **took_us < self.middle_us()).count() as f64 / times.len() as f64
    }

    /// Measures `streams` interleaved streams, for as long as their reads are neither as those of one nor all slow.
    fn round(&self, bench: &mut Bench<'_>, reader: &Reader, streams: u64) -> Result<Round, EarlyEnd> {
        let mut streams = Streams::begin(bench, reader, streams)?;
        let mut times = streams.read_to(bench, reader, READS)?;
        let is_open = |times: &[f64]| !self.are_followed(times) && self.fast_share(times) > CACHED_MAX;
        while is_open(&times) && streams.reads < READS_MAX && 2 * streams.reads <= streams.room {
            times = streams.read_to(bench, reader, 2 * streams.reads)?;
        }
        Ok(Round {
            are_followed: self.are_followed(&times),
            // Fewer may be in the cache by chance.
            is_unsettled: is_open(&times) && streams.reads < READS_MAX && self.fast_share(&times) > SLOW_MAX,
            median_us: point(&mut times).value,
            cached: streams.cached,
        })
    }

    /// Returns whether sequential reads are faster than random ones in every turn, and not by chance.
    fn is_clear(&self) -> bool {
        self.sequential_us <= FETCHED * self.random.value
            && self.slowest_sequential_us <= FETCHED * self.fastest_random_us
            && self.random.value - self.sequential_us >= 6.0 * self.random.error
    }

    /// Searches for the most interleaved streams whose reads are faster than halfway to random ones. Adds what it
    /// measures to the curve.
    fn streams_followed(
        &self,
        bench: &mut Bench<'_>,
        reader: &Reader,
        curve: &mut Vec<(f64, f64)>,
    ) -> Result<StreamLimit, EarlyEnd> {
        let most = STREAMS_MAX.min(reader.area.length_bytes / (2 * READS * reader.page)).max(1);
        let (mut followed, mut lost, mut is_cached, mut is_unsettled) = (1, most + 1, false, false);
        while lost - followed > 1 {
            // Doubling first, since few streams are usual.
            let next = if lost > most { (followed * 2).min(most) } else { (followed + lost) / 2 };
            // The median of three: a stream may hit data that an earlier one left in the drive's cache.
            let mut rounds = Vec::new();
            for _ in 0..3 {
                rounds.push(self.round(bench, reader, next)?);
            }
            let most_of = |is: fn(&Round) -> bool| rounds.iter().filter(|round| is(round)).count() >= 2;
            let median_of = |value: fn(&Round) -> f64| median(&rounds.iter().map(value).collect::<Vec<_>>());
            let are_followed = most_of(|round| round.are_followed);
            curve.push((next as f64, median_of(|round| round.median_us)));
            // Of few streams none need be cached.
            is_cached |= next >= FEW && median_of(|round| round.cached) > CACHED_MAX;
            if are_followed {
                followed = next;
                if next == most {
                    break;
                }
            } else {
                (lost, is_unsettled) = (next, most_of(|round| round.is_unsettled));
            }
        }
        Ok(StreamLimit { followed, lost: (lost <= most).then_some(lost), is_cached, is_unsettled })
    }
}

/// Draws latency against streams, beside that of random reads.
fn figure(mut curve: Vec<(f64, f64)>, random_us: f64) -> Figure {
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    Figure {
        id: "readahead".into(),
        title: "Latency of interleaved sequential reads".into(),
        x: Axis::linear("interleaved streams", ""),
        y: Axis::linear("latency", "us"),
        series: vec![
            Series {
                name: "random reads".into(),
                points: curve.iter().map(|&(x, _)| (x, random_us)).collect(),
                ..Series::default()
            },
            Series { name: "sequential streams".into(), points: curve, ..Series::default() },
        ],
        caption: "Where the curve joins that of random reads, the drive no longer follows the streams."
            .into(),
        ..Figure::default()
    }
}

fn random_latency(bench: &mut Bench<'_>, area: Area, page: u64, pause: Duration) -> Result<Point, EarlyEnd> {
    let mut times = Vec::new();
    for _ in 0..100 {
        bench.pause(pause);
        let at = area.offset_bytes + bench.random().below(area.length_bytes / page) * page;
        times.push(bench.one(Access::read(at, page))?.as_us_f64());
    }
    Ok(point(&mut times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_result::probe::Status;
    use flashlane_sim::{Drive, profile};

    /// The cache holds just a window of each stream, and drops parts of the first ones.
    #[test]
    fn streams_whose_windows_fill_the_cache_are_all_found() {
        for (name, page) in [("sn580-like", 16 << 10), ("atom-50-like", 16 << 10), ("nvme-tlc", 4096)] {
            for seed in 0..3 {
                let mut drive = Drive::new(&profile::load(name, &[]).unwrap(), Seed(seed));
                let mut stop = || false;
                let mut bench = Bench::new(&mut drive, Seed(seed), &mut stop);
                let area = Area { offset_bytes: 0, length_bytes: 128 << 20 };
                bench.fill(0, area.length_bytes, 256 << 10).unwrap();
                // Past the writes of the buffer.
                bench.pause(Duration::from_s(1));
                let (finding, _) = find(&mut bench, area, page, true).unwrap();
                assert_eq!(finding.number(), Some(8), "{name}, seed {seed}: {finding:?}");
            }
        }
    }

    /// Random reads from the buffer are as fast as sequential ones.
    #[test]
    fn reads_from_a_buffer_show_no_lack_of_readahead() {
        let settings = [("buffer.policy", "cflru"), ("buffer.placement", "above"), ("buffer.size", "32MiB")];
        let settings: Vec<(String, String)> = settings.map(|(key, value)| (key.into(), value.into())).into();
        let mut drive = Drive::new(&profile::load("ssd-s", &settings).unwrap(), Seed(1));
        let mut stop = || false;
        let mut bench = Bench::new(&mut drive, Seed(1), &mut stop);
        let area = Area { offset_bytes: 0, length_bytes: 16 << 20 };
        bench.fill(0, area.length_bytes, 256 << 10).unwrap();
        // In descending order nothing is read ahead.
        for page in (0..area.length_bytes / 4096).rev() {
            bench.one(Access::read(page * 4096, 4096)).unwrap();
        }
        let (finding, _) = find(&mut bench, area, 4096, true).unwrap();
        assert_eq!(finding.status, Status::NotDetermined, "{finding:?}");
    }
}
