//! Requests to the lanes: checks, the requests below that carry them out, and completions.

use super::constants::SECTOR_BYTES;
use super::content_sum::ContentSum;
use super::disk::Record;
use super::pending::{Pending, Purpose};
use super::{ErasedCheck, Lanes, ours};
use crate::below::submit;
use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, DataDevice, Failure, Lane, Operation, Request, RequestId, SubmitError, UnitState,
};

impl<D: DataDevice> Lanes<D> {
    /// Checks a request before it is accepted.
    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        if self.device_lost {
            return Err(SubmitError::DeviceLost);
        }
        self.info.check(request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.units.admit(request).map_err(|rule| request.refused_by(rule))?;
        if self.in_flight >= self.info.depth {
            return Err(SubmitError::Full { depth: self.info.depth });
        }
        Ok(())
    }

    /// Accepts a request, with its buffer if it has one, or returns both.
    pub(super) fn accept(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.check(&request) {
            return Err((error, buffer));
        }
        let pending = Pending { request, submitted: self.below.now(), outcome: Ok(()), data_is_held: false };
        match request.operation {
            Operation::Erase => return self.begin_erase(pending, buffer),
            Operation::Write if self.is_first_on_known_content(&request) => {
                return self.begin_first_write(pending, buffer);
            }
            _ => {}
        }
        self.forward(pending, buffer)?;
        self.repairs_in_background |= request.operation == Operation::Write;
        self.note_accepted(&request);
        Ok(())
    }

    /// Submits the data of a read or a write, or a flush, to the device below.
    pub(super) fn forward(
        &mut self,
        pending: Pending,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let request = pending.request;
        let offset_bytes =
            if request.operation == Operation::Flush { 0 } else { self.layout.offset_of(&request) };
        let durable = request.operation == Operation::Write;
        let below = Request { lane: Lane(0), offset_bytes, durable, ..request };
        self.submit_below(below, buffer, Purpose::Forwarded(pending))
    }

    /// Submits a request to the device below, under the next id there.
    pub(super) fn submit_below(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
        purpose: Purpose,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let id = RequestId(self.next_request);
        submit(&mut self.below, Request { id, ..request }, buffer)?;
        self.next_request += 1;
        self.in_flight_below.insert(id, purpose);
        Ok(())
    }

    /// Begins an erase: of the record only, unless the unit was erased before and has foreign data, or has an
    /// unreadable head or, where it matters, content that is unknown or given up.
    fn begin_erase(
        &mut self,
        pending: Pending,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let number = self.layout.number(&pending.request);
        let is_given_up = self.given_up.contains(&number);
        // A head that is given up is cleared: where power cuts the next write short, it would be taken for foreign
        // data.
        let gives_up_head = self.check == ErasedCheck::Units && is_given_up;
        if gives_up_head || self.is_foreign(number) || self.unreadable_heads.contains(&number) {
            return self.clear_head(pending, buffer);
        }
        let content = self.table.record(number).content;
        // Whether a head that is not of the user's is foreign follows from the content.
        let is_unknown = content.is_none() || is_given_up || self.foreign.contains(&number);
        if self.check != ErasedCheck::None && is_unknown {
            return self.begin_content_read(pending, buffer);
        }
        self.note_accepted(&pending.request);
        self.done.extend(buffer.map(|buffer| (pending.request.id, buffer)));
        self.record_erase(pending, content);
        self.write_sectors();
        Ok(())
    }

    /// Records the erase of a unit with this content.
    pub(super) fn record_erase(&mut self, pending: Pending, content: Option<ContentSum>) {
        let number = self.layout.number(&pending.request);
        let erases = self.table.record(number).erases.map_or(1, |erases| erases.saturating_add(1));
        self.repairs_in_background = true;
        self.table.change(
            number,
            Record { state: UnitState::ERASED, erases: Some(erases), content },
            pending,
        );
    }

    /// Begins the erase of a unit whose head is foreign, cannot be read or is given up by clearing its head, so that it
    /// is not found again.
    fn clear_head(
        &mut self,
        pending: Pending,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let at = self.layout.head(self.layout.number(&pending.request));
        let write = Request::write(0, at, SECTOR_BYTES).durable();
        let zeros = Buffer::zeroed(SECTOR_BYTES as usize);
        if let Err((error, _)) = self.submit_below(write, Some(zeros), Purpose::Head(pending)) {
            return Err((error, buffer));
        }
        self.repairs_in_background = true;
        self.note_accepted(&pending.request);
        if let Some(buffer) = buffer {
            self.done.insert(pending.request.id, buffer);
        }
        Ok(())
    }

    pub(super) fn note_accepted(&mut self, request: &Request) {
        self.units.accepted(request);
        self.done.remove(&request.id);
        self.in_flight += 1;
    }

