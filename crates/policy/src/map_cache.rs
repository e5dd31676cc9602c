//! Replacement in a drive's cache of its map: which cached part of the map gives up its room to one that is loaded.
//!
//! What is cached together is a *line*: an entry, or all entries of a translation page. Lines are in numbered slots
//! that the engine assigns; a policy orders the slots in use. The engine writes back a line that has changed.

mod clock;
mod lru;
mod segmented;
#[cfg(test)]
mod tests;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// Orders the lines of a cache.
pub trait Replacement: Send {
    /// A line was loaded into `slot`, which is not in use.
    fn insert(&mut self, slot: u32);

    /// The line in `slot` was used again.
    fn touch(&mut self, slot: u32);

    /// Removes and returns the slot of the line that gives up its room; `None` where no slot is in use.
    fn victim(&mut self) -> Option<u32>;

    /// Removes `slot`, whose line is dropped.
    fn remove(&mut self, slot: u32);
}

/// Builds a replacement policy; the argument is the number of slots, which are numbered from 0.
pub type Build = fn(u32, &Options) -> Result<Box<dyn Replacement>, OptionError>;

/// All replacement policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry { name: "lru", summary: "the line least recently used", is_random: false, build: lru::build },
    Entry {
        name: "segmented",
        summary: "of the lines used once, the least recently used",
        is_random: false,
        build: segmented::build,
    },
    Entry {
        name: "clock",
        summary: "the oldest line that was not used since the last look at it",
        is_random: false,
        build: clock::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("mapping cache", &[], REGISTRY);

impl Family<Build> {
    /// Builds the replacement policy called `name` for `slots` lines.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(
        &self,
        name: &str,
        slots: u32,
        options: &Options,
    ) -> Result<Box<dyn Replacement>, OptionError> {
        self.make(name, options, |build| build(slots, options))
    }
}
