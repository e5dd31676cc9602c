//! Why a probe ended early, or could not begin.

use flashlane_measure::Interruption;

/// Why a probe, or one experiment of it, ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// A request was refused or failed, the drive no longer answers, or the caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
    /// The drive is too small to see structure in.
    #[error("the drive has {capacity_bytes} bytes; a probe needs at least {needed_bytes}")]
    TooSmall {
        /// Bytes there are.
        capacity_bytes: u64,
        /// Bytes needed.
        needed_bytes: u64,
    },
}
