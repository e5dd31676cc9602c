//! What the layer counts.

use flashlane_base::Duration;

/// Calls by the number of I/Os that each took; the last counts all larger ones (he14, table 3).
pub(super) type Calls = [u64; 4];

/// The counts so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub reads: Calls,
    pub writes: Calls,
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
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let [read_1, read_2, read_3, read_more] = self.reads;
        let [write_1, write_2, write_3, write_more] = self.writes;
        vec![
            ("rread_1", read_1),
            ("rread_2", read_2),
            ("rread_3", read_3),
            ("rread_more", read_more),
            ("rwrite_1", write_1),
            ("rwrite_2", write_2),
            ("rwrite_3", write_3),
            ("rwrite_more", write_more),
            ("extra_writes_by_reads", self.extra_by_reads),
            ("extra_writes_by_writes", self.extra_by_writes),
            ("extra_writes_expected", self.extra_expected.round() as u64),
            ("replicated_page_hits", self.hits),
            ("replicated_copies_evicted", self.evictions),
            ("replicated_copies_failed", self.copies_failed),
            ("blocked_accesses", self.blocked),
            ("writes_completed_by_copy", self.by_copy),
            ("home_writes_lost", self.homes_lost),
            ("interference_ns", self.interference.as_ns()),
        ]
    }
}

/// Counts a call that took `ios` I/Os.
pub(super) fn count_call(calls: &mut Calls, ios: u32) {
    calls[(ios.clamp(1, 4) - 1) as usize] += 1;
}
