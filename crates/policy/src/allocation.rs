//! Allocation: which plane a stripe position lies on.
//!
//! Planes are numbered with the channel first: `((channel * packages + package) * dies + die) * planes + plane`.
//! A *chunk* is the run of pages that stays on one plane before the stripe moves on (chen11, section 4.1).

mod random;
mod striped;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};
use flashlane_base::Seed;
use std::ops::Range;

/// A level of parallelism in the flash array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Channels, each with its own bus.
    Channel,
    /// Packages that share a channel.
    Package,
    /// Dies in a package.
    Die,
    /// Planes of a die.
    Plane,
}

/// The flash array that a policy spreads chunks over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The numbers of channels, packages per channel, dies per package and planes per die.
    pub counts: [u32; 4],
    /// The levels, the one that changes first from chunk to chunk first.
    pub order: [Level; 4],
    /// For policies with random choices.
    pub seed: Seed,
}

impl Array {
    /// Total number of planes.
    pub fn planes(&self) -> u32 {
        self.counts.iter().product()
    }
}

/// Places chunks on planes.
pub trait Allocation: Send {
    /// Returns the plane of chunk `chunk`. It MUST always be the same for the same chunk.
    fn plane(&self, chunk: u64) -> u32;

    /// Appends the planes of consecutive chunks.
    fn planes(&self, chunks: Range<u64>, planes: &mut Vec<u32>) {
        planes.extend(chunks.map(|chunk| self.plane(chunk)));
    }

    /// Returns the planes of a stripe, where chunk `c` lies on the plane at `c % stripe.len()`: each plane MUST be
    /// there once. `None` for allocations that are no stripes.
    fn stripe(&self) -> Option<&[u32]> {
        None
    }
}

/// Builds an allocation for an array.
pub type Build = fn(&Array, &Options) -> Result<Box<dyn Allocation>, OptionError>;

/// All allocations.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "striped",
        summary: "round robin over the levels in the given order",
        is_random: false,
        build: striped::build,
    },
    Entry { name: "random", summary: "a random plane for each chunk", is_random: true, build: random::build },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("allocation", &[], REGISTRY);

impl Family<Build> {
    /// Builds the allocation called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(
        &self,
        name: &str,
        array: &Array,
        options: &Options,
    ) -> Result<Box<dyn Allocation>, OptionError> {
        self.make(name, options, |build| build(array, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_is_even_and_repeatable() {
        let array = Array {
            counts: [5, 2, 1, 2],
            order: [Level::Channel, Level::Package, Level::Die, Level::Plane],
            seed: Seed(1),
        };
        for entry in REGISTRY {
            let allocation = FAMILY.build(entry.name, &array, &Options::default()).unwrap();
            let mut used = vec![0_u32; array.planes() as usize];
            for chunk in 0..20_000 {
                assert_eq!(allocation.plane(chunk), allocation.plane(chunk));
                used[allocation.plane(chunk) as usize] += 1;
            }
            if let Some(stripe) = allocation.stripe() {
                assert!(
                    (0..50).all(|chunk| allocation.plane(chunk) == stripe[chunk as usize % stripe.len()])
                );
                let planes: std::collections::BTreeSet<u32> = stripe.iter().copied().collect();
                assert!(planes.into_iter().eq(0..array.planes()) && stripe.len() == array.planes() as usize);
            }
            assert!(used.iter().all(|&n| (850..1150).contains(&n)), "{}: {used:?}", entry.name);
        }
    }

    #[test]
    fn unknown_name_or_option_is_refused_with_known_ones() {
        let array = Array {
            counts: [1; 4],
            order: [Level::Channel, Level::Package, Level::Die, Level::Plane],
            seed: Seed(1),
        };
        let error = FAMILY.build("stripped", &array, &Options::default()).err().unwrap().to_string();
        assert!(error.contains("'stripped'") && error.contains("striped, random"), "{error}");
        let options = Options::new([("depth".into(), "3".into())]);
        let error = FAMILY.build("striped", &array, &options).err().unwrap().to_string();
        assert!(error.contains("'depth'") && error.contains("none"), "{error}");
    }
}
