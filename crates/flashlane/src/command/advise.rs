//! `flashlane advise`: settings of a program, or the faster of two plans, by what the device's reads cost.

use crate::device::{self as devices, OpenRequest};
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{OutputOptions, device, positive_time, seed};
use crate::output;
use crate::progress::Meter;
use crate::refusal::suggest_existing;
use anyhow::anyhow;
use clap::Subcommand;
use flashlane_advise::{
    Advice, AdviseError, Calibration, CostModel, Estimate, Plan, PostgreSql, Reads, Trial, calibrate, check,
    fio, measure_commits, plan_result, postgresql, result_of, rocksdb,
};
use flashlane_base::units::{format_bytes, parse_bytes, parse_share};
use flashlane_base::{Duration, Seed};
use flashlane_device::Device;
use flashlane_open::{AccessMode, Consent, Target};
use flashlane_result::Warning;
use flashlane_result::advice::AdviceResult;
use flashlane_sim::config::InitialState;
use std::ops::ControlFlow;

/// Advise settings or a plan, from measured costs of reads
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    program: Program,
}

const EXAMPLES: &str = "\
Examples:
  flashlane advise postgresql sim:ssd-s
  flashlane advise postgresql /dev/nvme0n1 --version 17 --table 200GiB --check
  flashlane advise rocksdb sim:nvme-tlc
  flashlane advise fio ./file
  flashlane advise plan sim:ssd-s \\
      --plan 'index: random,pages=25k,band=800MiB,depth=8' \\
    --plan 'scan: scan,pages=100k,depth=8'

A real device is only read. A fresh simulated drive is measured full, since reads of pages that
were never written cost no flash. docs/advise.md explains the formulas and their limits.";

#[derive(Debug, Subcommand)]
enum Program {
    /// Settings of PostgreSQL 15 to 18
    Postgresql {
        #[command(flatten)]
        database: DatabaseOptions,
        #[command(flatten)]
        measuring: MeasuringOptions,
    },
    /// Settings of RocksDB that follow from reads
    Rocksdb {
        #[command(flatten)]
        measuring: MeasuringOptions,
    },
    /// Depth and size of fio jobs that reach what the device delivers
    Fio {
        #[command(flatten)]
        measuring: MeasuringOptions,
    },
    /// The fastest of several plans, each given by its numbers of pages
    Plan {
        /// A plan: 'NAME: READS', with READS 'random,pages=N,band=SIZE,depth=N' or 'scan,pages=N,size=SIZE,depth=N',
        /// several joined by '+'
        #[arg(long = "plan", value_name = "PLAN", required = true)]
        plans: Vec<String>,
        #[command(flatten)]
        measuring: MeasuringOptions,
    },
}

/// What is known of a PostgreSQL.
#[derive(Clone, Copy, Debug, clap::Args)]
struct DatabaseOptions {
    /// Major version
    #[arg(long, value_name = "N", default_value_t = 18)]
    version: u32,
    /// Size of the table that matters; default: the whole device, at most 10 GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    table: Option<u64>,
    /// Largest share of index accesses whose page is found in memory; PostgreSQL's own default assumes 90%
    #[arg(long, value_name = "SHARE", default_value = "90%", value_parser = parse_share)]
    cached: f64,
    /// Time of a write of 8 KiB with its flush, as pg_test_fsync measures it; default: measured on simulated drives
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    commit: Option<Duration>,
}

#[derive(Clone, Debug, clap::Args)]
struct MeasuringOptions {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device)]
    device: DeviceArgument,
    /// Also do the work of old and new in turn, print the measured gain beside the predicted one, and withdraw
    /// settings that gain less than 5%
    #[arg(long)]
    check: bool,
    /// Measurements of each point: more of them narrow the intervals
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_REPETITIONS)))]
    repeat: u32,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    seed: Seed,
    /// Measure through the page cache if the file system has no direct I/O; results then show memory, not the drive
    #[arg(long, help_heading = "Real drives")]
    allow_page_cache: bool,
    #[command(flatten)]
    output: OutputOptions,
}

