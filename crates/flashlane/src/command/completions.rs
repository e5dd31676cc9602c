//! `flashlane completions SHELL`: what a shell needs to complete our arguments.

use crate::failure::{Failure, Status};
use crate::output;
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let mut script = Vec::new();
    let mut command = crate::arguments::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "flashlane", &mut script);
    let script = String::from_utf8(script).context("the completions are no text").map_err(Failure::failed)?;
    output::print(&script)?;
    Ok(Status::Done)
}
