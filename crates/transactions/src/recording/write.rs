//! Writing a recording.

use super::frame::{END, FRAME_BYTES_MOST, HEADER, MAGIC, TRANSACTIONS, VERSION, seal};
use super::{Header, LeftOut, Refused, Totals, Transaction, WriteError, encode};
use flashlane_base::Instant;
use std::io::Write;

/// A part is written once it has this many bytes: large enough that its head costs nothing, small enough for a
/// processor's cache.
const PART_BYTES: usize = 1 << 16;

/// Writes a recording: [`push`](Self::push) every transaction, then [`finish`](Self::finish). Without the latter a
/// reader reports that the recording is cut.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    header: Header,
    part: Vec<u8>,
    sealed: Vec<u8>,
    before: Instant,
    totals: Totals,
}

impl<W: Write> Writer<W> {
    /// Begins a recording in `out`, such as a [`flashlane_trace::Output`], which compresses by the file's ending.
    ///
    /// # Errors
    /// [`WriteError`] where a field of the header is out of range, or `out` fails.
    pub fn new(out: W, header: Header) -> Result<Self, WriteError> {
        header.check()?;
        let mut content = Vec::new();
        encode::header(&header, &mut content);
        if content.len() > FRAME_BYTES_MOST {
            let allowed = format!("at most {FRAME_BYTES_MOST}: shorten the names of the relations");
            return Err(Refused::new("the number of bytes of the header", content.len(), &allowed).into());
        }
        let totals = Totals::default();
        let mut writer =
            Self { out, header, part: content, sealed: Vec::new(), before: Instant::ZERO, totals };
        writer.sealed.extend(MAGIC);
        writer.sealed.extend(VERSION.to_le_bytes());
        writer.end_part(HEADER)?;
        Ok(writer)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Appends a transaction.
    ///
    /// # Errors
    /// [`WriteError::Refused`] where a field is out of range; the transaction is then left out, and the next one can be
    /// appended. [`WriteError::Io`] where the output fails.
    pub fn push(&mut self, transaction: &Transaction) -> Result<(), WriteError> {
        self.header.check_transaction(transaction)?;
        encode::transaction(transaction, self.before, &mut self.part);
        self.before = transaction.start;
        self.totals.transactions += 1;
        self.totals.accesses += transaction.accesses.len() as u64;
        if self.part.len() >= PART_BYTES {
            self.end_part(TRANSACTIONS)?;
        }
        Ok(())
    }

    /// Writes the rest and the totals, and returns the output.
    ///
    /// # Errors
    /// [`WriteError::Io`] where the output fails.
    pub fn finish(mut self, left_out: LeftOut) -> Result<(W, Totals), WriteError> {
        if !self.part.is_empty() {
            self.end_part(TRANSACTIONS)?;
        }
        self.totals.left_out = left_out;
        encode::totals(&self.totals, &mut self.part);
        self.end_part(END)?;
        self.out.flush()?;
        Ok((self.out, self.totals))
    }

    fn end_part(&mut self, tag: u8) -> Result<(), WriteError> {
        seal(tag, &self.part, &mut self.sealed);
        self.out.write_all(&self.sealed)?;
        self.part.clear();
        self.sealed.clear();
        self.before = Instant::ZERO;
        Ok(())
    }
}
