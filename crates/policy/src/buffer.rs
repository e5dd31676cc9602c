//! Write buffer replacement: which buffered pages go to flash next, and in what order.
//!
//! Pages are in numbered slots that the engine assigns; a policy orders the slots. It gives one page at a time, or a
//! batch that leaves together; [`Queues`] says how the pages of a batch wait for each other.

mod bplru;
mod cflru;
mod fifo;
mod lru;
mod parallel;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// The buffer that a policy orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of slots.
    pub slots: u32,
    /// Number of packages; `None` where a page's package is chosen only when it leaves.
    pub packages: Option<u32>,
    /// Pages per erase block.
    pub block_pages: u32,
}

/// A page that enters the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Logical number.
    pub number: u32,
    /// The package that it will go to; 0 where [`Shape::packages`] is `None`.
    pub package: u32,
    /// Whether it has to be written to flash; a page that was only read is clean.
    pub dirty: bool,
}

/// A page that a policy reads from flash and writes again with pages that leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pad {
    /// Logical number.
    pub number: u32,
    /// The slot of a page that leaves with it: the nearest before it in its erase block, or else the first behind it.
    pub beside: u32,
}

/// How a buffered page was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageUse {
    /// Reported only to policies that [keep reads](Replacement::keeps_reads).
    Read,
    /// The page is now dirty.
    Write,
}

/// How the pages of a batch wait for each other on their way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One queue in the batch's order: a page, and all behind it, waits until its package has completed the buffer's
    /// previous page.
    One,
    /// A queue per package: every page goes to its package at once.
    EachPackage,
}

/// Orders the buffered pages.
pub trait Replacement: Send {
    /// `page` entered slot `slot`.
    fn insert(&mut self, slot: u32, page: Page);

    /// The page in `slot` was used again.
    fn touch(&mut self, slot: u32, access: PageUse);

    /// Removes and returns the slot of the dirty page to drain next.
    fn victim(&mut self) -> Option<u32>;

    /// Removes the slots of dirty pages to drain together and appends them to `out`: `most`, a multiple of the number
    /// of packages, or all.
    fn batch(&mut self, most: u32, out: &mut Vec<u32>) {
        out.extend(std::iter::from_fn(|| self.victim()).take(most as usize));
    }

    /// Removes `slot`, whose page was trimmed or superseded.
    fn remove(&mut self, slot: u32);

    /// How the pages of a batch wait for each other.
    fn queues(&self) -> Queues {
        Queues::One
    }

    /// Returns whether the buffer also keeps pages that were read from flash, as clean pages.
    fn keeps_reads(&self) -> bool {
        false
    }

    /// Removes and returns the slot of a clean page to drop; `None` where a dirty page leaves first.
    fn drop_clean(&mut self) -> Option<u32> {
        None
    }

    /// Appends to `out` the pages to read from flash and write again with the pages chosen since the last call.
    fn pads(&mut self, _out: &mut Vec<Pad>) {}
}

/// Builds a replacement policy for a buffer.
pub type Build = fn(Shape, &Options) -> Result<Box<dyn Replacement>, OptionError>;

/// All replacement policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "bplru",
        summary: "the erase block least recently written, as a whole",
        is_random: false,
        build: bplru::build,
    },
    Entry {
        name: "cflru",
        summary: "pages that were only read before those written",
        is_random: false,
        build: cflru::build,
    },
    Entry { name: "fifo", summary: "the page that came first", is_random: false, build: fifo::build },
    Entry { name: "lru", summary: "the page least recently written", is_random: false, build: lru::build },
    Entry {
        name: "parallel",
        summary: "as many pages of each package, the least recently written first",
        is_random: false,
        build: parallel::build,
    },
];

/// The family; `none` is the name for having no buffer.
pub const FAMILY: Family<Build> = Family::new("write buffer", &["none"], REGISTRY);

impl Family<Build> {
    /// Builds the replacement policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, it does not suit the buffer, or an option is refused.
    pub fn build(
        &self,
        name: &str,
        shape: Shape,
        options: &Options,
    ) -> Result<Box<dyn Replacement>, OptionError> {
        self.make(name, options, |build| build(shape, options))
    }
}

#[cfg(test)]
mod tests;
