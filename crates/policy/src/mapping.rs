//! Mapping: the stripe position of a written page.
//!
//! chen11 (section 4.4) distinguishes two kinds: by logical address, where a page's place never changes, and by the
//! order of writes, where the i-th write goes to domain i mod D. An
//! [`Allocation`](crate::allocation::Allocation) turns the position into a place.

mod lba;
mod write_order;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// Gives written pages their stripe positions.
pub trait Mapping: Send {
    /// Returns the stripe position of a write to logical page `page`.
    fn position(&mut self, page: u64) -> u64;

    /// Returns whether a page can get another position when its place has no room (write order), or is bound to its
    /// address (LBA): a page that is bound MUST have the position of its number.
    fn is_free(&self) -> bool;

    /// Goes on at the next position that is a multiple of `chunk`, since the pages of the present chunk are closed. A
    /// mapping that is bound to addresses has nothing to skip.
    fn skip_to_chunk(&mut self, chunk: u64) {
        let _ = chunk;
    }

    /// Advances past the first `writes` of a new drive, where they get the positions `0..writes` in order: a drive that
    /// is full from the start makes no such calls. Returns false, with nothing changed, where they do not.
    fn advance(&mut self, writes: u64) -> bool {
        let _ = writes;
        !self.is_free()
    }
}

/// Builds a mapping.
pub type Build = fn(&Options) -> Result<Box<dyn Mapping>, OptionError>;

/// All mappings.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "write-order",
        summary: "the i-th written page goes to the i-th place",
        is_random: false,
        build: write_order::build,
    },
    Entry {
        name: "lba",
        summary: "a page's place follows from its address",
        is_random: false,
        build: lba::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("mapping", &[], REGISTRY);

impl Family<Build> {
    /// Builds the mapping called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Mapping>, OptionError> {
        self.make(name, options, |build| build(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_that_advances_gives_the_same_positions_later() {
        for entry in REGISTRY {
            let mut written = FAMILY.build(entry.name, &Options::default()).unwrap();
            let mut advanced = FAMILY.build(entry.name, &Options::default()).unwrap();
            assert!((0..10).all(|page| written.position(page) == page), "{}", entry.name);
            assert!(advanced.advance(10), "{}", entry.name);
            assert_eq!(written.position(3), advanced.position(3), "{}", entry.name);
        }
    }

    #[test]
    fn mapping_is_by_address_or_unique_per_write() {
        for entry in REGISTRY {
            let mut mapping = FAMILY.build(entry.name, &Options::default()).unwrap();
            let pages = [7, 7, 3, 900, 0];
            let positions: Vec<u64> = pages.iter().map(|&page| mapping.position(page)).collect();
            if mapping.is_free() {
                // No two writes share a position: a chunk would otherwise be filled twice.
                let mut distinct = positions.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), pages.len(), "{}: {positions:?}", entry.name);
            } else {
                assert_eq!(positions, pages, "{}", entry.name);
            }
        }
    }
}
