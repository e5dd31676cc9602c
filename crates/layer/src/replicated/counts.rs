//! What the layer counts.

use flashlane_base::Duration;
use flashlane_replication::ByIos;

/// The counts so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub reads: ByIos,
    pub writes: ByIos,
    /// Copies written because a read, or a write, was blocked (he14, table 4).
    pub extra_by_reads: u64,
    pub extra_by_writes: u64,
    /// The estimate of their number (he14, section 4.2.1).
    pub extra_expected: f64,
    /// Accesses to pages that had a copy.
    pub hits: u64,
    pub evictions: u64,
    /// Accesses that were not done within D.
    pub blocked: u64,
    /// Writes that completed by a copy.
    pub by_copy: u64,
    /// Copies that could not be written.
    pub copies_failed: u64,
    /// Acknowledged writes whose home could not be written.
    pub homes_lost: u64,
    pub interference: Duration,
}

impl Counts {
    /// Returns the counts by name; those that a drive with replication has too have the same names there.
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let further = [
            ("writes_answered_by_copies", self.by_copy),
            ("accesses_of_replicated_pages", self.hits),
            ("accesses_blocked", self.blocked),
            ("copies_written", self.extra_by_writes + self.extra_by_reads),
            ("copies_written_for_reads", self.extra_by_reads),
            ("copies_expected", self.extra_expected.round() as u64),
            ("copies_evicted", self.evictions),
            ("copies_failed", self.copies_failed),
            ("copies_interference_ns", self.interference.as_ns()),
            ("home_writes_lost", self.homes_lost),
        ];
        ByIos::list(self.reads, self.writes).into_iter().chain(further).collect()
    }
}
