//! Why a real drive was not opened: what was found, and what would be needed.

use crate::depth::DEPTH_MAX;
use crate::usage::Finding;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there.
    #[error("'{}' does not exist", path.display())]
    NotFound {
        /// As given.
        path: PathBuf,
    },
    /// It is neither a block device nor a regular file.
    #[error("{} is {found}: a block device or a regular file is needed", place(path, real))]
    NotStorage {
        /// As given.
        path: PathBuf,
        /// What it leads to.
        real: PathBuf,
        /// What it is, with its article.
        found: &'static str,
    },
    /// It looks like somebody's data.
    #[error("{}\nrepeat its path with --really if all of it may be destroyed", refusal(path, real, findings))]
    Refused {
        /// As given.
        path: PathBuf,
        /// What it leads to.
        real: PathBuf,
        /// Everything that speaks against it.
        findings: Vec<Finding>,
    },
    /// The path that was to confirm another is not the same.
    #[error("--really names '{}', but the device is {}: repeat the path as it is given there, {}", really.display(), place(path, real), path.display())]
    ReallyMismatch {
        /// As given.
        path: PathBuf,
        /// What it leads to.
        real: PathBuf,
        /// The path that was to repeat it.
        really: PathBuf,
    },
    /// Another process (a second Flashlane, say) has locked it.
    #[error("{} is in use: another process has locked it", place(path, real))]
    Locked {
        /// As given.
        path: PathBuf,
        /// What it leads to.
        real: PathBuf,
    },
    /// The file system has no direct I/O, and buffered I/O was not allowed.
    #[error(
        "{} lies on a file system without direct I/O: the page cache would be measured, not the drive",
        place(path, real)
    )]
    NoDirectIo {
        /// As given.
        path: PathBuf,
        /// What it leads to.
        real: PathBuf,
    },
    /// There is no room for a single request.
    #[error(
        "{} is {length_bytes} bytes long, but requests are multiples of {unit_bytes} bytes",
        place(path, real)
    )]
    TooSmall {
        /// As given.
        path: PathBuf,
        /// What it leads to.
        real: PathBuf,
        /// Bytes there are.
        length_bytes: u64,
        /// Bytes of the smallest request.
        unit_bytes: u64,
    },
    /// A depth that no device has.
    #[error("a depth of {depth} cannot be had: 1 to {DEPTH_MAX} requests may be in flight")]
    Depth {
        /// As given.
        depth: u32,
    },
    /// Between looking at it and opening it, something else took its place.
    #[error("{} was replaced by something else while it was being opened", place(path, real))]
    Replaced {
        /// As given.
        path: PathBuf,
        /// What it led to.
        real: PathBuf,
    },
    /// The operating system refuses.
    #[error("cannot {action} '{}': {source}", path.display())]
    Os {
        /// As given.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's words.
        source: io::Error,
    },
}

impl OpenError {
    /// Returns what was found, without the option that overrides it.
    pub fn found(&self) -> String {
        match self {
            Self::Refused { path, real, findings } => refusal(path, real, findings),
            other => other.to_string(),
        }
    }
}

fn refusal(path: &Path, real: &Path, findings: &[Finding]) -> String {
    findings.iter().fold(format!("{} is not overwritten:", place(path, real)), |mut text, finding| {
        let _ = write!(text, "\n  - {finding}");
        text
    })
}

/// A path, and where it leads if that is elsewhere.
fn place(path: &Path, real: &Path) -> String {
    if path == real {
        format!("'{}'", path.display())
    } else {
        format!("'{}' (which is '{}')", path.display(), real.display())
    }
}
