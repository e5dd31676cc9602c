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
    /// Erases an erase unit.
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
