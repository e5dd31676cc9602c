//! Blocks and planes of a page-mapped drive: valid units, free blocks, wear.

use crate::config::FlashConfig;
use crate::ids::{BlockId, PlaneId};
use crate::nand::{Geometry, endurances, good_blocks};
use flashlane_base::Seed;
use flashlane_policy::cleaning::View;
use std::collections::VecDeque;

/// Blocks that a plane needs beyond those of its data: the free ones at which GC is due, an open one each for the host and for
/// moved units, and those that sections of the configuration take.
pub(super) fn spare_blocks(geometry: &Geometry) -> u32 {
    geometry.low_blocks + 2 + geometry.reserved_blocks + geometry.later_blocks
}

/// The state of every block of the drive, by plane and block.
pub(super) struct EraseBlocks {
    /// Valid units; [`View::NOT_CLOSED`] is added while the block is free, open or bad.
    pub(super) valid: Vec<u16>,
    /// Erase counts.
    pub(super) erases: Vec<u32>,
    /// When the block was closed, in blocks closed on its plane.
    pub(super) closed_at: Vec<u32>,
    /// The erase count at which the block wears out; empty where blocks never do.
    pub(super) limits: Vec<u32>,
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
}

impl PlaneState {
    /// Whether the plane can take another valid unit and GC still gains: every block beyond the free and open ones must have
    /// one unit to gain.
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
    /// Counts an erase of a block; whether it wears out by it.
    #[inline]
    pub(super) fn erase(&mut self, block: usize) -> bool {
        self.erases[block] += 1;
        self.valid[block] = View::NOT_CLOSED;
        self.limits.get(block).is_some_and(|&limit| self.erases[block] >= limit)
    }

    /// The share of its endurance that a block has used, 1 where endurance is unlimited.
    pub(super) fn wear_of(&self, block: usize) -> f64 {
        self.limits.get(block).map_or(1.0, |&limit| f64::from(self.erases[block]) / f64::from(limit))
    }

    /// Least, mean and largest erase count of a block.
    pub(super) fn wear_spread(&self) -> (u32, f64, u32) {
        let sum: u64 = self.erases.iter().map(|&e| u64::from(e)).sum();
        let (least, most) = (self.erases.iter().min(), self.erases.iter().max());
        (*least.unwrap_or(&0), sum as f64 / self.erases.len() as f64, *most.unwrap_or(&0))
    }

    /// All blocks free, but for the factory-bad ones, which are drawn at random.
    pub(super) fn new(geometry: &Geometry, flash: &FlashConfig, seed: Seed) -> (Self, Vec<PlaneState>) {
        let count = geometry.planes as usize * geometry.blocks as usize;
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
            limits: endurances(flash, count, seed),
        };
        (blocks, planes)
    }
}
