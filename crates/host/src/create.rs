//! Creates a new file to measure on. It is filled with data, because reads of unwritten ranges never reach the drive.

use crate::interrupt::{UnfinishedFile, Uninterruptible};
use crate::memory;
use crate::usage::{Mount, mounts};
use flashlane_base::units::{exact_bytes, format_bytes};
use flashlane_device::Buffer;
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Why a file was not created. No partial file remains.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The path exists; it is never replaced.
    #[error("'{}' exists already and is not replaced", path.display())]
    Exists {
        /// As given.
        path: PathBuf,
    },
    /// The length is zero or not a multiple of 4096 bytes.
    #[error("'{}' cannot be {} long: a multiple of 4 KiB is needed, and at least one", path.display(), exact_bytes(*length_bytes))]
    Length {
        /// As given.
        path: PathBuf,
        /// As given.
        length_bytes: u64,
    },
    /// The file would be among the nodes of devices: its name is that of a device which is not there.
    #[error(
        "'{}' does not exist, and a file is not created among devices, where it would take memory and be gone at the next \
         start: check the device's name, or name a file elsewhere",
        path.display()
    )]
    AmongDevices {
        /// As given.
        path: PathBuf,
    },
    /// The path is a symbolic link that leads nowhere.
    #[error(
        "'{}' is a symbolic link to '{}', where nothing is, and no file is created through one: name that file itself, or \
         remove the link",
        path.display(), leads_to.display()
    )]
    DanglingLink {
        /// As given.
        path: PathBuf,
        /// What the link says.
        leads_to: PathBuf,
    },
    /// The folder in which the file would be does not exist.
    #[error("'{}' cannot be created: there is no folder '{}'; create that first", path.display(), folder_of(path).display())]
    NoFolder {
        /// As given.
        path: PathBuf,
    },
    /// The file system has less room.
    #[error(
        "'{}' cannot be created with {}: its file system has {} left, {} too little",
        path.display(), exact_bytes(*length_bytes), format_bytes(*free_bytes), format_bytes(length_bytes - free_bytes)
    )]
    NoRoom {
        /// As given.
        path: PathBuf,
        /// As given.
        length_bytes: u64,
        /// Bytes that are left.
        free_bytes: u64,
    },
    /// The caller asked to stop.
    #[error("'{}' was not finished, as asked, and {}", path.display(), removal(removed))]
    Stopped {
        /// As given.
        path: PathBuf,
        /// Whether the unfinished file was removed.
        removed: io::Result<()>,
    },
    /// The operating system reports an error, such as a full disk.
    #[error("cannot {action} '{}' after {}: {source}", path.display(), exact_bytes(*done_bytes))]
    Os {
        /// As given.
        path: PathBuf,
        /// The step that failed.
        action: &'static str,
        /// Bytes written before the failure.
        done_bytes: u64,
        /// The operating system's error.
        source: io::Error,
    },
}

const CHUNK_BYTES: usize = 1 << 20;
/// Interval of syncs in bytes. It bounds the final sync, which cannot be interrupted.
const SYNCED_BYTES: u64 = 32 << 20;

/// A file that [`create`] or a caller made, as long as it exists: another file that has its path later is not that
/// file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    file_system: u64,
    inode: u64,
    /// Tells it from a later file with the same inode; `None` where the file system does not say.
    made: Option<SystemTime>,
}

impl Created {
    /// Returns the identity of an open file that the caller made.
    ///
    /// # Errors
    /// The operating system's.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::by(&file.metadata()?))
    }

    fn by(data: &Metadata) -> Self {
        Self { file_system: data.dev(), inode: data.ino(), made: data.created().ok() }
    }

    /// Removes the file at `path`, if it is still this one.
    ///
    /// # Errors
    /// Those of the operating system; [`io::ErrorKind::AlreadyExists`] where another file is at the path, which
    /// remains.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let is_this = |data: &Metadata| Self::by(data) == *self;
        if !is_this(&path.symlink_metadata()?) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "another file has its name by now"));
        }
        // It is looked at again under another name, since a file may come to its path meanwhile.
        flashlane_files::remove_if(path, |at| at.symlink_metadata().is_ok_and(|data| is_this(&data)))
    }
}

/// Says in a clause whether an unfinished file was removed.
pub fn removal(removed: &io::Result<()>) -> String {
    match removed {
        Ok(()) => "is removed".to_owned(),
        Err(error) => format!("is not removed: {error}"),
    }
}

