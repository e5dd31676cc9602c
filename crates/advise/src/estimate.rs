//! A mean with its confidence interval.

use flashlane_measure::statistics::student_t;
use flashlane_result::advice::Interval;

/// A positive quantity: its mean, and the half width of the interval that holds the true mean with 95% confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; infinite where one value alone was measured.
    pub half_width: f64,
}

impl Estimate {
    /// Returns the estimate from independent values. Requires: at least one value.
    pub fn of(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "an estimate needs a value");
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Self { mean, half_width: f64::INFINITY };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self { mean, half_width: student_t(0.95, values.len() as u64 - 1) * (variance / n).sqrt() }
    }

    /// Returns the half width as a share of the mean.
    pub fn relative(&self) -> f64 {
        self.half_width / self.mean
    }

    /// Returns a multiple of it.
    pub fn times(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, half_width: self.half_width * factor }
    }

    /// Returns the sum of two independent estimates.
    pub fn plus(self, other: Self) -> Self {
        Self { mean: self.mean + other.mean, half_width: self.half_width.hypot(other.half_width) }
    }

    /// Returns the quotient of two independent estimates; relative errors add as squares.
    pub fn over(self, other: Self) -> Self {
        let mean = self.mean / other.mean;
        Self { mean, half_width: mean * self.relative().hypot(other.relative()) }
    }

    /// Returns the lower end of the interval, at least 0.
    pub fn low(&self) -> f64 {
        (self.mean - self.half_width).max(0.0)
    }

    /// Returns the upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Converts it to the type of results.
    pub fn to_interval(self) -> Interval {
        Interval { low: self.low(), value: self.mean, high: self.high() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_five_values_matches_students_t() {
        let estimate = Estimate::of(&[9.0, 10.0, 11.0, 10.0, 10.0]);
        // Standard error 0.3162, t of four degrees of freedom 2.776.
        assert!((estimate.mean - 10.0).abs() < 1e-12);
        assert!((estimate.half_width - 0.8779).abs() < 1e-3, "{estimate:?}");
    }

    #[test]
    fn single_value_says_nothing_about_its_error() {
        assert_eq!(Estimate::of(&[3.0]).high(), f64::INFINITY);
        assert_eq!(Estimate::of(&[3.0]).low(), 0.0);
    }

    #[test]
    fn relative_errors_of_a_quotient_add_as_squares() {
        let quotient =
            Estimate { mean: 8.0, half_width: 0.24 }.over(Estimate { mean: 2.0, half_width: 0.08 });
        assert!((quotient.mean - 4.0).abs() < 1e-12);
        assert!((quotient.relative() - 0.05).abs() < 1e-12);
    }
}
