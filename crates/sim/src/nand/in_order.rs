//! Dies that serve in order: where each has a bus and no operation passes, interrupts or overlaps another, the end of
//! an operation is known when it is queued, and the operations of a die need one place in the event queue between
//! them.
//!
//! ```text
//! enqueue, enqueue_run    push: the end of the operation is known
//!   … die_done            the operations that have ended leave, and the next end is scheduled
//! ```
//!
//! Invariants: the ends of a die's operations are sorted, and a die has an event scheduled for the first of them, or
//! before it.

use super::Geometry;
use super::accounts::{InOrderAccounts, OwnTimes};
use super::array_time::ArrayTime;
use super::gc::GcStepRules;
use super::media::Media;
use super::operation::{Defer, Erase, FlashOperation, Gc, Owner, Program, Read, Work};
use super::scheduler::Scheduler;
use crate::account::TimeAccount;
use crate::config::DriveConfig;
use crate::event::{Event, EventQueue, Ticket};
use crate::ids::{DieId, PlaneId};
use flashlane_base::{Duration, Instant, Seed};
use std::collections::VecDeque;

/// All dies of a drive whose dies serve in order.
#[derive(Clone)]
pub(super) struct InOrderScheduler {
    pub(super) media: Media,
    gc: GcStepRules,
    dies: Vec<InOrderDie>,
    /// Whether programs of one request that follow each other on a die may be reported with the last of them, and
    /// whether reads: where the drive does nothing with a single mapping unit of a write, of a read.
    joins_programs: bool,
    joins_reads: bool,
    /// The joined units of a run, summed for each die, and the dies that have some, in the order of their first.
    shares: Vec<DieShare>,
    sharing: Vec<DieId>,
    /// The accounts of operations, where their times are recorded.
    accounts: Option<Box<InOrderAccounts>>,
}

/// A die's part in a run of mapping units.
#[derive(Clone, Copy, Default)]
struct DieShare {
    /// The plane of the first.
    plane: PlaneId,
    programs: u32,
    array: Duration,
    /// When the last of them ends.
    ends: Instant,
}

/// The operations of a die.
#[derive(Clone, Default)]
struct InOrderDie {
    free_at: Instant,
    /// Time of the deferred GC that goes before the next operation.
    deferred: Duration,
    under_way: VecDeque<(Instant, FlashOperation)>,
}

impl InOrderDie {
    /// When an operation begins that is queued now.
    #[inline]
    fn begins_next(&self, now: Instant) -> Instant {
        self.free_at.max(now) + self.deferred
    }
}

impl InOrderScheduler {
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        let flash = &config.flash;
        let unbuffered = config.buffer.is_none();
        let correct = flash.read_retry.0 == 0.0 && flash.uncorrectable.0 == 0.0;
        let dies = geometry.dies as usize;
        Self {
            media: Media::new(config, geometry, seed),
            gc: GcStepRules::new(config, geometry),
            dies: vec![InOrderDie::default(); dies],
            joins_programs: unbuffered,
            joins_reads: unbuffered
                && correct
                && config.compat.disksim.whole_reads
                && config.readahead.is_none(),
            shares: vec![DieShare::default(); dies],
            sharing: Vec::new(),
            accounts: None,
        }
    }

    /// Whether programs of one request that follow each other on a die are one operation.
    pub(super) fn joins_programs(&self) -> bool {
        self.joins_programs
    }

    /// Queues a program like `unit` for each of these places: a plane, and whether the program fills its block there.
    pub(super) fn enqueue_run(
        &mut self,
        owner: Owner,
        unit: Program,
        places: impl Iterator<Item = (PlaneId, bool)>,
        now: Instant,
        events: &mut EventQueue,
    ) {
        debug_assert!(self.joins_programs, "the drive asks for single programs otherwise");
        let bus = self.media.timing().bus(unit.bus_bytes);
        for (plane, fills_block) in places {
            let nominal = self.media.timing().programming(unit.page_type, fills_block);
            let die = self.media.die_of(plane);
            let share = &mut self.shares[die.index()];
            if share.programs == 0 {
                self.sharing.push(die);
                *share =
                    DieShare { plane, ends: self.dies[die.index()].begins_next(now), ..DieShare::default() };
            }
            self.media.run_bus(bus, share.ends);
            let array = self.media.run_array(ArrayTime::of_program(nominal), || 1, share.ends + bus);
            share.programs += 1;
            share.array += array;
            share.ends += bus + array;
        }
        let mut sharing = std::mem::take(&mut self.sharing);
        for die in sharing.drain(..) {
            let DieShare { plane, programs, array, .. } = std::mem::take(&mut self.shares[die.index()]);
            let all = Program { programs, bus_bytes: unit.bus_bytes * u64::from(programs), ..unit };
            let program = FlashOperation::program(owner, plane, unit.lpn, all.bus_bytes);
            let program = FlashOperation { work: Work::Program(all), ..program };
            let own =
                OwnTimes { deferred: Duration::ZERO, array, bus: bus * u64::from(programs), retries: 0 };
            self.push(die, &program, own, now, events);
        }
        self.sharing = sharing;
    }

    /// Puts an operation that takes `own` times behind the others of its die.
    #[inline]
    fn push(
        &mut self,
        die: DieId,
        operation: &FlashOperation,
        own: OwnTimes,
        now: Instant,
        events: &mut EventQueue,
    ) {
        let state = &mut self.dies[die.index()];
        if operation.defer == Defer::UntilNextOperation {
            state.deferred += own.total();
            return;
        }
        let own = OwnTimes { deferred: state.deferred, ..own };
        let ends = state.free_at.max(now) + own.total();
        (state.free_at, state.deferred) = (ends, Duration::ZERO);
        debug_assert!(
            state.under_way.back().is_none_or(|(last_ends, _)| *last_ends <= ends),
            "a die serves in order"
        );
        let joins = (self.joins_programs, self.joins_reads);
        if let Some((last_ends, last)) = state.under_way.back_mut()
            && join(last, operation, joins)
        {
            *last_ends = ends;
            return self.record_account(die, operation, own, true, now);
        }
        if state.under_way.is_empty() {
            events.schedule(ends, Event::DieDone(die));
        }
        state.under_way.push_back((ends, *operation));
        self.record_account(die, operation, own, false, now);
    }

    /// Records the account of an operation that was queued, where accounts are kept.
    #[inline]
    fn record_account(
        &mut self,
        die: DieId,
        operation: &FlashOperation,
        own: OwnTimes,
        joined: bool,
        now: Instant,
    ) {
        if let Some(accounts) = &mut self.accounts {
            let ends = accounts.queued(die, operation, own, joined, now);
            debug_assert_eq!(ends, self.dies[die.index()].free_at, "all time until the end is charged");
        }
    }
}

