//! Writing a trace: encodes records, and counts the information that the format cannot hold.

use crate::Record;
use crate::encode::{Encode, Loss};
use crate::error::WriteError;
use crate::format::Format;
use flashlane_base::Instant;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Bytes buffered before a write.
const CHUNK_BYTES: usize = 1 << 16;

/// Counts of a written trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Requests.
    pub records: u64,
    /// The losses, with the number of requests.
    pub losses: BTreeMap<Loss, u64>,
}

/// Writes a trace.
pub struct Writer<W: Write> {
    format: &'static Format,
    encoder: Box<dyn Encode>,
    out: W,
    chunk: Vec<u8>,
    zero: Option<Instant>,
    written: Written,
}

impl<W: Write> Writer<W> {
    /// Begins a trace of this format in `out`.
    ///
    /// # Errors
    /// [`WriteError::NotWritten`] where the format has no writer.
    pub fn new(format: &'static Format, out: W) -> Result<Self, WriteError> {
        let writing = format.writing.as_ref().ok_or_else(|| format.not_written())?;
        let encoder = (writing.encoder)();
        let chunk = Vec::with_capacity(CHUNK_BYTES + 1024);
        Ok(Self { format, encoder, out, chunk, zero: None, written: Written::default() })
    }

    /// Writes a request, or counts the loss.
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

    /// Writes buffered bytes, and returns the output and the counts.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.out.write_all(&self.chunk)?;
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}
