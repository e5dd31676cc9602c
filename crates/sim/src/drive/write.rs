//! Writes: over the link, into the buffer or straight to flash; trims and flushes.

use super::Drive;
use crate::buffer::{Admission, DrainCause};
use crate::config::Takes;
use crate::event::Event;
use crate::ftl::{Clean, Placed};
use crate::host::{Direction, Side};
use crate::nand::{Kind, Operation as FlashOperation, Owner};
use crate::pages::{Piece, pieces, pieces_behind, split};
use crate::request::HostRequest;
use flashlane_device::{Failure, Operation};
use flashlane_policy::scheduling::Class;
use std::ops::Range;

impl Drive {
    /// A write may send its data.
    pub(super) fn receive(&mut self, request: u32) {
        let HostRequest { offset_bytes, length_bytes: bytes, .. } = self.requests[request];
        self.ftl.expect_place((offset_bytes / self.geometry.page_bytes) as u32);
        self.send(request, 0, bytes, Direction::In);
    }

    /// A command, with its data if it has any, has come over the link.
    pub(super) fn received(&mut self, request: u32) {
        match self.requests[request].operation {
            Operation::Write => {
                self.counts.writes += 1;
                self.leave(Side::Write, request);
                self.store(request);
            }
            Operation::Trim => self.trim(request),
            _ => self.flush(request),
        }
    }

    pub(super) fn pieces_of(&self, request: u32) -> impl Iterator<Item = Piece> + use<> {
        let state = &self.requests[request];
        pieces(state.offset_bytes, state.length_bytes, self.geometry.page_bytes)
    }

    fn store(&mut self, request: u32) {
        let pages = self.pieces_of(request).count() as u32;
        self.counts.pages_written += u64::from(pages);
        self.requests[request].pending = pages;
        if let Some((_, cache)) = &mut self.readahead {
            let state = &self.requests[request];
            for piece in pieces(state.offset_bytes, state.length_bytes, self.geometry.page_bytes) {
                cache.forget(piece.page);
            }
        }
        if self.buffer.is_some() && !self.passes_buffer(request) {
            if self.stalled.is_empty() && self.admit(request) {
                self.acknowledge(request);
            } else {
                self.counts.buffer_stalls += 1;
                self.stalled.push_back(request);
            }
            self.drain();
        } else {
            self.write_through(request);
        }
    }

    /// Whether a write goes past the buffer: a durable one, or one that needs no other to make a page.
    fn passes_buffer(&self, request: u32) -> bool {
        let page_bytes = self.geometry.page_bytes;
        self.requests[request].durable
            || self.takes == Takes::Parts
                && self.pieces_of(request).any(|piece| u64::from(piece.bytes) == page_bytes)
    }

    /// Takes a write's pages into the buffer as far as there is room; true once all of them are in.
    fn admit(&mut self, request: u32) -> bool {
        let page_bytes = self.geometry.page_bytes;
        let HostRequest { offset_bytes, length_bytes, admitted, .. } = self.requests[request];
        for piece in pieces_behind(admitted, offset_bytes, length_bytes, page_bytes) {
            let buffer = self.buffer.as_mut().expect("writes are admitted to a buffer");
            let ftl = &mut self.ftl;
            let assign = || ftl.assign(piece.page).ok();
            match buffer.admit(piece.page, piece.covered(page_bytes), self.acknowledged, assign) {
                Admission::New => {}
                Admission::Absorbed => self.counts.buffer_absorbed += 1,
                Admission::Full => return false,
            }
            self.requests[request].admitted += 1;
        }
        true
    }

    /// All of a write's pages are in the buffer.
    fn acknowledge(&mut self, request: u32) {
        self.acknowledged += 1;
        let state = &mut self.requests[request];
        (state.acknowledged, state.pending) = (true, 1);
        if self.buffer_latency.is_zero() {
            self.written(request, 1);
        } else {
            self.events.schedule(self.now + self.buffer_latency, Event::Acknowledged(request));
        }
    }

