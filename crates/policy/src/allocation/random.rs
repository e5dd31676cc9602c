//! A random plane for each chunk: a defence against layouts that put related data on one channel.
//!
//! chen11 (section 7) suggests some randomness in the choice of the channel, so that no pattern of writes maps
//! data badly for long. The plane is a hash of the chunk's number, so that it never changes.

use super::{Allocation, Array};
use crate::{OptionError, Options};
use flashlane_base::Seed;

struct Random {
    seed: Seed,
    planes: u32,
}

impl Allocation for Random {
    fn plane(&self, chunk: u64) -> u32 {
        let bits = Seed(self.seed.0 ^ chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15)).derive("plane").0;
        ((u128::from(bits) * u128::from(self.planes)) >> 64) as u32
    }
}

pub(super) fn build(array: &Array, _: &Options) -> Result<Box<dyn Allocation>, OptionError> {
    Ok(Box::new(Random { seed: array.seed.derive("allocation"), planes: array.planes() }))
}
