//! The engine: turns what ends on a lane into transitions of blocks, superblock and ids.
//!
//! It knows which block an operation is for; the scheduler below knows when its request goes to the device and what
//! becomes of the unit. What changes a unit without a request is the engine's: a block is deleted or replaced, its last
//! reader leaves, a damaged unit or a leftover is given up. Every function that accepts an operation dispatches its
//! lane; for what the handlers of ended operations queue, they do, or `step` and `dispatch`; leftovers are not
//! dispatched ([`queue_leftover`](Engine::queue_leftover), [`erase_next`](Engine::erase_next)). The parts keep their
//! own invariants; `blocks` lists those that join them.

mod ending;

use crate::block_bytes::BlockBytes;
use crate::block_table::{BlockTable, StoredBlock};
use crate::error::{DeleteFailure, GetFailure, PutFailure};
use crate::finished::FinishedOperations;
use crate::ids::{IdAllocator, SequenceCounter};
use crate::layout::{Layout, Region, UnitAddress};
use crate::operation::{BlockRead, BlockWrite, Finished, Outcome, Pending, Ticket, Write};
use crate::options::BlockOptions;
use crate::parts::Parts;
use crate::payload::Payload;
use crate::placement::Placement;
use crate::room::SuperblockLimits;
use crate::scheduler::{Ended, EraseFailure, Next, Scheduler};
use crate::status::{Counts, LaneLength};
use crate::superblock::SuperblockStore;
use crate::units::{Cause, Holds, UnitTable, UnitUse};
use flashlane_base::Instant;
use flashlane_device::{Buffer, DataDevice, Failure, Readiness};
use std::collections::VecDeque;

/// Failed attempts, those without a unit included, after which a write fails.
const ATTEMPTS: u32 = 4;

/// The parts of the layer over one device.
pub(crate) struct Engine<D> {
    layout: Layout,
    format_id: u128,
    placement: Placement,
    scheduler: Scheduler<D>,
    blocks: BlockTable,
    superblocks: SuperblockStore,
    ids: IdAllocator,
    sequence: SequenceCounter,
    /// Writes for which no lane has a unit at the moment, and why they fail if none ever has.
    unplaced: VecDeque<(Write, PutFailure)>,
    /// Writes of blocks that failed, and why; they finish once the copies that they may have left are erased.
    failed_puts: Vec<(BlockWrite, PutFailure)>,
    finished: FinishedOperations,
    rewrites: u64,
    rereads: u64,
}

