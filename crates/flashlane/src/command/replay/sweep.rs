//! A replay at each point of a sweep.
//!
//! The trace is read once, and its requests are kept in memory for all points where they fit; a longer trace is read
//! anew by each point, in constant memory.

use super::Arguments;
use super::how::{BeyondName, How, HowOptions, PaceName, UnalignedName, depth, speed};
use super::recording::{Kept, Recording, Requests};
use crate::failure::{Failure, Status};
use crate::options::some;
use crate::sweep::{self, Settings};
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_open::Target;
use flashlane_sweep::fingerprint_of;
use flashlane_trace::{SideBySide, files};
use serde_json::Value;
use std::io;

struct Experiment<'a> {
    arguments: &'a Arguments,
    recording: Recording<'a>,
    /// Of the trace's files; none where nothing is kept that they could be compared with.
    fingerprints: Vec<u64>,
    changes: bool,
    side_by_side: Option<SideBySide>,
    kept: Option<Kept>,
}

/// A key: its name behind `replay.`, what its numbers are of, and how its value takes the place of an option's.
struct Key {
    name: &'static str,
    quantity: Option<Quantity>,
    set: fn(&mut HowOptions, &str) -> Result<(), String>,
}

/// The options that can be swept, by their own names.
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
    Key { name: "limit", quantity: Some(Quantity::Count), set: |a, v| set(&mut a.limit, some(v).map(Some)) },
];

fn set<T>(option: &mut T, value: Result<T, String>) -> Result<(), String> {
    *option = value?;
    Ok(())
}

pub(super) fn call(arguments: &Arguments, recording: Recording<'_>) -> Result<Status, Failure> {
    let Arguments { device, trace, sweep, safety, output, .. } = arguments;
    if let Some(part) = recording.no_plain_file() {
        return Err(Failure::unusable(anyhow!(
            "a sweep reads its trace more than once, and {part} is no plain file: give it as a file"
        )));
    }
    let files = files(trace);
    let compared = output.out.as_ref().map_or(&[][..], |_| &files);
    let fingerprints = compared.iter().map(|file| fingerprint_of(file)).collect::<io::Result<_>>();
    let fingerprints = fingerprints.map_err(|error| {
        Failure::unusable(anyhow!("cannot read the trace '{}': {error}", trace.display()))
    })?;
    let experiment =
        Experiment { arguments, recording, fingerprints, changes: true, side_by_side: None, kept: None };
    sweep::call(experiment, device, sweep, safety, output)
}

impl sweep::Experiment for Experiment<'_> {
    type Plan = How;

    fn command(&self) -> &'static str {
        "replay"
    }

    fn word(&self) -> &'static str {
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

    fn plan(&self, settings: &Settings<'_>) -> Result<How, Failure> {
        let mut options = self.arguments.how;
        for &(name, value) in &settings.own {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                let known: Vec<String> = KEYS.iter().map(|key| format!("replay.{}", key.name)).collect();
                return Err(Failure::unusable(anyhow!(
                    "there is no key 'replay.{name}'; there are: {}",
                    known.join(", ")
                )));
            };
            (key.set)(&mut options, value)
                .map_err(|reason| Failure::unusable(anyhow!("replay.{name}={value}: {reason}")))?;
        }
        options.checked(settings.seed_or(self.arguments.seed))
    }

    /// A trace asks the same whatever the seed.
    fn is_random(&self, _: &How) -> bool {
        false
    }

    fn prepare(&mut self, target: &Target, plans: &[&How]) -> Result<(), Failure> {
        let most = plans.iter().map(|how| how.most()).max().unwrap_or(0);
        self.changes = self.recording.changes(target, most)?;
        self.side_by_side = self.recording.side_by_side()?;
        self.kept = self.recording.kept(most, self.side_by_side.as_ref())?;
        Ok(())
    }

    fn writes(&self, _: &How) -> Option<String> {
        self.changes.then(|| self.recording.described())
    }

    fn definition(&self, how: &How) -> String {
        let Recording { path, opening } = self.recording;
        format!(
            "{} {:016x?} {:?} {:?}{}\n{how:?}",
            path.display(),
            self.fingerprints,
            opening.format,
            opening.device,
            if opening.every_device { " side by side" } else { "" }
        )
    }

    fn measure(&self, target: &Target, how: &How, watch: sweep::Watch<'_>) -> Result<Value, Failure> {
        let requests = match &self.kept {
            Some(kept) => Requests::Kept(kept),
            None => Requests::Opened(Box::new(self.recording.open()?), self.side_by_side.clone()),
        };
        let opened = how.open(target, &self.arguments.safety, self.changes)?;
        let (_, result) = how.measure(opened, requests, 0, watch)?;
        serde_json::to_value(&result).map_err(Failure::failed)
    }
}
