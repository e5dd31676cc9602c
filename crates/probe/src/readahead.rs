//! Readahead: the maximum number of interleaved sequential streams whose reads are faster than random ones.
//!
//! chen11 (section 5.3) shows that two interleaved readers defeat a readahead that follows one.
//!
//! The reader pauses for the time of two reads between reads: where consecutive pages lie on one die, flash is no
//! faster than the reader, and without a pause no page could be prefetched in time.
//!
//! The difference must recur: sequential and random reads are measured in turns, and every sequential turn has to be
//! faster than every random one.

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
        let StreamLimit { followed, lost, is_cached } = limit;
        let seen = format!(
            "sequential reads of {followed} interleaved streams come in {one:.1} µs where random ones take {:.1} µs",
            random.value
        );
        match lost {
            Some(_) if is_cached => Finding::not_determined(format!(
                "{seen}; but a cache held some of what they read, and these leave others to be followed"
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

    fn sequential(&self, bench: &mut Bench<'_>, streams: u64) -> Result<Sequential, EarlyEnd> {
        sequential_latency(bench, self, streams)
    }

    fn read(&self, bench: &mut Bench<'_>, page: u64) -> Result<f64, EarlyEnd> {
        bench.pause(self.pause);
        let at = self.area.offset_bytes + page * self.page;
        bench.one(Access::read(at, self.page)).map(|latency| latency.as_us_f64())
    }

    /// Reads the first page of a stream within `share` pages from the `first` on. Returns it: one that comes from
    /// flash, unless all that were tried do not. A stream in a buffer, or in what was read ahead before, is none to
    /// follow.
    fn begin(&self, bench: &mut Bench<'_>, first: u64, share: u64) -> Result<u64, EarlyEnd> {
        let slack = share.saturating_sub(2 * READS).max(1);
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

/// Latencies of the second half of the reads of interleaved streams, in microseconds, and the share of the streams of
/// which the second read was answered from memory.
struct Sequential {
    times: Vec<f64>,
    cached: f64,
}

/// The most streams that a drive follows, and the fewest with which it no longer does, if any were tried.
struct StreamLimit {
    followed: u64,
    lost: Option<u64>,
    /// Whether a cache held some of what the streams read.
    is_cached: bool,
}

impl Compared {
    fn measure(bench: &mut Bench<'_>, reader: &Reader) -> Result<Self, EarlyEnd> {
        let (mut random, mut sequential, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            random.push(reader.random(bench)?);
            let mut times = reader.sequential(bench, 1)?.times;
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
        let fast_share = |times: &[f64]| {
            times.iter().filter(|took_us| **took_us < self.middle_us()).count() as f64 / times.len() as f64
        };
        point(&mut times.to_vec()).value < self.middle_us()
            && fast_share(times) > fast_share(&self.all_us) - SLOW_MAX
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
        let (mut followed, mut lost, mut is_cached) = (1, most + 1, false);
        while lost - followed > 1 {
            // Doubling first, since few streams are usual.
            let next = if lost > most { (followed * 2).min(most) } else { (followed + lost) / 2 };
            // The median of three: a stream may hit data that an earlier one left in the drive's cache.
            let (mut rounds, mut cached_at) = (Vec::new(), Vec::new());
            for _ in 0..3 {
                let Sequential { mut times, cached } = reader.sequential(bench, next)?;
                cached_at.push(cached);
                rounds.push((self.are_followed(&times), point(&mut times).value));
            }
            let are_followed = rounds.iter().filter(|(are_followed, _)| *are_followed).count() >= 2;
            rounds.sort_unstable_by(|one, other| one.1.total_cmp(&other.1));
            curve.push((next as f64, rounds[1].1));
            // Of few streams none need be cached.
            is_cached |= next >= FEW && median(&cached_at) > CACHED_MAX;
            if are_followed {
                followed = next;
                if next == most {
                    break;
                }
            } else {
                lost = next;
            }
        }
        Ok(StreamLimit { followed, lost: (lost <= most).then_some(lost), is_cached })
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

/// Measures the second half of the reads of `streams` interleaved readers.
fn sequential_latency(bench: &mut Bench<'_>, reader: &Reader, streams: u64) -> Result<Sequential, EarlyEnd> {
    let share = reader.area.length_bytes / streams / reader.page;
    let mut starts = Vec::new();
    for stream in 0..streams {
        starts.push(reader.begin(bench, stream * share, share)?);
    }
    let (mut times, mut cached) = (Vec::new(), 0);
    for i in 1..READS {
        for start in &starts {
            let took_us = reader.read(bench, start + i)?;
            if i >= READS / 2 {
                times.push(took_us);
            }
            // No drive reads ahead before the second read of a stream.
            cached += usize::from(i == 1 && took_us < FETCHED * reader.random_us);
        }
    }
    Ok(Sequential { times, cached: cached as f64 / streams as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_result::probe::Status;
    use flashlane_sim::{Drive, profile};

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