/// Most measurements of a point.
const MOST_REPETITIONS: u32 = 1000;

/// Largest table that is assumed unless one is given.
const TABLE: u64 = 10 << 30;

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    match &arguments.program {
        Program::Postgresql { database, measuring } => {
            let DatabaseOptions { version, table, cached, commit } = *database;
            let of = |table_bytes| PostgreSql::new(version, table_bytes, cached).map_err(Failure::unusable);
            // Before the device is measured.
            of(table.unwrap_or(TABLE))?;
            if commit.is_some() && measuring.check && measuring.device.target()?.config().is_none() {
                return Err(Failure::unusable(anyhow!(
                    "--check would write commits to a real device; leave out --commit, or --check"
                )));
            }
            let calibration = measuring.calibration();
            advise(measuring, &calibration, &format!("postgresql {version}"), |model, subject| {
                let device_bytes = model.area_pages() * model.page_bytes();
                if let Some(table) = table.filter(|table| *table > device_bytes) {
                    return Err(Failure::unusable(anyhow!(
                        "--table {} does not fit the device; allowed: at most {}",
                        format_bytes(table),
                        format_bytes(device_bytes)
                    )));
                }
                let commit = match commit {
                    Some(commit) => Some(Estimate { mean: commit.as_ns() as f64, half_width: 0.0 }),
                    None => measuring.commit(subject, &calibration)?,
                };
                let model = commit.into_iter().fold(model, CostModel::with_commit);
                let advice = postgresql(&model, &of(table.unwrap_or(TABLE).min(device_bytes))?);
                Ok((model, advice))
            })
        }
        Program::Rocksdb { measuring } => {
            advise(measuring, &measuring.calibration(), "rocksdb", |model, _| {
                let advice = rocksdb(&model);
                Ok((model, advice))
            })
        }
        Program::Fio { measuring } => {
            let calibration =
                Calibration { seed: measuring.seed, repetitions: measuring.repeat, ..Calibration::of_fio() };
            advise(measuring, &calibration, "fio", |model, _| {
                let advice = fio(&model);
                Ok((model, advice))
            })
        }
        Program::Plan { plans, measuring } => compare_plans(measuring, plans),
    }
}

/// A device to measure, and what the user knows of it.
struct Subject {
    target: Target,
    device: Box<dyn Device>,
    warnings: Vec<Warning>,
}

impl MeasuringOptions {
    fn calibration(&self) -> Calibration {
        Calibration { seed: self.seed, repetitions: self.repeat, ..Calibration::default() }
    }

    /// Opens the device for reading; a fresh simulated drive is filled.
    fn open(&self, calibration: &Calibration) -> Result<Subject, Failure> {
        let given = self.device.target()?.clone();
        let is_fresh = given.config().is_some_and(|config| config.initial.state == InitialState::Fresh);
        let target = match given.with_state("full")? {
            Some(full) if is_fresh => full,
            _ => given,
        };
        if let Some(path) = target.path().filter(|path| !path.exists()) {
            let hint = suggest_existing(path);
            return Err(Failure::unusable(anyhow!("'{}' does not exist{hint}", path.display())));
        }
        output::prepare_for_device(&self.output, &target)?;
        let opening = OpenRequest {
            consent: Consent::ReadOnly,
            access: AccessMode::ReadOnly,
            allow_page_cache: self.allow_page_cache,
            depth: Some(calibration.most_in_flight.into()),
            seed: self.seed,
            after_interrupt: false,
        };
        let opened = devices::open_random_access(&target, &opening, "advice")?;
        let mut warnings = opened.warnings;
        let never_written_share = target.path().and_then(flashlane_host::never_written_share).unwrap_or(0.0);
        if never_written_share > MOST_NEVER_WRITTEN {
            return Err(Failure::unusable(anyhow!(
                "{:.0}% of '{target}' was never written, and reads of that cost nothing, so no advice would hold: fill it \
                 with data first",
                never_written_share * 100.0
            )));
        }
        warnings.extend(never_written(never_written_share));
        warnings.extend(flashlane_measure::about_settings(opened.device.info()).iter().map(Warning::from));
        Ok(Subject { target, device: opened.device, warnings })
    }

