//! Figures of a run: distribution of latencies, and latency over time.

use crate::Run;
use flashlane_base::units::format_bytes;
use flashlane_base::{Histogram, requests_needed};
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
    [Some(distribution(operations, &run.latencies(), run.bytes())), over_time(run)]
        .into_iter()
        .flatten()
        .collect()
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
