//! `flashlane.sweep/1`: a sweep as programs read it.

use super::figure::figure;
use super::grid::Grid;
use super::metric::Metric;
use flashlane_base::Latency;
use flashlane_base::units::Quantity;
use flashlane_measure::figure::Figure;
use flashlane_measure::schema::{CounterRow, Warning};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What [`SweepResult::schema`] says.
pub const SWEEP_SCHEMA: &str = "flashlane.sweep/1";

/// A sweep. Complete: a report is drawn from it without running anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepResult {
    /// Always [`SWEEP_SCHEMA`].
    pub schema: String,
    /// What was done at each point: `run`, `replay`, `uflip`.
    pub command: String,
    /// The device, before a point's settings.
    pub device: String,
    /// What was asked of it, before a point's settings.
    pub workload: String,
    /// The seed of all points, unless it is swept.
    pub seed: u64,
    /// What was swept.
    pub keys: Vec<KeyRow>,
    /// The points, in the grid's order.
    pub rows: Vec<PointRow>,
    /// Doubts about the points' results: for each kind, at how many points, with the first one's words.
    pub warnings: Vec<Warning>,
    /// Why points were left out; `null` where none was.
    pub partial: Option<String>,
    /// What a report draws; left out where a result is printed.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// A swept key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRow {
    /// The key.
    pub key: String,
    /// Its values, as they are written.
    pub values: Vec<String>,
    /// The values as numbers; `null` where they are words.
    pub numbers: Option<Vec<f64>>,
    /// What the numbers are of: `B`, `ns`, `B/s`, `share` (of one) or `count`; `null` where they are words.
    pub unit: Option<String>,
}

/// How a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointStatus {
    /// It was measured.
    Measured,
    /// Its measurement ended early: the numbers are of what was measured until then.
    Partial,
    /// It could not be measured.
    Failed,
    /// The sweep was stopped before it.
    NotRun,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRow {
    /// Its settings: key to value.
    pub point: Map<String, Value>,
    /// How it ended.
    pub status: PointStatus,
    /// Why it is not measured; `null` where it is.
    pub reason: Option<String>,
    /// What was measured.
    #[serde(flatten)]
    pub measures: Measures,
}

/// What is kept of a point's result; `null` where it has no such number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Requests measured.
    pub requests: Option<u64>,
    /// Device time, in seconds.
    pub elapsed_s: Option<f64>,
    /// Mean latency.
    pub mean_ns: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<f64>,
    /// 90% took no longer.
    pub p90_ns: Option<f64>,
    /// 99% took no longer.
    pub p99_ns: Option<f64>,
    /// 99.9% took no longer.
    pub p999_ns: Option<f64>,
    /// The longest latency.
    pub max_ns: Option<f64>,
    /// Requests a second of device time.
    pub iops: Option<f64>,
    /// Bytes read and written a second of device time.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Flash pages programmed a page the host wrote.
    pub write_amplification: Option<f64>,
    /// Erase blocks erased.
    pub blocks_erased: Option<u64>,
    /// Share of the pages read and written that were found in the write buffer.
    pub buffer_hit_share: Option<f64>,
    /// Of uFLIP's key characteristics: the mean response time of 32 KiB, in milliseconds, read in sequence …
    pub sr_ms: Option<f64>,
    /// … read at random …
    pub rr_ms: Option<f64>,
    /// … written in sequence …
    pub sw_ms: Option<f64>,
    /// … and written at random.
    pub rw_ms: Option<f64>,
}

/// What a sweep reads of the result of a run, and of any other that has the same fields, or some of them.
#[derive(Deserialize)]
pub(super) struct Measured {
    requests: Option<u64>,
    elapsed_s: f64,
    iops: Option<f64>,
    bandwidth_bytes_per_s: Option<f64>,
    latency_ns: Option<Latency>,
    #[serde(default)]
    characteristics: MeasuredCharacteristics,
    device: MeasuredDevice,
    pub(super) warnings: Vec<Warning>,
    pub(super) partial: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct MeasuredCharacteristics {
    sr_ms: Option<f64>,
    rr_ms: Option<f64>,
    sw_ms: Option<f64>,
    rw_ms: Option<f64>,
}

#[derive(Deserialize)]
struct MeasuredDevice {
    counters: CounterRow,
}

impl From<&Measured> for Measures {
    fn from(result: &Measured) -> Self {
        let latency = result.latency_ns.filter(|_| result.requests.is_some_and(|requests| requests > 0));
        let MeasuredCharacteristics { sr_ms, rr_ms, sw_ms, rw_ms } = result.characteristics;
        let counters = &result.device.counters;
        let count = |name: &str| counters.counts.get(name).copied();
        let found = count("buffer_read_hits").zip(count("buffer_writes_absorbed")).map(|(a, b)| a + b);
        let asked = count("host_pages_read").zip(count("host_pages_written")).map(|(a, b)| a + b);
        Self {
            requests: result.requests,
            elapsed_s: Some(result.elapsed_s),
            mean_ns: latency.map(|l| l.mean),
            p50_ns: latency.map(|l| l.p50),
            p90_ns: latency.map(|l| l.p90),
            p99_ns: latency.map(|l| l.p99),
            p999_ns: latency.map(|l| l.p999),
            max_ns: latency.map(|l| l.max),
            iops: result.iops,
            bandwidth_bytes_per_s: result.bandwidth_bytes_per_s,
            write_amplification: counters.write_amplification,
            blocks_erased: count("blocks_erased"),
            buffer_hit_share: found
                .zip(asked.filter(|&asked| asked > 0))
                .map(|(found, asked)| found as f64 / asked as f64),
            sr_ms,
            rr_ms,
            sw_ms,
            rw_ms,
        }
    }
}

/// How a point came out, before it stands in a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub(super) status: PointStatus,
    pub(super) reason: Option<String>,
    pub(super) measures: Measures,
    pub(super) warnings: Vec<Warning>,
}

