//! Room on a plane: opening, closing, cleaning and erasing blocks.

use super::pacing::{KEPT_BLOCKS, Step};
use super::{Clean, PageMapped, Superblocks};
use crate::ftl::blocks::Open;
use crate::ids::PlaneId;
use flashlane_policy::cleaning::View;
use std::ops::Range;

/// The open block that the host's pages go to.
pub(super) const HOST: usize = 0;

impl PageMapped {
    /// Whether the host's open block on `plane` has no page left.
    #[inline]
    pub(super) fn is_full(&self, plane: u32) -> bool {
        self.planes[plane as usize].open[HOST].written >= self.geometry.data_pages
    }

    /// Opens the host's next block. Only where no free block would be left for pages that cleaning moves is the plane
    /// cleaned first.
    #[cold]
    pub(super) fn make_room(&mut self, plane: u32, cleaned: &mut Vec<Clean>) -> Option<()> {
        self.close(plane, HOST);
        let kept = if self.pacer.is_some() { KEPT_BLOCKS } else { usize::from(self.moved_stream != HOST) };
        if self.planes[plane as usize].free.len() <= kept {
            let before = cleaned.len();
            self.restock(plane, cleaned);
            cleaned[before..].iter_mut().for_each(|clean| clean.first = true);
            // Pages moved by cleaning may have opened a block that the host shares and that still has room.
            if !self.is_full(plane) {
                return Some(());
            }
            self.close(plane, HOST);
        }
        self.open(plane, HOST)
    }

    /// Cleans the plane until it has more than the least number of free blocks, as far as there is anything to gain.
    /// Where cleaning is paced that is the kept one: the rest comes with the pages that the host writes.
    pub(super) fn restock(&mut self, plane: u32, cleaned: &mut Vec<Clean>) {
        let paced = self.pacer.is_some();
        let least = if paced { KEPT_BLOCKS as u32 } else { self.geometry.low_blocks };
        while self.planes[plane as usize].free.len() as u32 <= least {
            let gained = match paced {
                true => self.finish_victim(plane, cleaned) == Step::Erased,
                false => self.clean(plane, cleaned),
            };
            if !gained {
                break;
            }
        }
    }

    /// The block that the cleaning policy chooses, if there is a page to gain.
    pub(super) fn choose(&mut self, plane: u32) -> Option<usize> {
        let blocks = self.blocks_of(plane);
        let view = View {
            valid: &self.blocks.valid[blocks.clone()],
            closed_at: &self.blocks.closed_at[blocks.clone()],
            now: self.planes[plane as usize].closed,
            pages: self.geometry.data_pages as u16,
        };
        let victim = self.cleaner.choose(view)?;
        assert!(
            view.is_candidate(victim),
            "the cleaning policy chose block {victim}, which cannot be cleaned"
        );
        Some(victim)
    }

    /// Cleans one block of the plane; false where none can be gained.
    fn clean(&mut self, plane: u32, cleaned: &mut Vec<Clean>) -> bool {
        let Some(victim) = self.choose(plane) else { return false };
        if !self.empty_and_erase(plane, victim, cleaned) {
            return false;
        }
        if let Some(cold) = self.cold_block(plane, victim)
            && self.empty_and_erase(plane, cold, cleaned)
        {
            self.counters.leveled_blocks += u64::from(self.blocks_as_one());
        }
        true
    }

    /// The block whose data wear leveling has moved after `erased` was erased, if any.
    pub(super) fn cold_block(&self, plane: u32, erased: usize) -> Option<usize> {
        let (blocks, state) = (self.blocks_of(plane), &self.blocks);
        let erases = &state.erases[blocks.clone()];
        let closed = |block: usize| state.valid[blocks.start + block] < View::NOT_CLOSED;
        let cold = self.wear.migrate(erased, erases, &closed)?;
        assert!(closed(cold), "the wear leveling policy chose block {cold}, which holds no data");
        Some(cold)
    }

    /// Whether idle planes are cleaned beyond what writing needs.
    pub(crate) fn cleans_when_idle(&self) -> bool {
        self.high_blocks > self.geometry.low_blocks
    }

    /// Cleans one block of an idle plane that is short of free ones, if one can be gained.
    pub(crate) fn clean_in_background(&mut self, plane: u32, cleaned: &mut Vec<Clean>) {
        if self.pacer.is_some() {
            self.pace_in_background(plane, cleaned);
        } else if (self.planes[plane as usize].free.len() as u32) < self.high_blocks {
            self.clean(plane, cleaned);
        }
    }

