//! One request of a trace, whatever format it came from.

use flashlane_base::{Duration, Instant, Operation};

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was issued, on the trace's own clock: only differences mean something.
    pub at: Instant,
    /// How long it took when it was recorded, where the format says.
    pub took: Option<Duration>,
    /// Which of the trace's devices it went to, counted or named by number as the format has it.
    pub device: u32,
    /// What it did.
    pub operation: Operation,
    /// The first byte …
    pub offset_bytes: u64,
    /// … and how many bytes; 0 for a flush only.
    pub length_bytes: u64,
    /// Writes only: on flash before it completed (force unit access).
    pub durable: bool,
}
