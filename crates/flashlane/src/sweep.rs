//! `--sweep KEY=VALUES`: what a command does, at every point of a grid.
//!
//! A key that begins with the command's own word (`workload.`) is a setting of what is asked, `seed` is the seed, and
//! all others are fields of the simulated drive's profile, as in its spec. Short names: [`names`].

mod names;
mod repeat;

use crate::device as devices;
use crate::failure::{Failure, Status, notify};
use crate::options::{OutputOptions, SafetyOptions, SweepOptions};
use crate::output;
use crate::preflight::preflight;
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_device::spec::Spec;
use flashlane_open::Target;
use flashlane_result::sweep::{PointStatus, SweepResult};
use flashlane_sweep::{
    About, Grid, Key, METRICS, Metric, Options, Planned, PointError, Progress, Store, SweepOutcome, Task,
    fingerprint, fingerprint_of, result_of, run,
};
use repeat::{REPETITIONS, is_random, repetitions};
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::Path;

/// Called with the share done of a point, where that is known; breaking ends it.
pub type Watch<'a> = &'a mut dyn FnMut(Option<f64>) -> ControlFlow<()>;

/// What a command does at a point.
pub trait Experiment: Sync {
    /// What is asked of the device at a point, read and checked.
    type Plan: Sync;

    /// The command's name.
    fn command(&self) -> &'static str;
    /// What its own keys begin with: `workload`.
    fn key_prefix(&self) -> &'static str;
    /// Its own keys, without its word.
    fn keys(&self) -> Vec<&'static str>;
    /// What the numbers of one of its own keys are of, where it takes numbers.
    fn quantity(&self, key: &str) -> Option<Quantity>;
    /// The metric that is drawn unless another is asked for.
    fn y(&self) -> &'static str {
        METRICS[0].name
    }
    /// What is asked of the device, before a point's settings.
    fn subject(&self) -> String;
    /// The seed, unless it is swept.
    fn seed(&self) -> Seed;
    /// How often a point is measured unless told, where anything about it is random.
    fn repetitions(&self) -> usize {
        REPETITIONS
    }
    /// Whether what is asked at a point depends on the seed.
    fn is_random(&self, plan: &Self::Plan) -> bool;
    /// What is asked at a point.
    fn plan(&self, settings: &Settings<'_>) -> Result<Self::Plan, Failure>;
    /// Reads what the points need, these being all of them. Called once, before any is asked whether it writes.
    fn prepare(&mut self, _: &Target, _: &[&Self::Plan]) -> Result<(), Failure> {
        Ok(())
    }
    /// Whether the point writes, and in what words.
    fn writes(&self, plan: &Self::Plan) -> Option<String>;
    /// All that the point's result depends on, program and device aside.
    fn definition(&self, plan: &Self::Plan) -> String;
    /// Measures a point; its result as it would be alone. What comes of one that `watch` ended is not looked at.
    fn measure(&self, target: &Target, plan: &Self::Plan, watch: Watch<'_>) -> Result<Value, Failure>;
}

/// A point's settings of what is asked.
pub struct Settings<'a> {
    /// The command's own keys, without its word.
    pub own: Vec<(&'a str, &'a str)>,
    /// The point's seed, where it is swept.
    pub seed: Option<Seed>,
    /// Which repetition of the point it is, from 0.
    pub repetition: u64,
}

impl Settings<'_> {
    /// The seed of the point where its command says `own`: each repetition has the one behind that of the one before.
    pub fn seed_or(&self, own: Seed) -> Seed {
        Seed(self.seed.unwrap_or(own).0.wrapping_add(self.repetition))
    }
}

/// The commands that have keys of their own, and what these begin with.
const KEY_PREFIXES: [(&str, &str); 2] = [("run", "workload"), ("replay", "replay")];

/// A point: the device, with the point's fields in it, and what is asked of it.
struct Point<P> {
    target: Target,
    plan: P,
}

const SEED: &str = "seed";
/// What the points of a swept depth are compared by unless told: the depth of the shortest latency is always 1.
const DEPTH_METRIC: &str = "iops";

/// Sweeps `experiment` over the keys of `options`.
pub fn call(
    mut experiment: impl Experiment,
    device: &Spec,
    options: &SweepOptions,
    safety: &SafetyOptions,
    out: &OutputOptions,
) -> Result<Status, Failure> {
    let grid = grid(&experiment, device, options)?;
    let mut tasks = tasks(&experiment, device, &grid, 0, out.out.is_some())?;
    let is_exact = tasks.iter().flatten().all(|task| !is_random(&experiment, &task.plan));
    for repetition in 1..repetitions(&experiment, &grid, options, is_exact)? {
        tasks.extend(self::tasks(&experiment, device, &grid, repetition as u64, out.out.is_some())?);
    }
    let plans: Vec<_> = tasks.iter().flatten().map(|task| &task.plan.plan).collect();
    // Points differ in settings only: whether the device is real and where it lies is the same for all.
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
    let y = options.y.as_deref().unwrap_or(if grid.has_depth() { DEPTH_METRIC } else { experiment.y() });
    let y = Metric::named(y).expect("only names of metrics are taken");
    let about = About {
        command: experiment.command(),
        device: device.to_string(),
        workload: experiment.subject(),
        seed: experiment.seed().0,
        is_exact,
    };
    let result = result_of(about, &grid, &swept.outcomes, y);
    output::deliver(out, &output::value(&result, target)?, None)?;
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

/// A command's own key without its word.
fn own_key<'a>(experiment: &impl Experiment, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(experiment.key_prefix())?.strip_prefix('.')
}

/// Points measured at a time.
fn jobs(target: &Target, options: &SweepOptions) -> Result<usize, Failure> {
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

/// A repetition of the points as tasks; those that cannot be, with their reasons. Where none can be, that is an error.
fn tasks<E: Experiment>(
    experiment: &E,
    device: &Spec,
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
            let target = devices::resolve(&device)?;
            // Its spec does not say all of a simulated drive.
            let profile = fingerprint(format!("{:?}", target.config()).as_bytes());
            let (command, asked) = (experiment.command(), experiment.definition(&plan));
            let definition = format!("{program}\n{command}\n{device} {profile:016x}\n{asked}");
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

/// The program, so that points which another one measured are not taken for this one's.
pub fn program() -> Result<String, Failure> {
    let program = std::env::current_exe().and_then(|file| fingerprint_of(&file)).map_err(|error| {
        Failure::failed(anyhow!(
            "cannot identify this program to compare it with the one that measured the points in --out: {error}"
        ))
    })?;
    Ok(format!("flashlane {} {:016x}", env!("CARGO_PKG_VERSION"), program))
}

/// The store in `--out`.
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
        // Whatever comes of a point that was stopped, it is not the whole point.
        if watch(None).is_break() {
            return Err(PointError::Stopped);
        }
        measured.map_err(|failure| PointError::Failed(failure.reason()))
    })
}

/// How a sweep ended, and what is to be said of it; `out` is where its points are kept.
fn report_outcome(result: &SweepResult, swept: &SweepOutcome, out: Option<&Path>) -> Status {
    for (file, reason) in &swept.damaged {
        notify(&format!("cannot reuse '{}': {reason}; its point was measured again", file.display()));
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
    let settings: Vec<String> = first
        .point
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    notify(&format!(
        "{count} of {} points were not measured completely; the first is {}: {}",
        result.rows.len(),
        settings.join(","),
        first.reason.as_deref().unwrap_or("unknown reason")
    ));
    Status::Failed
}
