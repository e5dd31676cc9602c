//! What requests do: pages of a read come from flash and cross the link one by one, rows of a write cross the link and
//! are programmed on all planes, an erase goes to all chips at once.
//!
//! Of each request no more is on its way than the window allows: a read's pages from the array to the host, a write's
//! from the host into the array. So lanes share the link, and requests of a lane share its flash, page by page; and what
//! waits at a chip while a unit is written is never more than the window.

use super::Sdf;
use crate::host::{Direction, Transfer};
use crate::nand::{Kind, Operation as FlashOperation, Owner};
use flashlane_base::Instant;
use flashlane_device::{Failure, Operation, Request};
use flashlane_policy::scheduling::Class;

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) submitted: Instant,
    pub(super) outcome: Result<(), Failure>,
    /// Whether the link has carried the command.
    pub(super) commanded: bool,
    unit: u32,
    /// Of the unit, the page of a read or the row of a write that is asked for next, and the end of them.
    next: u32,
    end: u32,
    /// The row of a write whose data come next.
    coming: u32,
    /// Pages on their way, and pages that are not done: operations, of an erase.
    under_way: u32,
    left: u32,
    /// The row and plane of a write of which the program will fail.
    fails: Option<(u32, u32)>,
}

impl Job {
    pub(super) fn new(request: &Request, now: Instant) -> Self {
        Self {
            request: *request,
            submitted: now,
            outcome: Ok(()),
            commanded: false,
            unit: 0,
            next: 0,
            end: 0,
            coming: 0,
            under_way: 0,
            left: 0,
            fails: None,
        }
    }
}

impl Sdf {
    /// A request reaches the device.
    pub(super) fn arrive(&mut self, job: u32) {
        let Request { operation, lane, offset_bytes, length_bytes, .. } = self.jobs[job].request;
        let shape = self.shape;
        let unit = (offset_bytes / shape.unit_bytes) as u32;
        let within = offset_bytes % shape.unit_bytes;
        let state = &mut self.jobs[job];
        state.unit = unit;
        match operation {
            Operation::Read => {
                state.next = (within / shape.page_bytes) as u32;
                state.end = (within + length_bytes).div_ceil(shape.page_bytes) as u32;
                state.left = state.end - state.next;
                self.counts.reads += 1;
                self.counts.pages_read += u64::from(self.jobs[job].left);
                self.read_on(job);
            }
            Operation::Write => {
                state.end = shape.rows;
                state.left = shape.rows * shape.planes;
                state.fails = self.engines[lane.0 as usize].failing_program(unit, shape.rows);
                self.counts.writes += 1;
                self.counts.pages_written += u64::from(self.jobs[job].left);
                self.write_on(job);
            }
            Operation::Erase => {
                self.counts.erases += 1;
                self.send(job, 0, 0, Direction::In);
            }
            Operation::Flush => {
                self.counts.flushes += 1;
                self.send(job, 0, 0, Direction::In);
            }
            Operation::Trim => unreachable!("submit refused it"),
        }
    }

    /// Asks flash for as many pages of a read as the window has room for.
    fn read_on(&mut self, job: u32) {
        let shape = self.shape;
        let Job { request, unit, mut next, end, mut under_way, .. } = self.jobs[job];
        let lane = request.lane.0;
        let from = request.offset_bytes % shape.unit_bytes;
        let to = from + request.length_bytes;
        while next < end && under_way < shape.window_pages {
            let plane = shape.plane_of(next);
            let page = u64::from(next) * shape.page_bytes;
            let bytes = to.min(page + shape.page_bytes) - from.max(page);
            let at = lane * shape.planes + plane;
            let owner = Owner::Request(job);
            let mut read = FlashOperation::new(Kind::Read, owner, Class::HostRead, at, next, bytes);
            if let Some(correction) = &mut self.correction {
                correction.decide(&mut read, self.engines[lane as usize].wear_of(unit, plane));
                self.counts.read_retries += u64::from(read.retries);
            }
            self.flash.enqueue(read, self.now, &mut self.events);
            (next, under_way) = (next + 1, under_way + 1);
        }
        let state = &mut self.jobs[job];
        (state.next, state.under_way) = (next, under_way);
    }

    /// Asks the host for the next row of a write, if the window has room for it. One is on the link at a time, so that
    /// lanes take turns there.
    fn write_on(&mut self, job: u32) {
        let planes = self.shape.planes;
        let state = &mut self.jobs[job];
        let waits = state.next > state.coming || state.under_way + planes > self.shape.window_pages;
        if waits || state.next == state.end {
            return;
        }
        state.next += 1;
        state.under_way += planes;
        self.send(job, planes, u64::from(planes) * self.shape.page_bytes, Direction::In);
    }

