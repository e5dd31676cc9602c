//! The scheduler: which request of a lane goes to the device next, and what its completion makes of the unit.
//!
//! On a lane reads go first, long ones one or few at once (`lane`); then, where no read is in flight and it has fewer
//! erased units than the reserve, an erase; then writes, as many at a time as the options say, which may erase where
//! they find no unit; other erases when the lane has nothing else to do. All of it is decided when an operation is
//! queued or a request completes: there is no other clock.
//!
//! Invariants:
//! - The scheduler changes the state of a unit when the device has accepted or refused a request for it, and when the
//!   request completes. An operation that the device could not take yet leaves no trace. What needs no request is the
//!   engine's: deletes, releases, discards, and readers that leave.
//! - Every operation that the device served or refused, and every write that finds no unit, leaves as one [`Ended`]:
//!   returned by [`complete`](Scheduler::complete), or kept for [`take_ended`](Scheduler::take_ended). One that waits
//!   leaves without one by [`take_waiting`](Scheduler::take_waiting) and
//!   [`take_waiting_writes`](Scheduler::take_waiting_writes).
//! - Units are never written while [`Phase::Opened`]. The scheduler begins erases by itself only while
//!   [`Phase::Ready`], but for a write that waits for a unit; before that `Engine::erase_next` erases leftovers.

use crate::error::{GetFailure, PutFailure, lacks_space};
use crate::lane::LaneQueue;
use crate::layout::{Layout, UnitAddress};
use crate::operation::{BlockRead, InFlight, Write};
use crate::options::BlockOptions;
use crate::port::{Port, Submitted};
use crate::room::{Room, SuperblockLimits};
use crate::status::LaneLength;
use crate::units::{Cause, Holds, UnitTable, UnitUse};
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Lane, Readiness, Request};
use std::collections::VecDeque;

/// An operation that ended on its lane.
pub(crate) enum Ended {
    Read {
        read: BlockRead,
        result: Result<Buffer, GetFailure>,
    },
    /// A write that the device served or refused, or for which there was no unit. With the unit that was written, or
    /// taken out of use because of it.
    Write {
        write: Write,
        result: Result<UnitAddress, PutFailure>,
        retired: Option<UnitAddress>,
    },
    Erase {
        address: UnitAddress,
        cause: Cause,
        result: Result<(), EraseFailure>,
    },
}

/// Why a unit was not erased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EraseFailure {
    DeviceLost,
    /// The device reports the unit as bad: it does not read it again.
    Bad,
    /// The device may read the unit again after a restart.
    Retired(Failure),
}

/// What may be done with the units of an open device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// They are only read: leftovers of a power cut are still to be erased.
    Opened,
    /// They are written, and erased in the background.
    Ready,
    /// What is in flight ends, and no erase begins in the background.
    Closing,
}

/// What follows an attempt to submit a request of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The lane's next request may be tried.
    Continue,
    /// The lane waits: for room in the device queue, for an erase, or for another lane.
    LaneWaits,
    /// No unit of the lane may be erased now.
    NothingToErase,
}

/// The lanes of a device and their units.
pub(crate) struct Scheduler<D> {
    port: Port<D>,
    layout: Layout,
    format_id: u128,
    reserve_units: usize,
    writes_per_lane: u32,
    /// Whether other data in units that are erased is given up.
    replaces_other_data: bool,
    units: UnitTable,
    lanes: Vec<LaneQueue>,
    ended: VecDeque<Ended>,
    phase: Phase,
    /// Whether an operation waits for what happens on another lane: for room in the device queue, for a superblock, or
    /// for an erased unit.
    waits_for_other_lane: bool,
    writes_that_waited: u64,
}

