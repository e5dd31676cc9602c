//! A replay at each point of a sweep.
//!
//! The trace is read once and buffered in memory for all points, if it fits; otherwise each point reads it again, in
//! constant memory.

use super::Arguments;
use super::plan::{BeyondName, PaceName, PlanOptions, ReplayPlan, UnalignedName, depth, speed};
use super::recording::{Buffered, Recording, Requests};
use crate::device::check_unprepared;
use crate::failure::{Failure, Status};
use crate::options::positive_count;
use crate::progress::ShareWatch;
use crate::sweep::{self, Settings};
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_open::{AccessMode, Target};
use flashlane_sweep::{PointResult, fingerprint_of};
use flashlane_trace::{SideBySide, files};
use std::io;

struct Experiment<'a> {
    arguments: &'a Arguments,
    recording: Recording<'a>,
    /// Fingerprints of the trace files; empty if no points are saved that depend on them.
    fingerprints: Vec<u64>,
    changes: bool,
    side_by_side: Option<SideBySide>,
    buffered: Option<Buffered>,
}

/// A key: its name after `replay.`, its quantity, and a function that sets the option from its value.
struct Key {
    name: &'static str,
    quantity: Option<Quantity>,
    set: fn(&mut PlanOptions, &str) -> Result<(), String>,
}

/// The options that can be swept.
const KEYS: &[Key] = &[
    Key { name: "pace", quantity: None, set: |a, v| set(&mut a.pace, PaceName::from_str(v, false)) },
    Key { name: "speed", quantity: Some(Quantity::Count), set: |a, v| set(&mut a.speed, speed(v).map(Some)) },
    Key { name: "depth", quantity: Some(Quantity::Count), set: |a, v| set(&mut a.depth, depth(v).map(Some)) },
    Key { name: "beyond", quantity: None, set: |a, v| set(&mut a.beyond, BeyondName::from_str(v, false)) },
    Key {
        name: "unaligned",
        quantity: None,
        set: |a, v| set(&mut a.unaligned, UnalignedName::from_str(v, false)),
    },
    Key {
        name: "limit",
        quantity: Some(Quantity::Count),
        set: |a, v| set(&mut a.limit, positive_count(v).map(Some)),
    },
];

fn set<T>(option: &mut T, value: Result<T, String>) -> Result<(), String> {
    *option = value?;
    Ok(())
}

pub(super) fn call(arguments: &Arguments, recording: Recording<'_>) -> Result<Status, Failure> {
    let Arguments { device, trace, sweep, safety, output, .. } = arguments;
    if let Some(part) = recording.non_regular_file() {
        return Err(Failure::unusable(anyhow!(
            "a sweep reads its trace more than once, and {part} is not a regular file: save it to one first"
        )));
    }
    let files = files(trace);
    let compared = output.out.as_ref().map_or(&[][..], |_| &files);
    let fingerprints = compared.iter().map(|file| fingerprint_of(file)).collect::<io::Result<_>>();
    let fingerprints = fingerprints.map_err(|error| {
        Failure::unusable(anyhow!("cannot read the trace '{}': {error}", trace.display()))
    })?;
    let experiment =
        Experiment { arguments, recording, fingerprints, changes: true, side_by_side: None, buffered: None };
    sweep::call(experiment, device, sweep, safety, output)
}

impl sweep::Experiment for Experiment<'_> {
    type Plan = ReplayPlan;

    fn command(&self) -> &'static str {
        "replay"
    }

    fn key_prefix(&self) -> &'static str {
        "replay"
    }

    fn keys(&self) -> Vec<&'static str> {
        KEYS.iter().map(|key| key.name).collect()
    }

    fn quantity(&self, key: &str) -> Option<Quantity> {
        KEYS.iter().find(|known| known.name == key).and_then(|known| known.quantity)
    }

    fn subject(&self) -> String {
        self.recording.name()
    }

    fn seed(&self) -> Seed {
        self.arguments.seed
    }

    fn plan(&self, settings: &Settings<'_>) -> Result<ReplayPlan, Failure> {
        let mut options = self.arguments.plan;
        for &(name, value) in &settings.own {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                let known: Vec<String> = KEYS.iter().map(|key| format!("replay.{}", key.name)).collect();
                return Err(Failure::unusable(anyhow!(
                    "unknown key 'replay.{name}'; allowed: {}",
                    known.join(", ")
                )));
            };
            (key.set)(&mut options, value)
                .map_err(|reason| Failure::unusable(anyhow!("replay.{name}={value}: {reason}")))?;
        }
        options.checked(settings.seed_or(self.arguments.seed))
    }

    /// The requests of a trace do not depend on the seed.
    fn is_random(&self, _: &ReplayPlan) -> bool {
        false
    }

    fn prepare(&mut self, target: &Target, plans: &[&ReplayPlan]) -> Result<(), Failure> {
        let max_requests = plans.iter().map(|plan| plan.max_requests()).max().unwrap_or(0);
        self.changes = self.recording.changes(target, max_requests)?;
        self.side_by_side = self.recording.side_by_side()?;
        self.buffered = self.recording.buffered(max_requests, self.side_by_side.as_ref())?;
        Ok(())
    }

    fn writes(&self, _: &ReplayPlan) -> Option<String> {
        self.changes.then(|| self.recording.described())
    }

    fn definition(&self, plan: &ReplayPlan) -> String {
        let Recording { path, opening } = self.recording;
        format!(
            "{} {:016x?} {:?} {:?}{}\n{plan:?}",
            path.display(),
            self.fingerprints,
            opening.format,
            opening.device,
            if opening.every_device { " side by side" } else { "" }
        )
    }

    fn measure(
        &self,
        target: &Target,
        plan: &ReplayPlan,
        watch: ShareWatch<'_>,
    ) -> Result<PointResult, Failure> {
        let (how, most, devices) = (&plan.options, plan.max_requests(), self.side_by_side.as_ref());
        check_unprepared(target, &self.arguments.safety, |profile| {
            self.recording.check(profile, how, most, devices)
        })?;
        let requests = match &self.buffered {
            Some(buffered) => Requests::Buffered(buffered),
            None => Requests::Opened(Box::new(self.recording.open()?), self.side_by_side.clone()),
        };
        let opened = plan.open(target, &self.arguments.safety, AccessMode::for_writes(self.changes))?;
        let (_, result) = plan.measure(opened, requests, 0, watch)?;
        Ok(result.into())
    }
}
