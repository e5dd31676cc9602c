//! What a request does: the one list of operations that workloads, devices and traces share.

use std::fmt;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Fetch bytes.
    Read,
    /// Store bytes.
    Write,
    /// Tell the device that bytes are no longer needed; they read as zeros or as before.
    Trim,
    /// Make every write that completed before durable.
    Flush,
    /// Return an erase unit to the erased state.
    Erase,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::Erase => "erase",
        })
    }
}
