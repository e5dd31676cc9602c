//! What the translation layer counts.

use flashlane_device::Counters;

/// The counters of the translation layer, in mapping units and blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlCounters {
    /// Units placed for the host.
    pub host_units: u64,
    /// Units left empty in flash pages that were programmed before they were full.
    pub left_empty_units: u64,
    /// Units moved by GC, merging and wear leveling.
    pub moved_units: u64,
    /// Units of these that paced GC moved while the plane had less free space than it keeps, whole victims included.
    pub units_below_target: u64,
    /// Units of the blocks that GC emptied, moved or stale; of a block that is being emptied, in proportion to the
    /// units moved.
    pub collected_units: u64,
    /// Parity units placed.
    pub parity_units: u64,
    /// Translation pages placed.
    pub translation_pages: u64,
    /// Units of the moved ones that are translation pages.
    pub moved_translation_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks that wore out.
    pub worn_out_blocks: u64,
    /// Blocks moved by static wear leveling.
    pub leveled_blocks: u64,
    /// Log blocks that took their data block's place as they were.
    pub switch_merges: u64,
    /// Log blocks that were completed and took their data block's place.
    pub partial_merges: u64,
    /// Erase units whose mapping units were gathered in a new data block.
    pub full_merges: u64,
}

impl FtlCounters {
    /// Mapping units that programs have written, or left empty.
    pub(crate) fn programmed_units(&self) -> u64 {
        self.host_units
            + self.moved_units
            + self.parity_units
            + self.left_empty_units
            + self.translation_pages
    }

    /// The counters that every drive has, under the names that results have.
    pub(crate) fn list(&self) -> [(&'static str, u64); 9] {
        [
            (Counters::PAGES_MOVED, self.moved_units),
            ("pages_moved_below_target", self.units_below_target),
            (Counters::PARITY_PAGES_PROGRAMMED, self.parity_units),
            ("blocks_erased", self.erases),
            ("switch_merges", self.switch_merges),
            ("partial_merges", self.partial_merges),
            ("full_merges", self.full_merges),
            ("blocks_moved_by_wear_leveling", self.leveled_blocks),
            ("blocks_worn_out", self.worn_out_blocks),
        ]
    }
}
