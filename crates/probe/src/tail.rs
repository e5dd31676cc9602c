//! Between which limits the 99th percentile of a further measurement of a point lies.
//!
//! One measurement of many requests gives its percentile to within a few percent, and says little about the next one:
//! where requests wait for programs or for GC, the percentile depends on how the planes became busy, and thousands of
//! requests share one such state. So the limits follow from how the percentiles of whole measurements differ, each of
//! which begins anew: the prediction interval of one more value beside `n` known ones, mean ± t · s · √(1 + 1/n), of
//! logarithms, as latencies differ by factors; and no narrower than the range of what was measured, windows within a
//! measurement included.
//!
//! Invariants: the lower limit is at most the lowest percentile that was measured, the upper at least the longest.

use crate::point_measurement::Latencies;
use flashlane_measure::statistics::student_t;

/// Probability that a further measurement lies below the upper limit, and as much that it lies above the lower one.
const CONFIDENCE: f64 = 0.95;
/// Fewest measurements that say how far they differ.
const COUNT_MIN: u32 = 3;

/// Percentiles of measurements of one point, each of which began anew.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tail {
    count: u32,
    /// Of the logarithms.
    sum: f64,
    sum_squares: f64,
}

impl Tail {
    /// The percentile of one measurement.
    pub(crate) fn of(latencies: &Latencies) -> Self {
        let log = latencies.p99_ns.max(1.0).ln();
        Self { count: 1, sum: log, sum_squares: log * log }
    }

    /// Adds further measurements.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            sum_squares: self.sum_squares + other.sum_squares,
        }
    }

    /// Returns the limits in nanoseconds; `None` of too few measurements. `measured_ns` are the lowest and the highest
    /// percentile that was measured.
    pub(crate) fn limits_ns(self, measured_ns: [f64; 2]) -> Option<[f64; 2]> {
        if self.count < COUNT_MIN {
            return None;
        }
        let count = f64::from(self.count);
        let mean = self.sum / count;
        let variance = ((self.sum_squares - count * mean * mean) / (count - 1.0)).max(0.0);
        let t = student_t(2.0 * CONFIDENCE - 1.0, u64::from(self.count) - 1);
        let half_width = t * (variance * (1.0 + 1.0 / count)).sqrt();
        let [lowest, highest] = measured_ns;
        let limits = [lowest.min((mean - half_width).exp()), highest.max((mean + half_width).exp())];
        assert!(limits[0] <= lowest && limits[1] >= highest, "{limits:?} around {measured_ns:?}");
        Some(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(p99s_ns: &[f64]) -> Option<[f64; 2]> {
        let of = |&p99_ns| Tail::of(&Latencies { p50_ns: 1.0, p99_ns, ranges_ns: None });
        let tail = p99s_ns.iter().map(of).fold(Tail::default(), Tail::and);
        tail.limits_ns([
            p99s_ns.iter().copied().fold(f64::INFINITY, f64::min),
            p99s_ns.iter().copied().fold(0.0, f64::max),
        ])
    }

    #[test]
    fn limits_are_those_of_a_further_measurement() {
        assert_eq!(limits(&[1e5, 2e5]), None);
        let [low, high] = limits(&[1e5; 6]).unwrap();
        assert!((low / 1e5 - 1.0).abs() < 1e-6 && (high / 1e5 - 1.0).abs() < 1e-6, "{low} {high}");
        // Three values a factor of e apart: s is 1, t of two degrees 2.920, and √(1 + 1/3) 1.155.
        let e = std::f64::consts::E;
        let [low, high] = limits(&[1e5, 1e5 * e, 1e5 * e * e]).unwrap();
        let factor = (2.920_f64 * (4.0_f64 / 3.0).sqrt()).exp();
        assert!((high / (1e5 * e * factor) - 1.0).abs() < 1e-3, "{high}");
        assert!((low * factor / (1e5 * e) - 1.0).abs() < 1e-3, "{low}");
    }

    /// Measurements within 3% of each other do not show that a further one stays within 1% of the longest.
    #[test]
    fn upper_limit_exceeds_what_was_measured() {
        let [low, high] = limits(&[4.00e5, 4.05e5, 4.12e5, 4.03e5, 4.08e5, 4.11e5]).unwrap();
        assert!(high > 1.01 * 4.12e5 && high < 1.05 * 4.12e5 && low < 4.00e5, "{low} {high}");
    }
}
