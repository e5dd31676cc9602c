//! What the layer counts.

use flashlane_base::Duration;

/// Accesses by the number of I/Os that each took; the last counts all larger ones (he14, table 3).
pub(super) type ByIos = [u64; 3];

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
        let (reads, writes) = (self.reads, self.writes);
        vec![
            ("reads_of_one_copy", reads[0]),
            ("reads_of_two_copies", reads[1]),
            ("reads_of_more_copies", reads[2]),
            ("writes_of_one_copy", writes[0]),
            ("writes_of_two_copies", writes[1]),
            ("writes_of_more_copies", writes[2]),
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
        ]
    }
}

/// Counts an access that took `ios` I/Os.
pub(super) fn count_access(by_ios: &mut ByIos, ios: u32) {
    by_ios[(ios.clamp(1, 3) - 1) as usize] += 1;
}
