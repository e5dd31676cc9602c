//! `flashlane.probe/1`: what is inside a drive, how sure that is, and what to do with it.

use crate::feature::Feature;
use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::collections::BTreeMap;

/// What [`ProbeResult::schema`] says.
pub const PROBE_SCHEMA: &str = "flashlane.probe/1";

/// Whether a feature was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is there, with the value given.
    Found,
    /// It is not there.
    Absent,
    /// The drive's answers do not decide it.
    NotDetermined,
}

/// What a feature is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or a word")]
pub enum FindingValue {
    /// A number in the unit that the feature's name ends in.
    Number(Number),
    /// A word.
    Word(String),
}

impl From<u64> for FindingValue {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for FindingValue {
    fn from(number: f64) -> Self {
        Self::Number(Number::from_f64(number).expect("what was found is finite"))
    }
}

impl From<&str> for FindingValue {
    fn from(word: &str) -> Self {
        Self::Word(word.into())
    }
}

/// One feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Whether it was seen.
    pub status: Status,
    /// Its value, where found.
    pub value: Option<FindingValue>,
    /// How sure the status and value are, 0 to 1.
    pub confidence: f64,
    /// What it rests on, in a sentence.
    pub evidence: String,
}

impl Finding {
    /// A feature that is there.
    pub fn found(value: impl Into<FindingValue>, confidence: f64, evidence: impl Into<String>) -> Self {
        Self { status: Status::Found, value: Some(value.into()), confidence, evidence: evidence.into() }
    }

    /// A feature that is not there.
    pub fn absent(confidence: f64, evidence: impl Into<String>) -> Self {
        Self { status: Status::Absent, value: None, confidence, evidence: evidence.into() }
    }

    /// A feature that cannot be told.
    pub fn not_determined(evidence: impl Into<String>) -> Self {
        Self { status: Status::NotDetermined, value: None, confidence: 0.0, evidence: evidence.into() }
    }

    /// The value as a whole number, where found.
    pub fn number(&self) -> Option<u64> {
        match &self.value {
            Some(FindingValue::Number(number)) => number.as_u64(),
            _ => None,
        }
    }

    /// The value as a number, whole or not, where found.
    pub fn factor(&self) -> Option<f64> {
        match &self.value {
            Some(FindingValue::Number(number)) => number.as_f64(),
            _ => None,
        }
    }

    /// The value as a word, where found.
    pub fn word(&self) -> Option<&str> {
        match &self.value {
            Some(FindingValue::Word(word)) => Some(word),
            _ => None,
        }
    }
}

/// How to use the drive for one kind of load: the point, and what a measurement of it showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// Request size in bytes.
    pub request_bytes: u64,
    /// Requests in flight.
    pub queue_depth: u32,
    /// The measurement of this point; of writes, after the buffer was full, and steady where five rounds met SNIA's rule.
    #[serde(flatten)]
    pub rate: Rate,
    /// The bound on the 99th percentile under which the point was chosen.
    #[serde(default)]
    pub p99_bound_ns: Option<f64>,
    /// The best lies on the edge of what was tried: deeper or larger requests may give more.
    pub more_may_be_better: bool,
    /// The state in which the probe found the drive: `written`, `partly-written`, `never-written` or `unknown`.
    pub state: String,
    /// Bytes of the part of the device, from its beginning, that was measured; `None` for all of it.
    pub area_bytes: Option<u64>,
    /// The workload as a command line, where the caller knows how the device is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Of writes: what they begin with and what they come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    /// Why, and what it was measured on.
    pub reason: String,
}

/// How the rate of writes depends on what was written before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Writes {
    /// As the recommendation's own.
    pub steady: bool,
    /// Whether the drive cleaned meanwhile; `None` where it does not count that.
    pub cleaning: Option<bool>,
    /// Flash pages programmed a page written meanwhile; `None` where the drive does not count.
    pub write_amplification: Option<f64>,
    /// Bytes that the probe wrote at random until the measurement ended.
    pub written_bytes: u64,
    /// The most that the probe's other experiments may have left stale before, which a drive cleans at no cost: the rates
    /// are steady only once as much was written at random.
    #[serde(default)]
    pub stale_bytes: u64,
    /// The write buffer's size, where it was found.
    pub buffer_bytes: Option<u64>,
    /// The rate after a rest, into an empty buffer; `None` where there is no buffer, or it
    /// is no faster.
    pub burst: Option<Rate>,
    /// Of a simulated drive that did not clean: the rate of another of its kind, filled and overwritten at random.
    pub fragmented: Option<Rate>,
}

/// What one measurement showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Bytes a second.
    pub bandwidth_bytes_per_s: f64,
    /// Requests a second.
    pub iops: f64,
    /// The median latency.
    pub p50_ns: f64,
    /// 99% of the requests took no longer.
    pub p99_ns: f64,
    /// Requests measured.
    pub requests: u64,
    /// Whether it was steady, by the rule that a run applies.
    pub steady: bool,
    /// The workload that measures it once more.
    pub workload: String,
}

/// A sentence on what to do, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What it is about: a load, or a property of the drive.
    pub about: String,
    /// What to do.
    pub text: String,
    /// What it rests on.
    pub evidence: String,
}

/// The portrait of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// Always [`PROBE_SCHEMA`].
    pub schema: String,
    /// The drive.
    pub device: DeviceRow,
    /// What to do, in one line; empty where nothing is recommended.
    #[serde(default)]
    pub headline: String,
    /// What to do, each with its evidence, the most important first.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Features by name.
    pub findings: BTreeMap<Feature, Finding>,
    /// By load: `random_read`, `random_write`, `scan`.
    pub recommendation: BTreeMap<String, Recommendation>,
    /// Doubts.
    pub warnings: Vec<Warning>,
    /// Why the probe ended early, where it did.
    pub partial: Option<String>,
    /// The root of the probe's random choices.
    pub seed: u64,
    /// Requests made of the drive.
    pub requests: u64,
    /// Seconds of the drive's time.
    pub elapsed_s: f64,
    /// The stages of the probe, in order.
    pub stages: Vec<String>,
    /// The curves it rests on.
    pub figures: Vec<Figure>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// What the drive says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// The spec or path it was opened by.
    pub name: String,
    /// Bytes that can be addressed.
    pub capacity_bytes: u64,
    /// Whether its time is simulated.
    pub simulated: bool,
    /// Whether it was probed without writing.
    pub read_only: bool,
    /// `drive`, `file` or `virtual-disk`.
    #[serde(default)]
    pub medium: String,
    /// The share of it that had never been written when the probe began, 0 to 1; `None` where that is not known.
    #[serde(default)]
    pub never_written_share: Option<f64>,
}

impl ProbeResult {
    /// A finding, if the probe came so far.
    pub fn finding(&self, feature: Feature) -> Option<&Finding> {
        self.findings.get(&feature)
    }
}

crate::kind!(ProbeResult, PROBE_SCHEMA);
