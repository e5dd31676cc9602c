//! blktrace's binary events, one file per processor or all in one, of either byte order.
//!
//! Layout and codes are those of Linux' `include/uapi/linux/blktrace_api.h`: `struct blk_io_trace` (48 bytes, version
//! 7) and `struct blk_io_trace2` (64 bytes, version 8, Linux 6.19). Files are merged by time. Other bytes between two
//! events are refused once, and reading resumes at the next event.

use super::{blank, device_name};
use crate::fault::Fault;
use crate::format::{Format, Input};
use crate::pairing::{Action, Event, Pairing};
use crate::sink::{Reason, Sink};
use crate::text::{Reader, in_sectors};
use flashlane_base::Operation;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufRead, BufReader, Read};

pub(crate) const FORMAT: Format = Format {
    name: "blktrace",
    summary: "blktrace binary events: NAME.blktrace.0 and so on, or one of these",
    time_unit: "ns, whole",
    codes: "action bits: write (else read), discard (a trim), flush, force unit access",
    other_endings: &[],
    unit: "event",
    recognise: |head| head.first_chunk().is_some_and(|magic| Layout::of(*magic).is_some()),
    read: |inputs| Box::new(Blktrace::new(inputs)),
    writing: None,
};

/// The magic number, with the version in its lowest byte.
const MAGIC: u32 = 0x6561_7400;
/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 16;

/// The byte order and version of a file's events.
#[derive(Clone, Copy, PartialEq)]
struct Layout {
    is_big: bool,
    is_wide: bool,
}

impl Layout {
    fn of(magic: [u8; 4]) -> Option<Self> {
        [(u32::from_le_bytes(magic), false), (u32::from_be_bytes(magic), true)].into_iter().find_map(
            |(number, is_big)| match number ^ MAGIC {
                7 => Some(Self { is_big, is_wide: false }),
                8 => Some(Self { is_big, is_wide: true }),
                _ => None,
            },
        )
    }

    fn bytes(self) -> usize {
        if self.is_wide { 64 } else { 48 }
    }

    fn number<const N: usize>(self, bytes: &[u8], at: usize) -> u64 {
        let mut wide = [0; 8];
        let field = &bytes[at..at + N];
        if self.is_big {
            wide[8 - N..].copy_from_slice(field);
            u64::from_be_bytes(wide)
        } else {
            wide[..N].copy_from_slice(field);
            u64::from_le_bytes(wide)
        }
    }
}

/// An event as in the file.
struct Raw {
    time_ns: u64,
    sector: u64,
    bytes: u64,
    action: u64,
    device: u32,
}

/// The next item of a file.
enum Next {
    Event(Raw),
    /// The file ends within an event.
    Cut,
    /// This number of bytes is not an event.
    Junk(u64),
    Over,
}

/// One file.
struct File {
    input: BufReader<Input>,
    layout: Option<Layout>,
    /// The magic number found after junk.
    found: Option<[u8; 4]>,
    ahead: Option<Raw>,
}

impl File {
    fn next(&mut self, sink: &mut Sink) -> io::Result<Next> {
        let mut head = [0; 64];
        let mut magic = [0; 4];
        match self.found.take() {
            Some(found) => magic = found,
            None => match self.exact(&mut magic)? {
                0 => return Ok(Next::Over),
                4 => {}
                _ => return Ok(Next::Cut),
            },
        }
        let Some(layout) = self.layout_of(magic) else { return self.junk(magic, sink) };
        self.layout = Some(layout);
        let bytes = layout.bytes();
        if self.exact(&mut head[4..bytes])? < bytes - 4 {
            return Ok(Next::Cut);
        }
        let (action, device, payload) = if layout.is_wide {
            (layout.number::<8>(&head, 32), layout.number::<4>(&head, 40), layout.number::<2>(&head, 50))
        } else {
            (layout.number::<4>(&head, 28), layout.number::<4>(&head, 36), layout.number::<2>(&head, 46))
        };
        if io::copy(&mut self.input.by_ref().take(payload), &mut io::sink())? < payload {
            return Ok(Next::Cut);
        }
        sink.bytes += bytes as u64 + payload;
        Ok(Next::Event(Raw {
            time_ns: layout.number::<8>(&head, 8),
            sector: layout.number::<8>(&head, 16),
            bytes: layout.number::<4>(&head, 24),
            action,
            device: device as u32,
        }))
    }

    /// Returns the layout of a magic number; all events of a file have the same.
    fn layout_of(&self, magic: [u8; 4]) -> Option<Layout> {
        Layout::of(magic).filter(|layout| self.layout.is_none_or(|first| first == *layout))
    }

