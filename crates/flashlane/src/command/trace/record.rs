//! `flashlane trace record`: what a block device is asked, while a program runs or for a time.

use super::out;
use crate::failure::{Failure, Status, tell};
use flashlane_base::Duration;
use flashlane_base::units::parse_duration;
use flashlane_host::{Ended, Events, RecordError, Recorded, Until};
use flashlane_trace::{Format, OpenOptions, Output, Trace, WriteError, Writer, output_name};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// The block device, or a partition
    device: PathBuf,
    /// Where to: a new file, compressed if it ends in .gz, .xz or .zst; a pipe, or - for standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The format to write; that of FILE's ending, as in FILE.msr.gz, unless given, else blktrace, which keeps all
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Overwrite FILE where it is there already; where it is a link, what that leads to
    #[arg(long)]
    force: bool,
    /// For how long; without it and without a COMMAND, until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "command")]
    time: Option<Duration>,
    /// A program to run, and to record as long as it runs
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  flashlane trace record /dev/nvme0n1 --out busy.blktrace.zst --time 60s
  flashlane trace record /dev/loop0 --out copy.blktrace.xz -- sh -c 'cp -r src /mnt && sync -f /mnt'
  flashlane trace record /dev/sda --out sda.msr.gz

Needs root, and the kernel's block tracer (tracefs, CONFIG_BLK_DEV_IO_TRACE). Nothing is
written to the device. What the page cache answers never reaches it, and what it keeps
back reaches it later: docs/traces.md.";

/// The format of what the kernel gives.
const RAW: &str = "blktrace";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { device, out, force, .. } = arguments;
    let raw = Format::named(RAW).map_err(Failure::unusable)?;
    let format = out::format(out, arguments.to.as_deref(), Some(raw))?;
    let file = out::begin(out, *force)?;
    let until = match (arguments.time, &arguments.command[..]) {
        (Some(time), _) => Until::Elapsed(time),
        (None, []) => {
            tell(&format!("recording {} until Ctrl-C", device.display()));
            Until::Interrupted
        }
        (None, command) => Until::Exited(command.to_vec()),
    };
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let recorded = flashlane_host::record(device, &until, folder).map_err(|error| match error {
        RecordError::NotFound { .. } | RecordError::NotBlockDevice { .. } | RecordError::Command { .. } => {
            Failure::unusable(error)
        }
        error => Failure::failed(error),
    })?;
    let Recorded { lost_events, took, ended, records_itself, .. } = recorded;
    let written = if format.name == RAW {
        copy(recorded.events, device, file, out)?
    } else {
        convert(recorded.events, device, file, out, format)?
    };
    let Some(written) = written else { return Ok(Status::Done) };
    let device_name = device.display();
    out::say(out, &format!("{written} requests of {device_name} in {took}, as {}", format.name))?;
    if lost_events > 0 {
        tell(&format!("{lost_events} events were lost: the processors were too busy to fetch them in time"));
    }
    if records_itself {
        tell(&format!(
            "'{}' lies on {}: what was kept there meanwhile is in the trace",
            folder.display(),
            device.display()
        ));
    }
    Ok(match (ended, &until) {
        (Ended::Interrupted, Until::Elapsed(_) | Until::Exited(_)) => {
            tell("interrupted; what was recorded until then is written");
            Status::Failed
        }
        (Ended::Exited(status), _) if !status.success() => {
            tell(&format!("the program did not end well ({status}); what was recorded is written"));
            Status::Failed
        }
        _ => Status::Done,
    })
}

fn nothing(device: &Path) -> Failure {
    Failure::failed(RecordError::Nothing { path: device.into() })
}

/// Writes what was recorded as it is: how many requests; nothing if nobody reads it any more.
fn copy(mut events: Events, device: &Path, mut file: Output, out: &Path) -> Result<Option<u64>, Failure> {
    let failed = |source| WriteError::File { path: output_name(out).into(), source };
    let copied = io::copy(&mut events, &mut file).map_err(failed);
    // Completions of what was under way before are no request.
    let written = copied.and_then(|_| if events.requests() > 0 { file.close() } else { Ok(()) });
    if out::unless_closed(written)?.is_none() {
        return Ok(None);
    }
    if events.requests() == 0 {
        return Err(nothing(device));
    }
    if events.skipped_bytes() > 0 {
        tell(&format!("{} bytes of other tracing were left out", events.skipped_bytes()));
    }
    Ok(Some(events.requests()))
}

/// Writes it in another format: how many requests; nothing if nobody reads it any more.
fn convert(
    events: Events,
    device: &Path,
    file: Output,
    out: &Path,
    format: &'static Format,
) -> Result<Option<u64>, Failure> {
    let options = OpenOptions { format: Some(RAW), every_device: true, ..OpenOptions::default() };
    let mut trace =
        Trace::from_reader(events, &device.display().to_string(), &options).map_err(|_| nothing(device))?;
    let writer = Writer::new(format, file).map_err(Failure::unusable)?;
    let what = format!("writing the recording as {}", format.name);
    let Some(written) = out::unless_closed(out::write(&mut trace, what, writer, out))? else {
        return Ok(None);
    };
    for doubt in trace.summary().doubts() {
        tell(&doubt.to_string());
    }
    trace.finish().map_err(Failure::failed)?;
    if written.records == 0 {
        return Err(out::nothing(&format!("the recording of {}", device.display()), format, &written, out));
    }
    if !written.losses.is_empty() {
        tell(&format!("as {}{}", format.name, out::losses(&written, "; ")));
    }
    Ok(Some(written.records))
}
