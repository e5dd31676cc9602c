//! What requests do, from the link to the flash and back.
//!
//! A write or append waits for the firmware, then for room in its zone's buffer; its data cross the link in parts that
//! each complete no more than one program, so that zones share the link. Of a read no more than two pages a plane are
//! on their way. A finish programs each column of the zone to its end, two programs at a time, and moves no data over
//! the bus.

use super::Zoned;
use super::shape::ZoneId;
use super::writing::ZoneWrites;
use crate::event::Event;
use crate::host_port::{Direction, Transfer};
use crate::ids::{Lpn, PlaneId, RequestSlot, TaskKind};
use crate::nand::{Erase, FlashOperation, Owner, PageType, Program, Read, Work};
use crate::pieces::piece;
use crate::progress::Progress;
use flashlane_base::Duration;
use flashlane_device::{Failure, Operation, Part, Request};
use flashlane_policy::scheduling::Class;

/// Timers of the firmware: of a write command, and of others.
pub(super) const COMMAND: TaskKind = TaskKind::numbered(0);
const FIRMWARE: TaskKind = TaskKind::numbered(1);
/// Programs of a zone's data.
const DATA: TaskKind = TaskKind::numbered(2);

impl Zoned {
    /// A request reaches the drive.
    pub(super) fn start(&mut self, slot: RequestSlot) {
        let request = self.kernel.in_flight(slot).request();
        match request.operation {
            Operation::Read => return self.start_read(slot, &request),
            Operation::Write | Operation::Append => {
                let is_append = request.operation == Operation::Append;
                let count = if is_append { &mut self.counts.appends } else { &mut self.counts.writes };
                *count += 1;
                self.kernel.in_flight_mut(slot).state.left_bytes = request.length_bytes;
                if self.commands.arrive(slot) {
                    self.begin_command(slot);
                }
                return;
            }
            Operation::Erase => self.counts.erases += 1,
            Operation::Flush => self.counts.flushes += 1,
            Operation::Open => self.counts.opens += 1,
            Operation::Finish => self.counts.finishes += 1,
            Operation::Close => {}
            Operation::Trim => unreachable!("submit refused it"),
        }
        self.send(slot, 0, 0, Direction::In);
    }

    /// The firmware takes up a write or append.
    fn begin_command(&mut self, slot: RequestSlot) {
        let request = self.kernel.in_flight(slot).request();
        let is_append = request.operation == Operation::Append;
        let zone = self.zone_of(&request);
        let opens = std::mem::take(&mut self.writes[zone.index()].pays_open);
        let times = &self.times;
        let (command, open) = match is_append {
            true => (times.append.0, times.open_by_append.0),
            false => (times.write.0, times.open_by_write.0),
        };
        let time = command + if opens { open } else { Duration::ZERO };
        self.kernel.charge(slot, Part::Queue);
        self.kernel.schedule_after(time, Event::Task(COMMAND, slot.0));
    }

    /// The firmware has processed a write or append.
    pub(super) fn command_ended(&mut self, slot: RequestSlot) {
        self.kernel.charge(slot, Part::Buffer);
        if let Some(next) = self.commands.next() {
            self.begin_command(next);
        }
        let zone = self.zone_of(&self.kernel.in_flight(slot).request());
        let writers = &mut self.writes[zone.index()].writers;
        writers.push_back(slot);
        if writers.len() == 1 {
            self.begin_write(zone);
        }
    }

    /// The first write of a zone begins to send its data, if the buffer has room for them.
    fn begin_write(&mut self, zone: ZoneId) {
        let Some(&slot) = self.writes[zone.index()].writers.front() else { return };
        self.kernel.in_flight_mut(slot).state.begins_bytes = self.writes[zone.index()].received_bytes;
        self.send_data(zone, slot);
    }

