//! fio's I/O logs, versions 2 and 3: actions on files, with `wait`s between them or with time stamps.
//!
//! Actions and fields are those of fio's HOWTO, "Trace file format v2" and "v3"; that a time stamp counts
//! microseconds is in its `iolog.c` (`log_io_u`). A `wait` of version 2 is read as fio replays it, and as its
//! maintainers explain it (issues 247 and 756): until this number of milliseconds after the job's start. The HOWTO says
//! microseconds after the previous `wait`. Files are devices, numbered from 0 in order of appearance.

use super::blank;
use crate::Record;
use crate::cursor::Cursor;
use crate::encode::{Encode, Loss, number};
use crate::format::{Format, Writing};
use crate::names::{Names, TOO_MANY};
use crate::sink::{Given, Reason, Sink};
use crate::text::{Parse, Text, first_line};
use flashlane_base::Operation;

pub(crate) const VERSION_2: Format = Format {
    name: "iolog2",
    summary: "fio iolog, version 2: file, action, offset, length",
    time_unit: "none; 'wait' until a time in ms from the start",
    codes: ACTIONS,
    other_endings: &["iolog", "fio"],
    unit: "line",
    recognise: |head| first_line(head) == HEADERS[0],
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), Iolog::new(Version::Two))),
    writing: None,
};

pub(crate) const VERSION_3: Format = Format {
    name: "iolog3",
    summary: "fio iolog, version 3: time, file, action, offset, length",
    time_unit: "us, whole",
    codes: ACTIONS,
    other_endings: &["iolog", "fio"],
    unit: "line",
    recognise: |head| first_line(head) == HEADERS[1],
    read: |mut inputs| Box::new(Text::new(inputs.swap_remove(0), Iolog::new(Version::Three))),
    writing: Some(Writing {
        encoder: || Box::new(Encoder::default()),
        resolution_ns: US_NS,
        took_resolution_ns: None,
        durable: false,
        from_zero: true,
    }),
};

const ACTIONS: &str = "action: 'read', 'write', 'trim', 'sync' and 'datasync' (a flush)";
const HEADERS: [&[u8]; 2] = [b"fio version 2 iolog", b"fio version 3 iolog"];
const US_NS: u64 = 1000;
const MS_NS: u64 = 1_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Version {
    Two,
    Three,
}

struct Iolog {
    version: Version,
    /// Current time in nanoseconds; version 2 advances it by waits.
    now_ns: u64,
    files: Names,
}

impl Iolog {
    fn new(version: Version) -> Self {
        Self { version, now_ns: 0, files: Names::default() }
    }

    /// Reads a `wait`, until this number of milliseconds after the start.
    fn wait(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reason> {
        let from = cursor.at;
        let until = field(cursor, "the wait", false)?.checked_mul(MS_NS);
        self.now_ns =
            until.ok_or_else(|| cursor.refusal(from, "the wait", "below 2^64 ns"))?.max(self.now_ns);
        Ok(())
    }
}

impl Parse for Iolog {
    #[inline]
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason> {
        let line = cursor.at;
        if self.version == Version::Three && cursor.peek() != b'f' {
            let at = cursor.number("the time", b' ')?.checked_mul(US_NS);
            self.now_ns = at.ok_or_else(|| cursor.refusal(line, "the time", "below 2^64 ns"))?;
        } else if HEADERS.contains(&rest(cursor)) {
            sink.skipped += 1;
            return Ok(());
        }
        let from = cursor.at;
        let name = cursor.word("the file", b' ')?;
        let action_at = cursor.at;
        let action = word(cursor);
        let operation = match action {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"trim" => Operation::Trim,
            b"sync" | b"datasync" => Operation::Flush,
            b"wait" if self.version == Version::Three => {
                let allowed = "another one: version 3 has no wait, its lines have their time";
                return Err(cursor.refusal(action_at, "the action", allowed));
            }
            b"wait" => {
                sink.skipped += 1;
                return self.wait(cursor);
            }
            // Operations on the file itself are not requests; an added file gets its number.
            b"add" | b"open" | b"close" => {
                sink.skipped += 1;
                self.files.number(name);
                return Ok(());
            }
            _ => {
                let allowed = "one of read, write, trim, sync, datasync, wait, add, open, close";
                return Err(cursor.refusal(action_at, "the action", allowed));
            }
        };
        let device = self.files.number(name);
        let device = device.ok_or_else(|| cursor.refusal(from, "the file", TOO_MANY))?;
        let mut record = blank(self.now_ns, device, operation);
        if operation != Operation::Flush {
            record.offset_bytes = field(cursor, "the offset", true)?;
            record.length_bytes = field(cursor, "the length", false)?;
        }
        sink.push(record)
    }

    fn device_name(&self, number: u32) -> Option<String> {
        self.files.get(number).map(|name| String::from_utf8_lossy(name).into_owned())
    }
}

/// Returns the rest of the line.
fn rest<'a>(cursor: &Cursor<'a>) -> &'a [u8] {
    let rest = &cursor.block[cursor.at..];
    let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    rest[..end].trim_ascii()
}

/// Reads a word and the blanks after it; it may be the line's last.
#[inline]
fn word<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    let from = cursor.at;
    while cursor.peek().is_ascii_alphanumeric() {
        cursor.at += 1;
    }
    let word = &cursor.block[from..cursor.at];
    if !matches!(cursor.peek(), b' ' | b'\t' | b'\n' | b'\r') {
        return &[];
    }
    cursor.skip_blanks();
    word
}

/// Reads a number that may be the line's last.
#[inline]
fn field(cursor: &mut Cursor<'_>, what: &'static str, has_more: bool) -> Result<u64, Reason> {
    if cursor.is_at_end() {
        let given = Given::Bytes(cursor.at, cursor.at);
        return Err(Reason { what, given, allowed: "a whole number below 2^64, without a sign" });
    }
    cursor.number(what, if has_more { b' ' } else { crate::cursor::END_OR_BLANK })
}

/// Writes version 3. Device n is the file `device-n`.
#[derive(Default)]
struct Encoder {
    is_begun: bool,
    known: Vec<u32>,
}

impl Encode for Encoder {
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss> {
        let action: &[u8] = match record.operation {
            Operation::Read => b" read ",
            Operation::Write => b" write ",
            Operation::Trim => b" trim ",
            Operation::Flush => b" sync ",
            other => return Err(Loss::Operation(other)),
        };
        if !self.is_begun {
            self.is_begun = true;
            out.extend(HEADERS[1]);
            out.push(b'\n');
        }
        let at_us = record.at.as_ns() / US_NS;
        if let Err(place) = self.known.binary_search(&record.device) {
            self.known.insert(place, record.device);
            for action in [b" add\n".as_slice(), b" open\n"] {
                begin(out, at_us, record.device);
                out.extend(action);
            }
        }
        begin(out, at_us, record.device);
        out.extend(action);
        number(out, record.offset_bytes);
        out.push(b' ');
        number(out, record.length_bytes);
        out.push(b'\n');
        Ok(())
    }
}

fn begin(out: &mut Vec<u8>, at_us: u64, device: u32) {
    number(out, at_us);
    out.extend(b" device-");
    number(out, u64::from(device));
}
