//! Options of a probe.

use crate::bench::Measurement;
use flashlane_base::{Duration, Seed};
use flashlane_device::Device;
use flashlane_measure::Watch;

/// How thorough a probe is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Fewer repetitions: under a minute on a drive with reads of 100 µs.
    Quick,
    /// The usual repetitions.
    #[default]
    Normal,
    /// Also the experiments that write the whole drive: SLC cache, reclaim unit and mapping cache.
    Full,
}

impl Effort {
    /// Returns the repetitions of an experiment that usually takes `usual`.
    pub(crate) fn repetitions(self, usual: usize) -> usize {
        match self {
            Self::Quick => (usual / 2).max(8),
            Self::Normal => usual,
            Self::Full => usual * 2,
        }
    }
}

/// Time limits of a probe's parts on a device whose time is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// A stage that looks for structure.
    pub(crate) stage: Duration,
    /// A point of a grid of sizes and depths.
    pub(crate) cell: Duration,
    /// A confirming measurement of a point.
    pub(crate) run: Duration,
    /// The writes before the measurement of random writes.
    pub(crate) precondition: Duration,
}

impl Effort {
    /// Returns the limits for a kind of device. A file or virtual disk shows the host, for which shorter ones suffice.
    pub(crate) fn budget(self, medium: Medium) -> Budget {
        let [stage, cell, run, precondition] = match (medium, self) {
            (Medium::Drive, Self::Quick) => [8_000, 50, 250, 3_000],
            (Medium::Drive, Self::Normal) => [60_000, 150, 500, 20_000],
            (Medium::Drive, Self::Full) => [600_000, 500, 5_000, 1_800_000],
            (_, Self::Quick) => [1_000, 15, 100, 500],
            (_, Self::Normal) => [2_000, 40, 200, 2_000],
            (_, Self::Full) => [60_000, 250, 2_000, 120_000],
        }
        .map(Duration::from_ms);
        Budget { stage, cell, run, precondition }
    }
}

/// Kind of a device, as known to the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Medium {
    /// A drive, or unknown.
    #[default]
    Drive,
    /// A file in a file system.
    File,
    /// The disk of a virtual machine.
    VirtualDisk,
}

impl Medium {
    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drive => "drive",
            Self::File => "file",
            Self::VirtualDisk => "virtual-disk",
        }
    }
}

/// Options of a probe.
#[derive(Default)]
pub struct Options<'a> {
    /// How thorough the probe is.
    pub effort: Effort,
    /// Whether the drive's content may be destroyed. Without it the probe writes nothing, and features that need writes
    /// are not determined.
    pub may_write: bool,
    /// Root of the probe's random choices.
    pub seed: Seed,
    /// Kind of the device, as known to the caller.
    pub medium: Medium,
    /// Share of the device that was never written, 0 to 1, where known to the caller.
    pub never_written_share: Option<f64>,
    /// Size of random reads and writes to recommend a depth for; MUST be a multiple of the device's units. By default,
    /// sizes from 4 KiB to 256 KiB are compared.
    pub request_bytes: Option<u64>,
    /// Bound on the 99th percentile of random reads and writes.
    pub p99: Option<Duration>,
    /// Another simulated drive of the same kind, full of data, on which reads are recommended where the probed one was
    /// never written: data that was just written may lie in its SLC cache, and its map in memory.
    pub full_drive: Option<Box<dyn Device>>,
    /// Leaves out the recommendations, which take most of the time.
    pub structure_only: bool,
    /// Receives the measurements, up to the first million.
    pub measurements: Option<&'a mut Vec<Measurement>>,
    /// Called regularly; a break ends the probe, which keeps its findings so far.
    pub watch: Option<Watch<'a, Progress>>,
}

/// Progress of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Name of the current stage.
    pub stage: &'static str,
    /// Share of the probe that is done, 0 to 1.
    pub share: f64,
}
