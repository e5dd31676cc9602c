//! Splits a stream into blocks of complete lines, for the parser of a format.
//!
//! Memory is one buffer. `\n`, `\r\n` and `\r` end a line, also mixed. Blank lines, comments (`#`) and a header, a
//! first line that begins with a letter and is not a request, are skipped in all formats.

use crate::Record;
use crate::cursor::{Cursor, SLACK};
use crate::fault::Fault;
use crate::sink::{Reason, Sink, Wanted};
use std::io::{self, Read};

/// Maximum size of a block, and so of a line.
const BLOCK_BYTES: usize = 1 << 18;
/// Size of the first block: enough for short traces, and for the recognition of formats.
const FIRST_BYTES: usize = 1 << 13;

/// A format's reader over its input.
pub(crate) trait Reader: Send {
    /// Reads until the batch is full or the input ends. Returns whether there may be more.
    fn fill(&mut self, sink: &mut Sink) -> io::Result<bool>;

    /// Returns the trace's name of a device, other than its number.
    fn device_name(&self, _number: u32) -> Option<String> {
        None
    }
}

/// A text format: one line at a time.
pub(crate) trait Parse: Send {
    /// Reads the line at the cursor, not necessarily to its end. Returns `Ok` for an event that is not a request.
    fn line(&mut self, cursor: &mut Cursor<'_>, sink: &mut Sink) -> Result<(), Reason>;

    /// Releases requests held at the end of the input. Returns whether all of them fitted into the batch.
    fn finish(&mut self, _sink: &mut Sink) -> bool {
        true
    }

    fn device_name(&self, _number: u32) -> Option<String> {
        None
    }
}

/// A reader of lines.
pub(crate) struct Text<P> {
    input: Box<dyn Read + Send>,
    parser: P,
    buffer: Vec<u8>,
    /// Start of the next line.
    start: usize,
    /// End of the complete lines.
    whole: usize,
    /// End of the bytes read.
    end: usize,
    is_over: bool,
    /// Within a line that is too long.
    is_dropping: bool,
}

impl<P: Parse> Text<P> {
    pub fn new(input: Box<dyn Read + Send>, parser: P) -> Self {
        let buffer = vec![0; FIRST_BYTES + SLACK];
        Self { input, parser, buffer, start: 0, whole: 0, end: 0, is_over: false, is_dropping: false }
    }

    /// Takes lines from the block until its end or a full batch.
    fn lines(&mut self, sink: &mut Sink) {
        let mut cursor = Cursor { block: &self.buffer, at: self.start };
        while cursor.at < self.whole && sink.has_room() {
            sink.lines += 1;
            if cursor.peek() <= b'#' {
                cursor.skip_blanks();
                if cursor.is_at_end() || cursor.peek() == b'#' {
                    sink.skipped += 1;
                    cursor.next_line();
                    continue;
                }
            }
            let from = cursor.at;
            if let Err(reason) = self.parser.line(&mut cursor, sink) {
                if sink.lines == 1 && cursor.block[from].is_ascii_alphabetic() {
                    sink.skipped += 1;
                } else {
                    sink.refuse(&reason, cursor.block);
                }
            }
            cursor.next_line();
        }
        sink.bytes += (cursor.at - self.start) as u64;
        self.start = cursor.at;
    }

