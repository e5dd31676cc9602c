//! Why a measurement could not begin, and why one ended early.

use crate::Mismatch;
use flashlane_device::{Failure, SubmitError};
use flashlane_workload::{Access, Unfit};

/// Why there is no measurement.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeasureError {
    /// The workload does not fit the device; nothing was submitted.
    #[error("the workload does not fit device '{device}': {unfit}")]
    Unfit {
        /// What the device is called.
        device: String,
        /// The field that does not fit.
        unfit: Unfit,
    },
    /// Driving the device ended early.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
}

/// Why driving a device ended before all was done. What was measured until then stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interruption {
    /// The caller asked for it.
    #[error("stopped on request")]
    Stopped,
    /// A request failed.
    #[error("the {} of {} bytes at offset {} failed: {failure}", .access.operation, .access.length_bytes, .access.offset_bytes)]
    Failed {
        /// The request.
        access: Access,
        /// How it failed.
        failure: Failure,
    },
    /// The device did not take a request.
    #[error("the {} of {} bytes at offset {} was refused: {error}", .access.operation, .access.length_bytes, .access.offset_bytes)]
    Refused {
        /// The request.
        access: Access,
        /// The device's refusal.
        error: SubmitError,
    },
    /// What was read is not what was written.
    #[error("the bytes read at offset {offset_bytes} are not what was written there: {mismatch}")]
    Mismatch {
        /// The first byte of the unit.
        offset_bytes: u64,
        /// What is wrong with it.
        mismatch: Mismatch,
    },
    /// Requests are in flight, but the device neither completes one nor lets time pass.
    #[error("the device no longer answers: {in_flight} requests are in flight and none completes")]
    Stalled {
        /// Requests that never came back.
        in_flight: u64,
    },
}
