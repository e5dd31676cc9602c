//! The write-back buffer: mapping units that the host has written and that are not on flash.
//!
//! A unit is *dirty*, then *chosen* to drain, then *programming*; its slot is free when the program ends. *Void*:
//! superseded, or without a block to go to, after it was chosen; not programmed. Policies that keep units that were
//! read have *clean* units too, which are dropped for room. A write of a unit goes to the version that is here until
//! that one is programming, or was written whole where writes are not coalesced, or only pads a batch: then the unit
//! gets another slot, with the parts of the version before it.
//!
//! A chosen unit waits in the drain queue until its drain starts: then it is *draining*, while its missing parts are
//! read and it is programmed. A version that the host has written only in part collects further parts while the one
//! before it is programming, unless a drain is forced. Each slot is in one row of this table:
//!
//! ```text
//! stage                   draining?   is in                      counted in
//! Free                    no          free, or free_pads
//! Clean                   no          the policy's order
//! Dirty                   no          the policy's order         dirty
//! Chosen, or Void         no          the drain queue
//! Chosen, or Void         yes                                    draining
//! Programming             yes                                    draining
//! ```
//!
//! The chosen and the draining units are those that are *leaving*.
//!
//! Units are chosen in one of two ways, and each frees its slot for the first write that waits. *Ahead*: one by one as
//! soon as more than the high watermark is filled. In *batches* (ruan12, section II): not before the buffer is full;
//! then a number of units for each package is chosen at once, and no more before the last of them is on flash. The
//! units of a policy with one queue drain in the queue's order, so that a unit whose package still programs one of the
//! buffer's holds up those behind it; those of a policy with a queue a package go to all packages at once.

mod drain_load;
mod drain_queue;
mod epochs;
mod unit;
mod versions;

use crate::amount::Amount;
use crate::config::{BufferSide, DriveConfig};
use crate::ids::{BufferSlot, Lpn, PackageId, PlaneId};
use crate::nand::{Geometry, Timing};
use crate::pieces::UnitParts;
use drain_load::DrainLoad;
pub(crate) use drain_load::{DrainCause, DrainCounters};
use drain_queue::DrainQueue;
use epochs::FlushEpochs;
use flashlane_base::{Duration, Instant, Seed};
use flashlane_device::{PlacementHandle, ProgramsInParts};
use flashlane_policy::buffer::{Pad, Page, PageUse, Queues, Replacement, Shape};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::ops::Add;
pub(crate) use unit::{BufferedUnit, Write};
use unit::{NO_WRITE, Stage};

/// The version of a unit that was buffered and not on flash when a write bypassed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unflushed {
    /// The number of the first write of it, as in [`BufferedUnit`].
    pub(crate) first_write: u64,
    /// The flush epoch in which that was.
    pub(crate) epoch: u64,
}

/// How a unit was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// As one more unit to be programmed.
    New,
    /// Into the version that was there, whose program had not begun.
    Absorbed,
    /// Not at all: every slot is taken.
    Full,
}

pub(crate) struct WriteBuffer {
    /// The slots; behind those of its size, those of units that pad a batch.
    entries: Vec<BufferedUnit>,
    slots: u32,
    logical_units: u32,
    free: Vec<BufferSlot>,
    free_pads: Vec<BufferSlot>,
    /// The newest version of each buffered unit.
    newest: HashMap<Lpn, BufferSlot, FxBuildHasher>,
    policy: Box<dyn Replacement>,
    keeps_reads: bool,
    /// Whether a write of a unit that is buffered whole replaces the buffered version.
    coalesce: bool,
    /// Whether a unit's plane is assigned when it is admitted.
    assigns: bool,
    /// Whether it is assigned when the unit is chosen to drain, since the bound on the wait of reads is one of its
    /// channel.
    assigns_to_drain: bool,
    planes_per_package: u32,
    dirty: usize,
    /// Units whose drain has started and not ended.
    draining: usize,
    /// Most units that are leaving, where units are chosen one by one.
    most_leaving: usize,
    /// Units that may be dirty or leaving before any is chosen to make room.
    high_watermark_units: usize,
    /// Most units of a batch, where units are chosen in batches.
    batch: Option<u32>,
    /// Whether a unit waits until its package has programmed the buffer's unit before.
    in_order: bool,
    /// Most units draining to a channel.
    most_on_channel: usize,
    drain_queue: DrainQueue,
    /// Draining units that wait for the version before them.
    collecting: Vec<BufferSlot>,
    load: DrainLoad,
    epochs: FlushEpochs,
    // Empty lists, kept to spare their allocation.
    batch_slots: Vec<u32>,
    pads: Vec<Pad>,
}

