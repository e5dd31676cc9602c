//! The log: a ring of pages on a device without erase units, which holds the writes that are not yet in patches.
//!
//! ```text
//! header, copy 1 | header, copy 2 | ring of pages            page: header, then a part of the stream of records
//! ```
//! Records are a stream of bytes that is cut into pages; a *group* of pages is one write of the device and carries all
//! records that wait (group commit). A page is written once: a group begins with a fresh page. One group is in flight,
//! so that pages are written in the order of their numbers. A flush may be in flight beside it, and makes durable what
//! was written before the flush: so containers that wait for the log to be durable do not stop the writes behind them.
//!
//! # What a page says
//! Its number in the stream (its slot in the ring follows from it), the *epoch*, which grows with every opening that
//! writes, the *tail*, below which no page is needed any more, and `durable_before`: all pages below that were durable
//! when this one was written.
//!
//! # The end of the log, and damage
//! Opening reads the ring and follows the pages from the tail of the newest one, as long as numbers are without gap and
//! epochs do not go back. Where the chain ends at page `n`, and some page says that pages above `n` were durable, a
//! durable page is damaged: that is an error, since acknowledged writes are lost. Otherwise the end is that of the log:
//! what lay behind was not durable, and is a torn tail. A later epoch then writes from `n` on; pages that an earlier
//! epoch left behind `n` are recognised by their epoch. Damage of the last durable group cannot be told from a torn one
//! while the log is in use, as no later page says that it was durable. Closing makes all pages durable and writes a
//! *mark* that says so, outside the ring ([`mark`]): an opening counts it as one more page that says which pages were
//! durable.
//!
//! # Invariants
//! 1. `tail <= durable_to <= written_to <= next_page`.
//! 2. A page is overwritten only when a *durable* page has a tail above it. So the tail of the newest page that a power
//!    cut leaves is in the ring, and so is every page from there on.
//! 3. A durable write is used only where all pages before are durable; otherwise a flush follows the write. So pages
//!    become durable in the order of their numbers.
//! 4. A group whose records are to be durable does not go beside a flush: behind it a durable write is enough for it.

mod foreign;
mod header;
mod mark;
mod page;
mod queue;
mod recover;
#[cfg(test)]
mod tests;

use crate::entry::Entry;
use crate::log::mark::Marks;
use crate::log::page::{Page, payload_bytes, payload_of};
use crate::log::queue::Queue;
pub use foreign::LogOverwritten;
pub(crate) use foreign::{Foreign, blank_ring};
use header::rewrite_header;
pub(crate) use header::{DamagedCopy, FoundHeader, LogConfig, LogLayout, read_header, write_header};
pub(crate) use recover::{Freed, Record, Recovered, recover};

use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Readiness, Request, RequestId};

/// Most pages of a group.
const GROUP_PAGES: u64 = 1024;
/// Pages that are kept for recording the tail where records fill the ring.
const SPARE_PAGES: u64 = 4;
/// Attempts at a write before the log is given up.
const ATTEMPTS: u32 = 3;

/// How safe a write is when it completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// It is in memory. It goes to the log at once all the same.
    Memory,
    /// The operating system or the log's device has it: only a power cut may take it.
    System,
    /// No power cut takes it: the log's device has flushed it.
    #[default]
    Device,
}

/// A group in flight.
#[derive(Clone, Debug)]
struct GroupWrite {
    request: Request,
    pages: u64,
    /// Tail that the pages record.
    tail: u64,
    attempts: u32,
}

/// A flush in flight.
#[derive(Clone, Debug)]
struct FlushInFlight {
    id: RequestId,
    /// Pages below were written before it.
    written_to: u64,
    /// The tail that the last one of them records.
    tail: u64,
}

