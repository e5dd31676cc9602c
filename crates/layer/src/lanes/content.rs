//! The content of erased units, so that a write overwrites no foreign data.
//!
//! An erase changes only the record of a unit, so an erased unit keeps its bytes: those of an earlier block, or those
//! from before the format. The record has a checksum of them. It is known
//!
//! - of all units after a format, which reads them,
//! - of a unit that was written with one request, from the data of the write,
//! - of any other unit after its erase, which reads it first, as does the erase of a unit whose content is given up.
//!
//! Before the first write to an erased unit whose content this opening has neither read nor written, its bytes are read
//! and compared. If they differ, and are not empty as in a file that was cut off and made longer again, other data was
//! written around the lanes, before the erase or after it: the unit is recorded as one with foreign data
//! ([`Record::has_foreign_data`]), counts as written until it is erased, and the write fails with
//! [`Failure::ForeignData`]. So a unit is read at most once in an opening, and not at all by one that formatted.
//!
//! Before the first byte changes, the record loses the checksum, so that the remains of a write that a power cut tore
//! do not count as foreign. Such a unit is written without a comparison, unless its head is foreign (`heads`).
//!
//! All of this happens only for users who ask for it (`check_erased`), but for the last rule.

use super::blocking::{Blocking, PORTION_BYTES};
use super::constants::SECTOR_BYTES;
use super::content_sum::ContentSum;
use super::disk::Record;
use super::error::LanesError;
use super::layout::Layout;
use super::ours;
use super::pending::{Pending, Purpose};
use super::{ErasedCheck, Lanes};
use crate::below::failure_of;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Operation, Request, SubmitError, UnitState};
use std::collections::BTreeSet;

/// A read of a unit's whole content, part after part, on behalf of a request.
#[derive(Clone)]
pub(super) struct ContentRead {
    /// The first write to the unit, or its erase.
    pub pending: Pending,
    done_bytes: u64,
    crc: u32,
    /// Whether each part so far is zeros, or ones: nobody's data.
    is_empty: bool,
}

impl ContentRead {
    fn new(pending: Pending) -> Self {
        Self { pending, done_bytes: 0, crc: 0, is_empty: true }
    }
}

/// Returns the checksums that the units will have once their heads are cleared; `None` for those that cannot be read.
pub(super) fn read_all<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
) -> Result<Vec<Option<ContentSum>>, LanesError> {
    let cleared = crc32c::crc32c(&[0; SECTOR_BYTES as usize]);
    (0..layout.units()).map(|number| read_unit(blocking, layout, number, SECTOR_BYTES, cleared)).collect()
}

/// Removes the units from `foreign` whose content is the recorded one: the user of the lanes wrote it, and begins
/// units in another way, as stripes do.
pub(super) fn drop_recorded<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
    records: &[Record],
    foreign: &mut BTreeSet<u64>,
) -> Result<(), LanesError> {
    for number in foreign.clone() {
        let recorded = records[number as usize].content;
        if recorded.is_some() && read_unit(blocking, layout, number, 0, 0)? == recorded {
            foreign.remove(&number);
        }
    }
    Ok(())
}

/// Returns the checksum of a unit, where `crc` is that of its bytes before `from_bytes`; `None` where the device cannot
/// read it.
fn read_unit<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    layout: &Layout,
    number: u64,
    from_bytes: u64,
    crc: u32,
) -> Result<Option<ContentSum>, LanesError> {
    const ACTION: &str = "read the content of the units";
    let (head, mut crc) = (layout.head(number), Some(crc));
    let mut done_bytes = from_bytes;
    while done_bytes < layout.shape.unit_bytes {
        let length = PORTION_BYTES.min(layout.shape.unit_bytes - done_bytes);
        let bytes = blocking.read(ACTION, head + done_bytes, length)?;
        crc = crc.zip(bytes).map(|(crc, bytes)| crc32c::crc32c_append(crc, bytes.as_slice()));
        done_bytes += length;
    }
    Ok(crc.map(ContentSum::of_crc))
}

impl<D: DataDevice> Lanes<D> {
    /// Returns whether the content of the unit is known, and a write to it thus the first since its erase.
    pub(super) fn is_first_on_known_content(&self, request: &Request) -> bool {
        let record = self.table.record(self.layout.number(request));
        record.state == UnitState::ERASED && record.content.is_some()
    }

    /// Begins the first write to a unit with known content.
    pub(super) fn begin_first_write(
        &mut self,
        pending: Pending,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let is_verified = self.known_here.contains(&self.layout.number(&pending.request));
        if self.check != ErasedCheck::None && !is_verified {
            return self.begin_content_read(pending, buffer);
        }
        self.note_accepted(&pending.request);
        self.held.extend(buffer.map(|buffer| (pending.request.id, buffer)));
        self.forget_content(pending);
        self.write_sectors();
        Ok(())
    }

    /// Begins to read the content of a request's unit.
    pub(super) fn begin_content_read(
        &mut self,
        pending: Pending,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.read_part(ContentRead::new(pending), None) {
            return Err((error, buffer));
        }
        self.note_accepted(&pending.request);
        self.held.extend(buffer.map(|buffer| (pending.request.id, buffer)));
        Ok(())
    }

