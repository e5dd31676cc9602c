//! The drive: requests come in over the link, go through buffer, cache and translation, become flash operations,
//! and complete.
//!
//! One step takes whatever happens next (an event of the flash, or the end of a transfer over the link) and
//! follows it as far as it goes without time passing. What a read does stands in `read`, a write in `write`.

mod cut;
mod powered;
mod read;
mod write;

use crate::buffer::{DrainCause, Owed, WriteBuffer};
use crate::cache::ReadCache;
use crate::config::{CommandsWait, DriveConfig, Takes};
use crate::event::{Event, EventQueue, Ticket};
use crate::ftl::{Clean, Ftl, FtlCounters, Placed, Watch, unwatched};
use crate::host::{Direction, Exclusion, Holder, Link, Returns, Side, Submission, Transfer};
use crate::nand::{Correction, FlashArray, Geometry, Kind, Operation as FlashOperation, Owner};
use crate::request::HostRequest;
use crate::slab::Slab;
use flashlane_base::{Duration, Instant, Seed};
use flashlane_device::{
    AtRisk, Completion, Counters, Device, Operation, OverProvisioning, Profile, Request, SubmitError,
};
use flashlane_policy::readahead::Readahead;
use flashlane_policy::scheduling::Class;
use powered::Powered;
use std::collections::{BTreeMap, VecDeque};

/// A simulated conventional drive.
pub struct Drive {
    config: DriveConfig,
    seed: Seed,
    profile: Profile,
    geometry: Geometry,
    now: Instant,
    events: EventQueue,
    trace_hash: u64,
    requests: Slab<HostRequest>,
    in_flight: u32,
    host: Submission,
    returns: Returns,
    link: Link,
    commands_wait: CommandsWait,
    /// Commands that wait for the link.
    held: VecDeque<u32>,
    /// Whether completions of writes cross the link.
    completions_wait: bool,
    /// Whether a read crosses the link in one piece.
    whole_reads: bool,
    exclusion: Option<Exclusion>,
    correction: Option<Correction>,
    readahead: Option<(Box<dyn Readahead>, ReadCache)>,
    buffer: Option<WriteBuffer>,
    /// Which writes go to the buffer.
    takes: Takes,
    /// What the buffer takes to acknowledge one of them.
    buffer_latency: Duration,
    ftl: Ftl,
    flash: FlashArray,
    /// Whether cleaning reads what it moves into the controller's memory before it programs it again.
    moves_in_runs: bool,
    background: Option<Background>,
    /// Writes that wait for room in the buffer, first come first.
    stalled: VecDeque<u32>,
    /// Slots of buffered pages for which there was no block left.
    lost: Vec<u32>,
    /// Flushes that wait for the buffer.
    flushing: Vec<u32>,
    /// Writes, but for durable ones, that were completed, or will be at once since the buffer has them.
    acknowledged: u64,
    /// Pages that were in the buffer when a write overtook them that is not on flash yet: what is lost with it, and its
    /// request.
    overtaken: BTreeMap<u32, (Owed, u32)>,
    rest: Rest,
    /// Whether the host has been silent for long enough that the buffer is drained ahead of need.
    resting: bool,
    completed: Vec<Completion>,
    counts: Counts,
    /// What was counted before the last power cut, by those who count anew since.
    past: Counters,
    // Lists that are filled and emptied within a step, kept to spare their allocation.
    finished: Vec<FlashOperation>,
    cleaned: Vec<Clean>,
    placed: Vec<Placed>,
    admitted: Vec<Holder>,
    flushed: Vec<u32>,
    fetched: Vec<u32>,
}

/// When the host counts as silent.
struct Rest {
    /// How long after it had nothing in flight any more; never where absent.
    after: Option<Duration>,
    /// The event that ends that time.
    ticket: Ticket,
}

/// Cleaning of idle dies.
struct Background {
    idle: Duration,
    /// The event that ends each die's idle time.
    tickets: Vec<Ticket>,
}

