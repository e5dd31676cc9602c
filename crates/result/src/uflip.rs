//! `flashlane.uflip/1`: the nine micro-benchmarks of uFLIP (CIDR 2009) on one device, and what they say of it.

use crate::run::DeviceRow;
use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Serialize};

/// What [`UflipResult::schema`] says.
pub const UFLIP_SCHEMA: &str = "flashlane.uflip/1";

/// A drive, benchmarked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UflipResult {
    /// Always [`UFLIP_SCHEMA`].
    pub schema: String,
    /// The program's version.
    pub version: String,
    /// The device.
    pub device: DeviceRow,
    /// How much was measured: `quick`, `normal`, `full`.
    pub mode: String,
    /// The root of all randomness.
    pub seed: u64,
    /// The part of the device that was used, from its beginning.
    pub area_bytes: u64,
    /// The share of the mean within which its confidence interval was to lie.
    pub bound: f64,
    /// The drive in one row.
    pub characteristics: Characteristics,
    /// The paper's seven design hints for this drive.
    pub hints: Vec<Hint>,
    /// The states that were enforced: the first before all else, the others when the room for sequential writes had run
    /// out.
    pub states: Vec<Enforcement>,
    /// Start-up and period of each baseline.
    pub phases: Vec<BaselinePhases>,
    /// How far apart runs stood, and why.
    pub pause: Interference,
    /// I/Os in all.
    pub ios: u64,
    /// Bytes written in all.
    pub written_bytes: u64,
    /// How long all of it took, in seconds of the device's time.
    pub elapsed_s: f64,
    /// The median over all experiments of how far their repetitions are apart, as a share of their mean.
    pub spread: Option<f64>,
    /// Steps that were taken from the journal of a run that had been stopped.
    #[serde(default)]
    pub resumed_steps: u64,
    /// What the measuring itself costs an I/O, one at a time, over a device that does nothing.
    #[serde(default)]
    pub harness_ns_per_request: Option<f64>,
    /// Every run.
    pub runs: Vec<RunRow>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the benchmark ended before its end; `null` where it did not.
    pub partial: Option<String>,
    /// What a report draws.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Its experiment's name and its repetition.
    pub id: String,
    /// The micro-benchmark; `null` for the long runs of the methodology.
    pub benchmark: Option<Benchmark>,
    /// Its pattern, as people write it: `SR`, `SR/RW`.
    pub baseline: String,
    /// Its baseline, or the first of two.
    pub first: Baseline,
    /// The second, where two take turns.
    pub second: Option<Baseline>,
    /// The parameter's name.
    pub parameter: String,
    /// Its value.
    pub value: i64,
    /// Its unit: `B`, `ns`, or nothing.
    pub unit: String,
    /// Which of the repetitions, from 1.
    pub repetition: u32,
    /// I/Os at its beginning that do not count.
    pub ignored: u64,
    /// I/Os that do.
    pub count: u64,
    /// Their response times.
    #[serde(flatten)]
    pub summary: Summary,
    /// How long the run took, in nanoseconds.
    pub elapsed_ns: u64,
    /// Its first single I/O among all that are kept, the ignored ones included …
    pub first_sample: u64,
    /// … and how many it has.
    pub samples: u64,
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
    /// Half of the I/Os take no longer.
    pub p50_ns: u64,
    /// 99 of 100 take no longer.
    pub p99_ns: u64,
    /// 999 of 1,000 take no longer.
    pub p999_ns: u64,
    /// Half the width of the mean's 95% confidence interval, as a share of the mean; none for under 512 I/Os.
    pub confidence: Option<f64>,
}

/// A drive's row. What was not measured, or has no effect, is none.
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
    /// Of these four, the least interval that covers the 95% confidence intervals of all repetitions.
    #[serde(default)]
    pub intervals_ms: [Option<[f64; 2]>; 4],
    /// The shortest measured pause with which random writes cost what sequential ones do, in milliseconds …
    pub pause_rw_ms: Option<f64>,
    /// … and the longest that was too short, where one was measured: the drive's own lies in between.
    #[serde(default)]
    pub pause_rw_above_ms: Option<f64>,
    /// Random writes within an area of so many MiB …
    pub locality: Option<Reach>,
    /// … and sequential writes to so many partitions.
    pub partitions: Option<Reach>,
    /// Writes in descending order, relative to sequential writes.
    pub reverse: Option<Effect>,
    /// Writes to one place, relative to sequential writes.
    pub in_place: Option<Effect>,
    /// Writes with large gaps, relative to random writes.
    pub large_increment: Option<Effect>,
    /// The row in the paper's notation: the fields above, in their order.
    pub row: Vec<String>,
    /// Half the width of each cell's interval in percent of it, as text: `±5%`; empty where it has none, or one too
    /// narrow to matter.
    #[serde(default)]
    pub row_intervals: Vec<String>,
}

