//! Commands to a served device, whatever protocol they come by.

use flashlane_base::{Duration, Instant};
use flashlane_device::{Buffer, Operation};

/// What a client sees of the device.
#[derive(Clone, Debug)]
pub struct Export {
    /// Bytes that can be addressed.
    pub size_bytes: u64,
    /// Unit of the device's reads and writes. Clients that do not ask for it may use any other.
    pub unit_bytes: u64,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Text for clients that ask for it.
    pub description: String,
}

impl Export {
    /// Name of the export. The empty name means the default export, which is the same.
    pub const NAME: &'static str = "drive";

    pub(crate) fn is_named(&self, name: &[u8]) -> bool {
        name.is_empty() || name == Self::NAME.as_bytes()
    }

    /// Returns the range in whole units that contains a range.
    pub fn whole_units(&self, offset_bytes: u64, length_bytes: u64) -> (u64, u64) {
        let unit = self.unit_bytes;
        let first = offset_bytes / unit * unit;
        (first, (offset_bytes + length_bytes).div_ceil(unit) * unit - first)
    }
}

/// A command as a client asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When it was read, in the time of the device.
    pub at: Instant,
    /// From then until the device had done it.
    pub took: Duration,
    /// Read, write, trim or flush. Zeros count as what they were made of.
    pub operation: Operation,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 0 for a flush only.
    pub length_bytes: u64,
    /// Whether it had to be durable when it ended.
    pub durable: bool,
}

/// A command to carry out. Its range lies inside the export and has at least one byte.
#[derive(Clone, Debug)]
pub struct Command {
    /// Number that the client gave it, for the reply.
    pub cookie: u64,
    /// First byte.
    pub offset_bytes: u64,
    /// Length of the range; 0 for a flush. Below 4 GiB for a status.
    pub length_bytes: u64,
    /// Reply only when the effects are durable (force unit access).
    pub durable: bool,
    /// What to do.
    pub action: Action,
}

/// What a command does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Read.
    Read,
    /// Write: the whole units that contain the range, with the data at its place.
    Write(Buffer),
    /// Make everything durable that was replied to.
    Flush,
    /// The data is not needed any longer.
    Trim,
    /// Write zeros.
    Zero {
        /// The range may be trimmed instead.
        may_trim: bool,
        /// Fail where this is not much faster than writing.
        is_fast: bool,
    },
    /// Report which bytes were written.
    Status {
        /// One extent only.
        is_one: bool,
    },
}

/// An extent of the answer to a [`Action::Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Length.
    pub length_bytes: u32,
    /// Whether nothing was written there, so that it reads as zeros.
    pub is_hole: bool,
}

/// Errors that a command can end with. Their numbers are those of Linux, whatever the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The export is read-only.
    Permission,
    /// The device failed.
    Io,
    /// The command is malformed, or its range is not inside the export.
    Invalid,
    /// A write ends behind the export, or the memory for its data is full.
    NoSpace,
    /// The command is longer than the server takes.
    TooLong,
    /// The server does not do this.
    Unsupported,
    /// The server ends.
    Shutdown,
}

impl Error {
    /// Returns the number in replies.
    pub fn number(self) -> u32 {
        match self {
            Self::Permission => 1,
            Self::Io => 5,
            Self::Invalid => 22,
            Self::NoSpace => 28,
            Self::TooLong => 75,
            Self::Unsupported => 95,
            Self::Shutdown => 108,
        }
    }
}
