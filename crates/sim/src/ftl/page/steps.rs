//! The steps of paced GC: choosing a victim, moving units off it, erasing it.
//!
//! `pacing` has the state of each plane.

use super::PageMapped;
use super::gc::{HOST_STREAM, PagesRead, TRANSLATION_STREAM};
use super::pacing::{KEPT_BLOCKS, Victim, VictimProgress};
use super::slc::Source;
use crate::ftl::GcWork;
use crate::ftl::map::Map;
use crate::ids::{BlockId, PlaneId, Ppn};
use flashlane_policy::pacing::View;

/// Units whose entry in the map is fetched into the processor's cache ahead of the one being moved.
const AHEAD: u32 = 8;

/// As many units as a victim holds.
const WHOLE_VICTIM: u32 = u32::MAX;

/// What one operation of GC moved off a victim.
#[derive(Default)]
struct Moved {
    moves: u32,
    pages_read: PagesRead,
    /// Blocks that the moved units filled.
    summaries: u32,
    /// Whether no block was left to move units to.
    is_stuck: bool,
}

impl PageMapped {
    /// Called after `units` of the host were placed on `plane`, or left empty: once a flash page is full, GC advances
    /// as far as the policy says.
    #[inline]
    pub(super) fn pace(&mut self, plane: PlaneId, units: u32, due: &mut Vec<GcWork>) {
        let pacer = self.pacer.as_mut().expect("only called where GC is paced");
        let state = &mut pacer.planes[plane.index()];
        state.written += units;
        if state.written >= pacer.step_units {
            self.paced_step(plane, due);
        }
    }

    /// The same after a unit was placed in the SLC cache, whose flash pages are programmed one by one.
    #[inline]
    pub(super) fn pace_slc(&mut self, plane: PlaneId, due: &mut Vec<GcWork>) {
        let pacer = self.pacer.as_mut().expect("only called where GC is paced");
        let state = &mut pacer.planes[plane.index()];
        state.written += 1;
        if state.written.is_multiple_of(pacer.slc_step_units) {
            self.paced_step(plane, due);
        }
    }

    /// Advances GC, unless the policy asks for less than a step after less than a step of writes.
    #[inline(never)]
    fn paced_step(&mut self, plane: PlaneId, due: &mut Vec<GcWork>) {
        let erased = self.erased_units(plane);
        let pacer = self.pacer.as_ref().expect("only called where GC is paced");
        let (target, floor) = (pacer.target(plane), pacer.floor);
        let written = pacer.planes[plane.index()].written;
        if pacer.planes[plane.index()].victim.is_none() {
            let source = match () {
                () if erased < target => Source::Any,
                () if self.folds_at_once(plane) => Source::Slc,
                () => return self.take_written(plane),
            };
            if !self.choose_victim(plane, source) {
                return self.take_written(plane);
            }
        }
        let to_move = self.victim_valid(plane);
        let free = erased + self.geometry.data_units - to_move;
        let folded = if self.folds_at_once(plane) { written.min(to_move) } else { 0 };
        let pacer = self.pacer.as_ref().expect("as above");
        let moves = match to_move {
            0 => 0,
            // Folding at once keeps up with the host.
            _ => pacer.policy.moves(View { written, to_move, free, target, floor }).max(folded),
        };
        assert!(moves > 0 || to_move == 0, "the pacing policy moved nothing");
        if moves < to_move.min(pacer.step_units) && written < pacer.step_units {
            return;
        }
        // Then the policy makes up for a lack of free space, and has no room to spread the moves.
        let is_below_target = free <= target;
        let (moves, step_units) = (moves.next_multiple_of(pacer.step_units), pacer.step_units);
        self.take_written(plane);
        let moved_before = self.counters.moved_units;
        self.advance_victim(plane, moves, step_units, due);
        if is_below_target {
            self.counters.units_below_target += self.counters.moved_units - moved_before;
        }
    }

    /// Begins the next step of a plane's writes.
    fn take_written(&mut self, plane: PlaneId) {
        let pacer = self.pacer.as_mut().expect("only called where GC is paced");
        pacer.planes[plane.index()].written = 0;
    }

    /// Finishes the victim of a plane, or a new one from `source`.
    #[inline(never)]
    pub(super) fn finish_victim(
        &mut self,
        plane: PlaneId,
        source: Source,
        due: &mut Vec<GcWork>,
    ) -> VictimProgress {
        let pacer = self.pacer.as_ref().expect("only called where GC is paced");
        if pacer.planes[plane.index()].victim.is_none() && !self.choose_victim(plane, source) {
            return VictimProgress::Stuck;
        }
        self.advance_victim(plane, WHOLE_VICTIM, WHOLE_VICTIM, due)
    }

    /// Moves a flash page off the victim of an idle plane, or of a new one from `source`.
    pub(super) fn pace_in_background(&mut self, plane: PlaneId, source: Source, due: &mut Vec<GcWork>) {
        let pacer = self.pacer.as_ref().expect("only called where GC is paced");
        let step_units = pacer.step_units;
        let has_victim = pacer.planes[plane.index()].victim.is_some();
        if has_victim || self.choose_victim(plane, source) {
            self.advance_victim(plane, step_units, step_units, due);
        }
    }

    /// Erased units of a plane, those of its open blocks for data included.
    fn erased_units(&self, plane: PlaneId) -> u32 {
        let state = &self.planes[plane.index()];
        let open: u32 =
            state.open[..TRANSLATION_STREAM].iter().map(|open| self.geometry.data_units - open.written).sum();
        self.free_blocks(plane) * self.geometry.data_units + open
    }

