//! Making a new file to measure on: filled, because what was never written is never read from the drive.

use crate::interrupt::Uninterruptible;
use crate::memory;
use flashlane_device::Buffer;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a file was not made. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Something is there already; it is never replaced.
    #[error("'{}' exists already and is not replaced", path.display())]
    Exists {
        /// As given.
        path: PathBuf,
    },
    /// A size that no device has.
    #[error("'{}' cannot be {length_bytes} bytes long: a multiple of 4096 bytes is needed, and at least one", path.display())]
    Length {
        /// As given.
        path: PathBuf,
        /// As given.
        length_bytes: u64,
    },
    /// The caller asked to stop.
    #[error("'{}' was not finished, as asked, and was removed", path.display())]
    Stopped {
        /// As given.
        path: PathBuf,
    },
    /// The operating system refuses; a full disk, for one.
    #[error("cannot {action} '{}' after {done_bytes} bytes: {source}", path.display())]
    Os {
        /// As given.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Bytes that had been written.
        done_bytes: u64,
        /// The operating system's words.
        source: io::Error,
    },
}

const CHUNK_BYTES: usize = 1 << 20;
/// What is made durable at a time: the system keeps no more back, which nothing could interrupt at the end.
const SYNCED_BYTES: u64 = 32 << 20;

/// Makes a file of `length_bytes` pseudo-random bytes at `path`, on the drive and not only in memory.
///
/// `go_on` is told now and then how many bytes have been written, and answers whether to go on. A file that is not
/// finished is removed.
///
/// # Errors
/// [`CreateError`] says what; a file that was there is left as it was.
pub fn create(path: &Path, length_bytes: u64, go_on: impl FnMut(u64) -> bool) -> Result<(), CreateError> {
    if length_bytes == 0 || !length_bytes.is_multiple_of(4096) {
        return Err(CreateError::Length { path: path.into(), length_bytes });
    }
    let open = |flags| {
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(flags).open(path)
    };
    // Some file systems make the file and only then refuse direct I/O: a plain try must follow on a clean place.
    let file = match open(libc::O_DIRECT) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            let _ = std::fs::remove_file(path);
            open(0)
        }
        other => other,
    };
    let file = match file {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            return Err(CreateError::Exists { path: path.into() });
        }
        Err(source) => {
            return Err(CreateError::Os { path: path.into(), action: "make", done_bytes: 0, source });
        }
    };
    // A file that is not finished is removed, whenever a signal comes.
    let _whole = Uninterruptible::begin();
    fill(&file, path, length_bytes, go_on).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
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
            return Err(CreateError::Stopped { path: path.into() });
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
