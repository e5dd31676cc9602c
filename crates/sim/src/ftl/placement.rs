//! What the translation layer answers: where a mapping unit was placed, and the garbage collection that became due.

use crate::ids::PlaneId;
use std::ops::ControlFlow;

/// Cleaning that was done on a plane, as a whole or a step of it: `moves` pages moved within it, then `erases` blocks erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcWork {
    /// The plane, or the first of those of its die that are cleaned together.
    pub plane: PlaneId,
    /// How many these are.
    pub planes: u32,
    /// Pages moved, on each of them.
    pub moves: u32,
    /// Blocks that the moved pages filled.
    pub filled: u32,
    /// Blocks erased.
    pub erases: u32,
    /// Whether the page being placed goes to a block that this freed or moved pages to, and so has to wait for it.
    pub first: bool,
    /// Whether it is a step of a paced cleaning: no more than a flash page on each plane, or an erase.
    pub step: bool,
}

impl GcWork {
    /// GC of one plane that moves and erases nothing.
    pub(super) fn nothing(plane: PlaneId) -> Self {
        Self { plane, planes: 1, moves: 0, filled: 0, erases: 0, first: false, step: false }
    }
}

/// Where a mapping unit was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// On which plane.
    pub plane: PlaneId,
    /// Whether it filled its block.
    pub fills_block: bool,
    /// The plane that gets a parity page, where this was the last page of a row.
    pub parity: Option<PlaneId>,
    /// Whether pages that are placed later are to be programmed along with it.
    pub waits_for_group: bool,
}

/// No plane has room for another page: too many blocks have worn out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// What the translation layer counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlCounters {
    /// Pages placed for the host.
    pub host_units: u64,
    /// Pages moved by cleaning, merging and wear leveling.
    pub moved_units: u64,
    /// Parity pages placed.
    pub parity_units: u64,
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
    /// Units whose pages were gathered in a new data block.
    pub full_merges: u64,
}

/// Asked now and then during long preparations whether to go on.
pub type Watch<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// A [`Watch`] that never breaks.
pub fn unwatched() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Pages prepared from one look at the [`Watch`] to the next: some milliseconds.
pub(crate) const UNITS_BETWEEN_STOP_CHECKS: u32 = 1 << 16;