    /// Sends the next part of a write's data, if the buffer has room for it.
    fn send_data(&mut self, zone: ZoneId, slot: RequestSlot) {
        let state = &mut self.kernel.in_flight_mut(slot).state;
        let writes = &mut self.writes[zone.index()];
        let room = writes.next_transfer(&self.shape, self.times.buffer.0, state.left_bytes);
        let Some(bytes) = room else { return };
        debug_assert!(state.sent_bytes == 0, "one part is on the link");
        state.left_bytes -= bytes;
        state.sent_bytes = bytes;
        writes.buffered_bytes += bytes;
        self.kernel.charge_wait(slot);
        self.send(slot, 0, bytes, Direction::In);
    }

    /// A part of a write's data is in the buffer.
    fn received(&mut self, slot: RequestSlot) {
        let zone = self.zone_of(&self.kernel.in_flight(slot).request());
        let bytes = std::mem::take(&mut self.kernel.in_flight_mut(slot).state.sent_bytes);
        let programs = self.shape.zone_bytes.div_ceil(self.shape.program_bytes);
        let writes = &mut self.writes[zone.index()];
        if writes.received_bytes == 0 {
            writes.fails = self.wear.failing_program(zone, programs);
        }
        writes.received_bytes += bytes;
        self.counts.bytes_written += bytes;
        while let Some(program) = self.writes[zone.index()].next_program(&self.shape) {
            self.program_data(zone, program);
        }
        let writes = &self.writes[zone.index()];
        let failed = writes.fails.is_some_and(|program| program < writes.programs);
        let write = self.kernel.in_flight_mut(slot);
        if failed {
            write.fail(Failure::BadUnit);
            write.state.left_bytes = 0;
        }
        if write.state.left_bytes > 0 {
            return self.send_data(zone, slot);
        }
        self.writes[zone.index()].writers.pop_front();
        self.acknowledge(slot);
        self.begin_write(zone);
    }

    /// All data of a write or append are in the buffer.
    fn acknowledge(&mut self, slot: RequestSlot) {
        let is_append = self.kernel.in_flight(slot).request().operation == Operation::Append;
        match self.times.append_latency.0 {
            time if is_append && !time.is_zero() => {
                self.kernel.schedule_after(time, Event::BufferLatencyOver(slot))
            }
            _ => self.complete(slot),
        }
    }

    /// The drive knows where an append lies.
    pub(super) fn append_placed(&mut self, slot: RequestSlot) {
        self.kernel.charge(slot, Part::Buffer);
        self.complete(slot);
    }

    fn program_data(&mut self, zone: ZoneId, program: u32) {
        self.counts.pages_programmed += u64::from(self.shape.program_pages());
        let owner = Owner::Task(DATA, zone.0);
        self.program(zone, program, owner, self.shape.program_bytes);
    }

    /// Programs data of a zone, or nothing but zeros, for which no data cross the bus.
    fn program(&mut self, zone: ZoneId, program: u32, owner: Owner, bus_bytes: u64) {
        let first_page = program * self.shape.program_pages();
        let place = self.shape.page(zone, first_page);
        let work = Work::Program(Program {
            programs: self.shape.planes_at_once,
            page_type: match self.shape.programs_word_lines() {
                true => PageType::MEAN,
                false => self.page_type(place.page_of_block),
            },
            ..Program::of(Lpn(program), bus_bytes)
        });
        self.kernel.enqueue(FlashOperation::new(work, owner, Class::Write, place.plane));
    }

    fn page_type(&self, page_of_block: u32) -> PageType {
        self.page_types.get(page_of_block as usize).copied().unwrap_or(PageType::MEAN)
    }

    fn start_read(&mut self, slot: RequestSlot, request: &Request) {
        let within = request.offset_bytes % self.shape.zone_bytes;
        let progress = Progress::of_pages(within, request.length_bytes, self.shape.page_bytes);
        self.kernel.in_flight_mut(slot).state.progress = progress;
        self.counts.reads += 1;
        self.counts.pages_read += u64::from(progress.left);
        self.read_on(slot);
    }

