//! The default output of `blkparse`: one event of the block layer per line, then totals.
//!
//! Columns, actions and the letters of RWBS are those of blkparse(1) and of its `blkparse_fmt.c` (`process_default`,
//! `fill_rwbs`). `pairing` describes how events become requests. A device's number is the kernel's: major x 2^20 +
//! minor.

use super::{blank, device_name};
use crate::cursor::Cursor;
use crate::format::Format;
use crate::pairing::{Action, Event, Pairing};
use crate::sink::{Reason, Sink, without_length};
use crate::text::{Parse, Text, fits, in_sectors};
use flashlane_base::Operation;

pub(crate) const FORMAT: Format = Format {
    name: "blkparse",
    summary: "blkparse text: device, processor, event, time, process, action, RWBS, sector + sectors",
    time_unit: "s, decimal",
    codes: "RWBS: R read, W write, D discard (a trim), F before it flush, F behind it force unit access",
    other_endings: &[],
    unit: "line",
    recognise: |head| fits(head, Blkparse::default()),
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), Blkparse::default())),
    writing: None,
};

const SECTOR: &str =
    "a whole number below 2^64, without a sign; or [process] or (payload) where there is none";

#[derive(Default)]
struct Blkparse {
    pairing: Pairing,
}

impl Parse for Blkparse {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        if cursor.peek().is_ascii_alphabetic() {
            // The totals at the end.
            sink.skipped += 1;
            return Ok(());
        }
        match event(cursor)? {
            Some(event) => self.pairing.event(&event, sink),
            None => sink.skipped += 1,
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink) -> bool {
        self.pairing.finish(sink)
    }

    fn device_name(&self, number: u32) -> Option<String> {
        Some(device_name(number))
    }
}

/// Reads the line's event; `None` where it does not concern requests.
fn event(cursor: &mut Cursor<'_>) -> Result<Option<Event>, Reason> {
    let from = cursor.at;
    let major = cursor.small("the device", b',')?;
    let minor = cursor.small("the device", b' ')?;
    if major >= 1 << 12 || minor >= 1 << 20 {
        return Err(cursor.refusal(from, "the device", "MAJOR,MINOR below 4096 and 1048576"));
    }
    cursor.number("the processor", b' ')?;
    cursor.number("the event's number", b' ')?;
    let at_ns = cursor.decimal_ns("the time", 9, b' ')?;
    cursor.number("the process", b' ')?;
    let from = cursor.at;
    let action = match cursor.word("the action", b' ')? {
        b"Q" => Action::Queue,
        b"D" => Action::Issue,
        b"R" => Action::Requeue,
        b"C" => Action::Complete,
        [b'A' | b'B' | b'F' | b'G' | b'I' | b'M' | b'P' | b'S' | b'T' | b'U' | b'X' | b'm', ..] => {
            return Ok(None);
        }
        _ => return Err(cursor.refusal(from, "the action", "one letter of those in blkparse(1)")),
    };
    let from = cursor.at;
    let rwbs = cursor.word("RWBS", b' ')?;
    let Some(kind) = Kind::read(rwbs) else {
        return Err(cursor.refusal(from, "RWBS", "one of R, W, D, N, with F, A, S, M about it"));
    };
    let mut event = Event {
        action,
        record: blank(at_ns, major << 20 | minor, kind.operation),
        flushes_first: kind.flushes_first,
    };
    event.record.durable = kind.durable;
    if let Some((sector, sectors)) = extent(cursor)? {
        // blkparse prints no number for an event without data.
        if sectors == 0 && kind.has_data && !kind.flushes_first {
            return Err(without_length());
        }
        event.record = in_sectors(event.record, sector, sectors)?;
    }
    Ok(event.normalized(kind.has_data))
}

/// Reads the first sector of an event and their number; `None` where the line has one of them or neither.
fn extent(cursor: &mut Cursor<'_>) -> Result<Option<(u64, u64)>, Reason> {
    let from = cursor.at;
    if !cursor.peek().is_ascii_digit() {
        return match cursor.peek() {
            b'[' | b'(' => Ok(None),
            _ => Err(cursor.refusal(from, "the sector", SECTOR)),
        };
    }
    let sector = cursor.number("the sector", b' ')?;
    let behind = cursor.at;
    match cursor.peek() {
        b'+' => {
            cursor.at += 1;
            cursor.skip_blanks();
            Ok(Some((sector, cursor.number("the number of sectors", b' ')?)))
        }
        b'[' | b'(' => Ok(None),
        _ => Err(cursor.refusal(behind, "what follows the sector", "'+ SECTORS', [process] or (payload)")),
    }
}

impl Event {
    /// Normalizes an event: an empty write that flushes first is a flush; any other event without data is a command of
    /// the driver and not a request.
    pub(crate) fn normalized(mut self, has_data: bool) -> Option<Self> {
        if has_data && self.record.length_bytes > 0 {
            return Some(self);
        }
        if !self.flushes_first {
            return None;
        }
        self.record = blank(self.record.at.as_ns(), self.record.device, Operation::Flush);
        self.flushes_first = false;
        Some(self)
    }
}

/// Meaning of the letters of RWBS.
struct Kind {
    operation: Operation,
    has_data: bool,
    flushes_first: bool,
    durable: bool,
}

impl Kind {
    fn read(rwbs: &[u8]) -> Option<Self> {
        let (flushes_first, rest) = match rwbs {
            [b'F', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (operation, has_data, rest) = match rest {
            [b'R', rest @ ..] => (Operation::Read, true, rest),
            [b'W', rest @ ..] => (Operation::Write, true, rest),
            [b'D', rest @ ..] => (Operation::Trim, true, rest),
            [b'N', rest @ ..] => (Operation::Flush, false, rest),
            // A flush alone.
            [] if flushes_first => (Operation::Flush, false, rest),
            _ => return None,
        };
        if !rest.iter().all(|letter| b"FASMBE".contains(letter)) {
            return None;
        }
        // Barriers, of kernels before 2.6.37, both flush first and are durable.
        let is_barrier = rest.contains(&b'B');
        Some(Self {
            operation,
            has_data,
            flushes_first: flushes_first || is_barrier,
            durable: operation == Operation::Write && (is_barrier || rest.contains(&b'F')),
        })
    }
}
