//! Dies and channels with queues: each die does one thing at a time, the dies of a channel share its bus.
//!
//! A die has a cell array (which reads, programs, erases) and a register (which the bus fills and empties). *Array*
//! alone is the cell array of a die; the *flash array* is all dies of the drive. A read takes array, then register and
//! bus; a program register and bus, then array. Without cache mode one operation holds both from beginning to end; with
//! it the next one of the same direction may use what is free. Suspended programs and erases let reads pass, for a
//! bounded time where the profile says so (`passing`). Like operations on several planes may share one array time.
//!
//! ```text
//! enqueue ─> push: into a queue of the die (programs that wait for others: `held_programs`, until they are
//!          complete or release_held)
//! begin ─> next_operation (GC in steps: `queued::gc`; reads that pass: `passing`)
//!   read:    run_array … die_done, start_read_transfer ─> want_bus … bus_done, finish
//!   program: want_bus … bus_done, run_loaded ─> run_array … die_done, finish_with_partners
//! ```
//!
//! "…" is time. Of the operations that finish, those that something waits for reach the drive by `hand_over_finished`
//! of `kernel::event_loop`. A drive has either these dies or those of `in_order`: `array` chooses.
//!
//! Invariants:
//! - an operation is in one place until it is finished: in a queue of its die, in its array or register, suspended, in
//!   the queue of paused GC, or joined to one that is;
//! - the array timer of a die runs while its array does, and not for a suspended operation;
//! - a die that has something to transfer is on the bus of its channel or waits for it.

mod gc;
mod passing;
mod record;
mod sense;
mod times;

use super::Geometry;
use super::accounts::QueuedAccounts;
use super::array_time::ArrayTime;
use super::channels::Channels;
use super::die::{DEFERRED, DieState};
use super::gc::{GcStep, GcStepRules};
use super::held_programs::HeldPrograms;
use super::media::Media;
use super::multi_plane::{DieQueue, MultiPlaneIndex};
use super::operation::{Defer, FlashOperation, Owner, Work};
use super::queue::{Node, OpSlot, Operations};
use super::scheduler::{Scheduler, ranks};
use crate::account::TimeAccount;
use crate::config::{DriveConfig, Programming};
use crate::event::{Event, EventQueue, Ticket};
use crate::ids::{ChannelId, DieId, Lpn, ProgramGroup};
use crate::slab::Slab;
use flashlane_base::{Instant, Seed};
use flashlane_device::Part;
use flashlane_policy::scheduling::{Class, RANKS};
use passing::PassingRules;
use times::working_planes;

/// What of a profile decides the order of operations.
#[derive(Clone, Copy)]
struct Rules {
    dies: u32,
    channels: u32,
    dies_per_channel: u32,
    planes_per_die: u32,
    multi_plane: bool,
    cache_mode: bool,
    units_per_page: u32,
    /// Whether all pages of a [`ProgramGroup`] are programmed at once.
    by_program_group: bool,
    /// By class.
    ranks: [usize; RANKS],
    passing: PassingRules,
    gc: GcStepRules,
}

/// All dies and channels of a drive whose operations are queued.
#[derive(Clone)]
pub(super) struct QueuedScheduler {
    rules: Rules,
    pub(super) media: Media,
    ops: Operations,
    dies: Vec<DieState>,
    /// Kept where operations share array times or reads pass suspended ones.
    index: Option<MultiPlaneIndex>,
    held: HeldPrograms,
    channels: Channels,
    /// The accounts of operations, where their times are recorded.
    accounts: Option<Box<QueuedAccounts>>,
}

