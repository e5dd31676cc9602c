//! Readahead: which pages to prefetch.

mod streams;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};
use std::ops::Range;

/// Chooses what to prefetch from the host's reads.
pub trait Readahead: Send {
    /// Takes the next host read and returns the range of bytes to prefetch, which may be empty. The engine rounds it to
    /// pages and clips it to the drive.
    fn observe(&mut self, bytes: Range<u64>) -> Range<u64>;
}

/// Builds a readahead policy that prefetches `window_bytes`.
pub type Build = fn(window_bytes: u64, &Options) -> Result<Box<dyn Readahead>, OptionError>;

/// All readahead policies.
pub const REGISTRY: &[Entry<Build>] = &[Entry {
    name: "streams",
    summary: "follows a number of sequential streams",
    is_random: false,
    build: streams::build,
}];

/// The family.
pub const FAMILY: Family<Build> = Family::new("readahead", &[], REGISTRY);

impl Family<Build> {
    /// Builds the readahead policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(
        &self,
        name: &str,
        window_bytes: u64,
        options: &Options,
    ) -> Result<Box<dyn Readahead>, OptionError> {
        self.make(name, options, |build| build(window_bytes, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn prefetch_starts_after_the_read_and_fits_the_window() {
        let mut random = Seed(5).source();
        for entry in REGISTRY {
            let mut policy = FAMILY.build(entry.name, 65536, &Options::default()).unwrap();
            let mut next = 0;
            for _ in 0..5000 {
                let start = if random.chance(0.9) { next } else { random.below(1 << 30) * 512 };
                next = start + 512 * (1 + random.below(64));
                let fetch = policy.observe(start..next);
                if !fetch.is_empty() {
                    assert!(fetch.start >= next && fetch.end <= next + 65536, "{}: {fetch:?}", entry.name);
                }
            }
        }
    }
}
