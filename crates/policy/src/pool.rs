//! Replacement of a database's buffer pool: which page gives up its frame to a page that is read.
//!
//! This is a policy of the host, above the drive; the pool of frames is in `flashlane-transactions`. Frames are
//! numbered; a policy orders those that hold a page and are not being read or written.

mod cflru_e;
mod lru;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// The pool that a policy orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of frames.
    pub frames: u32,
    /// Pages of the database.
    pub pages: u32,
}

/// Orders the frames of a pool.
pub trait Replacement: Send {
    /// `page` is now in `frame`, which is not in the order; `dirty` if it must be written before it is replaced.
    fn insert(&mut self, frame: u32, page: u32, dirty: bool);

    /// The page in `frame` was used again, and with `write` is dirty now.
    fn touch(&mut self, frame: u32, write: bool);

    /// Returns the frame whose page is to be replaced, which stays in the order; `None` where that is empty.
    fn victim(&mut self) -> Option<u32>;

    /// Removes `frame`, which is in the order.
    fn remove(&mut self, frame: u32);

    /// Removes and returns the victim.
    fn take_victim(&mut self) -> Option<u32> {
        let frame = self.victim()?;
        self.remove(frame);
        Some(frame)
    }

    /// The device took as long as usual for `page`, or was `slow`.
    fn observe(&mut self, _page: u32, _slow: bool) {}
}

/// Builds a replacement policy for a pool.
pub type Build = fn(Shape, &Options) -> Result<Box<dyn Replacement>, OptionError>;

/// All replacement policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "cflru-e",
        summary: "clean pages first, then the dirty page that is least often slow to write",
        is_random: false,
        build: cflru_e::build,
    },
    Entry { name: "lru", summary: "the page least recently used", is_random: false, build: lru::build },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("buffer pool", &[], REGISTRY);

impl Family<Build> {
    /// Builds the replacement policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
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
