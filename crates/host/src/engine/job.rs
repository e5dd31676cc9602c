//! What an engine is given, and what it gives back.

use flashlane_base::Instant;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Read,
    Write {
        durable: bool,
    },
    /// fdatasync.
    Flush,
    /// Punch a hole, or discard on a block device.
    Trim,
    /// Set the write pointer of a zone back to its start.
    Reset,
    /// Complete, and change nothing.
    Nothing,
}

/// A unit of work for an engine.
///
/// Requires: `memory` is valid for `length_bytes` and left alone until the job's result is back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Comes back with the result.
    pub slot: u32,
    pub work: Work,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub memory: *mut u8,
    /// The memory's index in the engine's table of registered memory.
    pub registered: Option<u16>,
}

/// The end of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub slot: u32,
    /// Bytes transferred, or a negated error number: as the kernel gives it.
    pub result: i64,
    pub at: Instant,
}
