//! The measurements of a study, on several cores; each is stored when it is finished, so that a stopped study can
//! resume.

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

/// A measurement that runs on one core.
#[derive(Clone, Copy)]
pub(crate) struct Task<T> {
    /// Its name, unique within the study.
    pub(crate) name: &'static str,
    /// Its duration relative to the others.
    pub(crate) weight: u32,
    pub(crate) measure: fn(&mut Lab<'_>) -> Result<T, FigureError>,
}

impl SharedMeasurement {
    pub(crate) fn task(&self) -> Task<Value> {
        Task { name: self.name, weight: self.weight, measure: self.measure }
    }
}

/// Progress of a task is counted in this number of parts per unit of its weight.
const PARTS: f64 = 1e6;

/// State shared by the threads of a study.
pub(crate) struct Workers<'a> {
    paper: &'static str,
    options: Options<'a>,
    /// Total weight of the tasks to measure, without stored ones, which take no time.
    weight: AtomicU64,
    parts: AtomicU64,
    is_stopped: AtomicBool,
    report: Mutex<StoreReport>,
}

/// Use of the store.
#[derive(Debug, Default)]
pub(crate) struct StoreReport {
    /// Number of measurements taken from the store.
    pub(crate) reused: usize,
    /// Unusable files, with reasons; their measurements were repeated.
    pub(crate) damaged: Vec<(PathBuf, String)>,
    /// The first error of storing a measurement.
    pub(crate) store_error: Option<io::Error>,
}

impl<'a> Workers<'a> {
    /// `weight` is the total weight of all tasks.
    pub(crate) fn new(paper: &'static str, options: Options<'a>, weight: u32) -> Self {
        Self {
            paper,
            options,
            weight: AtomicU64::new(weight.into()),
            parts: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            report: Mutex::default(),
        }
    }

    /// Executes all tasks. Returns their results in order.
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

    pub(crate) fn into_report(self) -> StoreReport {
        self.report.into_inner().unwrap_or_else(PoisonError::into_inner)
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
        let mut lab = Lab::new(self.options, shared, task.weight, &mut watch);
        let result = (task.measure)(&mut lab)?;
        debug_assert!(lab.is_whole(), "the parts of {} are less than its weight", task.name);
        _ = self.advance(task.name, task.weight, &mut done, 1.0);
        self.save(task.name, &result);
        Ok(result)
    }

    /// Records that `share` of a task is done. Returns whether to continue.
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

    fn report(&self) -> std::sync::MutexGuard<'_, StoreReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load<T: DeserializeOwned>(&self, name: &'static str) -> Option<T> {
        let store = self.options.store?;
        let (title, definition) = (self.title(name), self.definition(name));
        let (file, reason) = match store.load(&title, &definition) {
            Loaded::Nothing => return None,
            Loaded::Damaged { file, reason } => (file, reason),
            Loaded::Result(mut result) => match serde_json::from_value(result[RESULT].take()) {
                Ok(result) => {
                    self.report().reused += 1;
                    return Some(result);
                }
                Err(error) => (store.file(&title, &definition), format!("it holds no measurement: {error}")),
            },
        };
        self.report().damaged.push((file, reason));
        None
    }

    fn save<T: Serialize>(&self, name: &'static str, result: &T) {
        let Some(store) = self.options.store else { return };
        let stored = serde_json::json!({ RESULT: result });
        if let Err(error) = store.save(&self.title(name), &self.definition(name), &stored) {
            self.report().store_error.get_or_insert(error);
        }
    }

    fn title(&self, name: &str) -> String {
        format!("{},{name}", self.paper)
    }

    /// Returns everything that the result of a measurement depends on.
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

/// Key of the result in a stored file.
const RESULT: &str = "result";

/// Describes the files of a folder by name, length and time of modification.
fn described(files: std::fs::ReadDir) -> Vec<String> {
    let one = |file: std::fs::DirEntry| {
        let data = file.metadata().ok()?;
        Some(format!("{:?} of {} bytes, {:?}", file.file_name(), data.len(), data.modified().ok()))
    };
    files.filter_map(|file| one(file.ok()?)).collect()
}
