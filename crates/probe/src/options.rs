//! How a probe is to be made.

use flashlane_base::Seed;
use std::ops::ControlFlow;

/// How much is asked of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Fewer repetitions: under a minute on a drive with 100 us a read.
    Quick,
    /// The usual.
    #[default]
    Normal,
    /// Also what needs the whole drive to be written: the rhythm in which blocks are reclaimed.
    Full,
}

impl Effort {
    /// How often to repeat what is usually repeated `usual` times.
    pub(crate) fn repetitions(self, usual: usize) -> usize {
        match self {
            Self::Quick => (usual / 2).max(8),
            Self::Normal => usual,
            Self::Full => usual * 2,
        }
    }
}

/// How a probe is to be made.
#[derive(Default)]
pub struct Options<'a> {
    /// How much is asked of the drive.
    pub effort: Effort,
    /// Whether the drive's content may be destroyed. Without it nothing is written, and what needs writing is not
    /// determined.
    pub may_write: bool,
    /// The root of the probe's random choices.
    pub seed: Seed,
    /// Called now and then; breaking ends the probe, and what was found stands.
    pub watch: Option<Watch<'a>>,
}

/// Called with how far a probe has come.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// How far a probe has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What is being looked for.
    pub stage: &'static str,
    /// The share of stages done, 0 to 1.
    pub share: f64,
}
