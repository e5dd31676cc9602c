//! Measuring the points: on several cores, those that are kept not again.

use crate::outcome::Outcome;
use crate::parallel::in_parallel;
use crate::store::{Loaded, Store};
use serde_json::Value;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A point that can be measured.
pub struct Task<T> {
    /// A name for people: its settings.
    pub name: String,
    /// All that its result depends on: points of the same definition have the same result.
    pub definition: String,
    /// What whoever measures it needs.
    pub plan: T,
}

/// A point's task, or why it cannot be measured.
pub type Planned<T> = Result<Task<T>, String>;

/// How a sweep is made.
pub struct Options<'a> {
    /// Points measured at a time, at least 1; one after the other in the grid's order where it is 1.
    pub jobs: usize,
    /// Where finished points are kept and looked for.
    pub store: Option<&'a Store>,
    /// Called now and then, from every core; [`ControlFlow::Break`] ends the sweep, and the points done stand.
    pub watch: &'a (dyn Fn(&Progress) -> ControlFlow<()> + Sync),
}

/// How far a sweep has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Points to be measured: without those that were kept, or refused.
    pub points: usize,
    /// The share done of these, 0 to 1.
    pub share: f64,
}

/// Why a point has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The watch ended the sweep: the point is to be measured another time.
    Stopped,
    /// It cannot be measured.
    Failed(String),
}

/// What came of a sweep.
#[derive(Debug)]
pub struct Swept {
    /// The points, in order.
    pub outcomes: Vec<Outcome>,
    /// Points whose result was kept from before.
    pub reused: usize,
    /// Files of the store that could not be used, and why; their points were measured anew.
    pub damaged: Vec<(PathBuf, String)>,
    /// Why a point could not be kept, for the first that could not.
    pub unkept: Option<io::Error>,
}

/// Parts of a point that progress is counted in.
const PARTS: f64 = 1e6;

/// Measures every task that is not refused, `options.jobs` at a time; the outcomes are in the tasks' order whatever
/// that is. A refused task has its reason in place of a plan.
///
/// `measure` is given a plan and a watch to call with the point's own share done; it gives back the point's result, in
/// the schema of its command. A point whose result is marked partial counts as measured: it will be so every time.
pub fn run<T: Sync>(
    tasks: &[Planned<T>],
    options: &Options<'_>,
    measure: impl Fn(&T, &mut dyn FnMut(Option<f64>) -> ControlFlow<()>) -> Result<Value, Halt> + Sync,
) -> Swept {
    let mut damaged = Vec::new();
    let known: Vec<Option<Outcome>> = tasks
        .iter()
        .map(|task| match task {
            Err(reason) => Some(Outcome::failed(reason.clone())),
            Ok(task) => kept(options.store?, task, &mut damaged),
        })
        .collect();
    let is_refused = |task: &&Planned<T>| task.is_err();
    let reused = known.iter().flatten().count() - tasks.iter().filter(is_refused).count();

    let crew = Crew {
        options,
        points: known.iter().filter(|outcome| outcome.is_none()).count(),
        parts: AtomicU64::new(0),
        unkept: Mutex::new(None),
    };
    let outcome = |(task, known): (&Planned<T>, Option<Outcome>)| match (known, task) {
        (Some(outcome), _) => outcome,
        (None, Ok(task)) => crew.measured(task, &measure),
        (None, Err(reason)) => Outcome::failed(reason.clone()),
    };
    let todo = tasks.iter().zip(known).collect();
    // Where all is known there is nothing to share out.
    let outcomes = in_parallel(options.jobs.min(crew.points), todo, outcome);
    let unkept = crew.unkept.into_inner().unwrap_or_else(PoisonError::into_inner);
    Swept { outcomes, reused, damaged, unkept }
}

/// What the store has of a task.
fn kept<T>(store: &Store, task: &Task<T>, damaged: &mut Vec<(PathBuf, String)>) -> Option<Outcome> {
    let (file, reason) = match store.load(&task.name, &task.definition) {
        Loaded::Nothing => return None,
        Loaded::Damaged { file, reason } => (file, reason),
        Loaded::Result(result) => match Outcome::of(&result) {
            Some(outcome) => return Some(outcome),
            None => (store.file(&task.name, &task.definition), "it holds no measurement".to_owned()),
        },
    };
    damaged.push((file, reason));
    None
}

/// What those who measure share.
struct Crew<'a> {
    options: &'a Options<'a>,
    points: usize,
    /// Parts of points done, over all.
    parts: AtomicU64,
    unkept: Mutex<Option<io::Error>>,
}

impl Crew<'_> {
    fn measured<T>(
        &self,
        task: &Task<T>,
        measure: &impl Fn(&T, &mut dyn FnMut(Option<f64>) -> ControlFlow<()>) -> Result<Value, Halt>,
    ) -> Outcome {
        if self.tell().is_break() {
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
            self.tell()
        };
        let result = match measure(&task.plan, &mut watch) {
            Ok(result) => result,
            Err(Halt::Stopped) => return Outcome::not_run(),
            Err(Halt::Failed(reason)) => return Outcome::failed(reason),
        };
        advance(1.0);
        if let Some(Err(error)) =
            self.options.store.map(|store| store.keep(&task.name, &task.definition, &result))
        {
            self.unkept.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        Outcome::of(&result).unwrap_or_else(|| Outcome::failed("its result is of no measurement".into()))
    }

    fn tell(&self) -> ControlFlow<()> {
        let parts = self.parts.load(Ordering::Relaxed) as f64;
        let share = parts / (PARTS * self.points.max(1) as f64);
        (self.options.watch)(&Progress { points: self.points, share })
    }
}
