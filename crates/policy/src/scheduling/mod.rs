//! Scheduling: which of the operations that wait for a die goes first.

mod fifo;
mod read_first;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// What an operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A read that the host waits for.
    HostRead,
    /// A read ahead of the host.
    Readahead,
    /// A write of the host's data.
    HostWrite,
    /// Cleaning that the host does not wait for.
    Cleaning,
}

/// The number of ranks.
pub const RANKS: usize = 4;

/// Ranks operations; equal ranks are served in the order in which they came.
pub trait Scheduling: Send {
    /// 0 is served first; below [`RANKS`].
    fn rank(&self, class: Class) -> usize;
}

/// Makes a scheduler.
pub type Build = fn(&Options) -> Result<Box<dyn Scheduling>, OptionError>;

/// All schedulers.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry { name: "fifo", summary: "first come, first served", is_random: false, build: fifo::build },
    Entry {
        name: "read-first",
        summary: "host reads, then readahead, writes, cleaning",
        is_random: false,
        build: read_first::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("scheduling", &[], REGISTRY);

impl Family<Build> {
    /// Builds the scheduler called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is none, or an option does not suit it.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Scheduling>, OptionError> {
        self.make(name, options, |build| build(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_one_that_a_die_has_a_queue_for() {
        for entry in REGISTRY {
            let policy = FAMILY.build(entry.name, &Options::default()).unwrap();
            for class in [Class::HostRead, Class::Readahead, Class::HostWrite, Class::Cleaning] {
                assert!(policy.rank(class) < RANKS, "{}: {class:?}", entry.name);
            }
        }
    }
}
