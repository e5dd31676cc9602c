//! Curves of the mean response time against the parameter, over the repetitions.

use crate::options::IO_BYTES;
use flashlane_result::uflip::{Baseline, Benchmark, RunRow};
use std::collections::BTreeMap;

/// The runs of one value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) value: i64,
    /// Mean of the runs' means.
    pub(crate) mean_ns: f64,
    /// Least and greatest mean of the runs.
    pub(crate) least_ns: f64,
    pub(crate) most_ns: f64,
    /// Smallest interval that covers the 95% confidence intervals of all runs' means; the mean of a run too short for
    /// one.
    pub(crate) interval_ns: Interval,
    /// Repetitions.
    pub(crate) runs: u32,
}

impl Point {
    /// Returns the range of the repetitions, as a share of their mean.
    pub(crate) fn spread(&self) -> f64 {
        if self.mean_ns > 0.0 { (self.most_ns - self.least_ns) / self.mean_ns } else { 0.0 }
    }
}

/// Lower and upper end.
pub(crate) type Interval = [f64; 2];

/// The 95% confidence interval of a run's mean.
fn interval_ns(row: &RunRow) -> Interval {
    let half = row.summary.mean_ns * row.summary.confidence.unwrap_or(0.0);
    [row.summary.mean_ns - half, row.summary.mean_ns + half]
}

type Key = (Benchmark, Baseline, Option<Baseline>);

/// A curve for each pattern of each micro-benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curves {
    curves: BTreeMap<Key, Vec<Point>>,
    /// The mean response time of the running phase of each baseline's long run, and its interval.
    long_runs: BTreeMap<Baseline, (f64, Interval)>,
    /// Whether the drive collected garbage in any run of a pattern that writes; absent where no run says so.
    cleaned: BTreeMap<Key, bool>,
}

/// Name of the long runs of the methodology.
pub(crate) const PHASES: &str = "phases";

impl Curves {
    pub(crate) fn of(rows: &[RunRow]) -> Self {
        let mut curves: BTreeMap<Key, BTreeMap<i64, Point>> = BTreeMap::new();
        let mut long_runs = BTreeMap::new();
        let mut cleaned: BTreeMap<Key, bool> = BTreeMap::new();
        for row in rows {
            let Some(benchmark) = row.benchmark else {
                if row.parameter == PHASES {
                    long_runs.insert(row.first, (row.summary.mean_ns, interval_ns(row)));
                }
                continue;
            };
            let point =
                curves.entry((benchmark, row.first, row.second)).or_default().entry(row.value).or_insert(
                    Point {
                        value: row.value,
                        least_ns: f64::INFINITY,
                        interval_ns: [f64::INFINITY, f64::NEG_INFINITY],
                        ..Point::default()
                    },
                );
            let writes = row.first.writes() || row.second.is_some_and(Baseline::writes);
            if let Some(run_cleaned) = row.cleaned.filter(|_| writes) {
                *cleaned.entry((benchmark, row.first, row.second)).or_default() |= run_cleaned;
            }
            let mean_ns = row.summary.mean_ns;
            point.mean_ns = (point.mean_ns * f64::from(point.runs) + mean_ns) / f64::from(point.runs + 1);
            point.runs += 1;
            point.least_ns = point.least_ns.min(mean_ns);
            point.most_ns = point.most_ns.max(mean_ns);
            let [low, high] = interval_ns(row);
            point.interval_ns = [point.interval_ns[0].min(low), point.interval_ns[1].max(high)];
        }
        let curves = curves.into_iter().map(|(key, points)| (key, points.into_values().collect())).collect();
        Self { curves, long_runs, cleaned }
    }

    /// Returns whether the drive is known to have collected no garbage while a benchmark wrote.
    pub(crate) fn nothing_cleaned(&self, benchmark: Benchmark) -> bool {
        let mut known = self.cleaned.iter().filter(|((of, ..), _)| *of == benchmark).peekable();
        known.peek().is_some() && known.all(|(_, cleaned)| !cleaned)
    }

    /// Returns whether it is known to have collected none while a baseline of a benchmark wrote.
    pub(crate) fn nothing_cleaned_by(&self, benchmark: Benchmark, baseline: Baseline) -> bool {
        self.cleaned.get(&(benchmark, baseline, None)) == Some(&false)
    }

    /// Returns the points of a pattern, by ascending value; empty where it was not measured.
    pub(crate) fn points(&self, benchmark: Benchmark, first: Baseline, second: Option<Baseline>) -> &[Point] {
        self.curves.get(&(benchmark, first, second)).map_or(&[], Vec::as_slice)
    }

    /// The points of a baseline.
    pub(crate) fn baseline(&self, benchmark: Benchmark, baseline: Baseline) -> &[Point] {
        self.points(benchmark, baseline, None)
    }

    /// The point of a baseline at a value.
    pub(crate) fn point(&self, benchmark: Benchmark, baseline: Baseline, value: i64) -> Option<&Point> {
        self.baseline(benchmark, baseline).iter().find(|point| point.value == value)
    }

    /// The mean response time of a baseline at a value, in nanoseconds.
    pub(crate) fn at(&self, benchmark: Benchmark, baseline: Baseline, value: i64) -> Option<f64> {
        self.point(benchmark, baseline, value).map(|point| point.mean_ns)
    }

    /// Returns the mean response time of an unvaried baseline, in nanoseconds: from its granularity runs, else from its
    /// long run.
    pub(crate) fn alone(&self, baseline: Baseline) -> Option<f64> {
        self.alone_with_interval(baseline).map(|(mean_ns, _)| mean_ns)
    }

    /// Like [`Curves::alone`], with the interval.
    pub(crate) fn alone_with_interval(&self, baseline: Baseline) -> Option<(f64, Interval)> {
        let point = self.point(Benchmark::Granularity, baseline, IO_BYTES as i64);
        point.map(|point| (point.mean_ns, point.interval_ns)).or(self.long_runs.get(&baseline).copied())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &[Point])> {
        self.curves.iter().map(|(key, points)| (key, points.as_slice()))
    }
}
