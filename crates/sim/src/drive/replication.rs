//! Replication: reads and writes of mapping units go to whichever die is free (he14).
//!
//! Beside the mapping units that the host sees, the translation layer has a number of them on each die for copies: a copy
//! is placed, moved by GC and forgotten like any other. Which die an access goes to, and which copies there are, is
//! decided by `flashlane_replication`; [`Replicator`] turns it into flash operations. It uses the `Ftl` that `translation`
//! owns: places copies there, trims stale ones, and gives a mapping unit the place of a copy after a power cut.
//!
//! ```text
//! read   the least blocked die first, or the first that does not garbage-collect; after the delay the next one
//! write  its own place; after the delay, if its die garbage-collects, a copy on another die, once that is idle for long
//!        enough, and so on
//! ```
//!
//! The delay D is the paper's threshold for detecting an internal activity (table 1). The firmware knows the state of its
//! chips (section 4.1), so that an access which merely waits for others of the host is not blocked.
//!
//! A *call* (`call`) is an access that may be answered from several dies: the first answer counts, later ones are dropped.
//!
//! Durability: a write is answered once one copy is on flash. Every copy carries, beside its data, the number of its mapping
//! unit and of the write, so that recovery finds the newest one; here [`Replicator::cut_power`] does that, and then forgets
//! all other copies. A copy that answered a write is kept until the write's own place is programmed, too: until then no
//! group gives it up. A later version may be programmed first, or the unit be trimmed: such a copy is not the newest version
//! (`versions`).
//!
//! Invariants:
//! - every call is answered once, and stays until all flash operations of its own have ended;
//! - a copy can be read only once its mapping unit's own place is programmed;
//! - a timer that is not the last one that was started has no effect.

mod call;
mod versions;

use super::request::HostRequest;
use crate::config::DriveConfig;
use crate::event::{Event, Ticket};
use crate::ftl::{Ftl, GcWork, Placed};
use crate::ids::{CallSlot, DieId, Lpn, PlaneId};
use crate::kernel::Kernel;
use crate::nand::{Defer, Geometry, Operation, Owner, Program, Read, Timing, Work};
use crate::slab::Slab;
use call::{Call, Kind};
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_policy::scheduling::Class;
use flashlane_replication::{Access, Candidate, ExtraWrites, Groups, History, Shape, Slot, take_best};
use versions::Versions;

/// What replication counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplicationCounts {
    /// Reads and writes by the number of flash operations that they took: 1, 2, or more.
    pub(super) reads: [u64; 3],
    pub(super) writes: [u64; 3],
    /// Reads that a copy answered.
    pub(super) copy_hits: u64,
    /// Writes that a copy answered.
    pub(super) copies_answered: u64,
    /// Copies written for blocked writes, and for blocked reads.
    pub(super) for_writes: u64,
    pub(super) for_reads: u64,
    /// Copies not written, because their die's queue was full or there was no room.
    pub(super) dropped: u64,
    /// Copies that gave up their place to others.
    pub(super) evicted: u64,
    /// Time that copies were being written while other accesses waited for their die.
    pub(super) interference: Duration,
}

/// What a die does beside the accesses of the host.
#[derive(Clone, Copy, Debug)]
struct Copying {
    /// The timer of the next copy.
    timer: Ticket,
    /// Whether a copy is being written.
    writing: bool,
    /// Since when another access waits for that.
    waited_since: Option<Instant>,
    /// Accesses so far.
    used: u64,
}

/// A copy that is to be programmed: its place, and the number of its mapping unit.
pub(super) struct CopyPlaced {
    pub(super) place: Placed,
    pub(super) lpn: Lpn,
}

