//! The kernel's FUSE protocol (`linux/fuse.h`, version 7), as far as the file system of one file needs it: requests
//! decoded from the bytes of a read of `/dev/fuse`, and the bodies of replies. Integers are in the machine's order.
//!
//! Every field is read within the bounds of what was received: a short request is one that cannot be understood.

/// Length of the header of a request.
const IN_HEADER_BYTES: usize = 40;
/// Length of the header of a reply.
const OUT_HEADER_BYTES: usize = 16;
/// Length of the arguments before the data of a write.
const WRITE_IN_BYTES: usize = 40;
/// Longest request without data, names included.
const ARGUMENTS_BYTES_MAX: usize = 8192;

/// Numbers of operations.
mod opcode {
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const SETATTR: u32 = 4;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const WRITE: u32 = 16;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const FSYNC: u32 = 20;
    pub const OPENDIR: u32 = 27;
    pub const READDIR: u32 = 28;
    pub const RELEASEDIR: u32 = 29;
    pub const DESTROY: u32 = 38;
    pub const BATCH_FORGET: u32 = 42;
    pub const FALLOCATE: u32 = 43;
}

/// What a [`Call::SetAttributes`] changes.
pub(super) mod change {
    pub const MODE: u32 = 1;
    pub const USER: u32 = 1 << 1;
    pub const GROUP: u32 = 1 << 2;
    pub const SIZE: u32 = 1 << 3;
}

/// How a file is opened.
pub(super) mod open {
    pub const DIRECT_IO: u32 = 1;
    pub const NO_FLUSH: u32 = 1 << 5;
    pub const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
}

/// Returns the length of a buffer for any request whose data has at most `data_bytes`.
pub(super) const fn buffer_bytes(data_bytes: usize) -> usize {
    IN_HEADER_BYTES + WRITE_IN_BYTES + ARGUMENTS_BYTES_MAX + data_bytes
}

/// A request of the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Its number, for the reply.
    pub number: u64,
    /// The file or directory.
    pub inode: u64,
    pub call: Call<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Call<'a> {
    Lookup {
        name: &'a [u8],
    },
    Attributes,
    /// `changes` is a set of [`change`].
    SetAttributes {
        changes: u32,
        size: u64,
    },
    Open,
    Read {
        offset_bytes: u64,
        length_bytes: u32,
    },
    /// `flags` are those of open(2).
    Write {
        offset_bytes: u64,
        flags: u32,
        data: &'a [u8],
    },
    Sync,
    /// `mode` is that of fallocate(2).
    Allocate {
        offset_bytes: u64,
        length_bytes: u64,
        mode: u32,
    },
    OpenDirectory,
    /// `length_bytes` is the longest reply.
    ReadDirectory {
        offset: u64,
        length_bytes: u32,
    },
    FileSystem,
    /// A file or directory is closed, or the file system unmounted.
    Release,
    /// The kernel has forgotten what it knew. It waits for no reply.
    Forget,
    Other,
}

impl<'a> Request<'a> {
    /// Decodes what a read returned. `None` where it is no request.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (length, opcode) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?);
        let (number, inode) = (u64_at(bytes, 8)?, u64_at(bytes, 16)?);
        let arguments = bytes.get(IN_HEADER_BYTES..length as usize)?;
        Some(Self { number, inode, call: Call::decode(opcode, arguments)? })
    }
}