    /// Takes as many pages of a read from the buffer or from flash as the window has room for.
    fn read_on(&mut self, slot: RequestSlot) {
        let request = self.kernel.in_flight(slot).request();
        let zone = self.zone_of(&request);
        let mut progress = self.kernel.in_flight(slot).state.progress;
        let from = request.offset_bytes % self.shape.zone_bytes;
        let to = from + request.length_bytes;
        while progress.next < progress.end && progress.under_way < self.shape.window_pages {
            let page = Lpn(progress.next);
            let bytes = piece(page, from, to, self.shape.page_bytes).bytes.into();
            let place = self.shape.page(zone, page.0);
            progress.next += 1;
            progress.under_way += 1;
            if self.writes[zone.index()].is_buffered(place.program) {
                self.send(slot, 1, bytes, Direction::Out);
                continue;
            }
            let mut read = Read { page_type: self.page_type(place.page_of_block), ..Read::of(page, bytes) };
            if let Some(correction) = &mut self.correction {
                correction.decide(&mut read, || self.wear.of(zone));
                self.counts.read_retries += u64::from(read.retries);
            }
            self.kernel.enqueue(FlashOperation::read(
                Owner::Request(slot),
                Class::HostRead,
                place.plane,
                read,
            ));
        }
        self.kernel.in_flight_mut(slot).state.progress = progress;
    }

    /// A transfer over the link ended.
    #[inline]
    pub(super) fn continue_after(&mut self, transfer: Transfer) {
        let slot = transfer.request;
        let time = match self.kernel.in_flight(slot).request().operation {
            Operation::Read => {
                return match self.kernel.in_flight_mut(slot).state.progress.done(transfer.units) {
                    true => self.complete(slot),
                    false => self.read_on(slot),
                };
            }
            Operation::Write | Operation::Append => return self.received(slot),
            Operation::Open => self.times.open.0,
            Operation::Close => self.times.close.0,
            Operation::Finish => self.times.finish.0,
            Operation::Erase => self.times.reset.0,
            Operation::Flush | Operation::Trim => return self.complete(slot),
        };
        self.kernel.schedule_after(time, Event::Task(FIRMWARE, slot.0));
    }

    /// The firmware has done its part of an open, close, finish or reset.
    pub(super) fn firmware_ended(&mut self, slot: RequestSlot) {
        self.kernel.charge(slot, Part::Mapping);
        let request = self.kernel.in_flight(slot).request();
        let zone = self.zone_of(&request);
        match request.operation {
            Operation::Finish => self.finish(slot, zone),
            Operation::Erase => self.reset(slot, zone),
            _ => self.complete(slot),
        }
    }

    /// Programs the rest of a zone. One that is empty or full has no rest to be programmed.
    fn finish(&mut self, slot: RequestSlot, zone: ZoneId) {
        let writes = &mut self.writes[zone.index()];
        if writes.received_bytes == 0 || writes.received_bytes == self.shape.zone_bytes {
            return self.wait_for_programs(slot, zone);
        }
        if !writes.received_bytes.is_multiple_of(self.shape.program_bytes) {
            let program = writes.take_program();
            self.program_data(zone, program);
        }
        let first = self.writes[zone.index()].programs;
        let (end, at_once) = (self.shape.programs, 2 * self.shape.width());
        let last = end.min(first + at_once);
        let progress = Progress { under_way: last - first, left: end - first, ..Progress::default() };
        self.kernel.in_flight_mut(slot).state.progress = progress;
        (first..last).for_each(|program| self.pad(slot, zone, program));
        if first == end {
            self.wait_for_programs(slot, zone);
        }
    }

    fn pad(&mut self, slot: RequestSlot, zone: ZoneId, program: u32) {
        self.counts.pages_padded += u64::from(self.shape.program_pages());
        self.program(zone, program, Owner::Request(slot), 0);
    }

