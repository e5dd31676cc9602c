//! What replication counts.

use flashlane_base::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct ReplicationCounts {
    /// Reads and writes by the number of flash operations that they took: 1, 2, or more.
    pub(in crate::drive) reads: [u64; 3],
    pub(in crate::drive) writes: [u64; 3],
    /// Reads that a copy completed.
    pub(in crate::drive) reads_by_copies: u64,
    /// Writes that a copy completed.
    pub(in crate::drive) writes_by_copies: u64,
    /// Copies written for blocked writes, and for blocked reads.
    pub(in crate::drive) for_writes: u64,
    pub(in crate::drive) for_reads: u64,
    /// Copies not written, because their write had completed, their die's queue was full or there was no room.
    pub(in crate::drive) dropped: u64,
    /// Copies that gave up their place to others.
    pub(in crate::drive) evicted: u64,
    /// Time that copies were being written while other accesses waited for their die.
    pub(in crate::drive) interference: Duration,
}
