//! Operations, shared by workloads, devices and traces.

use std::fmt;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Discards data, which then reads as zeros or as before.
    Trim,
    /// Makes all previously completed writes durable.
    Flush,
    /// Erases an erase unit; resets a zone.
    Erase,
    /// Writes data at the write pointer of a zone, wherever that is when the device comes to it.
    Append,
    /// Opens a zone explicitly.
    Open,
    /// Closes an open zone.
    Close,
    /// Makes a zone full without further data.
    Finish,
}

impl Operation {
    /// Whether the operation is one of zones, which no other device has: all but the erase that resets one.
    #[inline]
    pub const fn is_of_zones(self) -> bool {
        matches!(self, Self::Append | Self::Open | Self::Close | Self::Finish)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::Erase => "erase",
            Self::Append => "append",
            Self::Open => "open",
            Self::Close => "close",
            Self::Finish => "finish",
        })
    }
}
