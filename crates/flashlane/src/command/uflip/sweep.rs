//! `flashlane uflip DEVICE --sweep`: the benchmark at each point of a grid.

use super::Arguments;
use crate::device as devices;
use crate::failure::{Failure, Status};
use crate::sweep::{self, Settings, Watch};
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_device::spec::Spec;
use flashlane_studies::sweep::{Halt, fingerprint};
use flashlane_uflip::Progress;
use serde_json::Value;
use std::ops::ControlFlow;

pub(super) fn call(arguments: &Arguments, spec: &Spec) -> Result<Status, Failure> {
    sweep::call(&Experiment(arguments), spec, &arguments.sweep, &arguments.safety, &arguments.output)
}

/// A benchmark at each point.
struct Experiment<'a>(&'a Arguments);

/// One of its points.
struct Plan {
    device: Spec,
    seed: Seed,
    /// Of all that the profile of a simulated drive says.
    profile: u64,
}

impl sweep::Experiment for Experiment<'_> {
    type Plan = Plan;

    fn command(&self) -> &'static str {
        "uflip"
    }

    fn word(&self) -> &'static str {
        "uflip"
    }

    fn quantity(&self, _: &str) -> Option<Quantity> {
        None
    }

    fn y(&self) -> &'static str {
        "rw"
    }

    fn subject(&self) -> String {
        let benchmarks = self.0.benchmarks().iter().map(|benchmark| benchmark.name()).collect::<Vec<_>>();
        format!("{}, {} effort, {:?} state", benchmarks.join(" "), self.0.effort().name(), self.0.state())
    }

    fn seed(&self) -> Seed {
        self.0.seed
    }

    fn plan(&self, settings: &Settings<'_>) -> Result<Plan, Failure> {
        if let Some((key, _)) = settings.own.first() {
            return Err(Failure::unusable(anyhow!(
                "'uflip.{key}' is no key: swept are fields of a simulated drive and 'seed'"
            )));
        }
        let profile = devices::profile_of(&settings.device)?;
        Ok(Plan {
            device: settings.device.clone(),
            seed: settings.seed.unwrap_or(self.0.seed),
            profile: fingerprint(format!("{profile:?}").as_bytes()),
        })
    }

    fn writes(&self, _: &Plan) -> Option<String> {
        Some("a sweep of uFLIP".into())
    }

    fn definition(&self, plan: &Plan) -> String {
        let Plan { device, seed, profile } = plan;
        format!("uflip\n{device} {profile:016x}\n{} {}", self.subject(), seed.0)
    }

    fn measure(&self, plan: &Plan, watch: Watch<'_>) -> Result<Value, Halt> {
        let mut told = |progress: &Progress| watch(Some(progress.share));
        let measured = self.0.measure(&plan.device, plan.seed, None, &mut told);
        let (outcome, _) = measured.map_err(|failure| match watch(None) {
            ControlFlow::Break(()) => Halt::Stopped,
            ControlFlow::Continue(()) => Halt::Failed(failure.reason()),
        })?;
        serde_json::to_value(&outcome.result).map_err(|error| Halt::Failed(error.to_string()))
    }
}
