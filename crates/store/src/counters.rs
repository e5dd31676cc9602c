//! Counts of a store since it was opened: what users wrote and read, and what the devices did for it.

/// Bytes and events since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Writes that completed.
    pub writes: u64,
    /// Bytes of keys and values that were written.
    pub user_bytes_written: u64,
    /// Gets that completed.
    pub gets: u64,
    /// Reads of groups for gets.
    pub get_reads: u64,
    /// Groups that gets found in the cache.
    pub get_reads_cached: u64,
    /// Bytes of values that gets and scans returned.
    pub user_bytes_read: u64,
    /// Bytes written to the log.
    pub log_bytes_written: u64,
    /// Bytes of blocks written with containers.
    pub flush_bytes_written: u64,
    /// Bytes of blocks written with pieces.
    pub piece_bytes_written: u64,
    /// Bytes that merges read.
    pub merge_bytes_read: u64,
    /// Bytes of blocks that merges wrote.
    pub merge_bytes_written: u64,
    /// Merges that completed.
    pub merges: u64,
    /// Those of them that were parts, as free blocks were too few for the whole.
    pub merge_parts: u64,
    /// Patches written from containers.
    pub flushes: u64,
}

impl Counters {
    /// Bytes written to the devices for each byte that users wrote.
    pub fn write_amplification(&self) -> f64 {
        let written = self.log_bytes_written + self.flush_bytes_written + self.piece_bytes_written;
        (written + self.merge_bytes_written) as f64 / self.user_bytes_written.max(1) as f64
    }

    /// Returns what was counted since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            writes: self.writes - before.writes,
            user_bytes_written: self.user_bytes_written - before.user_bytes_written,
            gets: self.gets - before.gets,
            get_reads: self.get_reads - before.get_reads,
            get_reads_cached: self.get_reads_cached - before.get_reads_cached,
            user_bytes_read: self.user_bytes_read - before.user_bytes_read,
            log_bytes_written: self.log_bytes_written - before.log_bytes_written,
            flush_bytes_written: self.flush_bytes_written - before.flush_bytes_written,
            piece_bytes_written: self.piece_bytes_written - before.piece_bytes_written,
            merge_bytes_read: self.merge_bytes_read - before.merge_bytes_read,
            merge_bytes_written: self.merge_bytes_written - before.merge_bytes_written,
            merges: self.merges - before.merges,
            merge_parts: self.merge_parts - before.merge_parts,
            flushes: self.flushes - before.flushes,
        }
    }

    /// Reads of the device for each get.
    pub fn reads_per_get(&self) -> f64 {
        self.get_reads as f64 / self.gets.max(1) as f64
    }
}
