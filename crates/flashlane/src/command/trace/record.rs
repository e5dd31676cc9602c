//! `flashlane trace record`: records the requests to a block device, or the page accesses of a PostgreSQL, while a
//! program runs or for a time.

mod layout;
mod postgres;

use super::out;
use crate::command::sdf::counted;
use crate::failure::{Failure, Status, notify};
use anyhow::anyhow;
use flashlane_base::Duration;
use flashlane_base::units::parse_duration;
use flashlane_host::{Ended, Events, RecordError, Recorded, Recorder, Until};
use flashlane_trace::{
    Format, OpenError, OpenOptions, Output, ReadError, Trace, WriteError, Writer, output_name,
};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// Block device or partition to record
    #[arg(required_unless_present = "postgres", conflicts_with = "postgres")]
    device: Option<PathBuf>,
    /// Record a running PostgreSQL instead, up to version 15: the page accesses of its transactions. BIN is its server
    /// program, such as /usr/lib/postgresql/15/bin/postgres
    #[arg(long, value_name = "BIN", requires = "database")]
    postgres: Option<PathBuf>,
    /// Database whose pages are recorded
    #[arg(long, value_name = "NAME", requires = "postgres")]
    database: Option<String>,
    /// Compare the recorded writes with the pages in the server's log, which pg_waldump lists after the recording
    #[arg(long, requires = "postgres")]
    check_log: bool,
    /// New file to write, compressed if it ends in .gz, .xz, .zst or .zstd; or a pipe; - for standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Format to write; default: from the ending of FILE, as in FILE.msr.gz, or else blktrace, which keeps everything
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Overwrite FILE, or the target of a link, if it begins as a trace, whatever follows, or is empty
    #[arg(long)]
    force: bool,
    /// How long to record; default: as long as COMMAND runs, or until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "command")]
    time: Option<Duration>,
    /// Program to run; recording ends with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  flashlane trace record /dev/nvme0n1 --out busy.blktrace.zst --time 60s
  flashlane trace record /dev/loop0 --out copy.blktrace.xz -- sh -c \\
      'cp -r src /mnt && sync -f /mnt'
  flashlane trace record /dev/sda --out sda.msr.gz
  flashlane trace record --postgres /usr/lib/postgresql/15/bin/postgres \\
      --database bench \\
      --out bench.pages.xz -- runuser -u postgres -- pgbench -n -c 10 -T 60 bench

Requires root and the kernel's block tracer (tracefs, CONFIG_BLK_DEV_IO_TRACE). Nothing is
written to the device. Reads served by the page cache never reach the device, and cached
writes reach it later: docs/traces.md.
With --postgres: root and uprobe events (tracefs, CONFIG_UPROBE_EVENTS). The server needs no
restart; its own probes are used, which Debian builds in: docs/transactions.md.";

/// The kernel's format.
const RAW: &str = "blktrace";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { out, force, .. } = arguments;
    let device = match (&arguments.postgres, &arguments.device) {
        (Some(program), _) => return postgres::call(arguments, program),
        (None, Some(device)) => device,
        (None, None) => unreachable!("clap requires the device where there is no --postgres"),
    };
    let raw = Format::named(RAW).map_err(Failure::unusable)?;
    let format = out::format(out, arguments.to.as_deref(), Some(raw))?;
    let file = out::create(out, *force)?;
    let recorder = Recorder::find(device).map_err(record_failure)?;
    let until = until(arguments, &device.display().to_string());
    let folder = folder(out);
    let recorded = recorder.record(&until, folder).map_err(record_failure)?;
    let Recorded { lost_events, took, ended, records_itself, .. } = recorded;
    let written = if format.name == RAW {
        copy(recorded.events, device, file, out)?
    } else {
        convert(recorded.events, device, file, out, format)?
    };
    if let Some(written) = written {
        let device = device.display();
        let written = counted(written, "request", "requests");
        out::print_summary(out, &format!("{written} of {device} in {took}, as {}", format.name))?;
    }
    if lost_events > 0 {
        notify(&format!(
            "{lost_events} events were lost: the processors were too busy to fetch them in time"
        ));
    }
    if records_itself {
        notify(&format!(
            "'{}' is on {}: the trace includes the writes of the recording itself",
            folder.display(),
            device.display()
        ));
    }
    let Some(cut) = early_end(ended, &until) else { return Ok(Status::Done) };
    notify(&match written {
        Some(_) => format!("{cut}; the requests recorded until then are written"),
        None => cut,
    });
    Ok(Status::Failed)
}

/// Returns the end of the recording of `what`, and says where there is none.
fn until(arguments: &Arguments, what: &str) -> Until {
    match (arguments.time, &arguments.command[..]) {
        (Some(time), _) => Until::Elapsed(time),
        (None, []) => {
            notify(&format!("recording {what} until Ctrl-C"));
            Until::Interrupted
        }
        (None, command) => Until::Exited(command.to_vec()),
    }
}

fn record_failure(error: RecordError) -> Failure {
    match error {
        RecordError::NotFound { .. } | RecordError::NotBlockDevice { .. } | RecordError::Command { .. } => {
            Failure::unusable(error)
        }
        error => Failure::failed(error),
    }
}

