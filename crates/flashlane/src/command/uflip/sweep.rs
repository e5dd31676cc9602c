//! `flashlane uflip DEVICE --sweep`: the benchmark at each point of a grid.

use super::Arguments;
use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status};
use crate::progress::ShareWatch;
use crate::sweep::{self, Settings};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_open::Target;
use flashlane_sweep::PointResult;
use flashlane_uflip::Progress;

pub(super) fn call(arguments: &Arguments, device: &DeviceArgument) -> Result<Status, Failure> {
    sweep::call(Experiment(arguments), device, &arguments.sweep, &arguments.safety, &arguments.output)
}

/// A benchmark at each point.
struct Experiment<'a>(&'a Arguments);

impl sweep::Experiment for Experiment<'_> {
    /// Only the seed differs between points.
    type Plan = Seed;

    fn command(&self) -> &'static str {
        "uflip"
    }

    fn key_prefix(&self) -> &'static str {
        "uflip"
    }

    /// None: the workload of uFLIP is fixed.
    fn keys(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn quantity(&self, _: &str) -> Option<Quantity> {
        None
    }

    fn y(&self, _: &[&Self::Plan]) -> &'static str {
        "rw"
    }

    fn subject(&self) -> String {
        let benchmarks = self.0.benchmarks().iter().map(|benchmark| benchmark.name()).collect::<Vec<_>>();
        format!("{}, {} effort, {:?} state", benchmarks.join(" "), self.0.effort().name(), self.0.state())
    }

    fn seed(&self) -> Seed {
        self.0.seed
    }

    fn plan(&self, settings: &Settings<'_>) -> Result<Seed, Failure> {
        if let Some((key, _)) = settings.own.first() {
            return Err(Failure::unusable(anyhow!(
                "unknown key 'uflip.{key}'; allowed: fields of a simulated drive, and 'seed'"
            )));
        }
        Ok(settings.seed_or(self.0.seed))
    }

    fn is_random(&self, _: &Seed) -> bool {
        true
    }

    /// The benchmark repeats its own experiments.
    fn repetitions(&self) -> usize {
        1
    }

    fn writes(&self, _: &Seed) -> Option<String> {
        Some("a sweep of uFLIP".into())
    }

    fn definition(&self, seed: &Seed) -> String {
        format!("{} {}", self.subject(), seed.0)
    }

    fn measure(&self, target: &Target, seed: &Seed, watch: ShareWatch<'_>) -> Result<PointResult, Failure> {
        let mut report = |progress: &Progress| watch(Some(progress.share));
        let (outcome, _) = self.0.measure(target, *seed, None, &mut report)?;
        Ok(outcome.result.into())
    }
}