    /// Sends pages from the buffer to flash, as many as should be on their way.
    pub(super) fn drain(&mut self) {
        loop {
            // Where no block is left to write to, pages leave the buffer as fast as they are chosen.
            while let Some(slot) = self.lost.pop() {
                self.release(slot);
            }
            let forced = self.forced_drain();
            if forced.is_some() {
                self.flash.recall_all(self.now, &mut self.events);
            }
            let Some(buffer) = &mut self.buffer else { return };
            let Some((slot, entry)) = buffer.drain(forced, self.now) else { return };
            let nothing_to_pad = entry.pad && self.ftl.plane_of(entry.page).is_none();
            if nothing_to_pad || !buffer.is_wanted(slot) {
                self.release(slot);
            } else {
                self.write_page(entry.page, entry.present, Owner::DrainFill(slot), Owner::Drain(slot));
            }
        }
    }

    /// Why buffered pages have to go to flash now, where they have to: for a flush before all, which wants every one.
    fn forced_drain(&self) -> Option<DrainCause> {
        if !self.flushing.is_empty() {
            Some(DrainCause::Flush)
        } else if !self.stalled.is_empty() {
            Some(DrainCause::Full)
        } else {
            self.resting.then_some(DrainCause::Idle)
        }
    }

    /// The rest of a buffered page has come from flash.
    pub(super) fn page_filled(&mut self, page: u32, slot: u32) {
        if self.buffer.as_mut().is_some_and(|buffer| buffer.is_wanted(slot)) {
            self.program(page, Owner::Drain(slot));
        } else {
            self.release(slot);
        }
        self.drain();
    }

    /// A buffered page is on flash.
    pub(super) fn page_drained(&mut self, slot: u32) {
        self.release(slot);
        self.drain();
    }

    /// A buffered page is on flash, or can never be: its slot is free for whoever waits.
    fn release(&mut self, slot: u32) {
        self.buffer.as_mut().expect("pages drain from a buffer").drained(slot, self.now);
        while let Some(&request) = self.stalled.front() {
            if !self.admit(request) {
                break;
            }
            self.stalled.pop_front();
            self.acknowledge(request);
        }
        self.end_flushes();
    }

    /// Writes a request's pages to flash; it completes with the last of them.
    fn write_through(&mut self, request: u32) {
        if self.buffer.is_none() {
            return self.write_pages(request);
        }
        let page_bytes = self.geometry.page_bytes;
        for piece in self.pieces_of(request) {
            let mut present = piece.covered(page_bytes);
            if let Some(buffer) = &mut self.buffer {
                present |= buffer.present(piece.page);
                if let Some(owed) = buffer.forget(piece.page) {
                    // Where another such write is still under way the page owes the older of both.
                    let (oldest, by) = self.overtaken.entry(piece.page).or_insert((owed, request));
                    oldest.since = oldest.since.min(owed.since);
                    oldest.period = oldest.period.min(owed.period);
                    *by = request;
                }
            }
            self.write_page(piece.page, present, Owner::RequestFill(request), Owner::Request(request));
        }
    }

    /// Writes a request's pages to flash, those that it covers wholly in one go.
    fn write_pages(&mut self, request: u32) {
        let HostRequest { offset_bytes, length_bytes, .. } = self.requests[request];
        let (head, whole, tail) = split(offset_bytes, length_bytes, self.geometry.page_bytes);
        let write_part = |drive: &mut Self, part: Piece| {
            let present = part.covered(drive.geometry.page_bytes);
            drive.write_page(part.page, present, Owner::RequestFill(request), Owner::Request(request));
        };
        head.into_iter().for_each(|part| write_part(self, part));
        self.program_run(whole, request);
        tail.into_iter().for_each(|part| write_part(self, part));
    }

