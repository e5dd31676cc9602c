//! Doubts about measurements on a real device, as data for the result and its page.

use flashlane_base::units::format_bytes;
use flashlane_result::Warning;
use std::fmt;

/// A reason to doubt measurements on a [`crate::FileDevice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The file system refused direct I/O and buffered I/O was explicitly allowed.
    PageCacheNotBypassed,
    /// The file is on an in-memory file system: there is no drive to measure.
    InMemory {
        /// Name of the file system.
        file_system: &'static str,
    },
    /// Parts of the file were never written: the file system answers reads of them without the drive.
    NotAllWritten {
        /// Bytes stored on the drive.
        written_bytes: u64,
        /// Length of the file.
        capacity_bytes: u64,
    },
    /// io_uring is missing or was refused. The fallback, blocking reads and writes on threads, adds its thread switches
    /// to every latency.
    NoIoUring {
        /// The operating system's error number, or zero where threads were requested.
        errno: i32,
        /// Requests in flight at once, each on a thread.
        depth: u32,
    },
    /// The device could not be claimed exclusively: other processes may use it during the measurement.
    NotExclusive,
}

/// The doubts about measurements on one device, in the order in which they were found. Each is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubts(Vec<Doubt>);

impl Doubts {
    /// Adds a doubt, unless it is there already.
    pub(crate) fn raise(&mut self, doubt: Doubt) {
        if !self.contains(&doubt) {
            self.0.push(doubt);
        }
    }

    /// Returns whether this doubt was raised.
    pub fn contains(&self, doubt: &Doubt) -> bool {
        self.0.contains(doubt)
    }

    /// Returns the doubts.
    pub fn iter(&self) -> std::slice::Iter<'_, Doubt> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Doubts {
    type Item = &'a Doubt;
    type IntoIter = std::slice::Iter<'a, Doubt>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Doubt {
    /// Returns a short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PageCacheNotBypassed => "page-cache-not-bypassed",
            Self::InMemory { .. } => "in-memory",
            Self::NotAllWritten { .. } => "not-all-written",
            Self::NoIoUring { .. } => "no-io-uring",
            Self::NotExclusive => "not-exclusive",
        }
    }
}

impl From<&Doubt> for Warning {
    fn from(doubt: &Doubt) -> Self {
        Self::new(doubt.code(), doubt.to_string())
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PageCacheNotBypassed => f.write_str(
                "page cache not bypassed: the file system refuses direct I/O, so memory is measured, not the drive",
            ),
            Self::InMemory { file_system } => {
                write!(f, "the file lies on {file_system}, in memory: there is no drive below it")
            }
            Self::NotAllWritten { written_bytes, capacity_bytes } => write!(
                f,
                "only {} of the file's {} were ever written: reads of the rest never reach the drive",
                format_bytes(*written_bytes),
                format_bytes(*capacity_bytes)
            ),
            Self::NoIoUring { errno: 0, depth } => {
                write!(f, "plain reads and writes on {depth} threads instead of io_uring, as asked")
            }
            Self::NoIoUring { errno, depth } => write!(
                f,
                "io_uring is refused ({}): plain reads and writes on at most {depth} threads instead",
                std::io::Error::from_raw_os_error(*errno)
            ),
            Self::NotExclusive => {
                f.write_str("the device could not be claimed exclusively: others may use it meanwhile")
            }
        }
    }
}