    /// A transfer over the link ended.
    #[inline]
    pub(super) fn transferred(&mut self, transfer: Transfer) {
        let job = transfer.request;
        match self.jobs[job].request.operation {
            Operation::Read => {
                if !self.done(job, transfer.pages) {
                    self.read_on(job);
                }
            }
            Operation::Write => self.program(job),
            Operation::Erase => self.erase(job),
            _ => self.complete(job),
        }
    }

    /// Pages of a request are done; whether they were its last.
    #[inline]
    fn done(&mut self, job: u32, pages: u32) -> bool {
        let state = &mut self.jobs[job];
        state.under_way -= pages;
        state.left -= pages;
        let all = state.left == 0;
        if all {
            self.complete(job);
        }
        all
    }

    /// The data of a row of a write have come: onto all planes with them.
    fn program(&mut self, job: u32) {
        let shape = self.shape;
        let state = &mut self.jobs[job];
        let row = state.coming;
        state.coming += 1;
        if state.outcome.is_err() {
            // What was on its way when the unit was lost comes to nothing.
            self.done(job, shape.planes);
            return;
        }
        if let Some((_, plane)) = state.fails.filter(|&(fails, _)| fails == row)
            && !self.save(job, plane, row)
        {
            return;
        }
        let first = self.jobs[job].request.lane.0 * shape.planes;
        let bytes = u64::from(shape.planes_at_once) * shape.page_bytes;
        for plane in (first..first + shape.planes).step_by(shape.planes_at_once as usize) {
            let owner = Owner::Request(job);
            let mut program = FlashOperation::new(Kind::Program, owner, Class::HostWrite, plane, row, bytes);
            program.pages = shape.planes_at_once;
            self.flash.enqueue(program, self.now, &mut self.events);
        }
        self.write_on(job);
    }

    /// A program of a row failed on one plane: a spare block takes the place of that plane's, and gets what was written
    /// there. False where there is none, and the unit is lost.
    fn save(&mut self, job: u32, plane: u32, row: u32) -> bool {
        let shape = self.shape;
        let Job { request, unit, .. } = self.jobs[job];
        let lane = request.lane.0;
        let at = lane * shape.planes + plane;
        let bytes = shape.page_bytes;
        let program = FlashOperation::new(Kind::Program, Owner::Nobody, Class::HostWrite, at, row, bytes);
        self.flash.enqueue(program, self.now, &mut self.events);
        let Ok(erases) = self.engines[lane as usize].replace(unit, plane) else {
            let state = &mut self.jobs[job];
            state.outcome = Err(Failure::BadUnit);
            // Nothing more is asked for, and this row is not written.
            state.next = state.end;
            state.left = state.under_way;
            self.done(job, shape.planes);
            return false;
        };
        let moved = Kind::Clean { moves: row, summaries: 0, erases, planes: 1 };
        let operation = FlashOperation::new(moved, Owner::Nobody, Class::HostWrite, at, row, 0);
        self.counts.pages_saved += u64::from(row);
        self.flash.enqueue(operation, self.now, &mut self.events);
        true
    }

    /// The command of an erase has come: to all dies with it.
    fn erase(&mut self, job: u32) {
        let shape = self.shape;
        let Job { request, unit, .. } = self.jobs[job];
        let lane = request.lane.0;
        let mut times = std::mem::take(&mut self.erased);
        if self.engines[lane as usize].erase(unit, &mut times).is_err() {
            self.jobs[job].outcome = Err(Failure::BadUnit);
        }
        let operations = times.chunks(shape.planes_at_once as usize);
        let state = &mut self.jobs[job];
        (state.left, state.under_way) = (operations.len() as u32, operations.len() as u32);
        for (index, times) in operations.enumerate() {
            // A block that takes the place of one that failed is erased after it.
            let erases = *times.iter().max().expect("a chunk is never empty");
            let kind = Kind::Clean { moves: 0, summaries: 0, erases, planes: 1 };
            let plane = lane * shape.planes + index as u32 * shape.planes_at_once;
            let operation = FlashOperation::new(kind, Owner::Request(job), Class::HostWrite, plane, 0, 0);
            self.flash.enqueue(operation, self.now, &mut self.events);
        }
        self.erased = times;
    }

    /// Does what follows from a finished flash operation.
    #[inline]
    pub(super) fn follow(&mut self, operation: &FlashOperation) {
        let Owner::Request(job) = operation.owner else { unreachable!("nobody else waits for flash here") };
        match operation.kind {
            Kind::Read => {
                if operation.unreadable {
                    self.counts.pages_unreadable += 1;
                    self.jobs[job].outcome = Err(Failure::Unreadable);
                }
                self.send(job, operation.pages, operation.bus_bytes, Direction::Out);
            }
            Kind::Program => {
                if !self.done(job, operation.pages) {
                    self.write_on(job);
                }
            }
            Kind::Clean { .. } => drop(self.done(job, 1)),
        }
    }
}
