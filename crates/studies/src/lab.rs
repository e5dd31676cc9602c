//! What a measurement is made with: fresh simulated drives, handed out one at a time, and the way to stop.

use crate::FigureError;
use flashlane_base::Seed;
use flashlane_device::Device;
use flashlane_measure::{Interruption, Replay, ReplayOptions, replay};
use flashlane_probe::bench::Bench;
use flashlane_result::Warning;
use flashlane_sim::{Drive, DriveConfig, profile};
use flashlane_sweep::Store;
use flashlane_trace::{OpenOptions, Record};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// Called now and then during a study, from every core; [`ControlFlow::Break`] ends it.
pub type Watch<'a> = &'a (dyn Fn(&Progress) -> ControlFlow<()> + Sync);

/// How a study is to be made.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Coarser grids and fewer requests: seconds instead of tens of them. Verdicts stand on the same quantities.
    pub quick: bool,
    /// The root of all randomness.
    pub seed: Seed,
    /// A folder with traces that a paper used and that are not Flashlane's to give away. What needs one that is not
    /// there is left out, with a warning.
    pub traces: Option<&'a Path>,
    /// Measurements made at a time; one after the other where it is 0 or 1. The results are the same.
    pub jobs: usize,
    /// Where finished measurements are kept and looked for …
    pub store: Option<&'a Store>,
    /// … and the program that makes them: those that another program made are made again.
    pub program: &'a str,
    /// Called between experiments; breaking ends the study, and the figures done stand.
    pub watch: Option<Watch<'a>>,
}

/// How far a study has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The figure that is being measured, or what several figures share; with several jobs, the one that went on last.
    pub figure: &'static str,
    /// The share of all measurements done, 0 to 1.
    pub share: f64,
}

/// What figures share: the results of the measurements by their names.
pub(crate) type Shared = BTreeMap<&'static str, Value>;

/// What a figure measures with.
pub(crate) struct Lab<'a> {
    options: Options<'a>,
    shared: &'a Shared,
    /// Called with the share done of the measurement.
    watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(
        options: Options<'a>,
        shared: &'a Shared,
        watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Self {
        Self { options, shared, watch }
    }

    /// One that shares nothing and is never stopped.
    #[cfg(test)]
    pub(crate) fn alone() -> Lab<'static> {
        let watch = Box::leak(Box::new(|_| ControlFlow::Continue(())));
        Lab::new(Options::default(), Box::leak(Box::default()), watch)
    }

    /// The result of a measurement that the study shares between figures.
    ///
    /// # Panics
    /// Where the study names no such measurement for this figure, or one of another type.
    pub(crate) fn shared<T: DeserializeOwned>(&self, name: &str) -> T {
        let found =
            self.shared.get(name).unwrap_or_else(|| panic!("'{name}' is not shared with this figure"));
        T::deserialize(found).unwrap_or_else(|error| panic!("'{name}' is of another type: {error}"))
    }

    /// `usual`, or `quick` where the study is to be quick.
    pub(crate) fn either<T>(&self, usual: T, quick: T) -> T {
        if self.options.quick { quick } else { usual }
    }

    /// Makes an experiment on a fresh drive of `profile`, with `overrides` of its settings.
    pub(crate) fn experiment<T>(
        &mut self,
        profile: &str,
        overrides: &[(&str, &str)],
        experiment: impl FnOnce(&mut Bench<'_>) -> Result<T, Interruption>,
    ) -> Result<T, FigureError> {
        let mut drive = self.drive(profile, overrides)?;
        let watch = &mut *self.watch;
        let mut stop = || watch(0.0).is_break();
        if stop() {
            return Err(Interruption::Stopped.into());
        }
        Ok(experiment(&mut Bench::new(&mut drive, self.options.seed, &mut stop))?)
    }

    /// A fresh device of `profile`, with `overrides` of its settings, for experiments that a [`Bench`] is not for: on lanes,
    /// with erases.
    pub(crate) fn device(
        &mut self,
        profile: &str,
        overrides: &[(&str, &str)],
    ) -> Result<Box<dyn Device>, FigureError> {
        if (self.watch)(0.0).is_break() {
            return Err(Interruption::Stopped.into());
        }
        Ok(flashlane_sim::device(&profile_with(profile, overrides)?, self.options.seed, profile.into()))
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
        let mut watch = |_: &flashlane_measure::Progress| (self.watch)(0.0);
        let options = flashlane_measure::Options { watch: Some(&mut watch), ..Default::default() };
        let replay = replay(&mut drive, records, how, options)?;
        match replay.partial {
            None => Ok(replay),
            Some(interruption) => Err(interruption.into()),
        }
    }

    /// Runs uFLIP on a fresh drive of `profile`.
    pub(crate) fn uflip(
        &mut self,
        profile: &str,
        options: flashlane_uflip::Options<'_>,
    ) -> Result<flashlane_uflip::Outcome, FigureError> {
        let mut drive = self.drive(profile, &[])?;
        let mut watch = |progress: &flashlane_uflip::Progress| (self.watch)(progress.share);
        let options =
            flashlane_uflip::Options { seed: self.options.seed, watch: Some(&mut watch), ..options };
        Ok(flashlane_uflip::uflip(&mut drive, options)?)
    }

    /// The requests of the trace `name` in the folder of traces, whatever it is compressed with; `None` where there is
    /// no such file.
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

    /// What the result says where a trace is not there.
    pub(crate) fn no_trace(&self, name: &str) -> Warning {
        let folder = self.options.traces.map_or("no folder of traces was given".into(), |folder| {
            format!("there is none in '{}'", folder.display())
        });
        Warning::new("trace-not-given", format!("what needs the trace '{name}' was not measured: {folder}"))
    }

    fn drive(&mut self, profile: &str, overrides: &[(&str, &str)]) -> Result<Drive, FigureError> {
        let config = profile_with(profile, overrides)?;
        let mut watch = || (self.watch)(0.0);
        let drive = Drive::watched(&config, self.options.seed, &mut watch);
        drive.ok_or_else(|| Interruption::Stopped.into())
    }
}

fn profile_with(profile: &str, overrides: &[(&str, &str)]) -> Result<DriveConfig, FigureError> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(field, value)| (field.to_owned(), value.to_owned())).collect();
    Ok(profile::load(profile, &overrides)?)
}
