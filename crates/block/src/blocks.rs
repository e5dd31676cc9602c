//! The block layer: immutable blocks under 64-bit ids, with calls that queue an operation and return at once.
//!
//! # From `put` to the device
//! ```text
//! Blocks::put             refuses it, or finds a lane (admit_put; the first one erases leftovers: waiting::prepare_for_writes;
//!                         where ids have a gap it waits for a superblock: waiting::record_id_gap)
//! Engine::put             block table: start_put; sequence number and checksums
//! Engine::queue_write     Scheduler::queue_write (lane queue), dispatch
//! Scheduler::dispatch     submit_write: least_worn unit; header and footer; Port::submit; if accepted, unit table: start_write
//!   … the device writes: lanes of a file (`flashlane_layer::Lanes`), or a simulated one under `flashlane_layer::Backed` …
//! Engine::step            Port::reap; Scheduler::complete ─> note_write_end (unit table: write_completed) ─> Ended::Write
//! Engine::handle          handle_write ─> enter_written (block table: put_completed; finish)
//! Engine::step, then      superblock if due, dispatch, unplaced writes
//! Blocks::reap            returns it, or Blocks::wait for one alone
//! ```
//! # From `delete` to the erase
//! ```text
//! Blocks::delete          refuses it (admit_change); the first change erases leftovers, as a put does
//! Engine::delete          block table: start_delete; superblock, if the id is the highest, and the floor that the last
//!                         one recorded is not above it; unit table: delete, which queues the unit, or where gets read
//!                         the block lets them end first
//!   … the last get ends: Engine::handle_read, unit table: last_reader_left; Engine::step dispatches the lane …
//!   … the last copy of the superblock is written: Engine::enter_written, superblock_copy_ended, which dispatches every lane …
//! Scheduler::dispatch     when the lane is idle, or short of erased units, or a write finds none: submit_erase, of the
//!                         first unit without stale copies whose id is recorded; Port::submit; unit table: start_erase
//!   … the device erases …
//! Engine::step            Scheduler::complete ─> note_erase_end (unit table: erase_completed) ─> Ended::Erase
//! Engine::handle          handle_erase (block table: delete_ended; finish)
//! Blocks::reap            returns it
//! ```
//!
//! # The parts
//! [`Blocks::put`] checks that the operation is admissible and hands it to the **engine** (`engine`), which knows what
//! each block is doing. The engine gives the block a sequence number, computes its checksums and queues it on a lane.
//! The **scheduler** (`scheduler`) takes it from the **lane's queue** (`lane`) when the lane has room, chooses an
//! erased unit from the **unit table** (`units`), writes header and footer (`payload`) and submits the write through
//! the **port** (`port`). When the device completes the write the scheduler makes the unit live and tells the engine,
//! which enters the block into the **block table** (`block_table`) and reports the put as finished; [`Blocks::reap`]
//! returns it.
//!
//! Beside these the engine owns the **superblock store** (`superblock`) and the counters of ids and sequence numbers
//! (`ids`). That superblock holds what blocks need; where lanes lie on a file or disk, `layer::lanes` keeps another of
//! its own before them, with the shape of the lanes. When a device is opened, `recovery` finds what is on it and
//! `parts` makes the parts from that. `waiting` and `repair` are procedures over the engine. No two files use each
//! other; each part lists and asserts its own invariants.
//!
//! # Invariants that join the parts
//! 1. A put is reported as done only when its unit is wholly written and durable.
//! 2. A delete is reported as done only when its unit is erased, or the device no longer reads it. The unit is erased
//!    only when no get reads the block, and no failed write of the same block has left a stale copy.
//! 3. Fresh ids are above every id that was given out. Opening sees the ids of the blocks that are stored, and the id
//!    floor of the superblock. So the block with the highest id is erased only when a durable superblock has a floor
//!    above it; and where damaged units hide ids, fresh ones are above a gap that a durable superblock records before
//!    the first put and before a damaged unit is erased.
//! 4. A unit is written once after each erase. Its header names format, sequence, unit and erase count, so that
//!    anything that stands elsewhere, or was there before, is not mistaken for what should be there. `units` asserts
//!    the write of an erased unit.
//! 5. Of two blocks with one id, and of two superblocks, the one with the higher sequence number counts. No two writes
//!    have one sequence number, except for the copies of one superblock.
//! 6. Four units are never given to blocks: two for the copies of the superblock and two for those that replace them.
//!    `scheduler` asserts it of each unit that a block takes.
//! 7. Opening writes nothing. Before the first put or delete, torn units and older copies of blocks are erased.
//!
//! # Sequence numbers, step by step
//! ```text
//! step                                    unit      on the device                        counter, floor
//! format                                  0, 7      superblock: sequence 0, floor 0      next 1
//! put of block 0                          1         block 0: sequence 1                  next 2
//!   its write fails: unit 1 to be erased  1         perhaps block 0: sequence 1          next 2
//!   tried again on another lane           2         block 0: sequence 2                  next 3
//!   unit 1 is erased                      1         erased: the stale copy is gone
//! delete of block 0, the highest id
//!   the superblock is renewed             3, 6      superblock: sequence 3, floor 1      next 4
//!   the old copies are erased             0, 7      erased
//!   unit 2 is erased: the delete is done  2         erased                               fresh ids begin at 1
//! put of block 1                          1         being written: sequence 4            next 5
//! power cut                               1         torn: the put was not done
//! open                                              newest superblock: 3, floor 1        next 3 + 2³², fresh ids from 1
//! put of block 1
//!   leftovers are erased                  1         erased
//!   the write                             2         block 1: sequence 3 + 2³²            next 4 + 2³²
//! ```
//! The gap of 2³² is there since the interrupted writes of sequence 4 and above are not found again. A block that was
//! rewritten after a failure counts by its higher number if the power is cut before the stale copy is erased.

