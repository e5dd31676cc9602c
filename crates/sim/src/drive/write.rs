//! The path of a write: over the link, into the buffer or bypassing it, to flash. Trims and flushes, too.
//!
//! ```text
//! Drive::submit           Kernel::check, Kernel::accept
//!   … the host's submission cost; with `[queues]` the wait in one of them; without either, from submit …
//! Drive::fetched          start_or_wait_for_link (may wait for the link: … transfer_ended), start_command (may wait for
//!                         the read/write lock: … unlock), start_write ─> LinkTransfers::transfer_in
//!   … the command and its data cross the link …
//! Drive::transfer_ended   data_received ─> WritePath::data_arrived, which goes one of two ways:
//! into the buffer         admit (may wait for room; Translation::assign chooses planes), start_acknowledgement, and
//!                         drain: WriteBuffer::start_next_drain, then write_unit of each unit that it returns and that
//!                         is wanted; again when one is on flash, at a flush, and when the host is idle
//!   … the firmware's latency …
//! Drive::buffer_latency_over
//!                         acknowledge ─> LinkTransfers::complete_write (… where completions cross the link) ─>
//!                         Kernel::complete … deliver_completion
//! bypassing it            write_through: write_unit, of each unit of the request
//! both
//!   write_unit            Translation::read_rest, where parts of the unit are missing (… drain_rmw_read,
//!                         write_through_rmw_read)
//!   program               Translation::look_up_for_write (may wait for the map: … Drive::resume_after_map,
//!                         program_mapped), place_and_program
//!   Translation::program  Ftl::place, or place_on where `admit` had a plane assigned; Kernel::enqueue, or where GC is
//!                         due enqueue_with_gc: GC that must precede, the program, other GC
//!   … the flash array: the headers of `nand::queued` and `nand::in_order`, one of which serves the drive's dies …
//! Drive::flash_finished   Drive::flash_operation_finished, which goes one of two ways:
//!   from the buffer       drained: release the slot, for which writes may wait; drain
//!   bypassing it          programmed: after the last unit LinkTransfers::complete_write, Kernel::complete …
//! ```
//!
//! "…" is time; after it the kernel's loop (`crate::kernel`) calls a function of `FrontEnd`, or delivers a completion
//! itself. Where no line names a type, the function is one of [`Drive`](super::Drive) before `data_arrived`, and of
//! [`WritePath`] from there on. Without a buffer every write bypasses it, and where there is no cache of the map
//! either, its whole units go to program_run and Translation::program_run, and without replication they are placed
//! together: Ftl::place_run, and Kernel::enqueue_run where dies serve in order and units are no larger than a page; the
//! last goes with the GC that is due. `ftl::page::gc` has GC as far as it changes tables. With replication a program is
//! a task of the `Replicator`, from which Translation::operation_finished returns the owner's own.
//!
//! The command of a write crosses the link with its data, that of a read with the first mapping units that it returns;
//! a trim or flush sends it alone. So a read starts, and a write waits for the read/write lock, before the command has
//! crossed the link. The stages of the request stand in `request`, those of a buffered mapping unit in `crate::buffer`.
//! [`WritePath`] owns the buffer and the requests that wait for it; it uses the kernel for time, link and flash, and
//! the translation for places. Calls of the kernel with *charge* or *account* in their name record where time goes, and
//! change nothing else. Where the buffer's policy keeps units that were read, [`ReadPath`](super::read::ReadPath) fills
//! the buffer, too.
//!
//! Invariants:
//! - writes that wait for room in the buffer get it in order of arrival;
//! - while a write waits for room, a unit is on its way from the buffer to flash, and its release gives room;
//! - a flush completes once all units that were admitted before it are on flash, or replaced by those of a write that
//!   bypassed the buffer and is durable; it does not wait for other writes that have not completed;
//! - a mapping unit that a write has bypassed is at risk until that write is durable.

mod flush;
mod write_through;

use super::link_transfers::LinkTransfers;
use super::request::{DriveKernel, pieces_of};
use super::translation::Translation;
use crate::amount::Amount;
use crate::buffer::{Admission, DrainCause, DrainCounters, Unflushed, Write, WriteBuffer};
use crate::config::{Admit, DriveConfig};
use crate::event::{Event, IdleWork};
use crate::ids::{BufferSlot, Lpn, RequestSlot};
use crate::nand::{Geometry, Owner};
use crate::pieces::{UnitParts, piece, pieces_after};
use flashlane_base::Duration;
use flashlane_device::{Counters, Failure, Part, PlacementHandle, Request};
use std::collections::{BTreeMap, VecDeque};