    /// Measures the cost model.
    fn model(&self, subject: &mut Subject, calibration: &Calibration) -> Result<CostModel, Failure> {
        let meter = Meter::new("measuring reads");
        calibrate(&mut *subject.device, calibration, &mut |share| watch(&meter, *share)).map_err(failure)
    }

    /// Measures the time of a commit, on simulated drives.
    fn commit(&self, subject: &mut Subject, calibration: &Calibration) -> Result<Option<Estimate>, Failure> {
        if subject.target.config().is_none() {
            return Ok(None);
        }
        let meter = Meter::new("measuring commits");
        measure_commits(&mut *subject.device, calibration, &mut |share| watch(&meter, *share))
            .map(Some)
            .map_err(failure)
    }

    /// Does the work of the trials, if that was asked.
    fn measure(
        &self,
        subject: &mut Subject,
        trials: &[Trial],
        calibration: &Calibration,
    ) -> Result<Option<Vec<(Estimate, Estimate)>>, Failure> {
        if !self.check {
            return Ok(None);
        }
        let meter = Meter::new("checking predictions");
        check(&mut *subject.device, trials, calibration, &mut |share| watch(&meter, *share))
            .map(Some)
            .map_err(failure)
    }

    /// Prints and saves a result. A prediction that did not hold counts as failed.
    fn deliver(&self, result: AdviceResult, subject: Subject) -> Result<Status, Failure> {
        let mut result = AdviceResult { device: subject.target.to_string(), seed: self.seed.0, ..result };
        result.warnings.extend(subject.warnings);
        result.warnings.extend(too_noisy(&result, self.repeat));
        output::add_machine(&mut result, &subject.target);
        output::deliver(&self.output, &result, None)?;
        let settings = result.settings.iter().map(|setting| (&setting.name, setting.effect.holds));
        let withdrawn = result.withdrawn.iter().map(|setting| (&setting.name, setting.effect.holds));
        let plans = result.plans.iter().map(|plan| (&plan.name, plan.holds));
        let missed: Vec<&str> = settings
            .chain(withdrawn)
            .chain(plans)
            .filter(|(_, holds)| *holds == Some(false))
            .map(|(name, _)| &**name)
            .collect();
        Ok(match missed.as_slice() {
            [] => Status::Done,
            missed => {
                notify(&format!("predictions that did not hold: {}", missed.join(", ")));
                Status::Failed
            }
        })
    }
}

fn watch(meter: &Meter, share: f64) -> ControlFlow<()> {
    meter.watch(Some(share))
}

fn failure(error: AdviseError) -> Failure {
    match error {
        AdviseError::TooSmall { .. } | AdviseError::PageUnfit { .. } => Failure::unusable(error),
        AdviseError::Measure(_) | AdviseError::Stopped => Failure::failed(error),
    }
}

/// Warns of measurements that differ too much to decide on a setting, or whether a prediction held.
fn too_noisy(result: &AdviceResult, repeat: u32) -> Option<Warning> {
    let is_unclear = |measured: bool, holds: Option<bool>| measured && holds.is_none();
    let effects = result.settings.iter().map(|setting| &setting.effect);
    let effects = effects.chain(result.withdrawn.iter().map(|setting| &setting.effect));
    let settings = effects.filter(|effect| is_unclear(effect.measured.is_some(), effect.holds)).count()
        + result.kept.iter().filter(|kept| kept.undecided).count();
    let plans = result.plans.iter().filter(|plan| is_unclear(plan.measured_ns.is_some(), plan.holds)).count();
    let (count, one) = if plans > 0 { (plans, "plan") } else { (settings, "setting") };
    (count > 0).then(|| {
        Warning::new(
            "noisy",
            format!(
                "the measurements differ too much to tell about {count} {one}{}: measure while nothing else uses the \
                 device, or more often (--repeat {})",
                if count == 1 { "" } else { "s" },
                (4 * repeat).min(MOST_REPETITIONS)
            ),
        )
    })
}

