//! BGSAVE: where backups go, and what clients are told of them.

use std::io;

/// Where a server writes its backups.
pub trait BackupTarget {
    /// Begins a backup, which takes the place of the last one when it is committed.
    ///
    /// # Errors
    /// Errors of the system.
    fn begin(&mut self) -> io::Result<Box<dyn BackupFile>>;
}

/// A backup that is being written. Dropped before its commit, it leaves nothing. The server waits for each call,
/// which writes up to one value.
pub trait BackupFile: io::Write {
    /// Makes it durable, and puts it in its place.
    ///
    /// # Errors
    /// Errors of the system: the last backup stays.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

/// What is known of backups.
#[derive(Clone, Debug, Default)]
pub struct BackupState {
    /// Whether one is being written.
    pub is_running: bool,
    /// When the last one was committed, in milliseconds since 1970; `None` before the first.
    pub last_ms: Option<u64>,
    /// Why the last one that ended was not committed; `None` where it was.
    pub failure: Option<String>,
}
