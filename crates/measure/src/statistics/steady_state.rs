//! Steady state by the window rule of SNIA's Performance Test Specification: five rounds whose values stay within
//! 20% of their average, with a trend that changes by at most 10% of it.

/// Rounds in the window.
pub const ROUNDS: usize = 5;
/// Largest distance between the highest and the lowest value, as a share of the average.
pub const EXCURSION_MAX: f64 = 0.20;
/// Largest change of the fitted line over the window, as a share of the average.
pub const SLOPE_MAX: f64 = 0.10;

/// Variation of the last five rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Average of the rounds.
    pub average: f64,
    /// Highest minus lowest, as a share of the average.
    pub excursion: f64,
    /// Change of the least-squares line from the first to the last round, as a signed share of the average.
    pub slope: f64,
}

impl Window {
    /// Takes the last five of `rounds` (one value per round); `None` with fewer, or an average that is not positive.
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let window = rounds.last_chunk::<ROUNDS>()?;
        let average = window.iter().sum::<f64>() / ROUNDS as f64;
        if !(average.is_finite() && average > 0.0) {
            return None;
        }
        let highest = window.iter().copied().fold(f64::MIN, f64::max);
        let lowest = window.iter().copied().fold(f64::MAX, f64::min);
        let middle = (ROUNDS - 1) as f64 / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (round, value) in window.iter().enumerate() {
            let x = round as f64 - middle;
            products += x * (value - average);
            squares += x * x;
        }
        let change = products / squares * (ROUNDS - 1) as f64;
        Some(Self { average, excursion: (highest - lowest) / average, slope: change / average })
    }

    /// Returns whether the rule is met.
    pub fn is_steady(&self) -> bool {
        self.excursion <= EXCURSION_MAX && self.slope.abs() <= SLOPE_MAX
    }
}

/// Most rounds tried.
pub const ROUNDS_MAX: usize = 25;

/// Start of the steady state of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// First I/O of the first five rounds that meet the rule.
    pub from: usize,
    /// These rounds, with response times in nanoseconds.
    pub window: Window,
}

/// Finds where a run, cut into [`ROUNDS_MAX`] rounds of equal length, first meets the rule. `None` where it never does,
/// or has fewer I/Os than rounds.
///
/// SNIA's rounds are minutes of a test that ends when the rule is met; here they are parts of a complete run.
pub fn since(latencies_ns: &[u64]) -> Option<Steady> {
    let length = latencies_ns.len() / ROUNDS_MAX;
    if length == 0 {
        return None;
    }
    let mean = |round: &[u64]| round.iter().map(|&ns| ns as f64).sum::<f64>() / length as f64;
    let rounds: Vec<f64> = latencies_ns.chunks_exact(length).take(ROUNDS_MAX).map(mean).collect();
    let windows = rounds.windows(ROUNDS).map(Window::of).enumerate();
    let mut steady = windows.filter_map(|(first, window)| {
        window.filter(Window::is_steady).map(|window| Steady { from: first * length, window })
    });
    steady.next()
}