/// The log of a store.
pub(crate) struct Log<L> {
    device: L,
    layout: LogLayout,
    store: u128,
    epoch: u64,
    /// Number of the next page.
    next_page: u64,
    /// Pages below are written.
    written_to: u64,
    /// Pages below are durable.
    durable_to: u64,
    /// Pages below are to be made durable.
    wanted_durable_to: u64,
    /// Pages below are not needed.
    tail: u64,
    /// The tail that the last written page records.
    written_tail: u64,
    /// The tail that a durable page records.
    durable_tail: u64,
    /// Records that are in no page yet: they begin with the next page.
    pending: Queue,
    /// The buffer of the last write, for the next ones.
    buffer: Option<Buffer>,
    group: Option<GroupWrite>,
    flush: Option<FlushInFlight>,
    /// The copy of the header that is not sound.
    damaged_header: Option<DamagedCopy>,
    /// The marks of the end; `None` in versions without them.
    marks: Option<Marks>,
    /// Other data in places where the log is written.
    foreign: Foreign,
    /// The end is to be marked once all pages are durable.
    is_closing: bool,
    /// What an earlier opening wrote may stand in a volatile cache: a flush precedes the first write.
    needs_flush: bool,
    last_request: u64,
    failure: Option<Failure>,
    /// Bytes of pages written since the log was opened.
    written_bytes: u64,
}

impl<L: DataDevice> Log<L> {
    /// A log that continues behind what was recovered.
    pub(crate) fn new(device: L, layout: LogLayout, store: u128, recovered: &Recovered) -> Self {
        let &Recovered { epoch, next_page, tail, .. } = recovered;
        Self {
            device,
            layout,
            store,
            epoch,
            next_page,
            written_to: next_page,
            durable_to: tail,
            wanted_durable_to: tail,
            tail,
            written_tail: tail,
            durable_tail: tail,
            pending: Queue::default(),
            buffer: None,
            group: None,
            flush: None,
            damaged_header: None,
            marks: recovered.marks,
            foreign: recovered.foreign.clone(),
            is_closing: false,
            needs_flush: true,
            last_request: 0,
            failure: None,
            written_bytes: 0,
        }
    }

    /// Notes that a copy of the header is not sound. It is repaired before the next write.
    pub(crate) fn with_damaged_header(self, damaged_header: Option<DamagedCopy>) -> Self {
        Self { damaged_header, ..self }
    }

    /// Returns whether a copy of the header is not sound, and whether the next write repairs it.
    pub(crate) fn damaged_header(&self) -> Option<bool> {
        self.damaged_header.as_ref().map(|copy| copy.repair.is_some())
    }

    /// Returns which other data is in the places where the log is written. While there is any, records MUST NOT be
    /// appended.
    pub(crate) fn overwritten(&self) -> Option<LogOverwritten> {
        self.foreign.found()
    }

    /// Erases that data, and waits until it is. Requires: nothing is in flight.
    pub(crate) fn erase_foreign(&mut self) -> Result<(), String> {
        assert!(self.is_idle(), "pages are erased while nothing is written");
        if self.foreign.found().is_some() {
            self.foreign.erase(&mut self.device, &self.layout)?;
            self.foreign = Foreign::default();
        }
        Ok(())
    }

    /// Writes the header anew, and waits until it is durable. Requires: nothing is in flight, and no copy of the header
    /// is other data.
    pub(crate) fn rewrite_header(&mut self, config: &LogConfig) -> Result<(), String> {
        assert!(
            self.is_idle() && self.damaged_header() != Some(false),
            "the header is written while nothing is"
        );
        rewrite_header(&mut self.device, &self.layout, config, self.damaged_header.as_ref())?;
        self.damaged_header = None;
        Ok(())
    }

    pub(crate) fn device(&self) -> &L {
        &self.device
    }

    pub(crate) fn into_device(self) -> L {
        self.device
    }

    pub(crate) fn layout(&self) -> &LogLayout {
        &self.layout
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.group.is_none() && self.flush.is_none()
    }

    /// Returns why the log takes no more records, where it does not.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Pages below are written.
    pub(crate) fn written_to(&self) -> u64 {
        self.written_to
    }

