//! A file system that is mounted, whatever it is.

use super::mount_point::{MOUNT_SOURCE, MountPoint};
use fuser::{BackgroundSession, Config, Filesystem, MountOption, Session};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file system cannot be mounted.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} cannot be mounted on: {error}; FUSE requires /dev/fuse, and the right to mount or fusermount3 (Debian: fuse3)"
)]
pub struct MountError {
    path: String,
    error: io::Error,
}

impl MountError {
    /// Returns that a path cannot be mounted on.
    pub fn new(mount_point: &MountPoint, error: io::Error) -> Self {
        Self { path: mount_point.path().display().to_string(), error }
    }
}

/// How a mount ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmounted {
    /// Nothing used it any longer.
    Unused,
    /// A program, or a loop device, still had a file of it open: further requests fail.
    InUse,
}

/// Mounts a file system, of which this thread, and those that it starts from now on, may serve the requests.
pub(super) fn mount<F: Filesystem>(
    mount_point: &MountPoint,
    files: F,
    is_read_only: bool,
) -> Result<Session<F>, MountError> {
    flashlane_host::avoid_own_writeback();
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(MOUNT_SOURCE.into()),
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoExec,
        if is_read_only { MountOption::RO } else { MountOption::RW },
    ];
    Session::new(files, mount_point.path(), &config).map_err(|error| MountError::new(mount_point, error))
}

/// A mounted file system, of which a thread of `fuser` reads the requests of the kernel.
pub struct Mounted {
    path: PathBuf,
    session: BackgroundSession,
}

impl Mounted {
    /// Mounts a file system, which only the user of this process can reach.
    ///
    /// # Errors
    /// [`MountError`] where the system refuses it.
    pub fn new(
        mount_point: &MountPoint,
        files: impl Filesystem + 'static,
        is_read_only: bool,
    ) -> Result<Self, MountError> {
        // The thread of the session inherits that memory is not written back for it.
        let session = mount(mount_point, files, is_read_only)?;
        let session = session.spawn().map_err(|error| MountError::new(mount_point, error))?;
        Ok(Self { path: mount_point.path().into(), session })
    }

    /// Returns where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Unmounts it; where something still uses it, from where it can be seen. `is_gone` says that another program has
    /// already.
    ///
    /// # Errors
    /// The system's error where it remains mounted.
    pub fn unmount(self, is_gone: bool) -> io::Result<Unmounted> {
        if is_gone {
            // Dropping the session would unmount what is mounted there by now.
            std::mem::forget(self.session);
            return Ok(Unmounted::Unused);
        }
        match self.session.umount_and_join() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                flashlane_host::unmount_dead(&self.path).map(|()| Unmounted::InUse)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Unmounted::Unused),
        }
    }
}