#[derive(Default)]
struct Counts {
    reads: u64,
    writes: u64,
    trims: u64,
    flushes: u64,
    pages_read: u64,
    pages_written: u64,
    buffer_hits: u64,
    buffer_absorbed: u64,
    buffer_stalls: u64,
    cache_hits: u64,
    pages_fetched_ahead: u64,
    exclusion_waits: u64,
    read_retries: u64,
    pages_unreadable: u64,
    pages_lost: u64,
}

impl Drive {
    /// A drive in its profile's initial state. Requires: `config` was loaded, and so validated, by
    /// [`crate::config::load`] or [`crate::config::parse`].
    ///
    /// # Panics
    /// Where the profile has lanes: it is an [`Sdf`](crate::Sdf)'s.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
        Self::watched(config, seed, &mut unwatched).expect("nothing stops it")
    }

    /// The same; nothing where `watch` breaks while the drive is prepared, which takes time that goes with its pages.
    ///
    /// # Panics
    /// As [`Drive::new`].
    pub fn watched(config: &DriveConfig, seed: Seed, watch: Watch<'_>) -> Option<Self> {
        assert!(config.lanes.is_none(), "a profile with [lanes] is that of an Sdf");
        let geometry = Geometry::new(config);
        let mut ftl = Ftl::new(config, seed);
        if ftl.prepare(config, seed, watch).is_break() {
            return None;
        }
        let background = ftl.cleans_when_idle().then(|| Background {
            idle: config.cleaning.idle.0,
            tickets: vec![Ticket::NONE; geometry.dies as usize],
        });
        let Powered { link, held, exclusion, readahead, buffer, flash } =
            Powered::new(config, &geometry, seed);
        Some(Self {
            config: config.clone(),
            seed,
            profile: Profile {
                name: format!("sim:{}", config.name),
                capacity_bytes: config.capacity.0,
                lanes: 1,
                read_unit_bytes: config.sector.0,
                write_unit_bytes: config.sector.0,
                erase_unit_bytes: 0,
                depth: config.link.depth,
                simulated: true,
                read_only: false,
                over_provisioning: config
                    .over_provisioning()
                    .map(|share| OverProvisioning { share, profile_share: config.file_over_provisioning }),
            },
            now: Instant::ZERO,
            events: EventQueue::default(),
            trace_hash: 0,
            requests: Slab::new(),
            in_flight: 0,
            host: Submission::new(&config.host, seed),
            returns: Returns::new(config.host.completion.0),
            link,
            completions_wait: config.link.completions_wait,
            whole_reads: config.link.whole_reads,
            commands_wait: config.link.commands_wait,
            held,
            correction: Correction::new(config, seed),
            exclusion,
            readahead,
            buffer,
            buffer_latency: config.buffer.as_ref().map(|buffer| buffer.latency.0).unwrap_or_default(),
            takes: config.buffer.as_ref().map(|buffer| buffer.takes).unwrap_or_default(),
            flash,
            ftl,
            moves_in_runs: config.flash.cache_mode && geometry.has_superblocks(),
            geometry,
            background,
            stalled: VecDeque::new(),
            lost: Vec::new(),
            flushing: Vec::new(),
            acknowledged: 0,
            overtaken: BTreeMap::new(),
            rest: Rest {
                after: config.buffer.as_ref().and_then(|buffer| buffer.idle_drain).map(|time| time.0),
                ticket: Ticket::NONE,
            },
            resting: false,
            completed: Vec::new(),
            counts: Counts::default(),
            past: Counters::default(),
            finished: Vec::new(),
            cleaned: Vec::new(),
            placed: Vec::new(),
            admitted: Vec::new(),
            flushed: Vec::new(),
            fetched: Vec::new(),
        })
    }

    /// The same drive under another name in results: the spec by which it was asked for.
    pub fn named(mut self, name: String) -> Self {
        self.profile.name = name;
        self
    }

    /// A hash over every event so far, its time and its place: equal for equal profile, workload and seed, on any
    /// machine.
    pub fn trace_hash(&self) -> u64 {
        self.trace_hash
    }

    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Least, mean and largest erase count of a block.
    pub fn wear_spread(&self) -> (u32, f64, u32) {
        self.ftl.wear_spread()
    }

    /// When something happens next.
    #[inline]
    fn next_time(&self) -> Instant {
        self.events.next_time().min(self.link.next_time())
    }

    /// Lets the next thing happen: the link before the flash on a tie.
    #[inline]
    fn step(&mut self) {
        if self.link.next_time() <= self.events.next_time() {
            let (time, transfer) = self.link.pop().expect("a time was given for it");
            self.advance(time, 1 << 62 | u64::from(transfer.request));
            self.transferred(transfer);
            return;
        }
        let (time, ticket, event) = self.events.pop().expect("a time was given for it");
        match event {
            Event::Arrival(request) => {
                self.advance(time, u64::from(request));
                self.issue(request);
            }
            Event::Array(die) => {
                self.advance(time, 1 << 60 | u64::from(die));
                let mut finished = std::mem::take(&mut self.finished);
                self.flash.array_done(die, ticket, time, &mut self.events, &mut finished);
                self.follow(finished, die);
            }
            Event::Bus(channel) => {
                self.advance(time, 1 << 61 | u64::from(channel));
                let mut finished = std::mem::take(&mut self.finished);
                self.flash.bus_done(channel, time, &mut self.events, &mut finished);
                let die = finished.first().map(|op| self.geometry.die_of(op.plane));
                if let Some(die) = die {
                    self.follow(finished, die);
                } else {
                    self.finished = finished;
                }
            }
            Event::Idle(die) => {
                let current = self.background.as_ref().is_some_and(|b| b.tickets[die as usize] == ticket);
                if current {
                    self.advance(time, 3 << 60 | u64::from(die));
                    self.clean_idle_die(die);
                }
            }
            Event::Rest => {
                if ticket == self.rest.ticket {
                    self.advance(time, 5 << 60);
                    self.resting = true;
                    self.drain();
                }
            }
            Event::Acknowledged(request) => {
                self.advance(time, 6 << 60 | u64::from(request));
                self.written(request, 1);
            }
            Event::Returned(request) => {
                self.advance(time, 7 << 60 | u64::from(request));
                self.hand_back(request);
            }
        }
    }

    #[inline]
    fn advance(&mut self, time: Instant, event: u64) {
        debug_assert!(time >= self.now, "time does not go back");
        self.now = time;
        self.trace_hash =
            (self.trace_hash.rotate_left(5) ^ time.as_ns() ^ event).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// The host issues a request's command, which may have to wait for the link.
    fn issue(&mut self, request: u32) {
        if self.commands_wait != CommandsWait::No && self.link.is_busy() {
            self.held.push_back(request);
        } else {
            self.arrive(request);
        }
    }

    /// Sends the commands that waited for a transfer to end.
    fn issue_held(&mut self) {
        match self.commands_wait {
            CommandsWait::No => {}
            CommandsWait::BySlot => {
                let mut held = std::mem::take(&mut self.held);
                held.make_contiguous().sort_unstable();
                for request in held.drain(..) {
                    self.arrive(request);
                }
                self.held = held;
            }
            CommandsWait::ByArrival => {
                // The first of them with data takes the link again, and the others go on waiting.
                while !self.link.is_busy()
                    && let Some(request) = self.held.pop_front()
                {
                    self.arrive(request);
                }
            }
        }
    }

    /// A request reaches the drive.
    fn arrive(&mut self, request: u32) {
        match self.requests[request].operation {
            Operation::Read => self.read_arrived(request),
            Operation::Write => {
                if self.may_enter(Side::Write, request) {
                    self.receive(request);
                }
            }
            Operation::Trim | Operation::Flush => self.send(request, 0, 0, Direction::In),
            Operation::Erase => unreachable!("the profile has no erase unit: submit refused it"),
        }
    }

    /// Asks for the controller; the request waits where it is refused.
    fn may_enter(&mut self, side: Side, request: u32) -> bool {
        let Some(exclusion) = &mut self.exclusion else { return true };
        self.requests[request].excluding = true;
        let granted = exclusion.enter(side, Holder::Request(request));
        self.counts.exclusion_waits += u64::from(!granted);
        granted
    }

    /// Gives the controller back and lets those go on who waited for it.
    fn leave(&mut self, side: Side, request: u32) {
        if std::mem::take(&mut self.requests[request].excluding) {
            self.give_back(side);
        }
    }

    fn give_back(&mut self, side: Side) {
        let mut admitted = std::mem::take(&mut self.admitted);
        self.exclusion.as_mut().expect("only an exclusion lets requests in").leave(side, &mut admitted);
        for holder in admitted.drain(..) {
            match holder {
                Holder::Fetch(page) => self.fetch(page),
                Holder::Request(request) => match self.requests[request].operation {
                    Operation::Read => self.read_pages(request),
                    _ => self.receive(request),
                },
            }
        }
        self.admitted = admitted;
    }

    /// Sends a part of a request over the link.
    #[inline]
    fn send(&mut self, request: u32, pages: u32, bytes: u64, direction: Direction) {
        let command = !std::mem::replace(&mut self.requests[request].commanded, true);
        // A completion that crosses the link stands for the pages of its write, but carries none.
        let carried = match direction {
            Direction::Out if bytes > 0 => pages,
            Direction::Out => 0,
            Direction::In => self.requests[request].pages_over(bytes, self.geometry.page_bytes),
        };
        self.link.send(self.now, Transfer { request, pages, direction }, bytes, carried, command);
    }

    /// A transfer over the link ended.
    #[inline]
    fn transferred(&mut self, transfer: Transfer) {
        match transfer.direction {
            Direction::Out => self.done(transfer.request, transfer.pages),
            Direction::In => self.received(transfer.request),
        }
        self.issue_held();
    }

    /// `pages` pages of a request are done; with the last of them it completes.
    #[inline]
    fn done(&mut self, request: u32, pages: u32) {
        let state = &mut self.requests[request];
        state.pending -= pages;
        if state.pending == 0 {
            self.complete(request);
        }
    }

    /// Pages of a write are safe.
    #[inline]
    fn written(&mut self, request: u32, pages: u32) {
        if self.completions_wait && self.requests[request].pending == pages {
            self.send(request, pages, 0, Direction::Out);
        } else {
            self.done(request, pages);
        }
    }

    /// The drive has done what was asked of it.
    #[inline]
    fn complete(&mut self, request: u32) {
        match self.returns.next(self.now) {
            None => self.hand_back(request),
            Some(time) => {
                self.events.schedule(time, Event::Returned(request));
            }
        }
    }

    /// The caller has its answer.
    #[inline]
    fn hand_back(&mut self, request: u32) {
        let state = &self.requests[request];
        // Writes past the buffer count among those that it completed, as they are told apart by no one else.
        let counts = state.operation == Operation::Write && !state.durable && !state.acknowledged;
        self.acknowledged += u64::from(counts);
        self.completed.push(Completion {
            id: state.id,
            submitted: state.submitted,
            completed: self.now,
            outcome: state.outcome,
        });
        self.requests.remove(request);
        self.in_flight -= 1;
        if self.in_flight == 0
            && let Some(after) = self.rest.after
        {
            self.rest.ticket = self.events.schedule(self.now + after, Event::Rest);
        }
    }

    /// Does what follows from finished flash operations of `die`.
    #[inline]
    fn follow(&mut self, mut finished: Vec<FlashOperation>, die: u32) {
        for operation in finished.drain(..) {
            match operation.owner {
                Owner::Request(request) if operation.kind == Kind::Read => {
                    self.page_read(request, &operation)
                }
                Owner::Request(request) => self.pages_written(request, &operation),
                Owner::Drain(slot) => self.page_drained(slot),
                Owner::DrainFill(slot) => self.page_filled(operation.page, slot),
                Owner::RequestFill(request) => self.program(operation.page, Owner::Request(request)),
                Owner::Readahead => self.page_fetched(operation.page),
                Owner::Cleaning => self.clean_idle_die(die),
                Owner::Nobody => {}
            }
        }
        self.finished = finished;
        if self.background.is_some() {
            self.watch_idleness(die);
        }
    }

    /// If `die` has become idle, notes when it will have been so for long enough to be cleaned.
    fn watch_idleness(&mut self, die: u32) {
        let Some(background) = &mut self.background else { return };
        background.tickets[die as usize] = if self.flash.is_idle(die, self.now) {
            self.events.schedule(self.now + background.idle, Event::Idle(die))
        } else {
            Ticket::NONE
        };
    }

    /// Goes on with what an idle die was cleaning, or cleans a block of each of its planes that is short of free blocks.
    fn clean_idle_die(&mut self, die: u32) {
        if !self.flash.is_idle(die, self.now) || self.flash.resume_cleaning(die, self.now, &mut self.events) {
            return;
        }
        let planes = self.geometry.planes_per_die;
        for plane in die * planes..(die + 1) * planes {
            self.ftl.clean_in_background(plane, &mut self.cleaned);
        }
        let mut cleaned = std::mem::take(&mut self.cleaned);
        let like = FlashOperation::new(Kind::Read, Owner::Cleaning, Class::Cleaning, 0, 0, 0);
        cleaned.drain(..).for_each(|clean| self.queue_cleaning(clean, like));
        self.cleaned = cleaned;
    }

    /// Turns cleaning that the translation layer did into flash operations like this one.
    fn queue_cleaning(&mut self, clean: Clean, mut like: FlashOperation) {
        let Clean { plane, planes, mut moves, filled, erases, step, .. } = clean;
        like.plane = plane;
        if self.moves_in_runs {
            self.queue_moves(std::mem::take(&mut moves), planes, like);
            if step && filled + erases == 0 {
                return;
            }
        }
        (like.kind, like.paced) = (Kind::Clean { moves, summaries: filled, erases, planes }, step);
        self.flash.enqueue(like, self.now, &mut self.events);
    }

    /// Queues what a cleaning moves on so many planes as reads, then programs, which overlap as the host's do.
    fn queue_moves(&mut self, moves: u32, planes: u32, mut like: FlashOperation) {
        let on_all_bytes = self.geometry.page_bytes * u64::from(planes);
        let together = self.geometry.units_per_flash_page;
        like.pages = planes;
        (like.kind, like.bus_bytes) = (Kind::Read, on_all_bytes);
        for _ in 0..moves {
            self.flash.enqueue(like, self.now, &mut self.events);
        }
        like.kind = Kind::Program;
        for at in (0..moves).step_by(together as usize) {
            like.bus_bytes = on_all_bytes * u64::from(together.min(moves - at));
            self.flash.enqueue(like, self.now, &mut self.events);
        }
    }

    /// The counters since the last power cut, with these of the translation layer, which counts on.
    fn counted(&self, ftl: FtlCounters) -> Counters {
        let (flash, counts) = (self.flash.counters(), &self.counts);
        let drains = self.buffer.as_ref().map(WriteBuffer::traffic).unwrap_or_default();
        Counters(vec![
            ("host_reads", counts.reads),
            ("host_writes", counts.writes),
            ("host_trims", counts.trims),
            ("host_flushes", counts.flushes),
            ("host_pages_read", counts.pages_read),
            (Counters::HOST_PAGES_WRITTEN, counts.pages_written),
            ("flash_pages_read", flash.reads + ftl.moved_pages),
            (Counters::FLASH_PAGES_PROGRAMMED, ftl.host_pages + ftl.moved_pages + ftl.parity_pages),
            ("pages_moved_by_cleaning", ftl.moved_pages),
            ("parity_pages_programmed", ftl.parity_pages),
            ("blocks_erased", ftl.erases),
            ("switch_merges", ftl.switch_merges),
            ("partial_merges", ftl.partial_merges),
            ("full_merges", ftl.full_merges),
            ("blocks_moved_by_wear_leveling", ftl.leveled_blocks),
            ("blocks_worn_out", ftl.worn_out_blocks),
            ("pages_lost", counts.pages_lost),
            ("read_retries", counts.read_retries),
            ("pages_unreadable", counts.pages_unreadable),
            ("buffer_read_hits", counts.buffer_hits),
            ("buffer_writes_absorbed", counts.buffer_absorbed),
            ("buffer_stalls", counts.buffer_stalls),
            ("buffer_pages_drained", drains.pages),
            ("buffer_pages_drained_full", drains.pages_for(DrainCause::Full)),
            ("buffer_pages_drained_flush", drains.pages_for(DrainCause::Flush)),
            ("buffer_pages_drained_idle", drains.pages_for(DrainCause::Idle)),
            ("buffer_pages_drained_batch", drains.pages_for(DrainCause::Batch)),
            ("buffer_pages_padded", drains.padded),
            ("buffer_drains", drains.drains),
            ("buffer_drains_on_all_packages", drains.drains_on_all),
            ("buffer_drain_ns", drains.ns),
            ("buffer_drain_on_all_packages_ns", drains.ns_on_all),
            ("readahead_pages_fetched", counts.pages_fetched_ahead),
            ("readahead_page_hits", counts.cache_hits),
            ("read_write_exclusion_waits", counts.exclusion_waits),
            ("multi_plane_operations", flash.multi_plane),
            ("program_erase_suspends", flash.suspends),
            ("array_busy_ns", flash.array_busy_ns),
            ("bus_busy_ns", flash.bus_busy_ns),
            ("link_busy_ns", self.link.busy_ns()),
        ])
    }
}