    /// [`Drive::program`] for pages of a request that follow each other.
    fn program_run(&mut self, mut pages: Range<u32>, request: u32) {
        let owner = Owner::Request(request);
        let mut placed = std::mem::take(&mut self.placed);
        while !pages.is_empty() {
            let outcome = self.ftl.place_run(pages.clone(), &mut placed, &mut self.cleaned);
            // The cleaning that came due goes with the last of them.
            let last = if outcome.is_ok() && !self.cleaned.is_empty() { placed.pop() } else { None };
            if let Some(&place) = placed.first() {
                let first = self.programming(pages.start, place, owner);
                self.flash.enqueue_run(first, &placed, self.now, &mut self.events);
            }
            pages.start += placed.len() as u32;
            if let Some(place) = last {
                let program = self.programming(pages.start, place, owner);
                self.clean_and_do(Some(program));
                self.program_parity(place, owner);
                pages.start += 1;
            } else if outcome.is_err() {
                self.clean_and_do(None);
                self.write_failed(pages.start, owner);
                pages.start += 1;
            }
            placed.clear();
        }
        self.placed = placed;
    }

    /// The flash operation that puts a page in its place.
    #[inline]
    fn programming(&self, page: u32, place: Placed, owner: Owner) -> FlashOperation {
        let bytes = self.geometry.page_bytes;
        let mut program =
            FlashOperation::new(Kind::Program, owner, Class::HostWrite, place.plane, page, bytes);
        program.fills_block = place.fills_block;
        program.awaits = self.may_await(place, owner);
        program
    }

    /// Whether a program can wait for those that go along with it: only from the buffer, where nobody waits for it.
    #[inline]
    fn may_await(&self, place: Placed, owner: Owner) -> bool {
        place.awaits && matches!(owner, Owner::Drain(_)) && self.forced_drain().is_none()
    }

    /// A page of a request is on flash, or several.
    #[inline]
    pub(super) fn pages_written(&mut self, request: u32, operation: &FlashOperation) {
        if !self.overtaken.is_empty() {
            self.caught_up(operation.page, request);
        }
        self.written(request, operation.pages);
    }

    /// A write that may have overtaken a buffered page has come to its end there.
    fn caught_up(&mut self, page: u32, request: u32) {
        if self.overtaken.get(&page).is_some_and(|&(_, by)| by == request) {
            self.overtaken.remove(&page);
            self.end_flushes();
        }
    }

    /// Programs a page, after reading from flash what is not present of it.
    fn write_page(&mut self, page: u32, present: u64, fill: Owner, owner: Owner) {
        if present != u64::MAX
            && let Some(plane) = self.ftl.plane_of(page)
        {
            let bytes = u64::from(present.count_zeros()) * self.geometry.page_bytes / 64;
            let read = FlashOperation::new(Kind::Read, fill, Class::HostWrite, plane, page, bytes);
            self.flash.enqueue(read, self.now, &mut self.events);
        } else {
            self.program(page, owner);
        }
    }

    /// Finds a place for a page and programs it there.
    #[inline]
    pub(super) fn program(&mut self, page: u32, owner: Owner) {
        let placed = match self.settled_plane(owner) {
            Some(plane) if self.ftl.takes(plane, page) => self.ftl.place_on(plane, page, &mut self.cleaned),
            _ => self.ftl.place(page, &mut self.cleaned),
        };
        let Ok(place) = placed else {
            self.clean_and_do(None);
            return self.write_failed(page, owner);
        };
        if let (Owner::Drain(slot), Some(buffer)) = (owner, &mut self.buffer) {
            buffer.placed(slot, place.plane, self.now);
        }
        let program = self.programming(page, place, owner);
        if self.cleaned.is_empty() {
            self.flash.enqueue(program, self.now, &mut self.events);
        } else {
            self.clean_and_do(Some(program));
        }
        self.program_parity(place, owner);
    }