/// How far something can go before it costs, and what it costs until then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reach {
    /// The last measured value before the cost rises; none where keeping below any measured value gains nothing.
    pub limit: Option<f64>,
    /// The first measured value at which it has risen: the drive's own limit is `limit` or more, and less than this.
    /// Without a `limit`, one may lie below this, where nothing was measured. None where the cost never rose, or
    /// where there is nothing to gain.
    #[serde(default)]
    pub rises_at: Option<f64>,
    /// The greatest cost up to there, relative to sequential writes.
    pub cost: f64,
    /// Whether the cost never rose as far as was measured.
    pub unlimited: bool,
}

/// What something costs, relative to something else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The factor.
    pub cost: f64,
    /// The interval that follows from those of the two means.
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
}

/// A design hint and what this drive says to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hint {
    /// Its number in the paper.
    pub number: u32,
    /// What it says.
    pub hint: String,
    /// Whether it holds here.
    pub verdict: Verdict,
    /// The figures that the verdict rests on, in words.
    pub because: String,
    /// The plots that show them.
    pub figures: Vec<String>,
}

/// Whether a hint holds for a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It does.
    Kept,
    /// It does not.
    Contradicted,
    /// What it rests on was not measured.
    Open,
}

/// A state that was enforced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enforcement {
    /// How.
    pub method: StateMethod,
    /// The part of the device, from its beginning.
    pub area_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// I/Os that wrote them.
    pub ios: u64,
    /// How long it took, in nanoseconds of the device's time.
    pub took_ns: u64,
    /// Whether every byte was written and the last five fifths of the area went at a steady rate.
    pub verified: bool,
    /// Highest less lowest rate of these fifths, as a share of their mean.
    pub excursion: f64,
    /// By how much the rate changed over them, as a share of their mean.
    pub slope: f64,
}

/// How the device is brought into a known state before anything is measured (uflip09, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateMethod {
    /// Every byte written once, in pieces of random size in random order.
    #[default]
    Random,
    /// Every byte written once, in order.
    Sequential,
    /// Not at all: what is measured depends on what was done to the device before.
    AsIs,
}

/// What a long run of a baseline showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselinePhases {
    /// The baseline.
    pub baseline: Baseline,
    /// I/Os of the run.
    pub ios: u64,
    /// I/Os of the start-up phase; 0 where there is none.
    pub startup: u64,
    /// I/Os of one oscillation of the running phase, where it has a period.
    pub period: Option<u64>,
    /// `IOIgnore`: I/Os at the beginning of every run that do not count.
    pub ignored: u64,
    /// `IOCount`: I/Os that do.
    pub count: u64,
    /// Half the width of the 95% confidence interval of the mean over the last `count` I/Os, as a share of the mean;
    /// none where they are too few.
    pub confidence: Option<f64>,
    /// From this I/O on SNIA's steady-state rule is met; none where it never is.
    pub steady_from: Option<u64>,
    /// The mean response time with the start-up, in nanoseconds …
    pub mean_all_ns: f64,
    /// … and without.
    pub mean_running_ns: f64,
    /// The figure that shows it.
    pub figure: String,
}

/// What the experiment found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// Random writes of the batch.
    pub writes: u64,
    /// Sequential reads before it.
    pub reads_before: u64,
    /// Sequential reads behind it.
    pub reads_after: u64,
    /// Of these, so many from the first on were disturbed.
    pub affected_reads: u64,
    /// How long these took, in nanoseconds.
    pub affected_ns: u64,
    /// Whether the disturbance had ended before the last read.
    pub ended: bool,
    /// The pause between runs that follows, in nanoseconds: over-estimated on purpose.
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

    /// The paper's name of it: `SR`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sr => "SR",
            Self::Rr => "RR",
            Self::Sw => "SW",
            Self::Rw => "RW",
        }
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Self::Sw | Self::Rw)
    }

    /// Whether it is sequential.
    pub fn is_sequential(self) -> bool {
        matches!(self, Self::Sr | Self::Sw)
    }
}

/// A micro-benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// How large an I/O is.
    Granularity,
    /// How far an I/O stands off its alignment.
    Alignment,
    /// How much of the device is used.
    Locality,
    /// How many sequential streams take turns.
    Partitioning,
    /// How far each I/O is from the one before.
    Order,
    /// How many processes do the same.
    Parallelism,
    /// How two baselines take turns.
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

    /// Its name, small: `granularity`.
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

    /// What it varies.
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
    /// The paper's name of it.
    pub name: &'static str,
    /// Its unit: `B`, `ns`, or nothing for a plain number.
    pub unit: &'static str,
}

crate::kind!(UflipResult, UFLIP_SCHEMA);
