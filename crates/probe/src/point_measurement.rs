//! What a measurement of one point gives.

use crate::tail::Tail;
use flashlane_base::{Histogram, Seed};
use flashlane_device::Counters;
use flashlane_measure::statistics::steady_state::Window;
use flashlane_measure::{Run, is_filling_buffer};
use flashlane_result::probe::Rate;
use flashlane_workload::Workload;

/// Ratio of two measurements of one point up to which its rate counts as stable.
const STABLE: f64 = 1.1;

/// Returns whether measurements of one point, of which these are the lowest and the highest, agree.
pub(crate) fn is_stable([lowest, highest]: [f64; 2]) -> bool {
    highest <= STABLE * lowest
}

/// Most requests a second of a rate: one in a nanosecond, the resolution of time. Faster ones took no time that could
/// be measured.
const TIMED_PER_S_MAX: f64 = 1e9;

/// Returns whether requests of this size took a measurable time at this rate.
pub(crate) fn is_timed(bytes_per_s: f64, request_bytes: u64) -> bool {
    bytes_per_s <= TIMED_PER_S_MAX * request_bytes as f64
}

/// Measurement of one point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PointMeasurement {
    pub(crate) bandwidth_bytes_per_s: f64,
    pub(crate) iops: f64,
    pub(crate) latencies: Latencies,
    /// The measurements behind `latencies` that began anew.
    pub(crate) tail: Tail,
    pub(crate) requests: u64,
    /// Whether the latency was steady over the run, by the rule of `run`.
    pub(crate) steady: bool,
    /// Flash pages programmed per page written, where the device counts them.
    pub(crate) write_amplification: Option<f64>,
    /// Whether GC ran meanwhile, where the device counts it.
    pub(crate) cleaning: Option<bool>,
    /// Whether the write buffer was filling meanwhile, where the device counts it.
    pub(crate) filling: Option<bool>,
    /// Lowest and highest bytes per second, where the point was measured several times.
    pub(crate) range_bytes_per_s: Option<[f64; 2]>,
    /// The workload line that repeats it.
    pub(crate) workload: String,
}

impl From<&PointMeasurement> for Rate {
    /// States the middle of repeated measurements that agree, which is at most 5% off any of them.
    fn from(measured: &PointMeasurement) -> Self {
        let factor = match measured.range_bytes_per_s {
            Some([lowest, highest]) if is_stable([lowest, highest]) => {
                f64::midpoint(lowest, highest) / measured.bandwidth_bytes_per_s
            }
            _ => 1.0,
        };
        Self {
            bandwidth_bytes_per_s: (measured.bandwidth_bytes_per_s * factor).round(),
            iops: (measured.iops * factor).round(),
            p50_ns: measured.latencies.p50_ns,
            p99_ns: measured.latencies.p99_ns,
            p50_range_ns: measured.latencies.ranges_ns.map(|[p50, _]| p50),
            p99_range_ns: measured.latencies.ranges_ns.map(|[_, p99]| p99),
            p99_limits_ns: measured.p99_limits_ns(),
            requests: measured.requests,
            steady: measured.steady,
            workload: measured.workload.clone(),
        }
    }
}

impl From<&Run> for PointMeasurement {
    fn from(run: &Run) -> Self {
        Self {
            steady: run.steadiness.as_ref().is_some_and(Window::is_steady),
            ..Self::of_rounds(std::slice::from_ref(run), 1)
        }
    }
}

impl PointMeasurement {
    /// Returns the limits of the 99th percentile of a further measurement; `None` of too few.
    fn p99_limits_ns(&self) -> Option<[f64; 2]> {
        self.tail.limits_ns(self.latencies.p99_range_ns())
    }

    /// Returns the longest 99th percentile that is to be expected: a bound has to hold for this one.
    pub(crate) fn longest_p99_ns(&self) -> f64 {
        let [_, longest] = self.p99_limits_ns().unwrap_or(self.latencies.p99_range_ns());
        longest
    }

    /// Returns the shortest 99th percentile that is to be expected.
    pub(crate) fn shortest_p99_ns(&self) -> f64 {
        let [shortest, _] = self.p99_limits_ns().unwrap_or(self.latencies.p99_range_ns());
        shortest
    }

    /// Adds a further measurement that began anew to the latencies.
    pub(crate) fn join(&mut self, latencies: Latencies) {
        self.latencies = self.latencies.joined(latencies);
        self.tail = self.tail.and(Tail::of(&latencies));
    }

