//! `flashlane run DEVICE WORKLOAD`: one workload on one device.

use crate::arguments::{EffortOptions, OutputOptions, SafetyOptions, device, seed};
use crate::device::{self as devices, Opening};
use crate::failure::{Failure, Status, tell};
use crate::input::{SETTINGS_BYTES, read_text};
use crate::progress::Meter;
use crate::{harness, output};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_device::spec::Spec;
use flashlane_measure::schema::RunResult;
use flashlane_measure::{MeasureError, Options, Run};
use flashlane_report::Samples;
use flashlane_workload::{KEYS, NAMED, Scope, Workload};
use std::fmt::Write;
use std::ops::ControlFlow;

/// Run one workload on a device: its latencies, its bandwidth, and what the device counted
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help(), arg_required_else_help = true)]
pub struct Arguments {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device)]
    device: Spec,
    /// PATTERN,KEY=VALUE,… or the path of a job file that ends in .toml
    workload: String,
    /// The seed of all randomness, in place of the workload's own
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    seed: Option<Seed>,
    #[command(flatten)]
    effort: EffortOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    safety: SafetyOptions,
}

const EXAMPLES: &str = "\
Examples:
  flashlane run sim:ssd-s,initial.state=full random-read,size=4k,depth=32,requests=1M
  flashlane run sim:nvme-tlc,initial.state=fragmented random-write,depth=32 --out steady
  flashlane run /dev/nvme0n1 sequential-read,size=128k,depth=8,time=30s
  flashlane run ./scratch random-write,confidence=1% --create 4GiB
  flashlane run 'faulty(sim:ssd-s,vanish-after=1000)' job.toml --format json";

/// How much `--quick` and `--full` change a run's length.
const FACTOR: u64 = 10;

fn long_help() -> String {
    let mut text =
        format!("{EXAMPLES}\n\nPatterns, each with -read, -write or -trim behind it; or 'mixed':\n");
    for pattern in NAMED {
        let _ = writeln!(text, "  {:<12} {}", pattern.name, pattern.meaning);
    }
    for (scope, title) in [(Scope::Job, "Keys of a job"), (Scope::Run, "Keys of the run")] {
        let _ = writeln!(text, "\n{title}:");
        for key in KEYS.iter().filter(|key| key.scope == scope) {
            let _ = writeln!(text, "  {:<16} {}", format!("{}={}", key.name, key.example), key.meaning);
        }
    }
    let _ = write!(
        text,
        "\n--quick runs a tenth of the workload's requests and time, --full ten times as many.\n\n\
         Job files are described in docs/workloads.md."
    );
    text
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { device: spec, safety, .. } = arguments;
    let workload = workload(arguments)?;
    if workload.changes() {
        devices::consent(spec, safety, &format!("the workload '{workload}'"))?;
    }
    output::prepare(&arguments.output)?;
    devices::create(spec, safety)?;
    let opening =
        Opening { safety, writes: workload.changes(), depth: workload.depth(), seed: workload.seed };
    let mut opened = devices::open(spec, &opening)?;
    let run = measure(&mut *opened.device, &workload)?;
    let mut result = RunResult::from(&run);
    result.warnings.extend(opened.warnings);
    if !run.profile.simulated {
        result.harness_ns_per_request = Some(harness::ns_per_request());
    }
    let result = output::value(&result, spec)?;
    output::deliver(&arguments.output, &result, Some(&samples(&run)?))?;
    Ok(match run.partial {
        None => Status::Done,
        Some(reason) => {
            tell(&format!("{reason}; the result is partial: {} requests were measured", run.requests));
            Status::Failed
        }
    })
}

/// The workload with the changes that options make to it.
fn workload(arguments: &Arguments) -> Result<Workload, Failure> {
    let text = &arguments.workload;
    let parsed = if text.ends_with(".toml") {
        let file = read_text(text.as_ref(), SETTINGS_BYTES)
            .map_err(|error| Failure::unusable(anyhow!("cannot read the job file '{text}': {error}")))?;
        Workload::parse_toml(&file, text)
    } else {
        Workload::parse(text)
    };
    let mut workload = parsed.map_err(Failure::unusable)?;
    workload.seed = arguments.seed.unwrap_or(workload.seed);
    let stop = &mut workload.stop;
    if arguments.effort.quick {
        stop.requests = stop.requests.map(|requests| (requests / FACTOR).max(1));
        stop.time = stop.time.map(|time| time / FACTOR);
    } else if arguments.effort.full {
        stop.requests = stop.requests.map(|requests| requests.saturating_mul(FACTOR));
        stop.time = stop.time.map(|time| time * FACTOR);
    }
    Ok(workload)
}

fn measure(device: &mut dyn flashlane_device::Device, workload: &Workload) -> Result<Run, Failure> {
    let meter = Meter::new(format!("running on {}", device.profile().name));
    let mut watch = |progress: &flashlane_measure::Progress| {
        meter.set(progress.share());
        if flashlane_host::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = Options { watch: Some(&mut watch), ..Options::default() };
    flashlane_measure::run(device, workload, options).map_err(|error| match error {
        MeasureError::Unfit { .. } => Failure::unusable(error),
        MeasureError::Interrupted(_) => Failure::failed(error),
    })
}

/// Single requests as columns.
fn samples(run: &Run) -> Result<Samples, Failure> {
    let column = |of: fn(&flashlane_measure::statistics::Sample) -> u64| run.samples.iter().map(of).collect();
    Samples::new()
        .with_u64("submitted_ns", column(|sample| sample.submitted_ns))
        .and_then(|samples| samples.with_u64("latency_ns", column(|sample| sample.latency_ns)))
        .and_then(|samples| samples.with_u64("offset_bytes", column(|sample| sample.offset_bytes)))
        .and_then(|samples| samples.with_u64("job", column(|sample| u64::from(sample.job))))
        .and_then(|samples| samples.with_u64("operation", column(|sample| sample.operation as u64)))
        .map_err(Failure::failed)
}
