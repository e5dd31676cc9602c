//! `flashlane.uflip/1`: results of the nine micro-benchmarks of uFLIP (CIDR 2009) on one device.

use crate::run::DeviceRow;
use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Serialize};

/// Value of [`UflipResult::schema`].
pub const UFLIP_SCHEMA: &str = "flashlane.uflip/1";

/// Results of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UflipResult {
    /// Always [`UFLIP_SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// The device.
    pub device: DeviceRow,
    /// Effort: `quick`, `normal`, `full`.
    pub mode: String,
    /// Root seed.
    pub seed: u64,
    /// Bytes of the device used, from its beginning.
    pub area_bytes: u64,
    /// Planned half width of confidence intervals, as a share of the mean.
    pub bound: f64,
    /// The drive's row of the paper's Table 3.
    pub characteristics: Characteristics,
    /// The paper's seven design hints for this drive.
    pub hints: Vec<Hint>,
    /// States enforced: the first at the beginning, the others when the space for sequential writes was used up.
    pub states: Vec<Enforcement>,
    /// Start-up and period of each baseline.
    pub phases: Vec<BaselinePhases>,
    /// Pause between runs, and its determination.
    pub pause: Interference,
    /// Total I/Os.
    pub ios: u64,
    /// Total bytes written.
    pub written_bytes: u64,
    /// Total device time, in seconds.
    pub elapsed_s: f64,
    /// Median over all experiments of the range of their repetitions, as a share of their mean.
    pub spread: Option<f64>,
    /// Steps read from the journal of a stopped run.
    #[serde(default)]
    pub resumed_steps: u64,
    /// Cost of measuring per I/O at depth 1, measured with a null device.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// All runs.
    pub runs: Vec<RunRow>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the benchmark ended early; `null` if it did not.
    pub partial: Option<String>,
    /// Figures of the report.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Name of the experiment and repetition.
    pub id: String,
    /// The micro-benchmark; `null` for the long runs of the methodology.
    pub benchmark: Option<Benchmark>,
    /// Name of the pattern: `SR`, `SR/RW`.
    pub baseline: String,
    /// Baseline, or the first of two.
    pub first: Baseline,
    /// Second baseline, if two alternate.
    pub second: Option<Baseline>,
    /// Name of the parameter.
    pub parameter: String,
    /// Value of the parameter.
    pub value: i64,
    /// Unit of the parameter: `B`, `ns`, or empty.
    pub unit: String,
    /// Repetition, from 1.
    pub repetition: u32,
    /// I/Os ignored at the beginning.
    pub ignored: u64,
    /// I/Os counted.
    pub count: u64,
    /// Response times of the I/Os counted.
    #[serde(flatten)]
    pub summary: Summary,
    /// Duration of the run, in nanoseconds.
    pub elapsed_ns: u64,
    /// Index of its first sample, the ignored I/Os included.
    pub first_sample: u64,
    /// Number of its samples.
    pub samples: u64,
    /// Whether the drive moved pages or erased blocks since the run before; `None` where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleaned: Option<bool>,
}

/// The response times of a run's running phase, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean.
    pub mean_ns: f64,
    /// Least.
    pub min_ns: u64,
    /// Greatest.
    pub max_ns: u64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Half width of the mean's 95% confidence interval, as a share of the mean; `None` for under 512 I/Os.
    pub confidence: Option<f64>,
}

