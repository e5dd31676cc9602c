//! Runs side by side: the mean response time against the parameter, over the repetitions.

use crate::{Baseline, Benchmark, RunRow};
use std::collections::BTreeMap;

/// The runs of one value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) value: i64,
    /// The mean of the runs' means.
    pub(crate) mean_ns: f64,
    /// The runs' least and greatest mean.
    pub(crate) least_ns: f64,
    pub(crate) most_ns: f64,
    /// Repetitions.
    pub(crate) runs: u32,
}

impl Point {
    /// How far the repetitions are apart, as a share of their mean.
    pub(crate) fn spread(&self) -> f64 {
        if self.mean_ns > 0.0 { (self.most_ns - self.least_ns) / self.mean_ns } else { 0.0 }
    }
}

type Key = (Benchmark, Baseline, Option<Baseline>);

/// A curve for each pattern of each micro-benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curves(BTreeMap<Key, Vec<Point>>);

impl Curves {
    pub(crate) fn of(rows: &[RunRow]) -> Self {
        let mut curves: BTreeMap<Key, BTreeMap<i64, Point>> = BTreeMap::new();
        for row in rows {
            let Some(benchmark) = row.benchmark else { continue };
            let point = curves
                .entry((benchmark, row.first, row.second))
                .or_default()
                .entry(row.value)
                .or_insert(Point { value: row.value, least_ns: f64::INFINITY, ..Point::default() });
            let mean_ns = row.summary.mean_ns;
            point.mean_ns = (point.mean_ns * f64::from(point.runs) + mean_ns) / f64::from(point.runs + 1);
            point.runs += 1;
            point.least_ns = point.least_ns.min(mean_ns);
            point.most_ns = point.most_ns.max(mean_ns);
        }
        Self(curves.into_iter().map(|(key, points)| (key, points.into_values().collect())).collect())
    }

    /// The points of a pattern, by ascending value; none where it was not measured.
    pub(crate) fn points(&self, benchmark: Benchmark, first: Baseline, second: Option<Baseline>) -> &[Point] {
        self.0.get(&(benchmark, first, second)).map_or(&[], Vec::as_slice)
    }

    /// The points of a baseline.
    pub(crate) fn baseline(&self, benchmark: Benchmark, baseline: Baseline) -> &[Point] {
        self.points(benchmark, baseline, None)
    }

    /// The mean response time of a baseline at a value, in nanoseconds.
    pub(crate) fn at(&self, benchmark: Benchmark, baseline: Baseline, value: i64) -> Option<f64> {
        self.baseline(benchmark, baseline)
            .iter()
            .find(|point| point.value == value)
            .map(|point| point.mean_ns)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &[Point])> {
        self.0.iter().map(|(key, points)| (key, points.as_slice()))
    }
}
