//! Wear leveling: which free block to write next, and when to move data that never changes off a little worn block.

mod dynamic;
mod none;
mod static_;

use crate::cleaning;
use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// The input of a choice of cold data: the blocks of one plane after an erase.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The block that was erased.
    pub erased: usize,
    /// The erase count of every block.
    pub erases: &'a [u32],
    /// The least erase count of a block that is not bad.
    pub least: u32,
    /// The blocks as GC sees them.
    pub blocks: cleaning::View<'a>,
}

impl View<'_> {
    /// Returns whether `block` is closed, so that its data can be moved.
    pub fn is_closed(&self, block: usize) -> bool {
        self.blocks.valid[block] < cleaning::View::NOT_CLOSED
    }
}

/// Spreads erases over the blocks of a plane.
pub trait Wear: Send + Sync {
    /// Returns the position in `free` of the block to open next. `free` MUST NOT be empty; `erases` has the erase count
    /// of every block of the plane.
    fn next_free(&self, free: &[u32], erases: &[u32]) -> usize;

    /// Called after every erase. Returns a closed block whose data is moved to the erased one, so that the two change
    /// places: the data rests on the worn block, and the little worn one becomes free.
    fn migrate(&self, view: View<'_>) -> Option<usize>;
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
        summary: "dynamic, and cold data is moved from young blocks to worn ones",
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
                let closed = |block: u64| block % 3 == 1;
                let valid: Vec<u16> = (0..blocks)
                    .map(|block| {
                        random.below(65) as u16 + if closed(block) { 0 } else { cleaning::View::NOT_CLOSED }
                    })
                    .collect();
                let closed_at: Vec<u32> = (0..blocks).map(|_| random.below(1000) as u32).collect();
                let blocks = cleaning::View { valid: &valid, closed_at: &closed_at, now: 1000, pages: 64 };
                let least = *erases.iter().min().unwrap();
                let view = View { erased: 0, erases: &erases, least, blocks };
                if let Some(cold) = policy.migrate(view) {
                    assert!(closed(cold as u64), "{}: block {cold} holds no data", entry.name);
                }
            }
        }
    }
}
