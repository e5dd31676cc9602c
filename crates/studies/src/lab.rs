//! The tools of a measurement: fresh simulated drives, one at a time, and the stop condition.

use crate::FigureError;
use flashlane_base::Seed;
use flashlane_device::Device;
use flashlane_layer::Replicated;
use flashlane_layer::Timing;
use flashlane_layer::replicated::Settings;
use flashlane_measure::{Interruption, Replay, ReplayOptions, replay};
use flashlane_probe::bench::Bench;
use flashlane_result::Warning;
use flashlane_sim::{Drive, DriveConfig, profile};
use flashlane_sweep::Store;
use flashlane_trace::{OpenOptions, Record};
use flashlane_transactions::{Partial, Run, Setup, Source};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Called regularly during a study, from every core; [`ControlFlow::Break`] ends it.
pub type SharedWatch<'a> = &'a (dyn Fn(&Progress) -> ControlFlow<()> + Sync);

/// Options of a study.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Coarser grids and fewer requests: seconds instead of tens of seconds. Verdicts are based on the same quantities.
    pub quick: bool,
    /// The root of all randomness.
    pub seed: Seed,
    /// A folder with traces of a paper that Flashlane cannot distribute. Measurements without their trace are skipped
    /// with a warning.
    pub traces: Option<&'a Path>,
    /// Number of concurrent measurements; sequential where it is 0 or 1. The results are the same.
    pub jobs: usize,
    /// Store of finished measurements.
    pub store: Option<&'a Store>,
    /// The measuring program; stored measurements of another program are repeated.
    pub program: &'a str,
    /// Called between experiments; a break ends the study, which keeps its finished figures.
    pub watch: Option<SharedWatch<'a>>,
}

/// Progress of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The current figure or shared measurement; with several jobs, the last one to progress.
    pub figure: &'static str,
    /// The share of all measurements done, 0 to 1.
    pub share: f64,
}

/// Results of shared measurements, by name.
pub(crate) type Shared = BTreeMap<&'static str, Value>;

/// The tools of a figure's measurement.
pub(crate) struct Lab<'a> {
    options: Options<'a>,
    shared: &'a Shared,
    /// How long the measurement takes, relative to others.
    weight: u32,
    part: Option<Part>,
    /// Called with the share of the measurement that is done.
    watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
}

/// The part of a measurement that is being made.
#[derive(Clone, Copy)]
struct Part {
    /// The weight of the parts before.
    before: u32,
    weight: u32,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(
        options: Options<'a>,
        shared: &'a Shared,
        weight: u32,
        watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Self {
        Self { options, shared, weight, part: None, watch }
    }

    /// A lab without shared measurements that is never stopped.
    #[cfg(test)]
    pub(crate) fn alone() -> Lab<'static> {
        let watch = Box::leak(Box::new(|_| ControlFlow::Continue(())));
        Lab::new(Options::default(), Box::leak(Box::default()), u32::MAX, watch)
    }

    /// Begins the next part of the measurement, which takes `weight` of its weight; the parts before are done.
    pub(crate) fn part(&mut self, weight: u32) -> &mut Self {
        let before = self.part.map_or(0, |part| part.before + part.weight);
        assert!(before + weight <= self.weight, "the parts take more than the measurement's {}", self.weight);
        self.part = Some(Part { before, weight });
        self
    }

    /// Whether the parts that were begun are all of the measurement.
    pub(crate) fn is_whole(&self) -> bool {
        self.part.is_none_or(|part| part.before + part.weight == self.weight)
    }

