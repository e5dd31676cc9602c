//! Reading a recording.

use super::decode::{self, Fault};
use super::frame::{
    BEGIN_BYTES, END, FRAME_BYTES_MOST, HEAD_BYTES, HEADER, MAGIC, TRANSACTIONS, VERSION, checksum,
};
use super::{Header, ReadError, Refused, Totals, Transaction};
use flashlane_base::Instant;
use std::io::{self, Read};

/// Reads a recording's transactions in order, in constant memory. The content must already be decompressed:
/// [`Recording`](super::Recording) opens files.
pub struct Reader<R> {
    input: R,
    header: Header,
    /// The content of the current part.
    part: Vec<u8>,
    /// Bytes of it that were read.
    read: usize,
    before: Instant,
    /// Where the current part begins.
    offset: u64,
    /// Where the next part begins.
    next_offset: u64,
    /// Counts so far.
    counts: Totals,
    /// The recording's own, at its end.
    totals: Option<Totals>,
}

/// Formats the first bytes of a file for a message.
fn described(bytes: &[u8]) -> String {
    let is_printable = |byte: &u8| matches!(byte, b' '..=b'~');
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(|byte| is_printable(byte) || byte.is_ascii_whitespace()) => {
            format!("{text:?}")
        }
        _ => {
            let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("the bytes {} (hexadecimal)", bytes.join(" "))
        }
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`ReadError`] where the content is not a recording, or its header cannot be used.
    pub fn new(mut input: R) -> Result<Self, ReadError> {
        let mut begin = Vec::new();
        let at_begin = |source| ReadError::Io { source, offset: 0, transactions: 0 };
        input.by_ref().take(BEGIN_BYTES as u64).read_to_end(&mut begin).map_err(at_begin)?;
        let Some((magic, version)) = begin.split_first_chunk().filter(|(magic, _)| *magic == MAGIC) else {
            let given = described(&begin[..begin.len().min(MAGIC.len())]);
            return Err(ReadError::NotARecording { given });
        };
        debug_assert_eq!(magic, MAGIC);
        let mut reader = Self {
            input,
            header: Header::default(),
            part: Vec::new(),
            read: 0,
            before: Instant::ZERO,
            offset: 0,
            next_offset: BEGIN_BYTES as u64,
            counts: Totals::default(),
            totals: None,
        };
        let Ok(version) = version.try_into().map(u32::from_le_bytes) else { return Err(reader.cut()) };
        if version != VERSION {
            return Err(ReadError::Version { given: version });
        }
        if reader.next_part()? != HEADER {
            return Err(reader.damaged("is not the header, which must be the first part"));
        }
        reader.header = decode::header(&reader.part).map_err(|fault| reader.fault(fault))?;
        reader.read = reader.part.len();
        Ok(reader)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the recording's totals once its end was reached.
    pub fn totals(&self) -> Option<Totals> {
        self.totals
    }

    /// Reads the next transaction into `into`, whose memory is used again; returns false at the end.
    ///
    /// # Errors
    /// [`ReadError`] where the rest cannot be read. `into` is then unusable, and so is the reader.
    pub fn read(&mut self, into: &mut Transaction) -> Result<bool, ReadError> {
        while self.read == self.part.len() {
            if self.totals.is_some() || !self.next_transactions()? {
                return Ok(false);
            }
        }
        let mut bytes = &self.part[self.read..];
        let decoded = decode::transaction(&mut bytes, self.before, &self.header, into);
        let left = bytes.len();
        decoded.map_err(|fault| self.fault(fault))?;
        self.read = self.part.len() - left;
        self.before = into.start;
        self.counts.transactions += 1;
        self.counts.accesses += into.accesses.len() as u64;
        Ok(true)
    }

    /// Reads the next part with transactions; returns false at the recording's end, after its checks.
    #[cold]
    fn next_transactions(&mut self) -> Result<bool, ReadError> {
        match self.next_part()? {
            TRANSACTIONS => {
                (self.read, self.before) = (0, Instant::ZERO);
                Ok(true)
            }
            END => {
                let totals = decode::totals(&self.part).map_err(|fault| self.fault(fault))?;
                self.read = self.part.len();
                if (totals.transactions, totals.accesses) != (self.counts.transactions, self.counts.accesses)
                {
                    return Err(
                        self.damaged("counts other transactions or accesses than there are before it")
                    );
                }
                let offset = self.next_offset;
                let after = self.input.read(&mut [0]);
                self.totals = Some(totals);
                match after {
                    Ok(0) => Ok(false),
                    Ok(_) => {
                        self.offset = offset;
                        Err(self.damaged("is behind the recording's end"))
                    }
                    Err(source) => Err(self.failed(source)),
                }
            }
            _ => Err(self.damaged("is neither transactions nor the end")),
        }
    }

    /// Reads the next part and returns its tag.
    fn next_part(&mut self) -> Result<u8, ReadError> {
        self.offset = self.next_offset;
        let mut head = [0; HEAD_BYTES];
        self.input.read_exact(&mut head).map_err(|source| self.failed(source))?;
        let [tag, l0, l1, l2, l3, sum @ ..] = head;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > FRAME_BYTES_MOST {
            let allowed = format!("at most {FRAME_BYTES_MOST}");
            return Err(self.fault(Fault::Field(Refused::new(
                "the number of bytes of a part",
                length,
                &allowed,
            ))));
        }
        self.part.clear();
        self.read = 0;
        let read = self.input.by_ref().take(length as u64).read_to_end(&mut self.part);
        read.map_err(|source| self.failed(source))?;
        if self.part.len() < length {
            return Err(self.cut());
        }
        if checksum(tag, &self.part) != u32::from_le_bytes(sum) {
            return Err(self.damaged("has a wrong checksum"));
        }
        self.next_offset = self.offset + (HEAD_BYTES + length) as u64;
        Ok(tag)
    }

    fn failed(&self, source: io::Error) -> ReadError {
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return self.cut();
        }
        ReadError::Io { source, offset: self.offset, transactions: self.counts.transactions }
    }

    fn cut(&self) -> ReadError {
        self.damaged("is cut: the recording was not finished, or not copied whole")
    }

    fn damaged(&self, damage: &'static str) -> ReadError {
        ReadError::Damaged { damage, offset: self.offset, transactions: self.counts.transactions }
    }

    #[cold]
    fn fault(&self, fault: Fault) -> ReadError {
        let (offset, transactions) = (self.offset, self.counts.transactions);
        match fault {
            Fault::Damage(damage) => ReadError::Damaged { damage, offset, transactions },
            Fault::Field(refused) => ReadError::Field { refused, offset, transactions },
        }
    }
}