/// The replication manager of a drive.
pub(super) struct Replicator {
    groups: Groups,
    history: History,
    extra: ExtraWrites,
    calls: Slab<CallSlot, Call>,
    /// For each slot the write that waits for its copy, or whose own place has yet to be programmed.
    writes: Vec<Option<CallSlot>>,
    /// For each slot whether a read or a write asked for its copy.
    asked_by: Vec<Access>,
    versions: Versions,
    dies: Vec<Copying>,
    random: Random,
    delay: Duration,
    planes_per_die: u32,
    /// The first number of a copy's mapping unit.
    first_copy: u32,
    counts: ReplicationCounts,
    // Empty lists, kept to spare their allocation.
    others: Vec<u32>,
    gone: Vec<Slot>,
}

type DriveKernel = Kernel<HostRequest>;

impl Replicator {
    /// The manager of a drive without copies; `None` where it does not replicate. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Option<Self> {
        let replication = config.replication.as_ref()?;
        let shape = Shape {
            pages: geometry.logical_units,
            chips: geometry.dies,
            slots_per_chip: geometry.replica_units / geometry.dies,
            copies: replication.copies,
        };
        let (name, options) = (&replication.policy, replication.options.options());
        let policy = config.policies.replication.build(name, shape.slots(), &options);
        let timing = Timing::new(config, seed);
        let bus = timing.bus(geometry.unit_bytes);
        let (read, write) = ((timing.read + bus).max(Duration::from_ns(1)), timing.program + bus);
        let idle = Copying { timer: Ticket::NONE, writing: false, waited_since: None, used: 0 };
        Some(Self {
            groups: Groups::new(shape, policy.expect("validation built every policy once")),
            history: History::new(shape.pages, shape.chips),
            extra: ExtraWrites::new(shape.chips, replication.queue, replication.epoch.0, read, write),
            calls: Slab::new(),
            writes: vec![None; shape.slots() as usize],
            asked_by: vec![Access::Write; shape.slots() as usize],
            versions: Versions::new(shape.pages),
            dies: vec![idle; geometry.dies as usize],
            random: seed.derive("replication").source(),
            delay: replication.delay_of(config.flash.program.0),
            planes_per_die: geometry.planes_per_die,
            first_copy: geometry.logical_units,
            counts: ReplicationCounts::default(),
            others: Vec::new(),
            gone: Vec::new(),
        })
    }

    pub(super) fn counts(&self) -> ReplicationCounts {
        self.counts
    }

    /// The estimate of extra writes (he14, section 4.2.1).
    pub(super) fn expected_extra_writes(&self) -> f64 {
        self.history.expected_extra_writes(|blocking| self.groups.replicates_read(blocking))
    }

    #[cfg(test)]
    pub(super) fn last_version(&self) -> u64 {
        self.versions.last()
    }

    /// The numbers of the writes of a mapping unit whose own places are not programmed yet.
    #[cfg(test)]
    pub(super) fn writes_under_way(&self, lpn: Lpn) -> Vec<u64> {
        let calls = self.calls.slots_in_use().into_iter().map(|slot| &self.calls[slot]);
        calls.filter(|call| call.lpn == lpn).map(|call| call.number).collect()
    }

    fn copy_lpn(&self, slot: Slot) -> Lpn {
        Lpn(self.first_copy + slot.0)
    }

    /// The plane for a copy: those of a die take turns.
    fn plane_of_slot(&self, slot: Slot) -> PlaneId {
        PlaneId(self.groups.chip_of(slot) * self.planes_per_die + slot.0 % self.planes_per_die)
    }

    /// The blocking probability of a replica group: the sum over the page and its copies (he14, section 4.2.1), where a
    /// copy is blocked as often as its die.
    fn blocking_of_group(&self, lpn: Lpn) -> f64 {
        let of_copies = self.groups.readable(lpn.0).map(|slot| {
            let die = self.groups.chip_of(slot);
            self.history.blocking_of_chip(die)
        });
        self.history.blocking_of_page(lpn.0).probability() + of_copies.sum::<f64>()
    }

    /// An operation that is no copy's will be queued at a die.
    pub(super) fn access(&mut self, die: DieId, now: Instant) {
        self.extra.access(die.0, now);
        let state = &mut self.dies[die.index()];
        state.used += 1;
        if state.writing {
            state.waited_since.get_or_insert(now);
        }
    }

    /// Starts the timer of a call's delay.
    fn time(&mut self, kernel: &mut DriveKernel, slot: CallSlot) {
        self.calls[slot].timer = kernel.schedule_after(self.delay, Event::Overdue(slot));
    }

    // Reads.

    /// Reads a mapping unit that lies on `plane` for `owner`, there or from a copy.
    pub(super) fn read(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        owner: Owner,
        plane: PlaneId,
        read: Read,
    ) {
        let home = kernel.flash().die_of(plane);
        let lpn = read.lpn;
        let mut places: Vec<Candidate> = Vec::new();
        for slot in self.groups.readable(lpn.0) {
            let die = self.groups.chip_of(slot);
            places.push(Candidate { chip: die, slot: Some(slot), used: self.dies[die as usize].used });
        }
        let own = Candidate { chip: home.0, slot: None, used: self.dies[home.index()].used };
        let is_free = |place: &Candidate| !kernel.flash().is_collecting(DieId(place.chip));
        places.push(own);
        let best = take_best(&mut places, &self.history).expect("its own place is one");
        let blocked = !is_free(&best);
        let mut first = best;
        if blocked && let Some(free) = self.first_free(kernel, &places) {
            places.retain(|place| *place != free);
            places.push(best);
            first = free;
        }
        self.history.record(lpn.0, best.chip, Access::Read, blocked);
        let is_replicated = self.groups.is_replicated(lpn.0);
        if is_replicated {
            self.groups.touch(lpn.0, self.blocking_of_group(lpn));
        }
        let replicates =
            blocked && !is_replicated && self.groups.replicates_read(self.history.blocking_of_page(lpn.0));
        let owner = if places.is_empty() && !replicates {
            self.counts.reads[0] += 1;
            owner
        } else {
            let timed = !places.is_empty();
            let call = self.call(lpn, home, owner, Kind::Read { read, places, replicates });
            let call = self.calls.insert(call);
            if timed {
                self.time(kernel, call);
            }
            Owner::Call(call)
        };
        self.ask(kernel, ftl, owner, plane, read, first);
    }

    /// The best of several places whose die does not garbage-collect.
    fn first_free(&self, kernel: &DriveKernel, places: &[Candidate]) -> Option<Candidate> {
        let mut rest = places.to_vec();
        std::iter::from_fn(|| take_best(&mut rest, &self.history))
            .find(|place| !kernel.flash().is_collecting(DieId(place.chip)))
    }

    /// Queues the read of one of the places of a mapping unit, of which `home` is its own.
    fn ask(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        owner: Owner,
        home: PlaneId,
        read: Read,
        place: Candidate,
    ) {
        let plane = place
            .slot
            .map_or(home, |slot| ftl.plane_of(self.copy_lpn(slot)).expect("a readable copy has a place"));
        self.access(kernel.flash().die_of(plane), kernel.now());
        let (work, class, defer) = (Work::Read(read), Class::HostRead, Defer::No);
        kernel.enqueue(Operation { work, owner, class, defer, plane });
    }

    fn call(&mut self, lpn: Lpn, die: DieId, owner: Owner, kind: Kind) -> Call {
        let (number, timer) = (self.versions.next(), Ticket::NONE);
        Call { lpn, die, owner, kind, under_way: 1, operations: 1, answered: false, timer, number }
    }

    // Writes.

    /// A mapping unit was placed anew, and `program` writes it there: its copies are stale. Returns the program as that of a
    /// call.
    pub(super) fn write(&mut self, kernel: &mut DriveKernel, ftl: &mut Ftl, program: Operation) -> Operation {
        let Work::Program(Program { lpn, .. }) = program.work else { unreachable!("a write is a program") };
        self.forget(ftl, lpn);
        let die = kernel.flash().die_of(program.plane);
        self.access(die, kernel.now());
        let kind = Kind::Write { blocked: false, copies: Vec::new() };
        let call = self.call(lpn, die, program.owner, kind);
        let call = self.calls.insert(call);
        self.time(kernel, call);
        Operation { owner: Owner::Call(call), ..program }
    }

    /// A mapping unit is trimmed, also where a copy answered its last write.
    pub(super) fn trim(&mut self, ftl: &mut Ftl, lpn: Lpn) {
        self.forget(ftl, lpn);
        self.versions.trim(lpn);
    }

    /// A mapping unit is written or trimmed: its copies are stale.
    fn forget(&mut self, ftl: &mut Ftl, lpn: Lpn) {
        let mut gone = std::mem::take(&mut self.gone);
        self.groups.forget(lpn.0, &mut gone);
        for slot in gone.drain(..) {
            ftl.trim(self.copy_lpn(slot));
        }
        self.gone = gone;
    }

    // Time.

    /// A call has gone unanswered for the delay: the next copy is asked, or queued where the die of its own place
    /// garbage-collects; the delay of a copy that is queued begins with its program. Returns the die that may have a copy to
    /// write.
    pub(super) fn overdue(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &mut Ftl,
        slot: CallSlot,
        timer: Ticket,
    ) -> Option<DieId> {
        let call = &mut self.calls[slot];
        if call.timer != timer || call.answered {
            return None;
        }
        let (lpn, home) = (call.lpn, call.die);
        match &mut call.kind {
            Kind::Read { read, places, .. } => {
                let read = *read;
                // A copy may have given up its place meanwhile.
                let is_there = |place: &Candidate| match place.slot {
                    Some(slot) => self.groups.readable(lpn.0).any(|other| other == slot),
                    None => true,
                };
                let next = std::iter::from_fn(|| take_best(places, &self.history)).find(is_there)?;
                // It may have been trimmed, too.
                let own = ftl.plane_of(lpn)?;
                (call.under_way, call.operations) = (call.under_way + 1, call.operations + 1);
                self.ask(kernel, ftl, Owner::Call(slot), own, read, next);
                self.time(kernel, slot);
                None
            }
            // GC that begins later is queued behind this write: it will not be blocked any more.
            Kind::Write { .. } if !kernel.flash().is_collecting(home) => None,
            Kind::Write { blocked, .. } => {
                if !std::mem::replace(blocked, true) {
                    self.history.record(lpn.0, home.0, Access::Write, true);
                }
                self.add_copy(kernel, ftl, lpn, home, Some(slot))
            }
        }
    }

    /// Queues the write of one more copy of a mapping unit whose own place is on `home`. Returns its die, where it has one.
    fn add_copy(
        &mut self,
        kernel: &DriveKernel,
        ftl: &mut Ftl,
        lpn: Lpn,
        home: DieId,
        call: Option<CallSlot>,
    ) -> Option<DieId> {
        let mut others = std::mem::take(&mut self.others);
        others.clear();
        others.extend((0..self.dies.len() as u32).filter(|&die| die != home.0));
        self.random.shuffle(&mut others);
        others.sort_by_key(|&die| kernel.flash().is_collecting(DieId(die)));
        let blocking = self.blocking_of_group(lpn);
        let mut evicted = std::mem::take(&mut self.gone);
        let slot = self.groups.reserve(lpn.0, &others, blocking, &mut evicted);
        self.counts.evicted += evicted.len() as u64;
        for slot in evicted.drain(..) {
            ftl.trim(self.copy_lpn(slot));
        }
        (self.others, self.gone) = (others, evicted);
        let slot = slot?;
        let die = self.groups.chip_of(slot);
        if !self.extra.push(die, slot, kernel.now()) {
            self.counts.dropped += 1;
            self.groups.abandon(slot);
            return None;
        }
        self.writes[slot.0 as usize] = call;
        self.asked_by[slot.0 as usize] = if call.is_some() { Access::Write } else { Access::Read };
        if let Some(call) = call
            && let Kind::Write { copies, .. } = &mut self.calls[call].kind
        {
            copies.push((slot, false));
            self.calls[call].operations += 1;
        }
        Some(DieId(die))
    }

    /// A die has nothing to do.
    pub(super) fn idle(&mut self, die: DieId, now: Instant) {
        self.extra.idle(die.0, now);
    }

    /// Whether `timer` is the one that runs for a die's next copy.
    pub(super) fn is_timer_of(&self, die: DieId, timer: Ticket) -> bool {
        self.dies[die.index()].timer == timer
    }

    /// Places the next copy that waits for an idle die, where it is due; otherwise starts the timer for it.
    pub(super) fn next_copy(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &mut Ftl,
        die: DieId,
        due: &mut Vec<GcWork>,
    ) -> Option<CopyPlaced> {
        if !kernel.flash().is_idle(die, kernel.now()) {
            return None;
        }
        let now = kernel.now();
        loop {
            let at = self.extra.due(die.0)?;
            if at > now {
                self.dies[die.index()].timer = kernel.schedule_after(at.since(now), Event::CopyDue(die));
                return None;
            }
            let slot = self.extra.take(die.0, now).expect("it is due");
            if !self.groups.is_wanted(slot) {
                self.abandon(slot);
                continue;
            }
            let (plane, lpn) = (self.plane_of_slot(slot), self.copy_lpn(slot));
            match ftl.can_take(plane, lpn).then(|| ftl.place_on(plane, lpn, due)) {
                Some(Ok(place)) => {
                    match self.asked_by[slot.0 as usize] {
                        Access::Read => self.counts.for_reads += 1,
                        Access::Write => self.counts.for_writes += 1,
                    }
                    self.dies[die.index()].writing = true;
                    if let Some(call) = self.writes[slot.0 as usize] {
                        self.time(kernel, call);
                    }
                    return Some(CopyPlaced { place, lpn });
                }
                _ => {
                    self.counts.dropped += 1;
                    self.abandon(slot);
                }
            }
        }
    }

    /// The copy in a slot will not be written.
    fn abandon(&mut self, slot: Slot) {
        if let Some(call) = self.writes[slot.0 as usize].take()
            && let Kind::Write { copies, .. } = &mut self.calls[call].kind
        {
            copies.retain(|(other, _)| *other != slot);
        }
        self.groups.abandon(slot);
    }

    // Answers.

    /// An operation of a call or a copy has ended. Returns the operation as its owner knows it, where it is the first answer.
    pub(super) fn finished(
        &mut self,
        kernel: &DriveKernel,
        ftl: &mut Ftl,
        operation: &Operation,
    ) -> Option<Operation> {
        match (operation.owner, operation.work) {
            (Owner::Copy, Work::Program(program)) => self.copied(kernel, ftl, operation, program),
            (Owner::Call(slot), Work::Program(_)) => {
                let answer = self.answer(slot, operation);
                self.end_write(ftl, slot);
                answer
            }
            (Owner::Call(slot), Work::Read(_)) => {
                let answer = self.answer(slot, operation);
                if answer.is_some() {
                    self.replicate_read(kernel, ftl, slot, operation.plane);
                }
                let call = &mut self.calls[slot];
                call.under_way -= 1;
                if call.under_way == 0 {
                    call.timer = Ticket::NONE;
                    self.calls.remove(slot);
                }
                answer
            }
            (owner, work) => unreachable!("{work:?} is not done for {owner:?}"),
        }
    }

    /// Answers a call, where it is not yet.
    fn answer(&mut self, slot: CallSlot, operation: &Operation) -> Option<Operation> {
        let call = &mut self.calls[slot];
        if std::mem::replace(&mut call.answered, true) {
            return None;
        }
        let kinds = match &call.kind {
            Kind::Read { .. } => &mut self.counts.reads,
            Kind::Write { blocked, .. } => {
                if !blocked {
                    self.history.record(call.lpn.0, call.die.0, Access::Write, false);
                }
                self.versions.acknowledge(call.lpn, call.number);
                self.counts.copies_answered += u64::from(operation.owner == Owner::Copy);
                &mut self.counts.writes
            }
        };
        kinds[(call.operations as usize - 1).min(2)] += 1;
        Some(Operation { owner: call.owner, ..*operation })
    }

    /// A read that was blocked is replicated, now that it is in the drive's memory.
    fn replicate_read(&mut self, kernel: &DriveKernel, ftl: &mut Ftl, slot: CallSlot, plane: PlaneId) {
        let Call { lpn, die, .. } = self.calls[slot];
        let answered_by = kernel.flash().die_of(plane);
        self.counts.copy_hits += u64::from(answered_by != die);
        if let Kind::Read { replicates: true, .. } = self.calls[slot].kind
            && ftl.plane_of(lpn).is_some_and(|plane| kernel.flash().die_of(plane) == die)
        {
            self.add_copy(kernel, ftl, lpn, die, None);
        }
    }

    /// The own place of a write is programmed: its copies on flash can be read, those on their way are a group's only.
    fn end_write(&mut self, ftl: &mut Ftl, slot: CallSlot) {
        let Kind::Write { copies, .. } = &mut self.calls[slot].kind else { unreachable!("it is a write") };
        for (copy, is_on_flash) in std::mem::take(copies) {
            self.writes[copy.0 as usize] = None;
            if is_on_flash && !self.groups.written(copy) {
                ftl.trim(self.copy_lpn(copy));
            }
        }
        let call = &mut self.calls[slot];
        call.timer = Ticket::NONE;
        self.versions.program(call.lpn, call.number);
        self.calls.remove(slot);
    }

    /// A copy is on flash.
    fn copied(
        &mut self,
        kernel: &DriveKernel,
        ftl: &mut Ftl,
        operation: &Operation,
        program: Program,
    ) -> Option<Operation> {
        let slot = Slot(program.lpn.0 - self.first_copy);
        let state = &mut self.dies[kernel.flash().die_of(operation.plane).index()];
        state.writing = false;
        if let Some(since) = state.waited_since.take() {
            self.counts.interference += kernel.now().since(since);
        }
        let Some(call) = self.writes[slot.0 as usize] else {
            if !self.groups.written(slot) {
                ftl.trim(program.lpn);
            }
            return None;
        };
        let Kind::Write { copies, .. } = &mut self.calls[call].kind else { unreachable!("it is a write") };
        let copy = copies.iter_mut().find(|(copy, _)| *copy == slot);
        copy.expect("a write knows its copies").1 = true;
        let lpn = self.calls[call].lpn;
        let operation = Operation { work: Work::Program(Program { lpn, ..program }), ..*operation };
        self.answer(call, &operation)
    }

    /// Power is cut: recovery finds the newest version of each mapping unit, at its own place or in a copy that answered, and
    /// all other copies are forgotten.
    pub(super) fn cut_power(&mut self, ftl: &mut Ftl, now: Instant) {
        for slot in self.calls.slots_in_use() {
            let call = &self.calls[slot];
            let Kind::Write { copies, .. } = &call.kind else { continue };
            let on_flash = copies.iter().find(|(_, is_on_flash)| *is_on_flash);
            debug_assert_eq!(on_flash.is_some(), call.answered, "a write under way is answered by a copy");
            if let Some((copy, _)) = on_flash
                && self.versions.is_newer(call.lpn, call.number)
            {
                assert!(ftl.plane_of(self.copy_lpn(*copy)).is_some(), "a copy that answered a write is kept");
                ftl.adopt(call.lpn, self.copy_lpn(*copy));
                self.versions.program(call.lpn, call.number);
            }
        }
        self.versions.check_recovered();
        for slot in 0..self.writes.len() as u32 {
            ftl.trim(self.copy_lpn(Slot(slot)));
        }
        self.extra.clear(now);
        self.calls = Slab::new();
        self.writes.fill(None);
        for die in &mut self.dies {
            (die.timer, die.writing, die.waited_since) = (Ticket::NONE, false, None);
        }
        self.groups.clear();
    }
}
