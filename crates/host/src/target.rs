//! Resolves a path to a regular file or a block device: its real path, its length, and its unit of direct I/O.

use crate::open_error::OpenError;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, StatxFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A resolved target. It holds a descriptor, so that the checked and the opened file are the same even if another file
/// replaces the path, or the path leads through another process's root.
#[derive(Debug)]
pub(crate) struct Target {
    /// The path with symbolic links resolved, for messages; the given path where the resolved one leads elsewhere.
    pub real: PathBuf,
    handle: OwnedFd,
    /// Whether it is a block device, not a regular file.
    pub block: bool,
    /// Identity of the file: file system, inode, device number.
    pub identity: (u64, u64, u64),
}

/// Sizes of an open target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Length in bytes.
    pub length_bytes: u64,
    /// Alignment of direct I/O; zero where the file system does not support it.
    pub unit_bytes: u64,
}

impl Target {
    pub(crate) fn resolve(given: &Path) -> Result<Self, OpenError> {
        let fail = |source: io::Error| {
            if source.kind() == io::ErrorKind::NotFound {
                OpenError::NotFound { path: given.into() }
            } else {
                OpenError::Os { path: given.into(), action: "find", source }
            }
        };
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let handle = rustix::fs::open(given, flags, Mode::empty()).map_err(|e| fail(e.into()))?;
        let stat = rustix::fs::fstat(&handle).map_err(|e| fail(e.into()))?;
        let same = |path: &PathBuf| rustix::fs::stat(path).is_ok_and(|at| identity(&at) == identity(&stat));
        let real = std::fs::canonicalize(given).ok().filter(same).unwrap_or_else(|| given.into());
        let kind = FileType::from_raw_mode(stat.st_mode);
        let block = match kind {
            FileType::BlockDevice => true,
            FileType::RegularFile => false,
            other => {
                let found = match other {
                    FileType::Directory => "a directory",
                    FileType::CharacterDevice => "a character device",
                    FileType::Fifo => "a pipe",
                    FileType::Socket => "a socket",
                    _ => "something unknown",
                };
                return Err(OpenError::NotStorage { path: given.into(), real, found });
            }
        };
        Ok(Self { real, handle, block, identity: identity(&stat) })
    }

    /// Opens the resolved file. Without `/proc` it opens the real path again: see [`Target::is`].
    pub(crate) fn open(&self, options: &OpenOptions) -> io::Result<File> {
        let held = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
        match options.open(&held) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && !held.exists() => options.open(&self.real),
            opened => opened,
        }
    }

    /// Opens the file for reading, which changes its access time only where another user owns it.
    pub(crate) fn open_to_read(&self) -> io::Result<File> {
        without_access_time(|flag| self.open(OpenOptions::new().read(true).custom_flags(flag)))
    }

    /// Returns the number by which the kernel identifies the type of the file's file system.
    pub(crate) fn file_system_magic(&self) -> io::Result<i64> {
        Ok(rustix::fs::fstatfs(&self.handle)?.f_type as i64)
    }

    /// Returns whether `file` is the file that the path was resolved to.
    pub(crate) fn is(&self, file: &File) -> io::Result<bool> {
        Ok(identity(&rustix::fs::fstat(file)?) == self.identity)
    }

    /// Major and minor number of the device itself, or of the device that holds the file.
    pub(crate) fn device_number(&self) -> (u32, u32) {
        let number = if self.block { self.identity.2 } else { self.identity.0 };
        (rustix::fs::major(number), rustix::fs::minor(number))
    }

    /// Returns a descriptor of the target that this process was started with, as by a redirection: those that it opened
    /// itself would be closed by an exec.
    pub(crate) fn inherited_descriptor(&self) -> Option<u32> {
        let numbers = std::fs::read_dir("/proc/self/fd").ok()?.flatten();
        let mut numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.find(|number| {
            let stat = rustix::fs::stat(format!("/proc/self/fd/{number}"));
            stat.is_ok_and(|stat| identity(&stat) == self.identity) && !is_closed_on_exec(*number)
        })
    }

    pub(crate) fn extent(&self, file: &File) -> io::Result<Extent> {
        let (length_bytes, sector_bytes) = if self.block {
            (block_device_length(file)?, block_device_sector(file)?)
        } else {
            // Where the kernel is too old to report a unit, the file system's block size is safe on any drive.
            (file.metadata()?.len(), 4096)
        };
        let unit_bytes = direct_io_unit(file)?.unwrap_or(sector_bytes);
        Ok(Extent { length_bytes, unit_bytes })
    }
}

