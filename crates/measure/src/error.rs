//! Why a measurement could not begin, and why one ended early.

use flashlane_base::units::exact_bytes;
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
    #[error("the {} failed: {failure}", access_words(access))]
    Failed {
        /// The request.
        access: Access,
        /// How it failed.
        failure: Failure,
    },
    /// The device did not take a request.
    #[error("the {} was refused: {error}", access_words(access))]
    Refused {
        /// The request.
        access: Access,
        /// The device's refusal.
        error: SubmitError,
    },
    /// Requests are in flight, but the device neither completes one nor lets time pass.
    #[error("the device no longer answers: {in_flight} requests are in flight and none completes")]
    Stalled {
        /// Requests that never came back.
        in_flight: u64,
    },
}

/// An access as refusals and failures name it: `read of 4 KiB at offset 1537 KiB`; a flush has no place.
pub(crate) fn access_words(access: &Access) -> String {
    match access.length_bytes {
        0 => access.operation.to_string(),
        length => {
            let (length, offset) = (exact_bytes(length), exact_bytes(access.offset_bytes));
            format!("{} of {length} at offset {offset}", access.operation)
        }
    }
}
