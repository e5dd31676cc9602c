//! `flashlane report RESULT…`: renders saved results again, without measuring.

use crate::failure::{Failure, Status};
use crate::input::{RESULT_BYTES, read_text};
use crate::options::OutputOptions;
use crate::output;
use anyhow::anyhow;
use flashlane_host::is_same_file;
use flashlane_report::{PageInput, Report, Samples};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Print a saved result again, or compare several
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    /// result.json files, or their directories
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputOptions,
}

const EXAMPLES: &str = "\
Examples:
  flashlane report portrait
  flashlane report before/result.json after/result.json --out comparison
  flashlane report steady --format csv";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let results: Vec<(PathBuf, Report)> =
        arguments.results.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    check_replaced(&arguments.output, &results)?;
    output::prepare(&arguments.output)?;
    // Only the page shows samples.
    let with_page = arguments.output.out.is_some();
    let of = |(file, _): &(PathBuf, Report)| if with_page { samples(file) } else { Ok(None) };
    let samples: Vec<Option<Samples>> = results.iter().map(of).collect::<Result<_, _>>()?;
    if let [(_, result)] = &results[..] {
        output::deliver_report(&arguments.output, result, samples[0].as_ref())?;
        return Ok(Status::Done);
    }
    let reports: Vec<&Report> = results.iter().map(|(_, report)| report).collect();
    output::print(&output::render_several(arguments.output.format, &reports))?;
    if let Some(dir) = &arguments.output.out {
        let both = results.iter().zip(&samples);
        let shown: Vec<PageInput<'_>> =
            both.map(|((_, report), samples)| PageInput { report, samples: samples.as_ref() }).collect();
        flashlane_report::write_page(dir, arguments.output.force, &shown).map_err(Failure::failed)?;
    }
    Ok(Status::Done)
}

/// Refuses to replace another result: it was measured, and this command measures nothing that could take its place.
/// `--force` allows it, and the directory of the only result that is shown is its own.
fn check_replaced(output: &OutputOptions, results: &[(PathBuf, Report)]) -> Result<(), Failure> {
    let Some(dir) = output.out.as_deref().filter(|_| !output.force) else { return Ok(()) };
    let saved = dir.join("result.json");
    let is_own = |(shown, _): &(PathBuf, Report)| results.len() == 1 && is_same_file(shown, &saved);
    if !saved.exists() || results.iter().any(is_own) {
        return Ok(());
    }
    Err(Failure::unusable(anyhow!(
        "'{}' holds a saved result, which would be lost; give --out an empty or new directory, or --force to replace it",
        dir.display()
    )))
}

/// Reads the samples beside a `result.json`, if they were saved.
fn samples(result: &Path) -> Result<Option<Samples>, Failure> {
    if result.file_name().is_some_and(|name| name == "result.json") {
        return Samples::read(&result.with_file_name("samples.parquet")).map_err(Failure::unusable);
    }
    Ok(None)
}

/// Reads a result from its file or the directory of `--out`. Returns the file and the result.
fn read(path: &Path) -> Result<(PathBuf, Report), Failure> {
    let file = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
    let unusable = |what: &str, why: String| {
        Failure::unusable(anyhow!("cannot {what} the result '{}': {why}", file.display()))
    };
    // A pipe or device may never end.
    let kind = std::fs::metadata(&file).map_err(|error| unusable("read", error.to_string()))?;
    if !kind.is_file() {
        return Err(unusable("read", "it is neither a regular file nor the directory of a result".into()));
    }
    let text = read_text(&file, RESULT_BYTES).map_err(|error| unusable("read", error))?;
    let result: Value = serde_json::from_str(&text).map_err(|error| unusable("read", error.to_string()))?;
    let report = Report::read(result).map_err(|error| unusable("show", error.to_string()))?;
    Ok((file, report))
}
