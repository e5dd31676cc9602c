//! The processors' streams joined into one by time, as `blkparse -d` would write them: the binary records of blktrace.
//!
//! Only a record's head is looked at (`struct blk_io_trace` of `<linux/blktrace_api.h>`, version 7, 48 bytes in the
//! machine's byte order), and only so far as joining needs it. What stands between records (the kernel puts a line of
//! text where it lost events, and other people's markers) is left out and counted.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// `BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION`.
const MAGIC: u32 = 0x6561_7407;
const HEAD_BYTES: usize = 48;

/// `__BLK_TA_QUEUE` and `__BLK_TA_ISSUE`: the low half of an action.
const QUEUED: u32 = 1;
const ISSUED: u32 = 7;

/// What a recording found, to be read as one binary blktrace file.
#[derive(Debug)]
pub struct Events {
    streams: Vec<Stream>,
    /// Bytes of the record that is being given out, and how many of them were.
    current: Vec<u8>,
    given: usize,
    requests: u64,
}

#[derive(Debug)]
struct Stream {
    source: BufReader<File>,
    /// The next record, and when it happened.
    next: Option<(u64, Vec<u8>)>,
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

    /// Requests among the records given out so far: what was issued, or queued where a device has no queue.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes left out so far because they belong to no record.
    pub fn skipped_bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.skipped_bytes).sum()
    }

    /// Moves on to the earliest record; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let waiting = self.streams.iter_mut().filter(|stream| stream.next.is_some());
        let Some(first) = waiting.min_by_key(|stream| stream.next.as_ref().map(|(at, _)| *at)) else {
            return Ok(false);
        };
        if let Some((_, record)) = first.next.take() {
            self.requests += u64::from(matches!(action(&record) & 0xffff, QUEUED | ISSUED));
            self.current = record;
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
        let mut record = Vec::with_capacity(HEAD_BYTES);
        if !self.fill(&mut record, HEAD_BYTES)? {
            return Ok(());
        }
        while word(&record, 0) != MAGIC {
            record.remove(0);
            self.skipped_bytes += 1;
            if !self.fill(&mut record, HEAD_BYTES)? {
                return Ok(());
            }
        }
        let extra = usize::from(u16::from_ne_bytes([record[46], record[47]]));
        if self.fill(&mut record, HEAD_BYTES + extra)? {
            let at = u64::from(word(&record, 8)) | u64::from(word(&record, 12)) << 32;
            self.next = Some((at, record));
        }
        Ok(())
    }

    /// Reads on until `record` has `length` bytes; false where the stream ends before.
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

fn action(record: &[u8]) -> u32 {
    word(record, 28)
}
