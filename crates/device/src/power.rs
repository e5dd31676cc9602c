//! Power over time: the energy of a simulated device in windows of equal length.

use flashlane_base::{Duration, Instant};

/// The energy that a device took in each window of its time, from its beginning on.
///
/// Invariant: there are at most [`PowerCurve::MOST_WINDOWS`] windows; where time goes on, two become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerCurve {
    /// Length of a window.
    pub window: Duration,
    /// Energy of each window, in picojoules.
    pub energy_pj: Vec<u64>,
}

impl Default for PowerCurve {
    fn default() -> Self {
        Self { window: Self::SHORTEST_WINDOW, energy_pj: Vec::new() }
    }
}

impl PowerCurve {
    /// The length of windows at first.
    pub const SHORTEST_WINDOW: Duration = Duration::from_ms(10);
    /// The most windows: 11 minutes of the shortest.
    pub const MOST_WINDOWS: usize = 1 << 16;

    /// Adds energy that is taken evenly between two times; no energy is lost to rounding.
    pub fn add(&mut self, from: Instant, to: Instant, energy_pj: u128) {
        debug_assert!(from <= to, "time goes on");
        while to.as_ns() / self.window.as_ns() >= Self::MOST_WINDOWS as u64 {
            self.merge();
        }
        let window = self.window.as_ns();
        let (first, last) = (from.as_ns() / window, to.as_ns() / window);
        if self.energy_pj.len() <= last as usize {
            self.energy_pj.resize(last as usize + 1, 0);
        }
        let length = u128::from(to.since(from).as_ns().max(1));
        let mut left = energy_pj;
        for at in first..last {
            let within = (at + 1) * window - from.as_ns().max(at * window);
            let share = energy_pj * u128::from(within) / length;
            self.energy_pj[at as usize] += share as u64;
            left -= share;
        }
        self.energy_pj[last as usize] += left as u64;
    }

    /// Adds the energy of another curve.
    pub fn add_curve(&mut self, mut other: Self) {
        while self.window < other.window {
            self.merge();
        }
        while other.window < self.window {
            other.merge();
        }
        self.energy_pj.resize(self.energy_pj.len().max(other.energy_pj.len()), 0);
        self.energy_pj.iter_mut().zip(&other.energy_pj).for_each(|(sum, energy)| *sum += energy);
    }

    /// The mean power, in watts, of each window that lies wholly between two times, with the time of its middle.
    pub fn between(&self, from: Instant, to: Instant) -> Vec<(Instant, f64)> {
        let window = self.window.as_ns();
        let (first, end) = (from.as_ns().div_ceil(window), to.as_ns() / window);
        let energy = |at: u64| self.energy_pj.get(at as usize).copied().unwrap_or(0);
        let middle = |at: u64| Instant::from_ns(at * window + window / 2);
        // A picojoule a nanosecond is a milliwatt.
        (first..end).map(|at| (middle(at), energy(at) as f64 / window as f64 / 1e3)).collect()
    }

    /// Makes one window of each two.
    fn merge(&mut self) {
        self.window = self.window * 2;
        self.energy_pj = self.energy_pj.chunks(2).map(|two| two.iter().sum()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn energy_is_spread_over_windows_without_a_rest() {
        let mut curve = PowerCurve::default();
        curve.add(at(5), at(35), 100);
        assert_eq!(curve.energy_pj, [16, 33, 33, 18]);
        curve.add(at(40), at(40), 7);
        assert_eq!(curve.energy_pj.iter().sum::<u64>(), 107);
        let mut other = PowerCurve::default();
        other.add(at(10), at(20), 10_000_000_000);
        curve.add_curve(other);
        // Of a window that is in part outside nothing is said.
        let between: Vec<f64> = curve.between(at(5), at(31)).iter().map(|(_, watts)| watts.round()).collect();
        assert_eq!(between, [1.0, 0.0]);
    }

    #[test]
    fn windows_grow_with_time_and_keep_all_energy() {
        let mut curve = PowerCurve::default();
        curve.add(at(0), at(100), 1000);
        curve.add(at(1_000_000), at(1_000_100), 1000);
        assert!(curve.energy_pj.len() <= PowerCurve::MOST_WINDOWS);
        assert_eq!((curve.window, curve.energy_pj.iter().sum()), (Duration::from_ms(20), 2000));
        assert_eq!(curve.energy_pj[0], 200);
    }
}
