//! The four baseline patterns that all others vary (uflip09, section 3.1).

use flashlane_workload::{Job, Mix, Pattern};
use serde::{Deserialize, Serialize};

/// A baseline pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Baseline {
    /// Sequential reads.
    Sr,
    /// Random reads.
    Rr,
    /// Sequential writes.
    Sw,
    /// Random writes.
    Rw,
}

impl Baseline {
    /// All four, in the paper's order.
    pub const ALL: [Self; 4] = [Self::Sr, Self::Rr, Self::Sw, Self::Rw];
    /// The sequential ones.
    pub const SEQUENTIAL: [Self; 2] = [Self::Sr, Self::Sw];

    /// The paper's name of it: `SR`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sr => "SR",
            Self::Rr => "RR",
            Self::Sw => "SW",
            Self::Rw => "RW",
        }
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Self::Sw | Self::Rw)
    }

    /// Whether it is sequential.
    pub fn is_sequential(self) -> bool {
        matches!(self, Self::Sr | Self::Sw)
    }

    /// A job of it, one I/O at a time, over the whole device.
    pub(crate) fn job(self, io_bytes: u64) -> Job {
        let pattern = if self.is_sequential() { Pattern::Sequential } else { Pattern::Random };
        let mix = if self.writes() { Mix::WRITE } else { Mix::READ };
        Job::new(self.name(), pattern, mix, io_bytes)
    }
}
