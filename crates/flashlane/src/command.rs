//! The commands, one per file: arguments and implementation.

pub mod advise;
pub mod calibrate;
pub mod completions;
pub mod man;
pub mod probe;
pub mod profile;
pub mod replay;
pub mod report;
pub mod run;
pub mod sdf;
pub mod serve;
pub mod store;
pub mod study;
pub mod trace;
pub mod transactions;
pub mod uflip;

use crate::arguments::{Arguments, Command};
use crate::failure::{Failure, Status};
use crate::terminal::printable;
use clap::CommandFactory;

pub fn call(command: Command) -> Result<Status, Failure> {
    flashlane_host::report_file_size_limit();
    if handles_interrupt(&command) {
        // If no handler can be installed, Ctrl-C ends the program at once, as by default.
        let name = std::env::args().nth(1).unwrap_or_default();
        let last_words =
            format!("flashlane: stopped on request before 'flashlane {}' was done", printable(&name));
        let _ = flashlane_host::catch_interrupts(&last_words);
    }
    match command {
        Command::Probe(arguments) => probe::call(&arguments),
        Command::Uflip(arguments) => uflip::call(&arguments),
        Command::Run(arguments) => run::call(&arguments),
        Command::Replay(arguments) => replay::call(&arguments),
        Command::Transactions(arguments) => transactions::call(&arguments),
        Command::Sdf(arguments) => sdf::call(&arguments),
        Command::Store(arguments) => store::call(&arguments),
        Command::Serve(arguments) => serve::call(&arguments),
        Command::Advise(arguments) => advise::call(&arguments),
        Command::Calibrate(arguments) => calibrate::call(&arguments),
        Command::Study(arguments) => study::call(&arguments),
        Command::Trace(arguments) => trace::call(&arguments),
        Command::Profile(arguments) => profile::call(&arguments),
        Command::Report(arguments) => report::call(&arguments),
        Command::Completions(arguments) => completions::call(&arguments, Arguments::command()),
        Command::Man(arguments) => man::call(&arguments, Arguments::command()),
    }
}

/// Returns whether Ctrl-C lets the command report a partial result or clean up. Other commands end at once.
fn handles_interrupt(command: &Command) -> bool {
    match command {
        Command::Sdf(arguments) => arguments.handles_interrupt(),
        Command::Store(arguments) => arguments.handles_interrupt(),
        Command::Calibrate(_)
        | Command::Profile(_)
        | Command::Report(_)
        | Command::Completions(_)
        | Command::Man(_) => false,
        Command::Probe(_)
        | Command::Uflip(_)
        | Command::Run(_)
        | Command::Replay(_)
        | Command::Transactions(_)
        | Command::Serve(_)
        | Command::Advise(_)
        | Command::Study(_)
        | Command::Trace(_) => true,
    }
}
