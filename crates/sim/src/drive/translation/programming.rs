//! Programs of mapping units: each gets a place, and the GC that this makes due is queued with it.

use super::Translation;
use crate::drive::request::DriveKernel;
use crate::ftl::{NoRoom, Placed};
use crate::ids::{Lpn, PlaneId, RequestSlot};
use crate::nand::{FlashOperation, Owner, Program, Work};
use flashlane_policy::scheduling::Class;
use std::ops::Range;

impl Translation {
    /// Finds a place for a mapping unit and programs it there, on `assigned` where that has room. `may_wait`: it may
    /// wait for others that are programmed along with it. Returns the plane.
    ///
    /// # Errors
    /// [`NoRoom`] where no block is left to write to.
    #[inline]
    pub(in crate::drive) fn program(
        &mut self,
        kernel: &mut DriveKernel,
        owner: Owner,
        lpn: Lpn,
        assigned: Option<PlaneId>,
        may_wait: bool,
    ) -> Result<PlaneId, NoRoom> {
        debug_assert!(self.due_gc.is_empty(), "GC is queued with the program that made it due");
        let placed = match assigned {
            Some(plane) if self.ftl.can_take(plane, lpn) => self.ftl.place_on(plane, lpn, &mut self.due_gc),
            _ => self.ftl.place(lpn, &mut self.due_gc),
        };
        let Ok(place) = placed else {
            self.enqueue_with_gc(kernel, None);
            self.settle_map(kernel);
            return Err(NoRoom);
        };
        let mut program = self.program_operation(owner, lpn, place, may_wait);
        if let Some(replicator) = &mut self.replicator {
            let is_behind_gc = self.due_gc.iter().any(|gc| gc.precedes_write);
            program = replicator.write(kernel, program, is_behind_gc);
        }
        self.enqueue_placed(kernel, program, place, may_wait);
        self.update_map(kernel, lpn);
        Ok(place.plane)
    }

    /// Queues the program of a mapping unit in its place, with the GC that it made due.
    #[inline]
    pub(super) fn enqueue_placed(
        &mut self,
        kernel: &mut DriveKernel,
        program: FlashOperation,
        place: Placed,
        may_wait: bool,
    ) {
        if self.due_gc.is_empty() {
            self.enqueue_program(kernel, program);
        } else {
            self.enqueue_with_gc(kernel, Some(program));
        }
        self.enqueue_parity(kernel, place, may_wait);
    }

    /// [`Translation::program`] for mapping units of a request that follow each other, of a drive without a map cache.
    /// `units` is left with those behind the first for which there was no room.
    ///
    /// # Errors
    /// [`NoRoom`] where no block is left to write to.
    pub(in crate::drive) fn program_run(
        &mut self,
        kernel: &mut DriveKernel,
        slot: RequestSlot,
        units: &mut Range<u32>,
    ) -> Result<(), NoRoom> {
        debug_assert!(self.map_cache.is_none(), "a map cache is notified of every place");
        debug_assert!(self.due_gc.is_empty(), "GC is queued in the call that makes it due");
        let owner = Owner::Request(slot);
        if self.replicator.is_some() {
            while units.start < units.end {
                units.start += 1;
                self.program(kernel, owner, Lpn(units.start - 1), None, false)?;
            }
            return Ok(());
        }
        let mut placed = std::mem::take(&mut self.placed);
        let mut outcome = Ok(());
        while units.start < units.end && outcome.is_ok() {
            outcome = self.ftl.place_run(units.clone(), &mut placed, &mut self.due_gc);
            // The GC that became due goes with the last of them.
            let last = if outcome.is_ok() && !self.due_gc.is_empty() { placed.pop() } else { None };
            self.enqueue_run(kernel, owner, Lpn(units.start), &placed);
            units.start += placed.len() as u32;
            placed.clear();
            if let Some(place) = last {
                let program = self.program_operation(owner, Lpn(units.start), place, false);
                self.enqueue_with_gc(kernel, Some(program));
                self.enqueue_parity(kernel, place, false);
                units.start += 1;
            } else if outcome.is_err() {
                self.enqueue_with_gc(kernel, None);
                units.start += 1;
            }
        }
        self.placed = placed;
        outcome
    }

    /// Programs mapping units from `first` on in these places.
    fn enqueue_run(&self, kernel: &mut DriveKernel, owner: Owner, first: Lpn, places: &[Placed]) {
        if kernel.flash().joins_programs() && self.large_units.is_none() {
            let Some(&place) = places.first() else { return };
            debug_assert!(places.iter().all(|place| place.parity.is_none()), "parity refuses copyback");
            let Work::Program(unit) = self.program_operation(owner, first, place, false).work else { return };
            let places = places.iter().map(|place| (place.plane, place.fills_block));
            return kernel.enqueue_run(owner, unit, places);
        }
        for (lpn, &place) in (first.0..).map(Lpn).zip(places) {
            self.enqueue_program(kernel, self.program_operation(owner, lpn, place, false));
            self.enqueue_parity(kernel, place, false);
        }
    }

    /// Returns the flash operation that programs a mapping unit in its place.
    #[inline]
    pub(super) fn program_operation(
        &self,
        owner: Owner,
        lpn: Lpn,
        place: Placed,
        may_wait: bool,
    ) -> FlashOperation {
        let program = Program {
            lpn,
            programs: 1,
            bus_bytes: self.unit_bytes,
            fills_block: place.fills_block,
            waits_for_others: place.waits_for_others && may_wait,
            page_type: place.page_type,
            program_group: place.program_group,
        };
        let (work, class) = (Work::Program(program), Class::Write);
        FlashOperation::new(work, owner, class, place.plane)
    }

    /// Programs the parity of the row that a mapping unit has completed, if it has.
    #[inline]
    fn enqueue_parity(&self, kernel: &mut DriveKernel, place: Placed, may_wait: bool) {
        if let Some(plane) = place.parity {
            let parity = Placed { plane, fills_block: false, ..place };
            self.enqueue_program(kernel, self.program_operation(Owner::None, Lpn::NONE, parity, may_wait));
        }
    }

    /// Queues the program of a mapping unit, page by page where it is larger than one.
    #[inline]
    pub(super) fn enqueue_program(&self, kernel: &mut DriveKernel, program: FlashOperation) {
        match self.large_units {
            None => kernel.enqueue(program),
            Some(large) => large.programs(program).for_each(|page| kernel.enqueue(page)),
        }
    }
}
