//! `flashlane calibrate MEASUREMENTS`: the simulated twin of a drive that was measured.

use crate::failure::{Failure, Status, notify};
use crate::input::{RESULT_BYTES, read_text};
use crate::options::Format;
use crate::output;
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_calibrate::{Options, Start, calibrate, read, result_of};
use flashlane_report::Report;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Fit a profile to measurements of a drive: its simulated twin
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    /// Measurements: a CSV file (workload, quantity, value with its unit), fio's JSON, or a probe's result.json
    measurements: PathBuf,
    /// Profile to start from: a built-in drive, or a file that ends in .toml
    #[arg(long, value_name = "PROFILE", default_value = "nvme-tlc")]
    start: String,
    /// File for the twin's profile; a file that exists is not replaced
    #[arg(long, value_name = "FILE.toml")]
    out: PathBuf,
    /// Profiles tried at a time; default: one per core
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Keep channels, packages, planes and cache mode of the start profile
    #[arg(long)]
    keep_counts: bool,
    /// Format of the printed result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  flashlane calibrate drive.csv --out twin.toml
  flashlane calibrate fio.json --start nvme-tlc --out twin.toml
  flashlane calibrate portrait/result.json --start ssd-s --out twin.toml
  flashlane run sim:twin.toml,initial.state=full random-read,depth=64

docs/calibrate.md describes the measurements and what the search does.";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let path = &arguments.measurements;
    let unusable = |reason: String| Failure::unusable(anyhow!("{}: {reason}", path.display()));
    let text = read_text(path, RESULT_BYTES).map_err(unusable)?;
    let rows = read(&text).map_err(|error| unusable(error.to_string()))?;
    let text = super::profile::checked_text(&arguments.start)?;
    let start = Start::new(&arguments.start, &text).map_err(Failure::unusable)?;
    // The search takes long: an unusable file is refused before it, and an interruption leaves none.
    let (_, tried) = output::create_new(&arguments.out)?;
    let _ = tried.remove(&arguments.out);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.map_or_else(cores, usize::from);
    let options = Options { jobs, counts: !arguments.keep_counts, ..Options::default() };
    let meter = Meter::new(format!("fitting {} to {} measurements", arguments.start, rows.len()));
    let fit = calibrate(&start, &rows, &options).map_err(|error| unusable(error.to_string()))?;
    drop(meter);
    let result = result_of(&path.display().to_string(), &start, &rows, &fit);
    output::print(&output::render(arguments.format, &Report::of(&result)))?;
    let name = arguments.out.file_stem().and_then(|name| name.to_str()).unwrap_or("twin");
    let twin = start.twin(name, &fit.settings(&start, rows.len()));
    let (mut file, created) = output::create_new(&arguments.out)?;
    file.write_all(twin.as_bytes()).map_err(|error| {
        // A part of a profile must not be mistaken for a twin.
        let _ = created.remove(&arguments.out);
        Failure::failed(error)
    })?;
    if io::stderr().is_terminal() {
        notify(&format!("the twin is in {}", arguments.out.display()));
    }
    Ok(Status::Done)
}
