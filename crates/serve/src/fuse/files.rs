//! The file system with its one file, on the thread that reads the kernel's requests.
//!
//! It answers at once for the directory and the file's attributes, which never change. What is asked of the file's data
//! goes to the thread that serves, with its reply. Ranges are cut at the end of the file, as those of a block device
//! are: what begins behind it is an error of a write, and the end of a read.

use crate::command::{Action, Export};
use flashlane_device::Buffer;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Number of the file; that of the directory is fixed by the protocol.
const DRIVE: INodeNo = INodeNo(2);
/// How long the kernel may keep attributes: they never change.
const ALWAYS: Duration = Duration::from_secs(1 << 20);
/// Longest read or write that the kernel passes on at once.
const REQUEST_BYTES_MAX: u32 = 1 << 20;
/// Asynchronous requests that the kernel passes on at once, those of direct I/O among them.
const BACKGROUND_MAX: u16 = 1024;

/// Modes of fallocate(2).
mod fallocate {
    pub const KEEP_SIZE: i32 = 0x01;
    pub const PUNCH_HOLE: i32 = 0x02;
    pub const ZERO_RANGE: i32 = 0x10;
}

/// What is asked of the file's data.
pub(super) struct Asking {
    pub action: Action,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub durable: bool,
    pub reply: Reply,
}

/// The reply that the kernel waits for. One that is dropped is an I/O error.
pub(super) enum Reply {
    Read(ReplyData),
    /// The length was not cut to 0.
    Write(ReplyWrite),
    Empty(ReplyEmpty),
}

/// Where requests go.
pub(super) trait Sink: Send + Sync + 'static {
    /// Passes a request on.
    fn send(&self, asking: Asking);

    /// The file system was unmounted.
    fn end(&self);
}

/// The file system.
pub(super) struct Files<S> {
    export: Export,
    /// Zeros can be trims.
    trims_zero: bool,
    owner: (u32, u32),
    sink: S,
}

impl<S: Sink> Files<S> {
    pub fn new(export: Export, trims_zero: bool, owner: (u32, u32), sink: S) -> Self {
        Self { export, trims_zero, owner, sink }
    }

    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match number {
            INodeNo::ROOT => (FileType::Directory, 0o500, 2, 0),
            DRIVE if self.export.is_read_only => (FileType::RegularFile, 0o400, 1, self.export.size_bytes),
            DRIVE => (FileType::RegularFile, 0o600, 1, self.export.size_bytes),
            _ => return None,
        };
        let [atime, mtime, ctime, crtime] = [UNIX_EPOCH; 4];
        let ((uid, gid), blksize) = (self.owner, self.block_bytes());
        let blocks = size.div_ceil(512);
        Some(FileAttr {
            ino: number,
            size,
            blocks,
            atime,
            mtime,
            ctime,
            crtime,
            kind,
            perm,
            nlink,
            uid,
            gid,
            rdev: 0,
            blksize,
            flags: 0,
        })
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
}

impl<S: Sink> Filesystem for Files<S> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // An older kernel sends one direct request after the other.
        _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        for refused in [
            config.set_max_write(REQUEST_BYTES_MAX).err(),
            config.set_max_background(BACKGROUND_MAX).err().map(u32::from),
            config.set_congestion_threshold(BACKGROUND_MAX).err().map(u32::from),
        ] {
            assert_eq!(refused, None, "the limits are within those of fuser");
        }
        Ok(())
    }

    fn destroy(&mut self) {
        self.sink.end();
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(DRIVE) {
            Some(drive) if parent == INodeNo::ROOT && name == Export::NAME => {
                reply.entry(&ALWAYS, &drive, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&ALWAYS, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // A drive has its length, and its times are not kept.
        match self.attributes(number) {
            Some(attributes)
                if mode.is_none()
                    && uid.is_none()
                    && gid.is_none()
                    && size.is_none_or(|size| size == attributes.size) =>
            {
                reply.attr(&ALWAYS, &attributes);
            }
            Some(_) => reply.error(Errno::EPERM),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match number {
            DRIVE => {
                let flags = FopenFlags::FOPEN_DIRECT_IO
                    | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
                    | FopenFlags::FOPEN_NOFLUSH;
                reply.opened(FileHandle(0), flags);
            }
            _ => reply.error(Errno::EISDIR),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset_bytes: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length_bytes = self.inside(offset_bytes, size.into());
        if length_bytes == 0 {
            return reply.data(&[]);
        }
        let reply = Reply::Read(reply);
        self.sink.send(Asking { action: Action::Read, offset_bytes, length_bytes, durable: false, reply });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset_bytes: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length_bytes = self.inside(offset_bytes, data.len() as u64);
        if length_bytes == 0 {
            return reply.error(Errno::ENOSPC);
        }
        let (first, whole_bytes) = self.export.whole_units(offset_bytes, length_bytes);
        let mut buffer = Buffer::zeroed(whole_bytes as usize);
        let start = (offset_bytes - first) as usize;
        buffer.as_mut_slice()[start..][..length_bytes as usize]
            .copy_from_slice(&data[..length_bytes as usize]);
        let (action, reply) = (Action::Write(buffer), Reply::Write(reply));
        let durable = flags.0 & libc::O_DSYNC != 0;
        self.sink.send(Asking { action, offset_bytes, length_bytes, durable, reply });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        let (action, reply) = (Action::Flush, Reply::Empty(reply));
        self.sink.send(Asking { action, offset_bytes: 0, length_bytes: 0, durable: false, reply });
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset_bytes: u64,
        length_bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let may_trim = match mode {
            mode if mode == fallocate::PUNCH_HOLE | fallocate::KEEP_SIZE => true,
            mode if mode & !fallocate::KEEP_SIZE == fallocate::ZERO_RANGE => false,
            _ => return reply.error(Errno::EOPNOTSUPP),
        };
        // A hole reads as zeros. Where a trim does not, it would have to be written: no program that trims wants that.
        if may_trim && !self.trims_zero {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let inside_bytes = self.inside(offset_bytes, length_bytes);
        if inside_bytes < length_bytes && mode & fallocate::KEEP_SIZE == 0 {
            return reply.error(Errno::ENOSPC);
        }
        if inside_bytes == 0 {
            return reply.ok();
        }
        let (action, reply) = (Action::Zero { may_trim, is_fast: false }, Reply::Empty(reply));
        self.sink.send(Asking { action, offset_bytes, length_bytes: inside_bytes, durable: false, reply });
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (DRIVE, FileType::RegularFile, Export::NAME),
        ];
        for (nth, (number, kind, name)) in entries.into_iter().enumerate().skip(offset as usize) {
            if reply.add(number, nth as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let block_bytes = self.block_bytes();
        reply.statfs(
            self.export.size_bytes / u64::from(block_bytes),
            0,
            0,
            1,
            0,
            block_bytes,
            255,
            block_bytes,
        );
    }
}
