//! Latencies of many requests: a high-dynamic-range histogram for quantiles, exact sums for the moments.
//!
//! The histogram keeps three significant digits of each latency, so a quantile is within 0.1% of a sample. Its memory
//! depends on the longest latency: 0.2 MB for seconds, half a megabyte for centuries. A coarse histogram keeps one
//! digit in some kilobytes, where many are needed. Minimum, maximum, mean and standard deviation are exact in both.

use crate::time::Duration;

/// Fewest requests beyond a percentile that is shown: with fewer it is hardly more than a single request.
pub const BEYOND: u64 = 10;

/// Returns the number of requests of which [`BEYOND`] lie beyond the quantile `q` (0 to 1, in steps of 0.0001).
pub fn requests_needed(q: f64) -> u64 {
    let beyond = ((1.0 - q) * 10_000.0).round().max(1.0) as u64;
    (10_000 * BEYOND).div_ceil(beyond)
}

/// Latencies, recorded one by one in constant memory.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
    sum_ns: u128,
    sum_squares_ns2: f64,
    min_ns: u64,
    max_ns: u64,
}

/// Statistics of a histogram, in nanoseconds. All zero for an empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Latency {
    /// Shortest.
    pub min: f64,
    /// Arithmetic mean, exact.
    pub mean: f64,
    /// Standard deviation of the samples.
    pub stddev: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// 99.99th percentile.
    #[serde(default)]
    pub p9999: f64,
    /// Longest.
    pub max: f64,
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self::with_digits(3)
    }

    /// Creates an empty histogram of one significant digit: its quantiles are at most 6.25% too high.
    pub fn coarse() -> Self {
        Self::with_digits(1)
    }

    fn with_digits(digits: u8) -> Self {
        // It grows with the longest latency: most runs have many histograms, and no latencies of hours.
        let counts = hdrhistogram::Histogram::new(digits).expect("the library accepts one digit and three");
        Self { counts, sum_ns: 0, sum_squares_ns2: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Adds one latency.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        let ns = latency.as_ns();
        self.counts.record(ns).expect("the histogram grows as far as any");
        self.sum_ns += u128::from(ns);
        self.sum_squares_ns2 += (ns as f64) * (ns as f64);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all latencies of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("the histogram grows as far as any");
        self.sum_ns += other.sum_ns;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Number of latencies recorded.
    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// Returns whether no latency was recorded.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Mean in nanoseconds; zero for an empty histogram.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum_ns as f64 / self.len() as f64 }
    }

    /// Returns the quantile `q` (0 to 1) in nanoseconds; zero for an empty histogram.
    pub fn quantile_ns(&self, q: f64) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        // A bucket's upper edge can exceed the longest sample.
        (self.counts.value_at_quantile(q).min(self.max_ns)).max(self.min_ns) as f64
    }

    /// Returns the mean of the longest latencies, of this share (0 to 1) of all and one at least, in nanoseconds and
    /// within 0.1%; zero for an empty histogram.
    pub fn mean_of_longest_ns(&self, share: f64) -> f64 {
        let wanted = ((self.len() as f64 * share).ceil() as u64).clamp(1, self.len().max(1));
        let mut shorter = self.len().saturating_sub(wanted);
        let mut sum_ns = 0.0;
        for (edge_ns, count) in self.buckets() {
            let among_shorter = count.min(shorter);
            shorter -= among_shorter;
            sum_ns += edge_ns.min(self.max_ns) as f64 * (count - among_shorter) as f64;
        }
        sum_ns / wanted as f64
    }

    /// Returns the non-empty buckets as (upper edge in ns, count), shortest first, for drawing a distribution.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter_recorded().map(|b| (b.value_iterated_to(), b.count_at_value()))
    }

    /// Returns all statistics.
    pub fn latency(&self) -> Latency {
        if self.is_empty() {
            return Latency::default();
        }
        let mean = self.mean_ns();
        let variance = (self.sum_squares_ns2 / self.len() as f64 - mean * mean).max(0.0);
        Latency {
            min: self.min_ns as f64,
            mean,
            stddev: variance.sqrt(),
            p50: self.quantile_ns(0.5),
            p90: self.quantile_ns(0.9),
            p99: self.quantile_ns(0.99),
            p999: self.quantile_ns(0.999),
            p9999: self.quantile_ns(0.9999),
            max: self.max_ns as f64,
        }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_quantiles_within_a_thousandth() {
        let mut histogram = Histogram::new();
        for us in 1..=1000 {
            histogram.record(Duration::from_us(us));
        }
        let latency = histogram.latency();
        assert_eq!(latency.min, 1e3);
        assert_eq!(latency.max, 1e6);
        assert_eq!(latency.mean, 500_500.0);
        assert!((latency.stddev - 288_675.0).abs() < 1.0, "{}", latency.stddev);
        assert!((latency.p90 / 900e3 - 1.0).abs() < 1e-3);
        assert!(latency.p999 <= latency.max);
    }

    #[test]
    fn mean_of_the_longest_is_that_of_the_tail() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.mean_of_longest_ns(0.01), 0.0);
        for us in 1..=1000 {
            histogram.record(Duration::from_us(us));
        }
        // The ten longest: 991 to 1000 us.
        assert!((histogram.mean_of_longest_ns(0.01) / 995.5e3 - 1.0).abs() < 1e-3);
        assert_eq!(histogram.mean_of_longest_ns(1e-9), 1e6);
        assert!((histogram.mean_of_longest_ns(1.0) / histogram.mean_ns() - 1.0).abs() < 1e-3);
    }

    #[test]
    fn coarse_quantiles_are_within_a_sixteenth() {
        let (mut fine, mut coarse) = (Histogram::new(), Histogram::coarse());
        for n in 1..=10_000_u64 {
            let latency = Duration::from_ns(n * n * 37);
            fine.record(latency);
            coarse.record(latency);
        }
        for q in [0.01, 0.5, 0.9, 0.99, 0.9999] {
            let ratio = coarse.quantile_ns(q) / fine.quantile_ns(q);
            assert!((0.999..1.0625).contains(&ratio), "{q}: {ratio}");
        }
        assert_eq!(coarse.mean_ns(), fine.mean_ns());
        assert_eq!(coarse.latency().max, fine.latency().max);
        let mut merged = Histogram::new();
        merged.merge(&coarse);
        assert_eq!(merged.len(), 10_000);
    }

    #[test]
    fn latencies_of_any_length_have_accurate_quantiles() {
        for make in [Histogram::new, Histogram::coarse] {
            let mut histogram = make();
            let lengths: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([u64::MAX]).collect();
            for &ns in &lengths {
                histogram.record(Duration::from_ns(ns));
            }
            for (at, &ns) in lengths.iter().enumerate() {
                let found = histogram.quantile_ns((at as f64 + 0.5) / lengths.len() as f64);
                assert!((1.0..=1.0625).contains(&(found / ns as f64)), "{ns}: {found}");
            }
            assert_eq!(histogram.latency().max, u64::MAX as f64);
            assert_eq!(histogram.buckets().count(), lengths.len());
            // A histogram also grows in a merge.
            let mut merged = make();
            merged.merge(&histogram);
            assert_eq!(merged.latency(), histogram.latency());
        }
        // An overloaded drive after hours: no quantile is below its sample.
        let mut histogram = Histogram::new();
        for hour in 1..=10 {
            histogram.record(Duration::from_s(hour * 3600));
        }
        assert!((histogram.quantile_ns(0.5) / 18_000e9 - 1.0).abs() < 1e-3);
        assert!((histogram.quantile_ns(0.9) / 32_400e9 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn empty_histogram_reports_zeros() {
        assert_eq!(Histogram::new().latency(), Latency::default());
    }

    #[test]
    fn merging_equals_recording_in_one() {
        let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for n in 0..100_u64 {
            let d = Duration::from_ns(n * n + 1);
            if n % 3 == 0 {
                a.record(d)
            } else {
                b.record(d)
            }
            both.record(d);
        }
        a.merge(&b);
        assert_eq!(a.latency(), both.latency());
    }
}