impl QueuedScheduler {
    /// Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        let flash = &config.flash;
        let rules = Rules {
            dies: geometry.dies,
            channels: geometry.channels,
            dies_per_channel: geometry.dies / geometry.channels,
            planes_per_die: geometry.planes_per_die,
            multi_plane: flash.multi_plane && geometry.planes_per_die > 1,
            cache_mode: flash.cache_mode,
            ranks: ranks(config),
            passing: PassingRules::new(config),
            units_per_page: geometry.units_per_page,
            by_program_group: flash.programming == Programming::OneShot || config.placement.is_some(),
            gc: GcStepRules::new(config, geometry),
        };
        Self::idle(rules, Media::new(config, geometry, seed))
    }

    /// An array with nothing to do.
    fn idle(rules: Rules, media: Media) -> Self {
        let index = MultiPlaneIndex::new(
            rules.dies,
            rules.planes_per_die,
            rules.units_per_page,
            rules.gc.units_per_program,
            rules.by_program_group,
            rules.multi_plane,
            media.timing().suspend.is_some(),
        );
        Self {
            rules,
            media,
            ops: Slab::new(),
            dies: (0..rules.dies)
                .map(|die| DieState::idle(ChannelId(die / rules.dies_per_channel)))
                .collect(),
            index,
            held: HeldPrograms::new(rules.dies),
            channels: Channels::new(rules.channels),
            accounts: None,
        }
    }

    fn rank(&self, class: Class) -> usize {
        self.rules.ranks[class as usize]
    }

    fn push(&mut self, die: DieId, operation: FlashOperation, now: Instant) {
        let rank = match operation.defer {
            Defer::BehindHost => DEFERRED,
            Defer::No | Defer::UntilNextOperation => self.rank(operation.class),
        };
        self.dies[die.index()].gc_operations += u32::from(operation.is_gc());
        let op = self.ops.insert(Node::new(operation));
        if let Some(accounts) = &mut self.accounts {
            accounts.queued(op, &operation, die, now);
        }
        self.push_back(DieQueue { die, rank }, op);
    }

    /// Puts an operation behind the others of a queue.
    #[inline]
    fn push_back(&mut self, id: DieQueue, op: OpSlot) {
        let queue = &mut self.dies[id.die.index()].queues[id.rank];
        if let Some(index) = &mut self.index {
            index.push(&self.ops, queue, id, op);
        }
        queue.push(&mut self.ops, op);
    }

    /// Puts an operation before the others of a queue.
    fn push_front(&mut self, id: DieQueue, op: OpSlot) {
        let queue = &mut self.dies[id.die.index()].queues[id.rank];
        if let Some(index) = &mut self.index {
            index.push_front(&self.ops, queue, id, op);
        }
        queue.push_front(&mut self.ops, op);
    }

    /// Takes the first operation out of a queue.
    #[inline]
    fn pop(&mut self, id: DieQueue) -> Option<OpSlot> {
        let op = self.dies[id.die.index()].queues[id.rank].pop(&self.ops)?;
        if let Some(index) = &mut self.index {
            index.remove(&self.ops, id, op);
        }
        Some(op)
    }

    /// Takes the readahead of a mapping unit out of a queue, where it waits there.
    fn take_readahead(&mut self, id: DieQueue, lpn: Lpn) -> Option<OpSlot> {
        let queue = &mut self.dies[id.die.index()].queues[id.rank];
        let (mut previous, mut op) = (OpSlot::NONE, queue.first());
        while op.is_some() {
            let Node { operation: FlashOperation { work, owner, .. }, next, .. } = self.ops[op];
            if owner == Owner::Readahead && matches!(work, Work::Read(read) if read.lpn == lpn) {
                queue.remove(&mut self.ops, previous, op);
                if let Some(index) = &mut self.index {
                    index.remove_any(&self.ops, id, op);
                }
                return Some(op);
            }
            (previous, op) = (op, next);
        }
        None
    }

    /// Queues the programs of a die that wait for their group: all of them, or those of one program group.
    fn release_group(&mut self, die: DieId, of: Option<ProgramGroup>, now: Instant) {
        // The account of the operation that releases them is still to be used.
        let next = self.accounts.as_ref().map(|accounts| accounts.next());
        while let Some((place, operation)) = self.held.take_next(die, of) {
            if let Some(accounts) = &mut self.accounts {
                accounts.leaves_group(die, place, now);
            }
            self.push(die, operation, now);
        }
        if let (Some(accounts), Some(next)) = (&mut self.accounts, next) {
            accounts.set_next(next);
        }
    }

    /// Lets waiting operations start on whatever of the die is free.
    #[inline]
    fn begin(&mut self, die: DieId, now: Instant, events: &mut EventQueue) {
        if self.can_begin(die) {
            self.begin_waiting(die, now, events);
        } else if self.rules.cache_mode {
            // A program ended in the array beside one on the bus.
            self.record_occupant(die, now);
        }
        debug_assert!(
            self.is_occupant_recorded(die),
            "without cache mode it changes only where something can begin"
        );
    }

    /// Whether the array or the register of a die can take an operation: both where both are free, and with cache mode
    /// one of them beside an operation of the same direction (chen11, section 5.2).
    #[inline]
    fn can_begin(&self, die: DieId) -> bool {
        let state = &self.dies[die.index()];
        match (state.array.is_some(), state.register.is_some()) {
            (false, false) => true,
            (true, true) => false,
            // What is to be suspended at the end of its step gets no successor in the register.
            _ if !self.rules.cache_mode || state.suspends_at_step => false,
            (true, false) => self.ops[state.array].operation.is_program(),
            (false, true) => self.ops[state.register].operation.is_read(),
        }
    }

    fn begin_waiting(&mut self, die: DieId, now: Instant, events: &mut EventQueue) {
        // With cache mode a read may free the array for the next at once; two rounds then find work.
        while self.can_begin(die)
            && let Some(op) = self.next_operation(die, now, events)
        {
            self.join_partners(die, op);
            self.each_account(op, |accounts, op| accounts.begins(op, die, now));
            let state = &mut self.dies[die.index()];
            match self.ops[op].operation.work {
                Work::Read(_) => {
                    debug_assert!(!state.array.is_some(), "the array is free");
                    state.array = op;
                    let read = ArrayTime::of_read(self.read_time(op));
                    self.run_array(die, read, now, events);
                }
                Work::Program(_) => {
                    debug_assert!(!state.register.is_some(), "the register is free");
                    state.register = op;
                    self.want_bus(die, op, now, events);
                }
                Work::Gc(_) | Work::Erase(_) => self.begin_gc(die, op, now, events),
            }
        }
        self.record_occupant(die, now);
    }

    /// Joins to an operation that begins those that share its array time.
    #[inline]
    fn join_partners(&mut self, die: DieId, op: OpSlot) {
        let Some(index) = &mut self.index else { return };
        let FlashOperation { work, class, .. } = self.ops[op].operation;
        let rank = self.rules.ranks[class as usize];
        let queue = &mut self.dies[die.index()].queues[rank];
        let id = DieQueue { die, rank };
        let joined = match work {
            Work::Gc(gc) if gc.is_paced_step => {
                let joined = index.join_steps(&mut self.ops, queue, id, op);
                self.dies[die.index()].gc_operations -= joined as u32;
                joined
            }
            _ => index.join(&mut self.ops, queue, id, op),
        };
        self.ops[op].is_multi_plane = joined > 0;
    }

    /// Takes the operation that the die can begin now, if there is one. Requires: the die [can begin](Self::can_begin)
    /// one.
    #[inline]
    fn next_operation(&mut self, die: DieId, now: Instant, events: &mut EventQueue) -> Option<OpSlot> {
        let state = &mut self.dies[die.index()];
        let array_free = !state.array.is_some();
        let register_free = !state.register.is_some();
        if state.suspended.is_some() {
            return self.next_while_suspended(die, now, events);
        }
        let first_rank = state.queues.iter().position(|queue| !queue.is_empty())?;
        let rank = self.rank_in_turn(die, first_rank, now);
        let state = &self.dies[die.index()];
        let first = state.queues[rank].first();
        let operation = &self.ops[first].operation;
        if operation.defer == Defer::UntilNextOperation && !state.has_undeferred(&self.ops) {
            return None;
        }
        let can = match operation.work {
            Work::Read(_) => array_free,
            Work::Program(_) => register_free,
            Work::Gc(_) | Work::Erase(_) => array_free && register_free,
        };
        if can { self.pop(DieQueue { die, rank }) } else { None }
    }

    /// Starts the array for `nominal`, or what the flash's noise makes of it.
    #[inline]
    fn run_array(&mut self, die: DieId, nominal: ArrayTime, now: Instant, events: &mut EventQueue) {
        let (ops, first) = (&self.ops, self.dies[die.index()].array);
        let planes = || working_planes(ops, first, self.rules.planes_per_die);
        let time = self.media.run_array(nominal, planes, now);
        let ends = now + time;
        let state = &mut self.dies[die.index()];
        if let Some(accounts) = &mut self.accounts {
            accounts.array_starts(state.array, time);
        }
        let node = &self.ops[state.array];
        if node.is_multi_plane || node.operation.planes() > 1 {
            self.media.count_multi_plane();
        }
        debug_assert!(state.array.is_some() && !state.array_timer.is_running(), "one array time runs");
        (state.array_from, state.array_ends) = (now, ends);
        state.array_timer = events.start_timer(ends, Event::DieDone(die));
    }

    /// Programs what is in the register, of which the first operation is `first`.
    #[inline]
    fn run_loaded(&mut self, die: DieId, first: OpSlot, now: Instant, events: &mut EventQueue) {
        self.each_account(first, |accounts, op| accounts.charge(op, Part::BehindPrograms, now));
        self.run_array(die, ArrayTime::of_program(self.program_time(first)), now, events);
        self.suspend_for_waiting(die, now, events);
    }

    fn want_bus(&mut self, die: DieId, op: OpSlot, now: Instant, events: &mut EventQueue) {
        let state = &mut self.dies[die.index()];
        state.transferring = op;
        if self.channels.ask(state.channel, die) {
            self.transfer(die, now, events);
        }
    }

    /// Begins the transfer of a die that has the bus.
    fn transfer(&mut self, die: DieId, now: Instant, events: &mut EventQueue) {
        let DieState { transferring, channel, .. } = self.dies[die.index()];
        let time = self.bus_time(transferring);
        self.media.run_bus(time, now);
        events.schedule(now + time, Event::BusDone(channel));
    }

    #[inline]
    fn finish(&mut self, op: OpSlot, finished: &mut Vec<FlashOperation>) {
        let operation = &self.ops[op].operation;
        if let Some(accounts) = &mut self.accounts
            && operation.owner.waits()
        {
            accounts.ends(op);
        }
        let die = self.media.die_of(operation.plane);
        self.dies[die.index()].gc_operations -= u32::from(operation.is_gc());
        self.media.finish(operation, finished);
        self.ops.remove(op);
    }

    fn finish_with_partners(&mut self, first: OpSlot, finished: &mut Vec<FlashOperation>) {
        let mut op = first;
        while op.is_some() {
            let next = self.ops[op].partner;
            self.finish(op, finished);
            op = next;
        }
    }
}

