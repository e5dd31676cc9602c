//! Output of results: standard output first, then the files of `--out`, so that a full disk loses no result.

use crate::failure::{Failure, notify};
use crate::options::{Format, OutputOptions};
use crate::terminal::printable;
use anyhow::anyhow;
use flashlane_device::{Part, TimeSplit};
use flashlane_host::{CreateError, Created, check_place, create_empty};
use flashlane_measure::statistics::Sample;
use flashlane_open::Target;
use flashlane_report::{Renamed, Report, ReportError, Reportable, Samples, write_all};
use flashlane_result::{Machine, OnDevice};
use serde_json::Value;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Directories that this process made, an inner one before the one that it is in.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Creates the directory of `--out` before the measurement, and checks that it may hold the result: a typing error must
/// not cost a long run.
pub fn prepare(options: &OutputOptions) -> Result<(), Failure> {
    let Some(dir) = &options.out else { return Ok(()) };
    make_directory(dir)?;
    flashlane_report::check_place(dir, options.force).map_err(|error| {
        let forced = match error {
            ReportError::NotAResults { .. } => ", or --force to write into this one",
            ReportError::Foreign { .. } | ReportError::OldResult { .. } => ", or --force to replace it",
            _ => "",
        };
        Failure::unusable(anyhow!("{error}; give --out an empty or new directory{forced}"))
    })
}

/// Does the same as [`prepare`] for the result of a device, which must not be a file in that directory, nor keep its
/// bytes in one.
pub fn prepare_for_device(options: &OutputOptions, target: &Target) -> Result<(), Failure> {
    if let Some(dir) = &options.out {
        let mut files = target.path().into_iter().chain(target.bytes_file());
        if let Some(device) = files.find(|file| is_in(file, dir)) {
            return Err(Failure::unusable(anyhow!(
                "'{}' is in the directory of --out, where result files could overwrite it; nothing was touched. Give \
                 another directory",
                device.display()
            )));
        }
    }
    prepare(options)
}

/// Returns whether a file is in a directory, or will be where it does not exist.
pub fn is_in(file: &Path, dir: &Path) -> bool {
    let place = file.canonicalize().or_else(|_| std::path::absolute(file)).ok();
    place.as_deref().and_then(Path::parent).is_some_and(|folder| flashlane_host::is_same_file(folder, dir))
}

pub fn make_directory(dir: &Path) -> Result<(), Failure> {
    if dir.exists() && !dir.is_dir() {
        return Err(Failure::unusable(anyhow!(
            "'{}' is not a directory, and results are files in one",
            dir.display()
        )));
    }
    check_place(dir).and_then(|()| check_place(&dir.join("result.json"))).map_err(Failure::unusable)?;
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let missing: Vec<PathBuf> = dir.ancestors().take_while(is_missing).map(Path::to_owned).collect();
    std::fs::create_dir_all(dir).map_err(|error| {
        Failure::unusable(anyhow!("cannot create the directory '{}': {error}", dir.display()))
    })?;
    MADE.lock().unwrap_or_else(PoisonError::into_inner).extend(missing);
    Ok(())
}

/// Removes the directories that this command made and put nothing into: a refused one leaves none behind.
pub fn remove_empty_directories() {
    // Those that hold something are kept by the system.
    for dir in MADE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = std::fs::remove_dir(dir);
    }
}

/// Creates a file for data; a file that exists is refused. Also returns what identifies the file, to remove no other.
pub fn create_new(path: &Path) -> Result<(File, Created), Failure> {
    create_empty(path).map_err(|error| match error {
        CreateError::Exists { .. } => Failure::unusable(anyhow!(
            "cannot create '{}': it exists already, and is not replaced",
            path.display()
        )),
        CreateError::Os { source, .. } => {
            Failure::unusable(anyhow!("cannot create '{}': {source}", path.display()))
        }
        error => Failure::unusable(error),
    })
}

/// Adds drive, system and date to the result of a real device.
pub fn add_machine(result: &mut impl OnDevice, target: &Target) {
    *result.machine_mut() =
        target.real().map(|real| Machine { date: Some(flashlane_host::date()), ..real.identity().clone() });
}

