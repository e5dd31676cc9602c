//! Measures the points on several cores; points with a stored result are not measured again.

use crate::outcome::Outcome;
use crate::parallel::in_parallel;
use crate::point::PointResult;
use crate::store::{Loaded, Store};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A point that can be measured.
pub struct Task<T> {
    /// A name for people: its settings.
    pub name: String,
    /// Everything that its result depends on: points of equal definition have equal results.
    pub definition: String,
    /// The input of the measurement.
    pub plan: T,
}

/// A point's task, or the reason why it cannot be measured.
pub type Planned<T> = Result<Task<T>, String>;

/// Options of a sweep.
pub struct Options<'a> {
    /// Points measured at a time, at least 1; one after the other in the grid's order where it is 1.
    pub jobs: usize,
    /// Store of measured points.
    pub store: Option<&'a Store>,
    /// Called regularly from every core; [`ControlFlow::Break`] ends the sweep, which keeps the points done.
    pub watch: &'a (dyn Fn(&Progress) -> ControlFlow<()> + Sync),
}

/// Progress of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Number of points to measure, without stored and refused ones.
    pub points: usize,
    /// Share of these that is done, 0 to 1.
    pub share: f64,
}

/// A point has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointError {
    /// The watch ended the sweep; the point can be measured later.
    Stopped,
    /// It cannot be measured.
    Failed(String),
}

/// The outcome of a sweep.
#[derive(Debug)]
pub struct SweepOutcome {
    /// The points, in order.
    pub outcomes: Vec<Outcome>,
    /// Number of points with a stored result.
    pub reused: usize,
    /// Unusable files of the store, with reasons; their points were measured again, and are not stored.
    pub damaged: Vec<(PathBuf, String)>,
    /// The first error of storing a point.
    pub store_error: Option<io::Error>,
}

/// Progress of a point is counted in this number of parts.
const PARTS: f64 = 1e6;

/// Measures every task that is not refused, `options.jobs` at a time. The outcomes are in the tasks' order. A refused
/// task has a reason in place of a plan.
///
/// `measure` takes a plan and a watch to call with the share of the point that is done; it returns the point's
/// result. A point with a partial result counts as measured, since it would be partial every
/// time.
pub fn run<T: Sync>(
    tasks: &[Planned<T>],
    options: &Options<'_>,
    measure: impl Fn(&T, &mut dyn FnMut(Option<f64>) -> ControlFlow<()>) -> Result<PointResult, PointError> + Sync,
) -> SweepOutcome {
    let mut damaged = Vec::new();
    let known: Vec<Option<Outcome>> = tasks
        .iter()
        .map(|task| match task {
            Err(reason) => Some(Outcome::failed(reason.clone())),
            Ok(task) => stored(options.store?, task, &mut damaged),
        })
        .collect();
    let is_refused = |task: &&Planned<T>| task.is_err();
    let reused = known.iter().flatten().count() - tasks.iter().filter(is_refused).count();

    let workers = Workers {
        options,
        points: known.iter().filter(|outcome| outcome.is_none()).count(),
        parts: AtomicU64::new(0),
        store_error: Mutex::new(None),
    };
    let outcome = |(task, known): (&Planned<T>, Option<Outcome>)| match (known, task) {
        (Some(outcome), _) => outcome,
        (None, Ok(task)) => workers.measured(task, &measure),
        (None, Err(reason)) => Outcome::failed(reason.clone()),
    };
    let todo = tasks.iter().zip(known).collect();
    // No threads are needed where all outcomes are known.
    let outcomes = in_parallel(options.jobs.min(workers.points), todo, outcome);
    let store_error = workers.store_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    SweepOutcome { outcomes, reused, damaged, store_error }
}

/// Returns the stored outcome of a task.
fn stored<T>(store: &Store, task: &Task<T>, damaged: &mut Vec<(PathBuf, String)>) -> Option<Outcome> {
    let (file, reason) = match store.load(&task.name, &task.definition) {
        Loaded::Nothing => return None,
        Loaded::Damaged { file, reason } => (file, reason),
        Loaded::Result(json) => match PointResult::read(&json) {
            Ok(result) => return Some(Outcome::of(&result)),
            Err(reason) => (store.file(&task.name, &task.definition), reason),
        },
    };
    damaged.push((file, reason));
    None
}

/// State shared by the threads of a sweep.
struct Workers<'a> {
    options: &'a Options<'a>,
    points: usize,
    /// Parts done, over all points.
    parts: AtomicU64,
    store_error: Mutex<Option<io::Error>>,
}

impl Workers<'_> {
    fn measured<T>(
        &self,
        task: &Task<T>,
        measure: &impl Fn(&T, &mut dyn FnMut(Option<f64>) -> ControlFlow<()>) -> Result<PointResult, PointError>,
    ) -> Outcome {
        if self.report_progress().is_break() {
            return Outcome::not_run();
        }
        let mut done = 0;
        let mut advance = |share: f64| {
            let now = (share.clamp(0.0, 1.0) * PARTS) as u64;
            self.parts.fetch_add(now.saturating_sub(done), Ordering::Relaxed);
            done = done.max(now);
        };
        let mut watch = |share: Option<f64>| {
            advance(share.unwrap_or(0.0));
            self.report_progress()
        };
        let result = match measure(&task.plan, &mut watch) {
            Ok(result) => result,
            Err(PointError::Stopped) => return Outcome::not_run(),
            Err(PointError::Failed(reason)) => return Outcome::failed(reason),
        };
        advance(1.0);
        let json = |result| serde_json::to_value(result).expect("all names of a result are text");
        if let Some(Err(error)) =
            self.options.store.map(|store| store.save(&task.name, &task.definition, &json(&result)))
        {
            self.store_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        Outcome::of(&result)
    }

    fn report_progress(&self) -> ControlFlow<()> {
        let parts = self.parts.load(Ordering::Relaxed) as f64;
        let share = parts / (PARTS * self.points.max(1) as f64);
        (self.options.watch)(&Progress { points: self.points, share })
    }
}
