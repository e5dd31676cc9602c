//! `flashlane replay DEVICE TRACE`: a recorded trace on one device.

mod measure;
mod plan;
mod recording;
mod sweep;

use crate::device::check_unprepared;
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{
    OutputOptions, SafetyOptions, SweepOptions, TraceDevice, device, device_of_trace, seed,
};
use crate::output;
use crate::preflight::preflight;
use crate::progress::Meter;
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use flashlane_base::Seed;
use flashlane_measure::RunOptions;
use flashlane_open::AccessMode;
use flashlane_trace::{FORMATS, OpenOptions};
use plan::PlanOptions;
use recording::{Recording, Requests};
use std::path::PathBuf;

/// Replay a recorded trace on a device: throughput, latency over time, tail latency and device counters
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help(), arg_required_else_help = true)]
pub struct Arguments {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device)]
    device: DeviceArgument,
    /// Trace in any format of docs/traces.md, compressed (gz, xz, zst) or not; - for standard input
    trace: PathBuf,
    #[command(flatten)]
    plan: PlanOptions,
    /// Format of the trace; default: detected from its content
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS.iter().map(|format| format.name)))]
    trace_format: Option<String>,
    /// Number of the device in the trace to replay, or 'all' to lay all devices side by side; required if the trace has
    /// several
    #[arg(long, visible_alias = "device", value_name = "N|all", value_parser = device_of_trace)]
    trace_device: Option<TraceDevice>,
    /// Seed of all randomness, in a simulated drive and in sampling
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    seed: Seed,
    #[command(flatten)]
    sweep: SweepOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    safety: SafetyOptions,
}

const EXAMPLES: &str = "\
Examples:
  flashlane replay sim:msr-32g,initial.state=full iozone.trace.xz
  flashlane replay sim:nvme-tlc,initial.state=full web.csv.gz \\
      --trace-device 0 --speed 10 --out web
  flashlane replay sim:nvme-tlc,initial.state=full web.csv.gz --device all
  flashlane replay sim:ssd-m database.iolog --pace closed --depth 8
  flashlane replay /dev/nvme0n1 reads.csv --pace think --beyond fold
  flashlane replay sim:msr-64g iozone.trace.xz \\
      --sweep buffer.size=1MiB..64MiB*2 --sweep buffer.policy=lru,parallel";

fn long_help() -> String {
    format!(
        "{EXAMPLES}

Latency counts from the time at which a request was due. Requests that arrive while the
device queue is full wait, in order, in an unbounded queue; that wait is part of their
latency. The latency of the device alone is reported beside it.

A trace that only reads can be replayed on any device. One that writes or trims overwrites it."
    )
}

impl Arguments {
    fn recording(&self) -> Recording<'_> {
        let opening = OpenOptions {
            format: self.trace_format.as_deref(),
            device: match self.trace_device {
                Some(TraceDevice::Number(number)) => Some(number),
                Some(TraceDevice::All) | None => None,
            },
            every_device: self.trace_device == Some(TraceDevice::All),
            stop: Some(flashlane_host::interrupted),
        };
        Recording { path: &self.trace, opening }
    }
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { device, safety, .. } = arguments;
    let (recording, plan) = (arguments.recording(), arguments.plan.checked(arguments.seed)?);
    if !arguments.sweep.keys.is_empty() {
        return sweep::call(arguments, recording);
    }
    let target = device.target()?;
    recording.check_format(target)?;
    // Report an unreadable trace before creating a device. Open it once: data read from a pipe is gone.
    let side_by_side = recording.side_by_side()?;
    let trace = recording.open()?;
    let (how, most) = (&plan.options, plan.max_requests());
    check_unprepared(target, safety, |profile| recording.check(profile, how, most, side_by_side.as_ref()))?;
    let writes = recording.changes(target, most)?;
    let what = writes.then(|| (recording.described(), recording.alternative()));
    preflight(target, safety, &arguments.output, what)?;
    let meter = Meter::new(format!("replaying on {target}"));
    let mut watch = |share| meter.watch(share);
    let opened = plan.open(target, safety, AccessMode::for_writes(writes))?;
    let requests = Requests::Opened(Box::new(trace), side_by_side);
    let (replay, mut result) = plan.measure(opened, requests, RunOptions::default().samples, &mut watch)?;
    drop(meter);
    let measured = replay.requests + replay.flushes;
    if let Some(reason) = result.partial.as_ref().filter(|_| measured == 0) {
        return Err(Failure::failed(anyhow!("{target}: {reason}; nothing was measured")));
    }
    output::add_machine(&mut result, target);
    output::deliver(&arguments.output, &result, Some(&output::samples(&replay.samples)?))?;
    Ok(match result.partial {
        None => Status::Done,
        Some(reason) => {
            notify(&format!("{target}: {reason}; the result is partial: {measured} requests were measured"));
            Status::Failed
        }
    })
}