/// Joins an operation to the `last` of its die, where both are for one request and of a kind that the scheduler joins:
/// programs, reads. Returns whether it did.
#[inline]
fn join(
    last: &mut FlashOperation,
    next: &FlashOperation,
    (joins_programs, joins_reads): (bool, bool),
) -> bool {
    if last.owner != next.owner || !matches!(next.owner, Owner::Request(_)) {
        return false;
    }
    match (&mut last.work, next.work) {
        (Work::Program(Program { programs, bus_bytes, .. }), Work::Program(next)) if joins_programs => {
            (*programs, *bus_bytes) = (*programs + next.programs, *bus_bytes + next.bus_bytes);
            true
        }
        (Work::Read(Read { reads, bus_bytes, .. }), Work::Read(next)) if joins_reads => {
            (*reads, *bus_bytes) = (*reads + next.reads, *bus_bytes + next.bus_bytes);
            true
        }
        _ => false,
    }
}

impl Scheduler for InOrderScheduler {
    #[inline]
    fn enqueue(&mut self, operation: FlashOperation, now: Instant, events: &mut EventQueue) {
        let timing = self.media.timing();
        let mut retries = 0;
        let (nominal, bus_bytes) = match operation.work {
            Work::Read(read) => {
                retries = u32::from(read.retries);
                let time = timing.reading(read.page_type) * u64::from(1 + retries);
                (ArrayTime::of_read(time), read.bus_bytes)
            }
            Work::Program(program) => {
                let time = timing.programming(program.page_type, program.fills_block);
                (ArrayTime::of_program(time), program.bus_bytes)
            }
            Work::Gc(gc) => (self.gc.whole(&gc, timing), 0),
            Work::Erase(erase) => (ArrayTime::of_erase(timing.erase * u64::from(erase.times)), 0),
        };
        let bus = if bus_bytes > 0 { timing.bus(bus_bytes) } else { Duration::ZERO };
        let die = self.media.die_of(operation.plane);
        let from = self.dies[die.index()].begins_next(now);
        // Which of the two is first does not show in energy over time, whose windows are much longer.
        let planes = || match operation.work {
            Work::Gc(Gc { planes, .. }) | Work::Erase(Erase { planes, .. }) => u64::from(planes),
            Work::Read(_) | Work::Program(_) => 1,
        };
        let array = self.media.run_array(nominal, planes, from);
        self.media.run_bus(bus, from + array);
        self.push(die, &operation, OwnTimes { deferred: Duration::ZERO, array, bus, retries }, now, events);
    }

    /// An event may precede the end of an operation that another was joined to since it was scheduled.
    #[inline]
    fn die_done(
        &mut self,
        die: DieId,
        _ticket: Ticket,
        now: Instant,
        events: &mut EventQueue,
        finished: &mut Vec<FlashOperation>,
    ) {
        let under_way = &mut self.dies[die.index()].under_way;
        if let Some((ends, operation)) = under_way.front()
            && *ends <= now
        {
            self.media.finish(operation, finished);
            if let Some(accounts) = &mut self.accounts {
                accounts.ends(die, operation.owner.waits());
            }
            under_way.pop_front();
        }
        if let Some((ends, _)) = under_way.front() {
            events.schedule(*ends, Event::DieDone(die));
        }
    }

    fn is_idle(&self, die: DieId, now: Instant) -> bool {
        let state = &self.dies[die.index()];
        state.free_at <= now && state.under_way.is_empty() && state.deferred.is_zero()
    }

    fn is_collecting(&self, die: DieId) -> bool {
        let state = &self.dies[die.index()];
        !state.deferred.is_zero() || state.under_way.iter().any(|(_, operation)| operation.is_gc())
    }

    fn record_times(&mut self, now: Instant) {
        let dies = self.dies.iter().map(|state| (state.free_at, state.under_way.len()));
        self.accounts = Some(Box::new(InOrderAccounts::new(dies, now)));
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
        self.dies.fill(InOrderDie::default());
        if let Some(accounts) = &mut self.accounts {
            let dies = self.dies.iter().map(|_| (Instant::ZERO, 0));
            **accounts = InOrderAccounts::new(dies, Instant::ZERO);
        }
        debug_assert!(self.sharing.is_empty(), "shares are queued at once");
    }
}
