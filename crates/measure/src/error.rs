//! Errors that prevent a measurement or end it early.

use flashlane_base::units::exact_bytes;
use flashlane_device::{Failure, SubmitError};
use flashlane_workload::{Access, Unfit};

/// Error of a measurement.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeasureError {
    /// The workload does not fit the device; no request was submitted.
    #[error("the workload does not fit device '{device}': {unfit}")]
    Unfit {
        /// Name of the device.
        device: String,
        /// The field that does not fit.
        unfit: Unfit,
    },
    /// Driving the device ended early.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
}

/// Why a measurement ended early. Results until then are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interruption {
    /// The caller stopped the run.
    #[error("stopped on request")]
    Stopped,
    /// A request failed.
    #[error("the {} failed: {failure}", access_words(access))]
    Failed {
        /// The request.
        access: Access,
        /// The device's failure.
        failure: Failure,
    },
    /// Every request was a read that failed.
    #[error("all {reads} reads failed, since their data could not be corrected")]
    NothingRead {
        /// Reads that failed.
        reads: u64,
    },
    /// The device refused a request.
    #[error("the {} was refused: {error}", access_words(access))]
    Refused {
        /// The request.
        access: Access,
        /// The device's refusal.
        error: SubmitError,
    },
    /// Requests complete, but the device's clock stands still, and only its time would end the run.
    #[error(
        "the device takes no time: requests complete and its clock stands still, so that the time of the run never passes; \
         run a number of requests, or give the device times"
    )]
    TimeStands,
    /// Requests are in flight, but none completes and the device's clock stands still.
    #[error("the device no longer answers: {in_flight} requests are in flight and none completes")]
    Stalled {
        /// Requests that never completed.
        in_flight: u64,
    },
}

/// Formats an access for refusals and failures: `read of 4 KiB at offset 1537 KiB`; a flush has no offset.
pub(crate) fn access_words(access: &Access) -> String {
    match access.length_bytes {
        0 => access.operation.to_string(),
        length => {
            let (length, offset) = (exact_bytes(length), exact_bytes(access.offset_bytes));
            format!("{} of {length} at offset {offset}", access.operation)
        }
    }
}