/// The view that a policy has of a drive's buffer, if there is one.
pub(crate) fn shape(config: &DriveConfig, geometry: &Geometry) -> Option<Shape> {
    let buffer = config.buffer.as_ref()?;
    let mapping = config.policies.mapping.build(&config.mapping.policy, &config.mapping.options.options());
    let bound = buffer.placement == BufferSide::Below || mapping.is_ok_and(|mapping| !mapping.is_free());
    Some(Shape {
        slots: (buffer.size.0 / geometry.unit_bytes) as u32,
        packages: bound.then_some(geometry.channels * geometry.packages_per_channel),
        block_pages: geometry.data_units,
    })
}

/// The longest that a unit of the buffer keeps a channel or a die of it busy: its missing part is read, then it is
/// programmed, with its block's summary if it fills the block.
pub(crate) fn longest_unit_time(config: &DriveConfig, geometry: &Geometry) -> Duration {
    // The seed is that of the noise, which is taken at its most.
    let timing = Timing::new(config, Seed(0));
    let array = timing.slowest();
    let noise = Duration::from_ns((array.as_ns() as f64 * config.flash.noise.0).ceil() as u64);
    array + noise + timing.bus(geometry.unit_bytes) * 2
}

impl DriveConfig {
    /// `buffer.drain_per_die`, where it is less than a program of a die takes. `None` without a buffer, and where units
    /// drain in batches.
    ///
    /// # Panics
    /// Where the profile is not validated.
    pub fn programs_in_parts(&self) -> Option<ProgramsInParts> {
        let buffer = self.buffer.as_ref().filter(|buffer| buffer.batch_pages_per_package.is_none())?;
        let geometry = Geometry::new(self);
        let drains = ProgramsInParts {
            drained_units: buffer.drain_per_die,
            plane_units: geometry.units_per_program,
            planes: if self.flash.multi_plane { geometry.planes_per_die } else { 1 },
        };
        (drains.drained_units < drains.program_units()).then_some(drains)
    }
}

impl WriteBuffer {
    /// The empty buffer of a drive, if it has one, whose counters start at `counters`. Requires: `config` is validated.
    pub(crate) fn new(config: &DriveConfig, geometry: &Geometry, counters: DrainCounters) -> Option<Self> {
        let longest = longest_unit_time(config, geometry);
        let (policies, shape) = (&config.policies, shape(config, geometry)?);
        let config = config.buffer.as_ref()?;
        let packages = geometry.channels * geometry.packages_per_channel;
        let slots = shape.slots;
        let policy = policies
            .buffer
            .build(&config.policy, shape, &config.options.options())
            .expect("validation built every policy once");
        let most_on_channel =
            config.read_wait.map_or(usize::MAX, |wait| (wait.0.as_ns() / longest.as_ns().max(1)) as usize);
        Some(Self {
            entries: vec![BufferedUnit::default(); slots as usize],
            slots,
            logical_units: geometry.logical_units,
            free: (0..slots).rev().map(BufferSlot).collect(),
            free_pads: Vec::new(),
            newest: HashMap::default(),
            keeps_reads: policy.keeps_reads(),
            coalesce: config.coalesce,
            assigns: shape.packages.is_some(),
            // The place of a superblock's next unit follows from the units before it, and the order of a batch from
            // packages that units have from their admission on.
            assigns_to_drain: config.read_wait.is_some()
                && config.batch_pages_per_package.is_none()
                && shape.packages.is_none()
                && !geometry.has_superblocks(),
            planes_per_package: geometry.planes / packages,
            dirty: 0,
            draining: 0,
            most_leaving: (geometry.dies * config.drain_per_die) as usize,
            high_watermark_units: (config.high_watermark.0 * f64::from(slots)) as usize,
            batch: config.batch_pages_per_package.map(|pages| pages * packages),
            in_order: config.batch_pages_per_package.is_some() && policy.queues() == Queues::One,
            most_on_channel,
            drain_queue: DrainQueue::new(policy.queues(), packages),
            policy,
            collecting: Vec::new(),
            load: DrainLoad::new(geometry.channels, geometry.packages_per_channel, counters),
            epochs: FlushEpochs::default(),
            batch_slots: Vec::new(),
            pads: Vec::new(),
        })
    }

