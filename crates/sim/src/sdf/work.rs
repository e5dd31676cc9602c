//! What requests do: pages of a read are read from flash and cross the link one by one, rows of a write cross the link
//! and are programmed on all planes, an erase runs on all chips at once.
//!
//! Of each request no more is on its way than the window allows: a read's pages from the array to the host, a write's
//! from the host into the array. So lanes share the link, and requests of a lane share its flash, page by page; and
//! what waits at a chip while a unit is written is never more than the window.
//!
//! ```text
//! Sdf::submit ─> Kernel::accept … the host's submission … submitted ─> start
//! read:  read_on: Kernel::enqueue … the flash array … flash_operation_finished ─> send … the link … continue_after ─> read_on;
//!        with the last page: complete
//! write: write_on ─> send … the link … continue_after ─> program: Kernel::enqueue (`save`: a block that fails), write_on
//!        … the flash array … flash_operation_finished ─> done, write_on; with the last row: complete
//! erase: send … the link … continue_after ─> erase: Kernel::enqueue … the flash array … flash_operation_finished ─> done
//! ```
//! "…" is time.

use super::Sdf;
use super::job::Job;
use crate::host_port::{Direction, Transfer};
use crate::ids::{LaneUnit, Lpn, PlaneId, PlaneOfLane, RequestSlot};
use crate::nand::{Erase, FlashOperation, Gc, Owner, PageType, Program, Read, Work};
use crate::pieces::piece;
use crate::progress::Progress;
use flashlane_device::{Failure, Operation, Request};
use flashlane_policy::scheduling::Class;

impl Sdf {
    /// A request reaches the device.
    pub(super) fn start(&mut self, slot: RequestSlot) {
        let Request { operation, lane, offset_bytes, length_bytes, .. } =
            self.kernel.in_flight(slot).request();
        let shape = self.shape;
        let unit = LaneUnit((offset_bytes / shape.unit_bytes) as u32);
        let within = offset_bytes % shape.unit_bytes;
        let state = &mut self.kernel.in_flight_mut(slot).state;
        state.unit = unit;
        match operation {
            Operation::Read => {
                state.progress = Progress::of_pages(within, length_bytes, shape.page_bytes);
                self.counts.reads += 1;
                self.counts.pages_read += u64::from(state.progress.left);
                self.read_on(slot);
            }
            Operation::Write => {
                state.progress.end = shape.rows;
                state.progress.left = shape.rows * shape.planes;
                state.fails = self.engines[lane.0 as usize].failing_program(unit, shape.rows);
                self.counts.writes += 1;
                self.write_on(slot);
            }
            Operation::Erase => {
                self.counts.erases += 1;
                self.send(slot, 0, 0, Direction::In);
            }
            Operation::Flush => {
                self.counts.flushes += 1;
                self.send(slot, 0, 0, Direction::In);
            }
            operation => unreachable!("submit refused the {operation}"),
        }
    }

    /// Asks flash for as many pages of a read as the window has room for.
    fn read_on(&mut self, slot: RequestSlot) {
        let shape = self.shape;
        let request = self.kernel.in_flight(slot).request();
        let Job { unit, mut progress, .. } = self.kernel.in_flight(slot).state;
        let lane = request.lane.0;
        let from = request.offset_bytes % shape.unit_bytes;
        let to = from + request.length_bytes;
        while progress.next < progress.end && progress.under_way < shape.window_pages {
            let page = Lpn(progress.next);
            let plane = shape.plane_of(page.0);
            let mut read = Read::of(page, piece(page, from, to, shape.page_bytes).bytes.into());
            if let Some(correction) = &mut self.correction {
                correction.decide(&mut read, || self.engines[lane as usize].wear_of(unit, plane));
                self.counts.read_retries += u64::from(read.retries);
            }
            let plane = PlaneId(lane * shape.planes + plane.0);
            self.kernel.enqueue(FlashOperation::read(Owner::Request(slot), Class::HostRead, plane, read));
            progress.next += 1;
            progress.under_way += 1;
        }
        self.kernel.in_flight_mut(slot).state.progress = progress;
    }

    /// Asks the host for the next row of a write, if the window has room for it. One is on the link at a time, so that
    /// lanes take turns there.
    fn write_on(&mut self, slot: RequestSlot) {
        let planes = self.shape.planes;
        let state = &mut self.kernel.in_flight_mut(slot).state;
        let progress = &mut state.progress;
        let waits =
            progress.next > state.next_received || progress.under_way + planes > self.shape.window_pages;
        if waits || progress.next == progress.end {
            return;
        }
        progress.next += 1;
        progress.under_way += planes;
        self.send(slot, planes, u64::from(planes) * self.shape.page_bytes, Direction::In);
    }

    /// A transfer over the link ended.
    #[inline]
    pub(super) fn continue_after(&mut self, transfer: Transfer) {
        let slot = transfer.request;
        match self.kernel.in_flight(slot).request().operation {
            Operation::Read => {
                if !self.done(slot, transfer.units) {
                    self.read_on(slot);
                }
            }
            Operation::Write => self.program(slot),
            Operation::Erase => self.erase(slot),
            _ => self.complete(slot),
        }
    }

