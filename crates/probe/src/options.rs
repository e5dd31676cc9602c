//! How a probe is to be made.

use crate::rig::Measurement;
use flashlane_base::{Duration, Seed};
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

/// How long the parts of a probe may take on a device whose time is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// A stage that looks for structure.
    pub(crate) stage: Duration,
    /// A point of a grid of sizes and depths, …
    pub(crate) cell: Duration,
    /// … and a measurement of one that is considered.
    pub(crate) run: Duration,
    /// The writes before random writes are measured.
    pub(crate) settle: Duration,
}

impl Effort {
    /// The times for a kind of device. A file or virtual disk shows the host, which shorter measurements show as well.
    pub(crate) fn budget(self, medium: Medium) -> Budget {
        let [stage, cell, run, settle] = match (medium, self) {
            (Medium::Drive, Self::Quick) => [8_000, 50, 250, 3_000],
            (Medium::Drive, Self::Normal) => [60_000, 150, 500, 20_000],
            (Medium::Drive, Self::Full) => [600_000, 500, 5_000, 1_800_000],
            (_, Self::Quick) => [1_000, 15, 100, 500],
            (_, Self::Normal) => [2_000, 40, 200, 2_000],
            (_, Self::Full) => [60_000, 250, 2_000, 120_000],
        }
        .map(Duration::from_ms);
        Budget { stage, cell, run, settle }
    }
}

/// What a device is, apart from what its timing shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Medium {
    /// A drive, or nothing is known.
    #[default]
    Drive,
    /// A file of a file system.
    File,
    /// The disk of a virtual machine.
    VirtualDisk,
}

impl Medium {
    /// As results name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drive => "drive",
            Self::File => "file",
            Self::VirtualDisk => "virtual-disk",
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
    /// What the device is, as far as the caller knows.
    pub medium: Medium,
    /// The share of the device that was never written, 0 to 1, where the caller knows.
    pub never_written_share: Option<f64>,
    /// The size of random reads and writes that advice is wanted for; sizes from 4 KiB to 256 KiB are compared
    /// where there is none. Requires: a multiple of the device's units.
    pub page_bytes: Option<u64>,
    /// The longest that 99% of random reads and writes may take.
    pub p99: Option<Duration>,
    /// Where every measurement goes, the first million of them.
    pub measurements: Option<&'a mut Vec<Measurement>>,
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
