//! The kernel's requests, on the thread that reads them: each becomes a closure that replies.
//!
//! Files belong to the user of the server, and have no permissions beyond that; there are no links and no extended
//! attributes.

use crate::volume::{Result, Volume};
use flashlane_device::DataDevice;
use flashlane_serve::Outbox;
use flashlane_store_files::{Attributes, Inode, Kind};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the kernel may keep names and attributes, which change through it alone.
const KEPT: Duration = Duration::from_secs(1);
/// Longest write that the kernel passes on at once.
const WRITE_BYTES_MAX: u32 = 1 << 20;
/// Unit of space that the file system reports.
const FRAGMENT_BYTES: u64 = 4096;
/// Permissions, which no file can change.
const MODES: (u16, u16) = (0o600, 0o700);

/// What is asked of a volume, with the reply to the kernel.
pub type Work<D, L> = Box<dyn for<'v, 'a> FnOnce(&'v mut Volume<'a, D, L>) + Send>;

/// What the thread of the kernel's requests sends to that of the store.
pub enum Message<D, L> {
    Work(Work<D, L>),
    /// The file system was unmounted.
    End,
}

/// The file system.
pub struct Face<D, L> {
    outbox: Outbox<Message<D, L>>,
    shown: Shown,
    name_bytes_max: u32,
}

/// What all files have in common.
#[derive(Clone, Copy)]
struct Shown {
    owner: (u32, u32),
    block_bytes: u32,
}

impl Shown {
    fn attributes(self, of: &Attributes, has_name: bool) -> FileAttr {
        let (kind, perm) = match of.kind {
            Kind::File => (FileType::RegularFile, MODES.0),
            Kind::Directory => (FileType::Directory, MODES.1),
        };
        let modified = UNIX_EPOCH + Duration::from_millis(of.modified_ms);
        FileAttr {
            ino: INodeNo(of.inode.0),
            size: of.length_bytes,
            blocks: of.length_bytes.div_ceil(512),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind,
            perm,
            nlink: u32::from(has_name),
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: self.block_bytes,
            flags: 0,
        }
    }
}

impl<D: DataDevice + 'static, L: DataDevice + 'static> Face<D, L> {
    /// Shows a volume, whose requests go to `outbox`.
    pub fn new(volume: &mut Volume<'_, D, L>, owner: (u32, u32), outbox: Outbox<Message<D, L>>) -> Self {
        let block_bytes = volume.extent_bytes() as u32;
        let name_bytes_max = volume.name_bytes_max() as u32;
        Self { outbox, shown: Shown { owner, block_bytes }, name_bytes_max }
    }

    fn send(&self, work: impl for<'v, 'a> FnOnce(&'v mut Volume<'a, D, L>) + Send + 'static) {
        let work: Work<D, L> = Box::new(work);
        self.outbox.send(Message::Work(work));
    }

    /// Passes on what is replied to with an entry.
    fn send_entry(
        &self,
        reply: ReplyEntry,
        call: impl for<'v, 'a> FnOnce(&'v mut Volume<'a, D, L>) -> Result<Attributes> + Send + 'static,
    ) {
        let shown = self.shown;
        self.send(move |volume| match call(volume) {
            Ok(found) => reply.entry(&KEPT, &shown.attributes(&found, true), Generation(0)),
            Err(error) => reply.error(error),
        });
    }

    /// Passes on what is replied to with nothing.
    fn send_empty(
        &self,
        reply: ReplyEmpty,
        call: impl for<'v, 'a> FnOnce(&'v mut Volume<'a, D, L>) -> Result<()> + Send + 'static,
    ) {
        self.send(move |volume| match call(volume) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        });
    }
}

fn inode(number: INodeNo) -> Inode {
    Inode(number.0)
}

fn owned(name: &OsStr) -> Vec<u8> {
    name.as_bytes().to_vec()
}

fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
    }
}

/// Returns milliseconds of the calendar.
fn calendar_ms(time: TimeOrNow) -> u64 {
    match time {
        TimeOrNow::Now => flashlane_host::calendar_ms(),
        TimeOrNow::SpecificTime(time) => {
            time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
        }
    }
}

