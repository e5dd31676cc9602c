//! The command line: parse, call, exit status.
//!
//! Every command parses all it was given before it opens or writes anything, prints its result before it writes
//! files, and ends with 0 (done), 1 (failed, partial, or a verdict missed) or 2 (unusable arguments). What went
//! wrong is one paragraph on standard error.

mod arguments;
mod command;
mod device;
mod failure;
mod harness;
mod near;
mod output;
mod progress;

use arguments::Arguments;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Usage errors and help end here: 2 and 0.
    let arguments = Arguments::parse();
    match command::call(arguments.command) {
        Ok(status) => status.into(),
        Err(failure) => {
            failure.print();
            failure.status.into()
        }
    }
}