impl Scheduler for QueuedScheduler {
    #[inline]
    fn enqueue(&mut self, operation: FlashOperation, now: Instant, events: &mut EventQueue) {
        let die = self.media.die_of(operation.plane);
        if operation.is_read() && self.join_sense(die, &operation, now) {
            return;
        }
        if let Work::Program(program) = operation.work {
            if program.waits_for_others {
                if let Some(accounts) = &mut self.accounts {
                    accounts.waits_for_others(die);
                }
                return self.held.push(die, operation);
            }
            if !self.held.is_empty() {
                // A program of the SLC cache completes no group of others.
                let of = self.rules.by_program_group.then_some(program.program_group);
                self.release_group(die, of, now);
            }
        }
        let class = operation.class;
        self.push(die, operation, now);
        if class.is_host_read() {
            self.suspend(die, now, events);
        }
        self.begin(die, now, events);
    }

    fn die_done(
        &mut self,
        die: DieId,
        ticket: Ticket,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<FlashOperation>,
    ) {
        let state = &mut self.dies[die.index()];
        if !state.array_timer.ends(ticket) {
            return; // suspended meanwhile
        }
        if state.suspends_at_step {
            self.suspend_now(die, now);
            return self.begin(die, now, events);
        }
        let op = state.array;
        self.record_array_end(op, now);
        let is_read = self.ops[op].operation.is_read();
        let state = &mut self.dies[die.index()];
        if !is_read {
            state.passed_since = None;
        }
        match self.ops[op].operation.work {
            Work::Read(_) if state.register.is_some() => state.read_waits_for_register = true,
            Work::Read(_) => {
                state.array = OpSlot::NONE;
                self.start_read_transfer(die, op, now, events);
            }
            Work::Program(_) => {
                state.array = OpSlot::NONE;
                self.finish_with_partners(op, finished);
                let state = &mut self.dies[die.index()];
                if state.program_waits_for_array {
                    let next = state.register;
                    (state.program_waits_for_array, state.register, state.array) =
                        (false, OpSlot::NONE, next);
                    self.run_loaded(die, next, now, events);
                }
            }
            Work::Gc(_) | Work::Erase(_) => self.end_gc_step(die, op, now, events, finished),
        }
        self.begin(die, now, events);
    }

