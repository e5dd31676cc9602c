//! The content of a trace from files and streams, decompressed.
//!
//! gz (RFC 1952), xz and Zstandard (RFC 8878) are recognized by their first bytes; each may consist of several
//! consecutive members or frames, as parallel compressors and `cat` produce them.

use crate::compression::Compression;
use crate::format::Input;
use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compressed bytes read at a time.
const CHUNK_BYTES: usize = 1 << 17;
/// Memory limit of a decompressor; xz -9 needs 65 MiB, zstd --long=27 128 MiB.
pub(crate) const MEMORY_MOST: u64 = 256 << 20;
/// Bytes of the content used to recognize its format.
const HEAD_BYTES: u64 = 1 << 16;

/// A trace's content and a copy of its beginning.
pub(crate) struct Source {
    pub input: Input,
    pub head: Vec<u8>,
    /// Reading fails behind the head.
    pub is_damaged: bool,
    pub compression: Option<Compression>,
}

impl Source {
    /// Opens content; reads fail once `stop` returns true.
    ///
    /// # Errors
    /// The system's error for the first bytes; later damage is reported when it is reached.
    pub fn new(mut raw: Input, stop: fn() -> bool) -> io::Result<Self> {
        let mut first = Vec::new();
        raw.by_ref().take(6).read_to_end(&mut first)?;
        let compression = Compression::of_content(&first);
        let whole = Cursor::new(first).chain(raw);
        let content: Input = match compression {
            Some(Compression::Gz) => Box::new(Members::new(BufReader::with_capacity(CHUNK_BYTES, whole))),
            Some(Compression::Xz) => {
                let stream = Stream::new_stream_decoder(MEMORY_MOST, CONCATENATED)?;
                Box::new(XzDecoder::new_stream(BufReader::with_capacity(CHUNK_BYTES, whole), stream))
            }
            Some(Compression::Zstd) => {
                let mut decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(CHUNK_BYTES, whole))?;
                decoder.window_log_max(MEMORY_MOST.ilog2())?;
                Box::new(decoder)
            }
            None => Box::new(whole),
        };
        let mut input = Stoppable { input: content, stop };
        let mut head = Vec::new();
        let damage = input.by_ref().take(HEAD_BYTES).read_to_end(&mut head).err();
        let is_damaged = damage.is_some();
        let rest = Damaged { damage, input: Box::new(input) };
        Ok(Self { input: Box::new(Cursor::new(head.clone()).chain(rest)), head, is_damaged, compression })
    }
}

/// Consecutive members of gz data, each possibly followed by zeros, the padding on tapes and devices.
struct Members<R> {
    /// `None` only while a member passes its input to the next.
    member: Option<GzDecoder<Position<R>>>,
}

impl<R: BufRead> Members<R> {
    fn new(input: R) -> Self {
        Self { member: Some(GzDecoder::new(Position { input, passed_bytes: 0 })) }
    }

    /// Begins the next member, if there is one.
    fn next(&mut self) -> io::Result<bool> {
        let Some(member) = &mut self.member else { return Ok(false) };
        loop {
            let rest = member.get_mut().fill_buf()?;
            let (zeros, length) = (rest.iter().take_while(|byte| **byte == 0).count(), rest.len());
            member.get_mut().consume(zeros);
            if length == 0 {
                return Ok(false);
            }
            if zeros < length {
                break;
            }
        }
        let position = member.get_mut();
        let after_bytes = position.passed_bytes;
        // Only the first byte may be available yet.
        if !position.fill_buf()?.iter().zip(Compression::Gz.magic()).all(|(is, must)| is == must) {
            return Err(io::Error::other(Trailing { after_bytes }));
        }
        self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        Ok(true)
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() || !self.next()? {
                return Ok(read);
            }
        }
        Ok(0)
    }
}

/// Counts the bytes consumed.
struct Position<R> {
    input: R,
    passed_bytes: u64,
}

impl<R: BufRead> Read for Position<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.passed_bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Position<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.passed_bytes += bytes as u64;
        self.input.consume(bytes);
    }
}

/// The data after a member is not a member.
#[derive(Debug, thiserror::Error)]
#[error("no gz member begins behind its first {after_bytes} bytes")]
struct Trailing {
    /// Bytes of the members, and of zeros, before it.
    after_bytes: u64,
}

/// Returns whether reading failed because other data follows the compressed data.
pub(crate) fn is_trailing(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Trailing>())
}

/// Returns whether a decompressor reached its memory limit.
pub(crate) fn wants_memory(error: &io::Error) -> bool {
    let xz = error.get_ref().and_then(|inner| inner.downcast_ref::<liblzma::stream::Error>());
    // zstd has only a message.
    matches!(xz, Some(liblzma::stream::Error::MemLimit)) || error.to_string().contains("too much memory")
}

/// Reports damage found while reading the head when it is reached.
struct Damaged {
    damage: Option<io::Error>,
    input: Input,
}

impl Read for Damaged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.damage.take() {
            Some(damage) => Err(damage),
            None => self.input.read(buffer),
        }
    }
}

/// Fails once reading is stopped. The check is here because a reader continues until it finds a request.
struct Stoppable {
    input: Input,
    stop: fn() -> bool,
}

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() {
            return Err(io::Error::other("stopped on request"));
        }
        self.input.read(buffer)
    }
}

/// Progress of reading a trace's files; can be queried from another thread.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub(crate) read_bytes: Arc<AtomicU64>,
    /// `None` where unknown.
    pub(crate) file_bytes: Option<u64>,
}

impl Progress {
    /// Returns the share read, 0 to 1; `None` where unknown.
    pub fn share(&self) -> Option<f64> {
        let whole = self.file_bytes.filter(|bytes| *bytes > 0)?;
        Some((self.read_bytes.load(Ordering::Relaxed) as f64 / whole as f64).min(1.0))
    }
}

/// Counts the bytes read from a file.
pub(crate) struct Counted<R> {
    pub input: R,
    pub count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
