//! The commands, one a file: what each takes, and what it calls.

pub mod completions;
pub mod man;
pub mod probe;
pub mod profile;
pub mod replay;
pub mod report;
pub mod run;
pub mod sdf;
pub mod study;
pub mod trace;
pub mod uflip;

use crate::arguments::Command;
use crate::failure::{Failure, Status};

/// Calls the command.
pub fn call(command: Command) -> Result<Status, Failure> {
    // Where no handler can be installed, Ctrl-C ends the program at once, as without one.
    let _ = flashlane_host::catch_interrupts();
    match command {
        Command::Probe(arguments) => probe::call(&arguments),
        Command::Uflip(arguments) => uflip::call(&arguments),
        Command::Run(arguments) => run::call(&arguments),
        Command::Replay(arguments) => replay::call(&arguments),
        Command::Sdf(arguments) => sdf::call(&arguments),
        Command::Study(arguments) => study::call(&arguments),
        Command::Trace(arguments) => trace::call(&arguments),
        Command::Profile(arguments) => profile::call(&arguments),
        Command::Report(arguments) => report::call(&arguments),
        Command::Completions(arguments) => completions::call(&arguments),
        Command::Man(arguments) => man::call(&arguments),
    }
}