impl<D: DataDevice> Scheduler<D> {
    pub(crate) fn new(
        device: D,
        units: UnitTable,
        layout: Layout,
        format_id: u128,
        options: &BlockOptions,
    ) -> Self {
        Self {
            port: Port::new(device),
            layout,
            format_id,
            reserve_units: options.reserve_units as usize,
            writes_per_lane: options.writes_per_lane.get(),
            replaces_other_data: options.replaces_other_data,
            units,
            lanes: (0..layout.lanes).map(|_| LaneQueue::new(&layout)).collect(),
            ended: VecDeque::new(),
            phase: Phase::Opened,
            waits_for_other_lane: false,
            writes_that_waited: 0,
        }
    }

    pub(crate) fn port(&self) -> &Port<D> {
        &self.port
    }

    pub(crate) fn into_device(self) -> D {
        assert!(self.port.is_idle(), "requests are in flight");
        self.port.into_device()
    }

    pub(crate) fn units(&self) -> &UnitTable {
        &self.units
    }

    /// Returns the units, for transitions that need no request to the device.
    pub(crate) fn units_mut(&mut self) -> &mut UnitTable {
        &mut self.units
    }

    /// Returns the number of writes that waited for an erase.
    pub(crate) fn writes_that_waited(&self) -> u64 {
        self.writes_that_waited
    }

    /// Returns the length of the queue of a lane.
    pub(crate) fn queue_length(&self, lane: u32) -> LaneLength {
        let queue = &self.lanes[lane as usize];
        LaneLength {
            reads_waiting: queue.waiting_reads() as u64,
            reads_in_flight: u64::from(queue.reads_in_flight()),
            writes_waiting: queue.waiting_writes() as u64,
            writes_in_flight: u64::from(queue.writes_in_flight()),
            is_erasing: self.units.is_erasing(lane),
        }
    }

    /// Keeps the buffer of a get for later ones.
    pub(crate) fn reuse(&mut self, buffer: Buffer) {
        self.port.reuse(buffer);
    }

    /// Opened → ready.
    pub(crate) fn become_ready(&mut self) {
        assert_eq!(self.phase, Phase::Opened, "leftovers are erased once");
        self.phase = Phase::Ready;
    }

    /// Opened or ready → closing.
    pub(crate) fn close(&mut self) {
        assert_ne!(self.phase, Phase::Closing, "the device is closed once");
        self.phase = Phase::Closing;
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    // Operations are queued; `dispatch` hands them over.

    pub(crate) fn queue_read(&mut self, read: BlockRead) {
        self.lanes[read.address.lane as usize].push_read(read);
    }

    /// Queues a read that failed once more.
    pub(crate) fn retry_read(&mut self, read: BlockRead) {
        assert!(read.is_retry, "a read is retried once");
        self.lanes[read.address.lane as usize].requeue_read(read);
    }

    /// A read has its result.
    pub(crate) fn finish_read(&mut self, read: &BlockRead) {
        self.lanes[read.address.lane as usize].subtract_read_load(read);
    }

    pub(crate) fn queue_write(&mut self, lane: u32, write: Write) {
        self.lanes[lane as usize].push_write(write);
    }

    /// Queues a damaged unit to be erased, whose content is given up.
    pub(crate) fn discard(&mut self, address: UnitAddress) {
        self.port.give_up_content(address);
        self.units.discard(address);
    }

    /// Removes the reads and writes that wait on a lane.
    pub(crate) fn take_waiting(&mut self, lane: u32) -> (VecDeque<BlockRead>, VecDeque<Write>) {
        let lane = &mut self.lanes[lane as usize];
        (lane.take_reads(), lane.take_writes())
    }

    /// Removes the writes that wait on a lane.
    pub(crate) fn take_waiting_writes(&mut self, lane: u32) -> VecDeque<Write> {
        self.lanes[lane as usize].take_writes()
    }

    /// Returns the next operation that ended.
    pub(crate) fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Returns, once, whether an operation waits for what happens on another lane.
    pub(crate) fn take_waits_for_other_lane(&mut self) -> bool {
        std::mem::take(&mut self.waits_for_other_lane)
    }

    /// Returns the room on the lanes.
    pub(crate) fn room(&self) -> Room<'_> {
        Room::new(&self.layout, &self.units, &self.lanes)
    }

