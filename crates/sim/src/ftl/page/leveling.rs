//! Wear leveling in the tables: a worn block that was just erased and a block of cold data change places.
//!
//! The cold block's valid units move to the erased block and nowhere else, so that cold data is not mixed with what the
//! host writes, and a plane needs no free block for it: it has as many valid and invalid units, on as many blocks, as before.

use super::PageMapped;
use crate::ftl::GcWork;
use crate::ftl::blocks::Open;
use crate::ftl::map::Map;
use crate::ids::{BlockId, Lpn, PlaneId, Ppn};
use flashlane_policy::cleaning::View;
use flashlane_policy::wear;

impl PageMapped {
    /// The block whose data wear leveling has moved after `erased` was erased, if any.
    pub(super) fn cold_block(&self, plane: PlaneId, erased: BlockId) -> Option<BlockId> {
        let (state, blocks) = (&self.planes[plane.index()], self.blocks_of(plane));
        // A block that wore out takes no data; the last free one may be another.
        if state.free.back() != Some(&erased.0) {
            return None;
        }
        let view = wear::View {
            erased: erased.index(),
            erases: &self.blocks.erases[blocks.clone()],
            least: self.blocks.least_erases(plane.index()),
            blocks: self.blocks.view(blocks, state.closed, self.geometry.data_units),
        };
        let cold = self.wear.migrate(view)?;
        assert!(view.is_closed(cold), "the wear leveling policy chose block {cold}, which holds no data");
        Some(BlockId(cold as u32))
    }

    /// Moves the data of block `cold` to the block that was erased last, and erases the former.
    pub(super) fn exchange(&mut self, plane: PlaneId, cold: BlockId, due: &mut Vec<GcWork>) {
        self.enter_prepared(plane, cold);
        let number = self.index_of(plane, cold);
        let moves = u32::from(self.blocks.valid[number]);
        let mut target = self.take_last_erased(plane);
        let first = number as u32 * self.geometry.block_units;
        let units = (first..first + self.geometry.data_units).map(Ppn);
        for ppn in units.clone() {
            self.map.prefetch(self.reverse.get(ppn, plane).unwrap_or(Map::NO_ENTRY));
        }
        for ppn in units {
            if let Some(lpn) = self.reverse.get(ppn, plane) {
                self.move_cold_unit(plane, lpn, ppn, &mut target);
            }
        }
        let closed = self.close_cold(plane, target, cold);
        self.erase(plane, cold);
        self.counters.moved_units += u64::from(moves);
        self.counters.leveled_blocks += u64::from(self.blocks_as_one());
        self.report_gc(plane, moves, closed, 1, false, due);
    }

    /// Takes the block of a plane that was erased last from the free ones, for cold data.
    pub(super) fn take_last_erased(&mut self, plane: PlaneId) -> Open {
        let block = self.planes[plane.index()].free.pop_back().expect("a block was just erased");
        self.free_units[plane.index()] -= self.geometry.data_units;
        Open { block: BlockId(block), written: 0 }
    }

    /// Moves a unit to the next place of `target`.
    pub(super) fn move_cold_unit(&mut self, plane: PlaneId, lpn: Lpn, from: Ppn, target: &mut Open) {
        debug_assert!(target.written < self.geometry.data_units, "a block's data fits a block");
        let block = plane.0 * self.geometry.blocks + target.block.0;
        let to = Ppn(block * self.geometry.block_units + target.written);
        target.written += 1;
        let number = self.number_in_block(to);
        if let Some(superblocks) = &mut self.superblocks {
            self.counters.parity_units += u64::from(superblocks.moved_to(number));
        }
        self.leave(from, plane);
        self.enter(lpn, to, plane);
    }

    /// Closes the block that took the data of `cold`, and has its age from now on. Returns the number of blocks closed: none
    /// where the data became invalid meanwhile, and the block is free again.
    pub(super) fn close_cold(&mut self, plane: PlaneId, target: Open, cold: BlockId) -> u32 {
        let (number, cold) = (self.index_of(plane, target.block), self.index_of(plane, cold));
        if target.written == 0 {
            self.planes[plane.index()].free.push_back(target.block.0);
            self.free_units[plane.index()] += self.geometry.data_units;
            return 0;
        }
        self.blocks.valid[number] -= View::NOT_CLOSED;
        self.blocks.closed_at[number] = self.blocks.closed_at[cold];
        1
    }
}
