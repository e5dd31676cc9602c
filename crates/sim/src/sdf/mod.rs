//! Simulated software-defined flash: every channel is a lane of its own, and software erases.
//!
//! After sdf14 (Ouyang et al., "SDF: Software-Defined Flash for Web-Scale Internet Storage Systems", ASPLOS 2014,
//! section 2). A unit is an erase block on each plane of a channel; it is erased by a command, written as a whole and
//! read in pages. A write completes when all of it is on flash: there is no buffer, nothing is cleaned or moved, and a
//! power cut takes nothing that completed. The rules are those of [`Units`]; flash, link and error correction are those
//! of [`Drive`](crate::Drive); what is in between, the channel's `Engine`, is a map of blocks.
//!
//! Cost: what a write or an erase does to all planes of a die at once is one operation of the flash, so that a page of a
//! unit's write costs a fraction of an event.

mod engine;
mod shape;
#[cfg(test)]
mod tests;
mod work;

use crate::config::{DriveConfig, InitialState};
use crate::event::{Event, EventQueue};
use crate::host::{Direction, Link, Submission, Transfer};
use crate::nand::{Correction, FlashArray, Geometry, Operation as FlashOperation};
use crate::slab::Slab;
use engine::Engine;
use flashlane_base::{Instant, Seed};
use flashlane_device::{
    AtRisk, Completion, Counters, Device, Failure, Lane, Operation, Profile, Request, SubmitError, Unit,
    UnitState, Units,
};
use shape::Shape;
use work::Job;

/// A simulated device of software-defined flash.
#[derive(Clone)]
pub struct Sdf {
    profile: Profile,
    shape: Shape,
    now: Instant,
    events: EventQueue,
    trace_hash: u64,
    /// Requests in flight.
    jobs: Slab<Job>,
    in_flight: u32,
    submission: Submission,
    link: Link,
    flash: FlashArray,
    correction: Option<Correction>,
    /// By lane.
    engines: Vec<Engine>,
    units: Units,
    completed: Vec<Completion>,
    counts: Counts,
    // Lists that are filled and emptied within a step, kept to spare their allocation.
    finished: Vec<FlashOperation>,
    erased: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reads: u64,
    writes: u64,
    erases: u64,
    flushes: u64,
    pages_read: u64,
    pages_written: u64,
    read_retries: u64,
    pages_unreadable: u64,
    pages_saved: u64,
}

