//! `flashlane probe DEVICE`: infers the structure of a drive; `flashlane probe --score N`: rates the probe on random
//! drives.

use crate::device::{self as devices, OpenRequest};
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{EffortOptions, OutputOptions, SafetyOptions, device, positive_time, seed};
use crate::output;
use crate::preflight::{access_allowed, preflight};
use crate::progress::Meter;
use crate::suggest::quoted;
use anyhow::anyhow;
use flashlane_base::units::{exact_bytes, parse_bytes, parse_count};
use flashlane_base::{Duration, Seed};
use flashlane_device::Device;
use flashlane_device::DeviceInfo;
use flashlane_open::{AccessMode, Target};
use flashlane_probe::bench::Measurement;
use flashlane_probe::{Effort, Medium, Options, ProbeError, ProbeResult, Progress};
use flashlane_report::{Reportable, Samples};
use flashlane_result::WarningCode;
use flashlane_sim::config::InitialState;
use flashlane_studies::score::Range;
use flashlane_workload::Workload;

/// Infer the internal structure of a drive from its timing
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device, required_unless_present = "score")]
    device: Option<DeviceArgument>,
    /// Probe N random simulated drives of known structure instead of DEVICE, and count correct findings; with --full,
    /// also reclaim units and caches
    #[arg(long, value_name = "N", value_parser = drives, conflicts_with_all = ["device", "destroy_data", "create", "read_only", "quick"])]
    score: Option<u64>,
    /// With --score, also drives that are hard to probe: any stripe order, 64 MiB to 8 GiB, 1 to 16383 requests in
    /// flight
    #[arg(long, requires = "score")]
    wide: bool,
    /// With --score, drives with and without SLC caches and caches of the map instead, probed as with --full; only
    /// these findings count
    #[arg(long, requires = "score", conflicts_with = "wide")]
    today: bool,
    /// Write nothing, not even to a simulated drive; properties that need writes are then not determined
    #[arg(long, conflicts_with = "destroy_data")]
    read_only: bool,
    /// Size of random reads and writes to recommend a queue depth for, up to 4 MiB; default: several sizes are compared
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, conflicts_with = "score")]
    page: Option<u64>,
    /// Upper limit on the p99 latency of random reads and writes; the highest bandwidth within it is recommended
    #[arg(long, value_name = "TIME", value_parser = positive_time, conflicts_with = "score")]
    p99: Option<Duration>,
    /// Seed of all randomness
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
  flashlane probe sim:nvme-tlc,initial.state=full --page 8k --p99 1ms
  flashlane probe /dev/nvme0n1 --quick
  flashlane probe ./scratch --create 4GiB
  flashlane probe --score 100
  flashlane probe --score 100 --wide
  flashlane probe --score 20 --wide --full
  flashlane probe --score 20 --today

A real device is only read unless --destroy-data is given; properties that need writes
are then reported as not determined. docs/devices.md describes device names and when a
device is refused.";