/// What writes, trims and flushes counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteCounts {
    writes: u64,
    trims: u64,
    flushes: u64,
    written: Amount,
    /// Of this, what waits in the buffer or for room in it, or did when the power was cut.
    waiting: Amount,
    absorbed: u64,
    stalls: u64,
    /// What the buffer lost, since no block was left for it.
    lost: Amount,
    /// What was refused of writes, since no block was left for it.
    refused: Amount,
    drains: DrainCounters,
}

impl WriteCounts {
    /// The counters, under the names that results have.
    pub(super) fn list(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let written = self.written - self.refused;
        let settled = written - self.waiting - self.lost;
        let own = [
            ("host_writes", self.writes),
            ("host_trims", self.trims),
            ("host_flushes", self.flushes),
            (Counters::HOST_PAGES_WRITTEN, written.units),
            (Counters::HOST_PAGES_SETTLED, settled.units),
            (Counters::HOST_BYTES_WRITTEN, written.bytes),
            (Counters::HOST_BYTES_SETTLED, settled.bytes),
            (Counters::PAGES_LOST, self.lost.units),
            ("buffer_writes_absorbed", self.absorbed),
            ("buffer_stalls", self.stalls),
        ];
        own.into_iter().chain(self.drains.list())
    }
}

/// The part of a drive that serves writes, trims and flushes.
pub(super) struct WritePath {
    transfers: LinkTransfers,
    buffer: Option<WriteBuffer>,
    /// Which writes go to the buffer.
    admit_rule: Admit,
    /// How long the firmware takes to acknowledge a write that is in the buffer.
    latency: Duration,
    /// Writes that wait for room in the buffer, first come first.
    stalled: VecDeque<RequestSlot>,
    /// Slots of buffered units that are lost, as no block was left to write them to.
    lost_slots: Vec<BufferSlot>,
    /// Flushes that wait for the buffer.
    flushing: Vec<RequestSlot>,
    /// On a drive with program groups, epochs before this one have no unit that waits for its group.
    first_unplaced_epoch: u64,
    /// A flush has completed: flash pages that are programmed in part are still to be closed.
    close_pages_due: bool,
    /// Mapping units that were in the buffer when a write bypassed it that is not durable yet.
    bypassed: BTreeMap<Lpn, Bypassed>,
    counts: WriteCounts,
    /// An empty list, kept to spare its allocation.
    flushed: Vec<RequestSlot>,
}

/// A mapping unit that a write has bypassed.
struct Bypassed {
    /// The version that a power cut loses: the oldest where several writes bypass it at once.
    lost: Unflushed,
    /// The last write that bypassed it.
    by: RequestSlot,
}

impl WritePath {
    /// A write path with an empty buffer whose counters start at `counts`. Requires: `config` is validated.
    pub(super) fn new(
        config: &DriveConfig,
        geometry: &Geometry,
        transfers: LinkTransfers,
        counts: WriteCounts,
    ) -> Self {
        let buffer = config.buffer.as_ref();
        Self {
            transfers,
            admit_rule: buffer.map(|buffer| buffer.admit).unwrap_or_default(),
            latency: buffer.map(|buffer| buffer.latency.0).unwrap_or_default(),
            buffer: WriteBuffer::new(config, geometry, counts.drains),
            stalled: VecDeque::new(),
            lost_slots: Vec::new(),
            flushing: Vec::new(),
            first_unplaced_epoch: 0,
            close_pages_due: false,
            bypassed: BTreeMap::new(),
            counts,
            flushed: Vec::new(),
        }
    }

    pub(super) fn counts(&self, kernel: &DriveKernel) -> WriteCounts {
        let Some(buffer) = &self.buffer else { return self.counts };
        let mut waiting = self.counts.waiting + buffer.waiting();
        for &slot in &self.stalled {
            let write = kernel.in_flight(slot);
            let Request { offset_bytes, length_bytes, .. } = write.request();
            let unit_bytes = self.transfers.unit_bytes;
            for piece in pieces_after(write.admitted_units(), offset_bytes, length_bytes, unit_bytes) {
                waiting += Amount { units: 1, bytes: piece.bytes.into() };
            }
        }
        debug_assert!(self.lost_slots.is_empty(), "lost units leave the buffer at once");
        debug_assert!(waiting.units <= self.counts.written.units, "only what was written waits");
        debug_assert!(waiting.bytes <= self.counts.written.bytes, "only what was written waits");
        WriteCounts { drains: buffer.drain_counters(), waiting, ..self.counts }
    }

