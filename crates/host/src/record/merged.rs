//! Merges the processors' streams by time into binary blktrace records, as `blkparse -d` writes them.
//!
//! Only the head of a record is parsed (`struct blk_io_trace` of `<linux/blktrace_api.h>` and, from Linux 6.19 on,
//! `struct blk_io_trace2`, in native byte order), and only the fields that merging needs. Data between records (the
//! kernel's lines of text about lost events, and markers of other programs) is skipped and counted.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Offsets of the fields of a head.
#[derive(Debug)]
struct Layout {
    /// `BLK_IO_TRACE_MAGIC` with the version in its lowest byte.
    magic: u32,
    head_bytes: usize,
    action_at: usize,
    /// Offset of the number of bytes that follow the head.
    extra_at: usize,
}

const LAYOUTS: [Layout; 2] = [
    Layout { magic: 0x6561_7407, head_bytes: 48, action_at: 28, extra_at: 46 },
    Layout { magic: 0x6561_7408, head_bytes: 64, action_at: WIDE_ACTION_AT, extra_at: 50 },
];
/// Offset of the lower half of the 64-bit action at 32.
const WIDE_ACTION_AT: usize = if cfg!(target_endian = "big") { 36 } else { 32 };
const MAGIC_BYTES: usize = 4;

/// `__BLK_TA_QUEUE` and `__BLK_TA_ISSUE`: the low half of an action.
const QUEUED: u32 = 1;
const ISSUED: u32 = 7;

/// The recorded events, which read as one binary blktrace file.
#[derive(Debug)]
pub struct Events {
    streams: Vec<Stream>,
    /// The record being read, and the number of its bytes already returned.
    current: Vec<u8>,
    given: usize,
    requests: u64,
}

#[derive(Debug)]
struct Record {
    at_ns: u64,
    is_request: bool,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Stream {
    source: BufReader<File>,
    next: Option<Record>,
    skipped_bytes: u64,
}

impl Events {
    pub(super) fn join(files: Vec<File>) -> io::Result<Self> {
        let stream = |file| {
            let mut stream =
                Stream { source: BufReader::with_capacity(1 << 20, file), next: None, skipped_bytes: 0 };
            stream.advance().map(|()| stream)
        };
        let streams = files.into_iter().map(stream).collect::<io::Result<_>>()?;
        Ok(Self { streams, current: Vec::new(), given: 0, requests: 0 })
    }

    /// Number of requests in the records read so far: issued ones, or queued ones where a device has no queue.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes skipped so far because they belong to no record.
    pub fn skipped_bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.skipped_bytes).sum()
    }

    /// Moves on to the earliest record; returns `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let waiting = self.streams.iter_mut().filter(|stream| stream.next.is_some());
        let Some(first) = waiting.min_by_key(|stream| stream.next.as_ref().map(|record| record.at_ns)) else {
            return Ok(false);
        };
        if let Some(record) = first.next.take() {
            self.requests += u64::from(record.is_request);
            self.current = record.bytes;
            self.given = 0;
        }
        first.advance()?;
        Ok(true)
    }
}

impl Read for Events {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.current.len() && !self.advance()? {
            return Ok(0);
        }
        let left = &self.current[self.given..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.given += count;
        Ok(count)
    }
}

impl Stream {
    fn advance(&mut self) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(LAYOUTS[0].head_bytes);
        let layout = loop {
            if !self.fill(&mut bytes, MAGIC_BYTES)? {
                return Ok(());
            }
            match LAYOUTS.iter().find(|layout| layout.magic == word(&bytes, 0)) {
                Some(layout) => break layout,
                None => bytes.remove(0),
            };
            self.skipped_bytes += 1;
        };
        if !self.fill(&mut bytes, layout.head_bytes)? {
            return Ok(());
        }
        let extra = usize::from(u16::from_ne_bytes([bytes[layout.extra_at], bytes[layout.extra_at + 1]]));
        if self.fill(&mut bytes, layout.head_bytes + extra)? {
            let at_ns = u64::from_ne_bytes(*bytes[8..].first_chunk().expect("a head is longer"));
            // The action's flags are above its number.
            let action = word(&bytes, layout.action_at) & 0xffff;
            self.next = Some(Record { at_ns, is_request: matches!(action, QUEUED | ISSUED), bytes });
        }
        Ok(())
    }

    /// Reads until `record` has `length` bytes; returns `false` where the stream ends before.
    fn fill(&mut self, record: &mut Vec<u8>, length: usize) -> io::Result<bool> {
        while record.len() < length {
            let available = self.source.fill_buf()?;
            if available.is_empty() {
                self.skipped_bytes += record.len() as u64;
                return Ok(false);
            }
            let count = available.len().min(length - record.len());
            record.extend_from_slice(&available[..count]);
            self.source.consume(count);
        }
        Ok(true)
    }
}

fn word(record: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}
