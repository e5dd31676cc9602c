//! Readahead: do sequential reads come faster than random ones, and of how many interleaved streams at most?
//!
//! chen11 (section 5.3) shows that two interleaved readers defeat a readahead that follows one.
//!
//! Between two reads the drive is given the time of two: where pages in sequence lie on one die, flash is no faster
//! than the reader, and without a pause nothing would ever be fetched before it is asked for.
//!
//! A difference counts only where it comes back: sequential and random reads are measured in turns, and every
//! sequential turn has to be faster than every random one.

use crate::chunk::Area;
use crate::pattern::{Point, point};
use crate::rig::Rig;
use flashlane_base::Duration;
use flashlane_measure::Interruption;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

/// How often random and sequential reads are measured in turn.
const TURNS: usize = 5;
/// Reads of each stream; the first half lets the drive catch on.
const READS: u64 = 32;
/// Streams at which the search ends.
const MOST_STREAMS: u64 = 64;
/// Below this share of a random read's latency a sequential one was fetched ahead, above that it was not.
const FETCHED: f64 = 0.85;
const NOT_FETCHED: f64 = 0.95;

/// Finds the number of streams; the figure shows latency against streams.
pub(crate) fn find(rig: &mut Rig<'_>, area: Area, page: u64) -> Result<(Finding, Figure), Interruption> {
    let first = random_latency(rig, area, page, Duration::ZERO)?;
    let pause = Duration::from_ns((2e3 * first.value) as u64);
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        turns.push((random_latency(rig, area, page, pause)?, sequential_latency(rig, area, page, 1, pause)?));
    }
    let mean = |of: &dyn Fn(&(Point, Point)) -> Point| Point {
        value: turns.iter().map(|turn| of(turn).value).sum::<f64>() / TURNS as f64,
        error: turns.iter().map(|turn| of(turn).error).fold(0.0, f64::max),
    };
    let (random, one) = (mean(&|turn| turn.0), mean(&|turn| turn.1).value);
    let fastest_random = turns.iter().map(|turn| turn.0.value).fold(f64::INFINITY, f64::min);
    let slowest_sequential = turns.iter().map(|turn| turn.1.value).fold(0.0, f64::max);
    let mut curve: Vec<(f64, f64)> = vec![(1.0, one)];
    let mut latency = |rig: &mut Rig<'_>, streams: u64| -> Result<f64, Interruption> {
        // Once, the streams may happen on what an earlier one left in the drive's cache.
        let mut times = Vec::new();
        for _ in 0..3 {
            times.push(sequential_latency(rig, area, page, streams, pause)?.value);
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
        let most = MOST_STREAMS.min(area.length_bytes / (2 * READS * page)).max(1);
        let (mut follows, mut loses) = (1, most + 1);
        while loses - follows > 1 {
            // Doubling first: few streams are usual.
            let next = if loses > most { (follows * 2).min(most) } else { (follows + loses) / 2 };
            if latency(rig, next)? < middle {
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

fn random_latency(rig: &mut Rig<'_>, area: Area, page: u64, pause: Duration) -> Result<Point, Interruption> {
    let mut times = Vec::new();
    for _ in 0..100 {
        rig.pause(pause);
        let at = area.offset_bytes + rig.random().below(area.length_bytes / page) * page;
        times.push(rig.one(Access::read(at, page))?.as_us_f64());
    }
    Ok(point(&mut times))
}

/// The median latency of the second half of the reads of `streams` readers, one after the other.
fn sequential_latency(
    rig: &mut Rig<'_>,
    area: Area,
    page: u64,
    streams: u64,
    pause: Duration,
) -> Result<Point, Interruption> {
    let share = area.length_bytes / streams / page;
    let slack = share.saturating_sub(2 * READS).max(1);
    let starts: Vec<u64> = (0..streams).map(|s| s * share + rig.random().below(slack)).collect();
    let mut times = Vec::new();
    for i in 0..READS {
        for start in &starts {
            rig.pause(pause);
            let latency = rig.one(Access::read(area.offset_bytes + (start + i) * page, page))?;
            if i >= READS / 2 {
                times.push(latency.as_us_f64());
            }
        }
    }
    Ok(point(&mut times))
}
