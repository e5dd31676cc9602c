//! `flashlane serve`: a device for any program, in real time.

mod fuse;
mod kept;
mod live;
mod nbd;
mod recording;
mod twin;
mod watch;

use crate::device::{self as devices, OpenRequest};
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{self, Format, OutputOptions, SafetyOptions};
use crate::output::{is_in, prepare_for_device};
use crate::preflight;
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_base::units::{exact_bytes, format_bytes, parse_bytes};
use flashlane_base::{Duration, Seed};
use flashlane_device::DataDevice;
use flashlane_host::is_same_file;
use flashlane_open::{AccessMode, Target};
use flashlane_result::WarningCode;
use flashlane_serve::{DATA_BYTES_MIN, Export, LATENESS_SHARE_MAX};
use flashlane_sim::DriveConfig;
use flashlane_trace::is_standard_output;
use recording::Recording;
use std::path::{Path, PathBuf};

/// Serve a device to other programs, a simulated drive at its own speed in real time: nbd, fuse
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  flashlane serve nbd sim:ssd-s --socket ./drive.sock
  flashlane serve nbd sim:nvme-tlc --listen 127.0.0.1:10809 --slowdown 4 \\
      --memory 2GiB
  flashlane serve nbd ./image --socket ./drive.sock --read-only
  flashlane serve fuse sim:ssd-s,capacity=1GiB ./mnt

docs/serve.md describes time, clients and limits.";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Serve NBD clients until Ctrl-C: fio, qemu, nbdcopy, the kernel's client
    #[command(after_help = nbd::HELP)]
    Nbd(nbd::Arguments),
    /// Mount a device as one file, `drive`, until Ctrl-C: for losetup, mkfs, and programs that read a path
    #[command(after_help = fuse::HELP)]
    Fuse(fuse::Arguments),
}

/// What is served, and how.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("files").multiple(true).args(["record", "out"]))]
struct DeviceOptions {
    /// Simulated drive, file or block device
    #[arg(value_parser = options::device)]
    device: DeviceArgument,
    /// Refuse writes; a real device requires no permission then
    #[arg(long)]
    read_only: bool,
    /// Stretch all simulated times by N, for a drive that is too fast for this machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value = "1")]
    slowdown: u32,
    /// Memory for the data of a simulated drive; writes of new data beyond it fail. Default: half of the machine's
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Run with real-time priority (SCHED_RR), so that replies are less late on a busy machine; requires root,
    /// CAP_SYS_NICE or a limit of real-time priority
    #[arg(long)]
    first: bool,
    /// Do not repeat the requests on the drive in virtual time at the end, to show what this machine added
    #[arg(long)]
    no_twin: bool,
    /// Record what clients ask for in this new trace, compressed if it ends in .gz, .xz, .zst or .zstd
    #[arg(long, value_name = "TRACE")]
    record: Option<PathBuf>,
    /// Format of the trace; default: from its ending, as in TRACE.msr
    #[arg(long, value_name = "NAME", requires = "record")]
    to: Option<String>,
    /// Keep the run as a result in DIR: result.json, report.html and the plots
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Overwrite the trace, or the target of a link, if it begins as a trace, whatever follows, or is empty; write into
    /// DIR even if it holds other files, and replace those with names of result files
    #[arg(long, requires = "files")]
    force: bool,
    /// Seed of all randomness in a simulated drive
    #[arg(long, value_name = "N", value_parser = options::seed, default_value = "1")]
    seed: Seed,
    #[command(flatten)]
    safety: SafetyOptions,
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    flashlane_host::catch_report_requests().map_err(Failure::failed)?;
    match &arguments.action {
        Action::Nbd(arguments) => nbd::call(arguments),
        Action::Fuse(arguments) => fuse::call(arguments),
    }
}

impl DeviceOptions {
    /// Returns the slowdown of a simulated drive.
    fn slowdown_of(&self, target: &Target) -> Option<u32> {
        target.is_simulated().then_some(self.slowdown)
    }

    /// Where the result goes.
    fn results(&self) -> OutputOptions {
        OutputOptions { format: Format::Text, out: self.out.clone(), force: self.force }
    }

    /// Makes the directory of `--out`, and checks that it may hold the result.
    fn prepare_out(&self, target: &Target) -> Result<(), Failure> {
        prepare_for_device(&self.results(), target)
    }

    /// Begins the trace, if there is to be one.
    fn recording(&self) -> Result<Option<Recording>, Failure> {
        let begin = |path: &PathBuf| Recording::begin(path, self.to.as_deref(), self.force, self.slowdown);
        self.record.as_ref().map(begin).transpose()
    }
}

