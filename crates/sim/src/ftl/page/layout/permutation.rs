//! A random permutation of the numbers below a bound, without a table, that can be followed both ways.
//!
//! Odd multiplications and shifts permute the numbers below the next power of two; from a number beyond the bound they
//! are applied again until one below it is reached (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite
//! domains", 2002), on average less than twice.

use flashlane_base::Seed;

/// Rounds of multiplication and shift: after three each bit depends on all.
const ROUNDS: usize = 3;

pub(in crate::ftl::page) struct Permutation {
    bound: u32,
    /// The numbers below the power of two.
    mask: u64,
    /// At least half of the bits, so that shifting twice leaves nothing: the shift then undoes itself.
    shift: u32,
    offset: u64,
    /// Odd factors, and their inverses modulo 2^64.
    factors: [u64; ROUNDS],
    inverses: [u64; ROUNDS],
}

impl Permutation {
    /// A permutation of `0..bound`.
    pub(in crate::ftl::page) fn new(bound: u32, seed: Seed) -> Self {
        let bits = (u32::BITS - bound.saturating_sub(1).leading_zeros()).max(2);
        let mut random = seed.source();
        let factors = [(); ROUNDS].map(|()| random.bits() | 1);
        Self {
            bound,
            mask: (1 << bits) - 1,
            shift: bits.div_ceil(2),
            offset: random.bits(),
            factors,
            inverses: factors.map(inverse),
        }
    }

    /// The number that `number` is mapped to. Requires: it is below the bound.
    #[inline]
    pub(super) fn image(&self, number: u32) -> u32 {
        debug_assert!(number < self.bound, "{number} is not below {}", self.bound);
        let mut x = u64::from(number);
        loop {
            x = x.wrapping_add(self.offset) & self.mask;
            for factor in self.factors {
                x = x.wrapping_mul(factor) & self.mask;
                x ^= x >> self.shift;
            }
            if x < u64::from(self.bound) {
                return x as u32;
            }
        }
    }

    /// The number that is mapped to `image`. Requires: it is below the bound.
    #[inline]
    pub(super) fn preimage(&self, image: u32) -> u32 {
        debug_assert!(image < self.bound, "{image} is not below {}", self.bound);
        let mut x = u64::from(image);
        loop {
            for inverse in self.inverses.iter().rev() {
                x ^= x >> self.shift;
                x = x.wrapping_mul(*inverse) & self.mask;
            }
            x = x.wrapping_sub(self.offset) & self.mask;
            if x < u64::from(self.bound) {
                return x as u32;
            }
        }
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that are right, from the
/// three that an odd number's own are.
fn inverse(odd: u64) -> u64 {
    let step = |inverse: u64| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
    let inverse = step(step(step(step(step(odd)))));
    debug_assert_eq!(odd.wrapping_mul(inverse), 1, "{odd} is odd");
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutation_is_one_and_is_undone() {
        for bound in [1, 2, 3, 4, 5, 31, 32, 33, 1000, 4096, 5000] {
            for seed in 0..5 {
                let permutation = Permutation::new(bound, Seed(seed));
                let mut seen = vec![false; bound as usize];
                for number in 0..bound {
                    let image = permutation.image(number);
                    assert_eq!(permutation.preimage(image), number, "of {bound}");
                    assert!(!std::mem::replace(&mut seen[image as usize], true), "{image} comes twice");
                }
            }
        }
        let permutation = Permutation::new(u32::MAX - 1, Seed(1));
        for number in [0, 1, 1 << 31, u32::MAX - 2] {
            assert_eq!(permutation.preimage(permutation.image(number)), number);
        }
    }

    #[test]
    fn neighbours_are_spread_evenly() {
        // Of 64 equal parts of the numbers, and of the 64 remainders, the images of a run take equal shares: Pearson's
        // chi-square with 63 degrees of freedom is below 150 but once in a hundred million.
        for (bound, seed) in [(1_u32 << 20, 1), (1_000_003, 2), (999_999, 3), (1 << 27, 4)] {
            let permutation = Permutation::new(bound, Seed(seed));
            let (mut parts, mut remainders) = ([0_u32; 64], [0_u32; 64]);
            for number in 5000..15_000 {
                let image = permutation.image(number);
                parts[(u64::from(image) * 64 / u64::from(bound)) as usize] += 1;
                remainders[image as usize % 64] += 1;
            }
            for counts in [parts, remainders] {
                let mean = 10_000.0 / 64.0;
                let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
                assert!(chi_square < 150.0, "{chi_square} of {bound}: {counts:?}");
            }
        }
    }
}
