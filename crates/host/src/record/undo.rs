//! A command that restores a setting of the kernel.

use std::fmt;
use std::path::PathBuf;

/// A setting of the kernel and the value to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// File of the setting.
    pub path: PathBuf,
    /// Value to write.
    pub value: &'static str,
}

impl fmt::Display for Undo {
    /// Formats the shell command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blank = if self.value.is_empty() { "" } else { " " };
        write!(f, "echo {}{blank}> '{}'", self.value, self.path.display())
    }
}
