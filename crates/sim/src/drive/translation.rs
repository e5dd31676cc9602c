//! Translation: finds places for mapping units, turns them into flash operations, and queues the garbage collection that
//! becomes due by it.
//!
//! [`Translation`] owns the translation layer ([`Ftl`], which knows no time) and error correction. It lends the layer to
//! [`Replicator`], which places and trims copies there and gives a mapping unit the place of a copy.
//!
//! Its tables survive a power cut, as drives rebuild them from what they wrote beside the data; hedged accesses, rebuilds and GC
//! that waits or is under way are lost, although the tables have that GC as done. A mapping unit whose program was cut
//! short keeps its new place, although flash would still have it at the old one: this makes no difference to timing, and
//! the drive holds no bytes. Read errors are drawn at random for each read, not kept.
//!
//! Invariant: between two calls no garbage collection is left to be queued.

mod large_units;
mod map_access;
mod map_cache;
mod mechanisms;
mod reading;
mod rebuild;
mod replication;
mod rotation;

use super::request::DriveKernel;
use crate::config::{DeferGc, DriveConfig};
use crate::event::Ticket;
use crate::ftl::{Ftl, FtlCounters, GcWork, NoRoom, Placed, StopCheck};
use crate::ids::{DieId, Lpn, Mechanism, PlaneId, RequestSlot};
use crate::nand::{Correction, Defer, FlashOperation, Gc, Geometry, Owner, PageType, Program, Read, Work};
use crate::table_memory::MakeError;
use flashlane_base::{Instant, Seed};
use flashlane_device::PlacementHandle;
use flashlane_policy::scheduling::Class;
use large_units::LargeUnits;
pub(super) use map_access::Resumed;
use map_cache::MapCache;
use mechanisms::{COPY, HEDGE, HOST_MEMORY, LOAD, PAGE_WRITE, REBUILD, TURN};
use rebuild::{RebuildSlot, Rebuilder};
use replication::{CopyPlaced, HedgeSlot, Replicator};
use rotation::{Rotation, TurnId};
use std::ops::Range;

/// The part of a drive that knows where everything lies on flash.
pub(super) struct Translation {
    ftl: Ftl,
    correction: Option<Correction>,
    /// Where mapping units have copies.
    replicator: Option<Replicator>,
    /// Where a part of the map is on flash.
    map_cache: Option<Box<MapCache>>,
    /// Where reads are rebuilt from parity.
    rebuilder: Option<Rebuilder>,
    /// Where the dies of a row take turns to garbage-collect.
    rotation: Option<Rotation>,
    /// Array reads that error correction needed beyond the first of each read.
    read_retries: u64,
    unit_bytes: u64,
    /// Where mapping units are larger than a page.
    large_units: Option<LargeUnits>,
    units_per_page: u32,
    units_per_program: u32,
    /// Whether writes name placement handles.
    has_handles: bool,
    /// Whether there is an SLC cache.
    has_slc: bool,
    /// Planes of a die, of which those that go together count as one.
    planes_per_die: u32,
    /// How long GC that a write made due lets others pass.
    defer: Defer,
    /// Whether GC reads what it moves into the controller's memory before it programs it again.
    moves_in_runs: bool,
    // Empty lists, kept to spare their allocation.
    due_gc: Vec<GcWork>,
    turn: Vec<GcWork>,
    placed: Vec<Placed>,
    moved: Vec<Lpn>,
}

/// For whom GC is done, and how it is scheduled.
#[derive(Clone, Copy)]
struct GcScheduling {
    owner: Owner,
    class: Class,
    defer: Defer,
}

impl GcScheduling {
    fn operation(self, plane: PlaneId, work: Work) -> FlashOperation {
        FlashOperation { work, owner: self.owner, class: self.class, defer: self.defer, plane }
    }
}

