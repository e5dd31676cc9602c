//! Whole nanoseconds, virtual or monotonic.
//!
//! `std::time` is not used for model time: its `Instant` cannot be made from a number, and twelve bytes with a range
//! check on every sum cost too much for a value added a hundred million times per run.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in a device's time: nanoseconds since the device began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The time when the device began.
    pub const ZERO: Self = Self(0);
    /// Later than every event, to wait without a limit.
    pub const FAR: Self = Self(u64::MAX);

    /// Returns the point `ns` nanoseconds after the device began.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the device began.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`; zero where `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// `s` seconds.
    pub const fn from_s(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Rounds `s` seconds to whole nanoseconds; zero for a negative number or not-a-number.
    pub fn from_s_f64(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }

    /// Returns the transfer time of `bytes` at `bytes_per_s`, rounded up; zero at an unlimited (zero) rate.
    pub const fn of_transfer(bytes: u64, bytes_per_s: u64) -> Self {
        if bytes_per_s == 0 {
            return Self(0);
        }
        Self(((bytes as u128 * 1_000_000_000).div_ceil(bytes_per_s as u128)) as u64)
    }

    /// Nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds, for reporting; model arithmetic stays in whole nanoseconds.
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Microseconds, for reporting.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Returns whether the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        debug_assert!(self.0 >= d.0, "a duration cannot be negative");
        Duration(self.0.saturating_sub(d.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl fmt::Display for Duration {
    /// Formats the duration in the largest unit with a value of at least one, with up to three significant digits; with
    /// `{:#}` all digits. Printed microseconds are `µs`; settings use `us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (places, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (3, "µs"),
            1_000_000..1_000_000_000 => (6, "ms"),
            _ => (9, "s"),
        };
        let scale = 10_u64.pow(places);
        let text = if f.alternate() {
            format!("{}.{:0places$}", self.0 / scale, self.0 % scale, places = places as usize)
        } else {
            let value = self.0 as f64 / scale as f64;
            let digits = if value >= 100.0 {
                0
            } else if value >= 10.0 {
                1
            } else {
                2
            };
            format!("{value:.digits$}")
        };
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_suitable_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (102_400, "102 µs"),
            (25_500, "25.5 µs"),
            (1_500_000, "1.5 ms"),
            (60_000_000_000, "60 s"),
        ] {
            assert_eq!(Duration::from_ns(ns).to_string(), text);
        }
    }

    #[test]
    fn alternate_format_shows_all_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (227_020, "227.02 µs"),
            (1_000_001, "1.000001 ms"),
            (3_600_000_000_001, "3600.000000001 s"),
            (60_000_000_000, "60 s"),
        ] {
            assert_eq!(format!("{:#}", Duration::from_ns(ns)), text);
        }
    }

    #[test]
    fn transfer_time_is_rounded_up() {
        assert_eq!(Duration::of_transfer(1, 1_000_000_000_000).as_ns(), 1);
        assert_eq!(Duration::of_transfer(4096, 40_000_000).as_ns(), 102_400);
        assert_eq!(Duration::of_transfer(4096, 0), Duration::ZERO);
    }
}
