//! Where a written workload goes wrong.

use std::fmt;

/// Where in a written workload.
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
        /// What the file is called.
        file: String,
        /// The line, from 1.
        line: usize,
    },
}

/// Why a written workload could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct FormError {
    /// Where.
    pub place: Place,
    /// The key at fault, where there is one.
    pub key: Option<String>,
    /// What was given and what is allowed.
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

/// What is wrong with a key, before it is known where the key stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The key at fault; empty for a form as a whole.
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
    let near = hint(given, allowed.clone());
    format!("unknown {what} '{given}'{near}; allowed: {}", allowed.collect::<Vec<_>>().join(", "))
}

/// ` (did you mean 'size'?)`, where one of those is near to what was given.
pub(crate) fn hint<'a>(given: &str, allowed: impl Iterator<Item = &'a str>) -> String {
    let near = allowed
        .map(|name| (strsim::osa_distance(given, name), name))
        .filter(|&(distance, name)| distance <= 2.max(name.len() / 4))
        .min();
    near.map(|(_, name)| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}
