//! Idle periods of a chip, and how long one must have lasted before an extra write begins (he14, section 4.2.2).
//!
//! How long an idle period will last cannot be known when it begins. So the lengths of one epoch's periods are counted
//! in a histogram, whose unit is the time of a read, and give the thresholds of the next epoch: an extra write begins
//! once the chip has been idle for its threshold. There is a threshold for each extra write of a period, counted from
//! the end of the one before.
//!
//! The paper leaves open which threshold is best. With threshold `t` and a write of `w` units, each period of `t` or
//! more takes a write, and one that ends after `i < t + w` units delays the next access by `t + w - i`. Of the
//! thresholds at which enough periods last long enough for the extra writes that the epoch asked for, the one with the
//! least delay a write is chosen; where no threshold is enough, the first write begins at once.

use flashlane_base::Duration;

/// The default length of an epoch (he14, section 5.1).
pub const EPOCH: Duration = Duration::from_s(60);

/// Lengths that the histogram tells apart, in units; longer periods count as the longest.
const LENGTHS: usize = 1024;
/// Thresholds of a period: later writes of it have the last.
const MOST_THRESHOLDS: usize = 16;

/// The idle periods of a chip.
#[derive(Clone, Debug)]
pub struct IdlePeriods {
    unit: Duration,
    /// Units that a write takes.
    write_units: usize,
    /// Periods of this epoch by length.
    lengths: Vec<u32>,
    /// Extra writes that this epoch asked for.
    asked: u32,
    thresholds: Vec<Duration>,
}

impl IdlePeriods {
    /// No periods; until the first epoch ends an extra write begins after as long as a write takes. `read` and `write`
    /// are the times of a read, which is positive, and of a write.
    pub fn new(read: Duration, write: Duration) -> Self {
        assert!(!read.is_zero(), "the unit of idle periods is the time of a read");
        Self {
            unit: read,
            write_units: write.as_ns().div_ceil(read.as_ns()).max(1) as usize,
            lengths: vec![0; LENGTHS],
            asked: 0,
            thresholds: vec![write],
        }
    }

    /// An idle period has ended.
    pub fn record(&mut self, length: Duration) {
        let units = (length.as_ns() / self.unit.as_ns()).min(LENGTHS as u64 - 1);
        let count = &mut self.lengths[units as usize];
        *count = count.saturating_add(1);
    }

    /// An extra write was asked for.
    pub fn ask(&mut self) {
        self.asked = self.asked.saturating_add(1);
    }

    /// How long the chip must be idle before the extra write after `done` others of the same period, from the end of
    /// the last of them.
    pub fn threshold(&self, done: u32) -> Duration {
        let last = self.thresholds.len() - 1;
        self.thresholds[last.min(done as usize)]
    }

    /// The epoch has ended: estimates the thresholds of the next.
    pub fn end_epoch(&mut self) {
        if self.asked > 0 {
            let mut periods = &self.lengths[..];
            let mut asked = u64::from(self.asked);
            self.thresholds.clear();
            while asked > 0 && periods.len() > self.write_units && self.thresholds.len() < MOST_THRESHOLDS {
                let (threshold, taken) = best(periods, self.write_units, asked);
                if taken == 0 {
                    break;
                }
                self.thresholds.push(self.unit * threshold as u64);
                asked = asked.saturating_sub(taken);
                periods = periods.get(threshold + self.write_units..).unwrap_or_default();
            }
            if self.thresholds.is_empty() {
                self.thresholds.push(self.unit * self.write_units as u64);
            }
        }
        self.lengths.fill(0);
        self.asked = 0;
    }
}

/// The best threshold for the first write of these periods, and how many of them take one.
fn best(periods: &[u32], write_units: usize, asked: u64) -> (usize, u64) {
    let all: u64 = periods.iter().map(|&count| u64::from(count)).sum();
    let (mut best, mut least) = ((0, all), f64::INFINITY);
    let mut taken = all;
    for threshold in 0..periods.len() {
        if taken < asked.min(all) || taken == 0 {
            break;
        }
        let ending = periods[threshold..].iter().take(write_units).zip((1..=write_units as u64).rev());
        let delay: u64 = ending.map(|(&count, units)| u64::from(count) * units).sum();
        let each = delay as f64 / taken as f64;
        if each < least {
            (best, least) = ((threshold, taken), each);
        }
        taken -= u64::from(periods[threshold]);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Duration = Duration::from_us(100);
    const WRITE: Duration = Duration::from_us(300);

    fn after(lengths: &[(u64, u32)], asked: u32) -> IdlePeriods {
        let mut periods = IdlePeriods::new(READ, WRITE);
        for &(units, count) in lengths {
            (0..count).for_each(|_| periods.record(READ * units));
        }
        (0..asked).for_each(|_| periods.ask());
        periods.end_epoch();
        periods
    }

    #[test]
    fn short_periods_are_waited_out() {
        // Many periods of 2 units, some of 50: with threshold 3 no write meets one of the short ones.
        let periods = after(&[(2, 1000), (50, 100)], 80);
        assert_eq!(periods.threshold(0), READ * 3);
    }

    #[test]
    fn enough_periods_are_left_for_what_was_asked() {
        let periods = after(&[(2, 1000), (50, 100)], 500);
        assert!(periods.threshold(0) <= READ * 2, "{}", periods.threshold(0));
    }

    #[test]
    fn the_long_periods_take_several_writes() {
        let periods = after(&[(2, 1000), (50, 100)], 150);
        // All thousand short periods and one of the long ones, or two writes in each long period: both serve 150.
        let total: Duration =
            (0..3).map(|done| periods.threshold(done) + WRITE).fold(Duration::ZERO, |a, b| a + b);
        assert!(total < READ * 50, "{total}");
    }

    #[test]
    fn an_epoch_without_extra_writes_changes_nothing() {
        let mut periods = after(&[(2, 1000), (50, 100)], 80);
        periods.record(READ);
        periods.end_epoch();
        assert_eq!(periods.threshold(0), READ * 3);
        assert_eq!(IdlePeriods::new(READ, WRITE).threshold(0), WRITE);
    }
}
