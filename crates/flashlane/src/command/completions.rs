//! `flashlane completions SHELL`: prints a completion script.

use crate::failure::{Failure, Status};
use crate::output;
use anyhow::Context;
use clap_complete::Shell;

/// Print shell completions
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

pub fn call(arguments: &Arguments, mut program: clap::Command) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "flashlane", &mut script);
    let script = String::from_utf8(script).context("the completions are no text").map_err(Failure::failed)?;
    output::print(&script)?;
    Ok(Status::Done)
}