use crate::block_bytes::BlockBytes;
use crate::engine::Engine;
use crate::error::{DeleteError, FormatError, Full, GetError, OpenError, PutError};
use crate::ids::CHOSEN_ID_MAX;
use crate::layout::{Layout, UnitAddress};
use crate::operation::{Finished, Ticket};
use crate::options::BlockOptions;
use crate::parts::Parts;
use crate::payload::Payload;
use crate::recovery::{Survey, survey};
use crate::repair;
use crate::status::{BlockInfo, DamagedEnd, LaneStatus, Status};
use crate::waiting;
use flashlane_base::Instant;
use flashlane_device::{DataDevice, Readiness, UnitState};

/// Immutable blocks under 64-bit ids, on the lanes of a device with erase units.
///
/// [`put`](Self::put), [`get`](Self::get) and [`delete`](Self::delete) queue an operation and return at once;
/// [`reap`](Self::reap) returns completed ones. Only the first put or delete after an opening may wait, for requests
/// in flight and for erases of leftovers; and a put until a superblock has recorded the gap of ids, where units are
/// damaged or no superblock was found. Everything else is decided when the device completes a
/// request, so the layer works alike in virtual and in real time, and a simulated run repeats exactly.
pub struct Blocks<D> {
    engine: Engine<D>,
    /// Units with a damaged header or footer whose other copy is valid.
    damaged_ends: Vec<DamagedEnd>,
    /// Units of which the device could not read the header or the footer.
    unreadable: Vec<UnitAddress>,
}

impl<D: DataDevice> Blocks<D> {
    /// Makes `device` hold blocks, none so far, and erases whatever it holds. `format_id` identifies this formatting
    /// and MUST differ from that of any before on the device: blocks of another formatting, where an erase failed, are
    /// ignored.
    ///
    /// # Errors
    /// [`FormatError`] where the device cannot hold blocks or its units cannot be written.
    pub fn format(device: D, format_id: u128, options: BlockOptions) -> Result<Self, FormatError> {
        Self::format_as(device, format_id, options, false)
    }

