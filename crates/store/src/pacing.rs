//! Back-pressure: acknowledgements of writes are delayed where flushing and merging lag behind.
//!
//! The *debt* says how far they lag, from 0 to 1: the most of the share of memory that containers use, of the log in use, and
//! of level-0 patches that the merge policy allows. Up to [`FREE`] nothing is delayed. Above it, with `x` from 0 to 1 for the
//! rest, writes are acknowledged at `1 / (SLOWEST * x²)` times the rate at which containers became patches lately: at
//! `x = 0.5` as fast as they are drained, at the end four times slower. So writers settle where they are as fast as the
//! device, and the stop at the limit of memory is not reached in steps of seconds.

use flashlane_base::{Duration, Instant};

/// Debt without delay.
const FREE: f64 = 0.5;
/// Time for a byte at full debt, in multiples of the time it takes to drain.
const SLOWEST: f64 = 4.0;
/// Longest delay of an acknowledgement.
const LONGEST: Duration = Duration::from_ms(50);
/// Weight of the last patch in the drain rate.
const WEIGHT: f64 = 0.1;

/// Spreads acknowledgements over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// Time in which a byte is drained, in nanoseconds; 0 while unknown.
    ns_per_byte: f64,
    last_flush: Instant,
    /// When the last delayed acknowledgement is due.
    last_due: Instant,
}

impl Pacer {
    /// A container of `bytes` became a patch.
    pub(crate) fn flushed(&mut self, now: Instant, bytes: u64) {
        let own = now.since(self.last_flush).as_ns() as f64 / bytes as f64;
        self.last_flush = now;
        self.ns_per_byte = match self.ns_per_byte {
            0.0 => own,
            before => before + WEIGHT * (own - before),
        };
    }

    /// Returns the delay of the acknowledgement of a write of `bytes`.
    pub(crate) fn delay(&mut self, now: Instant, bytes: u64, debt: f64) -> Duration {
        let over = ((debt - FREE) / (1.0 - FREE)).clamp(0.0, 1.0);
        let own = Duration::from_ns((bytes as f64 * self.ns_per_byte * SLOWEST * over * over) as u64);
        let due = (self.last_due.max(now) + own).min(now + LONGEST);
        self.last_due = due;
        due.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_follow_the_drain_rate() {
        let mut pacer = Pacer::default();
        let mut now = Instant::ZERO;
        // A byte a nanosecond.
        for _ in 0..100 {
            now += Duration::from_us(1);
            pacer.flushed(now, 1000);
        }
        let after = |debt: f64| {
            let mut pacer = pacer;
            let mut last = Duration::ZERO;
            (0..10).for_each(|_| last = pacer.delay(now, 100, debt));
            last.as_ns()
        };
        assert_eq!((after(0.0), after(0.5)), (0, 0));
        assert!((999..=1001).contains(&after(0.75)), "{}", after(0.75));
        assert!((3999..=4001).contains(&after(1.0)), "{}", after(1.0));
        assert_eq!(pacer.delay(now, 1 << 40, 1.0), LONGEST);
    }
}