/// Opens a file for reading, with the flag by which its access time stays; without it where another user owns the file,
/// who alone may ask for that.
pub(crate) fn without_access_time(open: impl Fn(i32) -> io::Result<File>) -> io::Result<File> {
    match open(libc::O_NOATIME) {
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => open(0),
        opened => opened,
    }
}

fn is_closed_on_exec(descriptor: u32) -> bool {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok());
    flags.is_none_or(|flags| flags & libc::O_CLOEXEC != 0)
}

fn identity(stat: &Stat) -> (u64, u64, u64) {
    (stat.st_dev, stat.st_ino, stat.st_rdev)
}

/// Returns the alignment of direct I/O that statx reports (Linux 6.1 and later); zero where direct I/O is not
/// supported.
fn direct_io_unit(file: &File) -> io::Result<Option<u64>> {
    let flags = AtFlags::EMPTY_PATH;
    let status = match rustix::fs::statx(file, c"", flags, StatxFlags::DIOALIGN) {
        Ok(status) => status,
        Err(rustix::io::Errno::NOSYS) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let known = status.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    Ok(known.then(|| u64::from(status.stx_dio_offset_align)))
}

// The request numbers of <linux/fs.h>, which the libc crate leaves out.
const BLKSSZGET: libc::Ioctl = 0x1268;
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;

/// Returns the length of a block device; zero where the device is lost.
pub(crate) fn block_device_length(file: impl AsFd) -> io::Result<u64> {
    let mut length = 0_u64;
    // SAFETY: the request writes one u64 through the pointer, which is valid for it.
    let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), BLKGETSIZE64, &raw mut length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(length) }
}

/// Returns whether a block device refuses writes: a loop device that is attached for reading, a drive that is
/// write-protected.
pub(crate) fn is_write_protected(file: &File) -> io::Result<bool> {
    const BLKROGET: libc::Ioctl = 0x125e;
    let mut protected: libc::c_int = 0;
    // SAFETY: the request writes one int through the pointer, which is valid for it.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKROGET, &raw mut protected) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(protected != 0) }
}

fn block_device_sector(file: &File) -> io::Result<u64> {
    let mut sector: libc::c_int = 0;
    // SAFETY: the request writes one int through the pointer, which is valid for it.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKSSZGET, &raw mut sector) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(sector as u64) }
}

/// Returns the name of an in-memory file system; `None` for others.
pub(crate) fn memory_file_system(file: &File) -> io::Result<Option<&'static str>> {
    const RAMFS: i64 = 0x8584_58f6;
    Ok(match rustix::fs::fstatfs(file)?.f_type as i64 {
        libc::TMPFS_MAGIC => Some("tmpfs"),
        RAMFS => Some("ramfs"),
        _ => None,
    })
}

/// Returns the bytes of a regular file that reads fetch from the drive: without holes and unwritten extents.
pub(crate) fn written_bytes(file: &File) -> io::Result<u64> {
    mapped_bytes(file).or_else(|_| {
        // Where the file system does not map extents, its block count at least excludes holes.
        let stat = rustix::fs::fstat(file)?;
        Ok(stat.st_blocks as u64 * 512)
    })
}

/// <linux/fiemap.h>: the header, and one extent.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; 256],
}

const _: () = assert!(size_of::<FiemapExtent>() == 56 && size_of::<Fiemap>() == 32 + 256 * 56);

fn mapped_bytes(file: &File) -> io::Result<u64> {
    const FS_IOC_FIEMAP: libc::Ioctl = 0xc020_660b_u32 as libc::Ioctl;
    const LAST: u32 = 1;
    const UNWRITTEN: u32 = 0x800;
    let (mut start, mut written) = (0, 0);
    loop {
        let mut map = Fiemap {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped_extents: 0,
            extent_count: 256,
            reserved: 0,
            extents: [FiemapExtent::default(); 256],
        };
        // SAFETY: `map` has the layout of struct fiemap followed by `extent_count` extents, all writable.
        if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let extents = &map.extents[..(map.mapped_extents as usize).min(256)];
        written += extents.iter().filter(|e| e.flags & UNWRITTEN == 0).map(|e| e.length).sum::<u64>();
        match extents.last() {
            Some(last) if last.flags & LAST == 0 => start = last.logical + last.length,
            _ => return Ok(written),
        }
    }
}

/// Returns the major and minor number of the block device at `path`, if there is one.
pub(crate) fn device_number_of(path: &Path) -> Option<(u32, u32)> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::empty()).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice)
        .then(|| (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)))
}
