//! The SLC cache: blocks of each plane that are written with one bit a cell, so that they program fast and hold one
//! page of several; what is still valid of them is *folded* into other blocks later.
//!
//! The way of a block through the cache:
//!
//! ```text
//! free ─> open ─> closed, oldest first ─> folded: its valid units move to the block for moved units, it is erased ─> free
//! ```
//!
//! A block of the cache is numbered like any other: its units are the first of the block's, and its erases count. The
//! host writes to the cache of the unit's plane while that has room, and otherwise past it to the host's open block, or
//! as the oldest blocks are folded.
//!
//! Invariants: a block is marked from its opening to its erase; while open or closed it counts as not closed for
//! cleaning policies, which never choose it; a plane's free blocks of which no more than `kept_blocks` less the marked
//! ones are left are not used for other data, as far as GC can help it.

use super::pacing::{KEPT_BLOCKS, VictimProgress};
use super::{GcWork, PageMapped, Placed};
use crate::config::{DriveConfig, Fold, SlcConfig, WhenFull};
use crate::ftl::erase_blocks::OpenBlock;
use crate::ids::{BlockId, Lpn, PlaneId, Ppn};
use crate::nand::{Geometry, PageType};
use std::collections::VecDeque;

/// The cache of a drive.
pub(super) struct SlcCache {
    /// Mapping units of a block of the cache.
    block_units: u32,
    /// Blocks of a plane that are kept for the cache.
    kept_blocks: u32,
    /// The share of erased blocks that it may take beyond them, and those that it leaves.
    share: f64,
    left_blocks: u32,
    /// Erased blocks that paced GC gains as the host writes.
    collected_blocks: u32,
    fold: Fold,
    when_full: WhenFull,
    /// By block, whether it is in the cache.
    marked: Vec<bool>,
    planes: Vec<PlaneSlc>,
    /// Units of the host's that were placed in the cache, and units that were moved off it.
    written_units: u64,
    folded_units: u64,
}

/// The cache of a plane.
struct PlaneSlc {
    open: OpenBlock,
    /// Oldest first, by their numbers on the plane.
    closed: VecDeque<u32>,
    marked: u32,
}

impl SlcCache {
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let slc: &SlcConfig = config.slc.as_ref()?;
        let array = config.array_size();
        // Of all blocks that go together.
        let block_units = slc.block_units(&array) * geometry.joined_planes;
        let none = || PlaneSlc {
            open: OpenBlock { block: OpenBlock::NO_BLOCK, written: block_units },
            closed: VecDeque::new(),
            marked: 0,
        };
        Some(Self {
            block_units,
            kept_blocks: slc.kept_blocks(&array),
            share: slc.free_blocks.0,
            // More than those at which GC begins.
            left_blocks: (geometry.low_watermark_blocks + 2).max(KEPT_BLOCKS as u32 + 4),
            collected_blocks: geometry.low_watermark_blocks.max(KEPT_BLOCKS as u32 + 2),
            fold: slc.fold,
            when_full: slc.when_full,
            marked: vec![false; geometry.planes as usize * geometry.blocks_per_plane as usize],
            planes: (0..geometry.planes).map(|_| none()).collect(),
            written_units: 0,
            folded_units: 0,
        })
    }

    /// Units of a block of the cache.
    pub(super) fn block_units(&self) -> u32 {
        self.block_units
    }

    /// The counters, under the names that results have.
    pub(super) fn counters(&self) -> [(&'static str, u64); 2] {
        [("slc_pages_written", self.written_units), ("slc_pages_folded", self.folded_units)]
    }

    /// Whether a plane with this number of erased blocks may open another block of the cache.
    fn may_open(&self, plane: PlaneId, free: u32) -> bool {
        let marked = self.planes[plane.index()].marked;
        if marked < self.kept_blocks {
            return free > KEPT_BLOCKS as u32;
        }
        free > self.left_blocks && self.is_in_share(marked, free)
    }

    /// Whether a plane with this number of erased blocks may open another block in place of those that were folded.
    fn may_reopen(&self, plane: PlaneId, free: u32) -> bool {
        let marked = self.planes[plane.index()].marked;
        if marked < self.kept_blocks {
            return free > KEPT_BLOCKS as u32;
        }
        // Direct writes have taken what the share leaves.
        let in_share = self.when_full == WhenFull::DirectThenFold && self.share > 0.0;
        free >= self.collected_blocks && (in_share || self.is_in_share(marked, free))
    }

    /// Whether a plane with this number of blocks in the cache, and of erased ones, may have another beyond those that
    /// are kept.
    fn is_in_share(&self, marked: u32, free: u32) -> bool {
        let beyond = marked - self.kept_blocks;
        f64::from(beyond) < self.share * f64::from(free + beyond)
    }

    /// Whether a write for which the cache of a plane has no room waits until a block is folded.
    fn folds_for_writes(&self, free: u32) -> bool {
        match self.when_full {
            WhenFull::Direct => false,
            WhenFull::Fold => true,
            WhenFull::DirectThenFold => free <= self.left_blocks,
        }
    }

    /// Erased blocks of a plane that are kept for the cache.
    fn reserved(&self, plane: PlaneId) -> u32 {
        self.kept_blocks.saturating_sub(self.planes[plane.index()].marked)
    }
}

