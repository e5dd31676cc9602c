//! Seeded randomness: named, portable, independent of the system.
//!
//! A run has one root seed. Each component derives a source by its own *name*, so that adding a component or building
//! two in another order does not change the numbers of others (as in SlateDB's deterministic simulation). The generator
//! is xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// By how much the state of SplitMix64 grows with each number.
pub const SPLITMIX64_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the number that SplitMix64 makes of a state (Steele, Lea and Flood, Fast splittable pseudorandom number
/// generators, 2014). Different states have different numbers.
#[inline]
pub const fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(SPLITMIX64_STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of a run, or one derived from it for a named component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// Returns the seed of the component `name`, always the same for a name.
    pub fn derive(self, name: &str) -> Self {
        // FNV-1a over the name, then one SplitMix64 step so that neighbouring root seeds diverge completely.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.0;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self(splitmix64(hash))
    }

    /// Returns the seed of component `index` of several of the same name.
    pub fn derive_nth(self, name: &str, index: u64) -> Self {
        Self(self.derive(name).0 ^ index.wrapping_mul(SPLITMIX64_STEP)).derive(name)
    }

    /// Creates a random source from this seed.
    pub fn source(self) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(self.0))
    }
}

/// A seeded source of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number in `0..bound`. Requires: `bound > 0`.
    ///
    /// Multiply and shift (Lemire 2019) without the rejection step: the bias is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "no number is below zero");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in `0.0..1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Returns an exponentially distributed number with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_reproducible_by_seed_and_name() {
        // A stream depends on seed and name only.
        let mut source = Seed(42).derive("test").source();
        let first: Vec<u64> = (0..3).map(|_| source.bits()).collect();
        let again: Vec<u64> = {
            let mut s = Seed(42).derive("test").source();
            (0..3).map(|_| s.bits()).collect()
        };
        assert_eq!(first, again);
        assert_ne!(Seed(42).derive("a"), Seed(42).derive("b"));
        assert_ne!(Seed(42).derive("a"), Seed(43).derive("a"));
        assert_ne!(Seed(42).derive_nth("a", 0), Seed(42).derive_nth("a", 1));
    }

    #[test]
    fn below_is_uniform_within_its_bound() {
        let mut source = Seed(7).source();
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[source.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }
}
