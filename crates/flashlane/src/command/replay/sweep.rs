//! A replay at each point of a sweep.
//!
//! The trace is read once, and its requests are kept in memory for all points where they fit into [`KEPT_BYTES`]; a
//! longer trace is read anew by each point, in constant memory.

use super::{Arguments, BeyondName, PaceName, Plan, Requests, Told, UnalignedName, depth, go_on, speed};
use crate::arguments::some;
use crate::device as devices;
use crate::failure::{Failure, Status};
use crate::progress::metered;
use crate::sweep::{self, Settings};
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_device::spec::Spec;
use flashlane_studies::sweep::{Halt, fingerprint, fingerprint_of};
use flashlane_trace::{Record, files};
use serde_json::Value;
use std::io;
use std::path::PathBuf;

/// The most memory for the requests of a trace.
const KEPT_BYTES: usize = 1 << 30;

/// A trace's requests, for many replays.
pub(super) struct Kept {
    pub(super) records: Vec<Record>,
    /// What is to be said of the trace.
    pub(super) told: Told,
}

struct Experiment<'a> {
    arguments: &'a Arguments,
    plan: Plan<'a>,
    kept: Option<Kept>,
    /// Of the trace's files; none where nothing is kept that they could be compared with.
    fingerprints: Vec<u64>,
    changes: bool,
}

struct Point<'a> {
    device: Spec,
    plan: Plan<'a>,
    /// Of all that the profile of a simulated drive says.
    profile: u64,
}

/// A key: its name behind `replay.`, what its numbers are of, and how its value takes the place of an option's.
struct Key {
    name: &'static str,
    quantity: Option<Quantity>,
    set: fn(&mut Arguments, &str) -> Result<(), String>,
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

pub(super) fn call<'a>(arguments: &'a Arguments, plan: Plan<'a>) -> Result<Status, Failure> {
    let Arguments { device, trace, safety, output, .. } = arguments;
    let files = files(trace);
    let other = |file: &&PathBuf| file.metadata().is_ok_and(|meta| !meta.is_file());
    if let Some(other) = files.iter().find(other) {
        return Err(Failure::unusable(anyhow!(
            "a sweep replays its trace more than once, but '{}' is no regular file",
            other.display()
        )));
    }
    let compared = output.out.as_ref().map_or(&[][..], |_| &files);
    let fingerprints = compared.iter().map(|file| fingerprint_of(file)).collect::<io::Result<_>>();
    let fingerprints = fingerprints.map_err(|error| {
        Failure::unusable(anyhow!("cannot read the trace '{}': {error}", trace.display()))
    })?;
    let changes = plan.changes(device)?;
    let limit_is_swept = arguments.sweep.keys.iter().any(|key| key.trim_start().starts_with("replay.limit"));
    let limit = if limit_is_swept { usize::MAX } else { plan.limit() };
    let kept = Kept::read(&plan, limit)?;
    let experiment = Experiment { arguments, plan, kept, fingerprints, changes };
    sweep::call(&experiment, device, &arguments.sweep, safety, output)
}

impl Kept {
    /// The first `limit` requests of the trace; `None` where they are too many.
    fn read(plan: &Plan<'_>, limit: usize) -> Result<Option<Self>, Failure> {
        let mut trace = plan.open()?;
        let mut records = Vec::new();
        for record in metered(&mut trace, format!("reading {}", plan.trace.display())).take(limit) {
            if records.len() == KEPT_BYTES / size_of::<Record>() {
                return Ok(None);
            }
            records.push(record);
        }
        go_on()?;
        Ok(Some(Self { records, told: Told::of(plan.trace, trace) }))
    }
}

impl<'a> sweep::Experiment for Experiment<'a> {
    type Plan = Point<'a>;

    fn command(&self) -> &'static str {
        "replay"
    }

    fn word(&self) -> &'static str {
        "replay"
    }

    fn quantity(&self, key: &str) -> Option<Quantity> {
        KEYS.iter().find(|known| known.name == key).and_then(|known| known.quantity)
    }

    fn subject(&self) -> String {
        self.plan.trace.display().to_string()
    }

    fn seed(&self) -> Seed {
        self.plan.how.seed
    }

    fn plan(&self, settings: &Settings<'_>) -> Result<Point<'a>, Failure> {
        let mut arguments = self.arguments.clone();
        for &(name, value) in &settings.own {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                let known: Vec<String> = KEYS.iter().map(|key| format!("replay.{}", key.name)).collect();
                return Err(Failure::unusable(anyhow!(
                    "there is no key 'replay.{name}'; there are: {}",
                    known.join(", ")
                )));
            };
            (key.set)(&mut arguments, value)
                .map_err(|reason| Failure::unusable(anyhow!("replay.{name}={value}: {reason}")))?;
        }
        let changed = arguments.plan()?;
        let mut plan = Plan { limit: changed.limit, how: changed.how, depth: changed.depth, ..self.plan };
        plan.how.seed = settings.seed.unwrap_or(plan.how.seed);
        let profile = devices::profile_of(&settings.device)?;
        let profile = fingerprint(format!("{profile:?}").as_bytes());
        Ok(Point { device: settings.device.clone(), plan, profile })
    }

    fn writes(&self, _: &Point<'a>) -> Option<String> {
        self.changes.then(|| self.plan.described())
    }

    fn definition(&self, point: &Point<'a>) -> String {
        let Point { device, plan, profile } = point;
        let Plan { trace, limit, how, depth, .. } = plan;
        let Arguments { trace_format, trace_device, .. } = self.arguments;
        format!(
            "replay\n{device} {profile:016x}\n{} {:016x?} {trace_format:?} {trace_device:?}\n{how:?} {depth:?} {limit:?}",
            trace.display(),
            self.fingerprints
        )
    }

    fn measure(&self, point: &Point<'a>, watch: sweep::Watch<'_>) -> Result<Value, Halt> {
        let safety = &self.arguments.safety;
        let requests = match &self.kept {
            Some(kept) => Ok(Requests::Kept(kept)),
            None => point.plan.open().map(|trace| Requests::Opened(Box::new(trace))),
        };
        let measured = requests
            .and_then(|requests| point.plan.measure(&point.device, safety, self.changes, requests, 0, watch));
        // Whichever was stopped, the replay or its trace: it is not the whole point.
        if watch(None).is_break() {
            return Err(Halt::Stopped);
        }
        let (_, result) = measured.map_err(|failure| Halt::Failed(failure.reason()))?;
        serde_json::to_value(&result).map_err(|error| Halt::Failed(error.to_string()))
    }
}
