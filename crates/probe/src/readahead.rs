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
use crate::error::Interruption;
use crate::pattern::{Point, point};
use flashlane_base::Duration;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

/// Turns of random and sequential reads.
const TURNS: usize = 5;
/// Reads of each stream; the first half only lets the drive detect the stream.
const READS: u64 = 32;
/// Maximum number of streams tried.
const STREAMS_MAX: u64 = 64;
/// Sequential reads below the first share of a random read's latency were prefetched, those above the second were not.
const FETCHED: f64 = 0.85;
const NOT_FETCHED: f64 = 0.95;

/// Finds the number of streams, and draws latency against streams.
pub(crate) fn find(bench: &mut Bench<'_>, area: Area, page: u64) -> Result<(Finding, Figure), Interruption> {
    let first = random_latency(bench, area, page, Duration::ZERO)?;
    let pause = Duration::from_ns((2e3 * first.value) as u64);
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        turns.push((
            random_latency(bench, area, page, pause)?,
            sequential_latency(bench, area, page, 1, pause)?,
        ));
    }
    let mean = |of: &dyn Fn(&(Point, Point)) -> Point| Point {
        value: turns.iter().map(|turn| of(turn).value).sum::<f64>() / TURNS as f64,
        error: turns.iter().map(|turn| of(turn).error).fold(0.0, f64::max),
    };
    let (random, one) = (mean(&|turn| turn.0), mean(&|turn| turn.1).value);
    let fastest_random = turns.iter().map(|turn| turn.0.value).fold(f64::INFINITY, f64::min);
    let slowest_sequential = turns.iter().map(|turn| turn.1.value).fold(0.0, f64::max);
    let mut curve: Vec<(f64, f64)> = vec![(1.0, one)];
    let mut latency = |bench: &mut Bench<'_>, streams: u64| -> Result<f64, Interruption> {
        // The median of three: a stream may hit data that an earlier one left in the drive's cache.
        let mut times = Vec::new();
        for _ in 0..3 {
            times.push(sequential_latency(bench, area, page, streams, pause)?.value);
        }
        times.sort_unstable_by(f64::total_cmp);
        let median = times[1];
        curve.push((streams as f64, median));
        Ok(median)
    };
    let finding = if one > NOT_FETCHED * random.value {
        Finding::absent(
            0.95,
            format!("sequential reads take {one:.1} µs, random ones {:.1} µs", random.value),
        )
    } else if one > FETCHED * random.value
        || slowest_sequential > FETCHED * fastest_random
        || random.value - one < 6.0 * random.error
    {
        Finding::not_determined(format!(
            "sequential reads take {one:.1} µs, random ones {:.1} µs: too close to call",
            random.value
        ))
    } else {
        let middle = (one + random.value) / 2.0;
        let most = STREAMS_MAX.min(area.length_bytes / (2 * READS * page)).max(1);
        let (mut follows, mut loses) = (1, most + 1);
        while loses - follows > 1 {
            // Doubling first, since few streams are usual.
            let next = if loses > most { (follows * 2).min(most) } else { (follows + loses) / 2 };
            if latency(bench, next)? < middle {
                follows = next;
                if next == most {
                    break;
                }
            } else {
                loses = next;
            }
        }
        let beyond =
            if loses > most { "more were not tried".to_owned() } else { format!("with {loses} they do not") };
        Finding::found(
            follows,
            if loses > most { 0.6 } else { 0.95 },
            format!(
                "sequential reads of {follows} interleaved streams come in {one:.1} µs where random ones take {:.1} µs; {beyond}",
                random.value
            ),
        )
    };
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let figure = Figure {
        id: "readahead".into(),
        title: "Latency of interleaved sequential reads".into(),
        x: Axis::linear("interleaved streams", ""),
        y: Axis::linear("latency", "us"),
        series: vec![
            Series {
                name: "random reads".into(),
                points: curve.iter().map(|&(x, _)| (x, random.value)).collect(),
                ..Series::default()
            },
            Series { name: "sequential streams".into(), points: curve, ..Series::default() },
        ],
        caption: "Where the curve joins that of random reads, the drive no longer follows the streams."
            .into(),
        ..Figure::default()
    };
    Ok((finding, figure))
}

fn random_latency(
    bench: &mut Bench<'_>,
    area: Area,
    page: u64,
    pause: Duration,
) -> Result<Point, Interruption> {
    let mut times = Vec::new();
    for _ in 0..100 {
        bench.pause(pause);
        let at = area.offset_bytes + bench.random().below(area.length_bytes / page) * page;
        times.push(bench.one(Access::read(at, page))?.as_us_f64());
    }
    Ok(point(&mut times))
}

/// Measures the second half of the reads of `streams` interleaved readers.
fn sequential_latency(
    bench: &mut Bench<'_>,
    area: Area,
    page: u64,
    streams: u64,
    pause: Duration,
) -> Result<Point, Interruption> {
    let share = area.length_bytes / streams / page;
    let slack = share.saturating_sub(2 * READS).max(1);
    let starts: Vec<u64> = (0..streams).map(|s| s * share + bench.random().below(slack)).collect();
    let mut times = Vec::new();
    for i in 0..READS {
        for start in &starts {
            bench.pause(pause);
            let latency = bench.one(Access::read(area.offset_bytes + (start + i) * page, page))?;
            if i >= READS / 2 {
                times.push(latency.as_us_f64());
            }
        }
    }
    Ok(point(&mut times))
}
