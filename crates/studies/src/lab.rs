//! Where experiments are made: fresh simulated drives, handed out one at a time, with the caller's wish to stop.

use crate::FigureError;
use flashlane_base::Seed;
use flashlane_measure::Interruption;
use flashlane_probe::rig::Rig;
use flashlane_sim::{Drive, config};
use std::ops::ControlFlow;

/// Called now and then during a study; [`ControlFlow::Break`] ends it.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// How a study is to be made.
#[derive(Default)]
pub struct Options<'a> {
    /// Coarser grids and fewer requests: seconds instead of tens of them. Verdicts stand on the same quantities.
    pub quick: bool,
    /// The root of all randomness.
    pub seed: Seed,
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
        let overrides: Vec<_> =
            overrides.iter().map(|&(field, value)| (field.to_owned(), value.to_owned())).collect();
        let mut drive = Drive::new(&config::load(profile, &overrides)?, self.options.seed);
        let progress = self.progress;
        let watch = &mut self.options.watch;
        let mut stop = || watch.as_mut().is_some_and(|watch| watch(&progress).is_break());
        if stop() {
            return Err(Interruption::Stopped.into());
        }
        Ok(experiment(&mut Rig::new(&mut drive, self.options.seed, &mut stop))?)
    }
}
