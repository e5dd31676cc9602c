//! `flashlane transactions DEVICE RECORDING`: recorded transactions on one device.

mod plan;
mod sweep;

use crate::device::{self as devices, OpenRequest};
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{OutputOptions, SafetyOptions, SweepOptions, device, seed};
use crate::preflight::preflight;
use crate::progress::{Meter, ShareWatch};
use crate::{harness, output};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_measure::{Progress, RunOptions};
use flashlane_open::{AccessMode, Target};
use flashlane_result::transactions::TransactionsResult;
use flashlane_trace::is_standard_input;
use flashlane_transactions::{Header, OpenError, ReadError, Recording, Repeated, Setup, Survey, run};
use plan::PlanOptions;
use std::path::{Path, PathBuf};

/// Run recorded transactions of a database on a device: throughput, response times and restarts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help(), arg_required_else_help = true)]
pub struct Arguments {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device)]
    device: DeviceArgument,
    /// Recording of page accesses (docs/transactions.md), NAME.pages, compressed (gz, xz, zst) or not
    recording: PathBuf,
    #[command(flatten)]
    plan: PlanOptions,
    /// Seed of all randomness in a simulated drive; the clients use none
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
  flashlane transactions sim:nvme-tlc,initial.state=full tpcc.pages.xz
  flashlane transactions sim:nvme-tlc,initial.state=fragmented tpcc.pages.xz \\
      --pool 4k --out fragmented
  flashlane transactions sim:ssd-m tpcb.pages.xz --clients 50 \\
      --lock-wait 100ms --time 60s
  flashlane transactions sim:nvme-tlc tpcb.pages.xz --pace open --speed 2 \\
      --clients 100
  flashlane transactions /dev/nvme0n1 tpcc.pages.xz \\
      --buffer cflru-e,window=50% --destroy-data
  flashlane transactions sim:ssd-m tpcc.pages.xz \\
      --sweep initial.state=full,fragmented --sweep-y transactions";

fn long_help() -> String {
    format!(
        "{EXAMPLES}

Each client runs one transaction after another, without think time, or with --pace open
each at its recorded time, or as soon after as a client is free. Its processor time
elapses between its page accesses, each page is locked until the transaction commits, and
pages that are not in the buffer pool are read from the device. A dirty page is written
before another takes its place. A deadlock restarts the youngest transaction, a longer
wait for a lock than --lock-wait the one that waits. The database's log is not written.

Response times count from the beginning of a transaction, with --pace open from its
recorded time, to its commit, with restarts.
docs/transactions.md has the details, and how to record transactions."
    )
}

/// Explains why a recording was not opened.
fn not_opened(error: OpenError) -> Failure {
    match &error {
        OpenError::Read { source: ReadError::NotARecording { .. }, .. } => Failure::unusable(anyhow!(
            "{error}; 'flashlane replay' takes traces of requests, like blktrace's, and 'flashlane trace info' summarizes one"
        )),
        _ => Failure::unusable(error),
    }
}

/// A recording, read once to its end.
pub(super) struct Recorded {
    path: PathBuf,
    name: String,
    header: Header,
    survey: Survey,
}

impl Recorded {
    /// Reads all of a recording, so that a bad one is refused before the device is touched.
    fn read(path: &Path) -> Result<Self, Failure> {
        if is_standard_input(path) || path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            return Err(Failure::unusable(anyhow!(
                "a recording is read more than once, and '{}' is not a regular file: save it to one first",
                path.display()
            )));
        }
        let mut recording = Recording::open(path, flashlane_host::interrupted).map_err(not_opened)?;
        let (name, header) = (recording.name().to_owned(), recording.header().clone());
        let meter = Meter::new(format!("reading {name}"));
        let progress = recording.progress();
        let survey = Survey::of(&mut recording, || meter.set(progress.share()));
        drop(meter);
        if flashlane_host::interrupted() {
            return Err(Failure::failed(anyhow!("stopped on request, before any transaction was run")));
        }
        let survey = survey.map_err(|error| Failure::unusable(anyhow!("the recording '{name}': {error}")))?;
        if survey.totals.transactions == 0 {
            return Err(Failure::unusable(anyhow!(
                "the recording '{name}' has no transaction: record a longer time"
            )));
        }
        Ok(Self { path: path.into(), name, header, survey })
    }

    /// Names the recording as the operation that writes; `None` if it only reads.
    fn writes(&self) -> Option<String> {
        (self.survey.writes > 0).then(|| format!("the recording '{}'", self.name))
    }

    /// Refuses a setup that does not fit the device, before the device is prepared.
    fn check(&self, target: &Target, safety: &SafetyOptions, setup: &Setup) -> Result<(), Failure> {
        devices::check_unprepared(target, safety, |profile| {
            setup.check(&self.header, profile).map_err(Failure::unusable)
        })
    }

    /// Opens the device and runs the transactions on it.
    fn measure(
        &self,
        target: &Target,
        safety: &SafetyOptions,
        setup: &Setup,
        watch: ShareWatch<'_>,
    ) -> Result<TransactionsResult, Failure> {
        let access = AccessMode::for_writes(self.survey.writes > 0);
        let depth = Some(setup.clients.into());
        let opening = OpenRequest { depth, ..OpenRequest::new(safety, access, setup.seed) };
        let mut opened =
            devices::open_random_access(target, &opening, "a buffer pool writes pages in place, which")?;
        let path = self.path.clone();
        let mut source = Repeated::new(move || Recording::open(&path, flashlane_host::interrupted))
            .map_err(Failure::unusable)?;
        let mut watch = |progress: &Progress| watch(progress.share());
        let options = RunOptions { samples: 0, watch: Some(&mut watch), ..Default::default() };
        let run = run(&mut *opened.device, &mut source, setup, options).map_err(Failure::unusable)?;
        let mut result = run.result(&self.name, &self.survey);
        result.warnings.extend(opened.warnings);
        if !run.info.simulated {
            result.harness_ns_per_request = Some(harness::ns_per_request(setup.clients));
        }
        Ok(result)
    }
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { device, safety, .. } = arguments;
    if !arguments.sweep.keys.is_empty() {
        return sweep::call(arguments);
    }
    let target = device.target()?;
    let recorded = Recorded::read(&arguments.recording)?;
    let setup = arguments.plan.setup(&recorded, arguments.seed)?;
    recorded.check(target, safety, &setup)?;
    let writes = recorded.writes().map(|what| (what, "run a recording that only reads"));
    preflight(target, safety, &arguments.output, writes)?;
    let meter = Meter::new(format!("running transactions on {target}"));
    let result = recorded.measure(target, safety, &setup, &mut |share| meter.watch(share));
    drop(meter);
    let mut result = result?;
    if let Some(reason) = result.partial.as_ref().filter(|_| result.transactions == 0) {
        return Err(Failure::failed(anyhow!("{target}: {reason}; nothing was measured")));
    }
    output::add_machine(&mut result, target);
    output::deliver(&arguments.output, &result, None)?;
    Ok(match result.partial {
        None => Status::Done,
        Some(reason) => {
            let measured = result.transactions;
            notify(&format!(
                "{target}: {reason}; the result is partial: {measured} transactions were measured"
            ));
            Status::Failed
        }
    })
}
