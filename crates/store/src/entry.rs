//! Entries: a version of a key, in memory and as bytes.
//!
//! ```text
//! kind, 0x80 added where it expires | key length | sequence | expiry | body length | key | body
//! ```
//! Lengths, sequence and expiry are of variable length. The same bytes stand in patches and in the log. Kind 0 is none:
//! zeros fill up a group. The body of a reference is the value's length, the ids of its pieces, and its last bytes,
//! which fill no piece.

use crate::bytes::{Reader, put_list, put_varint, varint_bytes};
use std::sync::Arc;

const VALUE: u8 = 1;
const PIECES: u8 = 2;
const TOMBSTONE: u8 = 3;
const EXPIRES: u8 = 0x80;

/// Content of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Shared with who wrote it, as a cache of values may keep it too.
    Value(Arc<Vec<u8>>),
    Pieces(Box<Pieces>),
    Tombstone,
}

/// A value that is stored in pieces, each a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    pub(crate) value_bytes: u64,
    /// Blocks, in the value's order.
    pub(crate) ids: Vec<u64>,
    /// The bytes behind the pieces.
    pub(crate) tail: Vec<u8>,
}

/// A version of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// Number of the write.
    pub(crate) sequence: u64,
    /// When it expires, in milliseconds of the store's calendar; 0 for never.
    pub(crate) expiry_ms: u64,
    pub(crate) body: Body,
}

/// A key and a version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) version: Version,
}

impl Body {
    pub(crate) fn is_tombstone(&self) -> bool {
        matches!(self, Self::Tombstone)
    }

    /// The blocks that the body refers to.
    pub(crate) fn pieces(&self) -> &[u64] {
        match self {
            Self::Pieces(pieces) => &pieces.ids,
            _ => &[],
        }
    }

    fn into_pieces(self) -> Vec<u64> {
        match self {
            Self::Pieces(pieces) => pieces.ids,
            _ => Vec::new(),
        }
    }

    fn len_bytes(&self) -> u64 {
        match self {
            Self::Value(value) => value.len() as u64,
            Self::Pieces(pieces) => {
                let Pieces { value_bytes, ids, tail } = &**pieces;
                let list = varint_bytes(ids.len() as u64) + 8 * ids.len() as u64;
                varint_bytes(*value_bytes) + list + tail.len() as u64
            }
            Self::Tombstone => 0,
        }
    }
}

impl Version {
    /// Returns whether a read at `now_ms` finds no value here.
    pub(crate) fn is_absent(&self, now_ms: u64) -> bool {
        self.body.is_tombstone() || self.is_expired(now_ms)
    }

    /// Returns when it expires.
    pub(crate) fn expires(&self) -> Option<u64> {
        (self.expiry_ms != 0).then_some(self.expiry_ms)
    }

    pub(crate) fn is_expired(&self, now_ms: u64) -> bool {
        self.expiry_ms != 0 && self.expiry_ms <= now_ms
    }

    /// Returns the bytes of this version's entry.
    pub(crate) fn encoded_bytes(&self, key: &[u8]) -> u64 {
        let expiry = if self.expiry_ms == 0 { 0 } else { varint_bytes(self.expiry_ms) };
        let (key, body) = (key.len() as u64, self.body.len_bytes());
        1 + varint_bytes(key) + varint_bytes(self.sequence) + expiry + varint_bytes(body) + key + body
    }

    /// Appends this version's entry up to its value, which is returned: it follows. So a value is copied once.
    pub(crate) fn encode_to_value(&self, key: &[u8], out: &mut Vec<u8>) -> &[u8] {
        let kind = match self.body {
            Body::Value(_) => VALUE,
            Body::Pieces(_) => PIECES,
            Body::Tombstone => TOMBSTONE,
        };
        out.push(kind | if self.expiry_ms == 0 { 0 } else { EXPIRES });
        put_varint(out, key.len() as u64);
        put_varint(out, self.sequence);
        if self.expiry_ms != 0 {
            put_varint(out, self.expiry_ms);
        }
        put_varint(out, self.body.len_bytes());
        out.extend_from_slice(key);
        match &self.body {
            Body::Value(value) => return value,
            Body::Pieces(pieces) => {
                let Pieces { value_bytes, ids, tail } = &**pieces;
                put_varint(out, *value_bytes);
                put_list(out, ids);
                out.extend_from_slice(tail);
            }
            Body::Tombstone => {}
        }
        &[]
    }
}

/// An entry within bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryRef<'a> {
    /// All of the entry.
    pub(crate) bytes: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) sequence: u64,
    pub(crate) expiry_ms: u64,
    kind: u8,
    body: &'a [u8],
}

/// Where an entry lies within bytes that were read, so that they are parsed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    start: u32,
    key_start: u32,
    body_start: u32,
    end: u32,
    sequence: u64,
    expiry_ms: u64,
    kind: u8,
}

impl Location {
    /// Returns the entry. Requires: these are the bytes in which it was located.
    pub(crate) fn within(self, bytes: &[u8]) -> EntryRef<'_> {
        let slice = |from: u32, to: u32| &bytes[from as usize..to as usize];
        EntryRef {
            bytes: slice(self.start, self.end),
            key: slice(self.key_start, self.body_start),
            sequence: self.sequence,
            expiry_ms: self.expiry_ms,
            kind: self.kind,
            body: slice(self.body_start, self.end),
        }
    }
}

