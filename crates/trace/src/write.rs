//! Writing a trace: records in, lines out, compressed as the file's name says, with what was lost on the way.

use crate::Record;
use crate::format::Format;
use flashlane_base::{Instant, Operation};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

/// Bytes that are gathered before they are written.
const CHUNK_BYTES: usize = 1 << 16;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The format has no writer.
    #[error("traces are not written as '{given}'; they are as {}", written().join(", "))]
    NotWritten {
        /// The format's name.
        given: &'static str,
    },
    /// Its name is that of a file which is compressed in a way that is not written.
    #[error(
        "cannot write '{}' as .{ending}: traces are compressed as .gz, .xz and .zst, and under other names not at all",
        path.display()
    )]
    Compression {
        /// Its path.
        path: PathBuf,
        /// How that ends.
        ending: String,
    },
    /// The file is there already.
    #[error("'{name}' is there already, and is not overwritten unasked")]
    Exists {
        /// Its path.
        name: String,
    },
    /// The file cannot be made or written.
    #[error("cannot write the trace '{name}': {source}")]
    File {
        /// Its path, or `standard output`.
        name: String,
        /// What the system says.
        source: io::Error,
    },
}

impl WriteError {
    /// Whether whoever was to read it has gone (`| head`).
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn written() -> Vec<&'static str> {
    crate::FORMATS.iter().filter(|format| format.is_written()).map(|format| format.name).collect()
}

/// What a format could not keep of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// The request: the format has no such operation.
    Operation(Operation),
    /// The request: the format counts sectors of 512 bytes, and it is not made of whole ones.
    Unaligned,
    /// Its time's digits beyond the format's step.
    Time,
    /// That it came before the trace's first request, with whose time the format's clock begins.
    Before,
    /// How long it took, or digits of that.
    Took,
    /// That it had to be durable.
    Durable,
}

impl Loss {
    /// Whether the request is left out for it.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Operation(_) | Self::Unaligned)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(operation) => write!(f, "left out: the format has no {operation}"),
            Self::Unaligned => f.write_str("left out: not of whole sectors of 512 bytes"),
            Self::Time => f.write_str("with the time rounded down to the format's step"),
            Self::Before => f.write_str("earlier than the first request, written at its time"),
            Self::Took => f.write_str("with the response time lost or rounded down"),
            Self::Durable => f.write_str("no longer marked as durable"),
        }
    }
}

/// A format's way to write a record.
pub(crate) trait Encode: Send {
    /// Appends the record's line, or says why there can be none.
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), Loss>;
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Requests.
    pub records: u64,
    /// What was lost, with the number of requests that lost it.
    pub losses: BTreeMap<Loss, u64>,
}

/// A trace that is being written.
pub struct Writer<W: Write> {
    format: &'static Format,
    encoder: Box<dyn Encode>,
    out: W,
    chunk: Vec<u8>,
    zero: Option<Instant>,
    written: Written,
}

impl<W: Write> Writer<W> {
    /// A trace of this format into `out`.
    ///
    /// # Errors
    /// [`WriteError::NotWritten`] where the format has no writer.
    pub fn new(format: &'static Format, out: W) -> Result<Self, WriteError> {
        let writing = format.writing.as_ref().ok_or(WriteError::NotWritten { given: format.name })?;
        let encoder = (writing.encoder)();
        let chunk = Vec::with_capacity(CHUNK_BYTES + 1024);
        Ok(Self { format, encoder, out, chunk, zero: None, written: Written::default() })
    }

    /// Writes one request, or counts why it cannot be.
    ///
    /// # Errors
    /// What the system says.
    pub fn push(&mut self, record: &Record) -> io::Result<()> {
        let writing = self.format.writing.as_ref().expect("a writer is made of such a format only");
        let mut record = *record;
        let mut before = false;
        if writing.from_zero {
            let zero = *self.zero.get_or_insert(record.at);
            before = record.at < zero;
            record.at = Instant::ZERO + record.at.since(zero);
        }
        match self.encoder.record(&record, &mut self.chunk) {
            Err(loss) => self.lost(loss),
            Ok(()) => {
                self.written.records += 1;
                let took_lost = match (record.took, writing.took_resolution_ns) {
                    (None, _) => false,
                    (Some(_), None) => true,
                    (Some(took), Some(step)) => !took.as_ns().is_multiple_of(step),
                };
                for (is_lost, loss) in [
                    (!record.at.as_ns().is_multiple_of(writing.resolution_ns), Loss::Time),
                    (before, Loss::Before),
                    (took_lost, Loss::Took),
                    (record.durable && !writing.durable, Loss::Durable),
                ] {
                    if is_lost {
                        self.lost(loss);
                    }
                }
            }
        }
        if self.chunk.len() >= CHUNK_BYTES {
            self.out.write_all(&self.chunk)?;
            self.chunk.clear();
        }
        Ok(())
    }

    fn lost(&mut self, loss: Loss) {
        *self.written.losses.entry(loss).or_insert(0) += 1;
    }

    /// Writes what is left, and gives the output back with what was written.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.out.write_all(&self.chunk)?;
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}

/// Appends a whole number.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends nanoseconds as a decimal in units of 10^`exponent` ns, with all digits behind the point.
#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, ns: u64, exponent: u32) {
    let unit = 10_u64.pow(exponent);
    number(out, ns / unit);
    out.push(b'.');
    let mut rest = ns % unit;
    let start = out.len();
    out.resize(start + exponent as usize, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// A record's address and length in sectors of 512 bytes.
#[inline]
pub(crate) fn sectors(record: &Record) -> Result<(u64, u64), Loss> {
    if !(record.offset_bytes | record.length_bytes).is_multiple_of(512) {
        return Err(Loss::Unaligned);
    }
    Ok((record.offset_bytes / 512, record.length_bytes / 512))
}