/// Largest share of a file that was never written with which advice is given.
const MOST_NEVER_WRITTEN: f64 = 0.5;

/// Warns of a file with holes, whose reads cost nothing.
fn never_written(share: f64) -> Option<Warning> {
    (share > 0.01).then(|| {
        Warning::new(
            "never-written",
            format!(
                "{:.0}% of the file was never written; reads of it cost no flash, so that costs are too low",
                share * 100.0
            ),
        )
    })
}

fn advise(
    measuring: &MeasuringOptions,
    calibration: &Calibration,
    program: &str,
    of: impl FnOnce(CostModel, &mut Subject) -> Result<(CostModel, Advice), Failure>,
) -> Result<Status, Failure> {
    let mut subject = measuring.open(calibration)?;
    let model = measuring.model(&mut subject, calibration)?;
    let (model, advice) = of(model, &mut subject)?;
    let trials: Vec<Trial> = advice.proposals.iter().map(|proposal| proposal.trial.clone()).collect();
    let measured = measuring.measure(&mut subject, &trials, calibration)?;
    measuring.deliver(result_of(&model, program, advice, measured.as_deref()), subject)
}

fn compare_plans(measuring: &MeasuringOptions, plans: &[String]) -> Result<Status, Failure> {
    let calibration = measuring.calibration();
    let page_bytes = calibration.page_bytes;
    let plans: Vec<Plan> = plans
        .iter()
        .map(|text| {
            Plan::parse(text, page_bytes).map_err(|error| Failure::unusable(anyhow!("--plan: {error}")))
        })
        .collect::<Result<_, _>>()?;
    if plans.len() < 2 {
        return Err(Failure::unusable(anyhow!("one plan leaves no choice; allowed: --plan at least twice")));
    }
    let mut subject = measuring.open(&calibration)?;
    check_bands(&plans, &subject, page_bytes)?;
    let model = measuring.model(&mut subject, &calibration)?;
    // In turn: the first plan against each of the others.
    let (first, others) = plans.split_first().expect("two plans at least");
    let trials: Vec<Trial> =
        others.iter().map(|other| Trial::reads(first.reads.clone(), other.reads.clone())).collect();
    let mut measured = Vec::new();
    let times = measuring.measure(&mut subject, &trials, &calibration)?;
    for (i, (time, other)) in times.unwrap_or_default().into_iter().enumerate() {
        if i == 0 {
            measured.push((first.name.clone(), time));
        }
        measured.push((others[i].name.clone(), other));
    }
    measuring.deliver(plan_result(&model, &plans, &measured), subject)
}

/// Refuses bands that are larger than the device.
fn check_bands(plans: &[Plan], subject: &Subject, page_bytes: u64) -> Result<(), Failure> {
    let capacity_bytes = subject.device.info().capacity_bytes;
    for plan in plans {
        for reads in &plan.reads {
            let (Reads::Random { band_pages: pages, .. } | Reads::Scan { pages, .. }) = reads;
            if *pages > (capacity_bytes / page_bytes) as f64 {
                return Err(Failure::unusable(anyhow!(
                    "--plan: '{}' reads {} of a device of {}",
                    plan.name,
                    format_bytes(*pages as u64 * page_bytes),
                    format_bytes(capacity_bytes)
                )));
            }
        }
    }
    Ok(())
}