    /// Adds repeated measurements of the same point, of which there MUST be at least one. Where they differ by more
    /// than a recommendation may be off, the slowest counts, which is what can be relied on.
    pub(crate) fn repeated(&self, again: &[Self]) -> Self {
        let by_bandwidth = |a: &&Self, b: &&Self| a.bandwidth_bytes_per_s.total_cmp(&b.bandwidth_bytes_per_s);
        let all = || again.iter().chain([self]);
        let slowest = all().min_by(by_bandwidth).expect("at least one");
        let fastest = all().max_by(by_bandwidth).expect("at least one");
        let range = [slowest, fastest].map(|measured| measured.bandwidth_bytes_per_s.round());
        let counts = if is_stable(range) { self } else { slowest };
        let each: Vec<_> = [self].into_iter().chain(again).map(|measured| measured.latencies).collect();
        Self {
            latencies: counts.latencies.compared_with(&each),
            tail: all().map(|measured| measured.tail).fold(Tail::default(), Tail::and),
            range_bytes_per_s: Some(range),
            // That of the first, which measures the area from its beginning.
            workload: self.workload.clone(),
            ..counts.clone()
        }
    }

    /// Combines runs of one workload, of which there MUST be at least one. Each round is this number of runs. They
    /// follow each other, so that together they are one measurement.
    pub(crate) fn of_rounds(runs: &[Run], runs_each: usize) -> Self {
        let mut all = Histogram::new();
        let (mut requests, mut bytes, mut ns) = (0, 0, 0);
        let mut counters = Counters::default();
        for run in runs {
            all.merge(&run.latencies());
            requests += run.requests;
            bytes += run.bytes();
            ns += run.elapsed.as_ns();
            counters = counters.plus(&run.counters);
        }
        let of_round = |round: &[Run]| {
            let mut latencies = Histogram::new();
            round.iter().for_each(|run| latencies.merge(&run.latencies()));
            Latencies::from(&latencies)
        };
        let each: Vec<Latencies> = runs.chunks(runs_each).map(of_round).collect();
        let per_s = 1e9 / ns.max(1) as f64;
        let together = Latencies::from(&all);
        Self {
            bandwidth_bytes_per_s: bytes as f64 * per_s,
            iops: requests as f64 * per_s,
            latencies: together.compared_with(&each),
            tail: Tail::of(&together),
            requests,
            steady: false,
            write_amplification: counters.write_amplification(),
            cleaning: is_cleaning(&counters),
            filling: is_filling_buffer(&counters),
            range_bytes_per_s: None,
            workload: line(&runs[0].workload),
        }
    }
}

/// Ratio of two measurements of a latency up to which it counts as stable.
const STABLE_LATENCY: f64 = 1.25;

/// Returns whether latencies, of which these are the lowest and the highest, agree.
pub(crate) fn is_stable_latency([lowest, highest]: [f64; 2]) -> bool {
    highest <= STABLE_LATENCY * lowest
}

/// Median and 99th percentile of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Latencies {
    pub(crate) p50_ns: f64,
    pub(crate) p99_ns: f64,
    /// Lowest and highest median, and lowest and highest 99th percentile, of several measurements.
    pub(crate) ranges_ns: Option<[[f64; 2]; 2]>,
}

impl From<&Histogram> for Latencies {
    fn from(latencies: &Histogram) -> Self {
        let latency = latencies.latency();
        Self { p50_ns: latency.p50, p99_ns: latency.p99, ranges_ns: None }
    }
}

impl Latencies {
    /// The lowest and the highest 99th percentile of the measurements.
    pub(crate) fn p99_range_ns(&self) -> [f64; 2] {
        self.ranges_ns.map_or([self.p99_ns; 2], |[_, p99]| p99)
    }

    /// Adds another measurement to the ranges. Where it does not agree with these, returns the latencies of the one
    /// with the longer 99th percentile.
    pub(crate) fn joined(self, other: Self) -> Self {
        let of = |range: [f64; 2], ns: f64| [range[0].min(ns), range[1].max(ns)];
        let [p50, p99] = self.ranges_ns.unwrap_or([[self.p50_ns; 2], [self.p99_ns; 2]]);
        let ranges = [of(p50, other.p50_ns), of(p99, other.p99_ns)];
        let is_longer = other.p99_ns > self.p99_ns && !ranges.into_iter().all(is_stable_latency);
        Self { ranges_ns: Some(ranges), ..if is_longer { other } else { self } }
    }