    /// Fills `bytes` up to the end of the file.
    fn exact(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < bytes.len() {
            match self.input.read(&mut bytes[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    /// Skips to the start of the next event.
    fn junk(&mut self, mut last: [u8; 4], sink: &mut Sink) -> io::Result<Next> {
        let mut passed = 0;
        loop {
            let Some(&byte) = self.input.fill_buf()?.first() else {
                sink.bytes += passed + 4;
                return Ok(Next::Junk(passed + 4));
            };
            self.input.consume(1);
            passed += 1;
            last = [last[1], last[2], last[3], byte];
            if self.layout_of(last).is_some() {
                self.found = Some(last);
                sink.bytes += passed;
                return Ok(Next::Junk(passed));
            }
        }
    }
}

/// The files of a trace, merged.
struct Blktrace {
    files: Vec<File>,
    /// The next event's time of each file that has one.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    is_begun: bool,
    is_over: bool,
    pairing: Pairing,
}

impl Blktrace {
    fn new(inputs: Vec<Input>) -> Self {
        let files = inputs
            .into_iter()
            .map(|input| File {
                input: BufReader::with_capacity(CHUNK_BYTES, input),
                layout: None,
                found: None,
                ahead: None,
            })
            .collect();
        let order = BinaryHeap::new();
        Self { files, order, is_begun: false, is_over: false, pairing: Pairing::default() }
    }

    /// Reads a file's next event, and refuses junk before it.
    fn advance(&mut self, file: usize, sink: &mut Sink) -> io::Result<()> {
        loop {
            match self.files[file].next(sink)? {
                Next::Over => return Ok(()),
                Next::Event(raw) => {
                    self.order.push(Reverse((raw.time_ns, file)));
                    self.files[file].ahead = Some(raw);
                    return Ok(());
                }
                Next::Cut => {
                    sink.ends_inside_line = true;
                    sink.lines += 1;
                    sink.refuse_whole(Fault::Cut);
                    return Ok(());
                }
                Next::Junk(passed_bytes) => {
                    sink.lines += 1;
                    sink.refuse_whole(Fault::Magic { passed_bytes });
                }
            }
        }
    }
}

impl Reader for Blktrace {
    fn fill(&mut self, sink: &mut Sink) -> io::Result<bool> {
        if !self.is_begun {
            self.is_begun = true;
            for file in 0..self.files.len() {
                self.advance(file, sink)?;
            }
        }
        while sink.has_room() {
            if self.is_over {
                return Ok(!self.pairing.finish(sink));
            }
            let Some(Reverse((_, file))) = self.order.pop() else {
                self.is_over = true;
                continue;
            };
            if let Some(raw) = self.files[file].ahead.take() {
                sink.lines += 1;
                match event(&raw) {
                    Ok(Some(event)) => self.pairing.event(&event, sink),
                    Ok(None) => sink.skipped += 1,
                    Err(reason) => sink.refuse(&reason, &[]),
                }
            }
            self.advance(file, sink)?;
        }
        Ok(true)
    }

    fn device_name(&self, number: u32) -> Option<String> {
        Some(device_name(number))
    }
}

/// Decodes an event; `None` where it does not concern requests.
fn event(raw: &Raw) -> Result<Option<Event>, Reason> {
    // Categories are above the sixteen bits of the action.
    let is = |bit: u32| raw.action >> 16 & 1 << bit != 0;
    const WRITE: u32 = 1;
    const FLUSH: u32 = 2;
    const PASS_THROUGH: u32 = 9;
    const NOTIFY: u32 = 10;
    const DISCARD: u32 = 13;
    const FUA: u32 = 15;
    let action = match raw.action & 0xff {
        1 => Action::Queue,
        6 => Action::Requeue,
        7 => Action::Issue,
        8 => Action::Complete,
        _ => return Ok(None),
    };
    // Zone management (open, finish, reset): bits 17 to 21 of version 8.
    let is_zone_management = raw.action >> 33 != 0;
    if is(NOTIFY) || is(PASS_THROUGH) || is_zone_management {
        return Ok(None);
    }
    let operation = if is(DISCARD) {
        Operation::Trim
    } else if is(WRITE) {
        Operation::Write
    } else {
        Operation::Read
    };
    let durable = operation == Operation::Write && is(FUA);
    let record = blank(raw.time_ns, raw.device, operation);
    let mut event = Event { action, record, flushes_first: is(FLUSH) };
    if raw.bytes > 0 {
        event.record = in_sectors(record, raw.sector, 0)?;
        event.record.length_bytes = raw.bytes;
        event.record.durable = durable;
    }
    Ok(event.normalized(true))
}
