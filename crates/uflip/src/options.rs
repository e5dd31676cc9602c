//! Options, progress and errors of a benchmark.

use crate::journal::{Journal, JournalError};
use flashlane_base::Seed;
use flashlane_base::units::format_bytes;
use flashlane_measure::{Interruption, MeasureError, Watch};
use flashlane_result::uflip::{Benchmark, StateMethod};
use serde::{Deserialize, Serialize};

/// How much of the grid is measured, and how precisely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A row in minutes: a part of the device, few values, short runs.
    Quick,
    /// Every other value of the paper's grid.
    #[default]
    Normal,
    /// The paper's whole grid.
    Full,
}

/// Progress of a benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Name of the current step.
    pub stage: String,
    /// Share of the planned I/Os that are done, 0 to 1.
    pub share: f64,
}

/// Options of a benchmark.
pub struct Options<'a> {
    /// Size of the grid and precision.
    pub effort: Effort,
    /// How the state is enforced; ignored without `may_write`.
    pub state: StateMethod,
    /// The micro-benchmarks to run; the methodology always precedes them.
    pub benchmarks: Vec<Benchmark>,
    /// Micro-benchmarks with the grid of another effort; the length of their runs still follows `effort`.
    pub grids: Vec<(Benchmark, Effort)>,
    /// Whether the device may be written to; otherwise only reads are benchmarked.
    pub may_write: bool,
    /// The root of all randomness.
    pub seed: Seed,
    /// The journal to resume from and append to; `None` for a simulated device, whose state does not outlive the
    /// program.
    pub journal: Option<&'a mut Journal>,
    /// Reports progress and can stop the benchmark.
    pub watch: Option<Watch<'a, Progress>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            effort: Effort::Normal,
            state: StateMethod::Random,
            benchmarks: Benchmark::ALL.to_vec(),
            grids: Vec::new(),
            may_write: true,
            seed: Seed(0),
            journal: None,
            watch: None,
        }
    }
}

/// Size of an I/O unless it varies (uflip09, section 5.2).
pub(crate) const IO_BYTES: u64 = 32 << 10;
/// Part of the device that a quick run uses.
pub(crate) const QUICK_AREA_BYTES: u64 = 1 << 30;
/// Least area for parallel sequential writes and random writes around them.
pub(crate) const LEAST_AREA_BYTES: u64 = 64 << 20;
/// Runs of each experiment (uflip09, section 5.1).
pub(crate) const REPETITIONS: u32 = 3;

impl Options<'_> {
    /// Returns the effort whose grid a micro-benchmark uses.
    pub(crate) fn grid(&self, benchmark: Benchmark) -> Effort {
        self.grids.iter().find(|(of, _)| *of == benchmark).map_or(self.effort, |&(_, grid)| grid)
    }

    /// Returns the length of the part, from its beginning, that is used of a device of `capacity_bytes`.
    pub(crate) fn area_of(&self, capacity_bytes: u64) -> u64 {
        let most = match self.effort {
            Effort::Quick => QUICK_AREA_BYTES,
            Effort::Normal | Effort::Full => u64::MAX,
        };
        capacity_bytes.min(most) / IO_BYTES * IO_BYTES
    }
}

impl Effort {
    /// Returns the target for half the width of the 95% confidence interval, as a share of the mean: runs are
    /// lengthened until they meet it.
    pub fn bound(self) -> f64 {
        match self {
            Self::Quick => 0.20,
            Self::Normal => 0.10,
            Self::Full => 0.05,
        }
    }

    /// Name in results and options: `quick`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Full => "full",
        }
    }
}

/// A benchmark ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum UflipError {
    /// The device is too small.
    #[error(
        "uFLIP can use {} of the device, but needs {} at least: its sequential writes must not overlap",
        format_bytes(*capacity_bytes),
        format_bytes(LEAST_AREA_BYTES)
    )]
    TooSmall {
        /// Its usable capacity.
        capacity_bytes: u64,
    },
    /// It was stopped; its completed steps are in the journal.
    #[error("stopped on request")]
    Stopped,
    /// The device failed.
    #[error(transparent)]
    Interrupted(Interruption),
    /// An experiment does not fit the device: a bug.
    #[error(transparent)]
    Unfit(MeasureError),
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<MeasureError> for UflipError {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Interrupted(interruption) => interruption.into(),
            unfit @ MeasureError::Unfit { .. } => Self::Unfit(unfit),
        }
    }
}

impl From<Interruption> for UflipError {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Stopped => Self::Stopped,
            other => Self::Interrupted(other),
        }
    }
}
