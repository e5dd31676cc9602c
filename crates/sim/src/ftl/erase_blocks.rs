//! Blocks and planes of a page-mapped drive: valid units, free blocks, wear.
//!
//! A cleaning policy chooses among *closed* blocks only. The way of a block, by its index:
//!
//! ```text
//! free ─> open ─ close ─> closed ─ hold ─> held: GC empties it step by step ─ erase ─> free
//!                         closed ─ erase, once it has no valid unit ─> free
//!                         closed <─ release ─ held
//! ```
//!
//! Blocks of the SLC cache are held all the time but while GC has chosen them. Invariant: all but closed blocks have
//! [`View::NOT_CLOSED`] in their count; each transition asserts the state that it starts from. Block mapping has no
//! cleaning policies: there a block is released once it is taken from the free ones.

use crate::config::FlashConfig;
use crate::ids::{BlockId, PlaneId};
use crate::nand::{Geometry, endurances, good_blocks};
use flashlane_base::Seed;
use flashlane_policy::cleaning::View;
use std::collections::VecDeque;
use std::ops::Range;

/// Blocks that a plane needs beyond those of its data: the free ones at which GC is due, an open one each for the host
/// and for moved units, and those that sections of the configuration take.
pub(super) fn spare_blocks(geometry: &Geometry) -> u32 {
    geometry.low_watermark_blocks + 2 + geometry.reserved_blocks + geometry.later_blocks
}

/// The state of every block of the drive, by plane and block.
pub(super) struct EraseBlocks {
    /// Valid units; [`View::NOT_CLOSED`] is added while the block is free, open or bad.
    valid: Vec<u16>,
    /// Erase counts.
    erases: Vec<u32>,
    /// When the block was closed, in blocks closed on its plane.
    closed_at: Vec<u32>,
    /// The erase count at which the block wears out; empty where blocks never do.
    endurances: Vec<u32>,
}

/// Kinds of units that go to blocks of their own.
pub(super) const STREAMS: usize = 3;

/// A block being filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenBlock {
    pub(super) block: BlockId,
    /// Units written; the number of a block's data units where no block is open.
    pub(super) written: u32,
}

/// The open and free blocks of a plane, and its valid units.
pub(super) struct PlaneState {
    /// The host's open block, the one for moved units where those are separate, and the one for translation pages.
    pub(super) open: [OpenBlock; STREAMS],
    /// Erased blocks, longest free first, by their numbers on the plane, which wear leveling chooses from.
    pub(super) free: VecDeque<u32>,
    /// Valid units on the plane.
    pub(super) valid_units: u32,
    /// Blocks closed so far: the plane's clock.
    pub(super) closed: u32,
    /// Blocks that are not bad.
    pub(super) good: u32,
}

impl OpenBlock {
    pub(super) const NO_BLOCK: BlockId = BlockId(u32::MAX);

    /// Leaves the rest of a page of `page_units` empty that was written in part, in a block of `block_units`. Returns
    /// the units left empty.
    pub(super) fn close_page(&mut self, page_units: u32, block_units: u32) -> u32 {
        let end = self.written.next_multiple_of(page_units).min(block_units);
        end - std::mem::replace(&mut self.written, end)
    }
}

impl PlaneState {
    /// Whether the plane can take another valid unit and GC still gains: every block beyond the free and open ones must
    /// have one unit to gain.
    #[inline]
    pub(super) fn has_room(&self, geometry: &Geometry) -> bool {
        self.valid_units < self.most_valid_units(geometry)
    }

    /// The same for a unit whose place on this plane becomes invalid.
    pub(super) fn has_room_in_place(&self, geometry: &Geometry) -> bool {
        self.valid_units <= self.most_valid_units(geometry)
    }

    /// Units that the host can write before the plane runs out of erased blocks.
    pub(super) fn free_units(&self, geometry: &Geometry) -> u32 {
        let [open, ..] = self.open;
        self.free.len() as u32 * geometry.data_units + geometry.data_units - open.written
    }

    #[inline]
    fn most_valid_units(&self, geometry: &Geometry) -> u32 {
        self.good.saturating_sub(spare_blocks(geometry)) * geometry.data_units
    }
}

