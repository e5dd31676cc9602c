//! `flashlane man DIR`: a man page for each command.

use crate::failure::{Failure, Status};
use crate::output::make_directory;
use anyhow::anyhow;
use clap::CommandFactory;
use std::path::PathBuf;

/// Write the man pages into a directory
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The directory; made where it is missing
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    make_directory(&arguments.dir)?;
    clap_mangen::generate_to(crate::arguments::Arguments::command(), &arguments.dir).map_err(|error| {
        Failure::failed(anyhow!("cannot write the man pages into '{}': {error}", arguments.dir.display()))
    })?;
    Ok(Status::Done)
}
