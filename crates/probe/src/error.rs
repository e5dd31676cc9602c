//! Errors of a probe.

use flashlane_measure::Interruption;

/// A probe, or an experiment of it, ended early or could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// A request was refused or failed, the drive no longer responds, or the caller stopped the probe.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
    /// The drive is too small to show structure.
    #[error("the drive has {capacity_bytes} bytes; a probe needs at least {needed_bytes}")]
    TooSmall {
        /// Capacity of the drive.
        capacity_bytes: u64,
        /// Least capacity for a probe.
        needed_bytes: u64,
    },
}
