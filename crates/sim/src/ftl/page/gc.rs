//! Garbage collection of a plane, in the tables: opens, closes, empties and erases blocks.
//!
//! ```text
//! place_on ─> open_next_block, where the host's open block is full:
//!             collect_to_low_watermark, only where no block would be left; this GC precedes the write
//!          ─> after the write: pace, where GC is paced; collect_to_low_watermark, where a block was opened
//! collect_to_low_watermark ─> collect ─> choose, empty_and_erase: move_unit, erase, report_gc
//! ```
//!
//! `drive::translation` turns each [`GcWork`] into flash operations, which take the time; a power cut loses that time,
//! not the result.

use super::pacing::{KEPT_BLOCKS, VictimProgress};
use super::slc::Source;
use super::{GcWork, PageMapped, Superblocks};
use crate::ftl::erase_blocks::OpenBlock;
use crate::ftl::map::Map;
use crate::ids::{BlockId, FlashPage, Lpn, PlaneId, Ppn};
use std::ops::Range;

/// The number of the open block of a plane that takes units of the host; the next one, if any, takes units that GC
/// moves.
pub(super) const HOST_STREAM: usize = 0;
/// The number of the one that takes translation pages.
pub(super) const TRANSLATION_STREAM: usize = 2;

/// Counts the flash pages of units that are moved in the order in which they lie in their block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PagesRead {
    count: u32,
    last: Option<FlashPage>,
}

impl PagesRead {
    #[inline]
    pub(super) fn add(&mut self, page: FlashPage) {
        self.count += u32::from(self.last.replace(page) != Some(page));
    }

    pub(super) fn count(self) -> u32 {
        self.count
    }
}

impl PageMapped {
    /// Whether the host's open block on `plane` is full.
    #[inline]
    pub(super) fn is_full(&self, plane: PlaneId) -> bool {
        self.planes[plane.index()].open[HOST_STREAM].written >= self.geometry.data_units
    }

    /// Opens the next block of a stream. GC goes first only where no free block would be left for units that it moves.
    #[cold]
    pub(super) fn open_next_block(
        &mut self,
        plane: PlaneId,
        stream: usize,
        due: &mut Vec<GcWork>,
    ) -> Option<()> {
        self.close(plane, stream);
        // The host shares its last block with moved units, where those have none of their own.
        let shares_block = stream == HOST_STREAM && self.moved_stream == HOST_STREAM;
        let kept = if self.pacer.is_some() { KEPT_BLOCKS } else { usize::from(!shares_block) };
        if self.free_blocks(plane) as usize <= kept {
            let before = due.len();
            self.collect_to_low_watermark(plane, due);
            due[before..].iter_mut().for_each(|gc| gc.precedes_write = true);
            // Units moved by GC may have opened a block that the host shares and that still has room.
            if self.planes[plane.index()].open[stream].written < self.geometry.data_units {
                return Some(());
            }
            self.close(plane, stream);
            if stream == TRANSLATION_STREAM && self.free_blocks(plane) as usize <= kept {
                return None;
            }
        }
        self.open(plane, stream)
    }

    /// Runs GC on the plane until it has more than the least number of free blocks, as far as there is anything to
    /// gain. Where GC is paced the least is the kept block: steps after the host's writes do the rest.
    pub(super) fn collect_to_low_watermark(&mut self, plane: PlaneId, due: &mut Vec<GcWork>) {
        let paced = self.pacer.is_some();
        let least = if paced { KEPT_BLOCKS as u32 } else { self.geometry.low_watermark_blocks };
        while self.free_blocks(plane) <= least {
            let gained = match paced {
                true => self.finish_victim(plane, Source::Any, due) == VictimProgress::Erased,
                false => self.collect(plane, Source::Any, due),
            };
            if !gained {
                break;
            }
        }
    }

    /// The block that the cleaning policy chooses, if there is a unit to gain in any.
    pub(super) fn choose(&mut self, plane: PlaneId) -> Option<BlockId> {
        let blocks = self.blocks_of(plane);
        let view = self.blocks.view(blocks, self.planes[plane.index()].closed, self.geometry.data_units);
        let victim = self.gc_policy.choose(view)?;
        assert!(view.is_closed(victim), "the cleaning policy chose block {victim}, which is not closed");
        Some(BlockId(victim as u32))
    }

    /// The block of a plane that GC empties next, from `source`.
    pub(super) fn next_victim(&mut self, plane: PlaneId, source: Source) -> Option<BlockId> {
        let in_slc = self.next_slc_victim(plane, source);
        if in_slc.is_some() || source == Source::Slc { in_slc } else { self.choose(plane) }
    }