impl Translation {
    /// The translation of a drive in its profile's initial state. Requires: `config` is validated.
    ///
    /// # Errors
    /// [`MakeError`] where `watch` breaks, or the system has no room for the tables.
    pub(super) fn new(
        config: &DriveConfig,
        geometry: &Geometry,
        seed: Seed,
        watch: StopCheck<'_>,
    ) -> Result<Self, MakeError> {
        let mut ftl = Ftl::new(config, seed).map_err(|source| MakeError::no_room(config, source))?;
        if ftl.prepare(config, seed, watch).is_break() {
            return Err(MakeError::Stopped);
        }
        let map_cache = MapCache::new(config, geometry).map(Box::new);
        #[cfg(test)]
        let map_cache = map_cache.map(|mut cache| {
            cache.begin_shadow(&ftl);
            cache
        });
        Ok(Self {
            ftl,
            correction: Correction::new(config, seed),
            replicator: Replicator::new(config, geometry, seed),
            map_cache,
            rebuilder: Rebuilder::new(config),
            rotation: Rotation::new(config, geometry),
            read_retries: 0,
            unit_bytes: geometry.unit_bytes,
            large_units: LargeUnits::new(geometry),
            units_per_page: geometry.units_per_page,
            units_per_program: geometry.units_per_program,
            has_handles: config.placement.is_some(),
            has_slc: config.slc.is_some(),
            planes_per_die: geometry.planes_per_die / geometry.joined_planes,
            defer: match config.cleaning.defer {
                DeferGc::No => Defer::No,
                DeferGc::UntilNextOperation => Defer::UntilNextOperation,
                DeferGc::BehindHost => Defer::BehindHost,
            },
            moves_in_runs: config.flash.cache_mode && geometry.has_superblocks(),
            due_gc: Vec::new(),
            turn: Vec::new(),
            placed: Vec::new(),
            moved: Vec::new(),
        })
    }

    /// The plane on which a mapping unit lies, if it was ever written.
    #[inline]
    pub(super) fn plane_of(&self, lpn: Lpn) -> Option<PlaneId> {
        self.ftl.plane_of(lpn)
    }

    /// The manager of copies, where the drive replicates.
    #[cfg(test)]
    pub(super) fn replicator(&self) -> Option<&Replicator> {
        self.replicator.as_ref()
    }

    /// A hint that a mapping unit will be read soon.
    #[inline]
    pub(super) fn prefetch_entry(&self, lpn: Lpn) {
        self.ftl.prefetch(lpn);
    }

    /// A hint that a mapping unit will be written soon.
    #[inline]
    pub(super) fn prefetch_place(&self, lpn: Lpn) {
        self.ftl.prefetch_place(lpn);
    }

    /// The plane that a mapping unit will be programmed on, where any has room.
    pub(super) fn assign(&mut self, lpn: Lpn) -> Option<PlaneId> {
        self.ftl.assign(lpn).ok()
    }

    /// Closes the flash pages that are programmed in part.
    pub(super) fn close_open_pages(&mut self, kernel: &mut DriveKernel) {
        debug_assert!(self.due_gc.is_empty(), "GC is queued in the call that makes it due");
        self.ftl.close_open_pages(&mut self.due_gc);
        if !self.due_gc.is_empty() {
            self.enqueue_with_gc(kernel, None);
            self.settle_map(kernel);
        }
    }

    /// Whether a drive programs all pages of a word line at once, so that each program waits until its word line is complete.
    #[inline]
    pub(super) fn completes_word_lines(&self) -> bool {
        self.units_per_program > self.units_per_page
    }

    /// Programs the word lines for which programs wait: what is missing of them stays empty.
    #[cold]
    pub(super) fn program_word_lines(&mut self, kernel: &mut DriveKernel) {
        debug_assert!(self.completes_word_lines(), "other programs wait for nothing that may not come");
        if kernel.flash().has_waiting_groups() {
            self.close_open_pages(kernel);
            kernel.release_groups();
        }
    }

    /// Forgets a mapping unit. The map on flash is told of all units of a trim by [`Translation::trimmed`].
    pub(super) fn trim(&mut self, lpn: Lpn) {
        if let Some(replicator) = &mut self.replicator {
            replicator.trim(lpn);
        }
        self.ftl.trim(lpn);
    }

    pub(super) fn ftl_counters(&self) -> FtlCounters {
        self.ftl.counters()
    }

