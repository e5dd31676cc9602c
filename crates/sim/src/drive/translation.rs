//! Translation: finds places for mapping units, turns them into flash operations, and queues the garbage collection
//! that becomes due by it.
//!
//! [`Translation`] owns the translation layer ([`Ftl`], which knows no time) and error correction. It lends the layer
//! to [`Replicator`], which places and trims copies there and gives a mapping unit the place of a copy.
//!
//! Its tables survive a power cut, as drives rebuild them from what they wrote beside the data; hedged accesses,
//! rebuilds and GC that waits or is under way are lost, although the tables have that GC as done. A mapping unit whose
//! program was cut short keeps its new place, although flash would still have it at the old one: this makes no
//! difference to timing, and the drive holds no bytes. Read errors are drawn at random for each read, not kept.
//!
//! Invariant: `due_gc` is empty between two calls: the garbage collection that a call makes due is queued in it, or
//! waits for its turn in [`Rotation`].

mod gc;
mod large_units;
mod map_access;
mod map_cache;
mod programming;
mod reading;
mod rebuild;
mod replication;
mod rotation;
mod tasks;

use super::request::DriveKernel;
use crate::config::{DeferGc, DriveConfig};
use crate::event::Ticket;
use crate::ftl::{Ftl, FtlCounters, GcWork, Placed, StopCheck};
use crate::ids::{DieId, Lpn, PlaneId, TaskKind};
use crate::nand::{Correction, Defer, FlashOperation, Geometry, Owner};
use crate::table_memory::MakeError;
use flashlane_base::{Instant, Seed};
use flashlane_device::PlacementHandle;
use large_units::LargeUnits;
pub(super) use map_access::Resumed;
use map_cache::MapCache;
use rebuild::{RebuildSlot, Rebuilder};
use replication::{CopyPlaced, HedgeSlot, Replicator};
use rotation::{Rotation, TurnId};
use tasks::{COPY, HEDGE, HOST_MEMORY, LOAD, PAGE_WRITE, REBUILD, TURN};

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

    /// Loads the map's entry of a mapping unit that will be read soon into the processor's cache. It changes the speed
    /// of the simulator only.
    #[inline]
    pub(super) fn prefetch_entry(&self, lpn: Lpn) {
        self.ftl.prefetch(lpn);
    }

    /// As [`Self::prefetch_entry`] does, loads what the write of a mapping unit will touch.
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

    /// Whether the pages of a program group are programmed at once, so that each program waits until its group is
    /// complete.
    #[inline]
    pub(super) fn completes_program_groups(&self) -> bool {
        self.units_per_program > self.units_per_page
    }

    /// Programs the groups that are not complete, for which programs wait: what is missing of them stays empty.
    #[cold]
    pub(super) fn program_incomplete_groups(&mut self, kernel: &mut DriveKernel) {
        debug_assert!(self.completes_program_groups(), "other programs wait for nothing that may not come");
        if kernel.flash().has_waiting_groups() {
            self.close_open_pages(kernel);
            kernel.release_held();
        }
    }

    /// Forgets a mapping unit. The map on flash is notified of all units of a trim by [`Translation::trimmed`].
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
        self.ftl.add_counters(list);
        let ftl = self.ftl.counters();
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

    // The mechanisms.

    /// An operation of a task has ended ([`Owner::is_task`]). Returns the operation of the access that it
    /// completes, as the owner of that access knows it.
    pub(super) fn operation_finished(
        &mut self,
        kernel: &mut DriveKernel,
        operation: &FlashOperation,
    ) -> Option<FlashOperation> {
        match operation.owner {
            Owner::Task(REBUILD, slot) => {
                let rebuilder = self.rebuilder.as_mut().expect("only it rebuilds");
                rebuilder.operation_finished(
                    kernel,
                    &self.ftl,
                    &mut self.correction,
                    RebuildSlot(slot),
                    operation,
                )
            }
            Owner::Task(TURN, id) => {
                // The next die of the row has its turn.
                self.rotate(kernel, |rotation, turn| rotation.next(TurnId(id), turn));
                None
            }
            Owner::Task(LOAD | PAGE_WRITE, _) => {
                self.map_operation_finished(kernel, operation);
                None
            }
            Owner::Task(HEDGE | COPY, _) => {
                let replicator = self.replicator.as_mut().expect("hedged accesses and copies are its own");
                replicator.operation_finished(kernel, &mut self.ftl, operation)
            }
            owner => unreachable!("{owner:?} is no task of translation"),
        }
    }

    /// Whether an event of a task ends its timer; otherwise it is stale.
    pub(super) fn claims_timer(&mut self, kind: TaskKind, number: u32, ticket: Ticket) -> bool {
        if matches!(kind, PAGE_WRITE | HOST_MEMORY) {
            return true;
        }
        let replicator = self.replicator.as_mut().expect("only replication has others");
        match kind {
            HEDGE => replicator.claims_deadline(HedgeSlot(number), ticket),
            COPY => replicator.claims_copy_timer(DieId(number), ticket),
            _ => unreachable!("{kind:?} has no timers"),
        }
    }

    /// The timer of a task has ended.
    pub(super) fn timer_ended(&mut self, kernel: &mut DriveKernel, kind: TaskKind, number: u32) {
        match kind {
            HEDGE => self.hedge_deadline(kernel, HedgeSlot(number)),
            COPY => self.write_next_copy(kernel, DieId(number)),
            PAGE_WRITE | HOST_MEMORY => self.map_timer_ended(kernel, kind, number),
            _ => unreachable!("{kind:?} has no timers"),
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
            let program = self.program_operation(Owner::Task(COPY, 0), lpn, place, false);
            self.enqueue_placed(kernel, program, place, false);
        } else {
            self.enqueue_with_gc(kernel, None);
        }
    }

    // Power cut.

    /// Power is cut: hedged accesses, rebuilds and GC that waits are lost; the tables stay. A program group that is not
    /// complete is never completed.
    pub(super) fn cut_power(&mut self, now: Instant) {
        debug_assert!(self.due_gc.is_empty(), "GC is queued in the call that makes it due");
        if self.completes_program_groups() {
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
}