    /// Continues an erase after the unit's head was cleared.
    pub(super) fn head_cleared(&mut self, pending: Pending, completed: Instant, out: &mut Vec<Completion>) {
        let number = self.layout.number(&pending.request);
        self.foreign.remove(&number);
        self.unreadable_heads.remove(&number);
        if let Err(error) = self.read_part(ContentRead::new(pending), None) {
            self.fail(pending, failure_of(&error), completed, out);
        }
    }

    /// Returns the checksum of a unit after a request, for its record: of a write of a whole unit, where it matters.
    pub(super) fn content_of_write(&self, pending: &Pending, buffer: Option<&Buffer>) -> Option<ContentSum> {
        let is_whole = pending.request.length_bytes == self.layout.shape.unit_bytes;
        let is_write = pending.request.operation == Operation::Write && pending.outcome.is_ok();
        let buffer = buffer.filter(|_| self.check != ErasedCheck::None && is_write && is_whole)?;
        Some(ContentSum::of(buffer.as_slice()))
    }

    /// Reads the next part of a unit's content, into the memory of the part before it, or of an earlier read: fresh
    /// memory costs as much as the read.
    fn read_part(&mut self, read: ContentRead, buffer: Option<Buffer>) -> Result<(), SubmitError> {
        let length = self.part_bytes(&read);
        let mut buffer = buffer
            .or_else(|| self.content_buffer.take())
            .filter(|buffer| buffer.capacity() >= length as usize)
            .unwrap_or_else(|| Buffer::zeroed(length as usize));
        buffer.set_len(length as usize);
        let at = self.layout.head(self.layout.number(&read.pending.request)) + read.done_bytes;
        let request = Request::read(0, at, length);
        self.submit_below(request, Some(buffer), Purpose::Content(read)).map_err(|(error, _)| error)
    }

    fn part_bytes(&self, read: &ContentRead) -> u64 {
        PORTION_BYTES.min(self.layout.shape.unit_bytes - read.done_bytes)
    }

    /// A part of a unit's content was read, or could not be read.
    pub(super) fn content_part_ended(
        &mut self,
        read: ContentRead,
        buffer: Option<Buffer>,
        below: &Completion,
        out: &mut Vec<Completion>,
    ) {
        let done_bytes = read.done_bytes + self.part_bytes(&read);
        match (below.outcome, buffer) {
            (Ok(()), Some(buffer)) => {
                let crc = crc32c::crc32c_append(read.crc, buffer.as_slice());
                let is_empty = read.is_empty && ours::is_empty(buffer.as_slice());
                if done_bytes == self.layout.shape.unit_bytes {
                    self.content_buffer = Some(buffer);
                    return self.content_known(read.pending, Some((ContentSum::of_crc(crc), is_empty)));
                }
                let pending = read.pending;
                let next = ContentRead { done_bytes, crc, is_empty, ..read };
                if let Err(error) = self.read_part(next, Some(buffer)) {
                    self.fail(pending, failure_of(&error), below.completed, out);
                }
            }
            (Err(Failure::DeviceLost), _) => {
                self.fail(read.pending, Failure::DeviceLost, below.completed, out);
            }
            // Bytes that cannot be read are not lost by a write.
            _ => self.content_known(read.pending, None),
        }
    }

    /// The content of a unit was read to its end, with whether it is empty; `None` where the device cannot read it.
    fn content_known(&mut self, pending: Pending, found: Option<(ContentSum, bool)>) {
        self.units_compared += 1;
        let is_empty = found.is_none_or(|(_, is_empty)| is_empty);
        let found = found.map(|(sum, _)| sum);
        let number = self.layout.number(&pending.request);
        let record = self.table.record(number);
        if pending.request.operation == Operation::Erase {
            if found.is_some() && found == record.content {
                self.foreign.remove(&number);
            }
            // Foreign data in the head stays foreign: the record has the checksum from before it came.
            let is_kept = self.foreign.contains(&number);
            if is_kept && record.content.is_some() {
                return self.record_erase(pending, record.content);
            }
            self.known_here.insert(number);
            return self.record_erase(pending, found);
        }
        if is_empty || found == record.content {
            return self.forget_content(pending);
        }
        self.foreign.insert(number);
        let outcome = Err(Failure::ForeignData);
        self.table.change(number, record.with_foreign_data(), Pending { outcome, ..pending });
    }

    /// Records that the content of the unit of a write is about to change.
    fn forget_content(&mut self, pending: Pending) {
        let number = self.layout.number(&pending.request);
        let record = Record { content: None, ..self.table.record(number) };
        self.repairs_in_background = true;
        self.table.change(number, record, Pending { data_is_held: true, ..pending });
    }

    /// Submits the data of a write whose unit has lost its checksum.
    pub(super) fn write_held(&mut self, pending: Pending, completed: Instant, out: &mut Vec<Completion>) {
        let pending = Pending { data_is_held: false, ..pending };
        if let Err(failure) = pending.outcome {
            return self.fail(pending, failure, completed, out);
        }
        let id = pending.request.id;
        let buffer = self.held.remove(&id);
        if let Err((error, buffer)) = self.forward(pending, buffer) {
            self.held.extend(buffer.map(|buffer| (id, buffer)));
            self.fail(pending, failure_of(&error), completed, out);
        }
    }

    /// Completes a request that failed before its own request below, and returns its buffer.
    fn fail(&mut self, pending: Pending, failure: Failure, completed: Instant, out: &mut Vec<Completion>) {
        self.complete(Pending { outcome: Err(failure), ..pending }, completed, out);
    }
}
