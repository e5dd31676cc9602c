//! `flashlane man DIR`: a man page for each command.

use crate::failure::{Failure, Status};
use crate::output::make_directory;
use anyhow::anyhow;
use std::path::PathBuf;

/// Write man pages into a directory
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Output directory, created if missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes a page for `program` and for each of its commands.
pub fn call(arguments: &Arguments, program: clap::Command) -> Result<Status, Failure> {
    make_directory(&arguments.dir)?;
    clap_mangen::generate_to(program, &arguments.dir).map_err(|error| {
        Failure::failed(anyhow!("cannot write the man pages into '{}': {error}", arguments.dir.display()))
    })?;
    Ok(Status::Done)
}
