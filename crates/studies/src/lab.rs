//! Where experiments are made: fresh simulated drives, handed out one at a time, with the caller's wish to stop.

use crate::FigureError;
use flashlane_base::Seed;
use flashlane_device::Device;
use flashlane_measure::schema::Warning;
use flashlane_measure::{Interruption, Replay, ReplayOptions, replay};
use flashlane_probe::rig::Rig;
use flashlane_sim::{Drive, DriveConfig, config};
use flashlane_trace::{OpenOptions, Record};
use std::ops::ControlFlow;
use std::path::Path;

/// Called now and then during a study; [`ControlFlow::Break`] ends it.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// How a study is to be made.
#[derive(Default)]
pub struct Options<'a> {
    /// Coarser grids and fewer requests: seconds instead of tens of them. Verdicts stand on the same quantities.
    pub quick: bool,
    /// The root of all randomness.
    pub seed: Seed,
    /// A folder with traces that a paper used and that are not Flashlane's to give away. What needs one that is not
    /// there is left out, with a warning.
    pub traces: Option<&'a Path>,
    /// Called between experiments; breaking ends the study, and the figures done stand.
    pub watch: Option<Watch<'a>>,
}

/// How far a study has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The figure that is being measured.
    pub figure: &'static str,
    /// The share of figures done, 0 to 1.
    pub share: f64,
}

/// What a figure measures with.
pub(crate) struct Lab<'a> {
    options: Options<'a>,
    progress: Progress,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(options: Options<'a>) -> Self {
        Self { options, progress: Progress { figure: "", share: 0.0 } }
    }

    /// A figure begins.
    pub(crate) fn begin(&mut self, progress: Progress) {
        self.progress = progress;
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
        experiment: impl FnOnce(&mut Rig<'_>) -> Result<T, Interruption>,
    ) -> Result<T, FigureError> {
        let mut drive = self.drive(profile, overrides)?;
        let progress = self.progress;
        let watch = &mut self.options.watch;
        let mut stop = || watch.as_mut().is_some_and(|watch| watch(&progress).is_break());
        if stop() {
            return Err(Interruption::Stopped.into());
        }
        Ok(experiment(&mut Rig::new(&mut drive, self.options.seed, &mut stop))?)
    }

    /// A fresh device of `profile`, with `overrides` of its settings, for experiments that a [`Rig`] is not for: on lanes,
    /// with erases.
    pub(crate) fn device(
        &mut self,
        profile: &str,
        overrides: &[(&str, &str)],
    ) -> Result<Box<dyn Device>, FigureError> {
        if self.options.watch.as_mut().is_some_and(|watch| watch(&self.progress).is_break()) {
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
        let (progress, study) = (self.progress, &mut self.options.watch);
        let mut watch = |_: &flashlane_measure::Progress| {
            study.as_mut().map_or(ControlFlow::Continue(()), |watch| watch(&progress))
        };
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
        let (progress, study) = (self.progress, &mut self.options.watch);
        let mut watch = |_: &flashlane_uflip::Progress| {
            study.as_mut().map_or(ControlFlow::Continue(()), |watch| watch(&progress))
        };
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
        Warning {
            code: "trace-not-given".into(),
            message: format!("what needs the trace '{name}' was not measured: {folder}"),
        }
    }

    fn drive(&self, profile: &str, overrides: &[(&str, &str)]) -> Result<Drive, FigureError> {
        Ok(Drive::new(&profile_with(profile, overrides)?, self.options.seed))
    }
}

fn profile_with(profile: &str, overrides: &[(&str, &str)]) -> Result<DriveConfig, FigureError> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(field, value)| (field.to_owned(), value.to_owned())).collect();
    Ok(config::load(profile, &overrides)?)
}