impl Outcome {
    pub(super) fn failed(reason: String) -> Self {
        Self { status: PointStatus::Failed, reason: Some(reason), ..Self::not_run() }
    }

    pub(super) fn not_run() -> Self {
        let measures = Measures::default();
        Self { status: PointStatus::NotRun, reason: None, measures, warnings: Vec::new() }
    }

    /// Of a point's own result; `None` where that is no result of a measurement.
    pub(super) fn of(result: &Value) -> Option<Self> {
        let measured = Measured::deserialize(result).ok()?;
        let measures = Measures::from(&measured);
        let status = if measured.partial.is_some() { PointStatus::Partial } else { PointStatus::Measured };
        Some(Self { status, reason: measured.partial, measures, warnings: measured.warnings })
    }
}

impl SweepResult {
    /// The result of a sweep of `grid`, its points' outcomes in order; `about` says what was done, to what, and under
    /// which seed. `y` is what the figure shows.
    pub fn new(about: (&str, String, String, u64), grid: &Grid, outcomes: &[Outcome], y: &Metric) -> Self {
        let (command, device, workload, seed) = about;
        let left_out = outcomes.iter().filter(|outcome| outcome.status == PointStatus::NotRun).count();
        let (done, all) = (outcomes.len() - left_out, outcomes.len());
        let rows: Vec<PointRow> = (0..all).map(|at| point_row(grid, at, &outcomes[at])).collect();
        Self {
            schema: SWEEP_SCHEMA.into(),
            command: command.into(),
            device,
            workload,
            seed,
            keys: grid.keys().iter().map(KeyRow::from).collect(),
            figures: figure(grid, &rows, y).into_iter().collect(),
            warnings: warnings(grid, outcomes),
            partial: (left_out > 0).then(|| format!("stopped on request after {done} of {all} points")),
            rows,
        }
    }

    /// Points that ended in this way.
    pub fn count(&self, status: PointStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }
}

impl From<&super::Key> for KeyRow {
    fn from(key: &super::Key) -> Self {
        let unit = key.numbers.as_ref().map(|(quantity, _)| match quantity {
            Quantity::Size => "B",
            Quantity::Time => "ns",
            Quantity::Rate => "B/s",
            Quantity::Share => "share",
            Quantity::Count => "count",
        });
        Self {
            key: key.name.clone(),
            values: key.values.clone(),
            numbers: key.numbers.as_ref().map(|(_, numbers)| numbers.clone()),
            unit: unit.map(str::to_owned),
        }
    }
}

fn point_row(grid: &Grid, at: usize, outcome: &Outcome) -> PointRow {
    let settings = grid.point(at).into_iter();
    PointRow {
        point: settings.map(|(key, value)| (key.to_owned(), value.into())).collect(),
        status: outcome.status,
        reason: outcome.reason.clone(),
        measures: outcome.measures.clone(),
    }
}

/// One warning for each kind of doubt, in the order in which the kinds first occur.
fn warnings(grid: &Grid, outcomes: &[Outcome]) -> Vec<Warning> {
    let mut kinds: Vec<(&Warning, usize, usize)> = Vec::new();
    for (at, outcome) in outcomes.iter().enumerate() {
        for warning in &outcome.warnings {
            match kinds.iter_mut().find(|(kind, ..)| kind.code == warning.code) {
                Some((.., points)) => *points += 1,
                None => kinds.push((warning, at, 1)),
            }
        }
    }
    let worded = |(warning, at, points): (&Warning, usize, usize)| {
        let settings = grid.point(at).iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
        let message = format!(
            "at {points} of {} points, first at {}: {}",
            outcomes.len(),
            settings.join(","),
            warning.message
        );
        Warning { code: warning.code.clone(), message }
    };
    kinds.into_iter().map(worded).collect()
}
