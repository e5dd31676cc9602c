//! Scheduling: which of the operations waiting for a die goes first.

mod fifo;
mod light_first;
mod read_first;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// Purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A read that the host waits for, of a submission queue that asks for little.
    LightRead,
    /// Any other read that the host waits for.
    HostRead,
    /// A read ahead of the host.
    Readahead,
    /// A program of the host's data; also the reads, GC and erases that it waits for.
    Write,
    /// GC of an idle die, which no write waits for.
    IdleGc,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 5] = [Self::LightRead, Self::HostRead, Self::Readahead, Self::Write, Self::IdleGc];

    /// Returns whether it is a read that the host waits for.
    #[inline]
    pub fn is_host_read(self) -> bool {
        matches!(self, Self::LightRead | Self::HostRead)
    }
}

/// The number of ranks.
pub const RANKS: usize = Class::ALL.len();

/// Ranks operations; equal ranks are served in order of arrival.
pub trait Scheduling: Send {
    /// Returns the rank, which MUST be below [`RANKS`]; 0 is served first.
    fn rank(&self, class: Class) -> usize;

    /// Returns the share of the mean load of all queues, above 0 and at most 1, below which a queue's reads are of
    /// [`Class::LightRead`]; `None` where none are.
    fn light_below(&self) -> Option<f64> {
        None
    }
}

/// Builds a scheduler.
pub type Build = fn(&Options) -> Result<Box<dyn Scheduling>, OptionError>;

/// All schedulers.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry { name: "fifo", summary: "first come, first served", is_random: false, build: fifo::build },
    Entry {
        name: "light-first",
        summary: "reads of queues that ask for little, then as read-first",
        is_random: false,
        build: light_first::build,
    },
    Entry {
        name: "read-first",
        summary: "host reads, then readahead, writes, GC of idle dies",
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
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Scheduling>, OptionError> {
        self.make(name, options, |build| build(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_is_below_the_number_of_ranks() {
        for entry in REGISTRY {
            let policy = FAMILY.build(entry.name, &Options::default()).unwrap();
            for class in Class::ALL {
                assert!(policy.rank(class) < RANKS, "{}: {class:?}", entry.name);
            }
        }
    }
}