    /// Formats a device as [`format`](Self::format) does, for blocks to which a log on another device belongs: the
    /// device is then in use even where it has no block, and says so ([`has_log`](Self::has_log)).
    ///
    /// # Errors
    /// As [`format`](Self::format).
    pub fn format_with_log(device: D, format_id: u128, options: BlockOptions) -> Result<Self, FormatError> {
        Self::format_as(device, format_id, options, true)
    }

    fn format_as(
        device: D,
        format_id: u128,
        options: BlockOptions,
        has_log: bool,
    ) -> Result<Self, FormatError> {
        let layout = Layout::new(device.info()).map_err(FormatError::Unsuitable)?;
        if device.info().read_only {
            return Err(FormatError::ReadOnly);
        }
        let parts = Parts::to_format(&device, layout, has_log);
        let mut engine = Engine::new(device, layout, format_id, &options, parts);
        waiting::format(&mut engine);
        match engine.superblocks().missing() {
            None => Ok(Self { engine, damaged_ends: Vec::new(), unreadable: Vec::new() }),
            Some(failure) => Err(FormatError::Failed(failure)),
        }
    }

    /// Opens the blocks on `device`. Nothing is written before something is put or deleted.
    ///
    /// # Errors
    /// [`OpenError`] where there are none, or the device has changed.
    pub fn open(mut device: D, options: BlockOptions) -> Result<Self, OpenError> {
        let layout = Layout::new(device.info())?;
        let Survey { units, newest, damaged_ends, unreadable } = survey(&mut device, &layout, &options)?;
        let format_id = newest.format_id;
        let parts = Parts::from_survey(layout, units, newest);
        Ok(Self { engine: Engine::new(device, layout, format_id, &options, parts), damaged_ends, unreadable })
    }

    /// Returns the device below.
    pub fn device(&self) -> &D {
        self.engine.device()
    }

    /// Returns the device once every put and delete has completed. Other units that are still to be erased stay so.
    pub fn into_device(mut self) -> D {
        waiting::close(&mut self.engine);
        self.engine.into_device()
    }

    /// Returns whether a log on another device may belong to the blocks.
    pub fn has_log(&self) -> bool {
        self.engine.superblocks().has_log()
    }

    /// Returns the most bytes of user data in a block.
    pub fn block_bytes(&self) -> u64 {
        self.engine.layout().block_bytes()
    }

    /// Returns a buffer for a block's bytes, of full length and zeroed.
    pub fn payload(&self) -> Payload {
        Payload::new(*self.engine.layout())
    }

    /// Returns the bytes of its lane that a unit covers.
    pub fn unit_bytes(&self, address: UnitAddress) -> std::ops::Range<u64> {
        let layout = self.engine.layout();
        let start = layout.unit_offset(address.unit);
        start..start + layout.unit_bytes
    }

