//! What the translation layer returns: where a mapping unit was placed, and the garbage collection that became due.

use crate::ids::{PlaneId, ProgramGroup};
use crate::nand::PageType;
use std::ops::ControlFlow;

/// GC of a plane that the tables show as done, a whole victim or a step: `moves` units moved within it, then `erases`
/// blocks erased. The drive makes of it operations of flash, [`crate::nand::Gc`] mostly, which take the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcWork {
    /// The plane, or the first of those of its die that are garbage-collected together.
    pub plane: PlaneId,
    /// The number of these.
    pub planes: u32,
    /// Units moved, on each of them.
    pub moves: u32,
    /// Flash pages from which these are read, on each of them: units of one page share a sense.
    pub pages_read: u32,
    /// Blocks that the moved units filled, so that their summaries are written.
    pub summaries: u32,
    /// Blocks erased.
    pub erases: u32,
    /// Whether the unit being placed goes to a block that this GC freed or moved units to, and so has to wait for it.
    pub precedes_write: bool,
    /// The type of the pages that the units are moved off.
    pub moved_from: PageType,
    /// Whether it is a step of paced GC: no more than a flash page on each plane, or an erase.
    pub is_paced_step: bool,
}

impl GcWork {
    /// GC of one plane that moves and erases nothing.
    pub(super) fn nothing(plane: PlaneId) -> Self {
        Self {
            plane,
            planes: 1,
            moves: 0,
            pages_read: 0,
            summaries: 0,
            erases: 0,
            precedes_write: false,
            moved_from: PageType::MEAN,
            is_paced_step: false,
        }
    }
}

/// Where a mapping unit was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// On which plane.
    pub plane: PlaneId,
    /// Whether it filled its block.
    pub fills_block: bool,
    /// The plane that gets a parity unit, where this was the last unit of a row.
    pub parity: Option<PlaneId>,
    /// Whether units that are placed later are programmed along with it.
    pub waits_for_others: bool,
    /// The type of its page.
    pub page_type: PageType,
    /// The pages with which it must be programmed at once; [`ProgramGroup::NONE`] where there are none.
    pub program_group: ProgramGroup,
}

impl Placed {
    /// A place of a plane that is programmed by itself.
    pub(super) fn alone(plane: PlaneId, fills_block: bool) -> Self {
        let (page_type, program_group) = (PageType::MEAN, ProgramGroup::NONE);
        Self { plane, fills_block, parity: None, waits_for_others: false, page_type, program_group }
    }
}

/// Where a replica stays that GC need not move: until its block is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// On which plane.
    pub plane: PlaneId,
    /// The index of its block in tables of all blocks, and how often that was erased.
    pub(super) block: usize,
    pub(super) erases: u32,
}

/// No plane has room for another unit: too many blocks have worn out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The counters of the translation layer.
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
            ("pages_moved_by_cleaning", self.moved_units),
            ("pages_moved_below_target", self.units_below_target),
            ("parity_pages_programmed", self.parity_units),
            ("blocks_erased", self.erases),
            ("switch_merges", self.switch_merges),
            ("partial_merges", self.partial_merges),
            ("full_merges", self.full_merges),
            ("blocks_moved_by_wear_leveling", self.leveled_blocks),
            ("blocks_worn_out", self.worn_out_blocks),
        ]
    }
}

/// Called from time to time during long preparations; says whether to continue.
pub type StopCheck<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// A [`StopCheck`] that never breaks.
pub fn never_stop() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Units prepared from one call of the [`StopCheck`] to the next: some milliseconds.
pub(crate) const UNITS_BETWEEN_STOP_CHECKS: u32 = 1 << 16;