    /// Empties and erases one block of the plane. Returns false where none can be gained.
    pub(super) fn collect(&mut self, plane: PlaneId, source: Source, due: &mut Vec<GcWork>) -> bool {
        let Some(victim) = self.next_victim(plane, source) else { return false };
        if !self.empty_and_erase(plane, victim, due) {
            self.return_victim(plane, victim);
            return false;
        }
        if let Some(cold) = self.cold_block(plane, victim)
            && self.empty_and_erase(plane, cold, due)
        {
            self.counters.leveled_blocks += u64::from(self.blocks_as_one());
        }
        true
    }

    /// The block whose data wear leveling has moved after `erased` was erased, if any.
    pub(super) fn cold_block(&self, plane: PlaneId, erased: BlockId) -> Option<BlockId> {
        let blocks = self.blocks_of(plane);
        let erases = self.blocks.erases(blocks.clone());
        let closed = |block: usize| self.blocks.is_closed(blocks.start + block);
        let cold = self.wear.migrate(erased.index(), erases, &closed)?;
        assert!(closed(cold), "the wear leveling policy chose block {cold}, which holds no data");
        Some(BlockId(cold as u32))
    }

    pub(crate) fn has_idle_gc(&self) -> bool {
        self.high_watermark_blocks > self.geometry.low_watermark_blocks || self.has_idle_folding()
    }

    /// Empties and erases one block of an idle plane that is short of free ones, if one can be gained; otherwise folds
    /// one where `folds` and the cache is folded at rest.
    pub(crate) fn collect_idle(&mut self, plane: PlaneId, folds: bool, due: &mut Vec<GcWork>) {
        let is_short = self.free_blocks(plane) < self.high_watermark_blocks;
        let source = match () {
            () if is_short => Source::Any,
            () if folds && self.has_idle_folding() => Source::Slc,
            () => return,
        };
        if self.pacer.is_some() {
            self.pace_in_background(plane, source, due);
        } else {
            self.collect(plane, source, due);
        }
    }

    /// Moves the valid units off a closed block and erases it. Returns false, with nothing changed, where the plane
    /// lacks room to move to.
    fn empty_and_erase(&mut self, plane: PlaneId, block: BlockId, due: &mut Vec<GcWork>) -> bool {
        let number = self.index_of(plane, block);
        let moves = self.blocks.valid_units(number);
        let moved_from = self.type_of_moves(number);
        self.switch_moved(plane, block);
        let open = self.planes[plane.index()].open[self.moved_stream];
        let left = self.geometry.data_units - open.written;
        if moves > left && self.planes[plane.index()].free.is_empty() {
            return false;
        }
        self.enter_prepared(plane, block);
        let summaries = u32::from(left > 0 && moves >= left);
        let first = number as u32 * self.geometry.block_units;
        let units = (first..first + self.geometry.data_units).map(Ppn);
        // The map's entries lie all over memory: fetch them all before the first is needed.
        for ppn in units.clone() {
            self.map.prefetch(self.reverse.get(ppn, plane).unwrap_or(Map::NO_ENTRY));
        }
        let mut pages_read = PagesRead::default();
        for ppn in units {
            if let Some(lpn) = self.reverse.get(ppn, plane) {
                self.move_unit(plane, lpn, ppn);
                pages_read.add(self.flash_page(ppn));
            }
        }
        self.counters.collected_units += u64::from(self.units_of(number));
        self.erase(plane, block);
        self.counters.moved_units += u64::from(moves);
        self.count_folded(moved_from, moves);
        let pages_read = pages_read.count();
        let gc = GcWork { moves, pages_read, summaries, moved_from, erases: 1, ..GcWork::nothing(plane) };
        self.report_gc(gc, due);
        true
    }

    /// Appends the work of a plane to `due`.
    pub(super) fn report_gc(&mut self, gc: GcWork, due: &mut Vec<GcWork>) {
        match &mut self.superblocks {
            None => due.push(gc),
            Some(superblocks) => superblocks.spread(gc, due),
        }
    }

    /// Blocks of flash that count as one here.
    pub(super) fn blocks_as_one(&self) -> u32 {
        self.superblocks.as_ref().map_or(1, Superblocks::blocks)
    }

    /// The open block of a plane to which GC moves a unit.
    #[inline]
    pub(super) fn stream_of_move(&self, plane: PlaneId, lpn: Lpn) -> usize {
        match &self.translation_pages {
            Some(translation) if translation.has(lpn) && self.has_room_for_page(plane) => TRANSLATION_STREAM,
            _ => self.moved_stream,
        }
    }

