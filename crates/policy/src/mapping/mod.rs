//! Mapping: which number a written page has in the order that is striped over the flash.
//!
//! chen11 (section 4.4) tells two kinds apart: by logical address, where a page's place never changes, and by the
//! order of writes, where the i-th write goes to domain i mod D. The number that a mapping gives is turned into
//! a place by an [`Allocation`](crate::allocation::Allocation).

mod lba;
mod write_order;

use crate::registry::{self, Entry};
use crate::{OptionError, Options};

/// Numbers the pages that are written.
pub trait Mapping: Send {
    /// The stripe position of a write to logical page `page`.
    fn position(&mut self, page: u64) -> u64;

    /// Whether a page's position can be chosen anew when its place has no room (write order), or is bound to its
    /// address (LBA).
    fn is_free(&self) -> bool;
}

/// Makes a mapping.
pub type Build = fn(&Options) -> Result<Box<dyn Mapping>, OptionError>;

/// All mappings.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "write-order",
        summary: "the i-th written page goes to the i-th place",
        build: write_order::build,
    },
    Entry { name: "lba", summary: "a page's place follows from its address", build: lba::build },
];

/// The mapping called `name`.
///
/// # Errors
/// [`OptionError`] where there is none, or an option does not suit it.
pub fn build(name: &str, options: &Options) -> Result<Box<dyn Mapping>, OptionError> {
    registry::checked(name, options, registry::find("mapping", REGISTRY, name)?(options))
}
