//! The loads of recommendations, as jobs of a workload.

use flashlane_workload::{Job, Mix, Pattern};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    RandomRead,
    RandomWrite,
    Scan,
}

impl Load {
    /// Name in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RandomRead => "random_read",
            Self::RandomWrite => "random_write",
            Self::Scan => "scan",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::RandomRead => "Random reads",
            Self::RandomWrite => "Random writes",
            Self::Scan => "Sequential reads",
        }
    }

    /// Returns a job of this load over the whole device.
    pub(crate) fn job(self, size_bytes: u64, depth: u32) -> Job {
        let (name, pattern, mix) = match self {
            Self::RandomRead => ("random-read", Pattern::Random, Mix::READ),
            Self::RandomWrite => ("random-write", Pattern::Random, Mix::WRITE),
            Self::Scan => ("sequential-read", Pattern::Sequential, Mix::READ),
        };
        Job::new(name, pattern, mix, size_bytes).depth(depth)
    }
}