    /// The number of valid units of a plane's victim; 0 where there is no victim.
    fn victim_valid(&self, plane: PlaneId) -> u32 {
        let pacer = self.pacer.as_ref().expect("only called where GC is paced");
        pacer.planes[plane.index()].victim.map_or(0, |victim| {
            let number = self.index_of(plane, victim.block);
            self.blocks.valid_units(number)
        })
    }

    fn choose_victim(&mut self, plane: PlaneId, source: Source) -> bool {
        let Some(block) = self.next_victim(plane, source) else { return false };
        self.begin_victim(plane, block, false, 0.0);
        true
    }

    /// Makes a closed block, of which this share was moved before, the victim of a plane.
    pub(super) fn begin_victim(&mut self, plane: PlaneId, block: BlockId, leveled: bool, moved_share: f64) {
        let number = self.index_of(plane, block);
        let units = (f64::from(self.units_of(number)) * (1.0 - moved_share)) as u32;
        let valid = self.blocks.valid_units(number);
        self.blocks.hold(number);
        let pacer = self.pacer.as_mut().expect("only called where GC is paced");
        pacer.planes[plane.index()].victim =
            Some(Victim { block, next: 0, leveled, valid, units, collected: 0 });
    }

    /// Moves up to `most` units off the victim, `at_once` in one operation, and erases it once it holds none.
    fn advance_victim(
        &mut self,
        plane: PlaneId,
        most: u32,
        at_once: u32,
        due: &mut Vec<GcWork>,
    ) -> VictimProgress {
        let pacer = self.pacer.as_mut().expect("only called where GC is paced");
        let Some(mut victim) = pacer.planes[plane.index()].victim.take() else {
            return VictimProgress::Stuck;
        };
        if victim.next == 0 {
            self.enter_prepared(plane, victim.block);
        }
        self.switch_moved(plane, victim.block);
        let number = self.index_of(plane, victim.block);
        let moved_from = self.type_of_moves(number);
        let is_paced_step = at_once != WHOLE_VICTIM;
        let mut left = most;
        while left > 0 && self.blocks.valid_units(number) > 0 {
            let Moved { moves, pages_read, summaries, is_stuck } =
                self.move_units(plane, &mut victim, at_once, &mut left);
            self.counters.collected_units +=
                u64::from(victim.newly_collected(self.blocks.valid_units(number)));
            left -= moves.min(left);
            self.counters.moved_units += u64::from(moves);
            self.count_folded(moved_from, moves);
            self.counters.units_below_target += if is_paced_step { 0 } else { u64::from(moves) };
            if moves > 0 {
                let pages_read = pages_read.count();
                let gc = GcWork { moves, pages_read, summaries, moved_from, ..GcWork::nothing(plane) };
                self.report_gc(GcWork { is_paced_step, ..gc }, due);
            }
            if is_stuck {
                // It may be chosen again once there is room, and then counts from its beginning.
                self.counters.collected_units -= u64::from(victim.collected);
                self.blocks.release(number);
                self.return_victim(plane, victim.block);
                return VictimProgress::Stuck;
            }
        }
        if self.blocks.valid_units(number) > 0 {
            let pacer = self.pacer.as_mut().expect("as above");
            pacer.planes[plane.index()].victim = Some(victim);
            return VictimProgress::Going;
        }
        self.counters.collected_units += u64::from(victim.newly_collected(0));
        self.erase(plane, victim.block);
        self.report_gc(GcWork { erases: 1, is_paced_step, ..GcWork::nothing(plane) }, due);
        self.counters.leveled_blocks += u64::from(victim.leveled) * u64::from(self.blocks_as_one());
        if !victim.leveled
            && let Some(cold) = self.cold_block(plane, victim.block)
        {
            self.begin_victim(plane, cold, true, 0.0);
        }
        VictimProgress::Erased
    }

    /// Moves units off the victim that one operation moves: up to `at_once`, and up to `left`, which becomes all that
    /// the victim holds where that takes the last free block.
    fn move_units(&mut self, plane: PlaneId, victim: &mut Victim, at_once: u32, left: &mut u32) -> Moved {
        let number = self.index_of(plane, victim.block);
        let first = number as u32 * self.geometry.block_units;
        let mut moved = Moved::default();
        while moved.moves < at_once.min(*left) && self.blocks.valid_units(number) > 0 {
            let ppn = Ppn(first + victim.next);
            let ahead = (ppn.0 + AHEAD).min(first + self.geometry.data_units - 1);
            self.map.prefetch(self.reverse.get(Ppn(ahead), plane).unwrap_or(Map::NO_ENTRY));
            if let Some(lpn) = self.reverse.get(ppn, plane) {
                let state = &self.planes[plane.index()];
                let stream = self.stream_of_move(plane, lpn);
                if stream == self.moved_stream && state.open[stream].written >= self.geometry.data_units {
                    if state.free.is_empty() {
                        moved.is_stuck = true;
                        break;
                    }
                    // The host would fill up a block that it shares before the victim is empty: the last block is used
                    // for all that is left of the victim, which fits.
                    if self.moved_stream == HOST_STREAM && state.free.len() <= KEPT_BLOCKS {
                        *left = u32::MAX;
                    }
                }
                self.move_unit(plane, lpn, ppn);
                moved.moves += 1;
                moved.pages_read.add(self.flash_page(ppn));
                let open = self.planes[plane.index()].open[self.moved_stream];
                moved.summaries += u32::from(open.written >= self.geometry.data_units);
            }
            victim.next += 1;
        }
        moved
    }

    /// Whether a block is its plane's victim.
    #[cfg(test)]
    pub(super) fn is_victim(&self, plane: PlaneId, block: BlockId) -> bool {
        let victim = self.pacer.as_ref().and_then(|pacer| pacer.planes[plane.index()].victim);
        victim.is_some_and(|victim| victim.block == block)
    }
}
