//! The input and output of an engine.

use flashlane_base::Instant;

/// The operation of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Read,
    Write {
        durable: bool,
    },
    /// fdatasync.
    Flush,
    /// Punches a hole in a file, or discards on a block device.
    Trim,
    /// Resets the write pointer of a zone to its start.
    Reset,
    /// Completes without any effect.
    Nothing,
}

/// A unit of work for an engine.
///
/// The caller guarantees that `memory` is valid for `length_bytes` and unused until the job completes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Returned with the result.
    pub slot: u32,
    pub work: Work,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub memory: *mut u8,
    /// Index in the engine's table of registered memory.
    pub registered: Option<u16>,
}

/// Longest read through the page cache of a file that bypasses it otherwise. The copy of a longer one, as of a merge,
/// takes more than the request, and displaces many short ones.
const CACHED_READ_MAX_BYTES: u64 = 384 << 10;

impl Job {
    /// Returns whether it is a read through the page cache, where only reads are.
    pub(super) fn is_cached_read(&self) -> bool {
        self.work == Work::Read && self.length_bytes <= CACHED_READ_MAX_BYTES
    }
}

/// A completed job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub slot: u32,
    /// Bytes transferred, or a negated error number, as the kernel returns it.
    pub result: i64,
    pub at: Instant,
}
