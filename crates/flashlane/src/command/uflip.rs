//! `flashlane uflip DEVICE`: the nine micro-benchmarks with their methodology; export and import of results.

mod exchange;
mod plan;
mod sweep;

use crate::device::{self as devices, OpenRequest};
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{EffortOptions, OutputOptions, SafetyOptions, SweepOptions, device, seed};
use crate::preflight::{access_allowed, preflight};
use crate::progress::Meter;
use crate::{harness, output};
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::Seed;
use flashlane_open::{AccessMode, Target};
use flashlane_report::Samples;
use flashlane_result::{Warning, WarningCode};
use flashlane_uflip::{
    Benchmark, Effort, Journal, Options, Outcome, Progress, StateMethod, UflipError, uflip as benchmark,
};
use std::path::{Path, PathBuf};

/// Run the uFLIP benchmark: nine micro-benchmarks, key characteristics, design hints
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES, arg_required_else_help = true, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device, required = true)]
    device: Option<DeviceArgument>,
    /// Print the plan without running it: runs, I/Os, bytes written, expected time
    #[arg(long, conflicts_with_all = ["sweep", "create"])]
    plan: bool,
    /// Run only these micro-benchmarks, after the methodology; default: all
    #[arg(long = "only", value_name = "NAME,…", value_delimiter = ',', value_parser = micro_benchmark)]
    only: Vec<Benchmark>,
    /// How to bring the device into a known state first
    #[arg(long, value_enum, default_value_t, value_name = "STATE")]
    state: State,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    seed: Seed,
    /// Include the drive's serial number in the result
    #[arg(long, help_heading = "Real drives")]
    serial: bool,
    #[command(flatten)]
    effort: EffortOptions,
    #[command(flatten)]
    sweep: SweepOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    safety: SafetyOptions,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Export(exchange::ExportArguments),
    Import(exchange::ImportArguments),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum State {
    /// Write everything once, in pieces of random size and in random order
    #[default]
    Random,
    /// Write everything once, in order
    Sequential,
    /// Change nothing; earlier use of the device shows in the result
    AsIs,
}

/// Parses the name of a micro-benchmark.
fn micro_benchmark(text: &str) -> Result<Benchmark, String> {
    let known = || Benchmark::ALL.map(Benchmark::name).join(", ");
    let found = Benchmark::ALL.into_iter().find(|benchmark| benchmark.name() == text);
    found.ok_or_else(|| format!("allowed: {}", known()))
}

const EXAMPLES: &str = "\
Examples:
  flashlane uflip sim:mtron-like
  flashlane uflip sim:nvme-tlc --quick --out nvme
  flashlane uflip ./scratch --quick --create 2GiB --out disk
  flashlane uflip /dev/nvme0n1 --full --plan
  flashlane uflip /dev/nvme0n1 --full --destroy-data --out drive
  flashlane uflip export drive > drive.uflip.json
  flashlane uflip import theirs.json drive.uflip.json --out comparison

--quick uses the first 1 GiB and few values, and takes minutes; --full measures the paper's whole
grid on the whole device. To resume a stopped benchmark of a real device, repeat the command with
the same --out DIR. A real device is only read unless --destroy-data is given; the cost of writes
is then not determined.";

/// The file in `--out` from which a stopped benchmark resumes.
const JOURNAL: &str = "uflip.journal";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    match &arguments.action {
        Some(Action::Export(arguments)) => return exchange::export(arguments),
        Some(Action::Import(arguments)) => return exchange::import(arguments),
        None => {}
    }
    let device = arguments.device.as_ref().expect("a device or an action is required");
    if !arguments.sweep.keys.is_empty() {
        return sweep::call(arguments, device);
    }
    let target = device.target()?;
    if arguments.plan {
        return plan::call(arguments, target);
    }
    preflight(target, &arguments.safety, &arguments.output, None)?;
    let meter = Meter::new(format!("benchmarking {target}"));
    let mut watch = |progress: &Progress| {
        meter.say(&*progress.stage);
        meter.watch(Some(progress.share))
    };
    let measured = arguments.measure(target, arguments.seed, arguments.output.out.as_deref(), &mut watch);
    drop(meter);
    let (mut outcome, journal) = measured?;
    output::add_machine(&mut outcome.result, target);
    if let Some((machine, path)) = outcome.result.machine.as_mut().zip(target.path())
        && arguments.serial
    {
        machine.serial = flashlane_host::serial(path);
    }
    output::deliver(&arguments.output, &outcome.result, Some(&samples(&outcome)?))?;
    // The result now contains everything in the journal.
    if let Some(journal) = journal {
        std::fs::remove_file(&journal)
            .map_err(|error| Failure::failed(anyhow!("cannot remove '{}': {error}", journal.display())))?;
    }
    Ok(Status::Done)
}

impl Arguments {
    fn effort(&self) -> Effort {
        match self.effort {
            EffortOptions { quick: true, .. } => Effort::Quick,
            EffortOptions { full: true, .. } => Effort::Full,
            _ => Effort::Normal,
        }
    }