/// Refuses one file for two purposes: the trace, the result, and `place`, where the device is served.
fn check_paths(options: &DeviceOptions, place: Option<(&str, &Path)>) -> Result<(), Failure> {
    if options.record.as_deref().is_some_and(is_standard_output) {
        return Err(Failure::unusable(anyhow!(
            "--record - would mix the trace with the lines of each second: give it a file"
        )));
    }
    if let (Some(record), Some(dir)) = (&options.record, &options.out)
        && is_in(record, dir)
    {
        return Err(Failure::unusable(anyhow!(
            "--record {} is in the directory of --out, whose files are those of the result: give another path",
            record.display()
        )));
    }
    if let (Some(record), Some((name, place))) = (options.record.as_deref(), place)
        && is_same_file(record, place)
    {
        return Err(Failure::unusable(anyhow!(
            "{name} {} is the file of --record: give each a path that the other does not lead to",
            place.display()
        )));
    }
    Ok(())
}

/// Checks the arguments before anything is opened. Returns the memory for the data of a simulated drive.
fn check(target: &Target, options: &DeviceOptions) -> Result<Option<u64>, Failure> {
    if target.capabilities().erase_units {
        return Err(Failure::unusable(anyhow!(
            "a served device requires random access, but '{target}' has erase units, which are written in order and \
             erased as a whole"
        )));
    }
    if !target.is_simulated() {
        if options.slowdown > 1 {
            return Err(Failure::unusable(anyhow!(
                "--slowdown stretches simulated times, but '{target}' is a real device"
            )));
        }
        if options.memory.is_some() {
            return Err(Failure::unusable(anyhow!(
                "--memory is for the data of a simulated drive, but '{target}' keeps its own"
            )));
        }
        if !options.read_only {
            let consent = options.safety.consent();
            preflight::require_consent(target, &consent, "a client", "serve it with --read-only")?;
        }
        return Ok(None);
    }
    if let Some(file) = target.bytes_file() {
        if options.memory.is_some() {
            return Err(Failure::unusable(anyhow!(
                "--memory is for data in memory, but '{target}' keeps its data in '{}'",
                file.display()
            )));
        }
        return Ok(None);
    }
    let machine_bytes = flashlane_host::machine_memory_bytes();
    let memory_bytes = options.memory.unwrap_or(machine_bytes / 2);
    if memory_bytes < DATA_BYTES_MIN {
        return Err(Failure::unusable(anyhow!(
            "--memory {}: at least {} is required, the memory of the shortest write",
            exact_bytes(memory_bytes),
            exact_bytes(DATA_BYTES_MIN)
        )));
    }
    if memory_bytes > machine_bytes {
        return Err(Failure::unusable(anyhow!(
            "--memory {} exceeds the {} of this machine",
            exact_bytes(memory_bytes),
            format_bytes(machine_bytes)
        )));
    }
    Ok(Some(memory_bytes))
}

/// Warns that a simulated drive may be written beyond the memory for its data. Data takes memory once it is written.
fn warn_of_memory(target: &Target, data_bytes: Option<u64>) {
    if let (Some(capacity_bytes), Some(data_bytes)) = (target.capacity_bytes(), data_bytes)
        && capacity_bytes > data_bytes
    {
        notify(&format!(
            "warning: the data of '{target}' is kept in memory, at most {} of {}: writes of new data beyond it fail with \
             ENOSPC; --memory changes the limit",
            format_bytes(data_bytes),
            format_bytes(capacity_bytes)
        ));
    }
}

/// Warns that a simulated drive is too fast for this machine: where a trial was late by more than a tenth of a read.
fn warn_of_speed(target: &Target, options: &DeviceOptions) -> Result<(), Failure> {
    let (slowdown, runs_first) = (options.slowdown, options.first);
    let Some(read) = target.config().map(read_alone) else { return Ok(()) };
    let late = flashlane_serve::trial_lateness().map_err(Failure::failed)?;
    if let Some(needed) = slowdown_needed(read, late).filter(|&needed| needed > slowdown) {
        notify(&format!(
            "warning: this machine is late by {late} (p99 of a trial), and a read of '{target}' from flash takes {} \
             alone: results will hardly be valid; --slowdown {needed} or more would do{}",
            read * u64::from(slowdown),
            if runs_first { "" } else { ", or --first where other programs are what it waits for" }
        ));
    }
    Ok(())
}

