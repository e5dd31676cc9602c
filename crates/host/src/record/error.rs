//! Why nothing was recorded: what was found, and what to do about it.

use super::undo::Undo;
use std::io;
use std::path::PathBuf;

/// Why a block device's requests could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Nothing is there.
    #[error("'{}' does not exist", path.display())]
    NotFound {
        /// As given.
        path: PathBuf,
    },
    /// Only block devices can be traced.
    #[error("'{}' is {found}: requests are recorded where a block device takes them (of a file, losetup makes one)", path.display())]
    NotBlockDevice {
        /// As given.
        path: PathBuf,
        /// What it is, with its article.
        found: &'static str,
    },
    /// The kernel's tracing has no folder.
    #[error("tracefs is not mounted; as root: mount -t tracefs tracefs /sys/kernel/tracing")]
    NotMounted,
    /// Tracing is root's privilege.
    #[error("may not {action} '{}' ({source}): recording is for root, and not under a kernel locked down for confidentiality", path.display())]
    Denied {
        /// The file of tracefs or sysfs.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's words.
        source: io::Error,
    },
    /// The kernel was built without what is needed.
    #[error("this kernel cannot trace block devices: {missing} is missing (CONFIG_BLK_DEV_IO_TRACE)")]
    NoTracer {
        /// The file, or the tracer in it.
        missing: String,
    },
    /// Tracing is somebody else's, who would get what is recorded, or whose events would be mixed in.
    #[error("in use: {}; if whoever started it is gone, this ends it: {}", found.join(", "), commands(undo))]
    InUse {
        /// Tracer, events and traced devices, each with its name.
        found: Vec<String>,
        /// All that ends them, and puts back the options of a recording that was killed.
        undo: Vec<Undo>,
    },
    /// The program whose requests were to be recorded did not start.
    #[error("cannot run '{program}': {source}")]
    Command {
        /// Its name.
        program: String,
        /// The operating system's words.
        source: io::Error,
    },
    /// No request came, so there is no trace.
    #[error(
        "nothing was recorded: '{}' took no request (what the page cache answers or keeps back never reaches it)",
        path.display()
    )]
    Nothing {
        /// As given.
        path: PathBuf,
    },
    /// The operating system refuses.
    #[error("cannot {action} '{}': {source}", path.display())]
    Os {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's words.
        source: io::Error,
    },
}

/// To be copied as they stand.
fn commands(undo: &[Undo]) -> String {
    undo.iter().map(Undo::to_string).collect::<Vec<_>>().join("; ")
}

impl RecordError {
    /// What the operating system said about a file of tracefs or sysfs.
    pub(super) fn os(path: &std::path::Path, action: &'static str, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { path, action, source },
            _ => Self::Os { path, action, source },
        }
    }
}