    /// Mapping units of which some write has completed and is not on flash, each with the number of the first such
    /// write.
    pub(super) fn at_risk(&self) -> impl Iterator<Item = (Lpn, u64)> {
        let buffered = self.buffer.iter().flat_map(WriteBuffer::at_risk);
        let bypassed = self.bypassed.iter().map(|(&lpn, bypassed)| (lpn, bypassed.lost.first_write));
        buffered.chain(bypassed)
    }

    // For reads.

    /// The parts of a mapping unit that are in the buffer.
    pub(super) fn present(&self, lpn: Lpn) -> UnitParts {
        self.buffer.as_ref().map_or(UnitParts::NONE, |buffer| buffer.present(lpn))
    }

    /// Whether the buffer has all of the parts `touched` of a mapping unit, to be read now.
    #[inline]
    pub(super) fn read(&mut self, lpn: Lpn, touched: UnitParts) -> bool {
        self.buffer.as_mut().is_some_and(|buffer| buffer.read(lpn, touched))
    }

    /// Whether the buffer keeps what was read.
    #[inline]
    pub(super) fn keeps_reads(&self) -> bool {
        self.buffer.as_ref().is_some_and(WriteBuffer::keeps_reads)
    }

    /// Makes room in the buffer for a mapping unit that is being read, if it keeps such.
    #[inline]
    pub(super) fn reserve_clean(&mut self, lpn: Lpn) {
        if let Some(buffer) = &mut self.buffer {
            buffer.reserve_clean(lpn);
        }
    }

    /// The parts `touched` of a mapping unit have been read from flash.
    pub(super) fn fill_clean(&mut self, lpn: Lpn, touched: UnitParts) {
        if let Some(buffer) = &mut self.buffer {
            buffer.fill_clean(lpn, touched);
        }
    }

    // A write, from its data on.

    /// The data of a write have crossed the link.
    pub(super) fn data_arrived(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        slot: RequestSlot,
    ) {
        let write = kernel.in_flight(slot).request();
        let units = pieces_of(&write, self.transfers.unit_bytes).count() as u32;
        self.counts.writes += 1;
        self.counts.written += Amount { units: units.into(), bytes: write.length_bytes };
        if self.buffer.is_none() || self.bypasses(&write) {
            kernel.in_flight_mut(slot).start_programming(units);
            return self.write_through(kernel, translation, slot);
        }
        kernel.in_flight_mut(slot).start_admission();
        if self.stalled.is_empty() && self.admit(kernel, translation, slot) {
            self.start_acknowledgement(kernel, slot);
        } else {
            self.counts.stalls += 1;
            self.stalled.push_back(slot);
        }
        self.drain(kernel, translation);
    }

    /// Whether a write bypasses the buffer.
    fn bypasses(&self, write: &Request) -> bool {
        let unit_bytes = self.transfers.unit_bytes;
        write.durable
            || self.admit_rule == Admit::PartialPageWrites
                && pieces_of(write, unit_bytes).any(|piece| u64::from(piece.bytes) == unit_bytes)
    }

    /// Admits a write's mapping units to the buffer as far as there is room. Returns whether all of them are in.
    fn admit(&mut self, kernel: &mut DriveKernel, translation: &mut Translation, slot: RequestSlot) -> bool {
        let unit_bytes = self.transfers.unit_bytes;
        // Units get the number that the write will have, or a lower one where others complete while it waits for room.
        let write_number = kernel.write_number_to_come();
        let in_flight = kernel.in_flight_mut(slot);
        let Request { offset_bytes, length_bytes, handle, .. } = in_flight.request();
        let buffer = self.buffer.as_mut().expect("writes are admitted to a buffer");
        for piece in pieces_after(in_flight.admitted_units(), offset_bytes, length_bytes, unit_bytes) {
            let assign = || translation.assign(piece.lpn);
            let write =
                Write { present: piece.covered(unit_bytes), bytes: piece.bytes, handle, write_number };
            match buffer.admit(piece.lpn, write, assign) {
                Admission::New => {}
                Admission::Absorbed => self.counts.absorbed += 1,
                Admission::Full => return false,
            }
            in_flight.unit_admitted();
        }
        true
    }

    /// The buffer has all mapping units of a write, which is acknowledged after the buffer's latency.
    fn start_acknowledgement(&mut self, kernel: &mut DriveKernel, slot: RequestSlot) {
        kernel.count_numbered_write(slot);
        kernel.in_flight_mut(slot).end_admission();
        if self.latency.is_zero() {
            self.acknowledge(kernel, slot);
        } else {
            kernel.schedule_after(self.latency, Event::BufferLatencyOver(slot));
        }
    }