    /// Pages below are durable.
    pub(crate) fn durable_to(&self) -> u64 {
        self.durable_to
    }

    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Returns the number of the page in which the next record begins.
    pub(crate) fn position(&self) -> u64 {
        self.next_page + self.pending.len() / payload_bytes(&self.layout)
    }

    /// Returns the share of the ring that is in use.
    pub(crate) fn use_of_ring(&self) -> f64 {
        (self.end() - self.durable_tail) as f64 / self.layout.pages as f64
    }

    /// Returns the page behind those that all records take.
    fn end(&self) -> u64 {
        self.next_page + self.pending.len().div_ceil(payload_bytes(&self.layout))
    }

    /// Returns whether a page lies more than half a ring behind the end.
    pub(crate) fn is_lagging(&self, page: u64) -> bool {
        self.end() - page > self.layout.pages / 2
    }

    /// Returns whether a record of `bytes` has room in the ring.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let pending = self.pending.len() + bytes;
        let end = self.next_page + pending.div_ceil(payload_bytes(&self.layout));
        end - self.durable_tail + SPARE_PAGES <= self.layout.pages
    }

    /// Appends the record of a write. Returns the pages that it lies in. Requires: there is room for it.
    pub(crate) fn append(
        &mut self,
        slice: u32,
        sequence: u64,
        entries: &[Entry],
        durability: Durability,
    ) -> std::ops::Range<u64> {
        let bytes = Record::encoded_bytes(entries);
        assert!(self.has_room(bytes), "a record of {bytes} bytes has no room");
        assert!(self.overwritten().is_none(), "other data in the log is kept");
        let first = self.position();
        Record::encode(slice, sequence, entries, &mut self.pending);
        let end = self.end();
        if durability == Durability::Device {
            self.wanted_durable_to = end;
        }
        first..end
    }

    /// Requests that the pages below `page` become durable.
    pub(crate) fn want_durable(&mut self, page: u64) {
        self.wanted_durable_to = self.wanted_durable_to.max(page);
    }

    /// Requests that all records become durable and that the end is marked, unless no page was written since the log
    /// was opened, or was marked.
    pub(crate) fn close(&mut self) {
        self.is_closing = self.written_bytes > 0 || self.group.is_some() || !self.pending.is_empty();
    }

    /// Returns whether the end is being marked.
    pub(crate) fn is_closing(&self) -> bool {
        self.failure.is_none() && (self.is_closing || self.group.is_some())
    }

    /// The pages below `tail` are not needed any more.
    pub(crate) fn free_below(&mut self, tail: u64) {
        assert!(
            tail >= self.tail && tail <= self.durable_to.max(self.tail),
            "the tail moves from {} to {tail}",
            self.tail
        );
        self.tail = tail;
    }

    /// Hands the requests to the device that are due.
    pub(crate) fn dispatch(&mut self) {
        if self.is_closing {
            self.want_durable(self.end());
        }
        if self.flush.is_none() && self.failure.is_none() && self.is_flush_due() {
            self.start_flush();
        }
        // A ring that fills up waits for the tail to be recorded; where no record is pending an empty page does that.
        let is_due = !self.pending.is_empty() || self.is_tight() && self.tail > self.written_tail;
        let may_go_beside =
            self.flush.is_none() || !self.needs_flush && self.wanted_durable_to <= self.next_page;
        if self.group.is_some() || self.failure.is_some() {
            return;
        }
        if !is_due && self.flush.is_none() && std::mem::take(&mut self.is_closing) {
            self.write_mark();
        }
        if !is_due || !may_go_beside {
            return;
        }
        let repairs = |copy: &mut DamagedCopy| copy.repair.is_some();
        match self.damaged_header.take_if(repairs).and_then(|copy| Some((copy.offset_bytes, copy.repair?))) {
            Some((offset_bytes, bytes)) => self.write_header_copy(offset_bytes, bytes),
            None => self.write_group(),
        }
    }

    fn is_tight(&self) -> bool {
        self.use_of_ring() > 0.5
    }

    /// Returns whether a flush is to start. It waits for a group in flight where that is to be durable too.
    fn is_flush_due(&self) -> bool {
        if self.group.is_some() && self.wanted_durable_to > self.written_to {
            return false;
        }
        let is_wanted = self.written_to.min(self.wanted_durable_to) > self.durable_to;
        let is_tail_volatile = self.written_tail > self.durable_tail && self.written_to > self.durable_to;
        is_wanted || self.is_tight() && is_tail_volatile || self.needs_flush && !self.pending.is_empty()
    }

    fn start_flush(&mut self) {
        let id = self.next_request();
        self.flush = Some(FlushInFlight { id, written_to: self.written_to, tail: self.written_tail });
        if self.device.submit(Request::flush(id.0)).is_err() {
            self.fail(Failure::DeviceLost);
        }
    }

    /// Marks the end, as a group of no pages.
    fn write_mark(&mut self) {
        let end = self.next_page;
        assert!(
            self.durable_to == end && self.pending.is_empty(),
            "the end at page {end} is marked, and pages are durable below {}",
            self.durable_to
        );
        let Some(marks) = self.marks.filter(|marks| marks.durable_to < end) else { return };
        let mark = mark::encode(&self.layout, self.store, end);
        let offset_bytes = self.layout.mark_offset(marks.next_place);
        self.marks = Some(Marks { durable_to: end, next_place: 1 - marks.next_place });
        self.write_beside_ring(offset_bytes, mark);
    }

    /// Writes a copy of the header, as a group of no pages. It precedes the first group, and follows the flush before
    /// that.
    fn write_header_copy(&mut self, offset_bytes: u64, bytes: Buffer) {
        assert!(
            self.written_to == self.durable_to && self.flush.is_none(),
            "no page is volatile before the first group"
        );
        self.write_beside_ring(offset_bytes, bytes);
    }

    fn write_beside_ring(&mut self, offset_bytes: u64, bytes: Buffer) {
        let write = Request { durable: true, ..Request::write(0, offset_bytes, bytes.len() as u64) };
        let request = Request { id: self.next_request(), ..write };
        self.group = Some(GroupWrite { request, pages: 0, tail: self.written_tail, attempts: 1 });
        self.submit_group(Some(bytes));
    }

    fn write_group(&mut self) {
        let payload = payload_bytes(&self.layout);
        let to_end_of_ring = self.layout.pages - self.next_page % self.layout.pages;
        let all = self.pending.len().div_ceil(payload).max(1);
        // The ring holds the pending records, but for the pages that wait for the tail.
        let free = self.durable_tail + self.layout.pages - self.next_page;
        let pages = all.min(GROUP_PAGES).min(to_end_of_ring).min(free);
        assert!(pages > 0, "page {} would overwrite one that is needed", self.next_page);
        let length = (pages * self.layout.page_bytes) as usize;
        let mut buffer = self.take_buffer(length);
        let slots = buffer.as_mut_slice().chunks_mut(self.layout.page_bytes as usize);
        for (slot, number) in slots.zip(self.next_page..) {
            let (used, first_record) = self.pending.take(payload_of(slot));
            let page = Page {
                store: self.store,
                epoch: self.epoch,
                number,
                tail: self.tail,
                durable_before: self.durable_to,
                first_record,
            };
            page.encode(used, slot);
        }
        let slot = self.next_page % self.layout.pages;
        let is_durable = self.written_to == self.durable_to;
        let request = Request {
            durable: is_durable && (self.wanted_durable_to > self.next_page || self.tail > self.durable_tail),
            ..Request::write(0, self.layout.page_offset(slot), pages * self.layout.page_bytes)
        };
        self.next_page += pages;
        let request = Request { id: self.next_request(), ..request };
        self.group = Some(GroupWrite { request, pages, tail: self.tail, attempts: 1 });
        self.submit_group(Some(buffer));
    }

    /// Returns a buffer of this length with any content. It grows by factors of two, so that groups of mixed lengths
    /// share one: the first use of fresh memory costs as much as the write.
    fn take_buffer(&mut self, length: usize) -> Buffer {
        let kept = self.buffer.take().filter(|buffer| buffer.capacity() >= length);
        let mut buffer = kept.unwrap_or_else(|| Buffer::zeroed(length.next_power_of_two()));
        buffer.set_len(length);
        buffer
    }

    fn next_request(&mut self) -> RequestId {
        self.last_request += 1;
        RequestId(self.last_request)
    }

    /// Hands the group in flight to the device.
    fn submit_group(&mut self, buffer: Option<Buffer>) {
        let Some(GroupWrite { request, .. }) = &self.group else { unreachable!("a group is in flight") };
        let answer = match buffer {
            Some(buffer) => self.device.submit_with(*request, buffer).map_err(|(error, _)| error),
            None => self.device.submit(*request),
        };
        if answer.is_err() {
            self.fail(Failure::DeviceLost);
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        (self.group, self.flush) = (None, None);
    }

    /// Says how to wait for the next completion of the device.
    pub(crate) fn readiness(&mut self) -> Readiness {
        self.device.readiness()
    }

    /// Lets the device work until a request completes, at most until `until`. Returns whether something became written
    /// or durable, or failed.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let mut out = Vec::new();
        self.device.reap(until, &mut out);
        let mut has_changed = false;
        for completion in out {
            has_changed |= self.complete(&completion);
        }
        has_changed
    }

    /// Returns whether something became written or durable, or failed.
    fn complete(&mut self, completion: &Completion) -> bool {
        let buffer = self.device.take_buffer(completion.id);
        if let Some(flush) = self.flush.take_if(|flush| flush.id == completion.id) {
            self.flush_ended(&flush, completion.outcome);
        } else if let Some(group) = self.group.take_if(|group| group.request.id == completion.id) {
            if !self.group_ended(group, completion.outcome, buffer) {
                return self.failure.is_some();
            }
        } else {
            return false;
        }
        assert!(
            self.durable_tail <= self.tail
                && self.durable_to <= self.written_to
                && self.written_to <= self.next_page,
            "the log is at {}, {}, {}, {}",
            self.durable_tail,
            self.durable_to,
            self.written_to,
            self.next_page
        );
        true
    }

    fn flush_ended(&mut self, flush: &FlushInFlight, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => {
                assert!(self.durable_to <= flush.written_to, "no durable write goes beside a flush");
                (self.durable_to, self.durable_tail, self.needs_flush) =
                    (flush.written_to, flush.tail, false);
            }
            // It may have lost what it was to make durable, and another one would not tell (Rebello et al., "Can
            // Applications Recover from fsync Failures?", ATC 2020).
            Err(failure) => self.fail(failure),
        }
    }

    /// Ends a group, or tries it again. Returns whether it is written.
    fn group_ended(
        &mut self,
        group: GroupWrite,
        outcome: Result<(), Failure>,
        buffer: Option<Buffer>,
    ) -> bool {
        if let Err(failure) = outcome {
            if group.attempts >= ATTEMPTS || failure == Failure::DeviceLost {
                self.fail(failure);
                return false;
            }
            let request = Request { id: self.next_request(), ..group.request };
            self.group = Some(GroupWrite { request, attempts: group.attempts + 1, ..group });
            self.submit_group(buffer);
            return false;
        }
        self.buffer = buffer.or(self.buffer.take());
        self.written_bytes += group.request.length_bytes;
        self.written_to += group.pages;
        self.written_tail = group.tail;
        if group.request.durable {
            (self.durable_to, self.durable_tail) = (self.written_to, self.written_tail);
        }
        true
    }
}
