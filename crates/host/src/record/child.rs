//! The program whose requests are recorded.

use super::error::RecordError;
use std::ffi::OsString;
use std::process::{self, Command, ExitStatus};

/// A running program. It is terminated where the recording fails, because it was started for the recording.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    program: String,
}

impl Child {
    /// Starts `command`, a program and its arguments, with the standard streams of this process.
    pub(super) fn start(command: &[OsString]) -> Result<Self, RecordError> {
        let (program, arguments) =
            command.split_first().map_or((OsString::new(), &[][..]), |(p, a)| (p.clone(), a));
        let started = Command::new(&program).args(arguments).spawn();
        let program = program.to_string_lossy().into_owned();
        match started {
            Ok(process) => Ok(Self { process, program }),
            Err(source) => Err(RecordError::Command { program, source }),
        }
    }

    /// Returns the exit status, if the program has ended.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, RecordError> {
        let wait = |source| RecordError::Os { path: self.program.clone().into(), action: "wait for", source };
        self.process.try_wait().map_err(wait)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            // SAFETY: a signal to a process of our own that has not been waited for.
            unsafe { libc::kill(self.process.id() as libc::pid_t, libc::SIGTERM) };
            let _ = self.process.wait();
        }
    }
}