impl<D: DataDevice + 'static, L: DataDevice + 'static> Filesystem for Face<D, L> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let refused = config.set_max_write(WRITE_BYTES_MAX).err();
        assert_eq!(refused, None, "the limit is within that of fuser");
        Ok(())
    }

    fn destroy(&mut self) {
        self.outbox.send(Message::End);
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = owned(name);
        self.send_entry(reply, move |volume| volume.lookup(inode(parent), &name));
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let shown = self.shown;
        self.send(move |volume| match volume.attributes(inode(number)) {
            Ok(found) => {
                reply.attr(&KEPT, &shown.attributes(&found, volume.has_name(found.inode)));
            }
            Err(error) => reply.error(error),
        });
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
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let shown = self.shown;
        let is_other =
            uid.is_some_and(|uid| uid != shown.owner.0) || gid.is_some_and(|gid| gid != shown.owner.1);
        self.send(move |volume| {
            let set = |volume: &mut Volume<'_, D, L>| {
                let found = volume.attributes(inode(number))?;
                let own = if found.kind == Kind::File { MODES.0 } else { MODES.1 };
                if is_other || mode.is_some_and(|mode| mode & 0o7777 != u32::from(own)) {
                    return Err(Errno::EPERM);
                }
                if let Some(size) = size {
                    volume.set_length(found.inode, size)?;
                }
                if let Some(mtime) = mtime {
                    volume.set_modified(found.inode, calendar_ms(mtime))?;
                }
                volume.attributes(found.inode)
            };
            match set(volume) {
                Ok(found) => reply.attr(&KEPT, &shown.attributes(&found, volume.has_name(found.inode))),
                Err(error) => reply.error(error),
            }
        });
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        if mode & libc::S_IFMT != libc::S_IFREG {
            return reply.error(Errno::EPERM);
        }
        let name = owned(name);
        self.send_entry(reply, move |volume| volume.create(inode(parent), &name));
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        let name = owned(name);
        self.send_entry(reply, move |volume| volume.make_directory(inode(parent), &name));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = owned(name);
        self.send_empty(reply, move |volume| volume.unlink(inode(parent), &name));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = owned(name);
        self.send_empty(reply, move |volume| volume.remove_directory(inode(parent), &name));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let may_replace = flags != RenameFlags::RENAME_NOREPLACE;
        if may_replace && !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let (from, to) = (owned(name), owned(newname));
        self.send_empty(reply, move |volume| {
            volume.rename((inode(parent), &from), (inode(newparent), &to), may_replace)
        });
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.send(move |volume| match volume.open(inode(number)) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::empty()),
            Err(error) => reply.error(error),
        });
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let (name, shown) = (owned(name), self.shown);
        self.send(move |volume| {
            let created = volume.create(inode(parent), &name).and_then(|created| {
                volume.open(created.inode)?;
                Ok(created)
            });
            match created {
                Ok(created) => {
                    let attributes = shown.attributes(&created, true);
                    reply.created(&KEPT, &attributes, Generation(0), FileHandle(0), FopenFlags::empty());
                }
                Err(error) => reply.error(error),
            }
        });
    }

    fn release(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.send_empty(reply, move |volume| volume.close(inode(number)));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Writes are passed on as they come: close(2) has nothing to write.
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset_bytes: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.send(move |volume| match volume.read(inode(number), offset_bytes, size.into()) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        });
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset_bytes: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (data, is_durable) = (data.to_vec(), flags.0 & libc::O_DSYNC != 0);
        self.send(move |volume| {
            let written = volume.write(inode(number), offset_bytes, &data);
            match written.and_then(|()| if is_durable { volume.sync() } else { Ok(()) }) {
                Ok(()) => reply.written(data.len() as u32),
                Err(error) => reply.error(error),
            }
        });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.send_empty(reply, |volume| volume.sync());
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.send_empty(reply, |volume| volume.sync());
    }

    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset_bytes: u64,
        length_bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let keeps_length = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
        let of_kind = mode & !libc::FALLOC_FL_KEEP_SIZE;
        let zeroes = match of_kind {
            0 => false,
            libc::FALLOC_FL_ZERO_RANGE => true,
            libc::FALLOC_FL_PUNCH_HOLE if keeps_length => true,
            _ => return reply.error(Errno::EOPNOTSUPP),
        };
        self.send_empty(reply, move |volume| {
            if zeroes {
                volume.write_zeros(inode(number), offset_bytes, length_bytes)?;
            }
            if keeps_length { Ok(()) } else { volume.extend(inode(number), offset_bytes, length_bytes) }
        });
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.send(move |volume| match volume.open_directory(inode(number)) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(error) => reply.error(error),
        });
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        self.send(move |volume| match volume.list(inode(number), handle.0, offset) {
            Ok(entries) => {
                for (nth, entry) in entries.iter().enumerate() {
                    let next = offset + nth as u64 + 1;
                    let name = OsStr::from_bytes(&entry.name);
                    if reply.add(INodeNo(entry.inode.0), next, file_type(entry.kind), name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error),
        });
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.send_empty(reply, move |volume| {
            volume.close_directory(handle.0);
            Ok(())
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let name_bytes_max = self.name_bytes_max;
        self.send(move |volume| {
            let (free, all) = volume.space();
            let (free, all) = (free / FRAGMENT_BYTES, all / FRAGMENT_BYTES);
            let fragment = FRAGMENT_BYTES as u32;
            reply.statfs(all, free, free, 0, 0, fragment, name_bytes_max, fragment);
        });
    }
}