impl Device for Drive {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.profile.check(&request)?;
        if self.in_flight == self.profile.depth {
            return Err(SubmitError::Full { depth: self.profile.depth });
        }
        self.in_flight += 1;
        (self.resting, self.rest.ticket) = (false, Ticket::NONE);
        let slot = self.requests.insert(HostRequest::new(&request, self.now));
        let cost = self.host.next();
        if cost.is_zero() {
            self.issue(slot);
        } else {
            self.events.schedule(self.now + cost, Event::Arrival(slot));
        }
        Ok(())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        while self.completed.is_empty() {
            if self.in_flight == 0 && until == Instant::FAR {
                return;
            }
            let next = self.next_time();
            if next > until {
                self.now = self.now.max(until);
                return;
            }
            assert!(
                next < Instant::FAR,
                "{} requests are in flight, but nothing will happen",
                self.in_flight
            );
            self.step();
        }
        out.append(&mut self.completed);
    }

    fn expect(&self, offset_bytes: u64, _: u64) {
        self.ftl.expect((offset_bytes / self.geometry.page_bytes) as u32);
    }

    fn counters(&self) -> Counters {
        let mut counters = self.counted(self.ftl.counters());
        for (name, count) in &mut counters.0 {
            *count += self.past.get(name).unwrap_or(0);
        }
        counters
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(self.volatile())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        Some(self.cut())
    }
}

#[cfg(test)]
mod buffered;
#[cfg(test)]
mod cleaning;
#[cfg(test)]
mod of_uflip;
#[cfg(test)]
mod tests;

#[cfg(test)]
mod random_drives;
