//! Preconditioning by SNIA's *Solid State Storage Performance Test Specification* (2.0.2, sections 3 and 7), so that a
//! drive is measured in the state that long use leaves it in.
//!
//! First twice the capacity is written sequentially (workload-independent preconditioning), then the workload's own
//! writes run in rounds until five successive rounds meet the rule for a steady state, or for 25 rounds. A round lasts
//! a minute of device time, as in the specification, but ends after a quarter of the capacity where that is sooner:
//! otherwise a simulated or small drive would be overwritten many times in its first round. The rounds flush as often
//! as the workload does: a drive may reach another state, and another rate, if its buffer is emptied after every few
//! writes.
//!
//! For a workload that only reads, the writes are random, of its first job's size, over the whole device.
//!
//! Mixed preconditioning writes a given volume at random in requests of several sizes, as SNIA's IOPS test mixes block
//! sizes in each of its rounds. Without it, a drive that was only ever written in requests of one size stays in a state
//! that no use in practice leaves: its planes fill in step, and run GC together.

use crate::closed_loop::watched_loop;
use crate::engine::drive;
use crate::recorder::Recorder;
use crate::statistics::steady_state::{ROUNDS_MAX, Window};
use crate::{Interruption, MeasureError, Progress, RunOptions, Watch};
use flashlane_base::{Duration, Operation};
use flashlane_device::{Device, DeviceInfo};
use flashlane_workload::{Job, Mix, Pattern, Precondition, Stop, Workload};

/// Result of preconditioning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preconditioned {
    /// Bytes written sequentially.
    pub sequential_bytes: u64,
    /// Bytes then written by the workload's own writes, or in mixed requests.
    pub written_bytes: u64,
    /// Writes per second in each round.
    pub rounds: Vec<f64>,
    /// Variation of the last five rounds; `None` for fewer.
    pub window: Option<Window>,
}

impl Preconditioned {
    /// Returns whether the last five rounds meet the rule.
    pub fn is_steady(&self) -> bool {
        self.window.is_some_and(|window| window.is_steady())
    }
}

/// Number of sequential passes over the capacity.
const FILLS: u64 = 2;
/// Size (SNIA's 128 KiB) and depth of these writes.
const FILL_BYTES: u64 = 128 << 10;
const FILL_DEPTH: u32 = 32;
/// Longest round.
const ROUND: Duration = Duration::from_s(60);
/// A round also ends when the capacity divided by this is written.
const ROUND_PART: u64 = 4;
/// Depth of the writes for a workload that only reads.
const DEPTH: u32 = 32;

/// Preconditions `device` for `workload`; also returns why it ended early, if it did.
pub(crate) fn steady(
    device: &mut dyn Device,
    workload: &Workload,
    watch: &mut Option<Watch<'_>>,
) -> (Preconditioned, Option<Interruption>) {
    let mut done = Preconditioned::default();
    let info = device.info().clone();
    let unit = info.write_unit_bytes.max(1);
    let size = (FILL_BYTES.next_multiple_of(unit)).min(info.capacity_bytes / unit * unit);
    let fill = Job::new("precondition-fill", Pattern::Sequential, Mix::WRITE, size).depth(FILL_DEPTH);
    let accesses = FILLS * (info.capacity_bytes / size);
    let fill = Workload::single(fill, accesses).seed(workload.seed);
    let (requests, _, ended) = write(device, &fill, watch);
    done.sequential_bytes = requests * size;
    if ended.is_some() {
        return (done, ended);
    }
    let jobs = own_writes(workload, &info);
    let size = jobs.iter().map(|job| job.size_bytes).max().unwrap_or(unit);
    let stop = Stop {
        requests: Some((info.capacity_bytes / ROUND_PART / size).max(1)),
        time: Some(ROUND),
        ..Stop::default()
    };
    for round in 0..ROUNDS_MAX {
        let seed = workload.seed.derive_nth("precondition", round as u64);
        let writes = Workload::new(jobs.clone(), stop).seed(seed);
        let (requests, elapsed, ended) = write(device, &writes, watch);
        done.written_bytes += requests * size;
        if ended.is_some() {
            return (done, ended);
        }
        done.rounds.push(crate::rate::per_second(requests, elapsed));
        done.window = Window::of(&done.rounds);
        if done.is_steady() {
            break;
        }
    }
    (done, None)
}

