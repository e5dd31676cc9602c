//! `flashlane replay DEVICE TRACE`: a recorded trace on one device.

mod sweep;

use crate::arguments::{OutputOptions, SafetyOptions, SweepOptions, device, seed, some};
use crate::command::trace::unopened;
use crate::device::{self as devices, Opened, Opening};
use crate::failure::{Failure, Status, tell};
use crate::progress::{Meter, metered};
use crate::{harness, output};
use anyhow::anyhow;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use flashlane_base::units::parse_count;
use flashlane_base::{Operation, Seed};
use flashlane_device::spec::Spec;
use flashlane_measure::schema::{ReplayResult, TraceRow, Warning};
use flashlane_measure::{Beyond, Options, Pace, Progress, Replay, ReplayOptions, Unaligned, replay};
use flashlane_trace::{Doubt, FORMATS, OpenOptions, Record, Trace};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use sweep::Kept;

/// Replay a recorded trace on a device: throughput, latency over time, the tail, and what the device counted
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help(), arg_required_else_help = true)]
pub struct Arguments {
    /// A simulated drive (sim:NAME, sim:FILE.toml), a file, a block device, or a layer over one
    #[arg(value_parser = device)]
    device: Spec,
    /// A trace in any of the formats of docs/traces.md, compressed (gz, xz, zst) or not
    trace: PathBuf,
    /// What decides when a request is issued
    #[arg(long, value_enum, default_value_t, value_name = "PACE")]
    pace: PaceName,
    /// Replay so many times as fast as recorded: 2 for twice as fast; not with --pace closed
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    speed: Option<f64>,
    /// Requests in flight with --pace closed; unless given 32, or what the device takes if that is less
    #[arg(long, value_name = "N", value_parser = depth)]
    depth: Option<u32>,
    /// What becomes of requests beyond the end of the device
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    beyond: BeyondName,
    /// What becomes of requests that are not on the units of the device
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    unaligned: UnalignedName,
    /// Replay only the first N requests of the trace
    #[arg(long, value_name = "N", value_parser = some)]
    limit: Option<u64>,
    /// The format of the trace; recognised by its content unless given
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS.iter().map(|format| format.name)))]
    trace_format: Option<String>,
    /// The device in the trace whose requests are replayed; needed where there are several
    #[arg(long, value_name = "N")]
    trace_device: Option<u32>,
    /// The seed of all randomness, that of a simulated drive and that by which samples are drawn
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    seed: Seed,
    #[command(flatten)]
    sweep: SweepOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    safety: SafetyOptions,
}

const EXAMPLES: &str = "\
Examples:
  flashlane replay sim:msr-32g,initial.state=full iozone.trace.xz
  flashlane replay sim:nvme-tlc,initial.state=full web.csv.gz --trace-device 0 --speed 10 --out web
  flashlane replay sim:ssd-m database.iolog --pace closed --depth 8
  flashlane replay /dev/nvme0n1 reads.csv --pace think --beyond fold
  flashlane replay sim:msr-64g iozone.trace.xz --sweep buffer.size=1MiB..64MiB*2 --sweep buffer.policy=lru,parallel";

