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
        self.0.iter().fold(Duration::ZERO, |sum, &time| sum + time)
    }

    /// Returns all parts with their times.
    pub fn parts(&self) -> impl Iterator<Item = (Part, Duration)> {
        Part::ALL.into_iter().zip(self.0)
    }

    /// Divides `time` in the proportions of this split, to the nanosecond: the result adds up to `time`. `None` where the
    /// split has no time.
    pub fn scaled_to(&self, time: Duration) -> Option<Self> {
        let total = self.total();
        if total.is_zero() {
            return None;
        }
        if total == time {
            return Some(*self);
        }
        let share = |part: Duration| {
            let ns = u128::from(part.as_ns()) * u128::from(time.as_ns()) / u128::from(total.as_ns());
            Duration::from_ns(ns as u64)
        };
        let mut scaled = Self(self.0.map(share));
        // Rounding down leaves less than a nanosecond a part.
        let rest = time - scaled.total();
        let largest = (0..COUNT).max_by_key(|&at| self.0[at]).expect("there are parts");
        scaled.0[largest] += rest;
        debug_assert_eq!(scaled.total(), time, "scaling keeps the sum");
        Some(scaled)
    }
}

impl AddAssign<&TimeSplit> for TimeSplit {
    #[inline]
    fn add_assign(&mut self, other: &TimeSplit) {
        for (sum, &time) in self.0.iter_mut().zip(&other.0) {
            *sum += time;
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
