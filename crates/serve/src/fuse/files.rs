//! The file system with its one file: what the kernel's requests are answered, without the kernel.
//!
//! It answers for the directory and the file's attributes, which never change. What is asked of the file's data becomes
//! a command. Ranges are cut at the end of the file, as those of a block device are: what begins behind it is an error
//! of a write, and the end of a read.

use super::wire::{self, Attributes, Call, Request, change, open};
use crate::command::{Action, Export};
use flashlane_device::Buffer;

/// Numbers of the directory, which is fixed by the protocol, and of the file.
const ROOT: u64 = 1;
const DRIVE: u64 = 2;
/// How long the kernel may keep names and attributes, in seconds: they never change.
const ALWAYS_S: u64 = 1 << 20;
/// Types and permissions.
const DIRECTORY: u32 = libc::S_IFDIR | 0o500;
const FILE: u32 = libc::S_IFREG | 0o600;
const READ_ONLY_FILE: u32 = libc::S_IFREG | 0o400;

/// Modes of fallocate(2).
mod fallocate {
    pub const KEEP_SIZE: u32 = 0x01;
    pub const PUNCH_HOLE: u32 = 0x02;
    pub const ZERO_RANGE: u32 = 0x10;
}

/// What follows from a request.
pub(super) enum Response {
    /// The body of a reply, or the number of an error.
    Now(Result<Vec<u8>, i32>),
    /// The reply follows the command.
    After(Asking),
    /// The kernel waits for no reply.
    Never,
}

/// What is asked of the file's data.
pub(super) struct Asking {
    pub action: Action,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub durable: bool,
}

/// The file system.
pub(super) struct Files {
    export: Export,
    /// Zeros can be trims.
    trims_zero: bool,
    owner: (u32, u32),
}

impl Files {
    pub fn new(export: Export, trims_zero: bool, owner: (u32, u32)) -> Self {
        Self { export, trims_zero, owner }
    }

    /// Returns what follows from a request.
    pub fn respond(&self, request: &Request<'_>) -> Response {
        match request.call {
            Call::Read { offset_bytes, length_bytes } => self.read(offset_bytes, length_bytes),
            Call::Write { offset_bytes, flags, data } => self.write(offset_bytes, flags, data),
            Call::Sync => Response::After(Asking {
                action: Action::Flush,
                offset_bytes: 0,
                length_bytes: 0,
                durable: false,
            }),
            Call::Allocate { offset_bytes, length_bytes, mode } => {
                self.allocate(offset_bytes, length_bytes, mode)
            }
            Call::Forget => Response::Never,
            _ => Response::Now(self.answer(request)),
        }
    }

    /// Returns the answer to a request that is not about the file's data.
    fn answer(&self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let of = self.attributes(request.inode);
        match request.call {
            Call::Lookup { name } if request.inode == ROOT && name == Export::NAME.as_bytes() => {
                Ok(wire::entry(&self.drive(), ALWAYS_S))
            }
            Call::Lookup { .. } => Err(libc::ENOENT),
            Call::Attributes => Ok(wire::attributes(&of?, ALWAYS_S)),
            Call::SetAttributes { changes, size } => {
                // A drive has its length, and its times are not kept.
                let of = of?;
                let changes_any = changes & (change::MODE | change::USER | change::GROUP) != 0;
                let resizes = changes & change::SIZE != 0 && size != of.size_bytes;
                if changes_any || resizes { Err(libc::EPERM) } else { Ok(wire::attributes(&of, ALWAYS_S)) }
            }
            Call::Open if request.inode == DRIVE => {
                Ok(wire::opened(open::DIRECT_IO | open::PARALLEL_DIRECT_WRITES | open::NO_FLUSH))
            }
            Call::Open => Err(libc::EISDIR),
            Call::OpenDirectory => Ok(wire::opened(0)),
            Call::ReadDirectory { offset, length_bytes } => Ok(self.entries(offset, length_bytes)),
            Call::FileSystem => Ok(wire::file_system(self.export.size_bytes, self.block_bytes())),
            Call::Release => Ok(Vec::new()),
            _ => Err(libc::ENOSYS),
        }
    }

