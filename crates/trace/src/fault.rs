//! Faults of a trace's lines, and its devices.

use flashlane_base::Duration;
use flashlane_base::units::format_bytes;
use std::fmt;

/// A refused line or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `line` or `event`.
    pub unit: &'static str,
    /// Its number, from 1.
    pub number: u64,
    /// Its fault.
    pub fault: Fault,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, number, fault } = self;
        write!(f, "{unit} {number}: {fault}")
    }
}

/// A fault of a line or event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A field is missing or invalid.
    #[error("{}", field(what, given, allowed))]
    Field {
        /// The field: `the size`.
        what: &'static str,
        /// The value given, shortened and without control characters; empty where it is missing.
        given: String,
        /// The values allowed.
        allowed: &'static str,
    },
    /// It exceeds the maximum length of a line.
    #[error("it is longer than {}, the most that a line may have", format_bytes(*most_bytes))]
    TooLong {
        /// The maximum.
        most_bytes: u64,
    },
    /// The file ends within the event.
    #[error("the file ends within it")]
    Cut,
    /// It has no valid magic number.
    #[error(
        "its magic number is damaged (it must be blktrace's, of version 7 or 8 and the same in all of a file): \
         {} passed over",
        counted(*passed_bytes, "byte was", "bytes were")
    )]
    Magic {
        /// Bytes from there to the next event, or to the end of the file.
        passed_bytes: u64,
    },
}

fn field(what: &str, given: &str, allowed: &str) -> String {
    if given.is_empty() {
        format!("{what} is missing; it must be {allowed}")
    } else {
        format!("{what} is '{given}', must be {allowed}")
    }
}

/// Formats a number with a noun: `1 request is`, `2 requests are`.
pub(crate) fn counted(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// Requests whose time is before that of an earlier returned request of any device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backward {
    /// Number of such requests.
    pub count: u64,
    /// Line of the first one, from 1.
    pub first_line: u64,
    /// Largest step back from the latest request before one.
    pub longest: Duration,
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number, which selects it.
    pub number: u32,
    /// Its name in the trace, other than the number: `8,16`, a file's name, a host and disk.
    pub name: Option<String>,
    /// Number of its requests.
    pub records: u64,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} ({name})", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}
