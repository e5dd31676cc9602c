//! The program whose requests are recorded.

use super::error::RecordError;
use std::ffi::OsString;
use std::io;
use std::process::{self, Command, ExitStatus};

/// A running program. It is terminated where the recording fails, because it was started for the recording.
#[derive(Debug)]
pub(super) struct Child(process::Child);

impl Child {
    /// Starts `command`, a program and its arguments, with the standard streams of this process.
    pub(super) fn start(command: &[OsString]) -> Result<Self, RecordError> {
        let (program, arguments) =
            command.split_first().map_or((OsString::new(), &[][..]), |(p, a)| (p.clone(), a));
        let started = Command::new(&program).args(arguments).spawn();
        let program = program.to_string_lossy().into_owned();
        started.map(Self).map_err(|source| RecordError::Command { program, source })
    }

    /// Returns the exit status, if the program has ended.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // SAFETY: a signal to a process of our own that has not been waited for.
            unsafe { libc::kill(self.0.id() as libc::pid_t, libc::SIGTERM) };
            let _ = self.0.wait();
        }
    }
}
