//! `--sweep KEY=VALUES`: runs a command at every point of a grid.
//!
//! A key with the prefix of the command (`workload.`) is a setting of the command, `seed` is the seed, and any other
//! key is a field of the simulated drive's profile, as in its spec. Short names: [`names`].

mod names;
mod repeat;

use crate::device as devices;
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status, notify};
use crate::options::{OutputOptions, SafetyOptions, SweepOptions};
use crate::output;
use crate::preflight::preflight;
use crate::progress::{Meter, ShareWatch};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_device::spec::Spec;
use flashlane_open::Target;
use flashlane_result::sweep::{PointStatus, SweepResult};
use flashlane_sweep::{
    About, Grid, Key, METRICS, Metric, Options, Planned, PointError, PointResult, Progress, Store,
    SweepOutcome, Task, fingerprint, fingerprint_of, result_of, run,
};
use repeat::{REPETITIONS, is_random, repetitions};
use std::path::Path;

/// The measurement of a command at a point.
pub trait Experiment: Sync {
    /// The checked settings of the command at a point.
    type Plan: Sync;

    fn command(&self) -> &'static str;
    /// Prefix of the command's own keys: `workload`.
    fn key_prefix(&self) -> &'static str;
    /// The command's own keys, without the prefix.
    fn keys(&self) -> Vec<&'static str>;
    /// Quantity of one of the command's own keys, if it takes numbers.
    fn quantity(&self, key: &str) -> Option<Quantity>;
    /// The default metric of the comparison and the plot, for these points.
    fn y(&self, _plans: &[&Self::Plan]) -> &'static str {
        METRICS[0].name
    }
    /// Describes the workload before the settings of a point.
    fn subject(&self) -> String;
    /// The seed, unless it is swept.
    fn seed(&self) -> Seed;
    /// Default number of measurements of a point with any randomness.
    fn repetitions(&self) -> usize {
        REPETITIONS
    }
    /// Returns whether the workload of a point depends on the seed.
    fn is_random(&self, plan: &Self::Plan) -> bool;
    /// Checks the settings of a point.
    fn plan(&self, settings: &Settings<'_>) -> Result<Self::Plan, Failure>;
    /// Reads the input of all points. The caller calls it once, before the first `writes`.
    fn prepare(&mut self, _: &Target, _: &[&Self::Plan]) -> Result<(), Failure> {
        Ok(())
    }
    /// Names the operation that writes at a point; `None` if the point only reads.
    fn writes(&self, plan: &Self::Plan) -> Option<String>;
    /// Returns everything that the result of a point depends on, except program and device.
    fn definition(&self, plan: &Self::Plan) -> String;
    /// Measures a point, with the result of a run alone. The caller ignores the result if `watch` broke.
    fn measure(
        &self,
        target: &Target,
        plan: &Self::Plan,
        watch: ShareWatch<'_>,
    ) -> Result<PointResult, Failure>;
}

/// The settings of a point for its command.
pub struct Settings<'a> {
    /// The command's own keys, without the prefix.
    pub own: Vec<(&'a str, &'a str)>,
    /// The seed of the point, if the seed is swept.
    pub seed: Option<Seed>,
    /// Number of the repetition, from 0.
    pub repetition: u64,
}

impl Settings<'_> {
    /// Returns the seed of this repetition: the swept seed or else `own`, plus the number of the repetition.
    pub fn seed_or(&self, own: Seed) -> Seed {
        Seed(self.seed.unwrap_or(own).0.wrapping_add(self.repetition))
    }
}

/// Commands with their own keys, and the prefix of those.
const KEY_PREFIXES: [(&str, &str); 3] =
    [("run", "workload"), ("replay", "replay"), ("transactions", "transactions")];

/// A point: the device with its fields set, and the plan of the command.
struct Point<P> {
    target: Target,
    plan: P,
}

const SEED: &str = "seed";
/// Default metric when a depth is swept, since the shortest latency is always at depth 1, and of workloads with
/// flushes, whose writes end early where a buffer takes them, and whose flushes then wait for it.
pub const RATE_METRIC: &str = "iops";

