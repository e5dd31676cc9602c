//! One run in a few numbers (uflip09, section 4.2: minimum, maximum, mean and standard deviation of the running phase),
//! with the percentiles that a mean hides.

use flashlane_measure::statistics::BatchMeans;
use serde::{Deserialize, Serialize};

/// The response times of a run's running phase, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean.
    pub mean_ns: f64,
    /// Least.
    pub min_ns: u64,
    /// Greatest.
    pub max_ns: u64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// Half of the I/Os take no longer.
    pub p50_ns: u64,
    /// 99 of 100 take no longer.
    pub p99_ns: u64,
    /// 999 of 1,000 take no longer.
    pub p999_ns: u64,
    /// Half the width of the mean's 95% confidence interval, as a share of the mean; none for under 512 I/Os.
    pub confidence: Option<f64>,
}

impl Summary {
    /// The summary of these response times in the order of their submission; of none all is zero.
    pub fn of(latencies_ns: &[u64]) -> Self {
        if latencies_ns.is_empty() {
            return Self::default();
        }
        let count = latencies_ns.len() as f64;
        let mean_ns = latencies_ns.iter().map(|&ns| ns as f64).sum::<f64>() / count;
        let squares: f64 = latencies_ns.iter().map(|&ns| (ns as f64 - mean_ns).powi(2)).sum();
        let mut sorted = latencies_ns.to_vec();
        sorted.sort_unstable();
        // The nearest rank.
        let quantile = |q: f64| sorted[((q * count).ceil() as usize).clamp(1, sorted.len()) - 1];
        let mut batches = BatchMeans::new();
        for &ns in latencies_ns {
            batches.record(flashlane_base::Duration::from_ns(ns));
        }
        Self {
            mean_ns,
            min_ns: sorted[0],
            max_ns: sorted[sorted.len() - 1],
            sd_ns: if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 },
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            confidence: batches.confidence().map(|confidence| confidence.relative()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_what_is_worked_out_by_hand() {
        let summary = Summary::of(&[4, 2, 9, 1]);
        assert_eq!((summary.min_ns, summary.max_ns, summary.p50_ns, summary.p99_ns), (1, 9, 2, 9));
        assert_eq!(summary.mean_ns, 4.0);
        // 0 + 4 + 25 + 9 over three.
        assert!((summary.sd_ns - (38.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(summary.confidence, None);
        assert_eq!(Summary::of(&[7]).sd_ns, 0.0);
        assert_eq!(Summary::of(&[]), Summary::default());
        assert_eq!(Summary::of(&[5; 1024]).confidence, Some(0.0));
    }
}
