//! What a path leads to: a regular file or a block device, where it really is, how large, and on which units
//! direct I/O must stand.

use crate::open_error::OpenError;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, StatxFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Something that can be opened as a device. It is held, so that what is looked at and what is opened are the same even
/// where another file takes the path meanwhile, or where the path leads through another process's root.
#[derive(Debug)]
pub(crate) struct Target {
    /// With every symbolic link followed, for messages; as given where the path it has here leads elsewhere.
    pub real: PathBuf,
    handle: OwnedFd,
    /// Whether it is a block device (else a regular file).
    pub block: bool,
    /// Which file it is: file system, inode, device number.
    pub identity: (u64, u64, u64),
}

/// Sizes that come with an open target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Bytes that can be addressed.
    pub length_bytes: u64,
    /// Direct I/O starts and ends on multiples of this; zero where the file system says it cannot.
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

    /// Opens what was found. Where `/proc` is missing, its path is opened again: see [`Target::is`].
    pub(crate) fn open(&self, options: &OpenOptions) -> io::Result<File> {
        let held = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
        match options.open(&held) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && !held.exists() => options.open(&self.real),
            opened => opened,
        }
    }

    pub(crate) fn open_to_read(&self) -> io::Result<File> {
        self.open(OpenOptions::new().read(true))
    }

    /// Whether `file` is what was looked at when the path was resolved.
    pub(crate) fn is(&self, file: &File) -> io::Result<bool> {
        Ok(identity(&rustix::fs::fstat(file)?) == self.identity)
    }

    /// Major and minor number: of the device itself, or of the device that the file lies on.
    pub(crate) fn device_number(&self) -> (u32, u32) {
        let number = if self.block { self.identity.2 } else { self.identity.0 };
        (rustix::fs::major(number), rustix::fs::minor(number))
    }

    pub(crate) fn extent(&self, file: &File) -> io::Result<Extent> {
        let (length_bytes, sector_bytes) = if self.block {
            (block_device_length(file)?, block_device_sector(file)?)
        } else {
            // Where the kernel is too old to tell, the file system's own block is safe on any drive.
            (file.metadata()?.len(), 4096)
        };
        let unit_bytes = direct_io_unit(file)?.unwrap_or(sector_bytes);
        Ok(Extent { length_bytes, unit_bytes })
    }
}

fn identity(stat: &Stat) -> (u64, u64, u64) {
    (stat.st_dev, stat.st_ino, stat.st_rdev)
}

/// What statx says of direct I/O on this file (Linux 6.1 and later); zero where it says there is none.
fn direct_io_unit(file: &File) -> io::Result<Option<u64>> {
    let flags = AtFlags::EMPTY_PATH;
    let told = match rustix::fs::statx(file, c"", flags, StatxFlags::DIOALIGN) {
        Ok(told) => told,
        Err(rustix::io::Errno::NOSYS) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let known = told.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    Ok(known.then(|| u64::from(told.stx_dio_offset_align)))
}

// The request numbers of <linux/fs.h>, which the libc crate leaves out.
const BLKSSZGET: libc::Ioctl = 0x1268;
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;

/// Bytes of a block device; zero where it has gone.
pub(crate) fn block_device_length(file: impl AsFd) -> io::Result<u64> {
    let mut length = 0_u64;
    // SAFETY: the request writes one u64 through the pointer, which is valid for it.
    let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), BLKGETSIZE64, &raw mut length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(length) }
}

fn block_device_sector(file: &File) -> io::Result<u64> {
    let mut sector: libc::c_int = 0;
    // SAFETY: the request writes one int through the pointer, which is valid for it.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKSSZGET, &raw mut sector) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(sector as u64) }
}

/// Whether a file system lives in memory, and its name.
pub(crate) fn memory_file_system(file: &File) -> io::Result<Option<&'static str>> {
    const RAMFS: i64 = 0x8584_58f6;
    Ok(match rustix::fs::fstatfs(file)?.f_type as i64 {
        libc::TMPFS_MAGIC => Some("tmpfs"),
        RAMFS => Some("ramfs"),
        _ => None,
    })
}

/// Bytes of a regular file that reads must fetch from the drive: not holes, and not extents that were reserved
/// but never written.
pub(crate) fn written_bytes(file: &File) -> io::Result<u64> {
    mapped_bytes(file).or_else(|_| {
        // The file system does not map extents: its block count at least shows holes.
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

/// Major and minor number of the block device at `path`, if there is one.
pub(crate) fn device_number_of(path: &Path) -> Option<(u32, u32)> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::empty()).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice)
        .then(|| (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)))
}