/// Creates a file of `length_bytes` pseudo-random bytes at `path` and syncs it to the drive.
///
/// `go_on` is called regularly with the number of bytes written and returns whether to continue. An unfinished file is
/// removed.
///
/// # Errors
/// [`CreateError`] says why; an existing file is left unchanged.
pub fn create(
    path: &Path,
    length_bytes: u64,
    go_on: impl FnMut(u64) -> bool,
) -> Result<Created, CreateError> {
    if length_bytes == 0 || !length_bytes.is_multiple_of(4096) {
        return Err(CreateError::Length { path: path.into(), length_bytes });
    }
    check_new_file(path)?;
    if let Some(free_bytes) = free_bytes(path).filter(|&free| free < length_bytes) {
        return Err(CreateError::NoRoom { path: path.into(), length_bytes, free_bytes });
    }
    let file = make(path, std::fs::OpenOptions::new().write(true).mode(0o600))?;
    // Asked for once the file is made: some file systems make it before they refuse direct I/O, and it would have no
    // descriptor.
    if let Ok(flags) = rustix::fs::fcntl_getfl(&file) {
        let _ = rustix::fs::fcntl_setfl(&file, flags | OFlags::DIRECT);
    }
    // A signal must not prevent the removal of an unfinished file.
    let _whole = Uninterruptible::begin();
    let _unfinished = UnfinishedFile::begin(path);
    let created = Created::of(&file).map_err(|source| os_error(path, "look at", source))?;
    fill(&file, path, length_bytes, go_on).map_err(|error| match (error, created.remove(path)) {
        (CreateError::Stopped { path, .. }, removed) => CreateError::Stopped { path, removed },
        (error, _) => error,
    })?;
    Ok(created)
}

/// Makes an empty file at `path`, open for reading and writing.
///
/// # Errors
/// [`CreateError`] says why; an existing file is left unchanged.
pub fn create_empty(path: &Path) -> Result<(File, Created), CreateError> {
    check_new_file(path)?;
    let file = make(path, std::fs::OpenOptions::new().read(true).write(true))?;
    let created = Created::of(&file).map_err(|source| os_error(path, "look at", source))?;
    Ok((file, created))
}

/// Checks that nothing is at `path` that keeps a new file or directory from being made there, as far as the path tells:
/// links that lead nowhere and the folder of device nodes, where a mistyped name of a device leads.
///
/// # Errors
/// [`CreateError::DanglingLink`] and [`CreateError::AmongDevices`].
pub fn check_place(path: &Path) -> Result<(), CreateError> {
    if path.exists() {
        return Ok(());
    }
    if let Ok(leads_to) = path.read_link() {
        return Err(CreateError::DanglingLink { path: path.into(), leads_to });
    }
    if is_among_devices(path) { Err(CreateError::AmongDevices { path: path.into() }) } else { Ok(()) }
}

/// Checks that a new file can be made at `path`, as far as the path tells. A file that exists passes.
///
/// # Errors
/// Those of [`check_place`], and [`CreateError::NoFolder`].
pub fn check_new_file(path: &Path) -> Result<(), CreateError> {
    check_place(path)?;
    if folder_of(path).is_dir() { Ok(()) } else { Err(CreateError::NoFolder { path: path.into() }) }
}

fn make(path: &Path, options: &mut std::fs::OpenOptions) -> Result<File, CreateError> {
    options.create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists { path: path.into() },
        _ => os_error(path, "make", error),
    })
}

fn os_error(path: &Path, action: &'static str, source: io::Error) -> CreateError {
    CreateError::Os { path: path.into(), action, done_bytes: 0, source }
}

/// Returns the folder in which a path is.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Returns whether a path is in the file system of device nodes, whatever it is mounted as. Another file system mounted
/// below `/dev`, such as `/dev/shm`, is for files.
fn is_among_devices(path: &Path) -> bool {
    let absolute = std::path::absolute(path);
    let mut folders = absolute.iter().flat_map(|path| path.ancestors().skip(1));
    // Folders that are not there yet may be made too.
    let Some(folder) = folders.find_map(|folder| folder.canonicalize().ok()) else { return false };
    let file_system = |path: &Path| rustix::fs::stat(path).ok().map(|stat| stat.st_dev);
    let is_in_dev = folder.starts_with("/dev") && file_system(&folder) == file_system(Path::new("/dev"));
    let on = file_system(&folder).map(|device| (rustix::fs::major(device), rustix::fs::minor(device)));
    let is_devtmpfs = |mount: Mount| mount.file_system == "devtmpfs" && Some(mount.number) == on;
    is_in_dev || mounts(Path::new("/proc")).into_iter().any(is_devtmpfs)
}

/// Returns the bytes left where a new file would be, without those kept for the system's administrator, to whom they
/// are left also by that one's programs; `None` where the file system does not say.
fn free_bytes(path: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(folder_of(path)).ok()?;
    (room.f_blocks > 0).then(|| room.f_bavail.saturating_mul(room.f_frsize))
}

fn fill(
    file: &File,
    path: &Path,
    length_bytes: u64,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<(), CreateError> {
    let os = |action, done_bytes, source| CreateError::Os { path: path.into(), action, done_bytes, source };
    let mut chunk = Buffer::zeroed(CHUNK_BYTES.min(length_bytes as usize));
    let mut done_bytes = 0;
    while done_bytes < length_bytes {
        if !go_on(done_bytes) {
            return Err(CreateError::Stopped { path: path.into(), removed: Ok(()) });
        }
        let count = (chunk.len() as u64).min(length_bytes - done_bytes) as usize;
        memory::fill(&mut chunk.as_mut_slice()[..count], done_bytes ^ length_bytes.rotate_left(32));
        let written = file.write_all_at(&chunk.as_slice()[..count], done_bytes);
        written.map_err(|e| os("fill", done_bytes, e))?;
        done_bytes += count as u64;
        if done_bytes.is_multiple_of(SYNCED_BYTES) {
            file.sync_data().map_err(|e| os("make durable", done_bytes, e))?;
        }
    }
    file.sync_all().map_err(|e| os("make durable", done_bytes, e))
}
