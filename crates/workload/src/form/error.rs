//! Errors in written workloads.

use flashlane_base::suggest::hint;
use std::fmt;

/// A position in a written workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the one-line form.
    Inline {
        /// The whole text.
        text: String,
        /// The character, from 1.
        character: usize,
    },
    /// In a job file.
    File {
        /// Name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
}

/// A written workload could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct FormError {
    /// Position of the fault.
    pub place: Place,
    /// The key at fault, if any.
    pub key: Option<String>,
    /// The value given and the values allowed.
    pub reason: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline { text, character } => {
                write!(f, "cannot read workload '{text}' at character {character}")
            }
            Self::File { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

/// A fault of a key, without its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The key at fault; empty for the whole form.
    pub(super) key: &'static str,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self { key, reason: reason.into() }
    }
}

/// `unknown key 'siez' (did you mean 'size'?); allowed: …`
pub(super) fn unknown<'a>(what: &str, given: &str, allowed: impl Iterator<Item = &'a str> + Clone) -> String {
    let hint = hint(given, allowed.clone());
    format!("unknown {what} '{given}'{hint}; allowed: {}", allowed.collect::<Vec<_>>().join(", "))
}
