//! `flashlane.sweep/1`: one command at every point of a grid.

use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

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
    /// The seed of all points, unless it is swept; of repetitions, the first one's.
    pub seed: u64,
    /// How often each point was to be measured; the n-th repetition has the seed n - 1 above the first one's.
    #[serde(default = "once")]
    pub repeat: u64,
    /// What was swept.
    pub keys: Vec<KeyRow>,
    /// The points, in the grid's order.
    pub rows: Vec<PointRow>,
    /// Which points differ; `null` where fewer than two were measured.
    #[serde(default)]
    pub comparison: Option<Comparison>,
    /// Of a swept depth: for each combination of the other keys, from which depth on more gains little.
    #[serde(default)]
    pub knees: Vec<Knee>,
    /// Doubts about the points' results: for each kind, at how many points, with the first one's words.
    pub warnings: Vec<Warning>,
    /// Why points were left out; `null` where none was.
    pub partial: Option<String>,
    /// What a report draws; left out where a result is printed.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

impl SweepResult {
    /// Points that ended in this way.
    pub fn count(&self, status: PointStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }
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
    /// How it compares with the best point; `null` where there is no comparison, or it has no number to compare.
    #[serde(default)]
    pub compared: Option<Compared>,
    /// What was measured: the means over the repetitions, and the longest latency of all of them.
    #[serde(flatten)]
    pub measures: Measures,
    /// Half the widths of the means' 95% confidence intervals, by name; empty for fewer than two repetitions.
    #[serde(default)]
    pub half_widths: BTreeMap<String, f64>,
    /// The repetitions that were measured; empty where there is one.
    #[serde(default)]
    pub repetitions: Vec<Repetition>,
}

/// A repetition of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// Its seed.
    pub seed: u64,
    /// What was measured.
    #[serde(flatten)]
    pub measures: Measures,
}

/// Which points differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The metric by which they were compared, as `--sweep-y` names it.
    pub metric: String,
    /// What it is, in words.
    pub title: String,
    /// The field of a row that it is computed from.
    pub field: String,
    /// Whether more of it is better.
    pub larger_is_better: bool,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// One point is better than all others.
    OneBest,
    /// Several are better than the others, and do not differ from each other's best.
    SeveralBest,
    /// No point differs from the best.
    NoDifference,
    /// Points cannot be told apart from the best, and the repetitions are too few to see a difference that matters.
    TooFewRepetitions,
    /// Points were measured once, and chance cannot be told from a difference.
    Unknown,
}

fn once() -> u64 {
    1
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

/// How a point compares with the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Its mean is the best.
    Best,
    /// It cannot be distinguished from the best, and a difference that matters would have been seen.
    NoDifference,
    /// It cannot be distinguished from the best, and the repetitions are too few to see a difference that matters.
    TooFewRepetitions,
    /// It differs from the best by more than chance.
    Worse,
    /// It was measured once, and how much of the difference is chance cannot be said.
    Unknown,
}

/// A point compared with the best one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// How it compares.
    pub standing: Standing,
    /// By how much it is worse, as a share of the best one's mean.
    pub difference: f64,
    /// Half the width of the difference's confidence interval, likewise; `null` for fewer than two repetitions.
    pub half_width: Option<f64>,
}

/// The knee of the throughput over a depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The key of the depth.
    pub key: String,
    /// The values of the other keys.
    pub point: Map<String, Value>,
    /// The depth.
    pub depth: f64,
    /// Requests a second there.
    pub iops: f64,
    /// The share of the highest throughput.
    pub share: f64,
    /// What 99% of the latencies did not exceed there.
    pub p99_ns: Option<f64>,
    /// Whether it is the largest depth that was measured: more may be better.
    pub is_at_edge: bool,
}

crate::kind!(SweepResult, SWEEP_SCHEMA);
