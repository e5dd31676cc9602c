//! Summary of a run (uflip09, section 4.2: minimum, maximum, mean and standard deviation of the running phase), with
//! percentiles.

use flashlane_measure::statistics::BatchMeans;
use flashlane_result::uflip::Summary;

/// Summarizes response times in the order of their submission; all zero without any.
pub(crate) fn of(latencies_ns: &[u64]) -> Summary {
    if latencies_ns.is_empty() {
        return Summary::default();
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
    Summary {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_matches_hand_calculation() {
        let summary = of(&[4, 2, 9, 1]);
        assert_eq!((summary.min_ns, summary.max_ns, summary.p50_ns, summary.p99_ns), (1, 9, 2, 9));
        assert_eq!(summary.mean_ns, 4.0);
        // 0 + 4 + 25 + 9 over three.
        assert!((summary.sd_ns - (38.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(summary.confidence, None);
        assert_eq!(of(&[7]).sd_ns, 0.0);
        assert_eq!(of(&[]), Summary::default());
        assert_eq!(of(&[5; 1024]).confidence, Some(0.0));
    }
}