    /// Pages of a request are done; with the last of them it completes. Returns whether they were.
    #[inline]
    fn done(&mut self, slot: RequestSlot, pages: u32) -> bool {
        let all = self.kernel.in_flight_mut(slot).state.progress.done(pages);
        if all {
            self.complete(slot);
        }
        all
    }

    /// The data of a row of a write have crossed the link: the row is programmed on all planes.
    fn program(&mut self, slot: RequestSlot) {
        let shape = self.shape;
        let write = self.kernel.in_flight_mut(slot);
        let row = write.state.next_received;
        write.state.next_received += 1;
        if write.outcome().is_err() {
            // The unit was lost while this row was on its way.
            self.done(slot, shape.planes);
            return;
        }
        if let Some((_, plane)) = write.state.fails.filter(|&(fails, _)| fails == row)
            && !self.save(slot, plane, row)
        {
            return;
        }
        let first = self.kernel.in_flight(slot).request().lane.0 * shape.planes;
        let bytes = u64::from(shape.planes_at_once) * shape.page_bytes;
        for plane in (first..first + shape.planes).step_by(shape.planes_at_once as usize) {
            let work = program(row, shape.planes_at_once, bytes);
            self.kernel.enqueue(FlashOperation::new(
                work,
                Owner::Request(slot),
                Class::Write,
                PlaneId(plane),
            ));
        }
        self.counts.pages_written += u64::from(shape.planes);
        self.write_on(slot);
    }

    /// A program of a row failed on one plane: a spare block replaces that plane's block, and gets what was written
    /// there. False where there is none, and the unit is lost.
    fn save(&mut self, slot: RequestSlot, plane: PlaneOfLane, row: u32) -> bool {
        let shape = self.shape;
        let lane = self.kernel.in_flight(slot).request().lane.0;
        let unit = self.kernel.in_flight(slot).state.unit;
        let at = PlaneId(lane * shape.planes + plane.0);
        let failing = program(row, 1, shape.page_bytes);
        self.kernel.enqueue(FlashOperation::new(failing, Owner::None, Class::Write, at));
        let Ok(erases) = self.engines[lane as usize].replace(unit, plane) else {
            let write = self.kernel.in_flight_mut(slot);
            write.fail(Failure::BadUnit);
            // No more rows are requested, and this row is not written.
            let progress = &mut write.state.progress;
            progress.next = progress.end;
            progress.left = progress.under_way;
            self.done(slot, shape.planes);
            return false;
        };
        let moved = Work::Gc(Gc {
            moves: row,
            pages_read: row,
            summaries: 0,
            erases,
            moved_from: PageType::MEAN,
            planes: 1,
            is_paced_step: false,
        });
        self.counts.pages_saved += u64::from(row);
        self.kernel.enqueue(FlashOperation::new(moved, Owner::Gc, Class::Write, at));
        true
    }

    /// The command of an erase has crossed the link: all dies erase.
    fn erase(&mut self, slot: RequestSlot) {
        let shape = self.shape;
        let lane = self.kernel.in_flight(slot).request().lane.0;
        let unit = self.kernel.in_flight(slot).state.unit;
        let mut times = std::mem::take(&mut self.erased);
        if self.engines[lane as usize].erase(unit, &mut times).is_err() {
            self.kernel.in_flight_mut(slot).fail(Failure::BadUnit);
        }
        let operations = times.chunks(shape.planes_at_once as usize);
        self.kernel.in_flight_mut(slot).state.progress = Progress::all_under_way(operations.len());
        for (index, times) in operations.enumerate() {
            let planes = times.len() as u32;
            // A block that replaces one that failed is erased after it.
            let times = *times.iter().max().expect("a chunk is never empty");
            let plane = PlaneId(lane * shape.planes + index as u32 * shape.planes_at_once);
            let (work, owner) = (Work::Erase(Erase { times, planes }), Owner::Request(slot));
            self.kernel.enqueue(FlashOperation::new(work, owner, Class::Write, plane));
        }
        self.erased = times;
    }

    /// Does what follows from a finished flash operation.
    #[inline]
    pub(super) fn flash_operation_finished(&mut self, operation: &FlashOperation) {
        let Owner::Request(slot) = operation.owner else { unreachable!("only requests wait for flash here") };
        match operation.work {
            Work::Read(read) => {
                if read.unreadable {
                    self.counts.pages_unreadable += 1;
                    self.kernel.in_flight_mut(slot).fail(Failure::Unreadable);
                }
                self.send(slot, read.reads, read.bus_bytes, Direction::Out);
            }
            Work::Program(program) => {
                if !self.done(slot, program.programs) {
                    self.write_on(slot);
                }
            }
            Work::Gc(_) => unreachable!("requests do not wait for pages that are saved"),
            Work::Erase(_) => drop(self.done(slot, 1)),
        }
    }

    /// Sends a part of a request over the link.
    #[inline]
    fn send(&mut self, slot: RequestSlot, units: u32, bytes: u64, direction: Direction) {
        self.kernel.send(Transfer { request: slot, units, direction }, bytes, 0);
    }
}

/// The program of a row on as many planes.
fn program(row: u32, planes: u32, bus_bytes: u64) -> Work {
    Work::Program(Program { programs: planes, ..Program::of(Lpn(row), bus_bytes) })
}