/// Parses a number of drives, at least 1.
fn drives(text: &str) -> Result<u64, String> {
    match parse_count(text) {
        Ok(0) => Err("allowed: at least 1".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    match (&arguments.device, arguments.score) {
        (Some(device), None) => probe_device(arguments, device.target()?),
        (_, score) => score_random(arguments, score.unwrap_or_default()),
    }
}

fn probe_device(arguments: &Arguments, target: &Target) -> Result<Status, Failure> {
    let Arguments { safety, .. } = arguments;
    let access = match arguments.read_only {
        true => AccessMode::ReadOnly,
        false => access_allowed(target, &safety.consent()),
    };
    preflight(target, safety, &arguments.output, None)?;
    let opening = OpenRequest::new(safety, access, arguments.seed);
    let mut opened = devices::open_random_access(target, &opening, "the probe")?;
    check_page(arguments, opened.device.info())?;
    let meter = Meter::new("probing");
    let mut measurements = Vec::new();
    let mut result = measure(&mut *opened.device, arguments, target, access, &meter, &mut measurements)?;
    drop(opened.device);
    measure_fragmented(&mut result, arguments, target, &meter)?;
    drop(meter);
    add_commands(&mut result, target, safety)?;
    result.warnings.extend(opened.warnings);
    if access == AccessMode::ReadOnly && !arguments.read_only {
        // Read-only is the default for real devices, so say how to change it.
        for warning in result.warnings.iter_mut().filter(|warning| warning.code == WarningCode::ReadOnly) {
            warning.message += "; --destroy-data allows writes, if all data on the device may be lost";
        }
    }
    let samples = samples(&measurements)?;
    output::add_machine(&mut result, target);
    deliver_with_status(arguments, &result, Some(&samples))
}

/// Returns single measurements as columns.
fn samples(measurements: &[Measurement]) -> Result<Samples, Failure> {
    let column = |of: fn(&Measurement) -> u64| measurements.iter().map(of).collect();
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

/// The largest page whose best depth is looked for: many of it must be in flight and many measured, and no database has
/// larger ones.
const PAGE_MAX: u64 = 4 << 20;

/// Refuses a page size that is not a multiple of the read and write unit, or longer than [`PAGE_MAX`].
fn check_page(arguments: &Arguments, info: &DeviceInfo) -> Result<(), Failure> {
    let unit = info.read_unit_bytes.max(if arguments.read_only { 1 } else { info.write_unit_bytes });
    match arguments.page {
        Some(page) if page == 0 || page > PAGE_MAX || !page.is_multiple_of(unit.max(512)) => {
            Err(Failure::unusable(anyhow!(
                "--page {} does not fit '{}'; allowed: multiples of {}, up to {}",
                exact_bytes(page),
                info.name,
                exact_bytes(unit.max(512)),
                exact_bytes(PAGE_MAX)
            )))
        }
        _ => Ok(()),
    }
}

/// Classifies the device.
fn medium(target: &Target) -> Medium {
    match target.path() {
        Some(path) if path.is_file() => Medium::File,
        Some(path) if flashlane_host::is_virtual(path) => Medium::VirtualDisk,
        _ => Medium::Drive,
    }
}

/// Opens a drive with the same profile that is full of data, in place of a simulated one that was never written.
fn full_drive(
    arguments: &Arguments,
    target: &Target,
    access: AccessMode,
) -> Result<Option<Box<dyn Device>>, Failure> {
    let is_fresh = target.config().is_some_and(|config| config.initial.state == InitialState::Fresh);
    if is_fresh && access == AccessMode::ReadWrite {
        drive_in_state(arguments, target, "full")
    } else {
        Ok(None)
    }
}

/// Opens a drive with the same profile in another initial state; `None` of a real device.
fn drive_in_state(
    arguments: &Arguments,
    target: &Target,
    state: &str,
) -> Result<Option<Box<dyn Device>>, Failure> {
    let Some(changed) = target.with_state(state)? else { return Ok(None) };
    let opening = OpenRequest::new(&arguments.safety, AccessMode::ReadWrite, arguments.seed);
    Ok(Some(devices::open(&changed, &opening)?.device))
}

/// Probes the open device, with another drive full of data beside it where it was never written.
fn measure(
    device: &mut dyn Device,
    arguments: &Arguments,
    target: &Target,
    access: AccessMode,
    meter: &Meter,
    measurements: &mut Vec<Measurement>,
) -> Result<ProbeResult, Failure> {
    let mut watch = |progress: &Progress| {
        meter.say(progress.stage);
        meter.watch(Some(progress.share))
    };
    let options = Options {
        effort: effort(arguments.effort),
        may_write: access == AccessMode::ReadWrite,
        seed: arguments.seed,
        medium: medium(target),
        never_written_share: target.path().and_then(flashlane_host::never_written_share),
        request_bytes: arguments.page,
        p99: arguments.p99,
        full_drive: full_drive(arguments, target, access)?,
        structure_only: false,
        measurements: Some(measurements),
        watch: Some(&mut watch),
    };
    flashlane_probe::probe(device, options).map_err(|error| match error {
        ProbeError::TooSmall { .. } => Failure::unusable(error),
        ProbeError::EndedEarly(_) => Failure::failed(error),
    })
}

/// Adds the rate of the recommended writes on a fragmented drive with the same profile, where the probe did not measure
/// one.
fn measure_fragmented(
    result: &mut ProbeResult,
    arguments: &Arguments,
    target: &Target,
    meter: &Meter,
) -> Result<(), Failure> {
    let mut watch = |_: &Progress| meter.watch(None);
    let options = Options {
        effort: effort(arguments.effort),
        seed: arguments.seed,
        watch: Some(&mut watch),
        ..Options::default()
    };
    flashlane_probe::add_fragmented(result, options, || {
        meter.say("writes on a fragmented drive");
        drive_in_state(arguments, target, "fragmented")
    })
}

/// Adds the commands that repeat measurements, for a simulated drive in the state that was measured. Of a real device
/// they have the permissions that they need, as far as they were given to the probe.
fn add_commands(result: &mut ProbeResult, target: &Target, safety: &SafetyOptions) -> Result<(), Failure> {
    for advice in &mut result.advice {
        for repeat in &mut advice.repeat {
            let changed = repeat.state.as_ref().map(|state| target.with_state(state)).transpose()?.flatten();
            let device = changed.as_ref().unwrap_or(target);
            let workload = Workload::parse(&repeat.workload).map_err(Failure::failed)?;
            let permissions = match target.is_simulated() {
                true => String::new(),
                false => safety.to_repeat(AccessMode::for_writes(workload.changes())),
            };
            repeat.command = Some(format!(
                "flashlane run {} {}{permissions}",
                quoted(&device.to_string()),
                repeat.workload
            ));
        }
        if let Some(point) = result.recommendation.get_mut(&advice.about) {
            point.command = advice.repeat.first().and_then(|repeat| repeat.command.clone());
        }
    }
    Ok(())
}

fn score_random(arguments: &Arguments, drives: u64) -> Result<Status, Failure> {
    output::prepare(&arguments.output)?;
    let meter = Meter::new(format!("probing {drives} random drives"));
    let (range, effort) = match arguments {
        Arguments { today: true, .. } => (Range::Today(&flashlane_host::thread_cpu_time), Effort::Full),
        Arguments { wide: true, .. } => {
            (Range::Wide(&flashlane_host::thread_cpu_time), effort(arguments.effort))
        }
        _ => (Range::Usual, effort(arguments.effort)),
    };
    let score = flashlane_studies::score::score(drives, arguments.seed, range, effort, &|done| {
        meter.set(Some(done as f64 / drives.max(1) as f64));
        !flashlane_host::interrupted()
    });
    drop(meter);
    deliver_with_status(arguments, &score, None)
}

/// Prints and saves a result. A partial one counts as failed.
fn deliver_with_status(
    arguments: &Arguments,
    result: &impl Reportable,
    samples: Option<&Samples>,
) -> Result<Status, Failure> {
    output::deliver(&arguments.output, result, samples)?;
    Ok(match result.common().partial {
        None => Status::Done,
        Some(reason) => {
            notify(&format!("{reason}; the result is partial"));
            Status::Failed
        }
    })
}