/// Writes `bytes` at random to the whole device in requests of mixed sizes; also returns why it ended early, if it did.
pub(crate) fn mixed(
    device: &mut dyn Device,
    bytes: u64,
    workload: &Workload,
    watch: &mut Option<Watch<'_>>,
) -> (Preconditioned, Option<Interruption>) {
    let info = device.info();
    let (unit, capacity_bytes) = (info.write_unit_bytes.max(1), info.capacity_bytes);
    let random = workload.seed.derive("mixed precondition").source();
    let mut accesses = Precondition::mixed(bytes, capacity_bytes, unit, random);
    let started = device.now();
    let done = std::cell::Cell::new((0, 0, started));
    let mut watch = watch.as_mut();
    let mut stopped = || {
        let (requests, _, last) = done.get();
        let elapsed = last.since(started);
        let progress =
            Progress { requests, requests_wanted: None, elapsed, time_wanted: None, preconditions: true };
        watch.as_mut().is_some_and(|watch| watch(&progress).is_break())
    };
    let ended = watched_loop(
        device,
        &mut accesses,
        DEPTH,
        &mut |access, completion| {
            let (requests, bytes, last) = done.get();
            done.set((requests + 1, bytes + access.length_bytes, last.max(completion.completed)));
        },
        &mut stopped,
    );
    let interruption = match ended {
        Err(MeasureError::Interrupted(interruption)) => Some(interruption),
        Err(MeasureError::Unfit { unfit, .. }) => unreachable!("the requests fit the device: {unfit}"),
        Ok(_) => None,
    };
    (Preconditioned { written_bytes: done.get().1, ..Preconditioned::default() }, interruption)
}

/// Returns the jobs of `workload` that write, without their reads, pauses and rates but with their flushes; a random
/// writer where there are none.
fn own_writes(workload: &Workload, info: &DeviceInfo) -> Vec<Job> {
    let plain = |job: &Job| Job {
        mix: Mix::WRITE,
        think: Duration::ZERO,
        burst: 1,
        turns: None,
        accesses: None,
        rate: None,
        ..job.clone()
    };
    let writing = workload.jobs.iter().filter(|job| job.mix.changes() == Some(Operation::Write));
    let jobs: Vec<Job> = writing.map(plain).collect();
    if !jobs.is_empty() {
        return jobs;
    }
    let size = workload.jobs.first().map_or(info.write_unit_bytes, |job| job.size_bytes);
    let size = size.next_multiple_of(info.write_unit_bytes.max(1)).min(info.capacity_bytes);
    vec![Job::new("precondition", Pattern::Random, Mix::WRITE, size).depth(DEPTH)]
}

/// Runs `workload`. Returns the number of requests and the time they took.
fn write(
    device: &mut dyn Device,
    workload: &Workload,
    watch: &mut Option<Watch<'_>>,
) -> (u64, Duration, Option<Interruption>) {
    let mut watching = watch
        .as_mut()
        .map(|watch| |progress: &Progress| watch(&Progress { preconditions: true, ..*progress }));
    let watch = watching.as_mut().map(|watch| watch as Watch<'_>);
    let mut recorder =
        Recorder::new(device, workload, RunOptions { samples: 0, watch, ..Default::default() });
    let slots = recorder.slots();
    let ending = drive(device, slots, &mut recorder);
    (recorder.measured, recorder.last.since(recorder.started), ending.interruption)
}

#[cfg(test)]
mod tests;
