//! The measurements of a study: made on several cores, each kept once it is finished, so that a study that was stopped
//! goes on from there.

use crate::lab::{Lab, Options, Progress, Shared};
use crate::{FigureError, SharedMeasurement};
use flashlane_measure::Interruption;
use flashlane_sweep::{Loaded, in_parallel};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A measurement that is made on a core of its own.
#[derive(Clone, Copy)]
pub(crate) struct Task<T> {
    /// Its name, one of a kind within the study.
    pub(crate) name: &'static str,
    /// How long it takes, relative to the others.
    pub(crate) weight: u32,
    pub(crate) measure: fn(&mut Lab<'_>) -> Result<T, FigureError>,
}

impl SharedMeasurement {
    pub(crate) fn task(&self) -> Task<Value> {
        Task { name: self.name, weight: self.weight, measure: self.measure }
    }
}

/// Parts of a task that progress is counted in, for each unit of its weight.
const PARTS: f64 = 1e6;

/// What those who measure share.
pub(crate) struct Crew<'a> {
    paper: &'static str,
    options: Options<'a>,
    /// That of all tasks which are to be made: those that are kept take no time.
    weight: AtomicU64,
    parts: AtomicU64,
    is_stopped: AtomicBool,
    kept: Mutex<Kept>,
}

/// What the store said.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Measurements that were taken from the store.
    pub(crate) reused: usize,
    /// Files that could not be used, and why; their measurements were made again.
    pub(crate) damaged: Vec<(PathBuf, String)>,
    /// Why a measurement could not be kept, for the first that could not.
    pub(crate) unkept: Option<io::Error>,
}

impl<'a> Crew<'a> {
    /// `weight` is that of all tasks to come.
    pub(crate) fn new(paper: &'static str, options: Options<'a>, weight: u32) -> Self {
        Self {
            paper,
            options,
            weight: AtomicU64::new(weight.into()),
            parts: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            kept: Mutex::default(),
        }
    }

    /// Makes all tasks; their results in their order.
    pub(crate) fn make<T>(&self, tasks: Vec<Task<T>>, shared: &Shared) -> Vec<Result<T, FigureError>>
    where
        T: Send + Serialize + DeserializeOwned,
    {
        in_parallel(self.options.jobs, tasks, |task| {
            let made = self.one(task, shared);
            if made.is_err() {
                self.is_stopped.store(true, Ordering::Relaxed);
            }
            made
        })
    }

    pub(crate) fn kept(self) -> Kept {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn one<T: Serialize + DeserializeOwned>(&self, task: Task<T>, shared: &Shared) -> Result<T, FigureError> {
        if let Some(result) = self.load(task.name) {
            self.weight.fetch_sub(task.weight.into(), Ordering::Relaxed);
            return Ok(result);
        }
        let mut done = 0;
        let mut watch = |share: f64| self.advance(task.name, task.weight, &mut done, share);
        if watch(0.0).is_break() {
            return Err(Interruption::Stopped.into());
        }
        let result = (task.measure)(&mut Lab::new(self.options, shared, &mut watch))?;
        _ = self.advance(task.name, task.weight, &mut done, 1.0);
        self.keep(task.name, &result);
        Ok(result)
    }

    /// A task has come to `share` of its end; says whether to go on.
    fn advance(&self, name: &'static str, weight: u32, done: &mut u64, share: f64) -> ControlFlow<()> {
        let now = (share.clamp(0.0, 1.0) * PARTS * f64::from(weight)) as u64;
        self.parts.fetch_add(now.saturating_sub(*done), Ordering::Relaxed);
        *done = now.max(*done);
        if self.is_stopped.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let weight = self.weight.load(Ordering::Relaxed).max(1) as f64;
        let share = (self.parts.load(Ordering::Relaxed) as f64 / (PARTS * weight)).min(1.0);
        let goes_on = self
            .options
            .watch
            .map_or(ControlFlow::Continue(()), |watch| watch(&Progress { figure: name, share }));
        if goes_on.is_break() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        goes_on
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load<T: DeserializeOwned>(&self, name: &'static str) -> Option<T> {
        let store = self.options.store?;
        let (title, definition) = (self.title(name), self.definition(name));
        let (file, reason) = match store.load(&title, &definition) {
            Loaded::Nothing => return None,
            Loaded::Damaged { file, reason } => (file, reason),
            Loaded::Result(mut result) => match serde_json::from_value(result[RESULT].take()) {
                Ok(result) => {
                    self.locked().reused += 1;
                    return Some(result);
                }
                Err(error) => (store.file(&title, &definition), format!("it holds no measurement: {error}")),
            },
        };
        self.locked().damaged.push((file, reason));
        None
    }

    fn keep<T: Serialize>(&self, name: &'static str, result: &T) {
        let Some(store) = self.options.store else { return };
        let kept = serde_json::json!({ RESULT: result });
        if let Err(error) = store.keep(&self.title(name), &self.definition(name), &kept) {
            self.locked().unkept.get_or_insert(error);
        }
    }

    fn title(&self, name: &str) -> String {
        format!("{},{name}", self.paper)
    }

    /// All that the result of a measurement depends on.
    fn definition(&self, name: &str) -> String {
        let Options { quick, seed, program, .. } = &self.options;
        let effort = if *quick { "quick" } else { "full" };
        let traces = self.options.traces.map(|folder| {
            let mut files: Vec<String> = folder.read_dir().map_or_else(|_| Vec::new(), described);
            files.sort_unstable();
            files.join(", ")
        });
        format!(
            "{program}\nstudy {}/{name}\n{effort}, seed {}\ntraces {}",
            self.paper,
            seed.0,
            traces.unwrap_or_default()
        )
    }
}

/// Where a kept file has its result.
const RESULT: &str = "result";

/// The files of a folder: their names, lengths, and when they were changed.
fn described(files: std::fs::ReadDir) -> Vec<String> {
    let one = |file: std::fs::DirEntry| {
        let data = file.metadata().ok()?;
        Some(format!("{:?} of {} bytes, {:?}", file.file_name(), data.len(), data.modified().ok()))
    };
    files.filter_map(|file| one(file.ok()?)).collect()
}
