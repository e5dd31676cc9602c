//! What is wrong with lines of a trace, and which devices they are of.

use flashlane_base::Duration;
use flashlane_base::units::format_bytes;
use std::fmt;

/// A line, or event, that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `line` or `event`.
    pub unit: &'static str,
    /// Which one, from 1.
    pub number: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, number, fault } = self;
        write!(f, "{unit} {number}: {fault}")
    }
}

/// What is wrong with a line, or event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A field is missing or is not what it must be.
    #[error("{}", field(what, given, allowed))]
    Field {
        /// Which: `the size`.
        what: &'static str,
        /// What was given, shortened and without control characters; empty where it is missing.
        given: String,
        /// What would do.
        allowed: &'static str,
    },
    /// It is longer than a line may be.
    #[error("it is longer than {}, the most that a line may have", format_bytes(*most_bytes))]
    TooLong {
        /// The most.
        most_bytes: u64,
    },
    /// The file ends within the event.
    #[error("the file ends within it")]
    Cut,
    /// It does not begin as an event does.
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

/// A number and what it counts: `1 request is`, `2 requests are`.
pub(crate) fn counted(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// Requests that were given out whose time is before that of one that was given out before them, of whatever device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backward {
    /// How many.
    pub count: u64,
    /// The first one's line, from 1.
    pub first_line: u64,
    /// The longest that one lies before the latest request ahead of it.
    pub longest: Duration,
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number, by which it is asked for.
    pub number: u32,
    /// What the trace calls it, where that is not the number: `8,16`, a file's name, a host and disk.
    pub name: Option<String>,
    /// Its requests.
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
