//! `flashlane run DEVICE WORKLOAD`: one workload on one device.

mod alone;

use crate::device::{self as devices, OpenRequest};
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{EffortOptions, OutputOptions, SafetyOptions, SweepOptions, device, seed};
use crate::preflight::preflight;
use crate::progress::{Meter, ShareWatch};
use crate::sweep::{self, RATE_METRIC, Settings};
use crate::workload::{PATTERN, Word, WorkloadSource};
use crate::{harness, output};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_device::{Rule, SubmitError};
use flashlane_measure::{Interruption, MeasureError, Progress, Run, RunOptions, run, run_verified};
use flashlane_open::{AccessMode, Target};
use flashlane_result::run::{RunResult, RunsResult};
use flashlane_result::{Warning, WarningCode};
use flashlane_sweep::{METRICS, PointResult, fingerprint};
use flashlane_workload::{Job, KEYS, NAMED, Scope, Workload};
use std::fmt::Write;
use std::ops::ControlFlow;

/// Run one workload on a device: latency, bandwidth and device counters
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help(), arg_required_else_help = true)]
pub struct Arguments {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device)]
    device: DeviceArgument,
    /// PATTERN,KEY=VALUE,… (several jobs joined by '+'), or the path of a job file (.toml, or fio's .fio)
    // Several arguments are joined and then refused as a line: settings are separated by commas.
    #[arg(required = true, value_name = "WORKLOAD", num_args = 1.., hide_possible_values = true)]
    workload: Vec<Word>,
    /// Seed of all randomness; default: the workload's seed
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    seed: Option<Seed>,
    /// Also measure each job alone, on a drive of its own: how much slower it is beside the others, and how fair that
    /// is
    #[arg(long, conflicts_with_all = ["sweep", "repeat", "sweep-y", "jobs"])]
    alone: bool,
    #[command(flatten)]
    effort: EffortOptions,
    #[command(flatten)]
    sweep: SweepOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    safety: SafetyOptions,
}

const EXAMPLES: &str = "\
Examples:
  flashlane run sim:ssd-s,initial.state=full \\
      random-read,size=4k,depth=32,requests=1M
  flashlane run sim:nvme-tlc,initial.state=fragmented random-write,depth=32 \\
      --out steady
  flashlane run /dev/nvme0n1 sequential-read,size=128k,depth=8,time=30s
  flashlane run sim:ssd-s 'sequential-read,turns=4 + random-write,turns=1'
  flashlane run sim:ssd-s 'random-read + random-write,depth=32' --alone
  flashlane run sim:ssd-m \\
      random-write,zipf=0.99,rate=500/s,arrivals=poisson,fsync=8,precondition=steady
  flashlane run ./scratch random-write,confidence=1% --create 4GiB
  flashlane run 'faulty(sim:ssd-s,vanish-after=1000)' job.toml --format json
  flashlane run /dev/nvme0n1 job.fio --destroy-data
  flashlane run sim:msr-64g random-write --sweep buffer.size=1MiB..64MiB*2 \\
      --sweep buffer.policy=lru,fifo";

/// Factor by which `--quick` shortens and `--full` lengthens a run.
const FACTOR: u64 = 10;

fn long_help() -> String {
    let mut text = format!("{EXAMPLES}\n\nPatterns, each followed by -read, -write or -trim; or 'mixed':\n");
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
         docs/workloads.md describes job files, docs/sweeps.md sweeps."
    );
    text
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { device, safety, .. } = arguments;
    let typed = Word::joined(&arguments.workload);
    if !arguments.sweep.keys.is_empty() {
        let source = WorkloadSource::read(&typed, || devices::capacity_of(device.target()?, safety))?;
        let base = arguments.changed(source.workload()?);
        let experiment = Experiment { arguments, source, base };
        return sweep::call(experiment, device, &arguments.sweep, safety, &arguments.output);
    }
    let target = device.target()?;
    let source = WorkloadSource::read(&typed, || devices::capacity_of(target, safety))?;
    let stages: Vec<Workload> =
        source.stages()?.into_iter().map(|workload| arguments.changed(workload)).collect();
    devices::check_workloads(target, safety, &stages)?;
    if arguments.alone {
        alone::check(target, &stages)?;
    }
    let writes = stages.iter().find(|workload| workload.changes());
    let writes = writes.map(|workload| (described(workload), "use a workload that only reads"));
    preflight(target, safety, &arguments.output, writes)?;
    let meter = Meter::new(format!("running on {target}"));
    let mut preconditions = false;
    let mut watch = |progress: &Progress| {
        if progress.preconditions != preconditions {
            preconditions = progress.preconditions;
            meter.say(format!("{} {target}", if preconditions { "preconditioning" } else { "running on" }));
        }
        meter.watch(progress.share())
    };
    let mut measured = measure(target, &stages, safety, RunOptions::default().samples, &mut watch)?;
    if arguments.alone
        && let [(run, result)] = &mut measured[..]
        && run.partial.is_none()
    {
        alone::add(target, &stages[0], safety, result, &mut watch)?;
    }
    drop(meter);
    let unmeasured = measured.pop_if(|(run, _)| run.requests == 0 && run.partial.is_some());
    let unmeasured = unmeasured.map(|(run, _)| nothing_measured(target, &run));
    if measured.is_empty() {
        return Err(unmeasured.unwrap_or_else(|| Failure::failed(anyhow!("nothing was measured"))));
    }
    measured[0].1.warnings.extend(source.warnings(target));
    let (last, _) = &measured[measured.len() - 1];
    let partial = last.partial.map(|reason| {
        format!("{target}: {reason}; the result is partial: {} requests were measured", last.requests)
    });
    let partial = partial.or(unmeasured.map(|failure| failure.reason()));
    let failed: Vec<String> = measured.iter().filter_map(|(_, result)| mismatches(target, result)).collect();
    deliver(&arguments.output, target, measured, stages.len(), partial.as_ref())?;
    failed.iter().chain(&partial).for_each(|reason| notify(reason));
    Ok(if failed.is_empty() && partial.is_none() { Status::Done } else { Status::Failed })
}