    /// Admits a write of a unit. `assign` assigns its plane where that is done on admission; a unit that is still
    /// buffered keeps its plane.
    pub(crate) fn admit(
        &mut self,
        lpn: Lpn,
        write: Write,
        assign: impl FnOnce() -> Option<PlaneId>,
    ) -> Admission {
        let Write { present, bytes, handle, write_number } = write;
        if let Some(&slot) = self.newest.get(&lpn) {
            let entry = &mut self.entries[slot.index()];
            match entry.stage {
                Stage::Dirty | Stage::Chosen(_)
                    if !entry.pad && (self.coalesce || !entry.written.is_whole()) =>
                {
                    if !entry.written.contains(present) {
                        entry.written_bytes += u64::from(bytes);
                    }
                    entry.present |= present;
                    entry.written |= present;
                    entry.handle = handle;
                    // A flush waits for the units of older epochs: rewriting one must not put off its turn forever.
                    if entry.stage == Stage::Dirty && entry.epoch == self.epochs.current() {
                        self.policy.touch(slot.0, PageUse::Write);
                    }
                    return Admission::Absorbed;
                }
                Stage::Clean => {
                    entry.present |= present;
                    entry.written = present;
                    entry.written_bytes += u64::from(bytes);
                    entry.handle = handle;
                    entry.plane = if self.assigns { assign() } else { None };
                    self.policy.touch(slot.0, PageUse::Write);
                    self.mark_dirty(slot, write_number);
                    return Admission::New;
                }
                // A version that is programming cannot take it any more; one that was written whole must not where
                // writes are not coalesced; a pad has no slot of the buffer's size.
                _ => {}
            }
        }
        let Some(slot) = self.room() else { return Admission::Full };
        let older_version = self.newest.insert(lpn, slot);
        let before = older_version.map_or(UnitParts::NONE, |older| self.entries[older.index()].present);
        let plane = if self.assigns { assign() } else { None };
        self.entries[slot.index()] = BufferedUnit {
            plane,
            handle,
            present: present | before,
            written: present,
            written_bytes: bytes.into(),
            older_version,
            ..BufferedUnit::of(lpn)
        };
        self.policy.insert(slot.0, Page { number: lpn.0, package: self.package_of(plane).0, dirty: true });
        self.mark_dirty(slot, write_number);
        Admission::New
    }

    /// A slot's unit becomes dirty.
    fn mark_dirty(&mut self, slot: BufferSlot, write_number: u64) {
        let entry = &mut self.entries[slot.index()];
        debug_assert!(matches!(entry.stage, Stage::Free | Stage::Clean), "{:?} becomes dirty", entry.stage);
        entry.stage = Stage::Dirty;
        entry.first_write = write_number;
        entry.epoch = self.epochs.current();
        self.epochs.enter();
        self.dirty += 1;
    }

    /// A free slot, if need be that of a clean unit.
    fn room(&mut self) -> Option<BufferSlot> {
        self.free.pop().or_else(|| {
            let slot = BufferSlot(self.policy.drop_clean()?);
            self.newest.remove(&self.entries[slot.index()].lpn);
            Some(slot)
        })
    }

