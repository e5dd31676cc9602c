//! Replication: reads and writes of mapping units go to whichever die is free (he14).
//!
//! Beside the mapping units that the host sees, the translation layer has a number of them on each die for copies: a
//! copy is placed like any other unit, and released once only reads use it (`copies`). Which die an access goes to, and
//! which copies there are, is decided by `flashlane_replication`; [`Replicator`] turns it into flash operations. It
//! uses the `Ftl` that `translation` owns: places and releases copies there, trims stale ones, and gives a mapping unit
//! the place of a copy after a power cut.
//!
//! ```text
//! read   the least blocked die first, or the first that does not garbage-collect; at its deadline the next one, and so on
//! write  the home; at its deadline, if the home waits for GC of its die, a copy on another die, once that is idle for long
//!        enough, and so on
//! ```
//!
//! A deadline is the delay D after the start of the access's latest flash operation. D is the paper's threshold for
//! detecting an internal activity (table 1). The firmware knows the state of its chips (section 4.1), so that an access
//! which merely waits for others of the host is not blocked.
//!
//! A *hedged access* (`hedge`) may be done on several dies: the first flash operation that ends completes it, the
//! results of later ones are dropped. The *home* of a mapping unit is its place outside the space for copies.
//!
//! Durability: a write completes once its home or one copy is on flash. Every copy carries, beside its data, the number
//! of its mapping unit and of the write, so that recovery finds the newest one; here [`Replicator::cut_power`] does
//! that, and then forgets all other copies. A copy that completed a write is kept until the home is programmed, too:
//! until then no group gives it up. A later version may be programmed first, or the unit be trimmed: such a copy is not
//! the newest version (`versions`).
//!
//! Invariants:
//! - every hedged access completes once, and stays until all its flash operations but the copies' have ended;
//! - a copy can be read only once its mapping unit's home is programmed, and is released then;
//! - no timer runs for an access that has ended.

mod copies;
mod counts;
mod dies;
mod hedge;
mod versions;

use super::super::request::DriveKernel;
use super::tasks::{COPY, HEDGE};
use crate::config::DriveConfig;
use crate::event::{Event, Ticket, Timer};
use crate::ftl::{Ftl, Placed, Released};
use crate::ids::{DieId, Lpn, PlaneId};
use crate::nand::{Defer, FlashOperation, Geometry, Owner, Program, Read, Timing, Work};
use crate::slab::Slab;
use counts::ReplicationCounts;
use dies::DieAccesses;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_policy::scheduling::Class;
use flashlane_replication::{AccessKind, Candidate, ExtraWrites, Groups, History, Shape, Slot, take_best};
pub(super) use hedge::HedgeSlot;
use hedge::{HedgeKind, HedgedAccess};
use versions::Versions;

/// A copy that is to be programmed: its place, and the number of its mapping unit.
pub(super) struct CopyPlaced {
    pub(super) place: Placed,
    pub(super) lpn: Lpn,
}

/// The replication manager of a drive.
pub(in crate::drive) struct Replicator {
    groups: Groups,
    history: History,
    extra: ExtraWrites,
    hedged: Slab<HedgeSlot, HedgedAccess>,
    /// For each slot the write that waits for its copy, or whose home has yet to be programmed.
    writes: Vec<Option<HedgeSlot>>,
    /// For each slot whose copy can be read, where that is; its block may be erased by now.
    released: Vec<Option<Released>>,
    /// For each slot whether a blocked read or a blocked write is the reason for its copy.
    causes: Vec<AccessKind>,
    versions: Versions,
    dies: Vec<DieAccesses>,
    random: Random,
    delay: Duration,
    planes_per_die: u32,
    /// The first number of a copy's mapping unit.
    first_copy: u32,
    counts: ReplicationCounts,
    // Empty lists, kept to spare their allocation.
    others: Vec<u32>,
    freed: Vec<Slot>,
}

