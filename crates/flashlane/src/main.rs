//! The command line: parse, call, exit status.
//!
//! Every command parses all it was given before it opens or writes anything, prints its result before it writes
//! files, and ends with 0 (done), 1 (failed, partial, or a verdict missed) or 2 (unusable arguments). What went
//! wrong is one paragraph on standard error.

mod arguments;
mod begin;
mod command;
mod device;
mod failure;
mod harness;
mod input;
mod near;
mod output;
mod progress;
mod sweep;
mod terminal;
mod workload;

use arguments::Arguments;
use clap::Parser;
use clap::error::ErrorKind;
use failure::{Status, tell};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    match command::call(arguments.command) {
        Ok(status) => status.into(),
        Err(failure) => {
            failure.print();
            failure.status.into()
        }
    }
}

/// Shows the help that was asked for, or says what is wrong with the arguments in the same form as any other error.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        // Nobody is left to tell where this fails.
        let _ = error.print();
    } else {
        let text = error.render().to_string();
        tell(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    }
    if error.use_stderr() { Status::Unusable.into() } else { Status::Done.into() }
}
