//! Cleaning (garbage collection): the choice of the next victim.

mod cost_benefit;
mod d_choice;
mod greedy;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};
use flashlane_base::Seed;

/// The input of a policy: the blocks of one plane.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// For each block its number of valid pages, or at least [`View::NOT_CLOSED`] where the block is free, open or bad
    /// and cannot be cleaned.
    pub valid: &'a [u16],
    /// For each block the time when it was closed, counted in blocks closed on this plane.
    pub closed_at: &'a [u32],
    /// The current time on the same scale.
    pub now: u32,
    /// Pages of a block that hold data.
    pub pages: u16,
}

impl View<'_> {
    /// Added to the count of valid pages of every block that cannot be cleaned.
    pub const NOT_CLOSED: u16 = 1 << 15;

    /// Returns whether block `block` can be chosen: it holds data and is not written to.
    pub fn is_closed(&self, block: usize) -> bool {
        self.valid[block] < Self::NOT_CLOSED
    }

    /// Returns whether a page is gained with block `block`: it is closed, with at least one invalid page.
    pub fn is_candidate(&self, block: usize) -> bool {
        self.valid[block] < self.pages
    }
}

/// Chooses the next block to clean.
pub trait Cleaning: Send {
    /// Returns the index on the plane of a closed block, or `None` where no closed block has an invalid page. One
    /// without any may be chosen while another has some, as long as that one is chosen in the end: GC goes on until it
    /// has gained what it needs.
    fn choose(&mut self, view: View<'_>) -> Option<usize>;
}

/// Builds a cleaning policy; the seed is for random choices.
pub type Build = fn(Seed, &Options) -> Result<Box<dyn Cleaning>, OptionError>;

/// All cleaning policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "greedy",
        summary: "the block with the fewest valid pages",
        is_random: false,
        build: greedy::build,
    },
    Entry {
        name: "cost-benefit",
        summary: "few valid pages, and long unchanged",
        is_random: false,
        build: cost_benefit::build,
    },
    Entry {
        name: "d-choice",
        summary: "the best of d blocks drawn at random",
        is_random: true,
        build: d_choice::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("cleaning", &[], REGISTRY);

impl Family<Build> {
    /// Builds the cleaning policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(&self, name: &str, seed: Seed, options: &Options) -> Result<Box<dyn Cleaning>, OptionError> {
        self.make(name, options, |build| build(seed, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_chooses_a_closed_block_if_any_gains() {
        let mut random = Seed(3).source();
        for entry in REGISTRY {
            let mut policy = FAMILY.build(entry.name, Seed(9), &Options::default()).unwrap();
            for _ in 0..500 {
                let blocks = 1 + random.below(200) as usize;
                let valid: Vec<u16> = (0..blocks)
                    .map(|_| random.below(65) as u16 + if random.chance(0.5) { View::NOT_CLOSED } else { 0 })
                    .collect();
                let closed_at: Vec<u32> = (0..blocks).map(|_| random.below(1000) as u32).collect();
                let view = View { valid: &valid, closed_at: &closed_at, now: 1000, pages: 64 };
                let any = (0..blocks).any(|b| view.is_candidate(b));
                match policy.choose(view) {
                    Some(block) => {
                        assert!(any && view.is_closed(block), "{}", entry.name);
                        assert!(entry.is_random || view.is_candidate(block), "{}", entry.name);
                    }
                    None => assert!(!any, "{}", entry.name),
                }
            }
        }
    }
}