/// Returns single requests as columns, with the parts of their latency where they are recorded.
pub fn samples(samples: &[Sample]) -> Result<Samples, Failure> {
    let column = |of: fn(&Sample) -> u64| samples.iter().map(of).collect();
    let requests = Samples::new()
        .with_u64("submitted_ns", column(|sample| sample.submitted_ns))
        .and_then(|samples| samples.with_u64("latency_ns", column(|sample| sample.latency_ns)))
        .and_then(|samples| samples.with_u64("offset_bytes", column(|sample| sample.offset_bytes)))
        .and_then(|samples| samples.with_u64("job", column(|sample| u64::from(sample.job))))
        .and_then(|samples| samples.with_u64("operation", column(|sample| sample.operation as u64)))
        .map_err(Failure::failed)?;
    let splits: Option<Vec<&TimeSplit>> = samples.iter().map(|sample| sample.split.as_deref()).collect();
    let Some(splits) = splits.filter(|splits| !splits.is_empty()) else { return Ok(requests) };
    let mut columns = Part::ALL.map(|part| (part, Vec::with_capacity(splits.len())));
    // A few at a time, since each has its own memory, which the processor's cache keeps for all parts.
    for some in splits.chunks(1024) {
        for (part, times) in &mut columns {
            times.extend(some.iter().map(|split| split.of(*part).as_ns()));
        }
    }
    let with_part = |requests: Samples, (part, times): (Part, Vec<u64>)| {
        requests.with_u64(&format!("{}_ns", part.name()), times)
    };
    columns.into_iter().try_fold(requests, with_part).map_err(Failure::failed)
}

/// Prints a result and writes its files.
pub fn deliver(
    options: &OutputOptions,
    result: &impl Reportable,
    samples: Option<&Samples>,
) -> Result<(), Failure> {
    deliver_report(options, &Report::of(result), samples)
}

/// Prints a result that is already a report, and writes its files.
pub fn deliver_report(
    options: &OutputOptions,
    report: &Report,
    samples: Option<&Samples>,
) -> Result<(), Failure> {
    let printed = print(&render(options.format, report));
    write_files(options, report, samples)?;
    printed
}

/// Writes the files of a result, if there is a directory for them.
pub fn write_files(
    options: &OutputOptions,
    report: &Report,
    samples: Option<&Samples>,
) -> Result<(), Failure> {
    let Some(dir) = &options.out else { return Ok(()) };
    let written = write_all(dir, options.force, report, samples).map_err(Failure::failed)?;
    for Renamed { taken, plot } in &written.renamed {
        notify(&format!(
            "warning: '{}' exists and is not an unchanged file of a result of Flashlane: it is kept, and the plot is in '{}'",
            taken.display(),
            plot.display()
        ));
    }
    if io::stderr().is_terminal() {
        let page = dir.join("report.html");
        notify(&format!("{} files in {}; open {}", written.files.len(), dir.display(), page.display()));
    }
    Ok(())
}

/// Renders a result. JSON lacks the figures, which are only for drawing, and the list of files with its checksums;
/// `result.json` has them.
pub fn render(format: Format, report: &Report) -> String {
    match format {
        Format::Text => report.text(width()),
        Format::Csv => report.csv(),
        Format::Json => {
            let mut lean = report.json().clone();
            if let Some(fields) = lean.as_object_mut() {
                fields.retain(|name, _| !["figures", "files", "checksums"].contains(&name.as_str()));
            }
            json(&lean)
        }
    }
}

/// Renders several results: a comparison of those of a kind, or the JSON of each.
pub fn render_several(format: Format, reports: &[&Report]) -> String {
    match format {
        Format::Text => flashlane_report::text_of_several(reports, width()),
        Format::Csv => flashlane_report::csv_of_several(reports),
        Format::Json => reports.iter().map(|report| render(format, report)).collect(),
    }
}

/// Formats JSON indented, with a line end.
pub fn json(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Prints on standard output. A closed pipe (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    match write_out(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(anyhow!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

pub fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable(text).as_bytes()).and_then(|()| out.flush())
}

/// Returns the width of the terminal, limited to 40 to 120 columns; 80 without a terminal.
pub fn width() -> usize {
    match terminal_size::terminal_size_of(io::stdout()) {
        Some((terminal_size::Width(cells), _)) => usize::from(cells).clamp(40, 120),
        None => 80,
    }
}
