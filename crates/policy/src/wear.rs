//! Wear leveling: which free block to write next, and when to move data that never changes off a little worn block.

mod dynamic;
mod none;
mod static_;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// Spreads erases over the blocks of a plane.
pub trait Wear: Send + Sync {
    /// Returns the position in `free` of the block to open next. `free` MUST NOT be empty; `erases` has the erase count
    /// of every block of the plane.
    fn next_free(&self, free: &[u32], erases: &[u32]) -> usize;

    /// Called after the erase of block `erased`. Returns a block whose data is moved so that it takes its share of the
    /// wear; only blocks for which `closed` is true may be chosen.
    fn migrate(&self, erased: usize, erases: &[u32], closed: &dyn Fn(usize) -> bool) -> Option<usize>;
}

/// Builds a wear leveling policy.
pub type Build = fn(&Options) -> Result<Box<dyn Wear>, OptionError>;

/// All wear leveling policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "none",
        summary: "free blocks are used in the order in which they became free",
        is_random: false,
        build: none::build,
    },
    Entry {
        name: "dynamic",
        summary: "the least worn free block first",
        is_random: false,
        build: dynamic::build,
    },
    Entry {
        name: "static",
        summary: "dynamic, and cold data is moved off young blocks",
        is_random: false,
        build: static_::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("wear leveling", &[], REGISTRY);

impl Family<Build> {
    /// Builds the wear leveling policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Wear>, OptionError> {
        self.make(name, options, |build| build(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn policy_chooses_a_free_or_closed_block() {
        let mut random = Seed(5).source();
        for entry in REGISTRY {
            let policy = FAMILY.build(entry.name, &Options::default()).unwrap();
            for _ in 0..500 {
                let blocks = 2 + random.below(60);
                let erases: Vec<u32> = (0..blocks).map(|_| random.below(1000) as u32).collect();
                let free: Vec<u32> = (0..blocks as u32).filter(|block| block % 3 == 0).collect();
                assert!(policy.next_free(&free, &erases) < free.len(), "{}", entry.name);
                let closed = |block: usize| block % 3 == 1;
                if let Some(cold) = policy.migrate(0, &erases, &closed) {
                    assert!(closed(cold), "{}: block {cold} holds no data", entry.name);
                }
            }
        }
    }
}
