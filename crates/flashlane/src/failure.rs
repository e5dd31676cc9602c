//! Exit statuses and errors of commands.

use crate::suggest::quoted;
use crate::terminal::printable;
use flashlane_open::Target;
use std::io::Write;
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Done,
    /// The command failed, its result is partial, or a verdict was missed.
    Failed,
    /// The arguments, or a file that they name, cannot be used; the user has to change them.
    Unusable,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Failed => Self::from(1),
            Status::Unusable => Self::from(2),
        }
    }
}

/// An error that ends a command, with its exit status.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    error: anyhow::Error,
}

impl Failure {
    /// The arguments cannot be used.
    pub fn unusable(error: impl Into<anyhow::Error>) -> Self {
        Self { status: Status::Unusable, error: error.into() }
    }

    /// The operation failed at run time.
    pub fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self { status: Status::Failed, error: error.into() }
    }

    /// Returns the underlying error, if it has this type.
    pub fn error<T: std::error::Error + Send + Sync + 'static>(&self) -> Option<&T> {
        self.error.downcast_ref()
    }

    /// Adds what to do.
    pub fn with_remedy(self, remedy: &str) -> Self {
        Self { status: self.status, error: anyhow::anyhow!("{}. {remedy}", self.reason()) }
    }

    /// Prints the reason on standard error.
    pub fn print(&self) {
        notify(&self.reason());
    }

    /// Prints the reason on standard error. The device of the command takes the place of the word `DEVICE` in the
    /// commands that errors of other crates suggest.
    pub fn print_of(&self, device: &Target) {
        notify(&self.reason().replace(" DEVICE ", &format!(" {} ", quoted(&device.to_string()))));
    }

    /// Returns the error and its causes as one paragraph.
    pub fn reason(&self) -> String {
        paragraph(&self.error)
    }
}

/// Prints a message on standard error, and ignores a closed standard error.
pub fn notify(message: &str) {
    let _ = writeln!(std::io::stderr(), "flashlane: {}", printable(message));
}

/// Joins the error and its causes, without causes that the text already contains.
fn paragraph(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.as_str() {
            "" => cause,
            so_far if so_far.contains(&cause) => text,
            so_far => format!("{so_far}: {cause}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn paragraph_names_each_cause_once() {
        assert_eq!(paragraph(&anyhow!("no room").context("cannot write")), "cannot write: no room");
        assert_eq!(paragraph(&anyhow!("no room").context("cannot write: no room")), "cannot write: no room");
    }
}