    /// Appends the counters of the translation layer, and of the mechanisms that the drive has.
    pub(super) fn add_counters(&self, list: &mut Vec<(&'static str, u64)>) {
        list.push(("read_retries", self.read_retries));
        let ftl = self.ftl.counters();
        list.extend(ftl.list());
        if self.has_slc {
            list.extend([("slc_pages_written", ftl.slc_units), ("slc_pages_folded", ftl.folded_units)]);
        }
        if self.units_per_program > 1 {
            list.push(("pages_left_empty", ftl.left_empty_units));
        }
        if let Some(cache) = &self.map_cache {
            list.extend(cache.counters());
            list.extend([
                ("translation_pages_written", ftl.translation_pages),
                ("translation_pages_moved", ftl.moved_translation_pages),
            ]);
        }
        list.extend(self.rebuilder.iter().flat_map(Rebuilder::counters));
        list.extend(self.replicator.iter().flat_map(Replicator::counters));
    }

    pub(super) fn wear_spread(&self) -> (u32, f64, u32) {
        self.ftl.wear_spread()
    }

    /// Whether idle dies are given GC beyond what writing needs.
    pub(super) fn has_idle_gc(&self) -> bool {
        self.ftl.has_idle_gc()
    }

    /// Every table agrees with every other.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.ftl.check();
        self.check_map(false);
    }

    /// Bytes of a mapping unit.
    pub(super) fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Whether writes name placement handles.
    #[inline]
    pub(super) fn has_handles(&self) -> bool {
        self.has_handles
    }

    /// The mapping units that are programmed from now on have this placement handle. Requires: there are handles.
    pub(super) fn use_handle(&mut self, handle: PlacementHandle) {
        self.ftl.use_handle(handle);
    }

    /// Finds a place for a mapping unit and programs it there, on `assigned` where that has room. `may_wait`: it may wait
    /// for others that are programmed along with it. Returns the plane.
    ///
    /// # Errors
    /// [`NoRoom`] where no block is left to write to.
    #[inline]
    pub(super) fn program(
        &mut self,
        kernel: &mut DriveKernel,
        owner: Owner,
        lpn: Lpn,
        assigned: Option<PlaneId>,
        may_wait: bool,
    ) -> Result<PlaneId, NoRoom> {
        debug_assert!(self.due_gc.is_empty(), "GC is queued with the program that made it due");
        let placed = match assigned {
            Some(plane) if self.ftl.can_take(plane, lpn) => self.ftl.place_on(plane, lpn, &mut self.due_gc),
            _ => self.ftl.place(lpn, &mut self.due_gc),
        };
        let Ok(place) = placed else {
            self.enqueue_with_gc(kernel, None);
            self.settle_map(kernel);
            return Err(NoRoom);
        };
        let mut program = self.program_operation(owner, lpn, place, may_wait);
        if let Some(replicator) = &mut self.replicator {
            let is_behind_gc = self.due_gc.iter().any(|gc| gc.precedes_write);
            program = replicator.write(kernel, program, is_behind_gc);
        }
        self.enqueue_placed(kernel, program, place, may_wait);
        self.update_map(kernel, lpn);
        Ok(place.plane)
    }

    /// Queues the program of a mapping unit in its place, with the GC that it made due.
    #[inline]
    fn enqueue_placed(
        &mut self,
        kernel: &mut DriveKernel,
        program: FlashOperation,
        place: Placed,
        may_wait: bool,
    ) {
        if self.due_gc.is_empty() {
            self.enqueue_program(kernel, program);
        } else {
            self.enqueue_with_gc(kernel, Some(program));
        }
        self.enqueue_parity(kernel, place, may_wait);
    }

    /// [`Translation::program`] for mapping units of a request that follow each other, of a drive without a map cache. `units`
    /// is left with those behind the first for which there was no room.
    ///
    /// # Errors
    /// [`NoRoom`] where no block is left to write to.
    pub(super) fn program_run(
        &mut self,
        kernel: &mut DriveKernel,
        slot: RequestSlot,
        units: &mut Range<u32>,
    ) -> Result<(), NoRoom> {
        debug_assert!(self.map_cache.is_none(), "a map cache is told of every place");
        let owner = Owner::Request(slot);
        if self.replicator.is_some() {
            while units.start < units.end {
                units.start += 1;
                self.program(kernel, owner, Lpn(units.start - 1), None, false)?;
            }
            return Ok(());
        }
        let mut placed = std::mem::take(&mut self.placed);
        let mut outcome = Ok(());
        while units.start < units.end && outcome.is_ok() {
            outcome = self.ftl.place_run(units.clone(), &mut placed, &mut self.due_gc);
            // The GC that became due goes with the last of them.
            let last = if outcome.is_ok() && !self.due_gc.is_empty() { placed.pop() } else { None };
            self.enqueue_run(kernel, owner, Lpn(units.start), &placed);
            units.start += placed.len() as u32;
            placed.clear();
            if let Some(place) = last {
                let program = self.program_operation(owner, Lpn(units.start), place, false);
                self.enqueue_with_gc(kernel, Some(program));
                self.enqueue_parity(kernel, place, false);
                units.start += 1;
            } else if outcome.is_err() {
                self.enqueue_with_gc(kernel, None);
                units.start += 1;
            }
        }
        self.placed = placed;
        outcome
    }

