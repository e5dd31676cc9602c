//! Permutation: every aligned position once in a random order, then again in the same order.
//!
//! No table: a counter runs over the smallest power of two that holds all positions and passes through rounds of
//! operations that each permute that power of two (add, multiply by an odd number, xor with its upper half).
//! Results beyond the last position, fewer than half, are skipped, so a position costs less than two passes on average
//! at any area size.

use super::{Area, Named, Offsets, Pattern};
use flashlane_base::Random;

pub(super) const NAMED: Named = Named {
    name: "permutation",
    meaning: "random, but every position once before any comes again",
    keys: &["align"],
    make: |_| Ok(Pattern::Permutation),
};

const ROUNDS: usize = 3;

pub(super) struct Permutation {
    bijection: Bijection,
    align_bytes: u64,
    counter: u64,
}

impl Permutation {
    pub(super) fn new(area: &Area, random: Random) -> Self {
        let bijection = Bijection::new(area.positions(), random);
        Self { bijection, align_bytes: area.align_bytes, counter: 0 }
    }
}

impl Offsets for Permutation {
    #[inline]
    fn next(&mut self) -> u64 {
        loop {
            let x = self.bijection.step(self.counter);
            self.counter = self.counter.wrapping_add(1) & self.bijection.mask;
            if x < self.bijection.positions {
                return x * self.align_bytes;
            }
        }
    }
}

/// A random one-to-one map of positions.
pub(super) struct Bijection {
    positions: u64,
    /// The power of two minus 1.
    mask: u64,
    shift: u32,
    /// The summand and the factor of each round.
    keys: [(u64, u64); ROUNDS],
}

impl Bijection {
    /// Creates a map of the numbers below `positions`.
    pub(super) fn new(positions: u64, mut random: Random) -> Self {
        let mask = positions.checked_next_power_of_two().map_or(u64::MAX, |power| power - 1);
        Self {
            positions,
            mask,
            shift: (mask.count_ones() / 2).max(1),
            keys: [(); ROUNDS].map(|()| (random.bits(), random.bits() | 1)),
        }
    }

    /// One pass, a one-to-one map on the power of two.
    #[inline]
    fn step(&self, mut x: u64) -> u64 {
        for (add, multiply) in self.keys {
            x = x.wrapping_add(add).wrapping_mul(multiply) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }

    /// Maps a position: repeats passes until they end at a position (cycle walking), fewer than two on average.
    #[inline]
    pub(super) fn of(&self, position: u64) -> u64 {
        let mut x = position;
        loop {
            x = self.step(x);
            if x < self.positions {
                return x;
            }
        }
    }
}