    /// Adds the ranges of single measurements, if there are several. Where these do not agree, returns the latencies of
    /// the one with the longest 99th percentile, which is what can be relied on.
    pub(crate) fn compared_with(self, each: &[Self]) -> Self {
        if each.len() < 2 {
            return self;
        }
        let range = |of: fn(&Self) -> f64| {
            each.iter().map(of).fold([f64::INFINITY, 0.0], |[low, high], ns| [low.min(ns), high.max(ns)])
        };
        let ranges = [range(|one| one.p50_ns), range(|one| one.p99_ns)];
        let longest = each.iter().max_by(|a, b| a.p99_ns.total_cmp(&b.p99_ns)).expect("several measurements");
        let stated = if ranges.into_iter().all(is_stable_latency) { self } else { *longest };
        Self { ranges_ns: Some(ranges), ..stated }
    }
}

/// Returns a workload as a line for `run`, without the default seed of 0.
pub(crate) fn line(workload: &Workload) -> String {
    workload.to_string().replacen(",seed=0", "", usize::from(workload.seed == Seed(0)))
}

/// Returns whether GC ran, where the device counts it.
pub(crate) fn is_cleaning(counters: &Counters) -> Option<bool> {
    let moved = counters.get(Counters::PAGES_MOVED).is_some_and(|pages| pages > 0);
    counters.get("blocks_erased").map(|blocks| blocks > 0 || moved)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A steady point with this rate.
    pub(crate) fn measured(bandwidth_bytes_per_s: f64) -> PointMeasurement {
        PointMeasurement {
            bandwidth_bytes_per_s,
            iops: bandwidth_bytes_per_s / 4096.0,
            latencies: Latencies { p50_ns: 1e5, p99_ns: 2e5, ranges_ns: None },
            tail: Tail::default(),
            requests: 1000,
            steady: true,
            write_amplification: None,
            cleaning: None,
            filling: None,
            range_bytes_per_s: None,
            workload: String::new(),
        }
    }

    #[test]
    fn latencies_that_differ_are_those_of_the_slowest_measurement() {
        let latencies = |p50_ns, p99_ns| Latencies { p50_ns, p99_ns, ranges_ns: None };
        let [even, clustered] = [latencies(107.0, 131.0), latencies(64.0, 482.0)];
        let stated = latencies(105.0, 460.0).compared_with(&[even, clustered, even]);
        assert_eq!((stated.p50_ns, stated.p99_ns), (64.0, 482.0));
        assert_eq!(stated.ranges_ns, Some([[64.0, 107.0], [131.0, 482.0]]));
        let stable = even.compared_with(&[even, latencies(107.0, 150.0)]);
        assert_eq!((stable.p99_ns, stable.ranges_ns), (131.0, Some([[107.0, 107.0], [131.0, 150.0]])));
        assert_eq!(even.compared_with(&[clustered]), even);
    }

    #[test]
    fn later_latencies_extend_the_ranges() {
        let latencies = |p50_ns, p99_ns| Latencies { p50_ns, p99_ns, ranges_ns: None };
        let rounds =
            latencies(107.0, 131.0).compared_with(&[latencies(100.0, 130.0), latencies(107.0, 150.0)]);
        let alike = rounds.joined(latencies(110.0, 155.0));
        assert_eq!((alike.p99_ns, alike.ranges_ns), (131.0, Some([[100.0, 110.0], [130.0, 155.0]])));
        let slower = alike.joined(latencies(64.0, 482.0));
        assert_eq!((slower.p50_ns, slower.p99_ns), (64.0, 482.0));
        assert_eq!(slower.ranges_ns, Some([[64.0, 110.0], [130.0, 482.0]]));
        assert_eq!(slower.joined(latencies(107.0, 131.0)), slower);
    }

    #[test]
    fn stated_rate_is_the_middle_of_measurements_that_agree() {
        let stated = |again: &[PointMeasurement]| {
            let repeated = measured(100e6).repeated(again);
            (Rate::from(&repeated).bandwidth_bytes_per_s, repeated.range_bytes_per_s)
        };
        assert_eq!(stated(&[measured(108e6), measured(102e6)]), (104e6, Some([100e6, 108e6])));
        assert_eq!(stated(&[measured(120e6)]), (100e6, Some([100e6, 120e6])));
    }
}
