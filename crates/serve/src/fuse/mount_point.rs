//! Where a device can be mounted: on an empty directory that nothing is mounted on.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a device cannot be mounted on a path.
#[derive(Debug, thiserror::Error)]
pub enum MountPointError {
    /// The path cannot be looked at.
    #[error("the mount point {path} cannot be read: {error}; it has to be an empty directory")]
    Unreadable {
        /// The path.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// It is something else.
    #[error("the mount point {0} is not a directory; it has to be an empty one")]
    NotADirectory(String),
    /// Something is mounted there.
    #[error("something is mounted on {0} already: unmount it, or choose another directory")]
    InUse(String),
    /// Another program mounted something there, and serves it no longer.
    #[error(
        "{0} is the mount of another program, which does not answer any more: unmount it (umount), or choose another directory"
    )]
    Dead(String),
    /// Its files would be hidden.
    #[error("the mount point {0} is not empty: its files would be hidden; choose an empty directory")]
    NotEmpty(String),
}

/// The source that mounts of ours have.
pub(super) const MOUNT_SOURCE: &str = "flashlane";

/// An empty directory on which nothing is mounted.
#[derive(Debug)]
pub struct MountPoint(PathBuf);

impl MountPoint {
    /// Checks a path. What a killed server of ours left mounted there is unmounted, as nothing can be reached through
    /// it.
    ///
    /// # Errors
    /// [`MountPointError`] where it is no empty directory, or in use.
    pub fn check(path: &Path) -> Result<Self, MountPointError> {
        let name = path.display().to_string();
        let unreadable = |error| MountPointError::Unreadable { path: name.clone(), error };
        if path.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotConnected) {
            if !flashlane_host::is_served_by(path, MOUNT_SOURCE) {
                return Err(MountPointError::Dead(name));
            }
            flashlane_host::unmount_dead(path).map_err(unreadable)?;
        }
        let directory = path.metadata().map_err(unreadable)?;
        if !directory.is_dir() {
            return Err(MountPointError::NotADirectory(name));
        }
        let parent = path.join("..").metadata().map_err(unreadable)?;
        if directory.dev() != parent.dev() || directory.ino() == parent.ino() {
            return Err(MountPointError::InUse(name));
        }
        if path.read_dir().map_err(unreadable)?.next().is_some() {
            return Err(MountPointError::NotEmpty(name));
        }
        path.canonicalize().map(Self).map_err(unreadable)
    }

    /// Returns its path, absolute.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_point_is_an_empty_directory_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(MountPoint::check(dir.path()).unwrap().path(), dir.path().canonicalize().unwrap());
        let refused = |path: &Path| MountPoint::check(path).unwrap_err();
        assert!(matches!(refused(&dir.path().join("none")), MountPointError::Unreadable { .. }));
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(refused(&dir.path().join("file")), MountPointError::NotADirectory(_)));
        assert!(matches!(refused(dir.path()), MountPointError::NotEmpty(_)));
        for mounted in ["/", "/proc"] {
            assert!(matches!(refused(Path::new(mounted)), MountPointError::InUse(_)));
        }
    }
}