    // Requests.

    /// Hands over to the device what may go now. Operations that it refuses leave as ended ones.
    pub(crate) fn dispatch(&mut self, lane: u32, limits: SuperblockLimits) {
        let at = lane as usize;
        while let Some(read) = self.lanes[at].pop_read() {
            if self.submit_read(read) == Next::LaneWaits {
                return;
            }
        }
        // An erase for the writes to come goes before them: it is short, and they would wait for it otherwise.
        let is_short = self.units.erased(lane) < self.reserve_units && !self.units.is_erasing(lane);
        let is_reading = self.lanes[at].reads_in_flight() > 0;
        if self.is_ready() && is_short && !is_reading && self.submit_erase(lane, limits) == Next::LaneWaits {
            return;
        }
        while self.lanes[at].writes_in_flight() < self.writes_per_lane && self.lanes[at].waiting_writes() > 0
        {
            if self.submit_write(lane, limits) == Next::LaneWaits {
                return;
            }
        }
        if self.is_ready() && self.lanes[at].is_idle() && !self.units.is_erasing(lane) {
            self.submit_erase(lane, limits);
        }
    }

    /// Submits a read.
    fn submit_read(&mut self, read: BlockRead) -> Next {
        let UnitAddress { lane, unit } = read.address;
        let granule_bytes = self.layout.granule_bytes;
        let payload = self.layout.unit_offset(unit) + self.layout.header_bytes;
        let offset = payload + u64::from(read.first_granule) * granule_bytes;
        let length = u64::from(read.granules) * granule_bytes;
        let buffer = self.port.read_buffer(length);
        let request = Request::read(0, offset, length).on(Lane(lane));
        let queue = &mut self.lanes[lane as usize];
        // It counts as in flight from here on, unless the device does not take it.
        queue.read_started(&read);
        match self.port.submit(request, Some(buffer), InFlight::Read(read)) {
            Submitted::Accepted => Next::Continue,
            Submitted::Busy(operation, _) => {
                let InFlight::Read(read) = operation else { unreachable!("a read was submitted") };
                queue.read_left_device(&read);
                queue.requeue_read(read);
                self.waits_for_other_lane = true;
                Next::LaneWaits
            }
            Submitted::Refused(operation, _, refusal) => {
                let InFlight::Read(read) = operation else { unreachable!("a read was submitted") };
                queue.read_left_device(&read);
                let failure = GetFailure::Refused { id: read.pending.id, address: read.address, refusal };
                self.ended.push_back(Ended::Read { read, result: Err(failure) });
                Next::Continue
            }
        }
    }

    /// Submits the first write of a lane.
    fn submit_write(&mut self, lane: u32, limits: SuperblockLimits) -> Next {
        assert!(self.phase != Phase::Opened, "units are written once what a power cut left is erased");
        let at = lane as usize;
        let first = self.lanes[at].first_write().expect("a write waits");
        let superblock_needs_unit = first.is_block() && !self.room().may_block_take_unit(limits);
        let unit = match first {
            Write::Block(_) if superblock_needs_unit => None,
            Write::Block(_) => self.units.least_worn(lane),
            Write::Superblock(copy) => self.units.nearest_to(copy.region, lane),
        };
        let Some(address) = unit else {
            return self.erase_or_fail_write(lane, superblock_needs_unit, limits);
        };
        if !self.port.has_room() {
            self.waits_for_other_lane = true;
            return Next::LaneWaits;
        }
        let mut write = self.lanes[at].pop_write().expect("a write waits");
        let holds = write.holds();
        let erases = self.port.unit(address).and_then(|unit| unit.erases);
        let buffer = write.take_with_header(&self.layout, self.format_id, address, erases);
        let offset = self.layout.unit_offset(address.unit);
        let request = Request::write(0, offset, self.layout.unit_bytes).on(Lane(lane)).durable();
        match self.port.submit(request, Some(buffer), InFlight::Write { address, write }) {
            Submitted::Accepted => {
                self.units.start_write(address, holds);
                self.lanes[at].write_started();
                let is_superblock = holds == Holds::Superblock;
                assert!(
                    is_superblock || self.room().has_superblock_units(limits, 0),
                    "{address:?} is a superblock's"
                );
                Next::Continue
            }
            Submitted::Busy(operation, buffer) => {
                self.lanes[at].requeue_write(returned_write(operation, buffer));
                self.waits_for_other_lane = true;
                Next::LaneWaits
            }
            Submitted::Refused(operation, buffer, refusal) => {
                self.lanes[at].subtract_write_load();
                self.units.write_refused(address);
                let write = returned_write(operation, buffer);
                let result = Err(PutFailure::Refused(refusal));
                self.ended.push_back(Ended::Write { write, result, retired: None });
                Next::Continue
            }
        }
    }