impl Sdf {
    /// A device in its profile's initial state. Requires: `config` was loaded, and so validated, by
    /// [`crate::config::load`] or [`crate::config::parse`].
    ///
    /// # Panics
    /// Where the profile has no lanes: it is a [`Drive`](crate::Drive)'s.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
        let lanes = config.lanes.as_ref().expect("a profile without [lanes] is that of a Drive");
        let shape = Shape::new(config);
        let profile = Profile {
            name: format!("sim:{}", config.name),
            capacity_bytes: u64::from(shape.units) * shape.unit_bytes,
            lanes: config.flash.channels,
            read_unit_bytes: lanes.read_unit.unwrap_or(config.flash.page).0,
            write_unit_bytes: shape.unit_bytes,
            erase_unit_bytes: shape.unit_bytes,
            depth: config.link.depth,
            simulated: true,
            read_only: false,
            over_provisioning: None,
        };
        let engines = Engine::all(config, &shape, seed);
        let mut units = Units::new(&profile);
        let state = match config.initial.state {
            InitialState::Full => UnitState::Written { bytes: shape.unit_bytes },
            _ => UnitState::ERASED,
        };
        for (lane, engine) in engines.iter().enumerate() {
            for unit in 0..shape.units {
                let state = if engine.has(unit) { state } else { UnitState::Bad };
                units.set(Lane(lane as u32), u64::from(unit), state, Some(0));
            }
        }
        Self {
            profile,
            shape,
            now: Instant::ZERO,
            events: EventQueue::default(),
            trace_hash: 0,
            jobs: Slab::new(),
            in_flight: 0,
            submission: Submission::new(&config.host, seed),
            link: Link::new(&config.link),
            flash: FlashArray::new(config, &Geometry::new(config), seed),
            correction: Correction::new(config, seed),
            engines,
            units,
            completed: Vec::new(),
            counts: Counts::default(),
            finished: Vec::new(),
            erased: Vec::new(),
        }
    }

    /// The same device under another name in results: the spec by which it was asked for.
    pub fn named(mut self, name: String) -> Self {
        self.profile.name = name;
        self
    }

    /// A hash over every event so far, its time and its place: equal for equal profile, workload and seed, on any
    /// machine.
    pub fn trace_hash(&self) -> u64 {
        self.trace_hash
    }

    /// Spare blocks that are left on the plane of a lane that has the fewest; a unit of the lane is lost when one more
    /// than these has failed there. `None` where there is no such lane.
    pub fn spare_blocks(&self, lane: Lane) -> Option<u32> {
        self.engines.get(lane.0 as usize).map(Engine::least_spares)
    }

    /// Least and largest erase count of a lane's good blocks. `None` where there is no such lane.
    pub fn wear_spread(&self, lane: Lane) -> Option<(u32, u32)> {
        self.engines.get(lane.0 as usize).map(Engine::wear_spread)
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
            return self.transferred(transfer);
        }
        let (time, ticket, event) = self.events.pop().expect("a time was given for it");
        let mut finished = std::mem::take(&mut self.finished);
        match event {
            Event::Arrival(job) => {
                self.advance(time, u64::from(job));
                self.arrive(job);
            }
            Event::Array(die) => {
                self.advance(time, 1 << 60 | u64::from(die));
                self.flash.array_done(die, ticket, time, &mut self.events, &mut finished);
            }
            Event::Bus(channel) => {
                self.advance(time, 1 << 61 | u64::from(channel));
                self.flash.bus_done(channel, time, &mut self.events, &mut finished);
            }
            Event::Idle(_) | Event::Rest | Event::Acknowledged(_) | Event::Returned(_) => {
                unreachable!("nothing happens here of itself, and nothing is buffered")
            }
        }
        for operation in finished.drain(..) {
            self.follow(&operation);
        }
        self.finished = finished;
    }

    #[inline]
    fn advance(&mut self, time: Instant, event: u64) {
        debug_assert!(time >= self.now, "time does not go back");
        self.now = time;
        self.trace_hash =
            (self.trace_hash.rotate_left(5) ^ time.as_ns() ^ event).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// Sends a part of a request over the link.
    #[inline]
    fn send(&mut self, job: u32, pages: u32, bytes: u64, direction: Direction) {
        let command = !std::mem::replace(&mut self.jobs[job].commanded, true);
        self.link.send(self.now, Transfer { request: job, pages, direction }, bytes, 0, command);
    }

    fn complete(&mut self, job: u32) {
        let Job { request, submitted, outcome, .. } = self.jobs[job];
        self.units.ended(&request, &outcome);
        self.completed.push(Completion { id: request.id, submitted, completed: self.now, outcome });
        self.jobs.remove(job);
        self.in_flight -= 1;
    }

    /// Cuts the power and gives it back. The engines keep their tables, as devices rebuild them from what they wrote
    /// beside the data.
    fn cut(&mut self) {
        for Job { request, submitted, .. } in self.jobs.in_use() {
            let outcome = Err(Failure::Gone);
            self.units.ended(&request, &outcome);
            self.completed.push(Completion { id: request.id, submitted, completed: self.now, outcome });
        }
        (self.jobs, self.in_flight) = (Slab::new(), 0);
        self.events = EventQueue::default();
        self.link.cut();
        self.flash.cut();
        self.finished.clear();
    }
}

impl Device for Sdf {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.profile.check(&request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        if self.in_flight == self.profile.depth {
            return Err(SubmitError::Full { depth: self.profile.depth });
        }
        self.units.admit(&request).map_err(|rule| request.refused_by(rule))?;
        self.units.accepted(&request);
        self.in_flight += 1;
        let job = self.jobs.insert(Job::new(&request, self.now));
        let cost = self.submission.next();
        if cost.is_zero() {
            self.arrive(job);
        } else {
            self.events.schedule(self.now + cost, Event::Arrival(job));
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

    fn counters(&self) -> Counters {
        let (flash, counts) = (self.flash.counters(), &self.counts);
        let mut engines = engine::EngineCounts::default();
        for engine in self.engines.iter().map(Engine::counts) {
            engines.erases += engine.erases;
            engines.failed += engine.failed;
            engines.lost += engine.lost;
        }
        Counters(vec![
            ("host_reads", counts.reads),
            ("host_writes", counts.writes),
            ("host_erases", counts.erases),
            ("host_flushes", counts.flushes),
            ("host_pages_read", counts.pages_read),
            (Counters::HOST_PAGES_WRITTEN, counts.pages_written),
            ("flash_pages_read", flash.reads + counts.pages_saved),
            (Counters::FLASH_PAGES_PROGRAMMED, flash.programs + counts.pages_saved),
            ("pages_moved_off_failing_blocks", counts.pages_saved),
            ("blocks_erased", engines.erases),
            ("blocks_failed", engines.failed),
            ("units_lost", engines.lost),
            ("read_retries", counts.read_retries),
            ("pages_unreadable", counts.pages_unreadable),
            ("multi_plane_operations", flash.multi_plane),
            ("program_erase_suspends", flash.suspends),
            ("array_busy_ns", flash.array_busy_ns),
            ("bus_busy_ns", flash.bus_busy_ns),
            ("link_busy_ns", self.link.busy_ns()),
        ])
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.get(lane, index)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(Vec::new())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        self.cut();
        Some(Vec::new())
    }
}