    /// A program of a finish is done: the next one of its column follows.
    fn padded(&mut self, slot: RequestSlot, program: u32) {
        let zone = self.zone_of(&self.kernel.in_flight(slot).request());
        let next = program + 2 * self.shape.width();
        let progress = &mut self.kernel.in_flight_mut(slot).state.progress;
        if progress.done(1) {
            self.writes[zone.index()].programs = self.shape.programs;
            return self.wait_for_programs(slot, zone);
        }
        if next < self.shape.programs {
            progress.under_way += 1;
            self.pad(slot, zone, next);
        }
    }

    /// A finish waits for the programs of the zone's data; then all is done.
    fn wait_for_programs(&mut self, slot: RequestSlot, zone: ZoneId) {
        let writes = &mut self.writes[zone.index()];
        if !writes.in_flight.is_empty() {
            writes.finishing = Some(slot);
            return;
        }
        let programs = writes.programs;
        *writes = ZoneWrites { programs, ..ZoneWrites::full(&self.shape) };
        self.complete(slot);
    }

    /// Erases the blocks of a zone of which a page is programmed.
    fn reset(&mut self, slot: RequestSlot, zone: ZoneId) {
        let programs = self.writes[zone.index()].programs;
        let blocks: Vec<(PlaneId, u32)> = self.shape.written_blocks(zone, programs).collect();
        if blocks.is_empty() {
            self.writes[zone.index()] = ZoneWrites::default();
            return self.complete(slot);
        }
        if !self.wear.erase(zone) {
            self.kernel.in_flight_mut(slot).fail(Failure::BadUnit);
        }
        self.kernel.in_flight_mut(slot).state.progress = Progress::all_under_way(blocks.len());
        let planes = self.shape.planes_at_once;
        for (plane, times) in blocks {
            self.counts.blocks_erased += u64::from(times * planes);
            let work = Work::Erase(Erase { times, planes });
            self.kernel.enqueue(FlashOperation::new(work, Owner::Request(slot), Class::Write, plane));
        }
    }

    /// Does what follows from a finished flash operation.
    #[inline]
    pub(super) fn flash_operation_finished(&mut self, operation: &FlashOperation) {
        match (operation.owner, operation.work) {
            (Owner::Request(slot), Work::Read(read)) => {
                if read.unreadable {
                    self.counts.pages_unreadable += 1;
                    self.kernel.in_flight_mut(slot).fail(Failure::Unreadable);
                }
                self.send(slot, read.reads, read.bus_bytes, Direction::Out);
            }
            (Owner::Request(slot), Work::Program(program)) => self.padded(slot, program.lpn.0),
            (Owner::Request(slot), Work::Erase(_)) => {
                if self.kernel.in_flight_mut(slot).state.progress.done(1) {
                    let zone = self.zone_of(&self.kernel.in_flight(slot).request());
                    debug_assert!(
                        self.writes[zone.index()].in_flight.is_empty(),
                        "dies serve writes in order"
                    );
                    self.writes[zone.index()] = ZoneWrites::default();
                    self.complete(slot);
                }
            }
            (Owner::Task(_, zone), Work::Program(program)) => self.programmed(ZoneId(zone), program.lpn.0),
            (owner, work) => unreachable!("{work:?} of {owner:?} is no operation of this drive"),
        }
    }

    /// Data of a zone are on flash.
    fn programmed(&mut self, zone: ZoneId, program: u32) {
        let writes = &mut self.writes[zone.index()];
        writes.programmed(&self.shape, program);
        if let Some(slot) = writes.finishing.filter(|_| writes.in_flight.is_empty()) {
            writes.finishing = None;
            self.kernel.charge_wait(slot);
            return self.wait_for_programs(slot, zone);
        }
        let first = self.writes[zone.index()].writers.front().copied();
        if let Some(slot) = first.filter(|&slot| self.kernel.in_flight(slot).state.sent_bytes == 0) {
            self.send_data(zone, slot);
        }
    }

    /// Sends a part of a request over the link.
    #[inline]
    fn send(&mut self, slot: RequestSlot, units: u32, bytes: u64, direction: Direction) {
        self.kernel.send(Transfer { request: slot, units, direction }, bytes, 0);
    }
}