    /// The first write of a lane has no unit: begins an erase for it, unless one is in flight, or ends it where no unit
    /// will be erased.
    fn erase_or_fail_write(
        &mut self,
        lane: u32,
        superblock_needs_unit: bool,
        limits: SuperblockLimits,
    ) -> Next {
        let first = self.lanes[lane as usize].first_write_mut().expect("a write waits");
        // A copy of the superblock must not wait for a unit that is erased only after it.
        let has_units_to_erase = match first {
            Write::Block(_) => self.units.has_units_to_erase(lane),
            Write::Superblock(_) => self.units.next_erasable(lane, limits.recorded_below).is_some(),
        };
        if superblock_needs_unit || has_units_to_erase || self.units.is_erasing(lane) {
            if let Write::Block(block) = first {
                self.writes_that_waited += u64::from(!block.has_waited);
                block.has_waited = true;
            }
            if !self.units.is_erasing(lane) {
                self.submit_erase(lane, limits);
            }
            self.waits_for_other_lane |= superblock_needs_unit;
            return Next::LaneWaits;
        }
        let write = self.lanes[lane as usize].pop_write().expect("a write waits");
        self.lanes[lane as usize].subtract_write_load();
        self.ended.push_back(Ended::Write { write, result: Err(PutFailure::NoUnit), retired: None });
        Next::Continue
    }

    /// Erases a unit of a lane, if one may be erased.
    pub(crate) fn submit_erase(&mut self, lane: u32, limits: SuperblockLimits) -> Next {
        loop {
            let Some(address) = self.units.next_erasable(lane, limits.recorded_below) else {
                self.waits_for_other_lane |= self.units.has_units_to_erase(lane);
                return Next::NothingToErase;
            };
            let UnitUse::ToErase(cause) = self.units.state(address) else {
                panic!("{address:?} is queued to be erased as {:?}", self.units.state(address))
            };
            let offset = self.layout.unit_offset(address.unit);
            let request = Request::erase(0, offset, self.layout.unit_bytes).on(Lane(lane));
            match self.port.submit(request, None, InFlight::Erase { address, cause }) {
                Submitted::Accepted => {
                    self.units.start_erase(address);
                    return Next::Continue;
                }
                Submitted::Busy(..) => {
                    self.waits_for_other_lane = true;
                    return Next::LaneWaits;
                }
                // The next unit may be accepted.
                Submitted::Refused(..) => {
                    self.units.start_erase(address);
                    let failure = if self.port.is_lost() { Failure::DeviceLost } else { Failure::BadUnit };
                    let ended = self.note_erase_end(address, cause, Err(failure));
                    self.ended.push_back(ended);
                }
            }
        }
    }

    // Completions.

    /// Says how to wait for the next completion of the device.
    pub(crate) fn readiness(&mut self) -> Readiness {
        self.port.readiness()
    }