    /// Returns whether no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.engine.is_idle()
    }

    /// Returns whether operations have completed that were not [reaped](Self::reap). They can without a request to the
    /// device, where this is lost.
    pub fn has_finished(&self) -> bool {
        self.engine.has_finished()
    }

    /// Returns the number of blocks for which there is room.
    pub fn free_blocks(&self) -> u64 {
        self.engine.free_units()
    }

    /// Returns the device's time.
    pub fn now(&self) -> Instant {
        self.device().now()
    }

    /// Gives out a fresh id: one that no block on this device had since it was formatted, and that was not given out
    /// since it was opened. Where units are damaged the ids that they held are unknown; fresh ids are then 2³² above
    /// those that are known, which keeps the promise for ids that came from here. Above [`ID_MAX`](crate::ID_MAX) none
    /// is left, and a put is refused; lower ids that are free can still be chosen. Only a device on which an earlier
    /// version stored a block with an id near the end comes there: now a put may choose ids up to
    /// [`CHOSEN_ID_MAX`](crate::CHOSEN_ID_MAX).
    pub fn next_id(&mut self) -> u64 {
        self.engine.allocate_id()
    }

    /// Returns the stored blocks, by id.
    pub fn list(&self) -> impl Iterator<Item = BlockInfo> + '_ {
        self.engine.blocks().stored().map(|(id, block)| {
            let (length_bytes, address) = (block.length_bytes, block.address);
            BlockInfo { id, length_bytes, address }
        })
    }

    /// Returns block `id`, if it is stored.
    pub fn info(&self, id: u64) -> Option<BlockInfo> {
        let block = self.engine.blocks().get(id)?;
        Some(BlockInfo { id, length_bytes: block.length_bytes, address: block.address })
    }

    /// Stores a block. The whole block is durable when the operation [completes](crate::Outcome::Put), and no part of
    /// it is visible before.
    ///
    /// # Errors
    /// Why it was refused, and the payload.
    pub fn put(&mut self, id: u64, payload: Payload) -> Result<Ticket, (PutError, Payload)> {
        match self.admit_put(id, &payload) {
            Ok(lane) => Ok(self.engine.put(id, lane, payload)),
            Err(error) => Err((error, payload)),
        }
    }

    /// Returns the lane for a block that can be put, once leftovers are erased, which it waits for, and the id is
    /// recorded, for which a superblock may have to be written first.
    fn admit_put(&mut self, id: u64, payload: &Payload) -> Result<u32, PutError> {
        self.check_put(id, payload)?;
        waiting::prepare_for_writes(&mut self.engine);
        let is_gap_recorded = waiting::record_id_gap(&mut self.engine);
        if self.engine.is_device_lost() {
            return Err(PutError::DeviceLost);
        }
        if !self.engine.has_room_for_blocks() {
            return Err(PutError::Full(Box::new(self.full())));
        }
        if !is_gap_recorded {
            return Err(PutError::NoSuperblock);
        }
        self.engine.lane_for_block(id).ok_or_else(|| PutError::Full(Box::new(self.full())))
    }

    /// Checks what a put needs but room.
    fn check_put(&self, id: u64, payload: &Payload) -> Result<(), PutError> {
        if self.engine.is_device_lost() {
            return Err(PutError::DeviceLost);
        }
        if self.device().info().read_only {
            return Err(PutError::ReadOnly);
        }
        if payload.layout() != self.engine.layout() {
            let (given_bytes, block_bytes) = (payload.layout().block_bytes(), self.block_bytes());
            return Err(PutError::OtherLayout { given_bytes, block_bytes });
        }
        if !self.engine.ids().may_put(id) {
            return Err(match self.engine.ids().are_used_up() {
                true => PutError::IdsUsedUp,
                false => PutError::IdTooHigh { id, max: CHOSEN_ID_MAX },
            });
        }
        if !self.engine.are_sequences_left() {
            return Err(PutError::SequencesUsedUp);
        }
        let blocks = self.engine.blocks();
        if blocks.get(id).is_some() {
            return Err(PutError::Exists { id });
        }
        if blocks.is_putting(id) {
            return Err(PutError::Busy { id, doing: "put" });
        }
        if blocks.is_deleting(id) {
            return Err(PutError::Busy { id, doing: "deleted" });
        }
        Ok(())
    }

    fn full(&self) -> Full {
        let blocks = self.engine.blocks();
        Full {
            units: self.engine.layout().all_units(),
            blocks: blocks.stored_count() + blocks.putting_count(),
            damaged: self.engine.units().damaged().len() as u64,
            bad: self.status().lanes.iter().map(|lane| lane.bad).sum(),
        }
    }

    /// Checks that these bytes of a block are stored, without reading them.
    ///
    /// # Errors
    /// [`GetError`] where the block or the bytes are not stored.
    pub fn check_range(&self, id: u64, offset_bytes: u64, length_bytes: u64) -> Result<(), GetError> {
        if self.engine.is_device_lost() {
            return Err(GetError::DeviceLost);
        }
        let Some(block) = self.engine.blocks().get(id) else {
            let damaged_units = self.engine.units().damaged().len() as u64;
            return Err(GetError::NotFound { id, damaged_units });
        };
        let block_bytes = block.length_bytes;
        match offset_bytes.checked_add(length_bytes) {
            Some(end) if end <= block_bytes => Ok(()),
            _ => Err(GetError::OutOfRange { id, offset_bytes, length_bytes, block_bytes }),
        }
    }

    /// Reads bytes of a block, with one read of the device.
    ///
    /// # Errors
    /// [`GetError`] where the block or the bytes are not stored.
    pub fn get(&mut self, id: u64, offset_bytes: u64, length_bytes: u64) -> Result<Ticket, GetError> {
        self.check_range(id, offset_bytes, length_bytes)?;
        Ok(self.engine.get(id, offset_bytes, length_bytes))
    }

    /// Keeps the memory of what a get returned for later gets: the first use of fresh memory costs as much as the read.
    pub fn reuse(&mut self, bytes: BlockBytes) {
        self.engine.reuse(bytes);
    }

    /// Sets whether a block will be deleted soon, as the input of a merge: [`Placement::LeastLoaded`](crate::Placement)
    /// then spreads the other blocks evenly. It changes nothing else, and nothing where the block is not stored.
    pub fn set_expiring(&mut self, id: u64, is_expiring: bool) {
        self.engine.set_expiring(id, is_expiring);
    }

    /// Deletes a block: from now on it cannot be read. The operation [completes](crate::Outcome::Delete) when its unit
    /// is erased; until then a power cut may bring the block back.
    ///
    /// # Errors
    /// [`DeleteError`] where there is no such block.
    pub fn delete(&mut self, id: u64) -> Result<Ticket, DeleteError> {
        self.admit_change()?;
        if self.engine.blocks().get(id).is_none() {
            return Err(DeleteError::NotFound { id });
        }
        waiting::prepare_for_writes(&mut self.engine);
        Ok(self.engine.delete(id))
    }

    fn admit_change(&self) -> Result<(), DeleteError> {
        if self.engine.is_device_lost() {
            return Err(DeleteError::DeviceLost);
        }
        if self.device().info().read_only {
            return Err(DeleteError::ReadOnly);
        }
        if !self.engine.are_sequences_left() {
            return Err(DeleteError::SequencesUsedUp);
        }
        Ok(())
    }

    /// Appends completed operations to `out`. Returns as soon as there is one or the clock has reached `until`; with
    /// nothing in flight and `until` [`Instant::FAR`] at once. Units are erased meanwhile.
    pub fn reap(&mut self, until: Instant, out: &mut Vec<Finished>) {
        while !self.engine.has_finished() {
            if self.engine.is_idle() && until == Instant::FAR {
                break;
            }
            self.step(until);
            if self.now() >= until {
                break;
            }
        }
        self.engine.take_finished(out);
    }

    /// Says how to wait for the next completion of the device, for users that wait on several devices at once.
    pub fn readiness(&mut self) -> Readiness {
        self.engine.readiness()
    }

    /// Lets the device work until a request completes, at most until `until`. Operations that complete are kept for
    /// [`reap`](Self::reap).
    pub fn step(&mut self, until: Instant) {
        self.engine.step(until);
    }

    /// Waits for one operation; others that complete meanwhile are kept for [`reap`](Self::reap). `None` where no
    /// operation with this ticket is pending.
    pub fn wait(&mut self, ticket: Ticket) -> Option<Finished> {
        waiting::wait(&mut self.engine, ticket)
    }

    /// Waits until nothing is in flight: operations have completed, and every unit that could be erased is.
    pub fn settle(&mut self) {
        waiting::settle(&mut self.engine);
    }

    /// Returns the units that hold the copies of the superblock.
    pub fn superblock_units(&self) -> impl Iterator<Item = UnitAddress> + '_ {
        self.engine.superblocks().copies().iter().copied()
    }

    /// Returns the units with a damaged header or footer whose other copy is valid. Footers are read only with
    /// [`BlockOptions::verify_footers`].
    pub fn damaged_ends(&self) -> impl Iterator<Item = DamagedEnd> + '_ {
        self.damaged_ends.iter().copied()
    }

    /// Writes anew the superblock where a copy of it is lost or damaged, and blocks with a damaged header or footer,
    /// and waits for that. Blocks that cannot be read, or for which there is no room, stay as they are. Where no unit
    /// is left for a superblock, as many damaged units are erased as it takes if `discard_damaged` allows that.
    ///
    /// # Errors
    /// [`DeleteError`] where nothing can be written, or no unit is left for a copy of the superblock.
    pub fn repair(&mut self, discard_damaged: bool) -> Result<(), DeleteError> {
        self.admit_change()?;
        repair::repair(&mut self.engine, &mut self.damaged_ends, discard_damaged)
    }

    /// Returns the units of this layer with no valid header or footer, or of which the device lost whether they were
    /// erased since. They are left alone until they are discarded.
    pub fn damaged(&self) -> impl Iterator<Item = UnitAddress> + '_ {
        self.engine.units().damaged().iter().copied()
    }

    /// Returns the [damaged](Self::damaged) units that may hold a block: not those that were erased when other data was
    /// written into them.
    pub fn damaged_since_written(&self) -> impl Iterator<Item = UnitAddress> + '_ {
        self.engine.units().damaged_since_written()
    }

    /// Gives up what damaged units may hold, waits until they are erased, and returns how many are. Those that could
    /// not be erased stay damaged.
    ///
    /// # Errors
    /// [`DeleteError`] where nothing can be erased, or the superblock cannot be written, which must first record that
    /// fresh ids are above those that the units held.
    pub fn discard_damaged(&mut self) -> Result<u64, DeleteError> {
        self.admit_change()?;
        repair::discard_damaged(&mut self.engine)
    }

    /// Returns the state of the layer, its lanes and units.
    pub fn status(&self) -> Status {
        let (layout, units) = (self.engine.layout(), self.engine.units());
        let mut lanes: Vec<LaneStatus> = (0..layout.lanes).map(|lane| self.lane_status(lane)).collect();
        for (_, block) in self.engine.blocks().stored() {
            lanes[block.address.lane as usize].blocks += 1;
        }
        for address in units.damaged() {
            lanes[address.lane as usize].damaged += 1;
        }
        for address in units.leftovers() {
            lanes[address.lane as usize].to_erase += 1;
        }
        let unreadable_units = self.unreadable.iter().filter(|&unit| units.damaged().contains(unit)).count();
        Status {
            format_id: self.engine.format_id(),
            layout: *layout,
            blocks: self.engine.blocks().stored_count(),
            blocks_free: self.engine.free_units(),
            next_id: self.engine.ids().next(),
            superblock_copies: self.engine.superblocks().copies().len(),
            is_superblock_rebuilt: self.engine.superblocks().is_rebuilt(),
            counts: self.engine.counts(self.damaged_ends.len() as u64, unreadable_units as u64),
            lanes,
        }
    }

    /// Returns what the device and the unit table report about the units of a lane.
    fn lane_status(&self, lane: u32) -> LaneStatus {
        let units = self.engine.units();
        let mut status = LaneStatus {
            erased: units.erased(lane) as u64,
            to_erase: units.to_erase(lane) as u64,
            queue: self.engine.queue_length(lane),
            ..LaneStatus::default()
        };
        let mut erases = Vec::new();
        for unit in 0..self.engine.layout().units {
            let address = UnitAddress { lane, unit };
            let reported = self.device().unit(address.device_lane(), unit.into());
            let is_bad = reported.is_none_or(|unit| unit.state == UnitState::Bad);
            status.bad += u64::from(is_bad || self.engine.superblocks().retired().contains(&address));
            erases.extend(reported.and_then(|unit| unit.erases));
        }
        status.set_erases(&erases);
        status
    }
}