/// A drive's row of the paper's Table 3. Values not measured, or without effect, are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Characteristics {
    /// Sequential reads of 32 KiB, in milliseconds.
    pub sr_ms: Option<f64>,
    /// Random reads.
    pub rr_ms: Option<f64>,
    /// Sequential writes.
    pub sw_ms: Option<f64>,
    /// Random writes.
    pub rw_ms: Option<f64>,
    /// For these four, the least interval that covers the 95% confidence intervals of all repetitions.
    #[serde(default)]
    pub intervals_ms: [Option<[f64; 2]>; 4],
    /// Shortest measured pause, in milliseconds, with which random writes cost the same as sequential ones.
    pub pause_rw_ms: Option<f64>,
    /// Longest measured pause that was too short, if any: the drive's own limit is in between.
    #[serde(default)]
    pub pause_rw_above_ms: Option<f64>,
    /// Limit of random writes to an area, in MiB.
    pub locality: Option<Reach>,
    /// Limit of sequential writes to partitions, in partitions.
    pub partitions: Option<Reach>,
    /// Writes in descending order, relative to sequential writes.
    pub reverse: Option<Effect>,
    /// In-place writes, relative to sequential writes.
    pub in_place: Option<Effect>,
    /// Writes with large gaps, relative to random writes.
    pub large_increment: Option<Effect>,
    /// Fields above that would say that something has no effect, where the drive collected no garbage in the runs
    /// behind them: they are not known, and absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The fields above in the paper's notation, in order; `?` for unknown ones.
    pub row: Vec<String>,
    /// Half width of each cell's interval in percent, as text: `±5%`; empty without an interval, or where it is
    /// negligible.
    #[serde(default)]
    pub row_intervals: Vec<String>,
}

/// Value up to which the cost does not rise, and the cost up to there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reach {
    /// Last measured value before the cost rises; `None` where staying below a measured value gains nothing.
    pub limit: Option<f64>,
    /// First measured value at which the cost has risen: the drive's own limit is at least `limit` and below this.
    /// Without a `limit`, the drive's own may be below this, where nothing was measured. `None` where the cost never
    /// rose, or there is nothing to gain.
    #[serde(default)]
    pub rises_at: Option<f64>,
    /// Greatest cost up to the limit, relative to sequential writes.
    pub cost: f64,
    /// Whether the cost did not rise at any measured value.
    pub unlimited: bool,
}

/// Relative cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Cost as a factor.
    pub cost: f64,
    /// Interval of the factor, from those of the two means.
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
}

/// A design hint, checked on this drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hint {
    /// Number in the paper.
    pub number: u32,
    /// Text of the hint.
    pub hint: String,
    /// Whether it holds for this drive.
    pub verdict: Verdict,
    /// Measurements that decide the verdict, as text.
    pub because: String,
    /// Figures that show these measurements.
    pub figures: Vec<String>,
}

/// Whether a hint holds for a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Kept,
    /// It does not hold.
    Contradicted,
    /// The measurements for it are missing.
    Open,
}

/// An enforced state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enforcement {
    /// Method of enforcement.
    pub method: StateMethod,
    /// Bytes of the device, from its beginning.
    pub area_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// I/Os for these writes.
    pub ios: u64,
    /// Device time, in nanoseconds.
    pub took_ns: u64,
    /// Whether every byte was written and the rate over the last five fifths of the area was steady.
    pub verified: bool,
    /// Highest minus lowest rate of these fifths, as a share of their mean.
    pub excursion: f64,
    /// Change of the rate over these fifths, as a share of their mean.
    pub slope: f64,
}

/// Method to bring the device into a known state before measuring (uflip09, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateMethod {
    /// Every byte written once, in pieces of random size in random order.
    #[default]
    Random,
    /// Every byte written once, in order.
    Sequential,
    /// None: the measurements depend on earlier writes to the device.
    AsIs,
}

/// Phases of a baseline, from a long run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselinePhases {
    /// The baseline.
    pub baseline: Baseline,
    /// I/Os of the run.
    pub ios: u64,
    /// I/Os of the start-up phase; 0 without one.
    pub startup: u64,
    /// I/Os of one oscillation of the running phase, if it has a period.
    pub period: Option<u64>,
    /// `IOIgnore`: I/Os ignored at the beginning of each run.
    pub ignored: u64,
    /// `IOCount`: I/Os counted.
    pub count: u64,
    /// Half width of the 95% confidence interval of the mean over the last `count` I/Os, as a share of the mean; `None`
    /// where they are too few.
    pub confidence: Option<f64>,
    /// First I/O from which SNIA's steady-state rule is met; `None` where it never is.
    pub steady_from: Option<u64>,
    /// Mean response time with the start-up, in nanoseconds.
    pub mean_all_ns: f64,
    /// Mean response time without the start-up, in nanoseconds.
    pub mean_running_ns: f64,
    /// Id of its figure.
    pub figure: String,
}