    /// Lets the device work until a request completes, at most until `until`.
    pub(crate) fn reap(&mut self, until: Instant) -> Vec<Completion> {
        self.port.reap(until)
    }

    /// Takes a completion in. Returns the lane, and the operation that it ends.
    pub(crate) fn complete(&mut self, completion: &Completion) -> Option<(u32, Ended)> {
        let (operation, buffer) = self.port.take(completion)?;
        Some(match operation {
            InFlight::Read(read) => (read.address.lane, self.note_read_end(read, buffer, completion.outcome)),
            InFlight::Write { address, mut write } => {
                if let Some(buffer) = buffer {
                    write.restore(buffer);
                }
                (address.lane, self.note_write_end(address, write, completion.outcome))
            }
            InFlight::Erase { address, cause } => {
                (address.lane, self.note_erase_end(address, cause, completion.outcome))
            }
        })
    }

    fn note_read_end(
        &mut self,
        read: BlockRead,
        buffer: Option<Buffer>,
        outcome: Result<(), Failure>,
    ) -> Ended {
        self.lanes[read.address.lane as usize].read_left_device(&read);
        let (id, address) = (read.pending.id, read.address);
        let result = match (outcome, buffer) {
            (Ok(()), Some(buffer)) => Ok(buffer),
            (Ok(()), None) => Err(GetFailure::Unreadable { id, address, failure: Failure::Unreadable }),
            (Err(failure), _) => Err(GetFailure::Unreadable { id, address, failure }),
        };
        Ended::Read { read, result }
    }

    fn note_write_end(&mut self, address: UnitAddress, write: Write, outcome: Result<(), Failure>) -> Ended {
        self.lanes[address.lane as usize].write_left_device();
        let mut retired = None;
        let result = match outcome {
            Ok(()) => {
                self.units.write_completed(address);
                Ok(address)
            }
            // Nothing more is known of the unit, and nothing more is done with it.
            Err(failure @ Failure::DeviceLost) => Err(PutFailure::Write { address, failure }),
            Err(failure @ Failure::ForeignData) => {
                self.units.write_found_foreign_data(address);
                Err(PutFailure::Write { address, failure })
            }
            Err(failure) => {
                let is_to_blame = !lacks_space(failure);
                let next = self.units.write_failed(address, self.port.is_bad(address), is_to_blame);
                retired = (next == UnitUse::Retired && !self.port.is_lost()).then_some(address);
                Err(PutFailure::Write { address, failure })
            }
        };
        Ended::Write { write, result, retired }
    }

    fn note_erase_end(&mut self, address: UnitAddress, cause: Cause, outcome: Result<(), Failure>) -> Ended {
        let result = match outcome {
            Ok(()) if self.port.has_foreign_data(address) => {
                self.units.erase_left_foreign_data(address, self.replaces_other_data);
                Ok(())
            }
            Ok(()) => {
                self.units.erase_completed(address, self.port.erases(address));
                Ok(())
            }
            Err(Failure::DeviceLost) => Err(EraseFailure::DeviceLost),
            Err(failure) => {
                let is_bad = self.port.is_bad(address);
                self.units.erase_failed(address, is_bad);
                Err(if is_bad { EraseFailure::Bad } else { EraseFailure::Retired(failure) })
            }
        };
        Ended::Erase { address, cause, result }
    }

    /// Asserts what must hold while no request is in flight.
    pub(crate) fn assert_consistent(&self) {
        assert!(self.ended.is_empty(), "ended operations are left");
        self.units.assert_consistent();
    }
}

/// Returns a write that the device did not accept, with its buffer.
fn returned_write(operation: InFlight, buffer: Option<Buffer>) -> Write {
    let InFlight::Write { mut write, .. } = operation else { unreachable!("a write was submitted") };
    write.restore(buffer.expect("a write that is not accepted returns its buffer"));
    write
}
