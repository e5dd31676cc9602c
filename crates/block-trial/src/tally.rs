//! Counts of what trials did.

/// Counts of what a trial did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power cuts, each followed by an opening and a comparison.
    pub cuts: u64,
    /// Blocks compared byte by byte.
    pub blocks_compared: u64,
    /// Puts that succeeded.
    pub puts: u64,
    /// Gets that succeeded.
    pub gets: u64,
    /// Deletes that succeeded.
    pub deletes: u64,
    /// Operations that failed on a device with faults.
    pub failures: u64,
    /// Times that the layer was closed and opened again, or continued on a copy after a power cut.
    pub restarts: u64,
    /// Units that were damaged.
    pub damaged: u64,
    /// Damaged units that were discarded.
    pub discarded: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.blocks_compared += other.blocks_compared;
        self.puts += other.puts;
        self.gets += other.gets;
        self.deletes += other.deletes;
        self.failures += other.failures;
        self.restarts += other.restarts;
        self.damaged += other.damaged;
        self.discarded += other.discarded;
    }
}
