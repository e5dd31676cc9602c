//! Where the time of a request went: its latency, divided among the parts of a drive that it passed or waited for.

use flashlane_base::Duration;
use std::ops::AddAssign;

/// A part of a request's latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The host's own work: submission, and handling of the completion.
    Host,
    /// Waiting to be taken or sent: for room in the device's queue, for commands before it, for the read/write lock.
    Queue,
    /// Waiting for the link, and crossing it.
    Link,
    /// Reading and writing tables of the translation layer.
    Mapping,
    /// The firmware's time for a buffered write, and waiting in the buffer for others.
    Buffer,
    /// Waiting for the bus of the channel, and crossing it.
    Bus,
    /// The flash array reads, programs or erases for the request.
    Array,
    /// Waiting for a die that reads for others.
    BehindReads,
    /// Waiting for a die that programs for others.
    BehindPrograms,
    /// Waiting for a die that garbage-collects or erases.
    BehindGc,
    /// Array reads beyond the first, which error correction needs.
    Retry,
}

impl Part {
    /// Every part, in the order of [`TimeSplit::parts`].
    pub const ALL: [Self; 11] = [
        Self::Host,
        Self::Queue,
        Self::Link,
        Self::Mapping,
        Self::Buffer,
        Self::Bus,
        Self::Array,
        Self::BehindReads,
        Self::BehindPrograms,
        Self::BehindGc,
        Self::Retry,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Queue => "queue",
            Self::Link => "link",
            Self::Mapping => "mapping",
            Self::Buffer => "buffer",
            Self::Bus => "bus",
            Self::Array => "array",
            Self::BehindReads => "behind_reads",
            Self::BehindPrograms => "behind_programs",
            Self::BehindGc => "behind_gc",
            Self::Retry => "retry",
        }
    }
}

const COUNT: usize = Part::ALL.len();

/// A time, divided among parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSplit([Duration; COUNT]);

impl TimeSplit {
    /// No time.
    pub const ZERO: Self = Self([Duration::ZERO; COUNT]);

    /// Returns the time of a part.
    #[inline]
    pub fn of(&self, part: Part) -> Duration {
        self.0[part as usize]
    }

    /// Adds `time` to a part.
    #[inline]
    pub fn add(&mut self, part: Part, time: Duration) {
        self.0[part as usize] += time;
    }

    /// Returns the sum of all parts.
    #[inline]
    pub fn total(&self) -> Duration {
        let mut total = Duration::ZERO;
        for &time in &self.0 {
            total += time;
        }
        total
    }

    /// Returns all parts with their times.
    pub fn parts(&self) -> impl Iterator<Item = (Part, Duration)> {
        Part::ALL.into_iter().zip(self.0)
    }

    /// Divides `time` in the proportions of this split, to the nanosecond: the result adds up to `time`. `None` where
    /// the split has no time.
    pub fn scaled_to(&self, time: Duration) -> Option<Self> {
        let total = self.total();
        if total.is_zero() {
            return None;
        }
        if total == time {
            return Some(*self);
        }
        let (mut scaled, mut rest, mut largest) = (Self::ZERO, time, 0);
        for (at, &part) in self.0.iter().enumerate() {
            if !part.is_zero() {
                scaled.0[at] = share(part, time, total);
                rest = rest - scaled.0[at];
                largest = if part >= self.0[largest] { at } else { largest };
            }
        }
        // Rounding down leaves less than a nanosecond a part.
        scaled.0[largest] += rest;
        debug_assert_eq!(scaled.total(), time, "scaling keeps the sum");
        Some(scaled)
    }
}

/// The share of `time` that `part` has of `total`, rounded down.
#[inline]
fn share(part: Duration, time: Duration, total: Duration) -> Duration {
    let (part, time, total) = (part.as_ns(), time.as_ns(), total.as_ns());
    Duration::from_ns(match part.checked_mul(time) {
        // Nearly always: times of up to four seconds.
        Some(product) => product / total,
        None => (u128::from(part) * u128::from(time) / u128::from(total)) as u64,
    })
}

impl AddAssign<&TimeSplit> for TimeSplit {
    #[inline]
    fn add_assign(&mut self, other: &TimeSplit) {
        for at in 0..COUNT {
            self.0[at] += other.0[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_split_adds_up_to_the_time() {
        let mut split = TimeSplit::ZERO;
        assert_eq!(split.scaled_to(Duration::from_ns(5)), None);
        for (at, part) in Part::ALL.into_iter().enumerate() {
            split.add(part, Duration::from_ns(7 * at as u64));
        }
        for ns in [0, 1, 2, 10, 384, 385, 386, 1_000_003, u64::MAX / 2] {
            let time = Duration::from_ns(ns);
            let scaled = split.scaled_to(time).unwrap();
            assert_eq!(scaled.total(), time);
            assert_eq!(scaled.of(Part::Host), Duration::ZERO, "a part without time gets none");
        }
        assert_eq!(split.scaled_to(split.total()), Some(split));
    }

    #[test]
    fn parts_are_listed_in_the_order_of_their_numbers() {
        assert!(Part::ALL.into_iter().enumerate().all(|(at, part)| part as usize == at));
    }
}