impl Replicator {
    /// The manager of a drive without copies; `None` where it does not replicate. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Option<Self> {
        let replication = config.replication.as_ref()?;
        let shape = Shape {
            pages: geometry.logical_units,
            chips: geometry.dies,
            slots_per_chip: geometry.later_units / geometry.dies,
            copies: replication.most_copies(geometry.dies),
        };
        let (name, options) = (&replication.policy, replication.options.options());
        let policy = config.policies.replication.build(name, shape.slots(), &options);
        let timing = Timing::new(config, seed);
        let bus = timing.bus(geometry.unit_bytes);
        let (read, write) = ((timing.read + bus).max(Duration::from_ns(1)), timing.program + bus);
        Some(Self {
            groups: Groups::new(shape, policy.expect("validation built every policy once")),
            history: History::new(shape.pages, shape.chips),
            extra: ExtraWrites::new(shape.chips, replication.queue, replication.epoch.0, read, write),
            hedged: Slab::new(),
            writes: vec![None; shape.slots() as usize],
            released: vec![None; shape.slots() as usize],
            causes: vec![AccessKind::Write; shape.slots() as usize],
            versions: Versions::new(shape.pages),
            dies: vec![DieAccesses::new(); geometry.dies as usize],
            random: seed.derive("replication").source(),
            delay: replication.delay_of(config.flash.program.0),
            planes_per_die: geometry.planes_per_die,
            first_copy: geometry.logical_units,
            counts: ReplicationCounts::default(),
            others: Vec::new(),
            freed: Vec::new(),
        })
    }

    /// The counters, under the names that results have.
    pub(super) fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.list(self.expected_extra_writes())
    }

    /// The estimate of extra writes (he14, section 4.2.1).
    fn expected_extra_writes(&self) -> f64 {
        self.history.expected_extra_writes(|blocking| self.groups.replicates_read(blocking))
    }

    #[cfg(test)]
    pub(in crate::drive) fn last_version(&self) -> u64 {
        self.versions.last()
    }

    /// The numbers of the writes of a mapping unit whose homes are not programmed yet.
    #[cfg(test)]
    pub(in crate::drive) fn writes_under_way(&self, lpn: Lpn) -> Vec<u64> {
        let hedged = self.hedged.slots_in_use().into_iter().map(|slot| &self.hedged[slot]);
        hedged.filter(|access| access.lpn == lpn).map(|access| access.number).collect()
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
        self.dies[die.index()].access(now);
    }

    /// Starts the timer of an access's next deadline.
    fn start_deadline(&mut self, kernel: &mut DriveKernel, slot: HedgeSlot) {
        self.hedged[slot].timer = kernel.start_timer(self.delay, Event::Task(HEDGE, slot.0));
    }

    // Reads.

    /// Reads a mapping unit whose home is on `plane` for `owner`, there or from a copy.
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
        self.abandon_erased(ftl, lpn);
        let mut candidates: Vec<Candidate> = Vec::new();
        for slot in self.groups.readable(lpn.0) {
            let die = self.groups.chip_of(slot);
            candidates.push(Candidate { chip: die, slot: Some(slot), used: self.dies[die as usize].used });
        }
        let of_home = Candidate { chip: home.0, slot: None, used: self.dies[home.index()].used };
        let collects = |candidate: &Candidate| kernel.flash().is_collecting(DieId(candidate.chip));
        candidates.push(of_home);
        let best = take_best(&mut candidates, &self.history).expect("the home is one");
        let blocked = collects(&best);
        let mut first = best;
        if blocked && let Some(free) = self.first_free(kernel, &candidates) {
            candidates.retain(|candidate| *candidate != free);
            candidates.push(best);
            first = free;
        }
        self.history.record(lpn.0, best.chip, AccessKind::Read, blocked);
        let is_replicated = self.groups.is_replicated(lpn.0);
        if is_replicated {
            self.groups.touch(lpn.0, self.blocking_of_group(lpn));
        }
        let replicates =
            blocked && !is_replicated && self.groups.replicates_read(self.history.blocking_of_page(lpn.0));
        let owner = if candidates.is_empty() && !replicates {
            self.counts.reads.count(1);
            owner
        } else {
            let has_deadline = !candidates.is_empty();
            let kind = HedgeKind::Read { read, candidates, replicates };
            let slot = self.hedge(lpn, home, owner, kind);
            if has_deadline {
                self.start_deadline(kernel, slot);
            }
            slot.owner()
        };
        self.enqueue_read(kernel, owner, plane, read, first);
    }

    /// The best candidate whose die does not garbage-collect.
    fn first_free(&self, kernel: &DriveKernel, candidates: &[Candidate]) -> Option<Candidate> {
        let mut rest = candidates.to_vec();
        std::iter::from_fn(|| take_best(&mut rest, &self.history))
            .find(|candidate| !kernel.flash().is_collecting(DieId(candidate.chip)))
    }

    /// Queues the read of a mapping unit from `source`; its home is on `home`.
    fn enqueue_read(
        &mut self,
        kernel: &mut DriveKernel,
        owner: Owner,
        home: PlaneId,
        read: Read,
        source: Candidate,
    ) {
        let of_copy = |slot: Slot| self.released[slot.0 as usize].expect("a readable copy is released").plane;
        let plane = source.slot.map_or(home, of_copy);
        self.access(kernel.flash().die_of(plane), kernel.now());
        let (work, class, defer) = (Work::Read(read), Class::HostRead, Defer::No);
        kernel.enqueue(FlashOperation { work, owner, class, defer, plane });
    }

    /// Adds a hedged access, whose first flash operation is about to be queued.
    fn hedge(&mut self, lpn: Lpn, home: DieId, owner: Owner, kind: HedgeKind) -> HedgeSlot {
        let (number, timer) = (self.versions.next(), Timer::STOPPED);
        let (under_way, operations, is_complete) = (1, 1, false);
        let access =
            HedgedAccess { lpn, home, owner, kind, under_way, operations, is_complete, timer, number };
        self.hedged.insert(access)
    }

    // Writes.

    /// A mapping unit has a new home, which `program` writes: its copies are stale. `is_behind_gc`: GC will be queued
    /// before it. Returns the program as that of a hedged access.
    pub(super) fn write(
        &mut self,
        kernel: &mut DriveKernel,
        program: FlashOperation,
        is_behind_gc: bool,
    ) -> FlashOperation {
        let Work::Program(Program { lpn, .. }) = program.work else { unreachable!("a write is a program") };
        self.forget(lpn);
        let die = kernel.flash().die_of(program.plane);
        self.access(die, kernel.now());
        let kind = HedgeKind::Write { blocked: false, copies: Vec::new() };
        let slot = self.hedge(lpn, die, program.owner, kind);
        // GC that is queued later does not block it.
        if is_behind_gc || kernel.flash().is_collecting(die) {
            self.start_deadline(kernel, slot);
        }
        FlashOperation { owner: slot.owner(), ..program }
    }

    /// A mapping unit is trimmed, also where a copy completed its last write.
    pub(super) fn trim(&mut self, lpn: Lpn) {
        self.forget(lpn);
        self.versions.trim(lpn);
    }

    // Deadlines.

    /// The deadline of an access has passed: a read that is not complete is sent to the next die, and a write whose
    /// home's die garbage-collects gets a copy; the next deadline of such a write follows the program of the copy.
    /// Returns the die that may have a copy to write.
    pub(super) fn deadline_passed(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        slot: HedgeSlot,
    ) -> Option<DieId> {
        let HedgedAccess { lpn, home, is_complete, .. } = self.hedged[slot];
        if is_complete {
            return None;
        }
        self.abandon_erased(ftl, lpn);
        let access = &mut self.hedged[slot];
        match &mut access.kind {
            HedgeKind::Read { read, candidates, .. } => {
                let read = *read;
                // A copy may have given up its place meanwhile.
                let is_there = |candidate: &Candidate| match candidate.slot {
                    Some(slot) => self.groups.readable(lpn.0).any(|other| other == slot),
                    None => true,
                };
                let next = std::iter::from_fn(|| take_best(candidates, &self.history)).find(is_there)?;
                // The unit may have been trimmed, too.
                let plane = ftl.plane_of(lpn)?;
                (access.under_way, access.operations) = (access.under_way + 1, access.operations + 1);
                self.enqueue_read(kernel, slot.owner(), plane, read, next);
                self.start_deadline(kernel, slot);
                None
            }
            // The GC has ended: the write is no longer blocked.
            HedgeKind::Write { .. } if !kernel.flash().is_collecting(home) => None,
            HedgeKind::Write { blocked, .. } => {
                if !std::mem::replace(blocked, true) {
                    self.history.record(lpn.0, home.0, AccessKind::Write, true);
                }
                self.add_copy(kernel, lpn, home, Some(slot))
            }
        }
    }

    /// A die has nothing to do.
    pub(super) fn idle(&mut self, die: DieId, now: Instant) {
        self.extra.idle(die.0, now);
    }

    /// Whether an event ends the timer of an access's deadline; see [`Timer::ends`].
    pub(super) fn claims_deadline(&mut self, slot: HedgeSlot, ticket: Ticket) -> bool {
        self.hedged[slot].timer.ends(ticket)
    }

    /// Whether an event ends the timer of a die's next copy; see [`Timer::ends`].
    pub(super) fn claims_copy_timer(&mut self, die: DieId, ticket: Ticket) -> bool {
        self.dies[die.index()].copy_timer.ends(ticket)
    }

    // Completion.

    /// An operation of a hedged access or a copy has ended. Returns the operation as its owner knows it, where it
    /// completes the access.
    pub(super) fn operation_finished(
        &mut self,
        kernel: &DriveKernel,
        ftl: &mut Ftl,
        operation: &FlashOperation,
    ) -> Option<FlashOperation> {
        match (operation.owner, operation.work) {
            (Owner::Task(COPY, _), Work::Program(program)) => self.copied(kernel, ftl, operation, program),
            (Owner::Task(HEDGE, slot), Work::Program(_)) => {
                let slot = HedgeSlot(slot);
                let completed = self.complete(slot, operation);
                self.home_programmed(ftl, slot);
                completed
            }
            (Owner::Task(HEDGE, slot), Work::Read(_)) => {
                let slot = HedgeSlot(slot);
                let completed = self.complete(slot, operation);
                if completed.is_some() {
                    self.replicate_read(kernel, ftl, slot, operation.plane);
                }
                let access = &mut self.hedged[slot];
                access.under_way -= 1;
                if access.under_way == 0 {
                    access.timer = Timer::STOPPED;
                    self.hedged.remove(slot);
                }
                completed
            }
            (owner, work) => unreachable!("{work:?} is not done for {owner:?}"),
        }
    }

    /// Completes a hedged access with this operation; `None` where an earlier one did.
    fn complete(&mut self, slot: HedgeSlot, operation: &FlashOperation) -> Option<FlashOperation> {
        let access = &mut self.hedged[slot];
        if std::mem::replace(&mut access.is_complete, true) {
            return None;
        }
        let by_operations = match &access.kind {
            HedgeKind::Read { .. } => &mut self.counts.reads,
            HedgeKind::Write { blocked, .. } => {
                if !blocked {
                    self.history.record(access.lpn.0, access.home.0, AccessKind::Write, false);
                }
                self.versions.acknowledge(access.lpn, access.number);
                self.counts.writes_by_copies += u64::from(operation.owner == Owner::Task(COPY, 0));
                &mut self.counts.writes
            }
        };
        debug_assert!(access.operations > 0, "an access completes by one of its operations");
        by_operations.count(access.operations);
        Some(FlashOperation { owner: access.owner, ..*operation })
    }

    /// A read that was blocked is replicated, now that it is in the drive's memory.
    fn replicate_read(&mut self, kernel: &DriveKernel, ftl: &Ftl, slot: HedgeSlot, plane: PlaneId) {
        let HedgedAccess { lpn, home, .. } = self.hedged[slot];
        self.counts.reads_by_copies += u64::from(kernel.flash().die_of(plane) != home);
        if let HedgeKind::Read { replicates: true, .. } = self.hedged[slot].kind
            && ftl.plane_of(lpn).is_some_and(|plane| kernel.flash().die_of(plane) == home)
        {
            self.add_copy(kernel, lpn, home, None);
        }
    }

    /// The home of a write is programmed: its copies on flash can be read, those on their way are a group's only.
    fn home_programmed(&mut self, ftl: &mut Ftl, slot: HedgeSlot) {
        let HedgeKind::Write { copies, .. } = &mut self.hedged[slot].kind else {
            unreachable!("it is a write")
        };
        for (copy, is_on_flash) in std::mem::take(copies) {
            self.writes[copy.0 as usize] = None;
            if is_on_flash {
                self.copy_written(ftl, copy);
            }
        }
        let write = &mut self.hedged[slot];
        write.timer = Timer::STOPPED;
        self.versions.program(write.lpn, write.number);
        self.hedged.remove(slot);
    }

    /// A copy is on flash.
    fn copied(
        &mut self,
        kernel: &DriveKernel,
        ftl: &mut Ftl,
        operation: &FlashOperation,
        program: Program,
    ) -> Option<FlashOperation> {
        let slot = Slot(program.lpn.0 - self.first_copy);
        let die = kernel.flash().die_of(operation.plane);
        self.counts.interference += self.dies[die.index()].copy_ended(kernel.now());
        let Some(write) = self.writes[slot.0 as usize] else {
            self.copy_written(ftl, slot);
            return None;
        };
        let HedgeKind::Write { copies, .. } = &mut self.hedged[write].kind else {
            unreachable!("it is a write")
        };
        let copy = copies.iter_mut().find(|(copy, _)| *copy == slot);
        copy.expect("a write knows its copies").1 = true;
        let lpn = self.hedged[write].lpn;
        let operation = FlashOperation { work: Work::Program(Program { lpn, ..program }), ..*operation };
        self.complete(write, &operation)
    }

    /// Power is cut: recovery finds the newest version of each mapping unit, at its home or in a copy that completed a
    /// write, and all other copies are forgotten.
    pub(super) fn cut_power(&mut self, ftl: &mut Ftl, now: Instant) {
        for slot in self.hedged.slots_in_use() {
            let access = &self.hedged[slot];
            let HedgeKind::Write { copies, .. } = &access.kind else { continue };
            let on_flash = copies.iter().find(|(_, is_on_flash)| *is_on_flash);
            debug_assert_eq!(
                on_flash.is_some(),
                access.is_complete,
                "only a copy completes a write before its home"
            );
            if let Some((copy, _)) = on_flash
                && self.versions.is_newer(access.lpn, access.number)
            {
                assert!(
                    ftl.plane_of(self.copy_lpn(*copy)).is_some(),
                    "a copy that completed a write is kept"
                );
                ftl.adopt(access.lpn, self.copy_lpn(*copy));
                self.versions.program(access.lpn, access.number);
            }
        }
        self.versions.check_recovered();
        for slot in 0..self.writes.len() as u32 {
            ftl.trim(self.copy_lpn(Slot(slot)));
        }
        self.extra.clear(now);
        self.hedged = Slab::new();
        self.writes.fill(None);
        self.released.fill(None);
        self.dies.iter_mut().for_each(DieAccesses::cut_power);
        self.groups.clear();
    }
}