/// Sweeps `experiment` over the keys of `options`.
pub fn call(
    mut experiment: impl Experiment,
    device: &DeviceArgument,
    options: &SweepOptions,
    safety: &SafetyOptions,
    out: &OutputOptions,
) -> Result<Status, Failure> {
    // All points of a real device are on one target, which knows the file of `--create`.
    let real = device.target().ok().filter(|target| !target.is_simulated());
    let device = device.spec();
    let grid = grid(&experiment, device, options)?;
    let mut tasks = tasks(&experiment, device, real, &grid, 0, out.out.is_some())?;
    let is_exact = tasks.iter().flatten().all(|task| !is_random(&experiment, &task.plan));
    for repetition in 1..repetitions(&experiment, &grid, options, is_exact)? {
        tasks.extend(self::tasks(&experiment, device, real, &grid, repetition as u64, out.out.is_some())?);
    }
    let plans: Vec<_> = tasks.iter().flatten().map(|task| &task.plan.plan).collect();
    // Points differ in settings only: all have the same device path, or all are simulated.
    let target = &tasks.iter().flatten().next().expect("a point can be measured").plan.target;
    let jobs = jobs(target, options)?;
    experiment.prepare(target, &plans)?;
    let writes = plans.into_iter().find_map(|plan| experiment.writes(plan));
    preflight(target, safety, out, writes.map(|what| (what, "sweep a workload that only reads")))?;
    let store = out.out.as_deref().filter(|_| target.is_simulated()).map(store).transpose()?;

    let what = match tasks.len() / grid.len() {
        1 => format!("sweeping over {} points", grid.len()),
        repeat => format!("sweeping over {} points, {repeat} times each", grid.len()),
    };
    let swept = measure(&experiment, &tasks, what, jobs, store.as_ref());
    let plans: Vec<_> = tasks.iter().flatten().map(|task| &task.plan.plan).collect();
    let y = options.y.as_deref();
    let y = y.unwrap_or_else(|| if grid.has_depth() { RATE_METRIC } else { experiment.y(&plans) });
    let y = Metric::named(y).expect("only names of metrics are taken");
    let about = About {
        command: experiment.command(),
        device: device.to_string(),
        workload: experiment.subject(),
        seed: experiment.seed().0,
        is_exact,
    };
    let mut result = result_of(about, &grid, &swept.outcomes, y);
    output::add_machine(&mut result, target);
    output::deliver(out, &result, None)?;
    Ok(report_outcome(&result, &swept, out.out.as_deref().filter(|_| store.is_some())))
}

fn grid(experiment: &impl Experiment, device: &Spec, options: &SweepOptions) -> Result<Grid, Failure> {
    let quantity = |key: &str| match own_key(experiment, key) {
        Some(key) => experiment.quantity(key),
        None => (key == SEED).then_some(Quantity::Count),
    };
    let read = |text: &String| {
        let text = names::expand_key(text, experiment, device)?;
        Key::parse(&text, quantity).map_err(Failure::unusable)
    };
    let keys: Vec<Key> = options.keys.iter().map(read).collect::<Result<_, _>>()?;
    for key in &keys {
        let of =
            |(_, word): &&(&str, &str)| key.name.strip_prefix(word).is_some_and(|rest| rest.starts_with('.'));
        if let Some((command, _)) =
            KEY_PREFIXES.iter().find(of).filter(|(_, word)| *word != experiment.key_prefix())
        {
            return Err(Failure::unusable(anyhow!(
                "'{}' is a key of 'flashlane {command}', not of 'flashlane {}'",
                key.name,
                experiment.command()
            )));
        }
    }
    Grid::new(keys).map_err(Failure::unusable)
}

/// Returns a command's own key without the prefix.
fn own_key<'a>(experiment: &impl Experiment, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(experiment.key_prefix())?.strip_prefix('.')
}

/// Returns the number of points to measure in parallel. Refuses a device that only one point could have.
fn jobs(target: &Target, options: &SweepOptions) -> Result<usize, Failure> {
    if let Some(file) = target.bytes_file() {
        return Err(Failure::unusable(anyhow!(
            "'{}' holds the bytes of one drive, and each measurement of a sweep begins with a new one: leave 'file' out, so \
             that the bytes are kept in memory",
            file.display()
        )));
    }
    let asked = options.jobs.map(usize::from);
    if target.is_simulated() {
        return Ok(asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)));
    }
    match asked {
        Some(jobs) if jobs > 1 => Err(Failure::unusable(anyhow!(
            "--jobs {jobs} is invalid for '{target}': the points of a real device are measured one at a time"
        ))),
        _ => Ok(1),
    }
}