/// Directory of the per-CPU streams until they are merged: that of the output file.
fn folder(out: &Path) -> &Path {
    out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns why the recording ended early or its program failed, if so.
fn early_end(ended: Ended, until: &Until) -> Option<String> {
    match (ended, until) {
        (Ended::Interrupted, Until::Elapsed(_) | Until::Exited(_)) => Some("interrupted".into()),
        (Ended::Exited(status), _) if !status.success() => Some(format!("the program failed ({status})")),
        _ => None,
    }
}

fn no_requests(device: &Path) -> Failure {
    Failure::failed(RecordError::Nothing { path: device.into() })
}

/// Writes the recording unchanged. Returns the number of requests; `None` if the output pipe is closed.
fn copy(events: Events, device: &Path, mut file: Output, out: &Path) -> Result<Option<u64>, Failure> {
    let failed = |source| WriteError::File { name: output_name(out), source };
    let mut events = CaptureReader { input: events, error: None };
    let copied = io::copy(&mut events, &mut file).map_err(failed);
    let CaptureReader { input: events, error } = events;
    // Completions of requests issued before the recording do not count.
    let written =
        copied.and_then(|_| if events.requests() > 0 { out::close(file, out).map(drop) } else { Ok(()) });
    if out::ignore_closed_pipe(written)?.is_none() {
        return Ok(None);
    }
    if let Some(error) = error {
        return Err(Failure::failed(anyhow!(
            "the recording of {} could not be read back to its end: {error}",
            device.display()
        )));
    }
    if events.requests() == 0 {
        return Err(no_requests(device));
    }
    if events.skipped_bytes() > 0 {
        notify(&format!("{} bytes of other tracing were skipped", events.skipped_bytes()));
    }
    Ok(Some(events.requests()))
}

/// Ends the input at a read error and keeps the error, so that any other error is one of writing.
struct CaptureReader<R> {
    input: R,
    error: Option<io::Error>,
}

impl<R: Read> Read for CaptureReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.input.read(buffer) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.error = Some(error);
                Ok(0)
            }
            read => read,
        }
    }
}

/// Writes the recording in another format. Returns the number of requests; `None` if the output pipe is closed.
fn convert(
    events: Events,
    device: &Path,
    file: Output,
    out: &Path,
    format: &'static Format,
) -> Result<Option<u64>, Failure> {
    let options = OpenOptions { format: Some(RAW), every_device: true, ..OpenOptions::default() };
    let mut trace =
        Trace::from_reader(events, &device.display().to_string(), &options).map_err(|error| match error {
            OpenError::Read { source: ReadError::Nothing { .. }, .. } => no_requests(device),
            error => Failure::failed(error),
        })?;
    let writer = Writer::new(format, file).map_err(Failure::unusable)?;
    let what = format!("writing the recording as {}", format.name);
    let Some(written) = out::ignore_closed_pipe(out::write(&mut trace, what, |record| record, writer, out))?
    else {
        return Ok(None);
    };
    for doubt in trace.summary().doubts() {
        notify(&doubt.to_string());
    }
    trace.finish().map_err(Failure::failed)?;
    if written.records == 0 {
        return Err(out::nothing_written(
            &format!("the recording of {}", device.display()),
            format,
            &written,
            out,
        ));
    }
    if !written.losses.is_empty() {
        notify(&format!("as {}{}", format.name, out::losses(&written, "; ")));
    }
    Ok(Some(written.records))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn early_end_names_interrupts_and_failed_programs() {
        let program = Until::Exited(vec!["true".into()]);
        let exited = |raw| Ended::Exited(ExitStatus::from_raw(raw));
        assert_eq!(early_end(exited(0), &program), None);
        assert!(early_end(exited(1 << 8), &program).unwrap().contains("exit status: 1"));
        assert_eq!(early_end(Ended::Interrupted, &program).unwrap(), "interrupted");
        assert!(early_end(Ended::Interrupted, &Until::Elapsed(Duration::from_s(1))).is_some());
        assert_eq!(early_end(Ended::Interrupted, &Until::Interrupted), None);
        assert_eq!(early_end(Ended::Elapsed, &Until::Elapsed(Duration::from_s(1))), None);
    }

    #[test]
    fn streams_are_in_the_directory_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        for (out, beside) in [
            ("-", "."),
            ("x.blktrace", "."),
            (dir.path().join("x").to_str().unwrap(), dir.path().to_str().unwrap()),
        ] {
            assert_eq!(folder(Path::new(out)), Path::new(beside), "{out}");
        }
    }

    #[test]
    fn read_error_is_kept_apart_from_write_errors() {
        let failing = io::Cursor::new(b"some").chain(Failing);
        let mut events = CaptureReader { input: failing, error: None };
        let mut written = Vec::new();
        io::copy(&mut events, &mut written).unwrap();
        assert_eq!((written.as_slice(), events.error.unwrap().to_string().as_str()), (&b"some"[..], "torn"));
    }

    struct Failing;

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("torn"))
        }
    }
}