/// Determination of the pause between runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// Random writes of the batch.
    pub writes: u64,
    /// Sequential reads before it.
    pub reads_before: u64,
    /// Sequential reads after it.
    pub reads_after: u64,
    /// Number of these, from the first on, that were disturbed.
    pub affected_reads: u64,
    /// Duration of the disturbed reads, in nanoseconds.
    pub affected_ns: u64,
    /// Whether the disturbance had ended before the last read.
    pub ended: bool,
    /// Resulting pause between runs, in nanoseconds, over-estimated on purpose.
    pub pause_ns: u64,
}

/// A baseline pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Baseline {
    /// Sequential reads.
    Sr,
    /// Random reads.
    Rr,
    /// Sequential writes.
    Sw,
    /// Random writes.
    Rw,
}

impl Baseline {
    /// All four, in the paper's order.
    pub const ALL: [Self; 4] = [Self::Sr, Self::Rr, Self::Sw, Self::Rw];
    /// The sequential ones.
    pub const SEQUENTIAL: [Self; 2] = [Self::Sr, Self::Sw];

    /// Returns the paper's name: `SR`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sr => "SR",
            Self::Rr => "RR",
            Self::Sw => "SW",
            Self::Rw => "RW",
        }
    }

    /// Returns whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Self::Sw | Self::Rw)
    }

    /// Returns whether it is sequential.
    pub fn is_sequential(self) -> bool {
        matches!(self, Self::Sr | Self::Sw)
    }
}

/// A micro-benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// Size of I/Os.
    Granularity,
    /// Offset of I/Os from their alignment.
    Alignment,
    /// Size of the area used.
    Locality,
    /// Number of interleaved sequential streams.
    Partitioning,
    /// Distance of successive I/Os.
    Order,
    /// Number of processes with the same pattern.
    Parallelism,
    /// Ratio of two alternating baselines.
    Mix,
    /// A pause after each I/O.
    Pause,
    /// A pause after several I/Os.
    Bursts,
}

impl Benchmark {
    /// All nine, in the paper's order.
    pub const ALL: [Self; 9] = [
        Self::Granularity,
        Self::Alignment,
        Self::Locality,
        Self::Partitioning,
        Self::Order,
        Self::Parallelism,
        Self::Mix,
        Self::Pause,
        Self::Bursts,
    ];

    /// Returns its name in lower case: `granularity`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Granularity => "granularity",
            Self::Alignment => "alignment",
            Self::Locality => "locality",
            Self::Partitioning => "partitioning",
            Self::Order => "order",
            Self::Parallelism => "parallelism",
            Self::Mix => "mix",
            Self::Pause => "pause",
            Self::Bursts => "bursts",
        }
    }

    /// Returns the parameter that it varies.
    pub fn parameter(self) -> Parameter {
        let (name, unit) = match self {
            Self::Granularity => ("IOSize", "B"),
            Self::Alignment => ("IOShift", "B"),
            Self::Locality => ("TargetSize", "B"),
            Self::Partitioning => ("Partitions", ""),
            Self::Order => ("Incr", ""),
            Self::Parallelism => ("ParallelDegree", ""),
            Self::Mix => ("Ratio", ""),
            Self::Pause => ("Pause", "ns"),
            Self::Bursts => ("Burst", ""),
        };
        Parameter { name, unit }
    }
}

/// The parameter that a micro-benchmark varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The paper's name.
    pub name: &'static str,
    /// Unit: `B`, `ns`, or empty for a plain number.
    pub unit: &'static str,
}

crate::kind!(UflipResult, UFLIP_SCHEMA);