/// Lets the server run before other programs, if it is to.
fn run_first(options: &DeviceOptions) -> Result<(), Failure> {
    let refused = |error| {
        anyhow!(
            "--first: the system refuses ({error}): root may, and users with a limit of real-time priority ('ulimit -r')"
        )
    };
    match options.first {
        true => flashlane_host::run_first().map_err(|error| Failure::unusable(refused(error))),
        false => Ok(()),
    }
}

/// Returns the time of a read of one page of flash on an idle drive, at least.
fn read_alone(drive: &DriveConfig) -> Duration {
    let (host, flash) = (&drive.host, &drive.flash);
    // A rate of zero is none.
    let bus_ns = (flash.page.0 * 1_000_000_000).checked_div(flash.bus.0).unwrap_or(0);
    host.submission.0 + flash.read.0 + Duration::from_ns(bus_ns) + host.completion.0
}

/// Returns the least slowdown with which lateness is a small enough share of a latency; `None` where none is needed.
fn slowdown_needed(latency: Duration, late: Duration) -> Option<u32> {
    let needed = late.as_ns() as f64 / (latency.as_ns().max(1) as f64 * LATENESS_SHARE_MAX);
    (needed > 1.0).then(|| (needed as u32).saturating_add(1))
}

/// Warns of the end of a file that is no whole unit of requests, which clients do not see.
fn warn_of_tail(target: &Target, export: &Export) {
    let length_bytes = target.path().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
    if let Some(tail_bytes) = unaligned_tail_bytes(length_bytes, export) {
        notify(&format!(
            "warning: the last {} of '{target}' are not served: its length is no multiple of {}, the unit of its requests",
            exact_bytes(tail_bytes),
            exact_bytes(export.unit_bytes)
        ));
    }
}

/// Returns the bytes of a file behind its last whole unit of requests; `None` where there are none, and where layers
/// keep a part of the file, so that its length is not that of the device.
fn unaligned_tail_bytes(length_bytes: u64, export: &Export) -> Option<u64> {
    let tail_bytes = length_bytes % export.unit_bytes;
    (tail_bytes > 0 && length_bytes - tail_bytes == export.size_bytes).then_some(tail_bytes)
}

fn open(target: &Target, options: &DeviceOptions) -> Result<Box<dyn DataDevice>, Failure> {
    let _meter = Meter::new(format!("preparing {target}"));
    let opened = devices::open_bytes(target, &opening(options))?;
    for warning in opened.warnings.iter().filter(|warning| warning.code != WarningCode::NotWritten) {
        notify(&format!("warning: {}", warning.message));
    }
    Ok(opened.device)
}

fn opening(options: &DeviceOptions) -> OpenRequest {
    OpenRequest::new(&options.safety, AccessMode::for_writes(!options.read_only), options.seed)
}

/// Returns a target with its size and speed, as the first line of output names it.
fn described(target: &Target, export: &Export, slowdown: Option<u32>) -> String {
    let speed = match slowdown {
        None => "",
        Some(1) => ", at its own speed",
        Some(n) => &format!(", {n} times slower than it is"),
    };
    let read_only = if export.is_read_only { ", read-only" } else { "" };
    format!("{target} ({}{read_only}){speed}", format_bytes(export.size_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdown_makes_lateness_a_tenth() {
        let needed =
            |latency_us, late_us| slowdown_needed(Duration::from_us(latency_us), Duration::from_us(late_us));
        assert_eq!((needed(100, 9), needed(100, 25), needed(50, 25)), (None, Some(3), Some(6)));
    }

    #[test]
    fn room_that_a_layer_keeps_is_no_unaligned_tail() {
        let tail = |length_bytes: u64, size_bytes: u64| {
            let description = String::new();
            let export = Export { size_bytes, unit_bytes: 512, is_read_only: false, description };
            unaligned_tail_bytes(length_bytes, &export)
        };
        assert_eq!(tail(10_240, 10_240), None);
        assert_eq!(tail(10_340, 10_240), Some(100));
        // `replicated` keeps room for copies.
        assert_eq!((tail(10_240, 8_192), tail(10_340, 8_192)), (None, None));
    }

    #[test]
    fn read_alone_is_what_an_idle_drive_takes() {
        let target = devices::resolve(&"sim:ssd-s".parse().unwrap()).unwrap();
        // 40 µs of the host, 25 of the flash, 4 KiB at 40 MB/s.
        let us = read_alone(target.config().unwrap()).as_us_f64();
        assert!((150.0..200.0).contains(&us), "{us}");
    }
}
