//! Readahead: which pages to fetch before they are asked for.

mod streams;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};
use std::ops::Range;

/// Watches the host's reads and says what to fetch.
pub trait Readahead: Send {
    /// A read of the bytes `bytes` arrived. The answer is a range of bytes to fetch (which the engine rounds to
    /// pages and clips to the drive), empty where nothing is to be fetched.
    fn observe(&mut self, bytes: Range<u64>) -> Range<u64>;
}

/// Makes a readahead policy that fetches `window_bytes` ahead.
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
    /// [`OptionError`] where there is none, or an option does not suit it.
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
    fn no_policy_fetches_what_was_just_read_or_far_from_it() {
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