impl<'a> Call<'a> {
    fn decode(opcode: u32, arguments: &'a [u8]) -> Option<Self> {
        let u32_at = |at| u32_at(arguments, at);
        let u64_at = |at| u64_at(arguments, at);
        Some(match opcode {
            opcode::LOOKUP => Self::Lookup { name: arguments.strip_suffix(&[0])? },
            opcode::GETATTR => Self::Attributes,
            opcode::SETATTR => Self::SetAttributes { changes: u32_at(0)?, size: u64_at(16)? },
            opcode::OPEN => Self::Open,
            // A file handle comes before the offset.
            opcode::READ => Self::Read { offset_bytes: u64_at(8)?, length_bytes: u32_at(16)? },
            opcode::READDIR => Self::ReadDirectory { offset: u64_at(8)?, length_bytes: u32_at(16)? },
            opcode::WRITE => {
                let length = u32_at(16)? as usize;
                Self::Write {
                    offset_bytes: u64_at(8)?,
                    flags: u32_at(32)?,
                    data: arguments.get(WRITE_IN_BYTES..)?.get(..length)?,
                }
            }
            opcode::FALLOCATE => {
                Self::Allocate { offset_bytes: u64_at(8)?, length_bytes: u64_at(16)?, mode: u32_at(24)? }
            }
            opcode::FSYNC => Self::Sync,
            opcode::OPENDIR => Self::OpenDirectory,
            opcode::STATFS => Self::FileSystem,
            opcode::RELEASE | opcode::RELEASEDIR | opcode::DESTROY => Self::Release,
            opcode::FORGET | opcode::BATCH_FORGET => Self::Forget,
            _ => Self::Other,
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

/// Attributes of a file or directory, whose times are all 0.
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    pub inode: u64,
    pub size_bytes: u64,
    /// Type and permissions, as stat(2) has them.
    pub mode: u32,
    pub links: u32,
    pub owner: (u32, u32),
    pub block_bytes: u32,
}

/// Numbers in the order of their bytes, for a reply.
#[derive(Default)]
pub(super) struct Body(Vec<u8>);

impl Body {
    fn u32(mut self, values: &[u32]) -> Self {
        values.iter().for_each(|value| self.0.extend(value.to_ne_bytes()));
        self
    }

    fn u64(mut self, values: &[u64]) -> Self {
        values.iter().for_each(|value| self.0.extend(value.to_ne_bytes()));
        self
    }

    fn with_attributes(self, of: &Attributes) -> Self {
        let Attributes { inode, size_bytes, mode, links, owner: (user, group), block_bytes } = *of;
        let (times_s, times_ns) = ([0; 3], [0; 3]);
        self.u64(&[inode, size_bytes, size_bytes.div_ceil(512)])
            .u64(&times_s)
            .u32(&times_ns)
            // No device number, no flags.
            .u32(&[mode, links, user, group, 0, block_bytes, 0])
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Returns attributes that the kernel may keep for `kept_s` seconds.
pub(super) fn attributes(of: &Attributes, kept_s: u64) -> Vec<u8> {
    Body::default().u64(&[kept_s]).u32(&[0, 0]).with_attributes(of).into_bytes()
}

/// Returns a name's inode, which the kernel may keep for `kept_s` seconds, as it may its attributes.
pub(super) fn entry(of: &Attributes, kept_s: u64) -> Vec<u8> {
    let generation = 0;
    Body::default().u64(&[of.inode, generation, kept_s, kept_s]).u32(&[0, 0]).with_attributes(of).into_bytes()
}

/// Returns that a file or directory is open. `flags` is a set of [`open`].
pub(super) fn opened(flags: u32) -> Vec<u8> {
    let handle = 0;
    Body::default().u64(&[handle]).u32(&[flags, 0]).into_bytes()
}

/// Returns that bytes were written.
pub(super) fn written(length_bytes: u32) -> Vec<u8> {
    Body::default().u32(&[length_bytes, 0]).into_bytes()
}

/// Returns a file system of one file, without free space.
pub(super) fn file_system(size_bytes: u64, block_bytes: u32) -> Vec<u8> {
    let (files, name_bytes_max) = (1, 255);
    Body::default()
        .u64(&[size_bytes / u64::from(block_bytes), 0, 0, files, 0])
        .u32(&[block_bytes, name_bytes_max, block_bytes])
        .u32(&[0; 7])
        .into_bytes()
}

/// Appends an entry of a directory, `next` being the offset of the one after it. Returns false where the reply became
/// longer than `length_bytes`. `mode` is that of [`Attributes`].
pub(super) fn append_entry(
    reply: &mut Vec<u8>,
    inode: u64,
    next: u64,
    mode: u32,
    name: &[u8],
    length_bytes: u32,
) -> bool {
    // The type is the upper four bits of a mode.
    let entry = Body::default().u64(&[inode, next]).u32(&[name.len() as u32, mode >> 12]);
    let mut entry = entry.into_bytes();
    entry.extend(name);
    entry.resize(entry.len().next_multiple_of(8), 0);
    let has_room = reply.len() + entry.len() <= length_bytes as usize;
    if has_room {
        reply.append(&mut entry);
    }
    has_room
}

/// Returns the header of a reply whose body has `body_bytes`, with an error's number or 0.
pub(super) fn out_header(number: u64, error: i32, body_bytes: usize) -> [u8; OUT_HEADER_BYTES] {
    let mut header = [0; OUT_HEADER_BYTES];
    header[..4].copy_from_slice(&((OUT_HEADER_BYTES + body_bytes) as u32).to_ne_bytes());
    header[4..8].copy_from_slice(&(-error).to_ne_bytes());
    header[8..].copy_from_slice(&number.to_ne_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a request of operation `opcode`, number 7 and inode 2, with `arguments`.
    fn request(opcode: u32, arguments: Body) -> Vec<u8> {
        let arguments = arguments.into_bytes();
        let length = (IN_HEADER_BYTES + arguments.len()) as u32;
        // User, group, process and padding.
        let mut bytes = Body::default().u32(&[length, opcode]).u64(&[7, 2]).u32(&[0; 4]).into_bytes();
        bytes.extend(arguments);
        bytes
    }

    #[test]
    fn requests_decode_to_their_fields() {
        let read = request(opcode::READ, Body::default().u64(&[0, 8192]).u32(&[4096, 0]).u64(&[0, 0]));
        let call = Call::Read { offset_bytes: 8192, length_bytes: 4096 };
        assert_eq!(Request::decode(&read), Some(Request { number: 7, inode: 2, call }));

        let arguments = Body::default().u64(&[0, 512]).u32(&[3, 0]).u64(&[0]).u32(&[9, 0]);
        let mut write = request(opcode::WRITE, arguments);
        write.extend(b"abc");
        write[..4].copy_from_slice(&(IN_HEADER_BYTES as u32 + 43).to_ne_bytes());
        let call = Call::Write { offset_bytes: 512, flags: 9, data: b"abc" };
        assert_eq!(Request::decode(&write).unwrap().call, call);

        let mut lookup = request(opcode::LOOKUP, Body::default());
        lookup.extend(b"drive\0");
        lookup[..4].copy_from_slice(&(IN_HEADER_BYTES as u32 + 6).to_ne_bytes());
        assert_eq!(Request::decode(&lookup).unwrap().call, Call::Lookup { name: b"drive" });
    }

    #[test]
    fn short_requests_are_refused() {
        let write =
            request(opcode::WRITE, Body::default().u64(&[0, 512]).u32(&[3, 0]).u64(&[0]).u32(&[0, 0]));
        for length in 0..write.len() {
            assert_eq!(Request::decode(&write[..length]), None, "{length}");
        }
        // Its data is missing.
        assert_eq!(Request::decode(&write), None);
    }

    #[test]
    fn replies_have_the_lengths_of_the_protocol() {
        let of = Attributes {
            inode: 2,
            size_bytes: 4096,
            mode: 0o100_600,
            links: 1,
            owner: (0, 0),
            block_bytes: 4096,
        };
        assert_eq!((attributes(&of, 1).len(), entry(&of, 1).len()), (104, 128));
        assert_eq!((opened(0).len(), written(1).len(), file_system(4096, 4096).len()), (16, 8, 80));
        let mut directory = Vec::new();
        assert!(append_entry(&mut directory, 2, 3, of.mode, b"drive", 64));
        assert_eq!((directory.len(), directory[20]), (32, 8), "a regular file");
        assert!(!append_entry(&mut directory, 2, 4, of.mode, b"another_drive", 64));
        assert_eq!(directory.len(), 32, "no room");
        assert_eq!(out_header(7, libc::EIO, 8)[..8], [24, 0, 0, 0, 251, 255, 255, 255]);
    }
}
