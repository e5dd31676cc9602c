//! The numbers of I/Os that accesses took.

/// Accesses by the number of I/Os that each took: 1, 2, or more (he14, table 3).
#[derive(Clone, Copy, Debug, Default)]
pub struct ByIos([u64; 3]);

impl ByIos {
    /// Counts an access that took `ios` I/Os.
    pub fn count(&mut self, ios: u32) {
        self.0[ios.clamp(1, 3) as usize - 1] += 1;
    }

    /// Returns the counts of reads and writes, under the names that results have.
    pub fn list(reads: Self, writes: Self) -> [(&'static str, u64); 6] {
        [
            ("reads_of_one_copy", reads.0[0]),
            ("reads_of_two_copies", reads.0[1]),
            ("reads_of_more_copies", reads.0[2]),
            ("writes_of_one_copy", writes.0[0]),
            ("writes_of_two_copies", writes.0[1]),
            ("writes_of_more_copies", writes.0[2]),
        ]
    }
}