    fn attributes(&self, inode: u64) -> Result<Attributes, i32> {
        match inode {
            ROOT => Ok(Attributes { inode: ROOT, size_bytes: 0, mode: DIRECTORY, links: 2, ..self.drive() }),
            DRIVE => Ok(self.drive()),
            _ => Err(libc::ENOENT),
        }
    }

    fn drive(&self) -> Attributes {
        Attributes {
            inode: DRIVE,
            size_bytes: self.export.size_bytes,
            mode: if self.export.is_read_only { READ_ONLY_FILE } else { FILE },
            links: 1,
            owner: self.owner,
            block_bytes: self.block_bytes(),
        }
    }

    /// Returns the entries of the directory from one on, as far as there is room in a reply.
    fn entries(&self, first: u64, length_bytes: u32) -> Vec<u8> {
        let entries = [
            (ROOT, DIRECTORY, &b"."[..]),
            (ROOT, DIRECTORY, b".."),
            (DRIVE, self.drive().mode, Export::NAME.as_bytes()),
        ];
        let mut reply = Vec::new();
        for (nth, (inode, mode, name)) in (1..).zip(entries).skip(first as usize) {
            if !wire::append_entry(&mut reply, inode, nth, mode, name, length_bytes) {
                break;
            }
        }
        reply
    }

    /// Returns the preferred size of requests, and the granularity of a loop device's trims.
    fn block_bytes(&self) -> u32 {
        let unit = self.export.unit_bytes;
        if unit.is_power_of_two() { unit.min(1 << 20) as u32 } else { 4096 }
    }

    /// Cuts a range at the end of the file.
    fn inside(&self, offset_bytes: u64, length_bytes: u64) -> u64 {
        length_bytes.min(self.export.size_bytes.saturating_sub(offset_bytes))
    }

    fn read(&self, offset_bytes: u64, length_bytes: u32) -> Response {
        match self.inside(offset_bytes, length_bytes.into()) {
            0 => Response::Now(Ok(Vec::new())),
            length_bytes => {
                Response::After(Asking { action: Action::Read, offset_bytes, length_bytes, durable: false })
            }
        }
    }

    fn write(&self, offset_bytes: u64, flags: u32, data: &[u8]) -> Response {
        let length_bytes = self.inside(offset_bytes, data.len() as u64);
        if length_bytes == 0 {
            return Response::Now(Err(libc::ENOSPC));
        }
        let (first, whole_bytes) = self.export.whole_units(offset_bytes, length_bytes);
        let mut buffer = Buffer::zeroed(whole_bytes as usize);
        let start = (offset_bytes - first) as usize;
        buffer.as_mut_slice()[start..][..length_bytes as usize]
            .copy_from_slice(&data[..length_bytes as usize]);
        let durable = flags & libc::O_DSYNC as u32 != 0;
        Response::After(Asking { action: Action::Write(buffer), offset_bytes, length_bytes, durable })
    }

    fn allocate(&self, offset_bytes: u64, length_bytes: u64, mode: u32) -> Response {
        let may_trim = match mode {
            mode if mode == fallocate::PUNCH_HOLE | fallocate::KEEP_SIZE => true,
            mode if mode & !fallocate::KEEP_SIZE == fallocate::ZERO_RANGE => false,
            _ => return Response::Now(Err(libc::EOPNOTSUPP)),
        };
        // A hole reads as zeros. Where a trim does not, it would have to be written: no program that trims wants that.
        if may_trim && !self.trims_zero {
            return Response::Now(Err(libc::EOPNOTSUPP));
        }
        let inside_bytes = self.inside(offset_bytes, length_bytes);
        if inside_bytes < length_bytes && mode & fallocate::KEEP_SIZE == 0 {
            return Response::Now(Err(libc::ENOSPC));
        }
        if inside_bytes == 0 {
            return Response::Now(Ok(Vec::new()));
        }
        let action = Action::Zero { may_trim, is_fast: false };
        Response::After(Asking { action, offset_bytes, length_bytes: inside_bytes, durable: false })
    }
}
