//! A complete benchmark, from the first I/O to the result.

use crate::bench::Bench;
use crate::curve::{Curves, PHASES};
use crate::experiment::{Experiment, Length, Streams};
use crate::journal::{Done, Journal};
use crate::options::{IO_BYTES, REPETITIONS};
use crate::row::{row, row_of_methodology};
use crate::space::Space;
use crate::{
    Effort, Lengths, Options, Plan, UflipError, baseline, characteristics, figures, hints, interference,
    phases, state,
};
use flashlane_base::units::format_bytes;
use flashlane_base::{Duration, Seed};
use flashlane_device::{Counters, Device};
use flashlane_measure::schema::device_row;
use flashlane_result::uflip::{
    Baseline, BaselinePhases, Benchmark, Enforcement, Interference, RunRow, StateMethod, UFLIP_SCHEMA,
    UflipResult,
};
use flashlane_result::{Figure, Warning};
use flashlane_workload::{Job, Stop, Workload};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A benchmark's result and samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result.
    pub result: UflipResult,
    /// Every response time in nanoseconds, run after run; [`RunRow::first_sample`] is the start of a run.
    pub latencies_ns: Vec<u64>,
}

/// Maximum number of times that a run is doubled to make its mean precise.
const DOUBLINGS: u32 = 3;
/// Idle time before reference reads: twice the longest disturbance in the paper.
const IDLE_BEFORE_REFERENCE: Duration = Duration::from_s(5);
/// Reads before the batch of random writes of the pause determination.
pub(crate) const READS_BEFORE: u64 = 512;
/// Reads after the batch: in the paper 3,000 were disturbed.
pub(crate) const READS_AFTER: u64 = 5120;

/// Benchmarks a device.
///
/// # Errors
/// [`UflipError`] where the device is too small, fails, or the benchmark is stopped. Completed steps are in the
/// journal.
pub fn uflip<'a>(device: &'a mut dyn Device, options: Options<'a>) -> Result<Outcome, UflipError> {
    let capacity_bytes = device.info().capacity_bytes;
    let unit_bytes = device.info().write_unit_bytes.max(device.info().read_unit_bytes);
    let plan = Plan::new(&options, capacity_bytes, unit_bytes);
    plan.check()?;
    let before = device.counters();
    let mut session = Session {
        space: Space::new(plan.area_bytes),
        bench: Bench::new(device, options.watch),
        journal: options.journal,
        writes: options.may_write,
        effort: options.effort,
        seed: options.seed.derive("uflip"),
        lengths: Lengths::default(),
        pause: Duration::from_ns(least_pause_ns(options.effort)),
        planned_ios: plan.estimate(&Lengths::default()).ios,
        plan,
        found: Found::default(),
    };
    session.enforce()?;
    session.baselines()?;
    session.determine_pause()?;
    session.experiments()?;
    Ok(session.finish(options.seed, &before))
}

/// Least pause between runs (uflip09, section 5.1: 1 s "to be conservative").
pub(crate) fn least_pause_ns(effort: Effort) -> u64 {
    match effort {
        Effort::Quick => 20_000_000,
        Effort::Normal | Effort::Full => 1_000_000_000,
    }
}

/// I/Os of the first long run of a baseline, which is doubled as needed.
pub(crate) fn first_ios(effort: Effort, baseline: Baseline) -> u64 {
    let reads = match effort {
        Effort::Quick => 1024,
        Effort::Normal => 2048,
        Effort::Full => 4096,
    };
    if baseline == Baseline::Rw { 2 * reads } else { reads }
}

/// Results so far.
#[derive(Default)]
struct Found {
    states: Vec<Enforcement>,
    phases: Vec<BaselinePhases>,
    pause: Interference,
    runs: Vec<RunRow>,
    latencies_ns: Vec<u64>,
    figures: Vec<Figure>,
    warnings: Vec<Warning>,
    ios: u64,
    written_bytes: u64,
    took_ns: u64,
    /// Runs whose mean is less precise than the bound.
    imprecise: u64,
    /// Whether the drive collected garbage during the last step and the idle time before it, if it says so.
    cleaned: Option<bool>,
}