    /// Moves what is valid off a closed block and erases it. False, and nothing changed, where the plane lacks the room
    /// to move to.
    fn empty_and_erase(&mut self, plane: u32, block: usize, cleaned: &mut Vec<Clean>) -> bool {
        let number = self.blocks_of(plane).start + block;
        let moves = u32::from(self.blocks.valid[number]);
        let open = self.planes[plane as usize].open[self.moved_stream];
        let left = self.geometry.data_pages - open.written;
        if moves > left && self.planes[plane as usize].free.is_empty() {
            return false;
        }
        let filled = u32::from(left > 0 && moves >= left);
        let first = number as u32 * self.geometry.pages;
        let pages = first..first + self.geometry.data_pages;
        // The map's entries lie all over memory: have them all on their way before the first is needed.
        for physical in pages.clone() {
            self.map.prefetch(self.reverse.get(physical, plane).wrapping_sub(1) as usize);
        }
        for physical in pages {
            let page = self.reverse.get(physical, plane);
            if page != 0 {
                self.move_page(plane, page - 1, physical);
            }
        }
        debug_assert_eq!(self.blocks.valid[number], 0, "everything valid was moved");
        self.erase(plane, block);
        self.counters.moved_pages += u64::from(moves);
        self.report_clean(plane, moves, filled, 1, false, cleaned);
        true
    }

    /// Appends to `cleaned` what was done on a plane.
    pub(super) fn report_clean(
        &mut self,
        plane: u32,
        moves: u32,
        filled: u32,
        erases: u32,
        step: bool,
        cleaned: &mut Vec<Clean>,
    ) {
        let clean = Clean { plane: PlaneId(plane), planes: 1, moves, filled, erases, first: false, step };
        match &mut self.superblocks {
            None => cleaned.push(clean),
            Some(superblocks) => superblocks.spread(clean, cleaned),
        }
    }

    /// Blocks of flash that this layer has for one.
    pub(super) fn blocks_as_one(&self) -> u32 {
        self.superblocks.as_ref().map_or(1, Superblocks::blocks)
    }

    /// Inlined by force, since cleaning moves several pages for each that the host writes.
    #[inline(always)]
    pub(super) fn move_page(&mut self, plane: u32, page: u32, from: u32) {
        let stream = self.moved_stream;
        if self.planes[plane as usize].open[stream].written >= self.geometry.data_pages {
            self.close(plane, stream);
            self.open(plane, stream).expect("a free block was there when the move began");
        }
        let to = self.next_page(plane, stream);
        let number = self.number_in_block(to);
        if let Some(superblocks) = &mut self.superblocks {
            self.counters.parity_pages += u64::from(superblocks.moved_to(number));
        }
        self.reverse.set(from, plane, 0);
        self.blocks.valid[self.per_block.of(from) as usize] -= 1;
        self.planes[plane as usize].valid_pages -= 1;
        self.enter(page, to, plane);
    }

    /// The next page of an open block that has one left.
    #[inline]
    pub(super) fn next_page(&mut self, plane: u32, stream: usize) -> u32 {
        let open = &mut self.planes[plane as usize].open[stream];
        debug_assert!(open.written < self.geometry.data_pages, "the open block is full");
        let physical = (plane * self.geometry.blocks + open.block) * self.geometry.pages + open.written;
        open.written += 1;
        self.free_pages[plane as usize] -= u32::from(stream == HOST);
        physical
    }

    /// Closes a full open block, which cleaning may choose from now on.
    pub(super) fn close(&mut self, plane: u32, stream: usize) {
        let state = &mut self.planes[plane as usize];
        let block = state.open[stream].block;
        if block == Open::NO_BLOCK {
            return;
        }
        state.open[stream] = Open { block: Open::NO_BLOCK, written: self.geometry.data_pages };
        state.closed += 1;
        let number = (plane * self.geometry.blocks + block) as usize;
        self.blocks.valid[number] -= View::NOT_CLOSED;
        self.blocks.closed_at[number] = state.closed;
    }

    /// Opens the free block that wear leveling chooses.
    pub(super) fn open(&mut self, plane: u32, stream: usize) -> Option<()> {
        let blocks = self.blocks_of(plane);
        let state = &mut self.planes[plane as usize];
        if state.free.is_empty() {
            return None;
        }
        let position = self.wear.next_free(state.free.make_contiguous(), &self.blocks.erases[blocks]);
        let block = state.free.remove(position).expect("wear leveling chooses among the free blocks");
        state.open[stream] = Open { block, written: 0 };
        // The host's pages change from a free block to an open one; those of another stream are lost to it.
        if stream != HOST {
            self.free_pages[plane as usize] -= self.geometry.data_pages;
        }
        Some(())
    }

    pub(super) fn erase(&mut self, plane: u32, block: usize) {
        let number = self.blocks_of(plane).start + block;
        self.counters.erases += u64::from(self.blocks_as_one());
        let (wears_out, blocks) = (self.blocks.erase(number), self.blocks_as_one());
        let state = &mut self.planes[plane as usize];
        if wears_out {
            state.good -= 1;
            self.counters.worn_out_blocks += u64::from(blocks);
        } else {
            state.free.push_back(block as u32);
            self.free_pages[plane as usize] += self.geometry.data_pages;
            let free = self.free_pages[plane as usize];
            let turn = &mut self.turns[(plane / self.geometry.pool_planes) as usize];
            turn.most = turn.most.max(free);
            if plane != turn.leader {
                turn.rest = turn.rest.max(free);
            }
        }
    }

    pub(super) fn blocks_of(&self, plane: u32) -> Range<usize> {
        let first = plane as usize * self.geometry.blocks as usize;
        first..first + self.geometry.blocks as usize
    }
}