    /// Reads until there is a complete line, or the input ends.
    fn more(&mut self, sink: &mut Sink) -> io::Result<()> {
        // A full block suggests a larger one.
        if self.end == self.room() && self.room() < BLOCK_BYTES {
            self.buffer.resize(2 * self.room() + SLACK, 0);
        }
        self.buffer.copy_within(self.whole..self.end, 0);
        self.end -= self.whole;
        (self.start, self.whole) = (0, 0);
        loop {
            let searched = self.end;
            let room = self.room();
            if self.end == room {
                if room == BLOCK_BYTES {
                    self.drop_line(sink);
                } else {
                    self.buffer.resize(2 * room + SLACK, 0);
                }
                continue;
            }
            match self.input.read(&mut self.buffer[self.end..room]) {
                Ok(0) => {
                    self.over(sink);
                    return Ok(());
                }
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if sink.lines == 0 && self.buffer[..self.end].starts_with(b"\xef\xbb\xbf") {
                // A byte order mark is no part of the first line.
                self.buffer[..3].fill(b' ');
            }
            // A `\r` at the very end may be half of `\r\n`.
            let settled = self.end - usize::from(self.buffer[self.end - 1] == b'\r');
            let from = searched.saturating_sub(1).min(settled);
            if let Some(last) = memchr::memrchr2(b'\n', b'\r', &self.buffer[from..settled]) {
                self.whole = from + last + 1;
                if !self.is_dropping {
                    return Ok(());
                }
                // The long line's end is the first one.
                self.is_dropping = false;
                let mut cursor = Cursor { block: &self.buffer, at: 0 };
                cursor.next_line();
                self.start = cursor.at;
                sink.bytes += self.start as u64;
                if self.start < self.whole {
                    return Ok(());
                }
                self.buffer.copy_within(self.whole..self.end, 0);
                self.end -= self.whole;
                (self.start, self.whole) = (0, 0);
            }
        }
    }

    /// Capacity of the block.
    fn room(&self) -> usize {
        self.buffer.len() - SLACK
    }

    /// Ends the input: terminates the last line, if necessary.
    fn over(&mut self, sink: &mut Sink) {
        self.is_over = true;
        if self.is_dropping {
            self.end = 0;
        }
        if self.end > 0 && self.buffer[self.end - 1] != b'\r' {
            sink.ends_inside_line = true;
            self.buffer[self.end] = b'\n';
            self.end += 1;
        }
        self.buffer[self.end] = 0;
        self.whole = self.end;
    }

    /// Drops a line that fills the block.
    fn drop_line(&mut self, sink: &mut Sink) {
        if !self.is_dropping {
            self.is_dropping = true;
            sink.lines += 1;
            sink.refuse_whole(Fault::TooLong { most_bytes: BLOCK_BYTES as u64 });
        }
        // A `\r` at the end may be the line's.
        let kept = usize::from(self.buffer[self.end - 1] == b'\r');
        sink.bytes += (self.end - kept) as u64;
        self.buffer[0] = b'\r';
        self.end = kept;
    }
}

impl<P: Parse> Reader for Text<P> {
    fn fill(&mut self, sink: &mut Sink) -> io::Result<bool> {
        loop {
            self.lines(sink);
            if !sink.has_room() {
                return Ok(true);
            }
            if self.is_over {
                return Ok(!self.parser.finish(sink));
            }
            self.more(sink)?;
        }
    }

    fn device_name(&self, number: u32) -> Option<String> {
        self.parser.device_name(number)
    }
}

/// Returns whether most of the first lines of `head` are of this format.
pub(crate) fn fits<P: Parse>(head: &[u8], parser: P) -> bool {
    /// Number of lines tried.
    const TRIED: u64 = 64;
    let mut sink = Sink::new(Wanted::Every, "line");
    let mut end = 0;
    for _ in 0..TRIED {
        match memchr::memchr2(b'\n', b'\r', &head[end..]) {
            Some(length) => end += length + 1,
            // An incomplete line does not count, unless it is the only one.
            None if end == 0 => end = head.len(),
            None => break,
        }
    }
    let mut text = Text::new(Box::new(io::Cursor::new(head[..end].to_vec())), parser);
    while matches!(text.fill(&mut sink), Ok(true)) {
        sink.clear();
    }
    let taken = sink.lines - sink.skipped - sink.refused;
    sink.total() > 0 && taken > sink.refused
}

/// Returns the first line that is neither blank nor a comment.
pub(crate) fn first_line(head: &[u8]) -> &[u8] {
    let lines = head.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    { lines }.find(|line| !line.is_empty() && line[0] != b'#').unwrap_or_default()
}

/// Returns a record with its range in sectors of 512 bytes.
#[inline]
pub(crate) fn in_sectors(record: Record, sector: u64, sectors: u64) -> Result<Record, Reason> {
    const SECTOR_BYTES: u64 = 512;
    match (sector.checked_mul(SECTOR_BYTES), sectors.checked_mul(SECTOR_BYTES)) {
        (Some(offset_bytes), Some(length_bytes)) => Ok(Record { offset_bytes, length_bytes, ..record }),
        _ => Err(crate::sink::too_far(sector)),
    }
}
