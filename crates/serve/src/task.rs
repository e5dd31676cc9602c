//! A command in progress, and the requests that it makes one after the other.
//!
//! - A read reads the whole units that contain its range.
//! - A write whose ends are not ends of units first reads these units (read-modify-write).
//! - Zeros are trims of whole units where trims read as zeros, else writes of at most [`ZERO_BYTES`] each.
//! - A trim trims the whole units inside its range, at most [`TRIM_BYTES`] at once, and leaves its ends.
//! - A durable trim, or one for durable zeros, is followed by a flush.

use crate::command::{Action, Command, Export};
use crate::written::Reserved;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Operation, Request};

/// Longest write of zeros.
const ZERO_BYTES: u64 = 1 << 20;
/// Longest trim: a longer one holds up the simulation.
const TRIM_BYTES: u64 = 64 << 20;

/// A client's command, for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub client: u64,
    pub cookie: u64,
}

/// A command in progress.
pub(crate) struct Task {
    pub tag: Tag,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub data_bytes: usize,
    pub durable: bool,
    pub action: Action,
    pub arrived: Instant,
    /// First byte that is not yet trimmed or zeroed.
    at: u64,
    pub step: Step,
    /// A trim has to be made durable.
    wants_flush: bool,
    /// No other task may change the same units at the same time.
    pub is_exclusive: bool,
    pub reserved: Reserved,
}

/// What the task does, or does next.
pub(crate) enum Step {
    /// The next piece begins at `at`.
    Next,
    Read,
    Write(Piece),
    Trim {
        end: u64,
    },
    Flush,
}

/// A write of whole units, of which those at the ends may have to be read first.
pub(crate) struct Piece {
    /// The range to write.
    range: (u64, u64),
    /// The whole units that contain it.
    pub whole: (u64, u64),
    /// Their content; with the device while they are written.
    pub data: Buffer,
    /// Units that are still to be read.
    pub edges: Vec<u64>,
}

impl Task {
    /// Returns a command that begins now, and takes `data_bytes` of memory.
    pub fn new(tag: Tag, command: Command, data_bytes: usize, arrived: Instant) -> Self {
        let Command { offset_bytes, length_bytes, durable, action, .. } = command;
        Self {
            tag,
            offset_bytes,
            length_bytes,
            data_bytes,
            durable,
            action,
            arrived,
            at: offset_bytes,
            step: Step::Next,
            wants_flush: false,
            is_exclusive: false,
            reserved: Reserved::default(),
        }
    }

    fn end(&self) -> u64 {
        self.offset_bytes + self.length_bytes
    }

    /// Returns whether the task changes data.
    pub fn changes(&self) -> bool {
        matches!(self.action, Action::Write(_) | Action::Trim | Action::Zero { .. })
    }

    /// Operation for statistics; `None` for a status, which does not reach the device.
    pub fn operation(&self) -> Option<Operation> {
        match self.action {
            Action::Read => Some(Operation::Read),
            Action::Write(_) | Action::Zero { may_trim: false, .. } => Some(Operation::Write),
            Action::Trim | Action::Zero { .. } => Some(Operation::Trim),
            Action::Flush => Some(Operation::Flush),
            Action::Status { .. } => None,
        }
    }

    /// Returns the next request, whose number is `id`.
    pub fn next_request(&mut self, export: &Export, id: u64) -> Next {
        if let Step::Next = self.step {
            match self.next_step(export) {
                Some(step) => self.step = step,
                None => return Next::End,
            }
        }
        let unit = export.unit_bytes;
        match &mut self.step {
            Step::Next => unreachable!("it was replaced"),
            Step::Read => {
                let (offset, length) = export.whole_units(self.offset_bytes, self.length_bytes);
                Next::Request(Request::read(id, offset, length), Some(Buffer::zeroed(length as usize)))
            }
            Step::Write(piece) => match piece.edges.last() {
                Some(&edge) => {
                    Next::Request(Request::read(id, edge, unit), Some(Buffer::zeroed(unit as usize)))
                }
                None => {
                    let request = Request::write(id, piece.whole.0, piece.whole.1);
                    let request = if self.durable { request.durable() } else { request };
                    Next::Request(request, Some(std::mem::take(&mut piece.data)))
                }
            },
            Step::Trim { end } => Next::Request(Request::trim(id, self.at, *end - self.at), None),
            Step::Flush => Next::Request(Request::flush(id), None),
        }
    }

