//! The link: bandwidth, cost of a command, and the shortest round trip.
//!
//! Trimmed pages hold no data, so most drives complete reads of them without flash: their latency is host, command and
//! link. Many such reads in flight complete at the rate of the link; the time per read against its size is a straight
//! line with the cost of a command at zero bytes and the inverse bandwidth as its slope.

use crate::area::Area;
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::pattern::point;
use flashlane_device::SubmitError;
use flashlane_measure::Interruption;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Series};
use flashlane_workload::Access;

/// Findings on the link.
pub(crate) struct Link {
    pub(crate) bandwidth: Finding,
    pub(crate) command: Finding,
    pub(crate) round_trip: Finding,
    /// The times of reads by their size, where the link limits them.
    pub(crate) figure: Option<Figure>,
}

/// Tolerance of the line's distance from its points, and of two measurements of one point.
const STRAIGHT: f64 = 0.04;

/// Measures the link over an area that may be trimmed.
pub(crate) fn find(bench: &mut Bench<'_>, area: Area) -> Result<Link, EarlyEnd> {
    match bench.one(Access::trim(area.offset_bytes, area.length_bytes)) {
        Ok(_) => {}
        Err(EarlyEnd::Interrupted(Interruption::Refused {
            error: SubmitError::Unsupported { .. }, ..
        })) => {
            return Ok(Link::unknown(
                "the drive has no trim, and reads of written pages wait for flash as well",
            ));
        }
        Err(error) => return Err(error),
    }
    let round_trip = find_round_trip(bench, area)?;
    let points = match time_by_size(bench, area)? {
        TimesBySize::OfLink(points) => points,
        TimesBySize::NotOfLink(why) => return Ok(Link { round_trip, ..Link::unknown(why) }),
    };
    let (slope, command) = line(&points);
    let figure = Some(figure(&points, |bytes| command + slope * bytes));
    let straight = points.iter().all(|&(x, y)| ((command + slope * x) / y - 1.0).abs() < STRAIGHT);
    if !straight || slope <= 0.0 {
        let why = "the time of reads that hold nothing does not grow in proportion to their size";
        return Ok(Link { round_trip, figure, ..Link::unknown(why) });
    }
    let evidence = format!(
        "{} reads of 16 to 128 KiB that hold nothing, in flight together, take {command:.1} µs and {:.3} µs a KiB each",
        bench.depth(),
        slope * 1024.0
    );
    let bandwidth = Finding::found((1e6 / slope).round() as u64, 0.9, evidence.clone());
    let command = if command > 0.1 {
        Finding::found((command * 1e3).round() as u64, 0.8, evidence)
    } else {
        Finding::absent(0.7, evidence)
    };
    Ok(Link { bandwidth, command, round_trip, figure })
}

/// Finding on the time of one read of a trimmed sector.
fn find_round_trip(bench: &mut Bench<'_>, area: Area) -> Result<Finding, EarlyEnd> {
    let sector = bench.sector_bytes();
    let mut times = Vec::new();
    for _ in 0..64 {
        let at = area.offset_bytes + bench.random().below(area.length_bytes / sector) * sector;
        times.push(bench.one(Access::read(at, sector))?.as_us_f64());
    }
    let us = point(&mut times).value;
    Ok(Finding::found(
        (us * 1e3).round() as u64,
        0.9,
        format!("one read of {sector} bytes that holds nothing takes {us:.1} µs"),
    ))
}

/// Microseconds per read against its bytes, if the link limits the reads; else why it does not, or may not.
enum TimesBySize {
    OfLink(Vec<(f64, f64)>),
    NotOfLink(&'static str),
}

/// Measures reads of a trimmed area, with many in flight.
fn time_by_size(bench: &mut Bench<'_>, area: Area) -> Result<TimesBySize, EarlyEnd> {
    let sector = bench.sector_bytes();
    let mut points = Vec::new();
    for size in [sector, 16 * 1024, 64 * 1024, 128 * 1024] {
        let (first, again) = (us_per_read(bench, area, size, 1)?, us_per_read(bench, area, size, 1)?);
        let shallower = us_per_read(bench, area, size, 2)?;
        if (first / again - 1.0).abs() > STRAIGHT {
            return Ok(TimesBySize::NotOfLink("two measurements of the same reads do not agree"));
        }
        if size != sector && shallower / first > 1.0 + STRAIGHT {
            let why = "half as many reads in flight are served more slowly: the link is not the limit";
            return Ok(TimesBySize::NotOfLink(why));
        }
        points.push((size as f64, f64::midpoint(first, again)));
    }
    // Of single sectors it was not checked whether the link limits them.
    points.remove(0);
    Ok(TimesBySize::OfLink(points))
}

impl Link {
    /// Findings that are not determined, for one reason.
    pub(crate) fn unknown(why: &str) -> Self {
        Self {
            bandwidth: Finding::not_determined(why),
            command: Finding::not_determined(why),
            round_trip: Finding::not_determined(why),
            figure: None,
        }
    }
}

/// Microseconds per read of `size` bytes at the drive's depth divided by `share`.
fn us_per_read(bench: &mut Bench<'_>, area: Area, size: u64, share: u32) -> Result<f64, EarlyEnd> {
    let count = 400;
    let places: Vec<u64> = (0..count)
        .map(|_| area.offset_bytes + bench.random().below(area.length_bytes / size) * size)
        .collect();
    let depth = (bench.depth() / share).max(1);
    let elapsed = bench.stream(places.into_iter().map(|at| Access::read(at, size)), depth)?;
    Ok(elapsed.as_us_f64() / f64::from(count))
}

/// Fits a line by least squares: slope and value at zero.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let xy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    let xx: f64 = points.iter().map(|p| (p.0 - mx) * (p.0 - mx)).sum();
    (xy / xx, my - xy / xx * mx)
}

/// Draws the microseconds per read against its bytes, and the line through them from zero bytes.
fn figure(points: &[(f64, f64)], at: impl Fn(f64) -> f64) -> Figure {
    const KIB: f64 = 1024.0;
    let largest = points.last().map_or(0.0, |point| point.0);
    Figure {
        id: "link".into(),
        title: "Reads that hold nothing, by their size".into(),
        x: Axis::linear("size", "KiB"),
        y: Axis::linear("time per read", "us"),
        series: vec![
            Series {
                name: "measured".into(),
                points: points.iter().map(|&(bytes, us)| (bytes / KIB, us)).collect(),
                scatter: true,
                ..Series::default()
            },
            Series {
                name: "line".into(),
                points: [0.0, largest].map(|bytes| (bytes / KIB, at(bytes))).to_vec(),
                ..Series::default()
            },
        ],
        caption: "The line's slope is a KiB's time on the link; where it begins, the cost of a command."
            .into(),
        ..Figure::default()
    }
}