impl<'a> EntryRef<'a> {
    /// Reads the next entry. `Ok(None)` behind the last one, `Err` where the bytes are no entry.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Malformed> {
        if reader.is_empty() || reader.rest()[0] == 0 {
            return Ok(None);
        }
        Self::parse(reader).filter(EntryRef::is_sound).map(Some).ok_or(Malformed)
    }

    fn parse(reader: &mut Reader<'a>) -> Option<Self> {
        let all = reader.rest();
        let kind = reader.u8()?;
        let key_bytes = reader.varint()?;
        let sequence = reader.varint()?;
        let expiry_ms = if kind & EXPIRES == 0 { 0 } else { reader.varint()? };
        let body_bytes = reader.varint()?;
        let (key, body) = (reader.take(key_bytes)?, reader.take(body_bytes)?);
        let bytes = &all[..all.len() - reader.rest().len()];
        Some(Self { bytes, key, sequence, expiry_ms, kind: kind & !EXPIRES, body })
    }

    fn is_sound(&self) -> bool {
        match self.kind {
            VALUE => true,
            PIECES => self.read_pieces().is_some(),
            TOMBSTONE => self.body.is_empty(),
            _ => false,
        }
    }

    fn read_pieces(&self) -> Option<Body> {
        let mut reader = Reader::new(self.body);
        let (value_bytes, ids) = (reader.varint()?, reader.list()?);
        Some(Body::Pieces(Box::new(Pieces { value_bytes, ids, tail: reader.rest().to_vec() })))
    }

    /// Returns where the entry lies in bytes at whose offset `end` it ends. Requires: they are at most 4 GiB.
    pub(crate) fn location(&self, end: usize) -> Location {
        let body_start = end - self.body.len();
        Location {
            start: (end - self.bytes.len()) as u32,
            key_start: (body_start - self.key.len()) as u32,
            body_start: body_start as u32,
            end: end as u32,
            sequence: self.sequence,
            expiry_ms: self.expiry_ms,
            kind: self.kind,
        }
    }

    pub(crate) fn is_tombstone(&self) -> bool {
        self.kind == TOMBSTONE
    }

    pub(crate) fn is_expired(&self, now_ms: u64) -> bool {
        self.expiry_ms != 0 && self.expiry_ms <= now_ms
    }

    /// Returns whether the value is stored in pieces.
    pub(crate) fn has_pieces(&self) -> bool {
        self.kind == PIECES
    }

    /// Returns the blocks that the entry refers to.
    pub(crate) fn pieces(&self) -> Vec<u64> {
        match self.kind {
            PIECES => self.version().body.into_pieces(),
            _ => Vec::new(),
        }
    }

    /// Copies the entry's version.
    pub(crate) fn version(&self) -> Version {
        let body = match self.kind {
            VALUE => Body::Value(Arc::new(self.body.to_vec())),
            PIECES => self.read_pieces().expect("an entry that was read is sound"),
            _ => Body::Tombstone,
        };
        Version { sequence: self.sequence, expiry_ms: self.expiry_ms, body }
    }

    /// Copies the entry.
    pub(crate) fn to_entry(self) -> Entry {
        Entry { key: self.key.to_vec(), version: self.version() }
    }
}

/// Bytes are no entry, though their checksum matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

#[cfg(test)]
mod tests {
    use super::*;

    fn versions() -> Vec<Version> {
        let bodies = [
            Body::Value(Arc::default()),
            Body::Value(Arc::new(vec![7; 300])),
            Body::Tombstone,
            Body::Pieces(Box::new(Pieces { value_bytes: 5000, ids: vec![3, u64::MAX], tail: vec![1, 2, 3] })),
        ];
        let of = |body: &Body| {
            [(1, 0), (u64::MAX, 1), (300, u64::MAX)].map(|(sequence, expiry_ms)| Version {
                sequence,
                expiry_ms,
                body: body.clone(),
            })
        };
        bodies.iter().flat_map(of).collect()
    }

    fn encode(version: &Version, key: &[u8], out: &mut Vec<u8>) {
        let value = version.encode_to_value(key, out);
        out.extend_from_slice(value);
    }

    #[test]
    fn entries_are_read_back_one_after_the_other() {
        let mut bytes = Vec::new();
        for version in versions() {
            for key in [&b""[..], b"key", &[0; 70_000]] {
                let before = bytes.len();
                encode(&version, key, &mut bytes);
                assert_eq!((bytes.len() - before) as u64, version.encoded_bytes(key));
            }
        }
        bytes.extend([0; 9]);
        let mut reader = Reader::new(&bytes);
        for version in versions() {
            for key in [&b""[..], b"key", &[0; 70_000]] {
                let entry = EntryRef::read(&mut reader).unwrap().unwrap();
                assert_eq!(entry.to_entry(), Entry { key: key.to_vec(), version: version.clone() });
            }
        }
        assert_eq!(EntryRef::read(&mut reader), Ok(None));
    }

    #[test]
    fn malformed_entries_are_refused() {
        let mut bytes = Vec::new();
        encode(&versions()[11], b"key", &mut bytes);
        for length in 1..bytes.len() {
            let cut = EntryRef::read(&mut Reader::new(&bytes[..length]));
            assert_eq!(cut, Err(Malformed), "{length} of {} bytes", bytes.len());
        }
        for bytes in [&[4, 0, 1, 0][..], &[3, 0, 1, 1, 9], &[2, 0, 1, 2, 9, 9]] {
            assert_eq!(EntryRef::read(&mut Reader::new(bytes)), Err(Malformed), "{bytes:?}");
        }
    }
}