    /// Programs mapping units from `first` on in these places.
    fn enqueue_run(&self, kernel: &mut DriveKernel, owner: Owner, first: Lpn, places: &[Placed]) {
        if kernel.flash().joins_programs() && self.large_units.is_none() {
            let Some(&place) = places.first() else { return };
            debug_assert!(places.iter().all(|place| place.parity.is_none()), "parity refuses copyback");
            let Work::Program(unit) = self.program_operation(owner, first, place, false).work else { return };
            let places = places.iter().map(|place| (place.plane, place.fills_block));
            return kernel.enqueue_run(owner, unit, places);
        }
        for (lpn, &place) in (first.0..).map(Lpn).zip(places) {
            self.enqueue_program(kernel, self.program_operation(owner, lpn, place, false));
            self.enqueue_parity(kernel, place, false);
        }
    }

    /// Returns the flash operation that programs a mapping unit in its place.
    #[inline]
    fn program_operation(&self, owner: Owner, lpn: Lpn, place: Placed, may_wait: bool) -> FlashOperation {
        let program = Program {
            lpn,
            units: 1,
            bus_bytes: self.unit_bytes,
            fills_block: place.fills_block,
            waits_for_group: place.waits_for_group && may_wait,
            page_type: place.page_type,
            program_group: place.program_group,
        };
        let (work, class) = (Work::Program(program), Class::Write);
        FlashOperation::new(work, owner, class, place.plane)
    }

    /// Programs the parity of the row that a mapping unit has completed, if it has.
    #[inline]
    fn enqueue_parity(&self, kernel: &mut DriveKernel, place: Placed, may_wait: bool) {
        if let Some(plane) = place.parity {
            let parity = Placed { plane, fills_block: false, ..place };
            self.enqueue_program(kernel, self.program_operation(Owner::None, Lpn::NONE, parity, may_wait));
        }
    }

    /// Queues a program and the GC that belongs to it: first GC that frees the program's block and GC deferred since the
    /// block before was opened, then the program, then other GC. All have the class of a host write, so that no rank
    /// reorders them.
    #[cold]
    fn enqueue_with_gc(&mut self, kernel: &mut DriveKernel, program: Option<FlashOperation>) {
        let mut due = std::mem::take(&mut self.due_gc);
        if self.defer == Defer::BehindHost {
            due.iter().for_each(|gc| kernel.promote_gc(gc.plane));
        }
        let plane = program.map(|program| program.plane);
        let host = GcScheduling { owner: Owner::Gc, class: Class::Write, defer: Defer::No };
        if due.iter().any(|gc| gc.precedes_write) {
            // GC that waits for its turn was done before, and goes first.
            self.rotate(kernel, |rotation, turn| {
                rotation.begin_all(due[0].plane, turn);
                None
            });
        }
        let deferred = GcScheduling { defer: self.defer, ..host };
        for gc in due.iter().filter(|gc| gc.precedes_write) {
            // Other planes are merged along with the unit's own, for the same write: that is not put off.
            let own = plane.is_none_or(|plane| plane == gc.plane);
            let waits = own && self.defer == Defer::UntilNextOperation;
            self.enqueue_gc(kernel, gc, if waits { deferred } else { host });
        }
        if let Some(program) = program {
            self.enqueue_program(kernel, program);
        }
        due.retain(|gc| !gc.precedes_write);
        match self.rotation {
            None => due.iter().for_each(|gc| self.enqueue_gc(kernel, gc, deferred)),
            Some(_) => self.rotate(kernel, |rotation, turn| rotation.add(&due, turn)),
        }
        due.clear();
        self.due_gc = due;
    }

