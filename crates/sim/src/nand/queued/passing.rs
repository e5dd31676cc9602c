//! Reads that pass writes: those of a better rank, and those that suspend a program, an erase or GC.
//!
//! Reads may pass for as long as they come, so that a die that always has one waiting never writes: each suspension
//! also adds its cost to what is left. `scheduling.write_wait` bounds this, as data sheets bound the suspensions of a
//! program: once reads have passed for that time, the die resumes what is suspended, or begins its next write, and
//! finishes it before the next read. So a die under any load of reads ends an array time of a write in `write_wait`,
//! one read and that array time. GC goes on with the next step of its victim, which reads that wait already interrupt
//! only where it is preemptible. An erase may be kept suspended for longer (`scheduling.erase_wait`).
//!
//! A read that comes while the data of a program are on the bus waits until they are loaded, and then interrupts the
//! program before its first pulse. Where a program can be interrupted only between its steps (`flash.suspend_step`: its
//! pulses, and the checks behind them), a read waits for the end of the step.

use super::QueuedScheduler;
use crate::config::DriveConfig;
use crate::event::{Event, EventQueue, Timer};
use crate::ids::DieId;
use crate::nand::multi_plane::DieQueue;
use crate::nand::operation::Work;
use crate::nand::queue::OpSlot;
use flashlane_base::{Duration, Instant};
use flashlane_policy::scheduling::Class;

/// What of a profile bounds how reads pass writes.
#[derive(Clone, Copy)]
pub(super) struct PassingRules {
    /// Longest time that reads pass writes.
    write_wait: Option<Duration>,
    /// The same for an erase, where it differs.
    erase_wait: Option<Duration>,
    /// From one point at which a program can be suspended to the next.
    suspend_step: Option<Duration>,
}

impl PassingRules {
    pub(super) fn new(config: &DriveConfig) -> Self {
        let (scheduling, flash) = (&config.scheduling, &config.flash);
        Self {
            write_wait: scheduling.write_wait.map(|time| time.0),
            erase_wait: scheduling.erase_wait.map(|time| time.0),
            suspend_step: flash.suspend_step.map(|time| time.0),
        }
    }
}

impl QueuedScheduler {
    /// Returns the rank that is served next, where `first` is the best one with anything waiting: that of writes, where
    /// reads have passed these for as long as they may.
    pub(super) fn rank_in_turn(&mut self, die: DieId, first: usize, now: Instant) -> usize {
        let writes = self.rank(Class::Write);
        if self.rules.passing.write_wait.is_none()
            || first >= writes
            || self.dies[die.index()].queues[writes].is_empty()
        {
            return first;
        }
        self.note_passed(die, now);
        let waiting = self.dies[die.index()].queues[writes].first();
        if self.is_overdue(die, waiting, now) { writes } else { first }
    }

    /// Notes that a read passes a write.
    fn note_passed(&mut self, die: DieId, now: Instant) {
        if self.rules.passing.write_wait.is_some() {
            self.dies[die.index()].passed_since.get_or_insert(now);
        }
    }

    /// Whether reads have passed the writes of a die for as long as they may pass `op`.
    fn is_overdue(&self, die: DieId, op: OpSlot, now: Instant) -> bool {
        let since = self.dies[die.index()].passed_since;
        self.rules.passing.write_wait.zip(since).is_some_and(|(wait, since)| {
            let is_erase = op.is_some() && matches!(self.ops[op].operation.work, Work::Erase(_));
            now.since(since) >= if is_erase { self.rules.passing.erase_wait.unwrap_or(wait) } else { wait }
        })
    }

    /// While a program or erase is suspended only reads begin; after the last, or when it is overdue, it is resumed.
    pub(super) fn next_while_suspended(
        &mut self,
        die: DieId,
        now: Instant,
        events: &mut EventQueue,
    ) -> Option<OpSlot> {
        let ranks = [Class::LightRead, Class::HostRead].map(|class| self.rank(class));
        let is_overdue = self.is_overdue(die, self.dies[die.index()].suspended, now);
        let state = &mut self.dies[die.index()];
        if state.array.is_some() || state.register.is_some() {
            return None;
        }
        let index = self.index.as_mut().expect("kept where the flash suspends");
        let read = match is_overdue {
            true => None,
            false => ranks.into_iter().find_map(|rank| {
                index.take_host_read(&mut self.ops, &mut state.queues[rank], DieQueue { die, rank })
            }),
        };
        if read.is_none() {
            (state.array, state.suspended) = (state.suspended, OpSlot::NONE);
            state.array_from = now;
            state.array_ends = now + state.suspended_left;
            state.array_timer = events.start_timer(state.array_ends, Event::DieDone(die));
        }
        read
    }

    /// Interrupts a program, an erase or GC for a read, where the flash can: at once, or where the step that it is in
    /// ends.
    pub(super) fn suspend(&mut self, die: DieId, now: Instant, events: &mut EventQueue) {
        if self.media.timing().suspend.is_none() || self.is_overdue(die, self.dies[die.index()].array, now) {
            return;
        }
        let state = &self.dies[die.index()];
        let running =
            state.array_timer.is_running() && !state.register.is_some() && !state.suspended.is_some();
        if !running || state.suspends_at_step || self.ops[state.array].operation.is_read() {
            return;
        }
        let is_program = self.ops[state.array].operation.is_program();
        match self.rules.passing.suspend_step.filter(|_| is_program) {
            None => self.suspend_now(die, now),
            Some(step) => self.suspend_at_step(die, step, now, events),
        }
    }

    /// Lets the array stop where the step that it is in ends, unless it is done by then.
    fn suspend_at_step(&mut self, die: DieId, step: Duration, now: Instant, events: &mut EventQueue) {
        let state = &mut self.dies[die.index()];
        let steps = now.since(state.array_from).as_ns().div_ceil(step.as_ns()).max(1);
        let stops = state.array_from + step * steps;
        if stops < state.array_ends {
            state.suspends_at_step = true;
            state.array_timer = events.start_timer(stops, Event::DieDone(die));
        }
    }

    /// Takes what is in the array out of it, for reads that wait.
    pub(super) fn suspend_now(&mut self, die: DieId, now: Instant) {
        let overhead = self.media.timing().suspend.unwrap_or_default();
        let state = &mut self.dies[die.index()];
        state.suspended = state.array;
        state.suspended_left = state.array_ends.since(now) + overhead;
        state.array = OpSlot::NONE;
        state.array_timer = Timer::STOPPED;
        state.suspends_at_step = false;
        self.note_passed(die, now);
        self.media.count_suspend();
    }

    /// A program begins in the array: the host's reads that came while its data were on the bus interrupt it, at once
    /// or where its first step ends.
    #[inline]
    pub(super) fn suspend_for_waiting(&mut self, die: DieId, now: Instant, events: &mut EventQueue) {
        if self.media.timing().suspend.is_none() {
            return;
        }
        let index = self.index.as_ref().expect("kept where the flash suspends");
        let mut ranks = [Class::LightRead, Class::HostRead].map(|class| self.rank(class)).into_iter();
        if ranks.any(|rank| index.has_host_read(DieQueue { die, rank })) {
            self.suspend(die, now, events);
        }
    }
}