fn long_help() -> String {
    format!(
        "{EXAMPLES}

Latency counts from when a request was to arrive. What arrives while the device is full
waits in order in a queue without bound, and the wait is part of its latency; the device's
own latency stands beside it.

A trace that only reads may be replayed on any device. One that writes or trims overwrites it."
    )
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PaceName {
    /// Its time stamp, whatever the device does
    #[default]
    Open,
    /// The completion of another: --depth in flight, time stamps not looked at
    Closed,
    /// The completion that was the last before it in the recording, and as long after it as then
    Think,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum BeyondName {
    /// Left out, counted, and the first ones named
    #[default]
    Refuse,
    /// Moved to their offset modulo the capacity, or to end at it where they would still reach beyond, and counted
    Fold,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum UnalignedName {
    /// Widened to whole units, and counted
    #[default]
    Widen,
    /// Left out, counted, and the first ones named
    Refuse,
}

/// Requests in flight in a closed loop, unless told, of a device that takes so many.
const DEPTH: u32 = 32;

/// A factor, which the replay checks.
fn speed(text: &str) -> Result<f64, String> {
    let factor = text.parse().map_err(|_| "a factor is a number above 0, like 10 or 0.5".to_owned())?;
    let pace = Pace::Open { speed: factor };
    pace.check().map(|()| factor).map_err(|error| error.to_string())
}

fn depth(text: &str) -> Result<u32, String> {
    let depth = parse_count(text).map_err(|error| error.to_string())?;
    let depth = depth.min(u64::from(u32::MAX)) as u32;
    Pace::Closed { depth }.check().map(|()| depth).map_err(|error| error.to_string())
}

/// A trace and how it is replayed.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    trace: &'a Path,
    opening: OpenOptions<'a>,
    limit: Option<u64>,
    how: ReplayOptions,
    /// Requests in flight in a closed loop, where that was told.
    depth: Option<u32>,
}

impl Arguments {
    /// What is asked for, checked as far as it can be without the device and the trace.
    pub fn plan(&self) -> Result<Plan<'_>, Failure> {
        let speed = self.speed.unwrap_or(1.0);
        let pace = match (self.pace, self.speed, self.depth) {
            (PaceName::Closed, Some(speed), _) => {
                return Err(Failure::unusable(anyhow!(
                    "--speed {speed} has no meaning with --pace closed, which does not look at time stamps; leave it \
                     away, or use --pace open or think"
                )));
            }
            (PaceName::Open | PaceName::Think, _, Some(depth)) => {
                return Err(Failure::unusable(anyhow!(
                    "--depth {depth} has no meaning without --pace closed: requests come when the trace says so"
                )));
            }
            (PaceName::Open, ..) => Pace::Open { speed },
            (PaceName::Think, ..) => Pace::Think { speed },
            (PaceName::Closed, None, depth) => Pace::Closed { depth: depth.unwrap_or(DEPTH) },
        };
        let beyond = match self.beyond {
            BeyondName::Refuse => Beyond::Refuse,
            BeyondName::Fold => Beyond::Fold,
        };
        let unaligned = match self.unaligned {
            UnalignedName::Widen => Unaligned::Widen,
            UnalignedName::Refuse => Unaligned::Refuse,
        };
        Ok(Plan {
            trace: &self.trace,
            opening: OpenOptions {
                format: self.trace_format.as_deref(),
                device: self.trace_device,
                every_device: false,
                stop: Some(flashlane_host::interrupted),
            },
            limit: self.limit,
            how: ReplayOptions { pace, beyond, unaligned, seed: self.seed },
            depth: self.depth,
        })
    }
}

impl Plan<'_> {
    fn open(&self) -> Result<Trace, Failure> {
        flashlane_trace::open(self.trace, &self.opening).map_err(|error| unopened(error, "--trace-format"))
    }

    fn limit(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// Whether the trace changes what the device holds. On a simulated device that does not matter, and the trace is
    /// not looked through for it; one that cannot be read twice counts as writing.
    pub fn changes(&self, spec: &Spec) -> Result<bool, Failure> {
        if devices::real_path(spec).is_none() || self.trace.metadata().is_ok_and(|meta| !meta.is_file()) {
            return Ok(true);
        }
        let mut trace = self.open()?;
        let what = format!("looking for writes in {}", self.trace.display());
        let writes = |record: Record| !matches!(record.operation, Operation::Read | Operation::Flush);
        if metered(&mut trace, what).take(self.limit()).any(writes) {
            return Ok(true);
        }
        // A trace that is stopped ends.
        go_on()?;
        Ok(false)
    }

    fn described(&self) -> String {
        format!("the trace '{}'", self.trace.display())
    }

    /// Opens the device, replays the trace, and says what came of it. `writes` is what [`Plan::changes`] said; `watch`
    /// is told how far it has come, and says whether to go on.
    fn measure(
        &self,
        spec: &Spec,
        safety: &SafetyOptions,
        writes: bool,
        requests: Requests<'_>,
        samples: usize,
        watch: &mut dyn FnMut(Option<f64>) -> ControlFlow<()>,
    ) -> Result<(Replay, ReplayResult), Failure> {
        let depth = match self.how.pace {
            Pace::Closed { depth } => u64::from(depth),
            _ => u64::MAX,
        };
        let opening = Opening { safety, writes, depth, seed: self.how.seed };
        let mut trace = match requests {
            Requests::Opened(trace) => *trace,
            Requests::Kept(Kept { records, told }) => {
                let opened = devices::open(spec, &opening)?;
                let share = |requests: u64| Some(requests as f64 / records.len().max(1) as f64);
                let (replay, mut result) =
                    self.replayed(opened, records.iter().copied(), samples, &share, watch)?;
                told.clone().put(&mut result);
                return Ok((replay, result));
            }
        };
        let opened = devices::open(spec, &opening)?;
        let progress = trace.progress();
        let (replay, mut result) =
            self.replayed(opened, trace.by_ref(), samples, &|_| progress.share(), watch)?;
        Told::of(self.trace, trace).put(&mut result);
        Ok((replay, result))
    }

    /// Replays `records`; `share` says how much of them has been taken once so many requests are measured.
    fn replayed(
        &self,
        mut opened: Opened,
        records: impl Iterator<Item = Record>,
        samples: usize,
        share: &dyn Fn(u64) -> Option<f64>,
        watch: &mut dyn FnMut(Option<f64>) -> ControlFlow<()>,
    ) -> Result<(Replay, ReplayResult), Failure> {
        let mut watch = |progress: &Progress| {
            let of_limit = self.limit.map(|limit| progress.requests as f64 / limit.max(1) as f64);
            let share = [of_limit, share(progress.requests)].into_iter().flatten().reduce(f64::max);
            watch(share.map(|share| share.min(1.0)))
        };
        let options = Options { samples, watch: Some(&mut watch) };
        let mut how = self.how;
        if let (Pace::Closed { depth }, None) = (&mut how.pace, self.depth) {
            // More would only wait for room in the device.
            *depth = (*depth).min(opened.device.profile().depth);
        }
        let replay = match replay(&mut *opened.device, records.take(self.limit()), &how, options) {
            Ok(replay) => replay,
            // There may have been more to replay.
            Err(error) => return go_on().and(Err(Failure::unusable(error))),
        };
        let mut result = ReplayResult::from(&replay);
        result.warnings.extend(opened.warnings);
        if !replay.profile.simulated {
            result.harness_ns_per_request = Some(harness::ns_per_request(32));
        }
        Ok((replay, result))
    }
}

/// Where a trace's requests come from.
enum Requests<'a> {
    Opened(Box<Trace>),
    /// They were read before.
    Kept(&'a Kept),
}

/// Says whether to go on before anything is replayed.
fn go_on() -> Result<(), Failure> {
    if flashlane_host::interrupted() {
        return Err(Failure::failed(anyhow!("stopped on request, before anything was replayed")));
    }
    Ok(())
}

/// What is to be said of a trace that was read.
#[derive(Clone)]
struct Told {
    row: TraceRow,
    doubts: Vec<Doubt>,
    /// Why it could not be read to its end.
    incomplete: Option<String>,
}

impl Told {
    fn of(path: &Path, trace: Trace) -> Self {
        let summary = trace.summary();
        Self {
            row: TraceRow {
                name: path.display().to_string(),
                format: summary.format.name.into(),
                lines: summary.lines,
                lines_refused: summary.refused,
            },
            doubts: summary.doubts().collect(),
            incomplete: trace.finish().err().map(|error| format!("the trace ends early: {error}")),
        }
    }

    fn put(self, result: &mut ReplayResult) {
        result.trace = Some(self.row);
        for doubt in self.doubts {
            let (code, message) = (doubt.code(), doubt.to_string());
            match doubt {
                // The replay tells it, if it has looked at the time; where that is, only the trace knows.
                Doubt::TimeBackwards { unit, backward } => {
                    if let Some(told) = result.warnings.iter_mut().find(|warning| warning.code == code) {
                        told.message +=
                            &format!("; the first in the trace is {unit} {}", backward.first_line);
                    }
                }
                _ => result.warnings.push(Warning { code: code.into(), message }),
            }
        }
        if let Some(reason) = self.incomplete {
            // What was replayed until there stands.
            result.warnings.insert(0, Warning { code: "trace-incomplete".into(), message: reason.clone() });
            result.partial.get_or_insert(reason);
        }
    }
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { device: spec, safety, .. } = arguments;
    let plan = arguments.plan()?;
    if !arguments.sweep.keys.is_empty() {
        return sweep::call(arguments, plan);
    }
    // A trace that cannot be read is told before a device is made. Opened once: what a pipe has given is gone.
    let trace = plan.open()?;
    let writes = plan.changes(spec)?;
    if writes {
        devices::consent(spec, safety, &plan.described(), "replay a trace that only reads")?;
    }
    output::prepare_beside(&arguments.output, spec)?;
    devices::create(spec, safety)?;
    let meter = Meter::new(format!("replaying on {spec}"));
    let mut watch = |share| {
        meter.set(share);
        if flashlane_host::interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let measured = plan.measure(
        spec,
        safety,
        writes,
        Requests::Opened(Box::new(trace)),
        Options::default().samples,
        &mut watch,
    );
    drop(meter);
    let (replay, result) = measured?;
    let value = output::value(&result, spec)?;
    output::deliver(&arguments.output, &value, Some(&output::samples(&replay.samples)?))?;
    Ok(match result.partial {
        None => Status::Done,
        Some(reason) => {
            tell(&format!("{reason}; the result is partial: {} requests were measured", replay.requests));
            Status::Failed
        }
    })
}
