//! The block device that is traced, as sysfs shows it.

use super::RecordError;
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
    /// Finds the device at `path` in `sys`, and refuses what is no block device.
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

    /// Whether what is written to `path` reaches this device, as far as can be told: not through device mapper, RAID
    /// or file systems with numbers of their own.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let number = rustix::fs::stat(path).map(|stat| stat.st_dev);
        let link = number.map(|number| link(&self.sys, rustix::fs::major(number), rustix::fs::minor(number)));
        link.is_ok_and(|link| fs::canonicalize(link).is_ok_and(|folder| folder.starts_with(&self.folder)))
    }

    /// The file that switches tracing of this device on and off.
    pub(super) fn enable(&self) -> PathBuf {
        self.folder.join("trace/enable")
    }

    /// The file that chooses the events.
    pub(super) fn mask(&self) -> PathBuf {
        self.folder.join("trace/act_mask")
    }

    /// The events that make requests: what the driver was given, after merging and splitting, and when it was done.
    /// A device without a queue of its own (device mapper, zram) takes what comes as it comes.
    pub(super) fn events(&self) -> &'static str {
        if self.whole.join("mq").exists() { "issue,requeue,complete" } else { "queue,complete" }
    }
}

/// A device's link in sysfs.
fn link(sys: &Path, major: u32, minor: u32) -> PathBuf {
    sys.join(format!("dev/block/{major}:{minor}"))
}