struct Session<'a> {
    bench: Bench<'a>,
    journal: Option<&'a mut Journal>,
    plan: Plan,
    space: Space,
    writes: bool,
    effort: Effort,
    seed: Seed,
    lengths: Lengths,
    pause: Duration,
    planned_ios: u64,
    found: Found,
}

impl Session<'_> {
    /// Takes a step with `latencies` response times from the journal, or executes and records it.
    fn step<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        latencies: u64,
        act: impl FnOnce(&mut Bench<'_>) -> Result<(T, Vec<u64>), UflipError>,
    ) -> Result<(T, Vec<u64>), UflipError> {
        let known = match &mut self.journal {
            Some(journal) => journal.take(name, latencies)?,
            None => None,
        };
        let done = match known {
            Some(done) => done,
            None => {
                self.bench.begin(name, self.found.ios, self.planned_ios)?;
                let before = self.bench.device().counters();
                self.bench.idle(self.pause)?;
                let (ios, written_bytes, began) =
                    (self.bench.ios, self.bench.written_bytes, self.bench.device().now());
                let (value, latencies_ns) = act(&mut self.bench)?;
                let done = Done {
                    value,
                    latencies_ns,
                    ios: self.bench.ios - ios,
                    written_bytes: self.bench.written_bytes - written_bytes,
                    took_ns: self.bench.device().now().since(began).as_ns(),
                    cleaned: cleaned(&self.bench.device().counters().since(&before)),
                };
                if let Some(journal) = &mut self.journal {
                    journal.record(name, &done)?;
                }
                done
            }
        };
        let Found { ios, written_bytes, took_ns, cleaned, .. } = &mut self.found;
        *cleaned = done.cleaned;
        *ios = ios.saturating_add(done.ios);
        *written_bytes = written_bytes.saturating_add(done.written_bytes);
        *took_ns = took_ns.saturating_add(done.took_ns);
        Ok((done.value, done.latencies_ns))
    }

    fn enforce(&mut self) -> Result<(), UflipError> {
        let (method, area_bytes, seed) = (self.plan.state(), self.plan.area_bytes, self.seed);
        if method == StateMethod::AsIs {
            return Ok(());
        }
        let nth = self.found.states.len() as u64;
        let name = format!("state/{}", nth + 1);
        let seed = seed.derive_nth("state", nth);
        let (enforcement, _) = self.step(&name, 0, |bench| {
            let enforcement = state::enforce(bench, method, area_bytes, seed)?;
            bench.idle(IDLE_BEFORE_REFERENCE)?;
            Ok((enforcement, Vec::new()))
        })?;
        self.found.states.push(enforcement);
        self.replan();
        self.space.reset();
        Ok(())
    }

    /// Returns the space for a run; enforces the state again where too little is left.
    fn target(&mut self, streams: Streams, name: &str) -> Result<(u64, u64), UflipError> {
        match streams {
            Streams::Anywhere(length_bytes) => {
                let mut random = self.seed.derive("targets").derive(name).source();
                Ok((self.space.anywhere(length_bytes, &mut random), length_bytes))
            }
            Streams::Fresh(length_bytes) => {
                if let Some(offset_bytes) = self.space.take(length_bytes) {
                    return Ok((offset_bytes, length_bytes));
                }
                if self.plan.state() == StateMethod::AsIs {
                    self.space.reset();
                } else {
                    self.enforce()?;
                }
                let offset_bytes =
                    self.space.take(length_bytes).expect("a run needs less than the whole area");
                Ok((offset_bytes, length_bytes))
            }
        }
    }

    fn allowed(&self) -> impl Iterator<Item = Baseline> + use<> {
        let writes = self.writes;
        Baseline::ALL.into_iter().filter(move |baseline| writes || !baseline.writes())
    }

    /// Makes long runs of the baselines, and derives the length of all other runs from their phases.
    fn baselines(&mut self) -> Result<(), UflipError> {
        for baseline in self.allowed() {
            let mut ios = first_ios(self.effort, baseline);
            for attempt in 0..=DOUBLINGS {
                let name = format!("phases/{}/{}", baseline.name(), attempt + 1);
                let length = Length { ignored: 0, count: ios };
                let (elapsed_ns, latencies_ns) = self.run(&name, &Experiment::alone(baseline), length)?;
                let analysis = phases::analyse(baseline, &latencies_ns, self.effort.bound());
                if analysis.is_enough || attempt == DOUBLINGS {
                    let found = analysis.phases;
                    self.lengths.set(baseline, found.ignored, found.count);
                    let row = row_of_methodology(PHASES, baseline, found.ignored, &latencies_ns, elapsed_ns);
                    self.found.figures.push(analysis.figure);
                    self.found.warnings.extend(analysis.warnings);
                    self.found.phases.push(found);
                    self.collect(row, &latencies_ns);
                    break;
                }
                ios *= 2;
            }
        }
        self.replan();
        Ok(())
    }

    /// Estimates the I/Os of all steps from the lengths that are known. The state takes as many as it took so far,
    /// often more than the least that the plan counts.
    fn replan(&mut self) {
        let estimate = self.plan.estimate(&self.lengths);
        self.planned_ios = estimate.ios;
        let states = &self.found.states;
        if let Some(last) = states.last().filter(|_| estimate.enforcements > 0) {
            let done: u64 = states.iter().map(|state| state.ios).sum();
            let left = estimate.enforcements.saturating_sub(states.len() as u64);
            let planned = estimate.enforcements * (state::least_bytes(self.plan.area_bytes) / IO_BYTES);
            self.planned_ios = estimate.ios - planned + done + left * last.ios;
        }
    }

    /// Runs an experiment. Returns its duration in nanoseconds and its response times.
    fn run(
        &mut self,
        name: &str,
        experiment: &Experiment,
        length: Length,
    ) -> Result<(u64, Vec<u64>), UflipError> {
        let target = self.target(experiment.streams(length.ios(), self.plan.area_bytes), name)?;
        let workload = experiment.workload(length, target, &self.space, self.seed.derive(name));
        self.step(name, length.ios(), |bench| {
            let (latencies_ns, elapsed) = bench.run(&workload)?;
            Ok((elapsed.as_ns(), latencies_ns))
        })
    }

    /// Determines the pause between runs from reads, random writes and reads.
    fn determine_pause(&mut self) -> Result<(), UflipError> {
        if !self.writes {
            self.found.pause.pause_ns = self.pause.as_ns();
            return Ok(());
        }
        let name = "pause-determination";
        let least_pause_ns = self.pause.as_ns();
        let reads_bytes = (READS_BEFORE + READS_AFTER) * IO_BYTES;
        let reads_bytes = reads_bytes.min(self.plan.area_bytes / 2 / IO_BYTES * IO_BYTES);
        let (reads_offset, _) = self.target(Streams::Anywhere(reads_bytes), name)?;
        let writes = self.lengths.of(Baseline::Rw).ios();
        let run = |job: Job, ios, seed| Workload::new(vec![job], Stop::after(ios)).seed(seed);
        let reads =
            |ios| run(baseline::job(Baseline::Sr, IO_BYTES).area(reads_offset, reads_bytes), ios, self.seed);
        let (before, after) = (reads(READS_BEFORE), reads(READS_AFTER));
        let batch = run(
            baseline::job(Baseline::Rw, IO_BYTES).area(0, self.plan.area_bytes),
            writes,
            self.seed.derive(name),
        );
        let (found, latencies_ns): (Interference, _) =
            self.step(name, READS_BEFORE + READS_AFTER, |bench| {
                // Earlier I/Os must not disturb the reference reads.
                bench.idle(IDLE_BEFORE_REFERENCE)?;
                let (mut latencies_ns, _) = bench.run(&before)?;
                bench.run(&batch)?;
                let (after_ns, _) = bench.run(&after)?;
                let found = interference::of(&latencies_ns, &after_ns, writes, least_pause_ns);
                latencies_ns.extend(after_ns);
                Ok((found, latencies_ns))
            })?;
        let (before_ns, after_ns) = latencies_ns.split_at(READS_BEFORE as usize);
        self.found.figures.push(figures::interference(before_ns, after_ns, found.affected_reads));
        let elapsed_ns = latencies_ns.iter().sum();
        let row = row_of_methodology(name, Baseline::Sr, found.reads_before, &latencies_ns, elapsed_ns);
        self.collect(row, &latencies_ns);
        self.pause = Duration::from_ns(found.pause_ns);
        self.found.pause = found;
        Ok(())
    }

    fn experiments(&mut self) -> Result<(), UflipError> {
        for experiment in self.plan.experiments.clone() {
            let length = experiment.length(&self.lengths, self.plan.most_paused());
            let mut doublings = 0;
            for repetition in 1..=REPETITIONS {
                loop {
                    let length = Length { count: length.count << doublings, ..length };
                    let (row, latencies_ns) = self.repetition(&experiment, repetition, doublings, length)?;
                    let imprecise = row.summary.confidence.is_none_or(|share| share > self.effort.bound());
                    let left = self.doublings(&experiment) - doublings;
                    // The interval shrinks as the square root of the length: do not double where that cannot suffice.
                    let reachable = self.effort.bound() * 2_f64.powi(left as i32).sqrt();
                    if imprecise && left > 0 && row.summary.confidence.is_some_and(|share| share <= reachable)
                    {
                        doublings += 1;
                        continue;
                    }
                    self.found.imprecise += u64::from(imprecise);
                    self.collect(row, &latencies_ns);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns how often a run may be doubled: runs with pauses or rare turns are long already, and many partitions
    /// need much space.
    fn doublings(&self, experiment: &Experiment) -> u32 {
        match experiment.benchmark {
            Benchmark::Pause | Benchmark::Bursts | Benchmark::Mix | Benchmark::Partitioning => 0,
            _ if self.effort == Effort::Quick => 0,
            _ => DOUBLINGS,
        }
    }

    fn repetition(
        &mut self,
        experiment: &Experiment,
        repetition: u32,
        doublings: u32,
        length: Length,
    ) -> Result<(RunRow, Vec<u64>), UflipError> {
        let name = format!("{}/{repetition}/{}", experiment.name(), doublings + 1);
        let (elapsed_ns, latencies_ns) = self.run(&name, experiment, length)?;
        Ok((row(experiment, repetition, length.ignored, &latencies_ns, elapsed_ns), latencies_ns))
    }

    fn collect(&mut self, mut row: RunRow, latencies_ns: &[u64]) {
        row.first_sample = self.found.latencies_ns.len() as u64;
        row.cleaned = self.found.cleaned;
        self.found.latencies_ns.extend_from_slice(latencies_ns);
        self.found.runs.push(row);
    }

    fn finish(self, seed: Seed, before: &Counters) -> Outcome {
        let warnings = self.warnings();
        let Self { bench, journal, plan, effort, found, .. } = self;
        let curves = Curves::of(&found.runs);
        let throughput = |baseline: Baseline, degree: i64| {
            let of = |row: &&RunRow| {
                row.benchmark == Some(Benchmark::Parallelism) && row.first == baseline && row.value == degree
            };
            let runs: Vec<f64> = found
                .runs
                .iter()
                .filter(of)
                // There is no rate over no time.
                .filter(|row| row.elapsed_ns > 0)
                .map(|row| row.samples as f64 * 1e9 / row.elapsed_ns as f64)
                .collect();
            (!runs.is_empty()).then(|| runs.iter().sum::<f64>() / runs.len() as f64)
        };
        let hints = hints::hints(&curves, throughput);
        let mut figures = figures::benchmarks(&curves);
        figures.extend(found.figures);
        let result = UflipResult {
            schema: UFLIP_SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            device: device_row(bench.info(), &bench.device().counters().since(before)),
            mode: effort.name().into(),
            seed: seed.0,
            area_bytes: plan.area_bytes,
            bound: effort.bound(),
            characteristics: characteristics::of(&curves),
            hints,
            states: found.states,
            phases: found.phases,
            pause: found.pause,
            ios: found.ios,
            written_bytes: found.written_bytes,
            elapsed_s: found.took_ns as f64 / 1e9,
            spread: median_spread(&curves),
            resumed_steps: journal.map_or(0, |journal| journal.resumed()),
            harness_ns_per_request: None,
            runs: found.runs,
            warnings,
            partial: None,
            figures,
            machine: None,
        };
        Outcome { result, latencies_ns: found.latencies_ns }
    }

    /// Reports that writes were measured without garbage collection, or that nobody knows.
    fn not_cleaned(&self, curves: &Curves) -> Option<Warning> {
        let benchmarks: Vec<&str> = Benchmark::ALL
            .into_iter()
            .filter(|benchmark| curves.nothing_cleaned(*benchmark))
            .map(Benchmark::name)
            .collect();
        if !benchmarks.is_empty() {
            return Some(Warning::new(
                "nothing-cleaned",
                format!(
                    "the drive collected no garbage while it was written in {}: it had free blocks left, and what writes \
                     cost without them is not known; use more of the drive (without --quick), or a smaller one",
                    benchmarks.join(", ")
                ),
            ));
        }
        let info = self.bench.info();
        let is_known = self.found.runs.iter().any(|run| run.cleaned.is_some());
        (!is_known && self.found.written_bytes < info.capacity_bytes).then(|| {
            Warning::new(
                "cleaning-unknown",
                format!(
                    "{} were written to a drive of {}: it may have had free blocks all the time, and what writes cost \
                     without them is then not known",
                    format_bytes(self.found.written_bytes),
                    format_bytes(info.capacity_bytes)
                ),
            )
        })
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.found.warnings.clone();
        let mut warn = |code: &'static str, message: String| warnings.push(Warning::new(code, message));
        let capacity_bytes = self.bench.info().capacity_bytes;
        if !self.writes {
            warn(
                "read-only",
                "nothing was written: what writes cost is not determined, and neither is the state".into(),
            );
        } else if self.plan.state() == StateMethod::AsIs {
            warn(
                "state-as-is",
                "the state was not enforced: the result depends on what was done to the device before".into(),
            );
        } else if self.plan.area_bytes * 10 < capacity_bytes * 9 {
            warn(
                "part-of-device",
                format!(
                    "{:.1}% of the device was brought into a known state and used: the first {}",
                    100.0 * self.plan.area_bytes as f64 / capacity_bytes as f64,
                    format_bytes(self.plan.area_bytes)
                ),
            );
        }
        if self.found.states.iter().any(|state| !state.verified) {
            warn(
                "state-unsteady",
                "however often the area was written, the rate did not become steady: the state may still be changing".into(),
            );
        }
        if self.writes && !self.found.pause.ended {
            warn(
                "pause-too-short",
                format!(
                    "reads were still disturbed {} I/Os after a batch of random writes: runs may disturb each other",
                    self.found.pause.reads_after
                ),
            );
        }
        if self.writes {
            warnings.extend(self.not_cleaned(&Curves::of(&self.found.runs)));
        }
        let mut warn = |code: &'static str, message: String| warnings.push(Warning::new(code, message));
        if self.found.imprecise > 0 {
            let runs = self.found.runs.iter().filter(|run| run.benchmark.is_some()).count();
            warn(
                "wide-confidence",
                format!(
                    "the mean of {} of {runs} runs is not known to within {:.0}%: for that they would have to be longer than pauses, room or the effort allow",
                    self.found.imprecise,
                    100.0 * self.effort.bound()
                ),
            );
        }
        warnings
    }
}

/// Returns whether a drive moved pages or erased blocks, by its counters; `None` where it does not count them.
fn cleaned(counters: &Counters) -> Option<bool> {
    let [moved, erased] = ["pages_moved_by_cleaning", "blocks_erased"].map(|name| counters.get(name));
    Some(moved? + erased? > 0)
}

/// Returns the median spread of repetitions over all experiments.
fn median_spread(curves: &Curves) -> Option<f64> {
    let mut spreads: Vec<f64> = curves
        .iter()
        .flat_map(|(_, points)| points.iter().filter(|point| point.runs > 1).map(|point| point.spread()))
        .collect();
    spreads.sort_by(f64::total_cmp);
    spreads.get(spreads.len() / 2).copied()
}
