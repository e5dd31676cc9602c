//! `flashlane report RESULT…`: results drawn again, without running anything.

use crate::arguments::OutputOptions;
use crate::failure::{Failure, Status};
use crate::input::{RESULT_BYTES, read_text};
use crate::output;
use anyhow::anyhow;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Draw results again: as text, or as one page with all of them side by side
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    /// result.json files, or the directories they lie in
    #[arg(required = true, value_name = "RESULT")]
    results: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
}

const EXAMPLES: &str = "\
Examples:
  flashlane report portrait
  flashlane report before/result.json after/result.json --out comparison
  flashlane report steady --format csv";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let results: Vec<Value> = arguments.results.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    output::prepare(&arguments.output)?;
    if let [result] = &results[..] {
        output::deliver(&arguments.output, result, None)?;
        return Ok(Status::Done);
    }
    let texts: Vec<String> =
        results.iter().map(|result| output::render(arguments.output.format, result)).collect();
    output::print(&texts.join("\n"))?;
    if let Some(dir) = &arguments.output.out {
        flashlane_report::write_page(dir, &results).map_err(Failure::failed)?;
    }
    Ok(Status::Done)
}

/// A result, from its file or the directory that `--out` named.
fn read(path: &Path) -> Result<Value, Failure> {
    let file = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
    let unusable = |what: &str, why: String| {
        Failure::unusable(anyhow!("cannot {what} the result '{}': {why}", file.display()))
    };
    let text = read_text(&file, RESULT_BYTES).map_err(|error| unusable("read", error))?;
    let result = serde_json::from_str(&text).map_err(|error| unusable("read", error.to_string()))?;
    flashlane_report::check(&result).map_err(|error| unusable("show", error.to_string()))?;
    Ok(result)
}
