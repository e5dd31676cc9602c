//! Errors of reading and writing recordings.

use std::fmt::Display;
use std::io;

/// A field of a recording is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {given}, must be {allowed}")]
pub struct Refused {
    /// The field: `the page of an access`.
    pub field: String,
    /// The value given.
    pub given: String,
    /// The values allowed.
    pub allowed: String,
}

impl Refused {
    #[cold]
    pub(crate) fn new(field: &str, given: impl Display, allowed: &str) -> Self {
        Self { field: field.into(), given: given.to_string(), allowed: allowed.into() }
    }
}

/// A recording could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The content does not begin as a recording does.
    #[error(
        "it is not a recording of transactions: it begins with {given}, must begin with 'flashlane pages'"
    )]
    NotARecording {
        /// Its first bytes: as text where all are printable, else in hexadecimal.
        given: String,
    },
    /// It is of another version.
    #[error(
        "its version is {given}, must be {}: record it again, or use the program that wrote it",
        super::VERSION
    )]
    Version {
        /// The version.
        given: u32,
    },
    /// A field is out of range.
    #[error(
        "{refused} (in the part at byte {offset} of its content; {transactions} transactions were read until then)"
    )]
    Field {
        /// The field, the value, and the allowed ones.
        refused: Refused,
        /// Where its part of the file begins.
        offset: u64,
        /// Transactions before that part and in it.
        transactions: u64,
    },
    /// A part is damaged.
    #[error(
        "the part at byte {offset} of its content {damage}; {transactions} transactions were read until then"
    )]
    Damaged {
        /// What is wrong with it.
        damage: &'static str,
        /// Where it begins.
        offset: u64,
        /// Transactions before.
        transactions: u64,
    },
    /// The system or the decompressor reported an error.
    #[error(
        "reading failed in the part at byte {offset} of its content: {source}; {transactions} transactions were read \
             until then"
    )]
    Io {
        /// The error.
        source: io::Error,
        /// Where the part begins.
        offset: u64,
        /// Transactions before.
        transactions: u64,
    },
}

/// A recording could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened.
    #[error(transparent)]
    File(#[from] flashlane_trace::OpenError),
    /// Its header cannot be used.
    #[error("the recording '{name}': {source}")]
    Read {
        /// Its path.
        name: String,
        /// The reason.
        source: ReadError,
    },
}

/// A recording could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A field is out of range; nothing of its transaction was written.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The system reported an error.
    #[error("cannot write the recording: {0}")]
    Io(#[from] io::Error),
}
