//! Garbage collection as flash operations. The translation layer does it in its tables at once ([`GcWork`]); here it is
//! queued, beside the program that made it due, for an idle die, or where the dies of a row take turns, once it has its
//! turn.

use super::Translation;
use super::rotation::{Rotation, TurnId};
use crate::drive::request::DriveKernel;
use crate::event::IdleWork;
use crate::ftl::GcWork;
use crate::ids::{DieId, Lpn, PlaneId};
use crate::nand::{Defer, FlashOperation, Gc, Owner, Program, Read, Work};
use flashlane_policy::scheduling::Class;

/// For whom GC is done, and how it is scheduled.
#[derive(Clone, Copy)]
struct GcScheduling {
    owner: Owner,
    class: Class,
    defer: Defer,
}

impl GcScheduling {
    fn operation(self, plane: PlaneId, work: Work) -> FlashOperation {
        FlashOperation { work, owner: self.owner, class: self.class, defer: self.defer, plane }
    }
}

impl Translation {
    /// Queues a program and the GC that belongs to it: first GC that frees the program's block and GC deferred since
    /// the block before was opened, then the program, then other GC. All have the class of a host write, so that no
    /// rank reorders them, but for GC that is deferred behind the host.
    #[cold]
    pub(super) fn enqueue_with_gc(&mut self, kernel: &mut DriveKernel, program: Option<FlashOperation>) {
        let mut due = std::mem::take(&mut self.due_gc);
        if self.defer == Defer::BehindHost {
            due.iter().for_each(|gc| kernel.promote_gc(gc.plane));
        }
        let plane = program.map(|program| program.plane);
        let at_once = GcScheduling { owner: Owner::Gc, class: Class::Write, defer: Defer::No };
        if due.iter().any(|gc| gc.precedes_write) {
            // GC that waits for its turn was done before, and goes first.
            self.rotate(kernel, |rotation, turn| {
                rotation.begin_all(due[0].plane, turn);
                None
            });
        }
        let as_configured = GcScheduling { defer: self.defer, ..at_once };
        for gc in due.iter().filter(|gc| gc.precedes_write) {
            // Other planes are merged along with the unit's own, for the same write: that is not put off.
            let own = plane.is_none_or(|plane| plane == gc.plane);
            let waits = own && self.defer == Defer::UntilNextOperation;
            self.enqueue_gc(kernel, gc, if waits { as_configured } else { at_once });
        }
        if let Some(program) = program {
            self.enqueue_program(kernel, program);
        }
        due.retain(|gc| !gc.precedes_write);
        match self.rotation {
            None => due.iter().for_each(|gc| self.enqueue_gc(kernel, gc, as_configured)),
            Some(_) => self.rotate(kernel, |rotation, turn| rotation.add(&due, turn)),
        }
        due.clear();
        self.due_gc = due;
    }

    /// Queues the GC that has its turn after a change of the rotation, where GC rotates.
    pub(super) fn rotate(
        &mut self,
        kernel: &mut DriveKernel,
        change: impl FnOnce(&mut Rotation, &mut Vec<GcWork>) -> Option<TurnId>,
    ) {
        let Some(rotation) = &mut self.rotation else { return };
        let mut turn = std::mem::take(&mut self.turn);
        let reported = change(rotation, &mut turn);
        for (at, gc) in turn.iter().enumerate() {
            let is_last = at + 1 == turn.len();
            let owner = reported.filter(|_| is_last).map_or(Owner::Gc, TurnId::owner);
            self.enqueue_gc(kernel, gc, GcScheduling { owner, class: Class::Write, defer: Defer::No });
        }
        turn.clear();
        self.turn = turn;
    }

    /// Garbage-collects a block of each plane of an idle die that is short of free blocks, or folds its SLC cache where
    /// the host is idle, too.
    pub(in crate::drive) fn enqueue_idle_gc(&mut self, kernel: &mut DriveKernel, die: DieId) {
        debug_assert!(self.due_gc.is_empty(), "GC is queued in the call that makes it due");
        let planes = self.planes_per_die;
        let folds = kernel.host_is_idle(IdleWork::FoldCache);
        let mut due = std::mem::take(&mut self.due_gc);
        for plane in die.0 * planes..(die.0 + 1) * planes {
            self.ftl.collect_idle(PlaneId(plane), folds, &mut due);
        }
        let idle = GcScheduling { owner: Owner::IdleGc, class: Class::IdleGc, defer: Defer::No };
        due.drain(..).for_each(|gc| self.enqueue_gc(kernel, &gc, idle));
        self.due_gc = due;
        self.settle_map(kernel);
    }

    /// Turns GC that the translation layer did into flash operations.
    fn enqueue_gc(&self, kernel: &mut DriveKernel, gc: &GcWork, scheduling: GcScheduling) {
        let GcWork {
            plane,
            planes,
            mut moves,
            mut pages_read,
            summaries,
            erases,
            moved_from,
            is_paced_step,
            ..
        } = *gc;
        if self.moves_in_runs {
            // The end of GC is that of what follows its moves.
            let owner = if scheduling.owner.is_task() { Owner::Gc } else { scheduling.owner };
            (moves, pages_read) = (0, 0);
            self.enqueue_moves(kernel, gc, GcScheduling { owner, ..scheduling });
            if is_paced_step && summaries + erases == 0 {
                return;
            }
        }
        let pages_of = |units| self.large_units.map_or(units, |large| large.pages_of(units));
        let (moves, pages_read) = (pages_of(moves), pages_of(pages_read));
        let gc = Gc { moves, pages_read, summaries, erases, moved_from, planes, is_paced_step };
        kernel.enqueue(scheduling.operation(plane, Work::Gc(gc)));
    }

    /// Queues the moves of GC as reads, then programs, which overlap as the host's do.
    fn enqueue_moves(&self, kernel: &mut DriveKernel, gc: &GcWork, scheduling: GcScheduling) {
        let GcWork { plane, planes, moves, pages_read, moved_from, .. } = *gc;
        let on_all_bytes = self.unit_bytes * u64::from(planes);
        let together = self.units_per_program;
        let lpn = Lpn::NONE;
        // The units of a page that leave the register are as equally many as can be.
        for nth in 0..pages_read {
            let units = (nth + 1) * moves / pages_read - nth * moves / pages_read;
            let read = Read::of(lpn, on_all_bytes * u64::from(units));
            let read = Read { reads: planes, page_type: moved_from, ..read };
            kernel.enqueue(scheduling.operation(plane, Work::Read(read)));
        }
        for at in (0..moves).step_by(together as usize) {
            let bus_bytes = on_all_bytes * u64::from(together.min(moves - at));
            let program = Program { programs: planes, ..Program::of(lpn, bus_bytes) };
            kernel.enqueue(scheduling.operation(plane, Work::Program(program)));
        }
    }
}
