//! The bytes of a backup (`docs/layout.md`): a header, chunks of entries in the order of keys, and an end.
//!
//! The checksum of a chunk begins with that of the header and the chunk's number, so that neither a chunk of another
//! backup nor one in another place matches. Without its end a backup is not complete.

use crate::bytes::{Reader, put_bytes, put_varint};
use crate::error::StoreError;
use crate::loss::Loss;
use std::io::{self, Read, Seek, SeekFrom, Write};

const MAGIC: &[u8; 8] = b"flashkvb";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 40;
/// Bytes of length and checksum before the entries of a chunk.
const CHUNK_HEADER_BYTES: usize = 12;
/// Bytes of entries after which a chunk ends.
const CHUNK_BYTES: usize = 1 << 20;

/// Why a backup cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store has lost keys.
    #[error("a backup would lack keys: {0}")]
    Lost(Box<Loss>),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The backup cannot be written.
    #[error("cannot write the backup: {0}")]
    Write(io::Error),
    /// The backup cannot be read.
    #[error("cannot read the backup: {0}")]
    Read(#[from] io::Error),
    /// The bytes are no backup.
    #[error("it does not begin as a backup")]
    NoBackup,
    /// The header is damaged.
    #[error("the header of the backup does not match its checksum")]
    Header,
    /// A later program wrote it.
    #[error("the backup has version {version}; this program reads version {VERSION}")]
    Version {
        /// Its version.
        version: u32,
    },
    /// A chunk is damaged.
    #[error("chunk {chunk} of the backup does not match its checksum")]
    Damaged {
        /// Number of the chunk, from 0.
        chunk: u64,
    },
    /// The backup ends before its end.
    #[error("the backup is not complete: it ends within chunk {chunk}")]
    Cut {
        /// Number of the chunk, from 0.
        chunk: u64,
    },
    /// Bytes follow the end.
    #[error("other data follows the end of the backup")]
    Behind,
}

/// An entry of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupEntry {
    /// The key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
    /// When the value expires, in milliseconds of the calendar; `None` for never.
    pub expiry_ms: Option<u64>,
}

/// Returns whether a file that begins with these bytes is a backup.
pub fn is_backup(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// Checks that `input` is a backup from its header to its end, with nothing behind it, and returns what identifies its
/// store. Reads the headers of chunks and passes over their entries, which are not checked.
///
/// # Errors
/// [`BackupError`] with the first reason why it is not a whole backup.
pub fn whole_backup<R: Read + Seek>(input: R) -> Result<u128, BackupError> {
    let mut reader = BackupReader::open(input)?;
    reader.entries = None;
    while let Some((length, _)) = reader.read_chunk_header()? {
        // The end is read behind the entries: where these are cut, there is none.
        let length = i64::try_from(length).map_err(|_| BackupError::Cut { chunk: reader.sums.chunk })?;
        reader.input.seek(SeekFrom::Current(length))?;
        reader.sums.chunk += 1;
    }
    Ok(reader.store)
}

/// Checksums of chunks.
#[derive(Clone, Copy, Debug)]
struct Sums {
    header: u32,
    /// Number of the next chunk.
    chunk: u64,
}

impl Sums {
    /// Returns the checksum of the next chunk.
    fn of(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c_append(self.header, &self.chunk.to_le_bytes()), bytes)
    }
}

/// Writes a backup.
pub(super) struct Writer<W> {
    out: W,
    sums: Sums,
    entries: u64,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut out: W, store: u128, sequence: u64) -> Result<Self, BackupError> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&[0; 4]);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&store.to_le_bytes());
        header.extend_from_slice(&sequence.to_le_bytes());
        let sum = crc32c::crc32c(&header[12..]);
        header[8..12].copy_from_slice(&sum.to_le_bytes());
        out.write_all(&header).map_err(BackupError::Write)?;
        Ok(Self { out, sums: Sums { header: sum, chunk: 0 }, entries: 0, bytes: Vec::new() })
    }

    /// Adds an entry.
    pub(super) fn add(
        &mut self,
        key: &[u8],
        value: &[u8],
        expiry_ms: Option<u64>,
    ) -> Result<(), BackupError> {
        put_bytes(&mut self.bytes, key);
        put_varint(&mut self.bytes, expiry_ms.unwrap_or(0));
        put_bytes(&mut self.bytes, value);
        self.entries += 1;
        if self.bytes.len() >= CHUNK_BYTES { self.write_chunk() } else { Ok(()) }
    }

    fn write_chunk(&mut self) -> Result<(), BackupError> {
        let bytes = std::mem::take(&mut self.bytes);
        self.write(bytes.len() as u64, &bytes)?;
        // A value longer than a chunk must not keep its memory.
        if bytes.capacity() <= 2 * CHUNK_BYTES {
            self.bytes = bytes;
            self.bytes.clear();
        }
        Ok(())
    }

    fn write(&mut self, length: u64, bytes: &[u8]) -> Result<(), BackupError> {
        let mut header = length.to_le_bytes().to_vec();
        header.extend_from_slice(&self.sums.of(bytes).to_le_bytes());
        self.sums.chunk += 1;
        self.out.write_all(&header).and_then(|()| self.out.write_all(bytes)).map_err(BackupError::Write)
    }

    /// Writes the end. Returns the number of entries.
    pub(super) fn finish(mut self) -> Result<(W, u64), BackupError> {
        if !self.bytes.is_empty() {
            self.write_chunk()?;
        }
        self.write(0, &self.entries.to_le_bytes())?;
        self.out.flush().map_err(BackupError::Write)?;
        Ok((self.out, self.entries))
    }
}

