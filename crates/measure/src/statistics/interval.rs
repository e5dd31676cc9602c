//! Student's t, for confidence intervals of means of few independent values.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the half width of the two-sided confidence interval at `level`, in standard errors of the mean, for
/// `freedom` degrees of freedom. Requires: a level between 0 and 1, and at least one degree of freedom.
pub fn student_t(level: f64, freedom: u64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom as f64).expect("at least one degree of freedom");
    t.inverse_cdf(0.5 + level / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_published_tables() {
        for (level, freedom, table) in
            [(0.95, 1, 12.706), (0.95, 4, 2.776), (0.99, 4, 4.604), (0.999, 9, 4.781), (0.95, 1000, 1.962)]
        {
            let t = student_t(level, freedom);
            assert!((t - table).abs() < 1e-3, "{level} {freedom}: {t}");
        }
    }
}
