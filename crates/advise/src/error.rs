//! Why a device cannot be measured.

use flashlane_base::units::format_bytes;
use flashlane_measure::MeasureError;

/// Why no cost model was measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AdviseError {
    /// The device has too few pages for a band.
    #[error(
        "the device has {}, and a cost model needs at least {}",
        format_bytes(*capacity_bytes), format_bytes(*least_bytes)
    )]
    TooSmall {
        /// Capacity of the device in bytes.
        capacity_bytes: u64,
        /// The least capacity in bytes.
        least_bytes: u64,
    },
    /// The device's unit of reads does not divide the page.
    #[error("pages of {} are no multiple of the device's unit of reads, {}", format_bytes(*page_bytes), format_bytes(*unit_bytes))]
    PageUnfit {
        /// Bytes of a page.
        page_bytes: u64,
        /// The device's unit of reads in bytes.
        unit_bytes: u64,
    },
    /// A read was refused or failed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// It was stopped.
    #[error("stopped before the cost model was complete")]
    Stopped,
}
