//! A request of a trace, independent of the format.

use flashlane_base::{Duration, Instant, Operation};

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time of issue on the trace's clock, of which only differences have a meaning.
    pub at: Instant,
    /// Recorded duration, where the format has it.
    pub took: Option<Duration>,
    /// Number of its device in the trace.
    pub device: u32,
    /// Read, write, trim or flush.
    pub operation: Operation,
    /// First byte of the range.
    pub offset_bytes: u64,
    /// Length of the range; 0 for a flush only.
    pub length_bytes: u64,
    /// Writes only: on flash before its completion (force unit access).
    pub durable: bool,
}