impl EraseBlocks {
    /// What a cleaning policy sees of `blocks`, those of one plane, which has closed `now` blocks.
    #[inline]
    pub(super) fn view(&self, blocks: Range<usize>, now: u32, data_units: u32) -> View<'_> {
        View {
            valid: &self.valid[blocks.clone()],
            closed_at: &self.closed_at[blocks],
            now,
            pages: data_units as u16,
        }
    }

    /// The number of blocks of the drive.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.valid.len()
    }

    /// Valid units of a block.
    #[inline]
    pub(super) fn valid_units(&self, block: usize) -> u32 {
        u32::from(self.valid[block] & !View::NOT_CLOSED)
    }

    /// Whether a block holds data, and is neither written to nor held.
    #[inline]
    pub(super) fn is_closed(&self, block: usize) -> bool {
        self.valid[block] < View::NOT_CLOSED
    }

    /// The erase counts of blocks.
    #[inline]
    pub(super) fn erases(&self, blocks: Range<usize>) -> &[u32] {
        &self.erases[blocks]
    }

    /// The number of times that a block was erased.
    #[inline]
    pub(super) fn erases_of(&self, block: usize) -> u32 {
        self.erases[block]
    }

    /// Counts a unit that is now valid.
    #[inline]
    pub(super) fn add_valid(&mut self, block: usize) {
        self.add_valid_units(block, 1);
    }

    /// Counts units that are now valid.
    #[inline]
    pub(super) fn add_valid_units(&mut self, block: usize, units: u32) {
        self.valid[block] += units as u16;
    }

    /// Counts a unit that is valid no longer.
    #[inline]
    pub(super) fn remove_valid(&mut self, block: usize) {
        debug_assert!(self.valid_units(block) > 0, "the block has a valid unit");
        self.valid[block] -= 1;
    }

    /// An open block is full: the `closed_at`-th that its plane closes.
    pub(super) fn close(&mut self, block: usize, closed_at: u32) {
        self.release(block);
        self.closed_at[block] = closed_at;
    }

    /// Closes a free block that a prepared drive has filled, with this number of valid units.
    pub(super) fn close_prepared(&mut self, block: usize, valid_units: u32, closed_at: u32) {
        debug_assert_eq!(self.valid[block], View::NOT_CLOSED, "the block is free");
        self.close(block, closed_at);
        self.valid[block] = valid_units as u16;
    }

    /// Changes the valid units of a closed block while a drive is prepared.
    pub(super) fn set_prepared(&mut self, block: usize, valid_units: u32) {
        debug_assert!(self.is_closed(block), "the block was prepared");
        self.valid[block] = valid_units as u16;
    }

    /// No policy chooses a closed block from now on.
    pub(super) fn hold(&mut self, block: usize) {
        debug_assert!(self.is_closed(block), "only closed blocks are held");
        self.valid[block] += View::NOT_CLOSED;
    }

    /// A block that was held is closed again.
    pub(super) fn release(&mut self, block: usize) {
        debug_assert!(!self.is_closed(block), "the block is closed already");
        self.valid[block] -= View::NOT_CLOSED;
    }

    /// Counts an erase of a block; whether it wears out by it.
    #[inline]
    pub(super) fn erase(&mut self, block: usize) -> bool {
        debug_assert_eq!(self.valid_units(block), 0, "no valid unit is erased");
        self.erases[block] += 1;
        self.valid[block] = View::NOT_CLOSED;
        self.endurances.get(block).is_some_and(|&limit| self.erases[block] >= limit)
    }

    /// Takes the endurances away while a drive is prepared, which must not wear it: blocks last for ever.
    pub(super) fn take_endurances(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.endurances)
    }

    /// No block was erased yet. The endurances are those that were taken away.
    pub(super) fn make_new(&mut self, endurances: Vec<u32>) {
        self.endurances = endurances;
        self.erases.fill(0);
    }

    /// The share of its endurance that a block has used, 1 where endurance is unlimited.
    pub(super) fn wear_of(&self, block: usize) -> f64 {
        self.endurances.get(block).map_or(1.0, |&limit| f64::from(self.erases[block]) / f64::from(limit))
    }

    /// Least, mean and largest erase count of a block.
    pub(super) fn wear_spread(&self) -> (u32, f64, u32) {
        let sum: u64 = self.erases.iter().map(|&e| u64::from(e)).sum();
        let (least, most) = (self.erases.iter().min(), self.erases.iter().max());
        (*least.unwrap_or(&0), sum as f64 / self.erases.len() as f64, *most.unwrap_or(&0))
    }

    /// All blocks free, but for the factory-bad ones, which are drawn at random.
    pub(super) fn new(geometry: &Geometry, flash: &FlashConfig, seed: Seed) -> (Self, Vec<PlaneState>) {
        let count = geometry.planes as usize * geometry.blocks_per_plane as usize;
        let none = OpenBlock { block: OpenBlock::NO_BLOCK, written: geometry.data_units };
        let planes = (0..geometry.planes)
            .map(|plane| {
                let free = good_blocks(geometry, PlaneId(plane), seed);
                let good = free.len() as u32;
                PlaneState { open: [none; STREAMS], free: free.into(), valid_units: 0, closed: 0, good }
            })
            .collect();
        let blocks = Self {
            valid: vec![View::NOT_CLOSED; count],
            erases: vec![0; count],
            closed_at: vec![0; count],
            endurances: endurances(flash, count, seed),
        };
        (blocks, planes)
    }
}