    fn bus_done(
        &mut self,
        channel: ChannelId,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<FlashOperation>,
    ) {
        let die = self.channels.on_bus(channel);
        let op = self.dies[die.index()].transferring;
        let partner = self.ops[op].partner;
        self.dies[die.index()].transferring = partner;
        if partner.is_some() {
            // The data of all planes of a command go over the bus one after the other.
            self.transfer(die, now, events);
        } else if let Some(next) = self.channels.release(channel) {
            self.transfer(next, now, events);
        }
        self.record_bus_end(die, op, now);
        let state = &mut self.dies[die.index()];
        match self.ops[op].operation.work {
            Work::Read(_) => {
                state.register = partner;
                if !partner.is_some() && state.read_waits_for_register {
                    let next = state.array;
                    (state.read_waits_for_register, state.array) = (false, OpSlot::NONE);
                    self.start_read_transfer(die, next, now, events);
                }
                self.finish(op, finished);
            }
            Work::Program(_) if partner.is_some() => {}
            Work::Program(_) if !state.array.is_some() => {
                let loaded = state.register;
                (state.array, state.register) = (loaded, OpSlot::NONE);
                self.run_loaded(die, loaded, now, events);
            }
            Work::Program(_) => state.program_waits_for_array = true,
            Work::Erase(_) => unreachable!("an erase carries no data"),
            Work::Gc(_) => {
                (state.array, state.register) = (op, OpSlot::NONE);
                self.ops[op].step = GcStep::Program;
                self.run_array(die, ArrayTime::of_program(self.media.timing().program), now, events);
                self.suspend_for_waiting(die, now, events);
            }
        }
        self.begin(die, now, events);
    }