    /// Programs the parity of the row that a page has completed, if it has.
    #[inline]
    fn program_parity(&mut self, place: Placed, owner: Owner) {
        if let Some(plane) = place.parity {
            let mut parity = self.flash.parity(plane);
            parity.awaits = self.may_await(place, owner);
            self.flash.enqueue(parity, self.now, &mut self.events);
        }
    }

    /// Queues a program and the cleaning that goes with it, whatever the ranks: before it what frees its block, and what
    /// has yielded since the block before was opened; behind it the rest.
    #[cold]
    fn clean_and_do(&mut self, program: Option<FlashOperation>) {
        let mut cleaned = std::mem::take(&mut self.cleaned);
        if self.config.cleaning.yields {
            cleaned.iter().for_each(|clean| self.flash.insist(self.geometry.die_of(clean.plane)));
        }
        let (first, then): (Vec<Clean>, Vec<Clean>) = cleaned.drain(..).partition(|clean| clean.first);
        self.cleaned = cleaned;
        let plane = program.map(|program| program.plane);
        let mut like = FlashOperation::new(Kind::Read, Owner::Nobody, Class::HostWrite, 0, 0, 0);
        for clean in first {
            // Other planes are merged along with the page's own, for the same write: a lazy drive does not put them off.
            like.due = plane.is_none_or(|plane| plane == clean.plane);
            self.queue_cleaning(clean, like);
        }
        if let Some(program) = program {
            self.flash.enqueue(program, self.now, &mut self.events);
        }
        (like.due, like.yields) = (true, self.config.cleaning.yields);
        then.into_iter().for_each(|clean| self.queue_cleaning(clean, like));
    }

    /// The plane that was settled for a buffered page when it came in.
    fn settled_plane(&self, owner: Owner) -> Option<u32> {
        let Owner::Drain(slot) = owner else { return None };
        self.buffer.as_ref()?.plane_of(slot)
    }

    /// No block is left to write to: the request fails, or an acknowledged page is lost and counted.
    fn write_failed(&mut self, page: u32, owner: Owner) {
        match owner {
            Owner::Request(request) => {
                self.caught_up(page, request);
                self.requests[request].outcome = Err(Failure::WornOut);
                self.done(request, 1);
            }
            Owner::Drain(slot) => {
                self.counts.pages_lost += 1;
                for &request in self.flushing.iter().chain(&self.stalled) {
                    self.requests[request].outcome = Err(Failure::WornOut);
                }
                self.lost.push(slot);
            }
            _ => unreachable!("only programs of host data need a place"),
        }
    }

    fn trim(&mut self, request: u32) {
        self.counts.trims += 1;
        for piece in self.pieces_of(request) {
            // A page is forgotten only as a whole.
            if u64::from(piece.bytes) == self.geometry.page_bytes {
                if let Some(buffer) = &mut self.buffer {
                    buffer.forget(piece.page);
                }
                if let Some((_, cache)) = &mut self.readahead {
                    cache.forget(piece.page);
                }
                self.ftl.trim(piece.page);
            }
        }
        self.end_flushes();
        self.complete(request);
    }

    fn flush(&mut self, request: u32) {
        self.counts.flushes += 1;
        match &mut self.buffer {
            // Without a buffer every completed write is on flash.
            None => self.complete(request),
            Some(buffer) => {
                self.requests[request].flush_period = buffer.begin_flush();
                self.flushing.push(request);
                self.end_flushes();
                self.drain();
            }
        }
    }

    /// Completes the flushes that have nothing left to wait for.
    fn end_flushes(&mut self) {
        let Some(buffer) = &self.buffer else { return };
        let (requests, overtaken) = (&self.requests, &self.overtaken);
        let mut done = std::mem::take(&mut self.flushed);
        self.flushing.retain(|&request| {
            let period = requests[request].flush_period;
            let flushed =
                buffer.is_flushed(period) && overtaken.values().all(|(owed, _)| owed.period > period);
            if flushed {
                done.push(request);
            }
            !flushed
        });
        for request in done.drain(..) {
            self.complete(request);
        }
        self.flushed = done;
    }
}