    /// The package of an assigned plane. Without one any will do for the order: units of a drive that assigns none are
    /// in one queue, and where no plane has room they will fail to be programmed.
    fn package_of(&self, plane: Option<PlaneId>) -> PackageId {
        plane.map_or(PackageId(0), |plane| plane.package(self.planes_per_package))
    }

    /// Returns the buffered parts of a unit; none if it is not buffered.
    pub(crate) fn present(&self, lpn: Lpn) -> UnitParts {
        self.newest.get(&lpn).map_or(UnitParts::NONE, |&slot| self.entries[slot.index()].present)
    }

    /// Whether the buffer has all of the parts `touched` of a unit, to be read now.
    pub(crate) fn read(&mut self, lpn: Lpn, touched: UnitParts) -> bool {
        let Some(&slot) = self.newest.get(&lpn) else { return false };
        let entry = &self.entries[slot.index()];
        let hit = entry.present.contains(touched);
        // As for rewrites: being read must not put off a flush.
        let movable = entry.stage == Stage::Clean
            || entry.stage == Stage::Dirty && entry.epoch == self.epochs.current();
        if hit && self.keeps_reads && movable {
            self.policy.touch(slot.0, PageUse::Read);
        }
        hit
    }

    /// Reserves a slot for a unit that is being read from flash, if the policy keeps such units and a slot is free.
    pub(crate) fn reserve_clean(&mut self, lpn: Lpn) {
        if !self.keeps_reads || self.newest.contains_key(&lpn) {
            return;
        }
        let Some(slot) = self.room() else { return };
        self.newest.insert(lpn, slot);
        self.entries[slot.index()] =
            BufferedUnit { stage: Stage::Clean, first_write: NO_WRITE, ..BufferedUnit::of(lpn) };
        self.policy.insert(slot.0, Page { number: lpn.0, package: 0, dirty: false });
    }

    /// The parts `touched` of a unit have been read from flash for the host.
    pub(crate) fn fill_clean(&mut self, lpn: Lpn, touched: UnitParts) {
        if let Some(&slot) = self.newest.get(&lpn) {
            let entry = &mut self.entries[slot.index()];
            if entry.stage == Stage::Clean {
                entry.present |= touched;
            }
        }
    }

    /// Whether the policy keeps what was read.
    pub(crate) fn keeps_reads(&self) -> bool {
        self.keeps_reads
    }

    /// The plane that is assigned to the unit in `slot`.
    pub(crate) fn plane_of(&self, slot: BufferSlot) -> Option<PlaneId> {
        self.entries[slot.index()].plane
    }

    /// The placement handle of the last write of the unit in `slot`.
    pub(crate) fn handle_of(&self, slot: BufferSlot) -> PlacementHandle {
        self.entries[slot.index()].handle
    }

    /// Chooses units to drain, if some should now: because of the watermark or a full buffer, or because a drain is
    /// `forced` for this cause. Then starts the drain of the next chosen unit that its channel and package have room
    /// for, which may no longer be [wanted](Self::is_wanted). Units that have waited for the version before them go
    /// first. `assign` assigns the plane of a unit that is chosen, where it is still to be assigned.
    pub(crate) fn start_next_drain(
        &mut self,
        forced: Option<DrainCause>,
        now: Instant,
        mut assign: impl FnMut(Lpn) -> Option<PlaneId>,
    ) -> Option<(BufferSlot, BufferedUnit)> {
        match self.batch {
            None => self.choose_ahead(forced, &mut assign),
            Some(most) => self.choose_batch(most, forced),
        }
        if let Some(slot) = self.next_collected(forced) {
            return Some((slot, self.entries[slot.index()]));
        }
        loop {
            let slot = self.drain_queue.pop(|slot| {
                let Some(plane) = self.entries[slot.index()].plane else {
                    // It may drain to any channel.
                    return self.draining < self.most_on_channel;
                };
                let package = plane.package(self.planes_per_package);
                (self.load.on_channel_of(package) as usize) < self.most_on_channel
                    && !(self.in_order && self.load.to(package) > 0)
            })?;
            self.draining += 1;
            self.count_drain(slot, now);
            if forced.is_some() || !self.collects(slot) {
                return Some((slot, self.entries[slot.index()]));
            }
            self.collecting.push(slot);
            match self.batch {
                None => self.choose_ahead(forced, &mut assign),
                Some(most) => self.choose_batch(most, forced),
            }
        }
    }

