//! Student's t, by which the mean of few independent values has an interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How many standard errors of the mean an interval of this two-sided `level` reaches to each side, with so many degrees
/// of freedom. Requires: a level between 0 and 1, and at least one degree of freedom.
pub fn student_t(level: f64, freedom: u64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom as f64).expect("at least one degree of freedom");
    t.inverse_cdf(0.5 + level / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (level, freedom, table) in
            [(0.95, 1, 12.706), (0.95, 4, 2.776), (0.99, 4, 4.604), (0.999, 9, 4.781), (0.95, 1000, 1.962)]
        {
            let t = student_t(level, freedom);
            assert!((t - table).abs() < 1e-3, "{level} {freedom}: {t}");
        }
    }
}
