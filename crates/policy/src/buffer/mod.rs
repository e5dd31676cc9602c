//! Write buffer replacement: which buffered page goes to flash next.
//!
//! Pages live in numbered slots that the engine hands out; a policy orders the slots.

mod fifo;
mod list;
mod lru;

use crate::registry::{self, Entry};
use crate::{OptionError, Options};

/// Orders the buffered pages.
pub trait Replacement: Send {
    /// A page entered slot `slot`.
    fn insert(&mut self, slot: u32);

    /// The page in `slot` was written again.
    fn touch(&mut self, slot: u32);

    /// Takes out the slot to drain next.
    fn victim(&mut self) -> Option<u32>;

    /// Takes out `slot`, wherever it stands: its page was trimmed or superseded.
    fn remove(&mut self, slot: u32);
}

/// Makes a replacement policy for `slots` slots.
pub type Build = fn(slots: u32, &Options) -> Result<Box<dyn Replacement>, OptionError>;

/// All replacement policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry { name: "fifo", summary: "the page that came first", build: fifo::build },
    Entry { name: "lru", summary: "the page least recently written", build: lru::build },
];

/// The replacement policy called `name`.
///
/// # Errors
/// [`OptionError`] where there is none, or an option does not suit it.
pub fn build(name: &str, slots: u32, options: &Options) -> Result<Box<dyn Replacement>, OptionError> {
    registry::checked(name, options, registry::find("write buffer", REGISTRY, name)?(slots, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_gives_back_each_slot_once() {
        for entry in REGISTRY {
            let mut policy = build(entry.name, 16, &Options::default()).unwrap();
            (0..16).for_each(|slot| policy.insert(slot));
            policy.touch(3);
            policy.remove(5);
            let mut out: Vec<u32> = std::iter::from_fn(|| policy.victim()).collect();
            out.sort_unstable();
            assert_eq!(out, (0..16).filter(|&slot| slot != 5).collect::<Vec<_>>(), "{}", entry.name);
        }
    }
}