/// Prints and saves the results of `stages` stages, of which those that were `measured` have one. `partial` says why
/// there may be fewer.
fn deliver(
    options: &OutputOptions,
    target: &Target,
    mut measured: Vec<(Run, RunResult)>,
    stages: usize,
    partial: Option<&String>,
) -> Result<(), Failure> {
    if let (1, [(run, result)]) = (stages, &mut measured[..]) {
        let samples = output::samples(&run.samples)?;
        output::add_machine(result, target);
        return output::deliver(options, result, Some(&samples));
    }
    let made = measured.len();
    let results = measured.into_iter().map(|(_, result)| result).collect();
    let mut results = RunsResult::new(results, stages);
    if made < stages {
        results.partial = results.partial.or_else(|| partial.cloned());
    }
    output::add_machine(&mut results, target);
    output::deliver(options, &results, None)
}

/// Returns the error of a run that ended before its first measured request.
fn nothing_measured(target: &Target, run: &Run) -> Failure {
    let reason = run.partial.map_or_else(String::new, |reason| reason.to_string());
    let phase = match &run.precondition {
        Some(_) if run.partial == Some(Interruption::Stopped) => " during preconditioning",
        _ => "",
    };
    let hint = match run.partial {
        Some(Interruption::Refused { error, .. }) if is_not_written(error) => written_drive(target),
        _ => String::new(),
    };
    Failure::failed(anyhow!("{target}: {reason}{phase}; nothing was measured{hint}"))
}

/// Returns whether a read was refused because erase units hold nothing there.
fn is_not_written(error: SubmitError) -> bool {
    matches!(error, SubmitError::Rule { rule: Rule::NotWritten { .. }, .. })
}

/// Returns the same drive in a state in which all of it can be read, for a hint; empty where there is none.
fn written_drive(target: &Target) -> String {
    let written = target.with_state("full").ok().flatten();
    written.map_or_else(String::new, |written| format!("; all of '{written}' is written"))
}

/// Returns the message of a failed verification, if any.
fn mismatches(target: &Target, result: &RunResult) -> Option<String> {
    result.verified.as_ref().filter(|verified| verified.mismatches > 0)?;
    let warning = result.warnings.iter().find(|warning| warning.code == WarningCode::VerificationFailed)?;
    Some(format!("{target}: {}", warning.message))
}

fn described(workload: &Workload) -> String {
    format!("the workload '{workload}'")
}

impl Arguments {
    /// Applies `--seed`, `--quick` and `--full` to a workload.
    fn changed(&self, mut workload: Workload) -> Workload {
        workload.seed = self.seed.unwrap_or(workload.seed);
        let stop = &mut workload.stop;
        if self.effort.quick {
            stop.requests = stop.requests.map(|requests| (requests / FACTOR).max(1));
            stop.time = stop.time.map(|time| time / FACTOR);
            workload.jobs.iter_mut().for_each(|job| job.accesses = job.accesses.map(|n| (n / FACTOR).max(1)));
        } else if self.effort.full {
            stop.requests = stop.requests.map(|requests| requests.saturating_mul(FACTOR));
            stop.time = stop.time.map(|time| time * FACTOR);
            let more = |accesses: u64| accesses.saturating_mul(FACTOR);
            workload.jobs.iter_mut().for_each(|job| job.accesses = job.accesses.map(more));
        }
        workload
    }
}