    /// Reports the share of the part that is done. The share of a measurement without parts is not known.
    pub(crate) fn advance(&mut self, share: f64) -> Result<(), Interruption> {
        let Part { before, weight } = self.part.unwrap_or(Part { before: 0, weight: 0 });
        let done = f64::from(before) + share.clamp(0.0, 1.0) * f64::from(weight);
        match (self.watch)(done / f64::from(self.weight)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Interruption::Stopped),
        }
    }

    /// The same, for callers that ask whether to go on.
    fn control(&mut self, share: f64) -> ControlFlow<()> {
        match self.advance(share) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Returns the result of a shared measurement.
    ///
    /// # Panics
    /// Where the study declares no such measurement for this figure, or one of another type.
    pub(crate) fn shared<T: DeserializeOwned>(&self, name: &str) -> T {
        let found =
            self.shared.get(name).unwrap_or_else(|| panic!("'{name}' is not shared with this figure"));
        T::deserialize(found).unwrap_or_else(|error| panic!("'{name}' is of another type: {error}"))
    }

    /// Returns `usual`, or `quick` in a quick study.
    pub(crate) fn either<T>(&self, usual: T, quick: T) -> T {
        if self.options.quick { quick } else { usual }
    }

    /// Runs an experiment on a fresh drive of `profile`, with `overrides` of its settings.
    pub(crate) fn experiment<T>(
        &mut self,
        profile: &str,
        overrides: &[(&str, &str)],
        experiment: impl FnOnce(&mut Bench<'_>) -> Result<T, flashlane_probe::EarlyEnd>,
    ) -> Result<T, FigureError> {
        let mut drive = self.drive(profile, overrides)?;
        self.advance(0.0)?;
        let seed = self.options.seed;
        let mut stop = || self.advance(0.0).is_err();
        Ok(experiment(&mut Bench::new(&mut drive, seed, &mut stop))?)
    }

    /// Returns a fresh device of `profile`, with `overrides` of its settings, for experiments that a [`Bench`] does not
    /// support: on lanes, with erases.
    pub(crate) fn device(
        &mut self,
        profile: &str,
        overrides: &[(&str, &str)],
    ) -> Result<Box<dyn Device>, FigureError> {
        let config = profile_with(profile, overrides)?;
        let seed = self.options.seed;
        let mut watch = || self.control(0.0);
        Ok(flashlane_sim::device_watched(&config, seed, profile.into(), &mut watch)?)
    }

    /// Replays `records` on a fresh drive of `profile`, with `overrides` of its settings.
    pub(crate) fn replay(
        &mut self,
        profile: &str,
        overrides: &[(&str, &str)],
        records: impl IntoIterator<Item = Record>,
        how: &ReplayOptions,
    ) -> Result<Replay, FigureError> {
        let mut drive = self.drive(profile, overrides)?;
        let records = records.into_iter();
        let all = records.size_hint().1.unwrap_or(usize::MAX).max(1) as f64;
        let mut watch = |progress: &flashlane_measure::Progress| self.control(progress.requests as f64 / all);
        let options = flashlane_measure::RunOptions { watch: Some(&mut watch), ..Default::default() };
        let replay = replay(&mut drive, records, how, options)?;
        match replay.partial {
            None => Ok(replay),
            Some(interruption) => Err(interruption.into()),
        }
    }

    /// Runs the transactions of `source` on a fresh drive of `profile`, with `overrides` of its settings, below a layer
    /// of replication where its settings are given.
    pub(crate) fn transactions(
        &mut self,
        profile: &str,
        overrides: &[(&str, &str)],
        layer: Option<Settings>,
        source: &mut impl Source,
        setup: &Setup,
    ) -> Result<Run, FigureError> {
        let drive = self.drive(profile, overrides)?;
        let mut device: Box<dyn Device> = match layer {
            None => Box::new(drive),
            Some(layer) => {
                Box::new(Replicated::new(Timing(drive), layer, self.options.seed.derive("layer"))?)
            }
        };
        let mut watch = |_: &flashlane_measure::Progress| self.control(0.0);
        let options = flashlane_measure::RunOptions { watch: Some(&mut watch), ..Default::default() };
        let run = flashlane_transactions::run(&mut *device, source, setup, options)?;
        match run.partial {
            None => Ok(run),
            Some(Partial::Interrupted(interruption)) => Err(interruption.into()),
            Some(Partial::Damaged(damage)) => Err(FigureError::RecordingEnd(damage)),
        }
    }

    /// Runs uFLIP on a fresh drive of `profile`.
    pub(crate) fn uflip(
        &mut self,
        profile: &str,
        options: flashlane_uflip::Options<'_>,
    ) -> Result<flashlane_uflip::Outcome, FigureError> {
        let mut drive = self.drive(profile, &[])?;
        let seed = self.options.seed;
        if self.part.is_none() {
            self.part(self.weight);
        }
        let mut watch = |progress: &flashlane_uflip::Progress| self.control(progress.share);
        let options = flashlane_uflip::Options { seed, watch: Some(&mut watch), ..options };
        Ok(flashlane_uflip::uflip(&mut drive, options)?)
    }

    /// Reads the trace `name` from the folder of traces, in any compression; `None` where there is no such file.
    pub(crate) fn trace(&self, name: &str) -> Result<Option<Vec<Record>>, FigureError> {
        let Some(folder) = self.options.traces else { return Ok(None) };
        let endings = ["", ".xz", ".gz", ".zst"];
        let files = endings.map(|ending| folder.join(format!("{name}{ending}")));
        let Some(file) = files.iter().find(|file| file.exists()) else { return Ok(None) };
        let mut trace = flashlane_trace::open(file, &OpenOptions::default())?;
        let records = trace.by_ref().collect();
        trace.finish()?;
        Ok(Some(records))
    }

    /// Returns the warning of a missing trace.
    pub(crate) fn no_trace(&self, name: &str) -> Warning {
        let folder = self.options.traces.map_or("no folder of traces was given".into(), |folder| {
            format!("there is none in '{}'", folder.display())
        });
        Warning::new("trace-not-given", format!("what needs the trace '{name}' was not measured: {folder}"))
    }

    /// Returns the file of transactions `name` in the folder of traces, where there is one.
    pub(crate) fn recording(&self, name: &str) -> Option<PathBuf> {
        let folder = self.options.traces?;
        ["", ".xz", ".gz", ".zst"]
            .map(|ending| folder.join(format!("{name}{ending}")))
            .into_iter()
            .find(|file| file.exists())
    }

    fn drive(&mut self, profile: &str, overrides: &[(&str, &str)]) -> Result<Drive, FigureError> {
        let config = profile_with(profile, overrides)?;
        let seed = self.options.seed;
        let mut watch = || self.control(0.0);
        let drive = Drive::new_watched(&config, seed, &mut watch);
        Ok(drive?)
    }
}

fn profile_with(profile: &str, overrides: &[(&str, &str)]) -> Result<DriveConfig, FigureError> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(field, value)| (field.to_owned(), value.to_owned())).collect();
    Ok(profile::load(profile, &overrides)?)
}
