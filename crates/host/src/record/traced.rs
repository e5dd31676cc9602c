//! The traced block device, as sysfs shows it.

use super::error::RecordError;
use rustix::fs::FileType;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A block device with its folder in sysfs.
#[derive(Debug)]
pub(super) struct Traced {
    sys: PathBuf,
    folder: PathBuf,
    whole: PathBuf,
}

impl Traced {
    /// Finds the device at `path` in `sys`, and refuses anything but a block device.
    pub(super) fn find(path: &Path, sys: &Path) -> Result<Self, RecordError> {
        let stat = rustix::fs::stat(path).map_err(|e| match io::Error::from(e) {
            e if e.kind() == io::ErrorKind::NotFound => RecordError::NotFound { path: path.into() },
            e => RecordError::os(path, "find", e),
        })?;
        let found = match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => None,
            FileType::RegularFile => Some("a regular file"),
            FileType::Directory => Some("a directory"),
            FileType::CharacterDevice => Some("a character device"),
            _ => Some("a pipe or a socket"),
        };
        if let Some(found) = found {
            return Err(RecordError::NotBlockDevice { path: path.into(), found });
        }
        Self::numbered((rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)), sys)
    }

    pub(super) fn numbered((major, minor): (u32, u32), sys: &Path) -> Result<Self, RecordError> {
        let link = link(sys, major, minor);
        let folder = fs::canonicalize(&link).map_err(|e| RecordError::os(&link, "follow", e))?;
        let whole = match folder.parent() {
            Some(drive) if folder.join("partition").exists() => drive.into(),
            _ => folder.clone(),
        };
        Ok(Self { sys: sys.into(), folder, whole })
    }

    /// Refuses a device that cannot be traced.
    pub(super) fn check(&self) -> Result<(), RecordError> {
        let enable = self.enable();
        let missing = || RecordError::NoTracer { missing: enable.display().to_string() };
        if enable.exists() { Ok(()) } else { Err(missing()) }
    }

    /// Returns whether writes to `path` reach this device. It does not see through device mapper, RAID, or file systems
    /// with device numbers of their own.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let number = rustix::fs::stat(path).map(|stat| stat.st_dev);
        let link = number.map(|number| link(&self.sys, rustix::fs::major(number), rustix::fs::minor(number)));
        link.is_ok_and(|link| fs::canonicalize(link).is_ok_and(|folder| folder.starts_with(&self.folder)))
    }

    /// The file that switches tracing of this device on and off.
    pub(super) fn enable(&self) -> PathBuf {
        self.folder.join("trace/enable")
    }

    /// The file that selects the events.
    pub(super) fn mask(&self) -> PathBuf {
        self.folder.join("trace/act_mask")
    }

    /// Returns the events that make up requests: those issued to the driver, after merging and splitting, and their
    /// completions. A device without a request queue (device mapper, zram) has queue events instead.
    pub(super) fn events(&self) -> &'static str {
        if self.whole.join("mq").exists() { "issue,requeue,complete" } else { "queue,complete" }
    }
}

/// Returns a device's link in sysfs.
fn link(sys: &Path, major: u32, minor: u32) -> PathBuf {
    sys.join(format!("dev/block/{major}:{minor}"))
}