    fn benchmarks(&self) -> Vec<Benchmark> {
        if self.only.is_empty() { Benchmark::ALL.to_vec() } else { self.only.clone() }
    }

    fn state(&self) -> StateMethod {
        match self.state {
            State::Random => StateMethod::Random,
            State::Sequential => StateMethod::Sequential,
            State::AsIs => StateMethod::AsIs,
        }
    }

    /// Benchmarks the device. With `out`, keeps a journal there for a real device, and returns its path.
    fn measure(
        &self,
        target: &Target,
        seed: Seed,
        out: Option<&Path>,
        watch: flashlane_measure::Watch<'_, Progress>,
    ) -> Result<(Outcome, Option<PathBuf>), Failure> {
        let access = access_allowed(target, &self.safety.consent());
        let opening = OpenRequest::new(&self.safety, access, seed);
        let mut opened = devices::open_random_access(target, &opening, "uFLIP")?;
        let path = out.filter(|_| !target.is_simulated()).map(|out| out.join(JOURNAL));
        let mut journal = match &path {
            None => None,
            Some(path) => Some(self.journal(path, target, opened.device.info().capacity_bytes, access)?),
        };
        let options = Options {
            effort: self.effort(),
            state: self.state(),
            benchmarks: self.benchmarks(),
            may_write: access == AccessMode::ReadWrite,
            seed,
            journal: journal.as_mut(),
            watch: Some(watch),
            ..Options::default()
        };
        let mut outcome = benchmark(&mut *opened.device, options)
            .map_err(|error| benchmark_failure(error, target, path.is_some()))?;
        let result = &mut outcome.result;
        for warning in result.warnings.iter_mut().filter(|warning| warning.code == WarningCode::PartOfDevice)
        {
            warning.message += "; without --quick all of it is";
        }
        result.warnings.extend(opened.warnings);
        if !result.device.simulated {
            result.harness_ns_per_request = Some(harness::ns_per_request(1));
            self.warn(&mut result.warnings, result.resumed_steps, access);
        }
        Ok((outcome, path))
    }

    fn warn(&self, warnings: &mut Vec<Warning>, resumed_steps: u64, access: AccessMode) {
        if access == AccessMode::ReadOnly {
            // Read-only is the default for real devices, so say how to change it.
            for warning in warnings.iter_mut().filter(|warning| warning.code == WarningCode::ReadOnly) {
                warning.message += "; --destroy-data allows writes, if all data on the device may be lost";
            }
        }
        if resumed_steps > 0 {
            warnings.push(Warning::new(
                "resumed",
                format!(
                    "{resumed_steps} steps are from an earlier, stopped benchmark: use of the device in between shows in the other steps"
                ),
            ));
        }
    }

    fn journal(
        &self,
        path: &Path,
        target: &Target,
        capacity_bytes: u64,
        access: AccessMode,
    ) -> Result<Journal, Failure> {
        let identity = target.real().map(|real| real.identity().clone()).unwrap_or_default();
        let drive: Vec<String> = [identity.model, identity.firmware].into_iter().flatten().collect();
        let definition = format!(
            "flashlane {}, {target} ({}) of {capacity_bytes} bytes, {} effort, {}, state {}, seed {}, {}",
            env!("CARGO_PKG_VERSION"),
            drive.join(" "),
            self.effort().name(),
            self.benchmarks().iter().map(|benchmark| benchmark.name()).collect::<Vec<_>>().join(" "),
            self.state.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()),
            self.seed.0,
            match access {
                AccessMode::ReadWrite => "reads and writes",
                AccessMode::ReadOnly => "reads only",
            },
        );
        let journal = Journal::open(path, &definition).map_err(Failure::unusable)?;
        if journal.pending() > 0 {
            notify(&format!("resuming after {} steps from '{}'", journal.pending(), path.display()));
        }
        Ok(journal)
    }
}

/// Returns the error of a benchmark without result, and how to resume.
fn benchmark_failure(error: UflipError, device: &Target, is_kept: bool) -> Failure {
    match error {
        UflipError::TooSmall { .. } => Failure::unusable(error),
        UflipError::Stopped if is_kept => Failure::failed(anyhow!(
            "{error}; the same command resumes from there (with --destroy-data instead of --create)"
        )),
        UflipError::Stopped => Failure::failed(anyhow!(
            "{error}; nothing was saved: for a real device, --out DIR saves the steps for resuming"
        )),
        UflipError::Interrupted(_) | UflipError::Unfit(_) => Failure::failed(anyhow!("{device}: {error}")),
        UflipError::Journal(_) => Failure::failed(error),
    }
}

/// Returns every response time with the number of its run.
fn samples(outcome: &Outcome) -> Result<Samples, Failure> {
    let runs = outcome.result.runs.iter().zip(0_u64..);
    let run = runs.flat_map(|(row, at)| std::iter::repeat_n(at, row.samples as usize)).collect();
    Samples::new()
        .with_u64("run", run)
        .and_then(|samples| samples.with_u64("latency_ns", outcome.latencies_ns.clone()))
        .map_err(Failure::failed)
}
