//! `flashlane uflip export` and `import`: exchange of results with others.

use crate::command::report;
use crate::failure::{Failure, Status};
use crate::input::{RESULT_BYTES, read_text};
use crate::options::OutputOptions;
use crate::output;
use anyhow::anyhow;
use flashlane_uflip as uflip;
use std::path::{Path, PathBuf};

/// Check that a result is complete, and print it as one file to share
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(super) struct ExportArguments {
    /// A result.json of uflip, or its directory
    result: PathBuf,
    /// Include the drive's serial number, if the result has it
    #[arg(long)]
    serial: bool,
}

/// Check exported results, and compare them
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(super) struct ImportArguments {
    /// Exported results
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
}

pub(super) fn export(arguments: &ExportArguments) -> Result<Status, Failure> {
    let path = &arguments.result;
    let file = if path.is_dir() { path.join("result.json") } else { path.clone() };
    let result =
        uflip::import(text(&file)?.as_bytes()).map_err(|error| refused("exported", &file, &error))?;
    let exported =
        uflip::export(&result, arguments.serial).map_err(|error| refused("exported", &file, &error))?;
    output::print(&output::json(&exported))?;
    Ok(Status::Done)
}

pub(super) fn import(arguments: &ImportArguments) -> Result<Status, Failure> {
    let ImportArguments { files, output } = arguments;
    for file in files {
        uflip::import(text(file)?.as_bytes()).map_err(|error| refused("imported", file, &error))?;
    }
    // Imported results are shown like any other.
    report::call(&report::Arguments { results: files.clone(), output: output.clone() })
}

fn text(file: &Path) -> Result<String, Failure> {
    read_text(file, RESULT_BYTES)
        .map_err(|error| Failure::unusable(anyhow!("cannot read the result '{}': {error}", file.display())))
}

fn refused(what: &str, file: &Path, error: &uflip::ExchangeError) -> Failure {
    Failure::unusable(anyhow!("'{}' cannot be {what}: {error}", file.display()))
}
