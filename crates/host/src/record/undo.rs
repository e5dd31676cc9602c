//! A setting of the kernel to put back, as a command.

use std::fmt;
use std::path::PathBuf;

/// What a setting of the kernel's would have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// Its file.
    pub path: PathBuf,
    /// What to write to it.
    pub value: &'static str,
}

impl fmt::Display for Undo {
    /// As a command of the shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blank = if self.value.is_empty() { "" } else { " " };
        write!(f, "echo {}{blank}> '{}'", self.value, self.path.display())
    }
}
