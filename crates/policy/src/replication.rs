//! Replication: which pages have copies on other chips, and which of them give up their space (he14, section 4.2.1).
//!
//! A page and its copies are a replica group. The engine numbers the groups and tells the policy of every access to the
//! page of one; the policy orders them. The blocking probability of a page is the share of its accesses that found
//! their chip in an internal activity (he14, section 4.1).

mod lru;
mod pblru;
#[cfg(test)]
mod tests;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// The accesses of a page, and how many of them were blocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocking {
    /// Accesses that found their chip in an internal activity.
    pub blocked: u32,
    /// All accesses.
    pub accesses: u64,
}

impl Blocking {
    /// The blocking probability; 0 where there were no accesses.
    pub fn probability(self) -> f64 {
        if self.accesses == 0 { 0.0 } else { f64::from(self.blocked) / self.accesses as f64 }
    }
}

/// Chooses the pages that have copies.
pub trait Replication: Send {
    /// Returns whether a page with these accesses is replicated, of which the last was a blocked read. A write that was
    /// blocked always forms a group.
    fn replicates_read(&self, blocking: Blocking) -> bool;

    /// The page of `group` was accessed, or the group was formed; `blocking` is the blocking probability of the group.
    fn touch(&mut self, group: u32, blocking: f64);

    /// `group`, which was touched, is no more.
    fn remove(&mut self, group: u32);

    /// Removes the group that gives up its space and returns it; `None` where there is no group.
    fn victim(&mut self) -> Option<u32>;
}

/// Builds a replication policy; the argument is the number of groups, which are numbered from 0.
pub type Build = fn(u32, &Options) -> Result<Box<dyn Replication>, OptionError>;

/// All replication policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "pblru",
        summary: "of the groups not used for long, the one that is blocked least gives way",
        is_random: false,
        build: pblru::build,
    },
    Entry {
        name: "lru",
        summary: "the least recently used group gives way",
        is_random: false,
        build: lru::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("replication", &["none"], REGISTRY);

impl Family<Build> {
    /// Builds the replication policy called `name` for `groups` groups.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(
        &self,
        name: &str,
        groups: u32,
        options: &Options,
    ) -> Result<Box<dyn Replication>, OptionError> {
        self.make(name, options, |build| build(groups, options))
    }
}
