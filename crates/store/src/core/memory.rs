//! How the memory of a store is divided: buffers of merges, indexes, waiting writes, reads, containers, and the cache
//! of reads, which gets what these leave.

use super::Core;
use flashlane_device::DataDevice;

/// Most bytes of entries up to which a scan reads ahead.
const SCAN_AHEAD_BYTES_MAX: u64 = 4 << 20;

/// The part of their memory that each merge may take. Slices have equal shares, unless they are so many that merges
/// could not do with these; then not all merge at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) bytes: u64,
    /// Outputs that are written at once.
    pub(super) writes: usize,
    /// Bytes of inputs that are held, including reads in flight, where more than the next entries of each run are read.
    pub(super) ahead_bytes: u64,
    /// Patches of a run that are read at once. Read at one speed, `n` of them hold on average half of all but the first
    /// while that one is consumed.
    pub(super) ahead_patches: usize,
}

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Bytes of the output that a merge builds, and of those that it may always write.
    fn least_share_bytes(&self) -> u64 {
        (1 + u64::from(self.options.merge_writes)) * self.shape.block_bytes
    }

    /// Merges that may run at once: their buffers take a quarter of the memory at most.
    pub(super) fn merges_max(&self) -> u64 {
        (self.options.memory_bytes / 4 / self.least_share_bytes()).max(1)
    }

    /// Returns what each merge may take: beside what it always needs, halves for further outputs and for reading ahead.
    pub(super) fn merge_share(&self) -> Share {
        let (block_bytes, least_bytes) = (self.shape.block_bytes, self.least_share_bytes());
        let merges = self.merges_max().min(self.slices.len() as u64);
        let bytes = (self.options.memory_bytes / 4 / merges).max(least_bytes);
        let more_writes = (bytes - least_bytes) / 2 / block_bytes;
        // Two reads for each lane keep all of them busy. What is read further ahead is merged when no cache has it any
        // more.
        let lanes = u64::from(self.blocks.device().info().lanes.max(1));
        let ahead_bytes_max = 2 * lanes * self.options.merge_chunk_bytes;
        let ahead_bytes = (bytes - least_bytes - more_writes * block_bytes).min(ahead_bytes_max);
        let writes = u64::from(self.options.merge_writes) + more_writes;
        let ahead_patches = 1 + (2 * ahead_bytes).div_ceil(block_bytes);
        Share { bytes, writes: writes as usize, ahead_bytes, ahead_patches: ahead_patches as usize }
    }

    /// Bytes of memory that containers leave to scans; those that would take more wait.
    pub(super) fn scan_budget_bytes(&self) -> u64 {
        self.options.memory_bytes / 8
    }

    /// Bytes of entries up to which a scan reads ahead.
    pub(super) fn scan_ahead_bytes(&self) -> u64 {
        SCAN_AHEAD_BYTES_MAX.min(self.scan_budget_bytes() / 4)
    }

    pub(super) fn container_memory_bytes(&self) -> u64 {
        self.slices.iter().map(|slice| slice.container_memory_bytes()).sum()
    }

    /// Bytes of memory that containers may take: what indexes, waiting writes and buffers leave, but two blocks at
    /// least.
    pub(super) fn container_budget_bytes(&self) -> u64 {
        self.container_budget_beside_bytes(self.memory_beside_containers_bytes() + self.left_to_scans_bytes())
    }

    /// Bytes that scans may take and do not: containers give way only as they are written.
    fn left_to_scans_bytes(&self) -> u64 {
        self.scan_budget_bytes().saturating_sub(self.reads.scan_bytes())
    }

    fn container_budget_beside_bytes(&self, others_bytes: u64) -> u64 {
        self.options.memory_bytes.saturating_sub(others_bytes).max(2 * self.shape.block_bytes)
    }

    /// Returns whether containers have memory for a waiting write of `bytes`, which stops to wait then. They have where
    /// they are empty: of a write that was accepted, at most a block enters them.
    pub(super) fn may_enter_containers(&self, bytes: u64) -> bool {
        let others_bytes = self.memory_beside_containers_bytes() - bytes + self.left_to_scans_bytes();
        self.container_memory_bytes() + bytes <= self.container_budget_beside_bytes(others_bytes)
    }

    /// Gives the cache of reads what the others leave of the memory.
    pub(super) fn fit_cache(&mut self) {
        if self.options.cache_reads {
            let gets_bytes = self.reads.memory_bytes() - self.reads.scan_bytes();
            let used = self.memory_beside_containers_bytes() + self.container_memory_bytes() + gets_bytes;
            self.cache.set_capacity(self.options.memory_bytes.saturating_sub(used));
        }
    }

    /// Bytes of memory of indexes, waiting writes, scans and buffers. Gets are beside the bound: a write would wait for
    /// them.
    fn memory_beside_containers_bytes(&self) -> u64 {
        let indexes: u64 = self.slices.iter().map(|slice| slice.levels().memory_bytes()).sum();
        let merges = self.slices.iter().filter(|slice| slice.merge().is_some()).count() as u64;
        let flushes = self.flushes_in_flight() as u64;
        let buffers = merges * self.merge_share().bytes + flushes * self.shape.block_bytes;
        indexes + buffers + self.writes.waiting_bytes() + self.reads.scan_bytes()
    }
}
