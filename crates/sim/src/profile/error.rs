//! What can be wrong with a profile, and where.

use std::fmt;

/// Why a profile cannot be used: the place, the value given, the values allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The profile's name or file.
    pub file: String,
    /// The line, counted from 1, where one can be named.
    pub line: Option<usize>,
    /// The field as a dotted path, where one can be named.
    pub field: Option<String>,
    /// The value given and the values allowed.
    pub reason: String,
    /// What else is wrong, as far as it can be found beside this.
    pub others: Vec<ConfigError>,
}

impl ConfigError {
    pub(super) fn new(file: &str, reason: impl fmt::Display) -> Self {
        Self { file: file.into(), line: None, field: None, reason: reason.to_string(), others: Vec::new() }
    }

    /// The same error without the lines, of a text that is no file.
    pub(super) fn without_lines(self) -> Self {
        let others = self.others.into_iter().map(Self::without_lines).collect();
        Self { line: None, others, ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "profile {}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field {field}")?;
        }
        write!(f, ": {}", self.reason)?;
        self.others.iter().try_for_each(|other| write!(f, "\n{other}"))
    }
}

impl std::error::Error for ConfigError {}