    /// Whether a unit that was written in `epoch` or before is not being programmed yet.
    pub(crate) fn holds_unplaced(&self, epoch: u64) -> bool {
        self.entries.iter().any(|entry| {
            matches!(entry.stage, Stage::Dirty | Stage::Chosen(_)) && !entry.pad && entry.epoch <= epoch
        })
    }

    /// Returns whether any unit is on its way to flash.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining > 0
    }

    /// Returns the number of units that are chosen or draining.
    fn leaving(&self) -> usize {
        self.drain_queue.len() + self.draining
    }

    fn choose_ahead(&mut self, forced: Option<DrainCause>, assign: &mut impl FnMut(Lpn) -> Option<PlaneId>) {
        let is_above = self.dirty + self.leaving() > self.high_watermark_units;
        let wanted = self.dirty > 0 && (forced.is_some() || is_above);
        if !wanted || self.leaving() >= self.most_leaving || !self.drain_queue.is_empty() {
            return;
        }
        let slot = BufferSlot(self.policy.victim().expect("a dirty unit is in the policy's order"));
        let cause = forced.unwrap_or(DrainCause::Room);
        self.choose_to_drain(slot, cause);
        if self.assigns_to_drain {
            let entry = &mut self.entries[slot.index()];
            entry.plane = assign(entry.lpn);
        }
        self.pad(cause);
    }

    fn choose_batch(&mut self, most: u32, forced: Option<DrainCause>) {
        // Without a free slot it need not be full: there may be clean units.
        let full = self.dirty == self.slots as usize;
        if self.leaving() > 0 || self.dirty == 0 || !(forced.is_some() || full) {
            return;
        }
        // A batch that a full buffer starts anyway is not one that a waiting write forces.
        let cause = forced.filter(|cause| *cause != DrainCause::Room).unwrap_or(DrainCause::Batch);
        let mut slots = std::mem::take(&mut self.batch_slots);
        self.policy.batch(most, &mut slots);
        slots.drain(..).for_each(|slot| self.choose_to_drain(BufferSlot(slot), cause));
        self.batch_slots = slots;
        self.pad(cause);
    }

    /// Queues a dirty unit to drain.
    fn choose_to_drain(&mut self, slot: BufferSlot, cause: DrainCause) {
        let entry = &mut self.entries[slot.index()];
        debug_assert_eq!(entry.stage, Stage::Dirty, "only dirty units are drained");
        entry.stage = Stage::Chosen(cause);
        let plane = entry.plane;
        self.dirty -= 1;
        self.drain_queue.push(self.package_of(plane), slot);
    }

    /// Drains the units that the policy chose to be read and programmed again. They are placed beside units that the
    /// host wrote, to be overwritten with them, and so have the placement handle of such a unit.
    fn pad(&mut self, cause: DrainCause) {
        let mut pads = std::mem::take(&mut self.pads);
        self.policy.pads(&mut pads);
        for Pad { number, beside } in pads.drain(..) {
            let (lpn, handle) = (Lpn(number), self.entries[beside as usize].handle);
            if lpn.0 >= self.logical_units || self.newest.contains_key(&lpn) {
                continue;
            }
            let slot = self.free_pads.pop().unwrap_or_else(|| {
                self.entries.push(BufferedUnit::default());
                BufferSlot(self.entries.len() as u32 - 1)
            });
            let stage = Stage::Chosen(cause);
            self.entries[slot.index()] =
                BufferedUnit { handle, first_write: NO_WRITE, stage, pad: true, ..BufferedUnit::of(lpn) };
            self.newest.insert(lpn, slot);
            self.drain_queue.push(PackageId(0), slot);
        }
        self.pads = pads;
    }

    /// Counts a unit among those that drain to its package, as soon as that is known.
    fn count_drain(&mut self, slot: BufferSlot, now: Instant) {
        let entry = &mut self.entries[slot.index()];
        if let Some(plane) = entry.plane.filter(|_| !entry.is_counted) {
            entry.is_counted = true;
            self.load.begin(plane.package(self.planes_per_package), now);
        }
    }

    /// Counts a unit no longer among those that drain to its package.
    fn end_count(&mut self, slot: BufferSlot, now: Instant) {
        let entry = &mut self.entries[slot.index()];
        if std::mem::take(&mut entry.is_counted) {
            let plane = entry.plane.expect("a unit is counted with its plane");
            self.load.end(plane.package(self.planes_per_package), now);
        }
    }

    /// The unit in `slot` is programmed on `plane`; no older version of it will be.
    pub(crate) fn start_program(&mut self, slot: BufferSlot, plane: PlaneId, now: Instant) {
        let before = self.entries[slot.index()].plane;
        let package = |plane: PlaneId| plane.package(self.planes_per_package);
        if before.map(package) != Some(package(plane)) {
            self.end_count(slot, now);
            self.entries[slot.index()].plane = Some(plane);
            self.count_drain(slot, now);
        }
        let entry = &mut self.entries[slot.index()];
        let Stage::Chosen(cause) = entry.stage else { unreachable!("{entry:?} was not chosen to drain") };
        entry.stage = Stage::Programming;
        // What the host has not written was read from flash, or is empty.
        entry.present = UnitParts::WHOLE;
        self.load.count(entry.pad, cause);
        self.supersede(slot);
    }

    /// The unit in `slot` is on flash, or never will be: its slot is free.
    pub(crate) fn release(&mut self, slot: BufferSlot, now: Instant) {
        let stage = self.entries[slot.index()].stage;
        debug_assert!(
            !matches!(stage, Stage::Free | Stage::Clean | Stage::Dirty),
            "{stage:?} was not chosen"
        );
        debug_assert!(self.draining > 0, "only units that drain are released");
        self.end_count(slot, now);
        if stage == Stage::Programming {
            self.load.count_end();
        }
        self.draining -= 1;
        self.empty_slot(slot);
        if slot.0 >= self.slots {
            self.free_pads.push(slot);
        } else {
            self.free.push(slot);
        }
    }

    /// Closes the flush epoch: the flush waits for units written so far, not for later ones.
    pub(crate) fn begin_flush(&mut self) -> u64 {
        self.epochs.close()
    }

    /// Whether every unit of `epoch` and before is on flash.
    pub(crate) fn is_flushed(&self, epoch: u64) -> bool {
        self.epochs.is_over(epoch)
    }

    /// The counters of drains.
    pub(crate) fn drain_counters(&self) -> DrainCounters {
        self.load.counters()
    }

    /// Returns the units that the host wrote and that are not being programmed.
    pub(crate) fn waiting(&self) -> Amount {
        let waits = |entry: &&BufferedUnit| matches!(entry.stage, Stage::Dirty | Stage::Chosen(_));
        self.entries.iter().filter(waits).map(BufferedUnit::amount).fold(Amount::default(), Add::add)
    }

    /// The unit in `slot` cannot be programmed, and takes no more writes. Returns what the host wrote of it.
    pub(crate) fn give_up(&mut self, slot: BufferSlot) -> Amount {
        let entry = &mut self.entries[slot.index()];
        entry.stage = Stage::Void;
        entry.amount()
    }

    /// Units that are buffered and not on flash, each with the first write that is not.
    pub(crate) fn at_risk(&self) -> impl Iterator<Item = (Lpn, u64)> {
        let volatile = |entry: &&BufferedUnit| {
            matches!(entry.stage, Stage::Dirty | Stage::Chosen(_) | Stage::Programming)
                && entry.first_write != NO_WRITE
        };
        self.entries.iter().filter(volatile).map(|entry| (entry.lpn, entry.first_write))
    }
}

#[cfg(test)]
mod tests;
