//! `flashlane probe DEVICE`: what is inside a drive; `flashlane probe --score N`: how often the probe is right.

use crate::arguments::{EffortOptions, OutputOptions, SafetyOptions, device, seed};
use crate::begin::begin;
use crate::device::{self as devices, Opening};
use crate::failure::{Failure, Status, tell};
use crate::output;
use crate::progress::Meter;
use flashlane_base::Seed;
use flashlane_base::units::parse_count;
use flashlane_device::Device;
use flashlane_device::spec::Spec;
use flashlane_probe::rig::Measurement;
use flashlane_probe::{Effort, Options, ProbeError, ProbeResult, Progress, Warning};
use flashlane_report::Samples;
use serde_json::Value;

/// Find out what is inside a drive, from its timing alone
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device, required_unless_present = "score")]
    device: Option<Spec>,
    /// Instead of a device: probe N random simulated drives of known structure, and count how often it is right
    #[arg(long, value_name = "N", value_parser = drives, conflicts_with_all = ["device", "destroy_data", "create", "read_only", "quick", "full"])]
    score: Option<u64>,
    /// Write nothing, not even to a simulated drive; what needs writing is then not determined
    #[arg(long, conflicts_with = "destroy_data")]
    read_only: bool,
    /// The seed of all randomness
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    seed: Seed,
    #[command(flatten)]
    effort: EffortOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    safety: SafetyOptions,
}

const EXAMPLES: &str = "\
Examples:
  flashlane probe sim:ssd-s
  flashlane probe sim:my.toml --out portrait
  flashlane probe /dev/nvme0n1 --quick
  flashlane probe ./scratch --create 4GiB
  flashlane probe --score 100

A real device is only read unless --destroy-data is given, and what cannot be found
out by reading is then said to be not determined. docs/devices.md tells how devices
are written and when one is refused.";

/// A number of drives, at least one.
fn drives(text: &str) -> Result<u64, String> {
    match parse_count(text) {
        Ok(0) => Err("at least one drive is needed".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}

/// Requests in flight that a probe needs at most.
const DEPTH: u64 = 256;

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    match (&arguments.device, arguments.score) {
        (Some(device), None) => probe(arguments, device),
        (_, score) => score_random(arguments, score.unwrap_or_default()),
    }
}

fn probe(arguments: &Arguments, spec: &Spec) -> Result<Status, Failure> {
    let Arguments { safety, .. } = arguments;
    let real = devices::real_path(spec).is_some();
    let writes = !arguments.read_only && (!real || safety.destroy_data || safety.create.is_some());
    begin(spec, safety, &arguments.output, None)?;
    let opening = Opening { safety, writes, depth: DEPTH, seed: arguments.seed };
    let mut opened = devices::open_rewritable(spec, &opening, "the probe")?;
    let mut result = measure(&mut *opened.device, arguments, writes)?;
    let warnings = opened.warnings.into_iter();
    result.warnings.extend(warnings.map(|w| Warning { code: w.code, message: w.message }));
    if !writes && !arguments.read_only {
        // Nobody asked for it: it is how real devices are treated.
        for warning in result.warnings.iter_mut().filter(|warning| warning.code == "read-only") {
            warning.message += "; --destroy-data allows it, if all that is on the device may be lost";
        }
    }
    let samples = samples(&result)?;
    deliver(arguments, &output::value(&result, spec)?, Some(&samples), result.partial.as_deref())
}

/// Single measurements as columns.
fn samples(result: &ProbeResult) -> Result<Samples, Failure> {
    let column = |of: fn(&Measurement) -> u64| result.measurements.iter().map(of).collect();
    Samples::new()
        .with_u64("stage", column(|m| u64::from(m.stage)))
        .and_then(|samples| samples.with_u64("started_ns", column(|m| m.started_ns)))
        .and_then(|samples| samples.with_u64("took_ns", column(|m| m.took_ns)))
        .and_then(|samples| samples.with_u64("requests", column(|m| m.requests)))
        .and_then(|samples| samples.with_u64("operation", column(|m| m.operation as u64)))
        .and_then(|samples| samples.with_u64("offset_bytes", column(|m| m.offset_bytes)))
        .and_then(|samples| samples.with_u64("length_bytes", column(|m| m.length_bytes)))
        .map_err(Failure::failed)
}

fn effort(options: EffortOptions) -> Effort {
    match options {
        EffortOptions { quick: true, .. } => Effort::Quick,
        EffortOptions { full: true, .. } => Effort::Full,
        _ => Effort::Normal,
    }
}

fn measure(device: &mut dyn Device, arguments: &Arguments, may_write: bool) -> Result<ProbeResult, Failure> {
    let meter = Meter::new("probing");
    let mut watch = |progress: &Progress| {
        meter.say(progress.stage);
        meter.watch(Some(progress.share))
    };
    let options = Options {
        effort: effort(arguments.effort),
        may_write,
        seed: arguments.seed,
        watch: Some(&mut watch),
    };
    flashlane_probe::probe(device, options).map_err(|error| match error {
        ProbeError::TooSmall { .. } => Failure::unusable(error),
        ProbeError::Interrupted(_) => Failure::failed(error),
    })
}

fn score_random(arguments: &Arguments, drives: u64) -> Result<Status, Failure> {
    output::prepare(&arguments.output)?;
    let meter = Meter::new(format!("probing {drives} random drives"));
    let score = flashlane_studies::score::score(drives, arguments.seed, &|done| {
        meter.set(Some(done as f64 / drives.max(1) as f64));
        !flashlane_host::interrupted()
    });
    drop(meter);
    let result = serde_json::to_value(&score).map_err(Failure::failed)?;
    deliver(arguments, &result, None, score.partial.as_deref())
}

/// Prints and keeps a result; one that is partial counts as failed.
fn deliver(
    arguments: &Arguments,
    result: &Value,
    samples: Option<&Samples>,
    partial: Option<&str>,
) -> Result<Status, Failure> {
    output::deliver(&arguments.output, result, samples)?;
    Ok(match partial {
        None => Status::Done,
        Some(reason) => {
            tell(&format!("{reason}; the result is partial"));
            Status::Failed
        }
    })
}
