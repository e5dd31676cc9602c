//! `flashlane trace info|convert|record`: summarizes, converts and records traces.

mod excerpt;
pub(in crate::command) mod out;
mod record;

use crate::command::sdf::counted;
use crate::failure::{Failure, Status, notify};
use crate::options::{OutputOptions, TraceDevice, device_of_trace};
use crate::output;
use crate::progress::metered;
use anyhow::anyhow;
use clap::Subcommand;
use flashlane_result::Warning;
use flashlane_result::ordered::Ordered;
use flashlane_result::trace::{
    BackwardRow, RefusalRow, ShareRow, SizeRow, TRACE_SCHEMA, TraceDeviceRow, TraceResult,
};
use flashlane_trace::{
    Device, Extents, FORMATS, OpenError, OpenOptions, ReadError, Record, Refusal, Share, SideBySide,
    SizeClass, Summary, Trace, TraceStatistics, Writer, files, input_name, is_standard_input, open,
};
use std::fmt::Write;
use std::path::PathBuf;

/// Summarize, convert and record block I/O traces
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES, after_long_help = long_help())]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  flashlane trace info iozone.trace.xz
  flashlane trace info sda --device 8388624  # sda.blktrace.0, sda.blktrace.1 …
  flashlane trace convert prxy_0.csv.gz prxy_0.trace.zst --to disksim
  flashlane trace convert prxy_0.csv.gz prxy_0.spc.xz  # format from the ending
  flashlane trace convert day.msr - --to disksim | head
  flashlane trace info requests.txt --from mqsim --format json";

#[derive(Debug, Subcommand)]
enum Action {
    /// Summarize a trace: its requests, and the lines that are not requests
    Info(InfoArguments),
    /// Convert a trace to another format, and report what that format cannot hold
    Convert(ConvertArguments),
    /// Record the requests to a block device, or the pages that a PostgreSQL accesses, while a program runs or for a
    /// time
    Record(record::Arguments),
    /// Cut a run of transactions out of a recording of page accesses
    Excerpt(excerpt::Arguments),
}

/// A trace as named on the command line.
#[derive(Debug, clap::Args)]
struct Input {
    /// Trace file, compressed (gz, xz, zstd) or not; NAME for NAME.blktrace.0 and so on; - for standard input
    trace: PathBuf,
    /// Format of the trace; default: detected from its content
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Use only the requests of device N, or 'all' to lay all devices side by side as one; default: all devices, each
    /// with its own addresses
    #[arg(long, value_name = "N|all", value_parser = device_of_trace)]
    device: Option<TraceDevice>,
}

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
struct InfoArguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
struct ConvertArguments {
    #[command(flatten)]
    input: Input,
    /// New file to write, compressed if it ends in .gz, .xz, .zst or .zstd; - for standard output
    out: PathBuf,
    /// Format to write; default: from the ending of OUT, as in OUT.msr.gz
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Overwrite OUT, or the target of a link, if it begins as a trace, whatever follows, or is empty
    #[arg(long)]
    force: bool,
}

fn long_help() -> String {
    let mut text = format!("{EXAMPLES}\n\nFormats (docs/traces.md has their fields):\n");
    for format in FORMATS {
        let written = if format.is_written() { "" } else { ", read only" };
        let _ = writeln!(text, "  {:<10} {}{written}", format.name, format.summary);
        let _ = writeln!(text, "             time: {}; {}", format.time_unit, format.codes);
    }
    text
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    match &arguments.action {
        Action::Info(arguments) => info(arguments),
        Action::Convert(arguments) => convert(arguments),
        Action::Record(arguments) => record::call(arguments),
        Action::Excerpt(arguments) => excerpt::call(arguments),
    }
}

fn opened(input: &Input) -> Result<Trace, Failure> {
    let number = match input.device {
        Some(TraceDevice::Number(number)) => Some(number),
        Some(TraceDevice::All) | None => None,
    };
    let options = OpenOptions {
        format: input.from.as_deref(),
        device: number,
        every_device: number.is_none(),
        stop: Some(flashlane_host::interrupted),
    };
    open(&input.trace, &options).map_err(|error| open_failure(error, "--from"))
}

/// Reads the trace to place all its devices side by side, if requested.
fn device_placement(input: &Input) -> Result<SideBySide, Failure> {
    if input.device != Some(TraceDevice::All) {
        return Ok(SideBySide::default());
    }
    if is_standard_input(&input.trace) || files(&input.trace).iter().any(|file| !file.is_file()) {
        return Err(Failure::unusable(anyhow!(
            "--device all reads the trace twice, first for the sizes of its devices, and '{}' is not a regular file: save it \
             to one first",
            input_name(&input.trace)
        )));
    }
    let mut trace = opened(input)?;
    let name = trace.name().to_owned();
    side_by_side(&mut trace, &name)
}

/// Reads a trace for the sizes of its devices, and places them side by side.
pub(super) fn side_by_side(trace: &mut Trace, name: &str) -> Result<SideBySide, Failure> {
    let mut extents = Extents::default();
    metered(trace, format!("reading the sizes of the devices of {name}"))
        .for_each(|record| extents.add(&record));
    if flashlane_host::interrupted() {
        return Err(Failure::failed(anyhow!("stopped on request, before the trace '{name}' was used")));
    }
    SideBySide::new(&extents).map_err(Failure::unusable)
}