    /// Acknowledges a write that is in the buffer.
    pub(super) fn acknowledge(&mut self, kernel: &mut DriveKernel, slot: RequestSlot) {
        kernel.charge(slot, Part::Buffer);
        kernel.in_flight_mut(slot).acknowledge();
        self.transfers.complete_write(kernel, slot);
    }

    // From the buffer to flash.

    /// Sends mapping units from the buffer to flash, as many as should be on their way.
    pub(super) fn drain(&mut self, kernel: &mut DriveKernel, translation: &mut Translation) {
        let completes_program_groups = translation.completes_program_groups();
        if std::mem::take(&mut self.close_pages_due) && !completes_program_groups {
            translation.close_open_pages(kernel);
        }
        loop {
            // Without a block left to write to, units leave the buffer as fast as they are chosen.
            while let Some(slot) = self.lost_slots.pop() {
                self.release(kernel, translation, slot);
            }
            let forced = self.forced_drain(kernel);
            if forced.is_some() && !completes_program_groups {
                // Programs that wait for others on the planes of their die begin as they are.
                kernel.release_held();
            }
            let Some(buffer) = &mut self.buffer else { return };
            let Some((slot, entry)) =
                buffer.start_next_drain(forced, kernel.now(), |lpn| translation.assign(lpn))
            else {
                debug_assert!(
                    self.stalled.is_empty() || buffer.is_draining(),
                    "a write waits for room, which a release gives"
                );
                if completes_program_groups {
                    self.program_awaited_groups(kernel, translation, forced);
                }
                return;
            };
            let nothing_to_pad = entry.pad && translation.plane_of(entry.lpn).is_none();
            if nothing_to_pad || !buffer.is_wanted(slot) {
                self.release(kernel, translation, slot);
            } else {
                self.write_unit(kernel, translation, entry.lpn, entry.present, Owner::Drain(slot));
            }
        }
    }

    /// Programs the groups that are not complete where a flush waits for them, or the host is idle. A write that waits
    /// for room gets it from those that are complete.
    fn program_awaited_groups(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        forced: Option<DrainCause>,
    ) {
        let Some(buffer) = &self.buffer else { return };
        let all_placed = match forced {
            Some(DrainCause::Idle) => !buffer.holds_unplaced(u64::MAX),
            Some(DrainCause::Flush) => self.oldest_flush_is_placed(kernel),
            _ => false,
        };
        if all_placed {
            translation.program_incomplete_groups(kernel);
        }
    }

