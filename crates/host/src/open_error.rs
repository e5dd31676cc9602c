//! Why a real drive was not opened, and what is required.

use crate::depth::DEPTH_MAX;
use crate::finding::Finding;
use flashlane_base::units::exact_bytes;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path does not exist.
    #[error("'{}' does not exist", path.display())]
    NotFound {
        /// As given.
        path: PathBuf,
    },
    /// The target is neither a block device nor a regular file.
    #[error("{} is {found}: a block device or a regular file is needed", place(path, real))]
    NotStorage {
        /// As given.
        path: PathBuf,
        /// The real path.
        real: PathBuf,
        /// Type of the target, with its article.
        found: &'static str,
    },
    /// The target looks like existing data.
    #[error(
        "{}\n{}repeat its path with --really if all of it may be destroyed",
        refusal(path, real, findings),
        if has_users(findings) { "stop that use first, or " } else { "" }
    )]
    Refused {
        /// As given.
        path: PathBuf,
        /// The real path.
        real: PathBuf,
        /// Everything found.
        findings: Vec<Finding>,
    },
    /// The repeated path differs from the given one.
    #[error("--really names '{}', but the device is {}: repeat the path as it is given there, {}", really.display(), place(path, real), path.display())]
    ReallyMismatch {
        /// As given.
        path: PathBuf,
        /// The real path.
        real: PathBuf,
        /// The path given as confirmation.
        really: PathBuf,
    },
    /// The device refuses writes.
    #[error("{} is write-protected: only read from it, or make it writable with blockdev", place(path, real))]
    WriteProtected {
        /// As given.
        path: PathBuf,
        /// The real path.
        real: PathBuf,
    },
    /// Another process (such as a second Flashlane) has locked it.
    #[error("{} is in use: {}; stop that use first", place(path, real), users_named(users))]
    Locked {
        /// As given.
        path: PathBuf,
        /// The real path.
        real: PathBuf,
        /// The processes that have it open, as far as they can be seen.
        users: Vec<Finding>,
    },
    /// The file system does not support direct I/O, and buffered I/O was not allowed.
    #[error(
        "{} lies on a file system without direct I/O: the page cache would be measured, not the drive",
        place(path, real)
    )]
    NoDirectIo {
        /// As given.
        path: PathBuf,
        /// The real path.
        real: PathBuf,
    },
    /// The target is shorter than one request.
    #[error(
        "{} is {} long, but requests are multiples of {}",
        place(path, real), exact_bytes(*length_bytes), exact_bytes(*unit_bytes)
    )]
    TooSmall {
        /// As given.
        path: PathBuf,
        /// The real path.
        real: PathBuf,
        /// Length of the target.
        length_bytes: u64,
        /// Length of the smallest request.
        unit_bytes: u64,
    },
    /// The depth is out of range.
    #[error("depth {depth} is invalid: 1 to {DEPTH_MAX} requests may be in flight")]
    Depth {
        /// As given.
        depth: u32,
    },
    /// Another file replaced the target between the check and the open.
    #[error("{} was replaced by something else while it was being opened", place(path, real))]
    Replaced {
        /// As given.
        path: PathBuf,
        /// The real path at the time of the check.
        real: PathBuf,
    },
    /// The operating system reports an error.
    #[error("cannot {action} '{}': {source}", path.display())]
    Os {
        /// As given.
        path: PathBuf,
        /// The step that failed.
        action: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
}

impl OpenError {
    /// Returns the findings, without the hint to the option that overrides them.
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

/// Returns whether a process has the target open.
fn has_users(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| matches!(finding, Finding::Open { .. }))
}

/// Names the processes that may hold a lock.
fn users_named(users: &[Finding]) -> String {
    if users.is_empty() {
        return "another process has locked it".to_owned();
    }
    let users: Vec<String> = users.iter().map(ToString::to_string).collect();
    format!("another process has locked it, and {}", users.join(", and "))
}

/// Formats a path, with the real path where that differs.
fn place(path: &Path, real: &Path) -> String {
    if path == real {
        format!("'{}'", path.display())
    } else {
        format!("'{}' (which is '{}')", path.display(), real.display())
    }
}