    /// Completes a request.
    pub(super) fn complete(&mut self, pending: Pending, completed: Instant, out: &mut Vec<Completion>) {
        let Pending { request, submitted, outcome, .. } = pending;
        let number = self.layout.number(&request);
        self.units.ended(&request, &outcome);
        match (request.operation, outcome) {
            // Recorded or not, the unit has foreign data.
            (Operation::Write, Err(_)) if self.table.record(number).has_foreign_data() => {
                self.count_as_written(number);
            }
            // The sector's next write stores the actual state instead of the one that this request set.
            (Operation::Write | Operation::Erase, Err(_)) => {
                let record = self.record_of(&request);
                self.table.set(number, record);
            }
            // The foreign data came while the unit was written: no one has given it up yet.
            (Operation::Erase, Ok(())) if self.is_foreign(number) => {
                self.count_as_written(number);
            }
            (Operation::Erase, Ok(())) => drop(self.given_up.remove(&number)),
            // A write of the whole unit.
            (Operation::Write, Ok(())) if self.table.record(number).content.is_some() => {
                self.known_here.insert(number);
            }
            _ => {}
        }
        self.done.extend(self.held.remove(&request.id).map(|buffer| (request.id, buffer)));
        self.in_flight -= 1;
        out.push(Completion { id: request.id, submitted, completed, outcome });
    }

    /// Makes a unit with foreign data count as written.
    fn count_as_written(&mut self, number: u64) {
        let (lane, unit) = self.layout.lane_and_unit(number);
        let erases = self.table.record(number).erases;
        self.units.set(Lane(lane), unit, Record::lost(&self.layout.shape).state, erases);
    }

    /// Returns the record of a request's unit, from the units in memory; the content counts as unknown.
    fn record_of(&self, request: &Request) -> Record {
        let unit = self.units.get(request.lane, request.offset_bytes / self.layout.shape.unit_bytes);
        let unit = unit.expect("an accepted request is on a unit");
        Record { state: unit.state, erases: unit.erases, content: None }
    }

    /// After a read of a unit's head, notes whether it is foreign data or cannot be read.
    fn note_head(&mut self, request: &Request, outcome: Result<(), Failure>, buffer: Option<&Buffer>) {
        let is_head = request.operation == Operation::Read
            && request.offset_bytes.is_multiple_of(self.layout.shape.unit_bytes);
        if !is_head || self.check == ErasedCheck::None {
            return;
        }
        let number = self.layout.number(request);
        if outcome.is_err() {
            self.unreadable_heads.insert(number);
            return;
        }
        self.unreadable_heads.remove(&number);
        let (lane, unit) = self.layout.lane_and_unit(number);
        let is_unknown_part = self.check == ErasedCheck::Parts && self.table.record(number).content.is_none();
        let is_known = self.known_here.contains(&number) || is_unknown_part;
        if !is_known && buffer.is_some_and(|head| !ours::is_our_head(head.as_slice(), lane, unit)) {
            self.foreign.insert(number);
        }
    }

    /// Processes a completion below.
    pub(super) fn request_below_ended(&mut self, below: &Completion, out: &mut Vec<Completion>) {
        let purpose = self.in_flight_below.remove(&below.id).expect("a completed request was in flight");
        let buffer = self.below.take_buffer(below.id);
        let pending = match purpose {
            Purpose::Sector { sector, is_background } => {
                self.is_background_writing &= !is_background;
                return self.sector_ended(sector, below.outcome, buffer, below.completed, out);
            }
            Purpose::Superblock => {
                self.is_background_writing = false;
                return;
            }
            Purpose::Head(pending) if below.outcome.is_ok() => {
                return self.head_cleared(pending, below.completed, out);
            }
            Purpose::Head(pending) => {
                return self.complete(Pending { outcome: below.outcome, ..pending }, below.completed, out);
            }
            Purpose::Content(read) => return self.content_part_ended(read, buffer, below, out),
            Purpose::Forwarded(pending) => Pending { outcome: below.outcome, ..pending },
        };
        let request = pending.request;
        self.note_head(&request, pending.outcome, buffer.as_ref());
        let content = self.content_of_write(&pending, buffer.as_ref());
        if let Some(buffer) = buffer {
            self.done.insert(request.id, buffer);
        }
        if request.operation != Operation::Write {
            return self.complete(pending, below.completed, out);
        }
        let record = self.record_of(&request);
        let state = match (record.state, pending.outcome) {
            (UnitState::Written { bytes }, Ok(())) => {
                UnitState::Written { bytes: bytes + request.length_bytes }
            }
            (_, Err(Failure::BadUnit)) => UnitState::Bad,
            _ => UnitState::Torn,
        };
        self.table.change(self.layout.number(&request), Record { state, content, ..record }, pending);
    }
}
