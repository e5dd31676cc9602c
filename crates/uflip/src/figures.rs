//! The plots: response time against the parameter for each micro-benchmark, and the long runs of the methodology.

use crate::curve::Curves;
use flashlane_result::uflip::Benchmark;
use flashlane_result::{Axis, Figure, Mark, Series};

/// A plot for each micro-benchmark that was measured.
pub(crate) fn benchmarks(curves: &Curves) -> Vec<Figure> {
    Benchmark::ALL.into_iter().filter_map(|benchmark| figure(curves, benchmark)).collect()
}

fn figure(curves: &Curves, benchmark: Benchmark) -> Option<Figure> {
    let parameter = benchmark.parameter();
    let (scale, unit) = match parameter.unit {
        "B" => (1024.0, "KiB"),
        "ns" => (1e6, "ms"),
        _ => (1.0, ""),
    };
    let series: Vec<Series> = curves
        .iter()
        .filter(|((of, ..), _)| *of == benchmark)
        .map(|((_, first, second), points)| Series {
            name: second.map_or_else(
                || first.name().into(),
                |second| format!("{} per {}", first.name(), second.name()),
            ),
            points: points.iter().map(|point| (point.value as f64 / scale, point.mean_ns / 1e6)).collect(),
            scatter: false,
            ..Series::default()
        })
        .collect();
    if series.is_empty() {
        return None;
    }
    // Increments are negative and zero too.
    let axis = if benchmark == Benchmark::Order { Axis::linear } else { Axis::log };
    Some(Figure {
        id: benchmark.name().into(),
        title: title(benchmark).into(),
        x: axis(parameter.name, unit),
        y: Axis::log("response time", "ms"),
        series,
        caption: "Mean of the running phase, over the repetitions.".into(),
        ..Figure::default()
    })
}

fn title(benchmark: Benchmark) -> &'static str {
    match benchmark {
        Benchmark::Granularity => "Granularity: the size of an I/O",
        Benchmark::Alignment => "Alignment: the shift of I/Os of 32 KiB",
        Benchmark::Locality => "Locality: the area that is used",
        Benchmark::Partitioning => "Partitioning: sequential streams that take turns",
        Benchmark::Order => "Order: the distance from I/O to I/O, in I/Os",
        Benchmark::Parallelism => "Parallelism: processes at a time",
        Benchmark::Mix => "Mix: I/Os of the first pattern to one of the second",
        Benchmark::Pause => "Pause: after every I/O",
        Benchmark::Bursts => "Bursts: I/Os between pauses of 100 ms",
    }
}

/// Maximum number of points in a plot of single I/Os; more would overlap.
const MOST_POINTS: usize = 2000;

/// The reads around a batch of random writes (uflip09, figure 5).
pub(crate) fn interference(before_ns: &[u64], after_ns: &[u64], affected: u64) -> Figure {
    let thinned = |from: usize, reads: &[u64]| {
        let step = reads.len().div_ceil(MOST_POINTS).max(1);
        // The slowest of each group, so that the disturbance stays visible.
        reads
            .chunks(step)
            .enumerate()
            .map(|(at, stretch)| {
                let slowest = stretch.iter().copied().max().unwrap_or_default();
                ((from + at * step + 1) as f64, slowest as f64 / 1e6)
            })
            .collect::<Vec<_>>()
    };
    let series =
        |name: &str, points| Series { name: name.into(), points, scatter: true, ..Series::default() };
    Figure {
        id: "pause-determination".into(),
        title: "Reads before and behind a batch of random writes".into(),
        x: Axis::linear("read", ""),
        y: Axis::log("response time", "ms"),
        series: vec![
            series("before", thinned(0, before_ns)),
            series("behind", thinned(before_ns.len(), after_ns)),
        ],
        marks: vec![Mark {
            x: (before_ns.len() as u64 + affected) as f64,
            y: None,
            label: format!("{affected} reads disturbed"),
        }],
        caption: "Of neighbouring reads the slowest.".into(),
    }
}