impl PageMapped {
    /// Writes mapping unit `lpn` to the cache of `plane`; `None` where it has no room.
    #[inline(never)]
    pub(super) fn place_in_slc(&mut self, plane: PlaneId, lpn: Lpn, due: &mut Vec<GcWork>) -> Option<Placed> {
        let ppn = self.next_slc_unit(plane, due)?;
        // GC may have changed the old place: look it up only now.
        self.invalidate(lpn);
        self.map_unit(lpn, ppn, plane);
        self.counters.host_units += 1;
        if let Some(slc) = &mut self.slc {
            slc.written_units += 1;
        }
        if self.pacer.is_some() {
            self.pace_slc(plane, due);
        }
        let placed = Placed { page_type: PageType::OF_SECTION, ..self.placed(plane, ppn, false) };
        Some(self.cells.as_ref().map_or(placed, |cells| cells.described_slc(ppn, placed)))
    }

    fn next_slc_unit(&mut self, plane: PlaneId, due: &mut Vec<GcWork>) -> Option<Ppn> {
        let slc = self.slc.as_mut().expect("asked only where there is a cache");
        if slc.planes[plane.index()].open.written >= slc.block_units {
            self.close_slc_block(plane);
            if self.pacer.is_none() && self.folds_at_once(plane) {
                self.collect(plane, Source::Slc, due);
            }
            self.open_slc_block(plane, SlcCache::may_open).or_else(|| self.reopen_slc(plane, due))?;
        }
        let slc = self.slc.as_mut().expect("as above");
        let open = &mut slc.planes[plane.index()].open;
        let block = plane.0 * self.geometry.blocks_per_plane + open.block.0;
        let ppn = Ppn(block * self.geometry.block_units + open.written);
        open.written += 1;
        debug_assert!(slc.marked[block as usize], "the open block is in the cache");
        Some(ppn)
    }

    fn close_slc_block(&mut self, plane: PlaneId) {
        let slc = self.slc.as_mut().expect("only a cache has such blocks");
        let units = slc.block_units;
        let cache = &mut slc.planes[plane.index()];
        if cache.open.block != OpenBlock::NO_BLOCK {
            cache.closed.push_back(cache.open.block.0);
            cache.open = OpenBlock { block: OpenBlock::NO_BLOCK, written: units };
        }
    }

    /// Opens a block of the cache in place of the oldest ones, which are folded first: the write waits for that.
    fn reopen_slc(&mut self, plane: PlaneId, due: &mut Vec<GcWork>) -> Option<()> {
        let free = |ftl: &Self| ftl.planes[plane.index()].free.len() as u32;
        let slc = self.slc.as_ref().expect("as above");
        if !slc.folds_for_writes(free(self)) {
            return None;
        }
        let before = due.len();
        let opened = loop {
            let opened = self.open_slc_block(plane, SlcCache::may_reopen);
            if opened.is_some() {
                break opened;
            }
            let folded = match self.pacer.is_some() {
                true => self.finish_victim(plane, Source::Slc, due) == VictimProgress::Erased,
                false => self.collect(plane, Source::Slc, due),
            };
            if !folded {
                break None;
            }
        };
        due[before..].iter_mut().for_each(|gc| gc.precedes_write = true);
        opened
    }

    fn open_slc_block(&mut self, plane: PlaneId, may: fn(&SlcCache, PlaneId, u32) -> bool) -> Option<()> {
        let slc = self.slc.as_ref().expect("as above");
        if !may(slc, plane, self.planes[plane.index()].free.len() as u32) {
            return None;
        }
        let block = self.take_free(plane)?;
        self.free_units[plane.index()] -= self.geometry.data_units;
        let number = self.index_of(plane, block);
        let slc = self.slc.as_mut().expect("as above");
        debug_assert!(!slc.marked[number], "an erased block is not in the cache");
        slc.marked[number] = true;
        let cache = &mut slc.planes[plane.index()];
        cache.marked += 1;
        cache.open = OpenBlock { block, written: 0 };
        Some(())
    }

