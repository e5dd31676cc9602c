//! Write buffer replacement: which buffered pages go to flash next, and in what order.
//!
//! Pages live in numbered slots that the engine hands out; a policy orders the slots. It is asked for one page at a
//! time, or for a batch that leaves at once; how the pages of a batch wait for each other is a matter of how the
//! policy keeps them ([`Queues`]).

mod bplru;
mod cflru;
mod fifo;
mod list;
mod lru;
mod parallel;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// What a policy is told of the buffer it orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots, numbered from 0.
    pub slots: u32,
    /// Packages, numbered from 0; none where a page's package is settled only when it leaves.
    pub packages: Option<u32>,
    /// Pages of an erase block.
    pub block_pages: u32,
}

/// A page that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its logical number.
    pub number: u32,
    /// The package that it will go to; 0 where [`Shape::packages`] is none.
    pub package: u32,
    /// Whether flash has yet to get it; a page that was only read is clean.
    pub dirty: bool,
}

/// What was done to a buffered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It was read; only policies that keep what was read are told.
    Read,
    /// It was written, and is dirty now.
    Write,
}

/// How the pages of a batch wait for each other on their way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One queue: in the batch's order, and a page waits, with all behind it, until its package has done the buffer's
    /// page before.
    One,
    /// A queue a package: every page is handed to its package at once.
    EachPackage,
}

/// Orders the buffered pages.
pub trait Replacement: Send {
    /// `page` entered slot `slot`.
    fn insert(&mut self, slot: u32, page: Page);

    /// The page in `slot` was used again.
    fn touch(&mut self, slot: u32, access: Access);

    /// Takes out the slot of the dirty page to drain next.
    fn victim(&mut self) -> Option<u32>;

    /// Takes out the slots of dirty pages to drain together and appends them to `out`: `most` of them, a multiple of the
    /// packages, or as many as there are.
    fn batch(&mut self, most: u32, out: &mut Vec<u32>) {
        out.extend(std::iter::from_fn(|| self.victim()).take(most as usize));
    }

    /// Takes out `slot`, wherever it stands: its page was trimmed or superseded.
    fn remove(&mut self, slot: u32);

    /// How the pages of a batch wait for each other.
    fn queues(&self) -> Queues {
        Queues::One
    }

    /// Whether pages that were read from flash are to be kept, clean.
    fn keeps_reads(&self) -> bool {
        false
    }

    /// Takes out the slot of a clean page that may be dropped to make room; none where a dirty page should leave first.
    fn drop_clean(&mut self) -> Option<u32> {
        None
    }

    /// Appends to `out` the logical pages that are to be read from flash and written again along with those that were
    /// chosen since it was last asked.
    fn pads(&mut self, _out: &mut Vec<u32>) {}
}

/// Makes a replacement policy for a buffer.
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
    /// [`OptionError`] where there is none, it does not suit the buffer, or an option does not suit it.
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
