//! `flashlane.sweep/1`: one command at every point of a grid.

use crate::ordered::Ordered;
use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Value of [`SweepResult::schema`].
pub const SWEEP_SCHEMA: &str = "flashlane.sweep/1";

/// A sweep, with all data of its report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepResult {
    /// Always [`SWEEP_SCHEMA`].
    pub schema: String,
    /// Command run at each point: `run`, `replay`, `uflip`.
    pub command: String,
    /// The device, before a point's settings.
    pub device: String,
    /// The workload, before a point's settings.
    pub workload: String,
    /// Seed of all points, unless swept; with repetitions, of the first one.
    pub seed: u64,
    /// Planned repetitions of each point; the n-th one adds n - 1 to the seed.
    #[serde(default = "once")]
    pub repeat: u64,
    /// The swept keys.
    pub keys: Vec<KeyRow>,
    /// The points, in the grid's order.
    pub rows: Vec<PointRow>,
    /// Which points differ; `null` where fewer than two were measured.
    #[serde(default)]
    pub comparison: Option<Comparison>,
    /// Knees over a swept depth, for each combination of the other keys.
    #[serde(default)]
    pub knees: Vec<Knee>,
    /// Doubts about the points' results: for each kind the number of points, and the first one's message.
    pub warnings: Vec<Warning>,
    /// Why points were left out; `null` if none was.
    pub partial: Option<String>,
    /// Figures of the report; omitted in printed results.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

impl SweepResult {
    /// Returns the number of points with this status.
    pub fn count(&self, status: PointStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }
}

/// A swept key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRow {
    /// The key.
    pub key: String,
    /// Its values as given.
    pub values: Vec<String>,
    /// The values as numbers; `null` for text.
    pub numbers: Option<Vec<f64>>,
    /// Unit of the numbers: `B`, `ns`, `B/s`, `share` (of one) or `count`; `null` for text.
    pub unit: Option<String>,
}

/// How a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointStatus {
    /// It was measured.
    Measured,
    /// Its measurement ended early; it has numbers.
    Partial,
    /// It could not be measured.
    Failed,
    /// The sweep was stopped before it.
    NotRun,
}

/// The settings of a point: the swept keys, in the order given, with their values as given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PointSettings(pub Ordered<String>);

impl PointSettings {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Returns the settings without these keys.
    pub fn without(&self, keys: &[&str]) -> Self {
        self.0.0.iter().filter(|(name, _)| !keys.contains(&name.as_str())).cloned().collect()
    }
}

impl FromIterator<(String, String)> for PointSettings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(settings: I) -> Self {
        Self(Ordered(settings.into_iter().collect()))
    }
}

/// As one types them: `buffer.size=1MiB,workload.depth=4`.
impl fmt::Display for PointSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.0.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRow {
    /// Its settings.
    pub point: PointSettings,
    /// How it ended.
    pub status: PointStatus,
    /// Why it was not measured; `null` if it was.
    pub reason: Option<String>,
    /// Comparison with the best point; `null` without a comparison or a number to compare.
    #[serde(default)]
    pub compared: Option<Compared>,
    /// Means over the repetitions, and the longest latency of all.
    #[serde(flatten)]
    pub measures: Measures,
    /// Half widths of the means' 95% confidence intervals, by name; empty for fewer than two repetitions.
    #[serde(default)]
    pub half_widths: BTreeMap<String, f64>,
    /// The repetitions; empty for a single one.
    #[serde(default)]
    pub repetitions: Vec<Repetition>,
}

/// A repetition of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// Its seed.
    pub seed: u64,
    /// Its measures.
    #[serde(flatten)]
    pub measures: Measures,
}

/// Comparison of the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The metric compared, as named by `--sweep-y`.
    pub metric: String,
    /// Title of the metric.
    pub title: String,
    /// The field of a row from which the metric is computed.
    pub field: String,
    /// Whether larger values are better.
    pub larger_is_better: bool,
    /// Result of the comparison.
    pub verdict: Verdict,
}

/// Result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// One point is better than all others.
    OneBest,
    /// Several points are better than the others, and do not differ from the best.
    SeveralBest,
    /// No point differs from the best.
    NoDifference,
    /// Some points cannot be distinguished from the best, and the repetitions are too few to detect a relevant
    /// difference.
    TooFewRepetitions,
    /// Points were measured once, so that differences may be random.
    Unknown,
}

fn once() -> u64 {
    1
}

/// Measures of a point's result; `null` where it has none.
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
    /// 90th percentile of latencies.
    pub p90_ns: Option<f64>,
    /// 99th percentile of latencies.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile of latencies.
    pub p999_ns: Option<f64>,
    /// The longest latency.
    pub max_ns: Option<f64>,
    /// Mean latency of flushes, which are in no other latency; `None` without flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_mean_ns: Option<f64>,
    /// Their 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_p99_ns: Option<f64>,
    /// Requests per second of device time.
    pub iops: Option<f64>,
    /// Bytes read and written per second of device time.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Flash pages programmed per page that the host wrote.
    pub write_amplification: Option<f64>,
    /// Erase blocks erased.
    pub blocks_erased: Option<u64>,
    /// Share of the pages read and written with a hit in the write buffer.
    pub buffer_hit_share: Option<f64>,
    /// Transactions per second, for sweeps of transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_s: Option<f64>,
    /// Restarted transactions, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u64>,
    /// Share of the page accesses that found their page in the buffer pool, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_hit_share: Option<f64>,
    /// Key characteristics of uFLIP: mean response times of 32 KiB I/Os in milliseconds. Sequential reads.
    pub sr_ms: Option<f64>,
    /// Random reads.
    pub rr_ms: Option<f64>,
    /// Sequential writes.
    pub sw_ms: Option<f64>,
    /// Random writes.
    pub rw_ms: Option<f64>,
}

/// How a point compares with the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Its mean is the best.
    Best,
    /// It cannot be distinguished from the best, and a relevant difference would have been detected.
    NoDifference,
    /// It cannot be distinguished from the best, and the repetitions are too few to detect a relevant difference.
    TooFewRepetitions,
    /// It differs significantly from the best.
    Worse,
    /// It was measured once, so that the difference may be random.
    Unknown,
}

/// A point compared with the best one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// How it compares.
    pub standing: Standing,
    /// Difference to the best, as a share of the best one's mean.
    pub difference: f64,
    /// Half width of the difference's confidence interval, as the same share; `null` for fewer than two repetitions.
    pub half_width: Option<f64>,
}

/// The knee of the throughput over a depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The key of the depth.
    pub key: String,
    /// The settings of the other keys.
    pub point: PointSettings,
    /// The depth.
    pub depth: f64,
    /// Requests per second at the knee.
    pub iops: f64,
    /// Throughput at the knee, as a share of the highest.
    pub share: f64,
    /// 99th percentile of latencies at the knee.
    pub p99_ns: Option<f64>,
    /// Whether it is the largest depth measured: more may be better.
    pub is_at_edge: bool,
    /// The smallest and the largest depth that may be the knee, by the confidence intervals of the repetitions; `None`
    /// where these leave one, or there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

crate::kind!(SweepResult, SWEEP_SCHEMA);