    fn is_idle(&self, die: DieId, _now: Instant) -> bool {
        let state = &self.dies[die.index()];
        let works = state.array.is_some() || state.register.is_some() || state.suspended.is_some();
        !works && !state.has_waiting(RANKS + 1)
    }

    fn is_collecting(&self, die: DieId) -> bool {
        self.dies[die.index()].gc_operations > 0
    }

    fn resume_gc(&mut self, die: DieId, now: Instant, events: &mut EventQueue) -> bool {
        debug_assert!(self.is_idle(die, now), "GC goes on when the die is idle");
        let Some(op) = self.dies[die.index()].paused.pop(&self.ops) else { return false };
        self.begin_gc(die, op, now, events);
        self.record_occupant(die, now);
        true
    }

    fn promote_gc(&mut self, die: DieId) {
        let state = &self.dies[die.index()];
        let under_way = [state.array, state.register, state.suspended];
        for op in under_way.into_iter().filter(|op| op.is_some()) {
            self.promote(op);
        }
        while let Some(op) = self.pop(DieQueue { die, rank: DEFERRED }) {
            self.promote(op);
            let rank = self.rank(self.ops[op].operation.class);
            self.push_back(DieQueue { die, rank }, op);
        }
    }

    fn promote_readahead(&mut self, die: DieId, lpn: Lpn, now: Instant, events: &mut EventQueue) {
        let (from, to) = (self.rank(Class::Readahead), self.rank(Class::HostRead));
        if from == to {
            return;
        }
        let Some(op) = self.take_readahead(DieQueue { die, rank: from }, lpn) else { return };
        self.ops[op].operation.class = Class::HostRead;
        self.push_back(DieQueue { die, rank: to }, op);
        self.suspend(die, now, events);
        self.begin(die, now, events);
    }

    fn cancel_readahead(&mut self, die: DieId, lpn: Lpn) -> bool {
        let rank = self.rank(Class::Readahead);
        let Some(op) = self.take_readahead(DieQueue { die, rank }, lpn) else { return false };
        self.ops.remove(op);
        true
    }

    fn has_waiting_groups(&self) -> bool {
        !self.held.is_empty()
    }

    fn release_held(&mut self, now: Instant, events: &mut EventQueue) {
        if self.held.is_empty() {
            return;
        }
        for die in (0..self.rules.dies).map(DieId) {
            self.release_group(die, None, now);
            self.begin(die, now, events);
        }
    }

    fn record_times(&mut self, now: Instant) {
        self.keep_accounts(now);
    }

    fn set_account(&mut self, account: TimeAccount) {
        if let Some(accounts) = &mut self.accounts {
            accounts.set_next(account);
        }
    }

    fn ended_accounts(&mut self) -> Option<&mut Vec<TimeAccount>> {
        self.accounts.as_mut().map(|accounts| accounts.ended())
    }

    fn cut_power(&mut self) {
        let accounts = self.accounts.is_some().then(|| Box::new(QueuedAccounts::new(self.dies.len())));
        *self = Self { accounts, ..Self::idle(self.rules, self.media.clone()) };
    }
}

#[cfg(test)]
mod tests;
