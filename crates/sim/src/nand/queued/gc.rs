//! GC and erases on the array of a die, a step at a time.

use super::QueuedScheduler;
use crate::event::EventQueue;
use crate::ids::DieId;
use crate::nand::array_time::ArrayTime;
use crate::nand::die::DEFERRED;
use crate::nand::gc::GcStep;
use crate::nand::multi_plane::DieQueue;
use crate::nand::operation::{Defer, FlashOperation, Work};
use crate::nand::queue::{Node, OpSlot};
use flashlane_base::Instant;
use flashlane_policy::scheduling::Class;

impl QueuedScheduler {
    /// Starts GC or an erase, or its next step.
    pub(super) fn begin_gc(&mut self, die: DieId, op: OpSlot, now: Instant, events: &mut EventQueue) {
        let FlashOperation { work, defer, .. } = &self.ops[op].operation;
        let timing = self.media.timing();
        let (step, time) = match work {
            Work::Gc(gc) => self.rules.gc.next(gc, *defer == Defer::BehindHost, timing),
            Work::Erase(erase) => (GcStep::Erase, ArrayTime::of_erase(timing.erase * u64::from(erase.times))),
            Work::Read(_) | Work::Program(_) => unreachable!("neither has steps"),
        };
        self.dies[die.index()].array = op;
        self.ops[op].step = step;
        self.run_array(die, time, now, events);
    }

    /// A step of GC ended in the array: on to the next, unless something better waits.
    pub(super) fn end_gc_step(
        &mut self,
        die: DieId,
        op: OpSlot,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<FlashOperation>,
    ) {
        let Node { operation, step, .. } = &mut self.ops[op];
        let state = &mut self.dies[die.index()];
        state.array = OpSlot::NONE;
        let gc = match (&mut operation.work, *step) {
            (Work::Gc(gc), GcStep::Move | GcStep::Program) => gc,
            (_, GcStep::Bus) => unreachable!("the bus ends this step"),
            _ => return self.finish(op, finished),
        };
        if *step == GcStep::Move && !self.rules.gc.copyback {
            state.register = op;
            *step = GcStep::Bus;
            return self.want_bus(die, op, now, events);
        }
        if self.rules.gc.page_moved(gc) {
            return self.finish(op, finished);
        }
        let FlashOperation { class, defer, .. } = *operation;
        let rank = self.rules.ranks[class as usize];
        if defer == Defer::BehindHost && state.has_waiting(DEFERRED) {
            self.push_front(DieQueue { die, rank: DEFERRED }, op);
        } else if self.rules.gc.preemptible && state.has_waiting(rank) {
            if class == Class::IdleGc {
                state.paused.push(&mut self.ops, op);
            } else {
                self.push_front(DieQueue { die, rank }, op);
            }
        } else {
            self.begin_gc(die, op, now, events);
        }
    }

    /// Ends the deferral of GC behind the host.
    pub(super) fn promote(&mut self, op: OpSlot) {
        let defer = &mut self.ops[op].operation.defer;
        if *defer == Defer::BehindHost {
            *defer = Defer::No;
        }
    }
}
