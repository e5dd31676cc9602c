//! Dies and channels at work: each die does one thing at a time, the dies of a channel share its bus.
//!
//! A die has an array (which reads, programs, erases) and a register (which the bus fills and empties). A read
//! takes array, then register and bus; a program register and bus, then array. Without cache mode one operation
//! holds both from beginning to end; with it the next one of the same direction may use what is free. Suspended
//! programs and erases let reads pass. Like operations on several planes may share one array time.

use super::alike::{Alike, QueueId};
use super::awaiting::Awaiting;
use super::in_order::InOrder;
use super::operation::{FlashCounters, Kind, NONE, Operation, Owner, Step};
use super::queue::Queue;
use super::{Geometry, Timing};
use crate::config::DriveConfig;
use crate::divisor::Divisor;
use crate::event::{Event, EventQueue, Ticket};
use crate::ftl::Placed;
use crate::slab::Slab;
use flashlane_base::{Duration, Instant, Seed};
use flashlane_policy::scheduling::{Class, RANKS};

/// The queue of cleaning that yields.
const YIELDING: usize = RANKS;

#[derive(Clone, Debug)]
struct Die {
    /// The operation whose array time runs, or that waits in the array for the register.
    array: u32,
    /// The operation that holds the register: on the bus, waiting for it, or (a program) waiting for the array.
    register: u32,
    /// Of the register's operations on several planes, the one on the bus.
    transferring: u32,
    /// A program whose data are in the register and that waits for the array.
    loaded: bool,
    /// A read that is done in the array and waits for the register.
    sensed: bool,
    /// The event that ends the array time.
    ticket: Ticket,
    array_ends: Instant,
    suspended: u32,
    suspended_left: Duration,
    /// A cleaning in the background that something better came between: it goes on once the die has been idle again.
    paused: u32,
    /// What waits, by rank; behind all others cleaning that yields to them.
    queues: [Queue; RANKS + 1],
    channel: u32,
}

#[derive(Clone, Debug)]
struct Channel {
    busy: bool,
    /// Who is on the bus.
    die: u32,
    /// Dies that wait for the bus.
    waiting: std::collections::VecDeque<u32>,
}

impl Die {
    fn idle(channel: u32) -> Self {
        Self {
            array: NONE,
            register: NONE,
            transferring: NONE,
            loaded: false,
            sensed: false,
            ticket: Ticket::NONE,
            array_ends: Instant::ZERO,
            suspended: NONE,
            suspended_left: Duration::ZERO,
            paused: NONE,
            queues: [Queue::EMPTY; RANKS + 1],
            channel,
        }
    }

    /// Whether anything waits that is more than cleaning which is due.
    fn is_wanted(&self, ops: &Slab<Operation>) -> bool {
        self.queues.iter().any(|queue| {
            let mut op = queue.first;
            while op != NONE && ops[op].due {
                op = ops[op].next;
            }
            op != NONE
        })
    }
}

/// All dies and channels.
#[derive(Clone)]
pub struct FlashArray {
    ops: Slab<Operation>,
    dies: Vec<Die>,
    /// Kept where operations share array times or reads overtake.
    alike: Option<Alike>,
    awaiting: Awaiting,
    channels: Vec<Channel>,
    timing: Timing,
    ranks: [usize; 4],
    /// The planes of a die, by which planes are divided.
    per_die: Divisor,
    page_bytes: u64,
    /// Mapping units of a flash page: so many programs on a plane share one array time.
    units_per_page: u32,
    copyback: bool,
    cache_mode: bool,
    preemptible: bool,
    /// Whether cleaning that is due waits for the next operation.
    lazy: bool,
    /// Set where every die has a bus of its own and nothing can come between its operations: the rest of this is then
    /// not used. Exact, since the bus is free whenever its die wants it.
    in_order: Option<InOrder>,
    counters: FlashCounters,
}