    /// Whether all that the oldest waiting flush waits for has its place now. Each flush is answered once: what is
    /// placed after that is not waited for.
    fn oldest_flush_is_placed(&mut self, kernel: &DriveKernel) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        let epochs = self.flushing.iter().map(|&slot| kernel.in_flight(slot).flush_epoch());
        let Some(oldest) = epochs.filter(|&epoch| epoch >= self.first_unplaced_epoch).min() else {
            return false;
        };
        let is_placed = !buffer.holds_unplaced(oldest);
        if is_placed {
            self.first_unplaced_epoch = oldest + 1;
        }
        is_placed
    }

    /// The cause that forces buffered units to flash now, if any: a flush before all others, since it waits for every
    /// unit.
    fn forced_drain(&self, kernel: &DriveKernel) -> Option<DrainCause> {
        if !self.flushing.is_empty() {
            Some(DrainCause::Flush)
        } else if !self.stalled.is_empty() {
            Some(DrainCause::Room)
        } else {
            kernel.host_is_idle(IdleWork::DrainBuffer).then_some(DrainCause::Idle)
        }
    }

    /// The rest of a buffered mapping unit has been read from flash.
    pub(super) fn drain_rmw_read(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        lpn: Lpn,
        slot: BufferSlot,
    ) {
        if self.buffer.as_ref().is_some_and(|buffer| buffer.is_wanted(slot)) {
            self.program(kernel, translation, lpn, Owner::Drain(slot));
        } else {
            self.release(kernel, translation, slot);
        }
        self.drain(kernel, translation);
    }

    /// A buffered mapping unit is on flash.
    pub(super) fn drained(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        slot: BufferSlot,
    ) {
        self.release(kernel, translation, slot);
        self.drain(kernel, translation);
    }

    /// A buffered mapping unit is on flash, or can never be: its slot is free for writes that wait.
    fn release(&mut self, kernel: &mut DriveKernel, translation: &mut Translation, slot: BufferSlot) {
        self.buffer.as_mut().expect("units drain from a buffer").release(slot, kernel.now());
        kernel.drop_drain_account(slot);
        while let Some(&write) = self.stalled.front() {
            if !self.admit(kernel, translation, write) {
                break;
            }
            self.stalled.pop_front();
            kernel.charge_wait(write);
            self.start_acknowledgement(kernel, write);
        }
        self.end_flushes(kernel);
    }

    // To flash, from either side.

    /// Programs a mapping unit, after reading the parts from flash that are not `present`.
    fn write_unit(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        lpn: Lpn,
        present: UnitParts,
        owner: Owner,
    ) {
        if !present.is_whole()
            && let Some(plane) = translation.plane_of(lpn)
        {
            translation.read_rest(kernel, owner.rmw_read(), plane, lpn, present);
        } else {
            self.program(kernel, translation, lpn, owner);
        }
    }

    /// Finds a place for a mapping unit and programs it there, once it is known where it is now.
    #[inline]
    pub(super) fn program(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        lpn: Lpn,
        owner: Owner,
    ) {
        if translation.look_up_for_write(kernel, owner, lpn) {
            self.place_and_program(kernel, translation, lpn, owner);
        }
    }

    /// Programs a mapping unit that waited for the map.
    pub(super) fn program_mapped(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        lpn: Lpn,
        owner: Owner,
    ) {
        let Owner::Drain(slot) = owner else {
            return self.place_and_program(kernel, translation, lpn, owner);
        };
        if self.buffer.as_ref().is_some_and(|buffer| buffer.is_wanted(slot)) {
            self.place_and_program(kernel, translation, lpn, owner);
        } else {
            self.release(kernel, translation, slot);
        }
        self.drain(kernel, translation);
    }

    #[inline]
    fn place_and_program(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        lpn: Lpn,
        owner: Owner,
    ) {
        if translation.has_handles() {
            translation.use_handle(self.handle_of(kernel, owner));
        }
        // A drain may wait for units that are programmed along with it, unless a flush or a stalled write waits for it.
        // Where groups are programmed as a whole, every write waits for its group.
        let completes_program_groups = translation.completes_program_groups();
        let (assigned, may_wait) = match (owner, &self.buffer) {
            (Owner::Drain(slot), Some(buffer)) => {
                (buffer.plane_of(slot), completes_program_groups || self.forced_drain(kernel).is_none())
            }
            _ => (None, completes_program_groups),
        };
        match translation.program(kernel, owner, lpn, assigned, may_wait) {
            Err(_) => self.write_failed(kernel, lpn, owner),
            Ok(plane) => {
                if let (Owner::Drain(slot), Some(buffer)) = (owner, &mut self.buffer) {
                    buffer.start_program(slot, plane, kernel.now());
                }
            }
        }
    }

    /// The placement handle of what is written for `owner`.
    fn handle_of(&self, kernel: &DriveKernel, owner: Owner) -> PlacementHandle {
        match (owner, &self.buffer) {
            (Owner::Request(slot), _) => kernel.in_flight(slot).request().handle,
            (Owner::Drain(slot), Some(buffer)) => buffer.handle_of(slot),
            _ => PlacementHandle(0),
        }
    }

    /// No block is left to write to: the request fails, or a buffered mapping unit is lost and counted.
    fn write_failed(&mut self, kernel: &mut DriveKernel, lpn: Lpn, owner: Owner) {
        match owner {
            Owner::Request(slot) => {
                self.bypass_completed(kernel, lpn, slot);
                kernel.in_flight_mut(slot).fail(Failure::WornOut);
                let Request { offset_bytes, length_bytes, .. } = kernel.in_flight(slot).request();
                let refused =
                    piece(lpn, offset_bytes, offset_bytes + length_bytes, self.transfers.unit_bytes);
                self.counts.refused += Amount { units: 1, bytes: refused.bytes.into() };
                if kernel.in_flight_mut(slot).end_units(1) {
                    kernel.complete(slot);
                }
            }
            Owner::Drain(slot) => {
                // A unit that is only programmed again stays where it was.
                self.counts.lost +=
                    self.buffer.as_mut().map_or(Amount::default(), |buffer| buffer.give_up(slot));
                for &request in self.flushing.iter().chain(&self.stalled) {
                    kernel.in_flight_mut(request).fail(Failure::WornOut);
                }
                self.lost_slots.push(slot);
            }
            _ => unreachable!("only programs of host data need a place"),
        }
    }
}
