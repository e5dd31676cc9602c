//! What replication counts.

use flashlane_base::Duration;
use flashlane_replication::ByIos;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplicationCounts {
    /// Reads and writes by the number of flash operations that they took.
    pub(super) reads: ByIos,
    pub(super) writes: ByIos,
    /// Reads that a copy completed.
    pub(super) reads_by_copies: u64,
    /// Writes that a copy completed.
    pub(super) writes_by_copies: u64,
    /// Copies written for blocked writes, and for blocked reads.
    pub(super) for_writes: u64,
    pub(super) for_reads: u64,
    /// Copies not written, because their write had completed, their die's queue was full or there was no room.
    pub(super) dropped: u64,
    /// Copies that gave up their place to others.
    pub(super) evicted: u64,
    /// Time that copies were being written while other accesses waited for their die.
    pub(super) interference: Duration,
}

impl ReplicationCounts {
    /// The counters, under the names that results have. `expected` is the estimate of extra writes.
    pub(super) fn list(&self, expected: f64) -> impl Iterator<Item = (&'static str, u64)> {
        let further = [
            ("reads_answered_by_copies", self.reads_by_copies),
            ("writes_answered_by_copies", self.writes_by_copies),
            ("copies_written", self.for_writes + self.for_reads),
            ("copies_written_for_reads", self.for_reads),
            ("copies_expected", expected.round() as u64),
            ("copies_dropped", self.dropped),
            ("copies_evicted", self.evicted),
            ("copies_interference_ns", self.interference.as_ns()),
        ];
        ByIos::list(self.reads, self.writes).into_iter().chain(further)
    }
}