    /// Returns the step after those that are done, or `None` at the end.
    fn next_step(&mut self, export: &Export) -> Option<Step> {
        let (unit, end) = (export.unit_bytes, self.end());
        let is_over = self.at >= end;
        match &mut self.action {
            Action::Read => return Some(Step::Read),
            Action::Status { .. } => return None,
            Action::Flush if self.at == 0 => {
                // Its one request.
                self.at = 1;
                return Some(Step::Flush);
            }
            Action::Flush => return None,
            Action::Write(data) if !is_over => {
                let data = std::mem::take(data);
                return Some(Step::Write(Piece::new(export, (self.offset_bytes, self.length_bytes), data)));
            }
            Action::Trim if !is_over => {
                let (first, last) = (self.at.next_multiple_of(unit), end / unit * unit);
                if first < last {
                    self.at = first;
                    return Some(Step::Trim { end: last.min(first + trim_bytes(unit)) });
                }
                self.at = end;
            }
            Action::Zero { may_trim, .. } if !is_over => {
                let (at, last) = (self.at, end / unit * unit);
                if *may_trim && at.is_multiple_of(unit) && at < last {
                    return Some(Step::Trim { end: last.min(at + trim_bytes(unit)) });
                }
                let longest = if *may_trim { unit } else { ZERO_BYTES.next_multiple_of(unit) };
                let to = end.min((at / longest + 1) * longest);
                let (_, whole_bytes) = export.whole_units(at, to - at);
                return Some(Step::Write(Piece::new(
                    export,
                    (at, to - at),
                    Buffer::zeroed(whole_bytes as usize),
                )));
            }
            Action::Write(_) | Action::Trim | Action::Zero { .. } => {}
        }
        self.wants_flush.then_some(Step::Flush)
    }

    /// The piece that was being written is done.
    pub fn piece_written(&mut self) {
        let Step::Write(piece) = &self.step else { unreachable!("a piece was written") };
        assert!(piece.edges.is_empty(), "a piece is written once its edges are read");
        self.at = piece.range.0 + piece.range.1;
        self.step = Step::Next;
    }

    /// The units that were being trimmed are. Returns their first byte and length.
    pub fn trimmed(&mut self) -> (u64, u64) {
        let Step::Trim { end } = self.step else { unreachable!("units were trimmed") };
        let range = (self.at, end - self.at);
        self.at = end;
        self.wants_flush = self.durable;
        self.step = Step::Next;
        range
    }

    /// A flush is done.
    pub fn flushed(&mut self) {
        self.wants_flush = false;
        self.step = Step::Next;
    }

    /// The device has no trims: nothing has to be done for a hint, and zeros are written. Returns false for zeros that
    /// must be fast.
    pub fn go_on_without_trims(&mut self) -> bool {
        match &mut self.action {
            Action::Zero { is_fast: true, .. } => return false,
            Action::Zero { may_trim, .. } => *may_trim = false,
            _ => self.at = self.end(),
        }
        self.step = Step::Next;
        true
    }
}

impl Piece {
    fn new(export: &Export, range: (u64, u64), data: Buffer) -> Self {
        let unit = export.unit_bytes;
        let whole = export.whole_units(range.0, range.1);
        let (end, last) = (range.0 + range.1, whole.0 + whole.1 - unit);
        let mut edges = Vec::new();
        if !range.0.is_multiple_of(unit) {
            edges.push(whole.0);
        }
        if !end.is_multiple_of(unit) && edges.last() != Some(&last) {
            edges.push(last);
        }
        Self { range, whole, data, edges }
    }

    /// Completes an edge unit with what the device has of it.
    pub fn fill(&mut self, edge: u64, unit: &[u8]) {
        let (first, last) = (self.range.0, self.range.0 + self.range.1);
        let start = (edge - self.whole.0) as usize;
        for (nth, &byte) in unit.iter().enumerate() {
            let at = edge + nth as u64;
            if at < first || at >= last {
                self.data.as_mut_slice()[start + nth] = byte;
            }
        }
    }
}

/// What a task needs next.
pub(crate) enum Next {
    /// A request, with its buffer.
    Request(Request, Option<Buffer>),
    /// Nothing: it has ended.
    End,
}

/// Returns the memory that a command takes for its data.
pub(crate) fn data_bytes(export: &Export, action: &Action, offset_bytes: u64, length_bytes: u64) -> usize {
    match action {
        Action::Read | Action::Write(_) => export.whole_units(offset_bytes, length_bytes).1 as usize,
        Action::Zero { .. } => ZERO_BYTES as usize,
        Action::Flush | Action::Trim | Action::Status { .. } => 0,
    }
}

/// Returns the longest trim in whole units.
fn trim_bytes(unit: u64) -> u64 {
    (TRIM_BYTES / unit).max(1) * unit
}