/// Returns one repetition of the points as tasks, or the reason why a point is invalid. If all are invalid, returns the
/// first reason as an error.
fn tasks<E: Experiment>(
    experiment: &E,
    device: &Spec,
    real: Option<&Target>,
    grid: &Grid,
    repetition: u64,
    is_kept: bool,
) -> Result<Vec<Planned<Point<E::Plan>>>, Failure> {
    let program = if is_kept { program()? } else { String::new() };
    let mut first_refusal = None;
    let mut tasks = Vec::with_capacity(grid.len());
    for at in 0..grid.len() {
        let point = grid.point(at);
        let planned = settings(experiment, device, &point).and_then(|(device, settings)| {
            let settings = Settings { repetition, ..settings };
            let plan = experiment.plan(&settings)?;
            let target = real.map_or_else(|| devices::resolve(&device), |real| Ok(real.clone()))?;
            // The spec of a simulated drive does not contain its whole profile.
            let profile = fingerprint(format!("{:?}", target.config()).as_bytes());
            let (command, own) = (experiment.command(), experiment.definition(&plan));
            let definition = format!("{program}\n{command}\n{device} {profile:016x}\n{own}");
            Ok((definition, Point { target, plan }))
        });
        tasks.push(match planned {
            Ok((definition, plan)) => {
                let mut name: Vec<String> =
                    point.iter().map(|(key, value)| format!("{key}={value}")).collect();
                if repetition > 0 {
                    name.push(format!("{SEED}={}", experiment.seed().0.wrapping_add(repetition)));
                }
                Ok(Task { name: name.join(","), definition, plan })
            }
            Err(failure) => {
                let reason = failure.reason();
                first_refusal.get_or_insert(failure);
                Err(reason)
            }
        });
    }
    match first_refusal {
        Some(failure) if tasks.iter().all(Result::is_err) => Err(failure),
        _ => Ok(tasks),
    }
}

fn settings<'a>(
    experiment: &impl Experiment,
    device: &Spec,
    point: &[(&'a str, &'a str)],
) -> Result<(Spec, Settings<'a>), Failure> {
    let (mut changed, mut settings) =
        (device.clone(), Settings { own: Vec::new(), seed: None, repetition: 0 });
    for &(key, value) in point {
        if let Some(own) = own_key(experiment, key) {
            settings.own.push((own, value));
        } else if key == SEED {
            let seed = crate::options::seed(value);
            settings.seed =
                Some(seed.map_err(|reason| Failure::unusable(anyhow!("seed={value}: {reason}")))?);
        } else {
            let with = changed.with_setting(key, value);
            changed = with.ok_or_else(|| not_simulated(device, key, experiment.key_prefix()))?;
        }
    }
    Ok((changed, settings))
}

fn not_simulated(device: &Spec, key: &str, prefix: &str) -> Failure {
    Failure::unusable(anyhow!(
        "'{key}' is not a key for '{device}', which is a real device; allowed: 'seed' and keys that begin with '{prefix}.'"
    ))
}

/// Identifies the program, so that points measured by another version are not reused.
pub fn program() -> Result<String, Failure> {
    let program = std::env::current_exe().and_then(|file| fingerprint_of(&file)).map_err(|error| {
        Failure::failed(anyhow!(
            "cannot identify this program to compare it with the one that measured the points in --out: {error}"
        ))
    })?;
    Ok(format!("flashlane {} {:016x}", env!("CARGO_PKG_VERSION"), program))
}

/// Opens the store of points in `--out`.
pub fn store(out: &Path) -> Result<Store, Failure> {
    let dir = out.join("points");
    Store::open(&dir).map_err(|error| {
        Failure::unusable(anyhow!("cannot create the directory '{}': {error}", dir.display()))
    })
}

fn measure<E: Experiment>(
    experiment: &E,
    tasks: &[Planned<Point<E::Plan>>],
    what: String,
    jobs: usize,
    store: Option<&Store>,
) -> SweepOutcome {
    let meter = Meter::new(what);
    let watch = |progress: &Progress| meter.watch(Some(progress.share));
    let options = Options { jobs, store, watch: &watch };
    run(tasks, &options, |Point { target, plan }, watch| {
        let measured = experiment.measure(target, plan, watch);
        // The result of a stopped point is incomplete.
        if watch(None).is_break() {
            return Err(PointError::Stopped);
        }
        measured.map_err(|failure| PointError::Failed(failure.reason()))
    })
}

/// Reports problems of a sweep and returns its status; `out` is where its points are saved.
fn report_outcome(result: &SweepResult, swept: &SweepOutcome, out: Option<&Path>) -> Status {
    for (file, reason) in &swept.damaged {
        notify(&format!(
            "cannot reuse '{}': {reason}; its point was measured again, and can be saved once that file is removed",
            file.display()
        ));
    }
    if let Some(error) = &swept.store_error {
        notify(&format!("some points could not be saved for resuming: {error}"));
    }
    if let Some(reason) = &result.partial {
        let go_on = match out {
            Some(dir) => {
                format!("the same command resumes with the points in {}", dir.join("points").display())
            }
            None => {
                "its points are not saved: on a simulated device, --out DIR saves them for resuming".into()
            }
        };
        notify(&format!("{reason}; {go_on}"));
        return Status::Failed;
    }
    let bad = result.rows.iter().filter(|row| row.status != PointStatus::Measured);
    let (count, first) = (bad.clone().count(), bad.into_iter().next());
    let Some(first) = first else { return Status::Done };
    notify(&format!(
        "{count} of {} points were not measured completely; the first is {}: {}",
        result.rows.len(),
        first.point,
        first.reason.as_deref().unwrap_or("unknown reason")
    ));
    Status::Failed
}
