//! Figures of a run: distribution of latencies, and latency over time.

use crate::Run;
use crate::energy::power_over_time;
use crate::statistics::Band;
use flashlane_base::units::format_bytes;
use flashlane_base::{Histogram, requests_needed};
use flashlane_device::Part;
use flashlane_result::run::plural;
use flashlane_result::{Axis, Figure, Mark, Series};

/// Bins per decade of latency.
const BINS: f64 = 20.0;
/// Samples drawn in one figure.
const POINTS: usize = 2_000;
/// Intervals for which the slowest request is drawn.
const INTERVALS: usize = 200;

/// Returns the figures of a run; empty without measured requests.
pub fn of(run: &Run) -> Vec<Figure> {
    if run.requests == 0 {
        return Vec::new();
    }
    let operations = run.operations();
    let operations = operations.iter().map(|(name, latencies)| (*name, latencies));
    let distribution = distribution(operations, &run.latencies(), run.bytes());
    let power = power_over_time(run.power.as_ref());
    [Some(distribution), over_time(run), time_split(&run.time_split), power].into_iter().flatten().collect()
}

/// Draws the distribution of latencies by operation.
pub fn distribution<'a>(
    operations: impl Iterator<Item = (&'a str, &'a Histogram)>,
    all: &Histogram,
    bytes: u64,
) -> Figure {
    let series = operations.map(|(name, histogram)| Series {
        name: plural(name),
        points: bins(histogram, all.len()),
        scatter: false,
        ..Series::default()
    });
    let marks = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];
    Figure {
        id: "latency-distribution".into(),
        title: "Distribution of latency".into(),
        x: Axis::log("latency", "us"),
        y: Axis::linear("requests", "%"),
        series: series.collect(),
        marks: marks
            .iter()
            .filter(|(_, q)| *q <= 0.5 || all.len() >= requests_needed(*q))
            .map(|&(label, q)| Mark { x: all.quantile_ns(q).max(1.0) / 1e3, y: None, label: label.into() })
            .collect(),
        caption: format!("{} requests, {BINS} bins a decade; {} moved.", all.len(), format_bytes(bytes)),
    }
}

/// Returns the percentage of `requests` in each bin, with an empty bin at both ends.
pub fn bins(histogram: &Histogram, requests: u64) -> Vec<(f64, f64)> {
    let bin = |ns: u64| ((ns.max(1) as f64).log10() * BINS).floor() as i64;
    let mut counts: Vec<(i64, u64)> = Vec::new();
    for (ns, count) in histogram.buckets() {
        match counts.last_mut() {
            Some((last, sum)) if *last == bin(ns) => *sum += count,
            _ => counts.push((bin(ns), count)),
        }
    }
    let (Some(&(first, _)), Some(&(last, _))) = (counts.first(), counts.last()) else { return Vec::new() };
    let mut counts = counts.into_iter().peekable();
    let point = |bin: i64| {
        let count = counts.next_if(|&(at, _)| at == bin).map_or(0, |(_, count)| count);
        let middle_us = 10_f64.powf((bin as f64 + 0.5) / BINS) / 1e3;
        (middle_us, 100.0 * count as f64 / requests.max(1) as f64)
    };
    (first - 1..=last + 1).map(point).collect()
}

/// Draws where the time of requests went, a bar for each band of each operation; `None` where it is not known.
pub fn time_split(operations: &[(&str, Vec<Band>)]) -> Option<Figure> {
    let bars: Vec<(String, &Band)> = operations
        .iter()
        .flat_map(|(operation, bands)| bands.iter().map(|band| (bar_name(operation, band), band)))
        .collect();
    if bars.is_empty() {
        return None;
    }
    let mean_us = |band: &Band, part: Part| band.sum.of(part).as_us_f64() / band.requests.max(1) as f64;
    let series = |part: Part| Series {
        name: part.name().replace('_', " ").replace("gc", "GC"),
        points: bars.iter().enumerate().map(|(at, (_, band))| (at as f64, mean_us(band, part))).collect(),
        ..Series::default()
    };
    let occurs = |part: &Part| bars.iter().any(|(_, band)| !band.sum.of(*part).is_zero());
    Some(Figure {
        id: "time-split".into(),
        title: "Where the time went".into(),
        x: Axis {
            names: bars.iter().map(|(name, _)| name.clone()).collect(),
            ..Axis::linear("requests", "")
        },
        y: Axis { stacked: true, ..Axis::linear("mean latency", "us") },
        series: Part::ALL.into_iter().filter(occurs).map(series).collect(),
        marks: Vec::new(),
        caption: "Mean latency by part, of all requests and of those around percentiles of the latency."
            .into(),
    })
}

fn bar_name(operation: &str, band: &Band) -> String {
    let requests = plural(operation);
    match band.around {
        None => format!("all {requests}"),
        Some(q) => format!("{requests} around p{}", (q * 1000.0).round() / 10.0),
    }
}

fn over_time(run: &Run) -> Option<Figure> {
    let end_ns = run.samples.last()?.submitted_ns;
    let step = run.samples.len().div_ceil(POINTS);
    let point = |ns: u64, latency_ns: u64| (ns as f64 / 1e9, latency_ns.max(1) as f64 / 1e3);
    let kinds = run.operations().into_iter().map(|(name, _)| {
        let drawn = run.samples.iter().step_by(step).filter(|s| s.operation.to_string() == name);
        Series {
            name: plural(name),
            points: drawn.map(|s| point(s.submitted_ns, s.latency_ns)).collect(),
            scatter: true,
            ..Series::default()
        }
    });
    let width_ns = end_ns / INTERVALS as u64 + 1;
    let slowest = run.samples.chunk_by(|a, b| a.submitted_ns / width_ns == b.submitted_ns / width_ns);
    let slowest = slowest.filter_map(|interval| interval.iter().max_by_key(|s| s.latency_ns));
    let slowest = Series {
        name: "slowest".into(),
        points: slowest.map(|s| point(s.submitted_ns, s.latency_ns)).collect(),
        scatter: false,
        ..Series::default()
    };
    Some(Figure {
        id: "latency-over-time".into(),
        title: "Latency over time".into(),
        x: Axis::linear("time", "s"),
        y: Axis::log("latency", "us"),
        series: kinds.chain([slowest]).collect(),
        marks: Vec::new(),
        caption: format!(
            "One in {step} of {} samples as points; the slowest sample in each of up to {INTERVALS} intervals as a line.",
            run.samples.len()
        ),
    })
}
