//! Errors of a probe.

use flashlane_base::units::exact_bytes;

/// Why an experiment ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EarlyEnd {
    /// The time of the stage is over.
    #[error("the time of the stage is over")]
    OutOfTime,
    /// A request was refused or failed, the drive no longer responds, or the caller stopped the probe.
    #[error(transparent)]
    Interrupted(#[from] flashlane_measure::Interruption),
}

/// A probe, or an experiment of it, ended early or could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// An experiment ended early.
    #[error(transparent)]
    EndedEarly(#[from] EarlyEnd),
    /// The drive is too small to show structure.
    #[error(
        "the device has {}, and a probe needs at least {}", exact_bytes(*capacity_bytes), exact_bytes(*needed_bytes)
    )]
    TooSmall {
        /// Capacity of the drive.
        capacity_bytes: u64,
        /// Least capacity for a probe.
        needed_bytes: u64,
    },
}
