//! Standard error, where it is a device that no message may overwrite.

use rustix::stdio::{dup2_stderr, stdout};
use std::fs::File;
use std::io;

/// Leads standard error to standard output, if `to_output`, and to nowhere otherwise, for the rest of the program.
///
/// # Errors
/// The system's error: messages still go where they went.
pub fn redirect_standard_error(to_output: bool) -> io::Result<()> {
    if to_output {
        return Ok(dup2_stderr(stdout())?);
    }
    Ok(dup2_stderr(File::options().write(true).open("/dev/null")?)?)
}
