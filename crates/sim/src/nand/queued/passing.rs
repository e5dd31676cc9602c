//! Reads that pass writes: those of a better rank, and those that suspend a program, an erase or GC.
//!
//! Reads may pass for as long as they come, so that a die that always has one waiting never writes: each suspension
//! also adds its cost to what is left. `scheduling.write_wait` bounds this, as data sheets bound the suspensions of a
//! program: once reads have passed for that time, the die resumes what is suspended, or begins its next write, and
//! finishes it before the next read. So a die under any load of reads ends an array time of a write in `write_wait`, one
//! read and that array time. GC goes on with the next step of its victim, which reads that wait already interrupt only
//! where it is preemptible.

use super::QueuedScheduler;
use crate::event::{Event, EventQueue, Timer};
use crate::ids::DieId;
use crate::nand::multi_plane::QueueId;
use crate::nand::queue::OpSlot;
use flashlane_base::Instant;
use flashlane_policy::scheduling::Class;

impl QueuedScheduler {
    /// Returns the rank that is served next, where `first` is the best one with anything waiting: that of writes, where
    /// reads have passed these for as long as they may.
    pub(super) fn rank_in_turn(&mut self, die: DieId, first: usize, now: Instant) -> usize {
        let writes = self.rank(Class::Write);
        if self.rules.write_wait.is_none()
            || first >= writes
            || self.dies[die.index()].queues[writes].is_empty()
        {
            return first;
        }
        self.note_passed(die, now);
        if self.write_is_overdue(die, now) { writes } else { first }
    }

    /// Notes that a read passes a write.
    fn note_passed(&mut self, die: DieId, now: Instant) {
        if self.rules.write_wait.is_some() {
            self.dies[die.index()].passed_since.get_or_insert(now);
        }
    }

    /// Whether reads have passed the writes of a die for as long as they may.
    fn write_is_overdue(&self, die: DieId, now: Instant) -> bool {
        let since = self.dies[die.index()].passed_since;
        self.rules.write_wait.zip(since).is_some_and(|(wait, since)| now.since(since) >= wait)
    }

    /// While a program or erase is suspended only reads begin; after the last, or when it is overdue, it is resumed.
    pub(super) fn next_while_suspended(
        &mut self,
        die: DieId,
        now: Instant,
        events: &mut EventQueue,
    ) -> Option<OpSlot> {
        let ranks = [Class::LightRead, Class::HostRead].map(|class| self.rank(class));
        let is_overdue = self.write_is_overdue(die, now);
        let state = &mut self.dies[die.index()];
        if state.array.is_some() || state.register.is_some() {
            return None;
        }
        let index = self.index.as_mut().expect("kept where the flash suspends");
        let read = match is_overdue {
            true => None,
            false => ranks.into_iter().find_map(|rank| {
                index.take_host_read(&mut self.ops, &mut state.queues[rank], QueueId { die, rank })
            }),
        };
        if read.is_none() {
            (state.array, state.suspended) = (state.suspended, OpSlot::NONE);
            state.array_ends = now + state.suspended_left;
            state.array_timer = events.start_timer(state.array_ends, Event::ArrayDone(die));
        }
        read
    }

    /// Interrupts a program, an erase or GC for a read, where the flash can.
    pub(super) fn suspend(&mut self, die: DieId, now: Instant) {
        let Some(overhead) = self.media.timing().suspend else { return };
        if self.write_is_overdue(die, now) {
            return;
        }
        let state = &mut self.dies[die.index()];
        let running =
            state.array_timer.is_running() && !state.register.is_some() && !state.suspended.is_some();
        if !running || self.ops[state.array].operation.is_read() {
            return;
        }
        state.suspended = state.array;
        state.suspended_left = state.array_ends.since(now) + overhead;
        state.array = OpSlot::NONE;
        state.array_timer = Timer::STOPPED;
        self.note_passed(die, now);
        self.media.count_suspend();
    }
}