    /// Leaves empty what is left of the flash page that the next unit of the cache on each plane would go to.
    pub(super) fn close_open_slc_pages(&mut self) {
        let Some(slc) = &mut self.slc else { return };
        let one_shot = self.cells.as_ref().filter(|cells| cells.word_line_units().is_some());
        let page_units = one_shot.map_or(self.geometry.units_per_page, |cells| cells.page_units());
        for cache in &mut slc.planes {
            self.counters.left_empty_units += u64::from(cache.open.close_page(page_units, slc.block_units));
        }
    }

    /// Whether the block with this index is in the cache.
    #[inline]
    pub(super) fn is_slc_block(&self, block: usize) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.marked[block])
    }

    /// After a block of a plane was erased.
    #[inline]
    pub(super) fn leave_slc(&mut self, plane: PlaneId, block: usize) {
        if let Some(slc) = &mut self.slc
            && std::mem::take(&mut slc.marked[block])
        {
            slc.planes[plane.index()].marked -= 1;
        }
    }

    /// Erased blocks of a plane that other data may have.
    #[inline]
    pub(super) fn free_blocks(&self, plane: PlaneId) -> u32 {
        let free = self.planes[plane.index()].free.len() as u32;
        let reserved = self.slc.as_ref().map_or(self.blocks_kept_for_slc, |slc| slc.reserved(plane));
        free.saturating_sub(reserved)
    }

    /// The type of the pages off which GC moves the units of a block, by its index.
    pub(super) fn type_of_moves(&self, block: usize) -> PageType {
        if self.is_slc_block(block) { PageType::OF_SECTION } else { PageType::MEAN }
    }

    /// Counts units that GC has moved off pages of this type, where it is that of the cache.
    pub(super) fn count_folded(&mut self, moved_from: PageType, moves: u32) {
        if let Some(slc) = &mut self.slc
            && moved_from == PageType::OF_SECTION
        {
            slc.folded_units += u64::from(moves);
        }
    }

    /// Takes the cache away while a drive is prepared, since data written long ago are not in it; the room for it is
    /// kept.
    pub(super) fn take_slc(&mut self) -> Option<Box<SlcCache>> {
        self.blocks_kept_for_slc = self.slc.as_ref().map_or(0, |slc| slc.kept_blocks);
        self.slc.take()
    }

    /// Gives a prepared drive its cache.
    pub(super) fn put_slc(&mut self, slc: Option<Box<SlcCache>>) {
        self.blocks_kept_for_slc = 0;
        self.slc = slc;
    }

    /// Whether the oldest block of a plane's cache is to be folded beside the host's writes.
    pub(super) fn folds_at_once(&self, plane: PlaneId) -> bool {
        self.slc
            .as_ref()
            .is_some_and(|slc| slc.fold == Fold::AtOnce && !slc.planes[plane.index()].closed.is_empty())
    }

    /// Whether idle planes fold their caches.
    pub(super) fn has_idle_folding(&self) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.fold.is_when_idle())
    }

    /// The oldest block of a plane's cache, where GC for `source` empties it next: from now on it counts as closed.
    pub(super) fn next_slc_victim(&mut self, plane: PlaneId, source: Source) -> Option<BlockId> {
        let slc = self.slc.as_mut()?;
        let cache = &mut slc.planes[plane.index()];
        // Folding what is kept for the cache gives other data no block.
        let gives_room = cache.marked > slc.kept_blocks;
        if source == Source::Any && !gives_room {
            return None;
        }
        let block = BlockId(cache.closed.pop_front()?);
        let number = self.index_of(plane, block);
        self.blocks.release(number);
        Some(block)
    }

    /// Takes back [`PageMapped::next_victim`], where the plane lacks room to empty the block: one of the cache is its
    /// oldest again, others stay closed.
    pub(super) fn return_victim(&mut self, plane: PlaneId, block: BlockId) {
        let number = self.index_of(plane, block);
        if self.is_slc_block(number) {
            self.blocks.hold(number);
            let slc = self.slc.as_mut().expect("the block is in it");
            slc.planes[plane.index()].closed.push_front(block.0);
        }
    }
}

/// What GC of a plane is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Room for data: a block of the cache where that gives room, or the one that the policy chooses.
    Any,
    /// The cache: its oldest block.
    Slc,
}

#[cfg(test)]
mod tests;
