//! Counts, latency and lateness of commands.
//!
//! A command's *latency* is the time from when it was read to when the device had done it; on a simulated device both
//! are simulated times. Its *lateness* is the time from then until its reply was handed to the socket. A run on a
//! simulated device is valid only where the 99th percentile of lateness is below a tenth of the mean latency: then a
//! client measures the drive, and not this machine.

use flashlane_base::{Duration, Histogram};
use flashlane_device::Operation;

/// Largest lateness of a valid run, as a share of the mean latency.
pub const LATENESS_SHARE_MAX: f64 = 0.1;

/// Commands of one operation.
#[derive(Clone, Debug)]
pub struct OperationStats {
    /// Commands that ended, failed ones included.
    pub commands: u64,
    /// Bytes of those that succeeded.
    pub bytes: u64,
    /// Commands that failed.
    pub failed: u64,
    /// Latency of those that succeeded.
    pub latency: Histogram,
}

/// Counts of a period.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Reads.
    pub reads: OperationStats,
    /// Writes, those of zeros included.
    pub writes: OperationStats,
    /// Trims, and zeros written as trims.
    pub trims: OperationStats,
    /// Flushes.
    pub flushes: OperationStats,
    /// Latency of the commands that succeeded.
    pub latency: Histogram,
    /// Lateness of the replies to them.
    pub lateness: Histogram,
}

/// Whether replies were in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lateness {
    /// Nothing was measured.
    Unknown,
    /// A client measures the drive.
    Valid,
    /// A client measures this machine too.
    Late {
        /// Slowdown with which the same lateness would be valid.
        slowdown: u32,
    },
}

impl Stats {
    pub(crate) fn new(histogram: impl Fn() -> Histogram) -> Self {
        let none = |()| OperationStats { commands: 0, bytes: 0, failed: 0, latency: histogram() };
        let [reads, writes, trims, flushes] = [(); 4].map(none);
        Self { reads, writes, trims, flushes, latency: histogram(), lateness: histogram() }
    }

    pub(crate) fn count(&mut self, operation: Operation, length_bytes: u64, latency: Option<Duration>) {
        let of = match operation {
            Operation::Read => &mut self.reads,
            Operation::Write | Operation::Append => &mut self.writes,
            Operation::Flush => &mut self.flushes,
            _ => &mut self.trims,
        };
        of.commands += 1;
        match latency {
            Some(latency) => {
                of.bytes += length_bytes;
                of.latency.record(latency);
                self.latency.record(latency);
            }
            None => of.failed += 1,
        }
    }

    /// Returns the number of commands.
    pub fn commands(&self) -> u64 {
        [&self.reads, &self.writes, &self.trims, &self.flushes].iter().map(|of| of.commands).sum()
    }

    /// Returns the number of commands that failed.
    pub fn failed(&self) -> u64 {
        [&self.reads, &self.writes, &self.trims, &self.flushes].iter().map(|of| of.failed).sum()
    }

    /// Returns the mean number of commands in progress over a period (Little's law).
    pub fn queue(&self, period: Duration) -> f64 {
        self.latency.mean_ns() * self.latency.len() as f64 / (period.as_ns().max(1) as f64)
    }

    /// Returns the 99th percentile of lateness as a share of the mean latency.
    pub fn lateness_share(&self) -> f64 {
        self.lateness.quantile_ns(0.99) / self.latency.mean_ns().max(1.0)
    }

    /// Returns whether replies were in time, in a run with this slowdown.
    pub fn lateness(&self, slowdown: u32) -> Lateness {
        if self.lateness.is_empty() || self.latency.is_empty() {
            return Lateness::Unknown;
        }
        let share = self.lateness_share();
        if share < LATENESS_SHARE_MAX {
            return Lateness::Valid;
        }
        // Latency grows with the slowdown, lateness does not. The next whole number above has a smaller share.
        let needed = f64::from(slowdown) * share / LATENESS_SHARE_MAX;
        Lateness::Late { slowdown: (needed as u32).saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the counts of commands of 100 µs whose replies were late by `late_us`.
    fn stats(late_us: u64) -> Stats {
        let mut stats = Stats::new(Histogram::new);
        for _ in 0..1000 {
            stats.count(Operation::Read, 4096, Some(Duration::from_us(100)));
            stats.lateness.record(Duration::from_us(late_us));
        }
        stats
    }

    #[test]
    fn run_is_valid_below_a_tenth_of_the_latency() {
        assert_eq!(stats(9).lateness(1), Lateness::Valid);
        assert_eq!(stats(25).lateness(1), Lateness::Late { slowdown: 3 });
        // With three times the latency, 25 µs are 8%.
        assert_eq!(stats(25).lateness(3), Lateness::Late { slowdown: 8 });
        assert_eq!(Stats::new(Histogram::new).lateness(1), Lateness::Unknown);
    }

    #[test]
    fn queue_follows_from_latency() {
        let mut stats = stats(0);
        assert!((stats.queue(Duration::from_ms(10)) - 10.0).abs() < 0.1);
        stats.count(Operation::Write, 512, None);
        assert_eq!((stats.commands(), stats.failed(), stats.reads.bytes), (1001, 1, 4_096_000));
    }
}
