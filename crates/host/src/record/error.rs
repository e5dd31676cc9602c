//! Why nothing was recorded, and what to do about it.

use super::undo::Undo;
use std::io;
use std::path::PathBuf;

/// Why a block device's requests could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The path does not exist.
    #[error("'{}' does not exist", path.display())]
    NotFound {
        /// As given.
        path: PathBuf,
    },
    /// The path is not a block device, and only those can be traced.
    #[error("'{}' is {found}: requests are recorded where a block device takes them (of a file, losetup makes one)", path.display())]
    NotBlockDevice {
        /// As given.
        path: PathBuf,
        /// Type of the path, with its article.
        found: &'static str,
    },
    /// tracefs is not mounted.
    #[error("tracefs is not mounted; as root: mount -t tracefs tracefs /sys/kernel/tracing")]
    NotMounted,
    /// Tracing requires root.
    #[error("may not {action} '{}' ({source}): recording is for root, and not under a kernel locked down for confidentiality", path.display())]
    Denied {
        /// The file of tracefs or sysfs.
        path: PathBuf,
        /// The step that failed.
        action: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The kernel was built without block tracing.
    #[error("this kernel cannot trace block devices: {missing} is missing (CONFIG_BLK_DEV_IO_TRACE)")]
    NoTracer {
        /// The missing file or tracer.
        missing: String,
    },
    /// Another user of tracing is active, who would receive our events, or whose events would mix with ours.
    #[error("in use: {}; if its user has ended, stop it with: {}", found.join(", "), commands(undo))]
    InUse {
        /// The tracer, events and traced devices in use, by name.
        found: Vec<String>,
        /// Commands that end all of them, and restore the options of a killed recording.
        undo: Vec<Undo>,
    },
    /// The program to record could not be started.
    #[error("cannot run '{program}': {source}")]
    Command {
        /// Name of the program.
        program: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The device received no request, so there is no trace.
    #[error(
        "nothing was recorded: '{}' took no request (what the page cache answers or keeps back never reaches it)",
        path.display()
    )]
    Nothing {
        /// As given.
        path: PathBuf,
    },
    /// The operating system reports an error.
    #[error("cannot {action} '{}': {source}", path.display())]
    Os {
        /// The file.
        path: PathBuf,
        /// The step that failed.
        action: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
}

/// Formats the commands for copying.
fn commands(undo: &[Undo]) -> String {
    undo.iter().map(Undo::to_string).collect::<Vec<_>>().join("; ")
}

impl RecordError {
    /// Wraps an error of the operating system on a file of tracefs or sysfs.
    pub(super) fn os(path: &std::path::Path, action: &'static str, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { path, action, source },
            _ => Self::Os { path, action, source },
        }
    }
}
