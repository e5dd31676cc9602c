//! How a command ended, and why one did not come to its end.

use crate::terminal::printable;
use std::io::Write;
use std::process::ExitCode;

/// Exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All was done.
    Done,
    /// It failed, its result is partial, or a verdict was missed.
    Failed,
    /// The arguments, or a file that they name, cannot be used: to be mended by whoever typed them.
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

/// Why a command has no result.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    error: anyhow::Error,
}

impl Failure {
    /// What was typed cannot be used.
    pub fn unusable(error: impl Into<anyhow::Error>) -> Self {
        Self { status: Status::Unusable, error: error.into() }
    }

    /// The world did not play along.
    pub fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self { status: Status::Failed, error: error.into() }
    }

    /// The error below it, where it is of this type.
    pub fn error<T: std::error::Error + Send + Sync + 'static>(&self) -> Option<&T> {
        self.error.downcast_ref()
    }

    /// Says why on standard error.
    pub fn print(&self) {
        notify(&self.reason());
    }

    /// Why, in a paragraph.
    pub fn reason(&self) -> String {
        paragraph(&self.error)
    }
}

/// Says something on standard error. Where that is gone, there is nobody left to tell.
pub fn notify(message: &str) {
    let _ = writeln!(std::io::stderr(), "flashlane: {}", printable(message));
}

/// The error and its causes in one paragraph. Many errors say their cause themselves: it is not said twice.
fn paragraph(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.as_str() {
            "" => cause,
            told if told.contains(&cause) => text,
            told => format!("{told}: {cause}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_cause_is_told_once() {
        assert_eq!(paragraph(&anyhow!("no room").context("cannot write")), "cannot write: no room");
        assert_eq!(paragraph(&anyhow!("no room").context("cannot write: no room")), "cannot write: no room");
    }
}