impl FlashArray {
    /// The array of a profile. Requires: `config` is validated.
    pub fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        let flash = &config.flash;
        let timing = Timing::new(config, seed);
        let scheduler = config
            .policies
            .scheduling
            .build(&config.scheduling.policy, &config.scheduling.options.options())
            .expect("validation built every policy once");
        let classes = [Class::HostRead, Class::Readahead, Class::HostWrite, Class::Cleaning];
        let ranks = classes.map(|class| scheduler.rank(class));
        let in_order = config.lanes.is_none()
            && geometry.dies == geometry.channels
            && !flash.cache_mode
            && !flash.multi_plane
            && geometry.units_per_flash_page == 1
            && timing.suspend.is_none()
            && (flash.copyback && !config.cleaning.preemptible && !config.cleaning.yields)
            && ranks.iter().all(|rank| *rank == ranks[0]);
        let multi_plane = flash.multi_plane && geometry.planes_per_die > 1;
        let alike = Alike::new(
            geometry.dies,
            geometry.planes_per_die,
            geometry.units_per_flash_page,
            multi_plane,
            timing.suspend.is_some(),
        );
        Self {
            ops: Slab::new(),
            dies: (0..geometry.dies).map(|die| Die::idle(geometry.channel_of(die))).collect(),
            alike,
            awaiting: Awaiting::new(geometry.dies),
            channels: vec![
                Channel { busy: false, die: 0, waiting: Default::default() };
                geometry.channels as usize
            ],
            timing,
            ranks,
            per_die: Divisor::new(geometry.planes_per_die),
            page_bytes: geometry.page_bytes,
            units_per_page: geometry.units_per_flash_page,
            copyback: flash.copyback,
            cache_mode: flash.cache_mode,
            preemptible: config.cleaning.preemptible,
            lazy: config.cleaning.lazy,
            in_order: in_order.then(|| InOrder::new(config, geometry.dies)),
            counters: FlashCounters::default(),
        }
    }

    /// Power is cut: whatever waits or is under way is gone.
    pub(crate) fn cut(&mut self) {
        self.ops = Slab::new();
        for die in &mut self.dies {
            *die = Die::idle(die.channel);
        }
        self.awaiting.clear();
        self.alike.iter_mut().for_each(Alike::clear);
        for channel in &mut self.channels {
            channel.busy = false;
            channel.waiting.clear();
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> FlashCounters {
        self.counters
    }

    /// Whether a die neither works nor has anything waiting, but for a cleaning that waits for just that.
    pub fn is_idle(&self, die: u32, now: Instant) -> bool {
        if let Some(in_order) = &self.in_order {
            return in_order.is_idle(die, now);
        }
        let state = &self.dies[die as usize];
        state.array == NONE
            && state.register == NONE
            && state.suspended == NONE
            && state.queues.iter().all(|queue| queue.first == NONE)
    }

    /// Lets an idle die go on with the cleaning that it was interrupted in; false where there is none.
    pub fn resume_cleaning(&mut self, die: u32, now: Instant, events: &mut EventQueue) -> bool {
        let state = &mut self.dies[die as usize];
        let op = std::mem::replace(&mut state.paused, NONE);
        if op != NONE {
            state.array = op;
            self.begin_clean(die, op, now, events);
        }
        op != NONE
    }

    /// Queues an operation at its die, which begins it at once if it can; a program that awaits others with the first
    /// that does not.
    #[inline]
    pub fn enqueue(&mut self, operation: Operation, now: Instant, events: &mut EventQueue) {
        let die = self.per_die.of(operation.plane);
        if self.in_order.is_some() {
            return self.enqueue_in_order(die, &operation, now, events);
        }
        if operation.awaits {
            return self.awaiting.push(die, operation);
        }
        if operation.kind == Kind::Program && !self.awaiting.is_empty() {
            self.recall(die);
        }
        let class = operation.class;
        self.counters.multi_plane += u64::from(operation.pages - 1);
        self.push(die, operation);
        if class == Class::HostRead && self.timing.suspend.is_some() {
            self.suspend(die, now);
        }
        self.begin(die, now, events);
    }

    fn push(&mut self, die: u32, operation: Operation) {
        let rank = if operation.yields { YIELDING } else { self.ranks[operation.class as usize] };
        let op = self.ops.insert(operation);
        self.push_back(QueueId { die, rank }, op);
    }

    /// Puts an operation behind the others of a queue.
    #[inline]
    fn push_back(&mut self, id: QueueId, op: u32) {
        let queue = &mut self.dies[id.die as usize].queues[id.rank];
        if let Some(alike) = &mut self.alike {
            alike.push(&self.ops, queue, id, op);
        }
        queue.push(&mut self.ops, op);
    }

    /// Puts an operation before the others of a queue.
    fn push_front(&mut self, id: QueueId, op: u32) {
        let queue = &mut self.dies[id.die as usize].queues[id.rank];
        if let Some(alike) = &mut self.alike {
            alike.push_front(&self.ops, queue, id, op);
        }
        queue.push_front(&mut self.ops, op);
    }

    /// Takes the first operation out of a queue.
    #[inline]
    fn pop(&mut self, id: QueueId) -> Option<u32> {
        let op = self.dies[id.die as usize].queues[id.rank].pop(&self.ops)?;
        if let Some(alike) = &mut self.alike {
            alike.remove(&self.ops, id, op);
        }
        Some(op)
    }

    /// Lets cleaning on a die yield no longer: it goes before what comes from now on.
    pub fn insist(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let under_way = [state.array, state.register, state.suspended];
        for op in under_way.into_iter().filter(|&op| op != NONE) {
            self.ops[op].yields = false;
        }
        while let Some(op) = self.pop(QueueId { die, rank: YIELDING }) {
            self.ops[op].yields = false;
            let rank = self.ranks[self.ops[op].class as usize];
            self.push_back(QueueId { die, rank }, op);
        }
    }

    /// Queues the programs of a die that have waited for others.
    fn recall(&mut self, die: u32) {
        let waiting = self.awaiting.take(die);
        waiting.iter().for_each(|&operation| self.push(die, operation));
        self.awaiting.give_back(die, waiting);
    }

    /// Lets no program wait for others any longer.
    pub fn recall_all(&mut self, now: Instant, events: &mut EventQueue) {
        if self.awaiting.is_empty() {
            return;
        }
        for die in 0..self.dies.len() as u32 {
            self.recall(die);
            self.begin(die, now, events);
        }
    }

    /// Queues a program for each of these places, which are those of pages that follow each other from `program`'s on.
    pub fn enqueue_run(
        &mut self,
        mut program: Operation,
        places: &[Placed],
        now: Instant,
        events: &mut EventQueue,
    ) {
        if let Some(in_order) = self.in_order.as_mut().filter(|in_order| in_order.joins_programs()) {
            let timing = &mut self.timing;
            for place in places {
                debug_assert!(place.parity.is_none(), "parity refuses copyback, which this demands");
                let array = timing.array(timing.programming(place.fills_block));
                self.counters.array_busy_ns += array.as_ns();
                in_order.share(self.per_die.of(place.plane), array);
            }
            let bus = timing.bus(program.bus_bytes);
            self.counters.bus_busy_ns += bus.as_ns() * places.len() as u64;
            return in_order.push_shares(&program, bus, now, events);
        }
        for place in places {
            (program.plane, program.fills_block) = (place.plane, place.fills_block);
            self.enqueue(program, now, events);
            program.page += 1;
            if let Some(plane) = place.parity {
                self.enqueue(self.parity(plane), now, events);
            }
        }
    }

    /// The program of a parity page.
    pub fn parity(&self, plane: u32) -> Operation {
        Operation::new(Kind::Program, Owner::Nobody, Class::HostWrite, plane, 0, self.page_bytes)
    }

    #[inline]
    fn enqueue_in_order(&mut self, die: u32, operation: &Operation, now: Instant, events: &mut EventQueue) {
        let timing = &mut self.timing;
        let (array, bus) = match operation.kind {
            Kind::Read => (timing.read * u64::from(1 + operation.retries), operation.bus_bytes),
            Kind::Program => (timing.programming(operation.fills_block), operation.bus_bytes),
            Kind::Clean { moves, summaries, erases, .. } => {
                let moved = (timing.read + timing.program) * u64::from(moves);
                (moved + timing.erase * u64::from(erases) + timing.summary * u64::from(summaries), 0)
            }
        };
        let array = timing.array(array);
        let bus = if bus > 0 { timing.bus(bus) } else { Duration::ZERO };
        self.counters.array_busy_ns += array.as_ns();
        self.counters.bus_busy_ns += bus.as_ns();
        let in_order = self.in_order.as_mut().expect("only called where dies serve in order");
        in_order.push(die, operation, array + bus, now, events);
    }

    /// The array time of `die` ended. Operations that are finished are appended to `finished`.
    #[inline]
    pub fn array_done(
        &mut self,
        die: u32,
        ticket: Ticket,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<Operation>,
    ) {
        if let Some(in_order) = &mut self.in_order {
            if let Some(operation) = in_order.pop(die, now, events) {
                self.report(operation, finished);
            }
            return;
        }
        let state = &mut self.dies[die as usize];
        if state.ticket != ticket {
            return; // suspended meanwhile
        }
        state.ticket = Ticket::NONE;
        let op = state.array;
        match self.ops[op].kind {
            Kind::Read => {
                if state.register == NONE {
                    state.array = NONE;
                    self.sensed(die, op, now, events);
                } else {
                    state.sensed = true;
                }
            }
            Kind::Program => {
                state.array = NONE;
                self.finish_group(op, finished);
                let state = &mut self.dies[die as usize];
                if state.loaded {
                    let next = state.register;
                    (state.loaded, state.register, state.array) = (false, NONE, next);
                    self.run_array(die, self.program_time(next), now, events);
                }
            }
            Kind::Clean { .. } => self.clean_step(die, op, now, events, finished),
        }
        self.begin(die, now, events);
    }

    /// The transfer over `channel` ended.
    pub fn bus_done(
        &mut self,
        channel: u32,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<Operation>,
    ) {
        let die = self.channels[channel as usize].die;
        self.next_transfer(channel, now, events);
        let state = &mut self.dies[die as usize];
        let op = state.transferring;
        state.transferring = NONE;
        let partner = self.ops[op].partner;
        match self.ops[op].kind {
            Kind::Read => {
                state.register = partner;
                if partner != NONE {
                    self.want_bus(die, partner, now, events);
                } else if state.sensed {
                    let next = state.array;
                    (state.sensed, state.array) = (false, NONE);
                    self.sensed(die, next, now, events);
                }
                self.finish(op, finished);
            }
            Kind::Program if partner != NONE => self.want_bus(die, partner, now, events),
            Kind::Program if state.array == NONE => {
                let loaded = state.register;
                (state.array, state.register) = (loaded, NONE);
                self.run_array(die, self.program_time(loaded), now, events);
            }
            Kind::Program => state.loaded = true,
            Kind::Clean { .. } => {
                (state.array, state.register) = (op, NONE);
                self.ops[op].step = Step::Program;
                self.run_array(die, self.timing.program, now, events);
            }
        }
        self.begin(die, now, events);
    }

    /// Lets waiting operations start on whatever of the die is free.
    fn begin(&mut self, die: u32, now: Instant, events: &mut EventQueue) {
        // With cache mode a read may free the array for the next at once; two rounds then find work.
        while let Some(op) = self.next_operation(die, now, events) {
            if let Some(alike) = &mut self.alike {
                let rank = self.ranks[self.ops[op].class as usize];
                let queue = &mut self.dies[die as usize].queues[rank];
                let id = QueueId { die, rank };
                self.counters.multi_plane += match self.ops[op].paced {
                    true => alike.join_steps(&mut self.ops, queue, id, op),
                    false => alike.join(&mut self.ops, queue, id, op),
                };
            }
            let state = &mut self.dies[die as usize];
            match self.ops[op].kind {
                Kind::Read => {
                    state.array = op;
                    let read = self.timing.read * u64::from(1 + self.retries(op));
                    self.run_array(die, read, now, events);
                }
                Kind::Program => {
                    state.register = op;
                    self.want_bus(die, op, now, events);
                }
                Kind::Clean { .. } => {
                    state.array = op;
                    self.begin_clean(die, op, now, events);
                }
            }
        }
    }

    /// Takes the operation that the die can begin now, if there is one.
    #[inline]
    fn next_operation(&mut self, die: u32, now: Instant, events: &mut EventQueue) -> Option<u32> {
        let state = &mut self.dies[die as usize];
        let array_free = state.array == NONE;
        let register_free = state.register == NONE;
        if !(self.cache_mode || array_free && register_free) {
            return None;
        }
        if state.suspended != NONE {
            return self.next_while_suspended(die, now, events);
        }
        let rank = state.queues.iter().position(|queue| queue.first != NONE)?;
        let first = state.queues[rank].first;
        if self.lazy && self.ops[first].due && !state.is_wanted(&self.ops) {
            return None;
        }
        let can = match self.ops[first].kind {
            _ if array_free && register_free => true,
            // Only with cache mode: pipelining goes in one direction (chen11, section 5.2).
            Kind::Read => array_free && self.ops[state.register].kind == Kind::Read,
            Kind::Program => register_free && self.ops[state.array].kind == Kind::Program,
            Kind::Clean { .. } => false,
        };
        if can { self.pop(QueueId { die, rank }) } else { None }
    }

    /// While a program or erase is suspended only reads begin; after the last it goes on where it was.
    fn next_while_suspended(&mut self, die: u32, now: Instant, events: &mut EventQueue) -> Option<u32> {
        let state = &mut self.dies[die as usize];
        if state.array != NONE || state.register != NONE {
            return None;
        }
        let rank = self.ranks[Class::HostRead as usize];
        let alike = self.alike.as_mut().expect("kept where the flash suspends");
        let read = alike.take_host_read(&mut self.ops, &mut state.queues[rank], QueueId { die, rank });
        if read.is_none() {
            (state.array, state.suspended) = (state.suspended, NONE);
            state.array_ends = now + state.suspended_left;
            state.ticket = events.schedule(state.array_ends, Event::Array(die));
        }
        read
    }

    /// Interrupts a program or a cleaning for a read.
    fn suspend(&mut self, die: u32, now: Instant) {
        let overhead = self.timing.suspend.expect("only called where suspending is on");
        let state = &mut self.dies[die as usize];
        let running = state.ticket != Ticket::NONE && state.register == NONE && state.suspended == NONE;
        if !running || self.ops[state.array].kind == Kind::Read {
            return;
        }
        state.suspended = state.array;
        state.suspended_left = state.array_ends.since(now) + overhead;
        state.array = NONE;
        state.ticket = Ticket::NONE;
        self.counters.suspends += 1;
    }

    /// Further looks that a read takes, and those that share its array time: the most that one of them needs.
    fn retries(&self, mut op: u32) -> u32 {
        let mut most = 0;
        while op != NONE {
            most = most.max(self.ops[op].retries);
            op = self.ops[op].partner;
        }
        most
    }

    /// The array time of a program and those that share it: with the summary, where one of them fills its block.
    fn program_time(&self, mut op: u32) -> Duration {
        let mut fills_block = false;
        while op != NONE {
            fills_block |= self.ops[op].fills_block;
            op = self.ops[op].partner;
        }
        self.timing.programming(fills_block)
    }

    /// A read's data are in the register.
    fn sensed(&mut self, die: u32, op: u32, now: Instant, events: &mut EventQueue) {
        self.dies[die as usize].register = op;
        self.want_bus(die, op, now, events);
    }

    /// Starts the array for `nominal`, or what the flash's noise makes of it.
    #[inline]
    fn run_array(&mut self, die: u32, nominal: Duration, now: Instant, events: &mut EventQueue) {
        let time = self.timing.array(nominal);
        self.counters.array_busy_ns += time.as_ns();
        let ends = now + time;
        let state = &mut self.dies[die as usize];
        state.array_ends = ends;
        state.ticket = events.schedule(ends, Event::Array(die));
    }

    fn bus_time(&self, op: u32) -> Duration {
        let op = &self.ops[op];
        match op.kind {
            // Out of each plane's register and into the controller, then back.
            Kind::Clean { moves, planes, .. } => {
                self.timing.bus(self.page_bytes) * 2 * self.units_at_once(moves) * u64::from(planes)
            }
            // The pages of several planes, one after the other.
            _ if op.pages > 1 => self.timing.bus(op.bus_bytes / u64::from(op.pages)) * u64::from(op.pages),
            _ => self.timing.bus(op.bus_bytes),
        }
    }

    fn want_bus(&mut self, die: u32, op: u32, now: Instant, events: &mut EventQueue) {
        let state = &mut self.dies[die as usize];
        state.transferring = op;
        let channel = state.channel;
        if self.channels[channel as usize].busy {
            self.channels[channel as usize].waiting.push_back(die);
        } else {
            self.transfer(channel, die, now, events);
        }
    }

    fn next_transfer(&mut self, channel: u32, now: Instant, events: &mut EventQueue) {
        self.channels[channel as usize].busy = false;
        if let Some(die) = self.channels[channel as usize].waiting.pop_front() {
            self.transfer(channel, die, now, events);
        }
    }

    fn transfer(&mut self, channel: u32, die: u32, now: Instant, events: &mut EventQueue) {
        let time = self.bus_time(self.dies[die as usize].transferring);
        self.counters.bus_busy_ns += time.as_ns();
        let state = &mut self.channels[channel as usize];
        (state.busy, state.die) = (true, die);
        events.schedule(now + time, Event::Bus(channel));
    }

    /// Mapping units that a cleaning with `moves` of them left moves next: they may lie on as many pages, and are
    /// programmed as one.
    fn units_at_once(&self, moves: u32) -> u64 {
        u64::from(moves.min(self.units_per_page))
    }

    /// Starts a cleaning, or goes on with the next page of one.
    fn begin_clean(&mut self, die: u32, op: u32, now: Instant, events: &mut EventQueue) {
        let Kind::Clean { moves, summaries, erases, .. } = self.ops[op].kind else {
            unreachable!("only cleanings clean")
        };
        let (read, program) = (self.timing.read, self.timing.program);
        // When in a cleaning the summaries are written is left open: with the erase, where steps are apart.
        let erase = self.timing.erase * u64::from(erases) + self.timing.summary * u64::from(summaries);
        let (step, time) = if self.copyback && !self.preemptible && !self.ops[op].yields {
            let programs = u64::from(moves.div_ceil(self.units_per_page));
            (Step::Whole, read * u64::from(moves) + program * programs + erase)
        } else if moves == 0 {
            (Step::Erase, erase)
        } else if self.copyback {
            (Step::Move, read * self.units_at_once(moves) + program)
        } else {
            (Step::Move, read * self.units_at_once(moves))
        };
        self.ops[op].step = step;
        self.run_array(die, time, now, events);
    }

    /// A step of a cleaning ended in the array: on to the next, unless something better waits.
    fn clean_step(
        &mut self,
        die: u32,
        op: u32,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<Operation>,
    ) {
        let Kind::Clean { moves, summaries, erases, planes } = self.ops[op].kind else {
            unreachable!("only cleanings have steps")
        };
        let left = moves.saturating_sub(self.units_per_page);
        let state = &mut self.dies[die as usize];
        match self.ops[op].step {
            Step::Whole | Step::Erase => {
                state.array = NONE;
                self.finish(op, finished);
            }
            Step::Move if !self.copyback => {
                (state.array, state.register) = (NONE, op);
                self.ops[op].step = Step::Bus;
                self.want_bus(die, op, now, events);
            }
            Step::Move | Step::Program => {
                self.ops[op].kind = Kind::Clean { moves: left, summaries, erases, planes };
                if self.ops[op].paced && left + summaries + erases == 0 {
                    state.array = NONE;
                    return self.finish(op, finished);
                }
                let rank = self.ranks[self.ops[op].class as usize];
                let wanted = state.queues[..YIELDING].iter().any(|queue| queue.first != NONE);
                if self.ops[op].yields && wanted {
                    state.array = NONE;
                    self.push_front(QueueId { die, rank: YIELDING }, op);
                } else if self.preemptible && state.queues[..rank].iter().any(|queue| queue.first != NONE) {
                    state.array = NONE;
                    if self.ops[op].class == Class::Cleaning {
                        state.paused = op;
                    } else {
                        self.push_front(QueueId { die, rank }, op);
                    }
                } else {
                    self.begin_clean(die, op, now, events);
                }
            }
            Step::Bus => unreachable!("the bus ends this step"),
        }
    }

    #[inline]
    fn finish(&mut self, op: u32, finished: &mut Vec<Operation>) {
        let operation = self.ops[op];
        self.ops.remove(op);
        self.report(operation, finished);
    }

    /// An operation is done.
    #[inline]
    fn report(&mut self, operation: Operation, finished: &mut Vec<Operation>) {
        match operation.kind {
            // Those of cleaning are counted by the translation layer.
            Kind::Read if operation.owner == Owner::Nobody => {}
            Kind::Read => self.counters.reads += u64::from(operation.pages),
            Kind::Program => self.counters.programs += u64::from(operation.pages),
            Kind::Clean { .. } => {}
        }
        if operation.owner != Owner::Nobody {
            finished.push(operation);
        }
    }

    fn finish_group(&mut self, first: u32, finished: &mut Vec<Operation>) {
        let mut op = first;
        while op != NONE {
            let next = self.ops[op].partner;
            self.finish(op, finished);
            op = next;
        }
    }
}
