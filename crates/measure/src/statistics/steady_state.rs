//! Steady state by the window rule of SNIA's Performance Test Specification: five rounds whose values stay within
//! 20% of their average, with a trend that changes by at most 10% of it.

/// Rounds in the window.
pub const ROUNDS: usize = 5;
/// Largest distance between the highest and the lowest value, as a share of the average.
pub const EXCURSION_MAX: f64 = 0.20;
/// Largest change of the fitted line over the window, as a share of the average.
pub const SLOPE_MAX: f64 = 0.10;

/// How the last five rounds stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Their average.
    pub average: f64,
    /// Highest minus lowest, as a share of the average.
    pub excursion: f64,
    /// Change of the least-squares line from the first to the last round, as a share of the average; signed.
    pub slope: f64,
}

impl Window {
    /// The last five of `rounds` (one measured value a round); `None` with fewer, or an average that is not positive.
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

    /// Whether the rule is met.
    pub fn is_steady(&self) -> bool {
        self.excursion <= EXCURSION_MAX && self.slope.abs() <= SLOPE_MAX
    }
}

/// Rounds after which the rule gives up.
pub const ROUNDS_MAX: usize = 25;

/// Since when a run is steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The first I/O of the first five rounds that meet the rule.
    pub from: usize,
    /// These rounds, of response times in nanoseconds.
    pub window: Window,
}

/// Applies the rule to the response times of a run, cut into [`ROUNDS_MAX`] rounds of as many I/Os each: where it is
/// first met. `None` where it never is, or where there are fewer I/Os than rounds.
///
/// SNIA's rounds are minutes of a test that ends when the rule is met; over a run that was made, they are its parts.
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