    // Rotation of GC.

    /// Queues the GC that has its turn after a change of the rotation, where GC rotates.
    fn rotate(
        &mut self,
        kernel: &mut DriveKernel,
        change: impl FnOnce(&mut Rotation, &mut Vec<GcWork>) -> Option<TurnId>,
    ) {
        let Some(rotation) = &mut self.rotation else { return };
        let mut turn = std::mem::take(&mut self.turn);
        let reported = change(rotation, &mut turn);
        for (at, gc) in turn.iter().enumerate() {
            let is_last = at + 1 == turn.len();
            let owner = reported.filter(|_| is_last).map_or(Owner::Gc, TurnId::owner);
            self.enqueue_gc(kernel, gc, GcScheduling { owner, class: Class::Write, defer: Defer::No });
        }
        turn.clear();
        self.turn = turn;
    }

    // The mechanisms.

    /// An operation of a mechanism has ended ([`Owner::is_mechanism`]). Returns the operation of the access that it completes,
    /// as the owner of that access knows it.
    pub(super) fn operation_finished(
        &mut self,
        kernel: &mut DriveKernel,
        operation: &FlashOperation,
    ) -> Option<FlashOperation> {
        match operation.owner {
            Owner::Mechanism(REBUILD, slot) => {
                let rebuilder = self.rebuilder.as_mut().expect("only it rebuilds");
                rebuilder.operation_finished(
                    kernel,
                    &self.ftl,
                    &mut self.correction,
                    RebuildSlot(slot),
                    operation,
                )
            }
            Owner::Mechanism(TURN, id) => {
                // The next die of the row has its turn.
                self.rotate(kernel, |rotation, turn| rotation.next(TurnId(id), turn));
                None
            }
            Owner::Mechanism(LOAD | PAGE_WRITE, _) => {
                self.map_operation_finished(kernel, operation);
                None
            }
            Owner::Mechanism(HEDGE | COPY, _) => {
                let replicator = self.replicator.as_mut().expect("hedged accesses and copies are its own");
                replicator.operation_finished(kernel, &mut self.ftl, operation)
            }
            owner => unreachable!("{owner:?} is no mechanism of translation"),
        }
    }

    /// Whether an event of a mechanism ends its timer; otherwise it is stale.
    pub(super) fn claims_timer(&mut self, mechanism: Mechanism, number: u32, ticket: Ticket) -> bool {
        if matches!(mechanism, PAGE_WRITE | HOST_MEMORY) {
            return true;
        }
        let replicator = self.replicator.as_mut().expect("only replication has others");
        match mechanism {
            HEDGE => replicator.claims_deadline(HedgeSlot(number), ticket),
            COPY => replicator.claims_copy_timer(DieId(number), ticket),
            _ => unreachable!("{mechanism:?} has no timers"),
        }
    }

    /// The timer of a mechanism has ended.
    pub(super) fn timer_ended(&mut self, kernel: &mut DriveKernel, mechanism: Mechanism, number: u32) {
        match mechanism {
            HEDGE => self.hedge_deadline(kernel, HedgeSlot(number)),
            COPY => self.write_next_copy(kernel, DieId(number)),
            PAGE_WRITE | HOST_MEMORY => self.map_timer_ended(kernel, mechanism, number),
            _ => unreachable!("{mechanism:?} has no timers"),
        }
    }

    /// The deadline of a hedged access has passed.
    fn hedge_deadline(&mut self, kernel: &mut DriveKernel, slot: HedgeSlot) {
        let replicator = self.replicator.as_mut().expect("only its accesses have deadlines");
        if let Some(die) = replicator.deadline_passed(kernel, &self.ftl, slot) {
            self.write_next_copy(kernel, die);
        }
    }

    /// Operations of a die have ended: where it is idle it can take copies.
    #[inline]
    pub(super) fn watch_for_copies(&mut self, kernel: &mut DriveKernel, die: DieId) {
        if let Some(replicator) = &mut self.replicator
            && kernel.flash().is_idle(die, kernel.now())
        {
            replicator.idle(die, kernel.now());
            self.write_next_copy(kernel, die);
        }
    }