/// Reads a backup, a chunk at a time.
///
/// An iterator over its entries in the order of keys. It ends behind the end of the backup, or with an error: the
/// entries before one are sound.
pub struct BackupReader<R> {
    input: R,
    sums: Sums,
    store: u128,
    sequence: u64,
    /// Entries read; `None` where they are passed over.
    entries: Option<u64>,
    chunk: Vec<u8>,
    used: usize,
    is_over: bool,
}

impl<R: Read> BackupReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`BackupError`] where it is none of a backup that this program reads.
    pub fn open(mut input: R) -> Result<Self, BackupError> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        (&mut input).take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        if !is_backup(&header) {
            return Err(BackupError::NoBackup);
        }
        if header.len() < HEADER_BYTES {
            return Err(BackupError::Header);
        }
        let mut reader = Reader::new(&header[8..]);
        let read = (reader.u32(), reader.u32(), reader.u128(), reader.u64());
        let (Some(sum), Some(version), Some(store), Some(sequence)) = read else {
            return Err(BackupError::Header);
        };
        if version > VERSION {
            return Err(BackupError::Version { version });
        }
        if sum != crc32c::crc32c(&header[12..]) {
            return Err(BackupError::Header);
        }
        let sums = Sums { header: sum, chunk: 0 };
        Ok(Self {
            input,
            sums,
            store,
            sequence,
            entries: Some(0),
            chunk: Vec::new(),
            used: 0,
            is_over: false,
        })
    }

    /// Returns what identifies the store.
    pub fn store(&self) -> u128 {
        self.store
    }

    /// Returns the number of the last write that the backup has.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Reads up to `length` bytes.
    fn read(&mut self, length: u64) -> Result<Vec<u8>, BackupError> {
        let mut bytes = Vec::new();
        // Memory grows with what is read, not with a false length.
        (&mut self.input).take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length {
            Ok(bytes)
        } else {
            Err(BackupError::Cut { chunk: self.sums.chunk })
        }
    }

    /// Reads the next chunk. Returns false at the end.
    fn read_chunk(&mut self) -> Result<bool, BackupError> {
        let chunk = self.sums.chunk;
        let Some((length, sum)) = self.read_chunk_header()? else { return Ok(false) };
        let bytes = self.read(length)?;
        if sum != self.sums.of(&bytes) {
            return Err(BackupError::Damaged { chunk });
        }
        self.sums.chunk += 1;
        (self.chunk, self.used) = (bytes, 0);
        Ok(true)
    }

    /// Reads the header of the next chunk: the length of its entries, and their checksum. `None` at the end, which is
    /// checked.
    fn read_chunk_header(&mut self) -> Result<Option<(u64, u32)>, BackupError> {
        let header = self.read(CHUNK_HEADER_BYTES as u64)?;
        let mut reader = Reader::new(&header);
        let (Some(length), Some(sum)) = (reader.u64(), reader.u32()) else {
            unreachable!("the header of a chunk was read")
        };
        if length > 0 {
            return Ok(Some((length, sum)));
        }
        let entries = self.read(8)?;
        if sum != self.sums.of(&entries) || self.entries.is_some_and(|read| entries != read.to_le_bytes()) {
            return Err(BackupError::Damaged { chunk: self.sums.chunk });
        }
        let mut behind = Vec::new();
        (&mut self.input).take(1).read_to_end(&mut behind)?;
        if behind.is_empty() { Ok(None) } else { Err(BackupError::Behind) }
    }

    fn read_entry(&mut self) -> Result<Option<BackupEntry>, BackupError> {
        if self.used == self.chunk.len() && !self.read_chunk()? {
            return Ok(None);
        }
        let mut reader = Reader::new(&self.chunk[self.used..]);
        let (Some(key), Some(expiry_ms), Some(value)) = (reader.bytes(), reader.varint(), reader.bytes())
        else {
            return Err(BackupError::Damaged { chunk: self.sums.chunk - 1 });
        };
        let expiry_ms = (expiry_ms > 0).then_some(expiry_ms);
        let entry = BackupEntry { key: key.to_vec(), value: value.to_vec(), expiry_ms };
        self.used = self.chunk.len() - reader.rest().len();
        self.entries = self.entries.map(|entries| entries + 1);
        Ok(Some(entry))
    }
}

impl<R: Read> Iterator for BackupReader<R> {
    type Item = Result<BackupEntry, BackupError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let entry = self.read_entry().transpose();
        self.is_over = !matches!(entry, Some(Ok(_)));
        entry
    }
}
