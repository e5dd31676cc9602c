//! How a drive is benchmarked, how far that has come, and why it could not go on.

use crate::journal::{Journal, JournalError};
use flashlane_base::Seed;
use flashlane_base::units::format_bytes;
use flashlane_measure::{Interruption, MeasureError};
use flashlane_result::uflip::{Benchmark, StateMethod};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// How much of the grid is measured, and how well.
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

/// Called now and then; [`ControlFlow::Break`] stops the benchmark.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// How far it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub stage: String,
    /// The share of all that is done, 0 to 1, by the I/Os that were planned.
    pub share: f64,
}

/// How a drive is benchmarked.
pub struct Options<'a> {
    /// How much of it.
    pub effort: Effort,
    /// How the state is enforced; nothing is where `may_write` is not.
    pub state: StateMethod,
    /// Which micro-benchmarks; the methodology goes before them, however few they are.
    pub benchmarks: Vec<Benchmark>,
    /// Micro-benchmarks whose values are those of another effort; the runs are as long as `effort` makes them.
    pub grids: Vec<(Benchmark, Effort)>,
    /// Whether the device may be written to; without, only reads are benchmarked.
    pub may_write: bool,
    /// The root of all randomness.
    pub seed: Seed,
    /// What was done so far, to go on from, and what is done from here on; none for a simulated device, whose state
    /// does not outlive the program.
    pub journal: Option<&'a mut Journal>,
    /// Progress and the way to stop.
    pub watch: Option<Watch<'a>>,
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

/// Bytes of an I/O where its size is not what varies (uflip09, section 5.2).
pub(crate) const IO_BYTES: u64 = 32 << 10;
/// Of a quick run, the part of the device that is used.
pub(crate) const QUICK_AREA_BYTES: u64 = 1 << 30;
/// The least that is enough for sequential writes beside each other and random ones around them.
pub(crate) const LEAST_AREA_BYTES: u64 = 64 << 20;
/// How often each experiment is run (uflip09, section 5.1).
pub(crate) const REPETITIONS: u32 = 3;

impl Options<'_> {
    /// The effort whose values of its parameter a micro-benchmark takes.
    pub(crate) fn grid(&self, benchmark: Benchmark) -> Effort {
        self.grids.iter().find(|(of, _)| *of == benchmark).map_or(self.effort, |&(_, grid)| grid)
    }

    /// The part of a device of `capacity_bytes` that is used, from its beginning.
    pub(crate) fn area_of(&self, capacity_bytes: u64) -> u64 {
        let most = match self.effort {
            Effort::Quick => QUICK_AREA_BYTES,
            Effort::Normal | Effort::Full => u64::MAX,
        };
        capacity_bytes.min(most) / IO_BYTES * IO_BYTES
    }
}

impl Effort {
    /// The share of the mean within which its 95% confidence interval shall lie, to each side: runs are
    /// lengthened until it does.
    pub fn bound(self) -> f64 {
        match self {
            Self::Quick => 0.20,
            Self::Normal => 0.10,
            Self::Full => 0.05,
        }
    }

    /// Its name: `quick`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Full => "full",
        }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum UflipError {
    /// The device is too small.
    #[error(
        "uFLIP can use {} of the device, but needs {} at least: its sequential writes must not overlap",
        format_bytes(*capacity_bytes),
        format_bytes(LEAST_AREA_BYTES)
    )]
    TooSmall {
        /// What it has.
        capacity_bytes: u64,
    },
    /// It was stopped; what was done is in the journal.
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