    /// Writes the copy that is due on a die, if it was idle for long enough.
    fn write_next_copy(&mut self, kernel: &mut DriveKernel, die: DieId) {
        debug_assert!(self.due_gc.is_empty(), "GC is queued in the call that makes it due");
        let Some(replicator) = &mut self.replicator else { return };
        if let Some(copy) = replicator.next_copy(kernel, &mut self.ftl, die, &mut self.due_gc) {
            let CopyPlaced { place, lpn } = copy;
            let program = self.program_operation(Owner::Mechanism(COPY, 0), lpn, place, false);
            self.enqueue_placed(kernel, program, place, false);
        } else {
            self.enqueue_with_gc(kernel, None);
        }
    }

    // Power cut.

    /// Power is cut: hedged accesses, rebuilds and GC that waits are lost; the tables stay. A word line that is not complete
    /// is never completed.
    pub(super) fn cut_power(&mut self, now: Instant) {
        if self.completes_word_lines() {
            self.ftl.close_open_pages(&mut self.due_gc);
            self.due_gc.clear();
        }
        if let Some(rebuilder) = &mut self.rebuilder {
            rebuilder.cut_power();
        }
        if let Some(rotation) = &mut self.rotation {
            rotation.cut_power();
        }
        if let Some(cache) = &mut self.map_cache {
            cache.cut_power();
        }
        if let Some(replicator) = &mut self.replicator {
            replicator.cut_power(&mut self.ftl, now);
        }
    }

    // GC to flash operations.

    /// Garbage-collects a block of each plane of an idle die that is short of free blocks.
    pub(super) fn enqueue_idle_gc(&mut self, kernel: &mut DriveKernel, die: DieId) {
        debug_assert!(self.due_gc.is_empty(), "GC is queued in the call that makes it due");
        let planes = self.planes_per_die;
        let mut due = std::mem::take(&mut self.due_gc);
        for plane in die.0 * planes..(die.0 + 1) * planes {
            self.ftl.collect_idle(PlaneId(plane), &mut due);
        }
        let idle = GcScheduling { owner: Owner::IdleGc, class: Class::IdleGc, defer: Defer::No };
        due.drain(..).for_each(|gc| self.enqueue_gc(kernel, &gc, idle));
        self.due_gc = due;
        self.settle_map(kernel);
    }

    /// Turns GC that the translation layer did into flash operations.
    fn enqueue_gc(&self, kernel: &mut DriveKernel, gc: &GcWork, scheduling: GcScheduling) {
        let GcWork { plane, planes, mut moves, summaries, erases, from_slc, is_paced_step, .. } = *gc;
        if self.moves_in_runs {
            // The end of GC is that of what follows its moves.
            let owner = if scheduling.owner.is_mechanism() { Owner::Gc } else { scheduling.owner };
            let moved = GcWork { moves: std::mem::take(&mut moves), ..*gc };
            self.enqueue_moves(kernel, &moved, GcScheduling { owner, ..scheduling });
            if is_paced_step && summaries + erases == 0 {
                return;
            }
        }
        let moves = self.large_units.map_or(moves, |large| large.pages_of(moves));
        let gc = Gc { moves, summaries, erases, from_slc, planes, is_paced_step };
        kernel.enqueue(scheduling.operation(plane, Work::Gc(gc)));
    }

    /// Queues the moves of GC as reads, then programs, which overlap as the host's do.
    fn enqueue_moves(&self, kernel: &mut DriveKernel, gc: &GcWork, scheduling: GcScheduling) {
        let GcWork { plane, planes, moves, from_slc, .. } = *gc;
        let on_all_bytes = self.unit_bytes * u64::from(planes);
        let together = self.units_per_program;
        let lpn = Lpn::NONE;
        let page_type = if from_slc { PageType::SLC_CACHE } else { PageType::MEAN };
        let read = Read { units: planes, page_type, ..Read::of(lpn, on_all_bytes) };
        for _ in 0..moves {
            kernel.enqueue(scheduling.operation(plane, Work::Read(read)));
        }
        for at in (0..moves).step_by(together as usize) {
            let bus_bytes = on_all_bytes * u64::from(together.min(moves - at));
            let program = Program { units: planes, ..Program::of(lpn, bus_bytes) };
            kernel.enqueue(scheduling.operation(plane, Work::Program(program)));
        }
    }
}