    /// Inlined by force, since GC moves several units for each that the host writes.
    #[inline(always)]
    pub(super) fn move_unit(&mut self, plane: PlaneId, lpn: Lpn, from: Ppn) {
        let stream = self.stream_of_move(plane, lpn);
        if self.planes[plane.index()].open[stream].written >= self.geometry.data_units {
            self.close(plane, stream);
            self.open(plane, stream).expect("a free block was there when the move began");
        }
        let to = self.next_unit(plane, stream);
        let number = self.number_in_block(to);
        if let Some(superblocks) = &mut self.superblocks {
            self.counters.parity_units += u64::from(superblocks.moved_to(number));
        }
        if let Some(translation) = &mut self.translation_pages {
            self.counters.moved_translation_pages += u64::from(translation.note_move(lpn));
        }
        self.mark_stale(from, plane);
        self.map_unit(lpn, to, plane);
    }

    /// The next physical number of an open block that is not full.
    #[inline]
    pub(super) fn next_unit(&mut self, plane: PlaneId, stream: usize) -> Ppn {
        let open = &mut self.planes[plane.index()].open[stream];
        debug_assert!(open.written < self.geometry.data_units, "the open block is full");
        let block = plane.0 * self.geometry.blocks_per_plane + open.block.0;
        let ppn = Ppn(block * self.geometry.block_units + open.written);
        open.written += 1;
        self.free_units[plane.index()] -= u32::from(stream == HOST_STREAM);
        ppn
    }

    /// Closes a full open block, which GC may choose from now on.
    pub(super) fn close(&mut self, plane: PlaneId, stream: usize) {
        let state = &mut self.planes[plane.index()];
        let block = state.open[stream].block;
        if block == OpenBlock::NO_BLOCK {
            return;
        }
        state.open[stream] = OpenBlock { block: OpenBlock::NO_BLOCK, written: self.geometry.data_units };
        state.closed += 1;
        let closed_at = state.closed;
        let number = self.index_of(plane, block);
        self.blocks.close(number, closed_at);
    }

    /// Opens the free block that wear leveling chooses.
    pub(super) fn open(&mut self, plane: PlaneId, stream: usize) -> Option<()> {
        let block = self.take_free(plane)?;
        self.planes[plane.index()].open[stream] = OpenBlock { block, written: 0 };
        self.opened(plane, stream, block);
        // The host's units change from a free block to an open one; those of another stream are lost to it.
        if stream != HOST_STREAM {
            self.free_units[plane.index()] -= self.geometry.data_units;
        }
        Some(())
    }

    /// Takes the free block that wear leveling chooses.
    pub(super) fn take_free(&mut self, plane: PlaneId) -> Option<BlockId> {
        let blocks = self.blocks_of(plane);
        let state = &mut self.planes[plane.index()];
        if state.free.is_empty() {
            return None;
        }
        let position = self.wear.next_free(state.free.make_contiguous(), self.blocks.erases(blocks));
        Some(BlockId(state.free.remove(position).expect("wear leveling chooses among the free blocks")))
    }

    pub(super) fn erase(&mut self, plane: PlaneId, block: BlockId) {
        let number = self.index_of(plane, block);
        self.leave_slc(plane, number);
        self.counters.erases += u64::from(self.blocks_as_one());
        let (wears_out, blocks) = (self.blocks.erase(number), self.blocks_as_one());
        let state = &mut self.planes[plane.index()];
        if wears_out {
            state.good -= 1;
            self.counters.worn_out_blocks += u64::from(blocks);
        } else {
            state.free.push_back(block.0);
            self.free_units[plane.index()] += self.geometry.data_units;
            let free = self.free_units[plane.index()];
            self.searches[self.per_pool.of(plane.0) as usize].block_erased(plane, free);
        }
    }

    /// Units that a block holds at most, by its index.
    pub(super) fn units_of(&self, block: usize) -> u32 {
        match &self.slc {
            Some(slc) if self.is_slc_block(block) => slc.block_units(),
            _ => self.geometry.data_units,
        }
    }

    /// The index of a block in tables of all blocks.
    #[inline]
    pub(super) fn index_of(&self, plane: PlaneId, block: BlockId) -> usize {
        plane.index() * self.geometry.blocks_per_plane as usize + block.index()
    }

    /// The blocks of a plane in tables of all blocks.
    pub(super) fn blocks_of(&self, plane: PlaneId) -> Range<usize> {
        let first = plane.index() * self.geometry.blocks_per_plane as usize;
        first..first + self.geometry.blocks_per_plane as usize
    }
}