/// Returns the error of a trace that was not opened, with the `option` that names its format if that would help.
pub(super) fn open_failure(error: OpenError, option: &str) -> Failure {
    match error {
        OpenError::NotRecognised { .. } | OpenError::Ambiguous { .. } => {
            Failure::unusable(anyhow!("{error} ({option} NAME)"))
        }
        OpenError::Read { source: ReadError::Stopped { .. }, .. } => Failure::failed(error),
        error => Failure::unusable(error),
    }
}

fn info(arguments: &InfoArguments) -> Result<Status, Failure> {
    output::prepare(&arguments.output)?;
    let devices = device_placement(&arguments.input)?;
    let mut trace = opened(&arguments.input)?;
    let name = trace.name().to_owned();
    let mut statistics = TraceStatistics::new();
    for record in metered(&mut trace, format!("reading {name}")) {
        statistics.add(&placed(&devices, record));
    }
    let summary = trace.summary();
    let partial = trace.finish().err().map(|error| error.to_string());
    let result = result(&name, &summary, &statistics, partial.clone());
    output::deliver(&arguments.output, &result, None)?;
    Ok(match partial {
        None => Status::Done,
        Some(reason) => {
            notify(&format!("the trace '{name}': {reason}"));
            Status::Failed
        }
    })
}

/// Moves a request to the place of its device, if devices are laid side by side.
fn placed(devices: &SideBySide, record: Record) -> Record {
    if devices.devices().is_empty() { record } else { devices.place(record) }
}

/// Builds the result: `docs/json.md`.
fn result(
    name: &str,
    summary: &Summary,
    statistics: &TraceStatistics,
    partial: Option<String>,
) -> TraceResult {
    let refusal = |refusal: &Refusal| RefusalRow { line: refusal.number, message: refusal.to_string() };
    let backward = summary.backward.map(|backward| BackwardRow {
        requests: backward.count,
        first_line: backward.first_line,
        longest_ns: backward.longest.as_ns(),
    });
    let device = |device: &Device| TraceDeviceRow {
        number: device.number,
        name: device.name.clone(),
        requests: device.records,
    };
    let size = |class: SizeClass| SizeRow {
        at_most_bytes: class.at_most_bytes,
        reads: class.reads,
        writes: class.writes,
    };
    TraceResult {
        schema: TRACE_SCHEMA.into(),
        trace: name.into(),
        format: summary.format.name.into(),
        time_unit: Some(summary.format.time_unit.into()),
        codes: Some(summary.format.codes.into()),
        compression: summary.compression.map(str::to_owned),
        lines: summary.lines,
        requests: statistics.requests(),
        skipped: summary.skipped,
        refused: summary.refused,
        refusals: summary.refusals.iter().map(refusal).collect(),
        ends_inside_line: summary.ends_inside_line,
        backward,
        span_s: statistics.span().as_s_f64(),
        transferred_bytes: statistics.operations().map(|(_, share)| share.bytes).fold(0, u64::saturating_add),
        operations: Ordered(
            statistics.operations().map(|(operation, share)| (operation.to_string(), row(&share))).collect(),
        ),
        sizes: statistics.sizes().map(size).collect(),
        sequential_share: statistics.sequential_share(),
        highest_bytes: statistics.highest_bytes(),
        footprint_bytes: statistics.footprint_bytes(),
        granule_bytes: statistics.granule_bytes(),
        between_ns: statistics.between().latency(),
        took_ns: (!statistics.took().is_empty()).then(|| statistics.took().latency()),
        devices: summary.devices.iter().map(device).collect(),
        warnings: summary.doubts().map(|doubt| Warning::new(doubt.code(), doubt.to_string())).collect(),
        partial,
    }
}

fn row(share: &Share) -> ShareRow {
    ShareRow {
        requests: share.requests,
        transferred_bytes: share.bytes,
        shortest_bytes: share.shortest_bytes,
        longest_bytes: share.longest_bytes,
        durable: share.durable,
    }
}

fn convert(arguments: &ConvertArguments) -> Result<Status, Failure> {
    let ConvertArguments { input, out, to, force } = arguments;
    let format = out::format(out, to.as_deref(), None)?;
    out::check_not_input(out, &files(&input.trace))?;
    let file = out::create(out, *force)?;
    let devices = device_placement(input)?;
    let mut trace = opened(input)?;
    let writer = Writer::new(format, file).map_err(Failure::unusable)?;
    let source = format!("'{}'", trace.name());
    let what = format!("reading {}", trace.name());
    let written = out::write(&mut trace, what, |record| placed(&devices, record), writer, out);
    let Some(written) = out::ignore_closed_pipe(written)? else { return Ok(Status::Done) };
    let summary = trace.summary();
    let partial = trace.finish().err().map(|error| error.to_string());
    for doubt in summary.doubts() {
        notify(&format!("{source}: {doubt}"));
    }
    if written.records == 0 {
        if let Some(reason) = partial {
            notify(&format!("the trace {source}: {reason}"));
        }
        return Err(out::nothing_written(&source, format, &written, out));
    }
    let (read, written, lost) = (summary.records, written.records, out::losses(&written, "\n  "));
    let read = counted(read, "request", "requests");
    out::print_summary(out, &format!("{read}, {written} written as {}{lost}", format.name))?;
    if let Some(reason) = partial {
        notify(&format!("the trace {source}: {reason}; the requests before that are written"));
        return Ok(Status::Failed);
    }
    Ok(Status::Done)
}
