//! Arbitration: from which submission queue of the host a drive takes its next command.

mod arrival;
mod deficit;
mod round_robin;
#[cfg(test)]
mod tests;
mod weighted;
mod weights;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// A submission queue with commands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub queue: u32,
    /// Bytes of its first command; 0 for one without data.
    pub bytes: u64,
    /// Place of its first command in the order of arrival over all queues.
    pub arrival: u64,
}

/// Chooses among queues. Each queue is served in the order of its commands.
pub trait Arbitration: Send {
    /// Returns the place in `waiting` of the queue whose first command is taken next. `waiting` lists the queues that
    /// hold commands, at least one, in the order of their numbers.
    fn choose(&mut self, waiting: &[Waiting]) -> usize;

    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn Arbitration>;
}

/// Builds a policy for a number of queues, at least 1.
pub type Build = fn(u32, &Options) -> Result<Box<dyn Arbitration>, OptionError>;

/// All policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "arrival",
        summary: "the command that came first, whatever its queue",
        is_random: false,
        build: arrival::build,
    },
    Entry {
        name: "round-robin",
        summary: "as many commands of each queue in turn",
        is_random: false,
        build: round_robin::build,
    },
    Entry {
        name: "weighted",
        summary: "urgent queues first, of the others commands in proportion to weights",
        is_random: false,
        build: weighted::build,
    },
    Entry {
        name: "deficit",
        summary: "bytes of each queue in proportion to weights (deficit round robin)",
        is_random: false,
        build: deficit::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("arbitration", &[], REGISTRY);

impl Family<Build> {
    /// Builds the policy called `name` for `queues` queues.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(
        &self,
        name: &str,
        queues: u32,
        options: &Options,
    ) -> Result<Box<dyn Arbitration>, OptionError> {
        self.make(name, options, |build| build(queues, options))
    }
}

/// Returns the place of the first waiting queue after `last` in the order of numbers, and around.
fn next_after(waiting: &[Waiting], last: Option<u32>) -> usize {
    let after = last.and_then(|last| waiting.iter().position(|one| one.queue > last));
    after.unwrap_or(0)
}