impl<D: DataDevice> Engine<D> {
    pub(crate) fn new(
        device: D,
        layout: Layout,
        format_id: u128,
        options: &BlockOptions,
        parts: Parts,
    ) -> Self {
        let Parts { units, blocks, superblocks, ids, sequence } = parts;
        Self {
            layout,
            format_id,
            placement: options.placement,
            scheduler: Scheduler::new(device, units, layout, format_id, options),
            blocks,
            superblocks,
            ids,
            sequence,
            unplaced: VecDeque::new(),
            failed_puts: Vec::new(),
            finished: FinishedOperations::default(),
            rewrites: 0,
            rereads: 0,
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn format_id(&self) -> u128 {
        self.format_id
    }

    pub(crate) fn device(&self) -> &D {
        self.scheduler.port().device()
    }

    /// Returns the length of the queue of a lane.
    pub(crate) fn queue_length(&self, lane: u32) -> LaneLength {
        self.scheduler.queue_length(lane)
    }

    pub(crate) fn units(&self) -> &UnitTable {
        self.scheduler.units()
    }

    pub(crate) fn blocks(&self) -> &BlockTable {
        &self.blocks
    }

    pub(crate) fn superblocks(&self) -> &SuperblockStore {
        &self.superblocks
    }

    pub(crate) fn ids(&self) -> &IdAllocator {
        &self.ids
    }

    /// Returns whether sequence numbers for all writes until the next opening are left.
    pub(crate) fn are_sequences_left(&self) -> bool {
        self.sequence.are_left()
    }

    pub(crate) fn allocate_id(&mut self) -> u64 {
        self.ids.allocate()
    }

    /// Returns the events counted since the device was opened, with what the opening found.
    pub(crate) fn counts(&self, single_copy_units: u64, unreadable_units: u64) -> Counts {
        Counts {
            writes_that_waited_for_an_erase: self.scheduler.writes_that_waited(),
            rewrites: self.rewrites,
            rereads: self.rereads,
            single_copy_units,
            unreadable_units,
        }
    }

    pub(crate) fn is_device_lost(&self) -> bool {
        self.scheduler.port().is_lost()
    }

    /// Returns whether a block can be given a unit, those for the next superblock excluded.
    pub(crate) fn has_room_for_blocks(&self) -> bool {
        self.free_units() > 0
    }

    /// Returns the number of units that blocks can still be given.
    pub(crate) fn free_units(&self) -> u64 {
        let room = self.scheduler.room().of_all_lanes().saturating_sub(self.unplaced.len() as u64);
        room.saturating_sub(self.superblocks.units_needed())
    }

    /// Returns the lane that the placement chooses for a block.
    pub(crate) fn lane_for_block(&self, id: u64) -> Option<u32> {
        self.scheduler.room().lane_for_block(self.placement, id)
    }

    /// Ids below this are recorded as given out: by the superblock, or by the block with the highest id, which is
    /// erased only after a superblock recorded it.
    fn recorded_below(&self) -> u64 {
        self.superblocks.recorded_floor().max(self.blocks.highest().unwrap_or(0))
    }

    fn limits(&self) -> SuperblockLimits {
        SuperblockLimits {
            recorded_below: self.recorded_below(),
            superblock_units: self.superblocks.units_needed(),
        }
    }

    // Operations. The caller has checked that they are admissible.

    fn accept(&mut self, id: u64) -> Pending {
        self.finished.accept(id, self.scheduler.port().now())
    }

    /// Queues the write of a block on `lane`.
    pub(crate) fn put(&mut self, id: u64, lane: u32, mut payload: Payload) -> Ticket {
        assert!(self.scheduler.is_ready(), "block {id} is put before leftovers are erased");
        let is_repair = self.blocks.get(id).is_some();
        let is_gap_recorded = self.superblocks.recorded_floor() >= self.ids.pending_floor();
        assert!(is_repair || is_gap_recorded, "block {id} is put before the id gap is recorded");
        let pending = self.accept(id);
        let sequence = self.sequence.allocate();
        self.ids.note_used(id);
        self.superblocks.try_again();
        self.blocks.start_put(id);
        let checksums = payload.checksums(self.format_id, sequence);
        let write = BlockWrite { pending, payload, sequence, checksums, attempts: 0, has_waited: false };
        self.queue_write(lane, Write::Block(write));
        self.fail_blocked_operations();
        pending.ticket
    }

    /// Queues a read of `length_bytes` from `offset_bytes` of a stored block.
    pub(crate) fn get(&mut self, id: u64, offset_bytes: u64, length_bytes: u64) -> Ticket {
        let block = self.blocks.get(id).expect("a get is of a stored block");
        let (address, block_bytes) = (block.address, block.length_bytes);
        assert_eq!(self.units().state(address), UnitUse::Live(Holds::Block(id)), "block {id} at {address:?}");
        assert!(offset_bytes + length_bytes <= block_bytes, "bytes behind the end of block {id}");
        let granule_bytes = self.layout.granule_bytes;
        // An empty get reads a granule too.
        let first = (offset_bytes / granule_bytes).min(u64::from(self.layout.granules) - 1);
        let end = (offset_bytes + length_bytes).div_ceil(granule_bytes);
        let pending = self.accept(id);
        self.blocks.add_reader(id);
        self.scheduler.queue_read(BlockRead {
            pending,
            address,
            first_granule: first as u32,
            granules: end.saturating_sub(first).max(1) as u32,
            skip_bytes: (offset_bytes - first * granule_bytes) as usize,
            length_bytes: length_bytes as usize,
            is_retry: false,
        });
        self.dispatch(address.lane);
        pending.ticket
    }

    /// Deletes a stored block: its unit is erased once no get reads it, no stale copy of it is left, and its id is
    /// recorded as given out ([`recorded_below`](Self::recorded_below)).
    pub(crate) fn delete(&mut self, id: u64) -> Ticket {
        assert!(self.scheduler.is_ready(), "block {id} is deleted before leftovers are erased");
        let pending = self.accept(id);
        let (address, has_readers) = self.blocks.start_delete(id, pending);
        self.superblocks.try_again();
        self.renew_superblock_if_due();
        self.scheduler.units_mut().delete(address, id, has_readers);
        self.dispatch(address.lane);
        self.fail_blocked_operations();
        pending.ticket
    }

    /// Sets whether a block, if it is stored, will be deleted soon.
    pub(crate) fn set_expiring(&mut self, id: u64, is_expiring: bool) {
        if let Some(block) = self.blocks.get(id) {
            self.scheduler.units_mut().set_expiring(block.address, is_expiring);
        }
    }

    /// Keeps the buffer of a get for later ones.
    pub(crate) fn reuse(&mut self, bytes: BlockBytes) {
        self.scheduler.reuse(bytes.into_buffer());
    }

    /// Erases a damaged unit, whose content is given up.
    pub(crate) fn discard(&mut self, address: UnitAddress) {
        self.scheduler.discard(address);
        self.dispatch(address.lane);
    }

    /// Queues a leftover of a power cut to be erased, before the other units of its lane.
    pub(crate) fn queue_leftover(&mut self, address: UnitAddress) {
        self.scheduler.units_mut().erase_leftover(address);
    }

    /// Erases a unit of a lane, if one may be erased. Returns false where the device cannot take the request yet.
    pub(crate) fn erase_next(&mut self, lane: u32) -> bool {
        let next = self.scheduler.submit_erase(lane, self.limits());
        self.handle_ended();
        next != Next::LaneWaits
    }

    /// Lets units be written, and erased in the background.
    pub(crate) fn become_ready(&mut self) {
        self.scheduler.become_ready();
    }

    /// Lets no further erase begin in the background.
    pub(crate) fn close(&mut self) {
        self.scheduler.close();
    }

    /// Returns whether units may be written.
    pub(crate) fn is_ready(&self) -> bool {
        self.scheduler.is_ready()
    }

    /// Requests new copies of the superblock.
    pub(crate) fn mark_superblock_stale(&mut self) {
        self.superblocks.mark_stale();
    }

    /// Lets the device work until a request completes, at most until `until`, and handles the completions.
    pub(crate) fn step(&mut self, until: Instant) {
        for completion in self.scheduler.reap(until) {
            let Some((lane, ended)) = self.scheduler.complete(&completion) else { continue };
            self.handle(ended);
            if self.is_device_lost() {
                self.fail_all();
                continue;
            }
            self.renew_superblock_if_due();
            if self.scheduler.take_waits_for_other_lane() {
                // This lane had its turn: where units are few the others come before it.
                self.dispatch_all(lane + 1);
            } else {
                self.dispatch(lane);
            }
            self.retry_unplaced();
            self.fail_blocked_operations();
        }
    }

    /// Says how to wait for the next completion of the device.
    pub(crate) fn readiness(&mut self) -> Readiness {
        self.scheduler.readiness()
    }

    /// Returns whether no request is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.scheduler.port().is_idle()
    }

    pub(crate) fn into_device(self) -> D {
        self.scheduler.into_device()
    }

    /// Returns whether operations have completed that were not taken.
    pub(crate) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Returns the completed operation with this ticket.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Finished> {
        self.finished.take(ticket)
    }

    /// Appends all completed operations to `out`.
    pub(crate) fn take_finished(&mut self, out: &mut Vec<Finished>) {
        self.finished.take_all(out);
    }

    fn finish(&mut self, pending: Pending, outcome: Outcome) {
        self.finished.finish(pending, self.scheduler.port().now(), outcome);
    }

    // Dispatch.

    fn queue_write(&mut self, lane: u32, write: Write) {
        self.scheduler.queue_write(lane, write);
        self.dispatch(lane);
    }

    /// Hands over what may go to the device on a lane, and handles what it refuses.
    fn dispatch(&mut self, lane: u32) {
        if self.is_device_lost() {
            return self.fail_all();
        }
        self.scheduler.dispatch(lane, self.limits());
        while self.handle_ended() && !self.is_device_lost() {
            self.scheduler.dispatch(lane, self.limits());
        }
        if self.is_device_lost() {
            self.fail_all();
        }
    }

    /// Dispatches every lane, `first` before the others.
    pub(crate) fn dispatch_all(&mut self, first: u32) {
        let count = self.layout.lanes;
        (0..count).for_each(|step| self.dispatch((first + step) % count));
    }

    /// Handles what the device refused. Returns whether there was anything.
    fn handle_ended(&mut self) -> bool {
        let mut has_handled = false;
        while let Some(ended) = self.scheduler.take_ended() {
            self.handle(ended);
            has_handled = true;
        }
        has_handled
    }

    fn handle(&mut self, ended: Ended) {
        match ended {
            Ended::Read { read, result } => self.handle_read(read, result),
            Ended::Write { write, result, retired } => self.handle_write(write, result, retired),
            Ended::Erase { address, cause, result } => self.handle_erase(address, cause, result),
        }
    }

    // Reads.

    fn handle_read(&mut self, mut read: BlockRead, result: Result<Buffer, GetFailure>) {
        let is_refused = matches!(result, Err(GetFailure::Refused { .. }));
        let (format_id, granule_bytes) = (self.format_id, self.layout.granule_bytes);
        let result = result.and_then(|buffer| self.blocks.checked(&read, buffer, format_id, granule_bytes));
        if result.is_err() && !is_refused && !read.is_retry && !self.is_device_lost() {
            // The fault may be one of the transfer rather than of the medium.
            read.is_retry = true;
            self.rereads += 1;
            return self.scheduler.retry_read(read);
        }
        self.scheduler.finish_read(&read);
        self.finish(read.pending, Outcome::Get(result));
        if self.blocks.reader_left(read.pending.id) {
            self.scheduler.units_mut().last_reader_left(read.address);
        }
    }

    // Writes.

    fn handle_write(
        &mut self,
        write: Write,
        result: Result<UnitAddress, PutFailure>,
        retired: Option<UnitAddress>,
    ) {
        retired.into_iter().for_each(|address| self.superblocks.retire(address));
        match result {
            Ok(address) => self.enter_written(address, write),
            Err(failure @ PutFailure::Write { failure: Failure::DeviceLost, .. }) => {
                self.fail_write(write, failure)
            }
            Err(failure) => {
                self.rewrites += u64::from(matches!(failure, PutFailure::Write { .. }));
                self.retry_on_another_unit(write, failure);
            }
        }
    }

    fn enter_written(&mut self, address: UnitAddress, write: Write) {
        match write {
            Write::Block(BlockWrite { pending, payload, sequence, checksums, .. }) => {
                let block = StoredBlock::new(address, payload.len(), sequence, checksums);
                let older = self.blocks.put_completed(pending.id, block);
                self.finish(pending, Outcome::Put(Ok(()), payload));
                if let Some(older) = older {
                    // A repaired block may have come from another lane, where nothing else would begin the erase.
                    self.scheduler.units_mut().release(older);
                    self.dispatch(older.lane);
                }
            }
            Write::Superblock(_) => self.superblock_copy_ended(Ok(address)),
        }
    }

    /// Retries a write on another unit; fails it when it was tried often enough.
    fn retry_on_another_unit(&mut self, mut write: Write, failure: PutFailure) {
        // A unit with foreign data takes no attempt: it is found once, and nothing was written to it.
        let is_foreign = matches!(failure, PutFailure::Write { failure: Failure::ForeignData, .. });
        let is_out_of_attempts = !is_foreign && write.count_attempt() >= ATTEMPTS;
        if let Write::Block(BlockWrite { payload, sequence, checksums, .. }) = &mut write {
            // The unit that failed may hold all or half of it, which must not pass for what is written now.
            *sequence = self.sequence.allocate();
            *checksums = payload.checksums(self.format_id, *sequence);
        }
        if is_out_of_attempts || self.is_device_lost() {
            return self.fail_write(write, failure);
        }
        match self.lane_for_retry(&write) {
            Some(lane) => self.queue_write(lane, write),
            None => self.unplaced.push_back((write, failure)),
        }
    }

    /// Returns the lane for a write that failed on another unit: for a block the least loaded, if one may take a unit;
    /// for a copy of the superblock one near its region.
    fn lane_for_retry(&self, write: &Write) -> Option<u32> {
        let room = self.scheduler.room();
        match write {
            Write::Block(_) if !self.has_room_for_blocks() => None,
            Write::Block(_) => room.lane_for_block(Placement::LeastLoaded, 0),
            Write::Superblock(copy) => room.lane_for_superblock(copy.region, &[], self.recorded_below()),
        }
    }

    /// Finds lanes for unplaced writes as soon as there is room. They fail when nothing is in flight that could make
    /// room.
    fn retry_unplaced(&mut self) {
        while let Some((write, failure)) = self.unplaced.pop_front() {
            if let Some(lane) = self.lane_for_retry(&write) {
                self.queue_write(lane, write);
            } else if self.is_idle() {
                self.fail_write(write, failure);
            } else {
                return self.unplaced.push_front((write, failure));
            }
        }
    }

    fn fail_write(&mut self, write: Write, failure: PutFailure) {
        match write {
            Write::Block(write) => {
                let id = write.pending.id;
                self.failed_puts.push((write, failure));
                self.finish_failed_put(id);
            }
            Write::Superblock(_) => self.superblock_copy_ended(Err(failure)),
        }
    }

    // Superblocks.

    /// Writes new copies of the superblock if they have something to record that is not durable yet.
    pub(crate) fn renew_superblock_if_due(&mut self) {
        let is_due = self.superblocks.is_due(self.blocks.highest_deleting(), self.recorded_below());
        if is_due && self.scheduler.is_ready() {
            self.start_renewal();
        }
    }

    /// Begins to write new copies of the superblock, where there are units for them.
    pub(crate) fn start_renewal(&mut self) {
        let (mut taken, mut targets) = (Vec::new(), Vec::new());
        for region in [Region::Front, Region::Back] {
            let lane = self.scheduler.room().lane_for_superblock(region, &taken, self.recorded_below());
            taken.extend(lane);
            targets.extend(lane.map(|lane| (lane, region)));
        }
        if targets.is_empty() {
            return;
        }
        let sequence = self.sequence.allocate();
        let writes = self.superblocks.start_renewal(&self.layout, self.ids.next(), sequence, &targets);
        for (lane, write) in writes {
            self.queue_write(lane, write);
        }
    }

    fn superblock_copy_ended(&mut self, result: Result<UnitAddress, PutFailure>) {
        let Some(old) = self.superblocks.copy_ended(result) else { return };
        old.into_iter().for_each(|address| self.scheduler.units_mut().release(address));
        self.renew_superblock_if_due();
        // Erases waited for it, on any lane.
        self.dispatch_all(0);
    }

    // Erases.

    fn handle_erase(&mut self, address: UnitAddress, cause: Cause, result: Result<(), EraseFailure>) {
        if let Err(EraseFailure::Retired(_)) = result
            && !self.is_device_lost()
        {
            self.superblocks.retire(address);
        }
        let id = match cause {
            Cause::Deleted(id) => id,
            Cause::StaleCopy(id) => return self.finish_failed_put(id),
            Cause::Damaged | Cause::Obsolete => return,
        };
        let result = match result {
            Ok(()) | Err(EraseFailure::Bad) => Ok(()),
            Err(EraseFailure::DeviceLost) => Err(DeleteFailure::DeviceLost),
            Err(EraseFailure::Retired(failure)) => Err(DeleteFailure::Erase { failure }),
        };
        let pending = self.blocks.delete_ended(id);
        self.finish(pending, Outcome::Delete(result));
    }
}
