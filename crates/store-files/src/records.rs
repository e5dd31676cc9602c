//! Records of files, as pairs of the store. Numbers of inodes and extents in keys have 8 bytes, the highest first.
//!
//! | kind | rest of the key | value |
//! | --- | --- | --- |
//! | `d` | inode, number of an extent | bytes of the extent; those behind its end are zeros |
//! | `e` | inode of a directory, name | kind (1), inode (8) |
//! | `h` | | the header: version of the format (1), bytes of an extent (8), the next inode (8) |
//! | `i` | inode | kind (1), when it was modified (var), length of a file or inode of a directory's parent (var) |
//! | `u` | inode | empty: extents behind the file's length may be left, or all where there is no such inode |

use crate::error::FileError;
use flashlane_store::bytes::{Reader, put_varint};
use flashlane_store::space::Space;
use std::fmt;

/// The face's keys.
pub(crate) const SPACE: Space = Space::Files;
/// Version of the format.
const VERSION: u8 = 1;
const ENTRY: u8 = b'e';
const HEADER: u8 = b'h';
const INODE: u8 = b'i';
const UNFINISHED: u8 = b'u';

/// Number of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Inode(pub u64);

impl Inode {
    /// The root directory, which has no record.
    pub const ROOT: Self = Self(1);
}

impl fmt::Display for Inode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// A name of a directory, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// Its number.
    pub inode: Inode,
}

/// Properties of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its number.
    pub inode: Inode,
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file; 0 for a directory.
    pub length_bytes: u64,
    /// When its bytes or names last changed, in milliseconds of the calendar that
    /// [`Files::set_time`](crate::Files::set_time) sets.
    pub modified_ms: u64,
    /// The directory that holds a directory; the root holds itself.
    pub parent: Inode,
}

impl Attributes {
    pub(crate) fn file(inode: Inode, length_bytes: u64, modified_ms: u64) -> Self {
        Self { inode, kind: Kind::File, length_bytes, modified_ms, parent: Inode::ROOT }
    }

    pub(crate) fn directory(inode: Inode, parent: Inode, modified_ms: u64) -> Self {
        Self { inode, kind: Kind::Directory, length_bytes: 0, modified_ms, parent }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![kind_byte(self.kind)];
        put_varint(&mut out, self.modified_ms);
        put_varint(&mut out, if self.kind == Kind::File { self.length_bytes } else { self.parent.0 });
        out
    }

    pub(crate) fn decode(inode: Inode, bytes: &[u8]) -> Result<Self, FileError> {
        let mut reader = Reader::new(bytes);
        let fields = (|| Some((kind_of(reader.u8()?)?, reader.varint()?, reader.varint()?)))();
        match fields.filter(|_| reader.is_empty()) {
            Some((Kind::File, modified_ms, length_bytes)) => Ok(Self::file(inode, length_bytes, modified_ms)),
            Some((Kind::Directory, modified_ms, parent)) => {
                Ok(Self::directory(inode, Inode(parent), modified_ms))
            }
            None => Err(FileError::Malformed { what: format!("the record of inode {inode}") }),
        }
    }
}

/// What all files of a store have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) extent_bytes: u64,
    pub(crate) next_inode: u64,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        [&[VERSION][..], &self.extent_bytes.to_le_bytes(), &self.next_inode.to_le_bytes()].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FileError> {
        let mut reader = Reader::new(bytes);
        let malformed = || FileError::Malformed { what: "the header of the files".into() };
        match reader.u8().ok_or_else(malformed)? {
            0..=VERSION => {
                let extent_bytes = reader.u64().filter(|bytes| *bytes > 0).ok_or_else(malformed)?;
                Ok(Self { extent_bytes, next_inode: reader.u64().ok_or_else(malformed)? })
            }
            found => Err(FileError::Newer { found, known: VERSION }),
        }
    }
}

fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::File => 1,
        Kind::Directory => 2,
    }
}

fn kind_of(byte: u8) -> Option<Kind> {
    match byte {
        1 => Some(Kind::File),
        2 => Some(Kind::Directory),
        _ => None,
    }
}

pub(crate) fn header_key() -> Vec<u8> {
    SPACE.record(HEADER, b"")
}

/// Returns the key of the record of an inode; without one, what begins all of these.
pub(crate) fn inode_key(inode: Option<Inode>) -> Vec<u8> {
    of_inode(INODE, inode, b"")
}

/// Returns the key of the record that extents of an inode may be left; without one, what begins all of these.
pub(crate) fn unfinished_key(inode: Option<Inode>) -> Vec<u8> {
    of_inode(UNFINISHED, inode, b"")
}

/// Returns the key of an entry of a directory; without one, what begins all of these.
pub(crate) fn entry_key(directory: Option<Inode>, name: &[u8]) -> Vec<u8> {
    of_inode(ENTRY, directory, name)
}

fn of_inode(kind: u8, inode: Option<Inode>, rest: &[u8]) -> Vec<u8> {
    let number = inode.map(|inode| inode.0.to_be_bytes());
    SPACE.record(kind, &[number.as_ref().map_or(&[][..], |bytes| bytes), rest].concat())
}

/// Returns the inode with which the rest of a key begins.
pub(crate) fn first_inode(key: &[u8]) -> Result<Inode, FileError> {
    let number = Reader::new(Space::rest(key)).u64();
    let what = || FileError::Malformed { what: "the key of a record of files".into() };
    number.map(|number| Inode(number.swap_bytes())).ok_or_else(what)
}

/// Returns the value of an entry.
pub(crate) fn encode_entry(kind: Kind, inode: Inode) -> Vec<u8> {
    [&[kind_byte(kind)][..], &inode.0.to_le_bytes()].concat()
}

pub(crate) fn decode_entry(key: &[u8], value: &[u8]) -> Result<Entry, FileError> {
    let name = Space::rest(key).get(8..).unwrap_or_default().to_vec();
    let mut reader = Reader::new(value);
    let fields = (|| Some((kind_of(reader.u8()?)?, Inode(reader.u64()?))))();
    match fields.filter(|_| reader.is_empty()) {
        Some((kind, inode)) => Ok(Entry { name, kind, inode }),
        None => Err(FileError::Malformed {
            what: format!("the entry of '{}'", flashlane_store::text::escape(&name)),
        }),
    }
}

pub(crate) fn extent_key(inode: Inode, index: u64) -> Vec<u8> {
    SPACE.bulk(&[inode.0.to_be_bytes(), index.to_be_bytes()].concat())
}

/// Returns the inode and the number of the extent with this key.
pub(crate) fn extent_place(key: &[u8]) -> (Inode, u64) {
    let mut reader = Reader::new(Space::rest(key));
    let mut number = || reader.u64().map(u64::swap_bytes).expect("keys of extents have two numbers");
    (Inode(number()), number())
}
