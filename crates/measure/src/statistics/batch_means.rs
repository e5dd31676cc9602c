//! The confidence interval of a mean whose samples are not independent: batch means.
//!
//! Latencies at depth 32 follow each other closely; treating them as independent gives an interval many times too
//! narrow. The means of long batches are nearly independent, so the interval is Student's for those (Law, Simulation
//! Modeling and Analysis, section 9.5.3). The batch length is not fixed beforehand: when [`BATCHES`] batches are
//! full, neighbours are merged and the length doubles, so memory is constant and between half that number and all of
//! them are in use. Whether they are long enough is tested by the correlation of neighbouring means.

use super::{steady_state, student_t};
use flashlane_base::Duration;

/// Batches before neighbours are merged.
const BATCHES: usize = 64;
/// Length of the first batches: an interval is first given after 512 samples.
const FIRST_LENGTH: u64 = 16;

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The mean over all full batches, in nanoseconds.
    pub mean_ns: f64,
    /// Half the width of the 95% confidence interval, in nanoseconds.
    pub half_width_ns: f64,
    /// Number of batches.
    pub batches: u32,
    /// Whether neighbouring batches are still correlated: the interval is then too narrow.
    pub correlated: bool,
}

impl Confidence {
    /// Half the width as a share of the mean; zero for a mean of zero.
    pub fn relative(&self) -> f64 {
        if self.mean_ns > 0.0 { self.half_width_ns / self.mean_ns } else { 0.0 }
    }
}

/// Collects latencies into batches.
#[derive(Clone, Debug)]
pub struct BatchMeans {
    sums_ns: Vec<u64>,
    sum_ns: u64,
    count: u64,
    length: u64,
}

impl BatchMeans {
    /// Creates an empty collector.
    pub fn new() -> Self {
        Self { sums_ns: Vec::with_capacity(BATCHES), sum_ns: 0, count: 0, length: FIRST_LENGTH }
    }

    /// Adds a latency. Returns whether it completed a batch, which changes the interval.
    #[inline]
    pub fn record(&mut self, latency: Duration) -> bool {
        self.sum_ns = self.sum_ns.saturating_add(latency.as_ns());
        self.count += 1;
        if self.count < self.length {
            return false;
        }
        self.fill();
        true
    }

    fn fill(&mut self) {
        self.sums_ns.push(self.sum_ns);
        (self.sum_ns, self.count) = (0, 0);
        if self.sums_ns.len() == BATCHES {
            for i in 0..BATCHES / 2 {
                self.sums_ns[i] = self.sums_ns[2 * i].saturating_add(self.sums_ns[2 * i + 1]);
            }
            self.sums_ns.truncate(BATCHES / 2);
            self.length *= 2;
        }
    }

    /// Returns the mean latency in nanoseconds in five equal parts of the run, for the rule of [`super::steady_state`];
    /// `None` before half the batches are full.
    pub fn rounds(&self) -> Option<[f64; steady_state::ROUNDS]> {
        let batches = self.sums_ns.len() / steady_state::ROUNDS;
        if self.sums_ns.len() < BATCHES / 2 {
            return None;
        }
        // The oldest batches that do not fill a round are left out.
        let from = self.sums_ns.len() - batches * steady_state::ROUNDS;
        let samples = (batches as u64 * self.length) as f64;
        let round = |i: usize| {
            let sums = &self.sums_ns[from + i * batches..][..batches];
            sums.iter().map(|&sum| sum as f64).sum::<f64>() / samples
        };
        Some(std::array::from_fn(round))
    }

    /// Returns the interval; `None` before half the batches are full.
    pub fn confidence(&self) -> Option<Confidence> {
        let n = self.sums_ns.len();
        if n < BATCHES / 2 {
            return None;
        }
        let means: Vec<f64> = self.sums_ns.iter().map(|&sum| sum as f64 / self.length as f64).collect();
        let mean = means.iter().sum::<f64>() / n as f64;
        let squares: f64 = means.iter().map(|m| (m - mean).powi(2)).sum();
        let neighbours: f64 = means.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
        let t = student_t(0.95, n as u64 - 1);
        let half_width_ns = t * (squares / (n - 1) as f64 / n as f64).sqrt();
        // Under independence the lag-1 correlation has a standard error of 1/sqrt(n); one-sided test at 5%.
        let correlated = squares > 0.0 && neighbours / squares > 1.645 / (n as f64).sqrt();
        Some(Confidence { mean_ns: mean, half_width_ns, batches: n as u32, correlated })
    }
}

impl Default for BatchMeans {
    fn default() -> Self {
        Self::new()
    }
}
