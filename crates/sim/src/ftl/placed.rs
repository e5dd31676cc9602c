//! What the translation layer returns: where a mapping unit was placed, and the garbage collection that became due.

use crate::ids::{PlaneId, ProgramGroup};
use crate::nand::PageType;

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