/// Opens the device, runs the workloads one after the other, and returns their results. Stops after the first that ends
/// early.
fn measure(
    target: &Target,
    stages: &[Workload],
    safety: &SafetyOptions,
    samples: usize,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Vec<(Run, RunResult)>, Failure> {
    let access = AccessMode::for_writes(stages.iter().any(Workload::changes));
    let depth = stages.iter().map(Workload::depth).max();
    let opening = OpenRequest { depth, ..OpenRequest::new(safety, access, stages[0].seed) };
    let mut device = if stages.iter().any(|workload| workload.verify) {
        OpenDevice::Bytes(devices::open_verifiable(target, &opening)?)
    } else {
        OpenDevice::Timing(devices::open(target, &opening)?)
    };
    let mut measured = Vec::new();
    for workload in stages {
        // The points of a sweep are measured without samples, and have no room for it.
        let options = RunOptions { samples, watch: Some(&mut *watch), time_splits: samples > 0 };
        let run = match &mut device {
            OpenDevice::Bytes(opened) if workload.verify => {
                run_verified(&mut *opened.device, workload, options)
            }
            OpenDevice::Bytes(opened) => run(&mut *opened.device, workload, options),
            OpenDevice::Timing(opened) => run(&mut *opened.device, workload, options),
        };
        let run = run.map_err(|error| match error {
            MeasureError::Unfit { .. } => Failure::unusable(error),
            MeasureError::Interrupted(_) => Failure::failed(error),
        })?;
        let mut result = RunResult::from(&run);
        if measured.is_empty() {
            result.warnings.append(device.warnings());
        }
        if !run.info.simulated {
            result.harness_ns_per_request = Some(harness::ns_per_request(32));
        }
        let is_partial = run.partial.is_some();
        measured.push((run, result));
        if is_partial {
            break;
        }
    }
    Ok(measured)
}

/// An open device, with data if any workload verifies.
enum OpenDevice {
    Timing(devices::OpenedForCommand),
    Bytes(devices::OpenedBytes),
}

impl OpenDevice {
    fn warnings(&mut self) -> &mut Vec<Warning> {
        match self {
            Self::Timing(opened) => &mut opened.warnings,
            Self::Bytes(opened) => &mut opened.warnings,
        }
    }
}

/// A run at each point of a sweep.
struct Experiment<'a> {
    arguments: &'a Arguments,
    source: WorkloadSource,
    base: Workload,
}

impl sweep::Experiment for Experiment<'_> {
    type Plan = Workload;

    fn command(&self) -> &'static str {
        "run"
    }

    fn key_prefix(&self) -> &'static str {
        "workload"
    }

    fn keys(&self) -> Vec<&'static str> {
        KEYS.iter().map(|key| key.name).chain([PATTERN]).collect()
    }

    fn quantity(&self, key: &str) -> Option<Quantity> {
        KEYS.iter().find(|known| known.name == key).and_then(|known| known.quantity)
    }

    fn subject(&self) -> String {
        self.base.to_string()
    }

    fn seed(&self) -> Seed {
        self.base.seed
    }

    fn plan(&self, settings: &Settings<'_>) -> Result<Workload, Failure> {
        let mut workload = self.arguments.changed(self.source.with_settings(&settings.own)?);
        workload.seed = settings.seed_or(workload.seed);
        Ok(workload)
    }

    fn y(&self, workloads: &[&Workload]) -> &'static str {
        // Requests of a rate come at that rate whatever the drive does.
        let waits_for_flushes = |job: &Job| job.flush_every.is_some() && job.rate.is_none();
        let jobs = workloads.iter().flat_map(|workload| &workload.jobs);
        if jobs.clone().any(waits_for_flushes) { RATE_METRIC } else { METRICS[0].name }
    }

    fn is_random(&self, workload: &Workload) -> bool {
        workload.is_random()
    }

    fn writes(&self, workload: &Workload) -> Option<String> {
        workload.changes().then(|| described(workload))
    }

    fn definition(&self, workload: &Workload) -> String {
        // The text of a workload does not contain all of it.
        let whole = fingerprint(format!("{workload:?}").as_bytes());
        format!("{workload} {whole:016x}")
    }

    fn measure(
        &self,
        target: &Target,
        workload: &Workload,
        watch: ShareWatch<'_>,
    ) -> Result<PointResult, Failure> {
        let mut watch = |progress: &Progress| watch(progress.share());
        // Samples of single requests are only for the output of one run, hence 0.
        let stages = std::slice::from_ref(workload);
        devices::check_workloads(target, &self.arguments.safety, stages)?;
        let mut measured = measure(target, stages, &self.arguments.safety, 0, &mut watch)?;
        let (_, result) = measured.swap_remove(0);
        match mismatches(target, &result) {
            None => Ok(result.into()),
            Some(reason) => Err(Failure::failed(anyhow!("{reason}"))),
        }
    }
}
