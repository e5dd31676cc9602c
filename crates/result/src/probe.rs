//! `flashlane.probe/1`: structure of a drive, with confidences and recommendations.

use crate::feature::Feature;
use crate::layouts::LayoutCandidates;
use crate::{Figure, Machine, Warning};
use flashlane_base::requests_needed;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::collections::BTreeMap;

/// Value of [`ProbeResult::schema`].
pub const PROBE_SCHEMA: &str = "flashlane.probe/1";

/// Whether a feature was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The drive has it, with the value given.
    Found,
    /// The drive does not have it.
    Absent,
    /// The measurements do not decide it.
    NotDetermined,
}

/// Value of a feature.
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

/// Finding about one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Whether it was found.
    pub status: Status,
    /// Its value, if found.
    pub value: Option<FindingValue>,
    /// Confidence in status and value, 0 to 1.
    pub confidence: f64,
    /// The evidence, in a sentence.
    pub evidence: String,
    /// Least and most that the value may be, where the finding is a measured size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[u64; 2]>,
}

/// Begins the evidence of what cannot be determined from outside.
const CANNOT_BE_SEEN: &str = "cannot be seen: ";

impl Finding {
    /// Creates a finding of a feature.
    pub fn found(value: impl Into<FindingValue>, confidence: f64, evidence: impl Into<String>) -> Self {
        Self {
            status: Status::Found,
            value: Some(value.into()),
            confidence,
            evidence: evidence.into(),
            range: None,
        }
    }

    /// Gives a finding the least and the most that its value may be.
    #[must_use]
    pub fn within(self, range: [u64; 2]) -> Self {
        Self { range: Some(range), ..self }
    }

    /// Creates a finding of an absent feature.
    pub fn absent(confidence: f64, evidence: impl Into<String>) -> Self {
        Self { status: Status::Absent, value: None, confidence, evidence: evidence.into(), range: None }
    }

    /// Creates a finding of a feature that cannot be determined.
    pub fn not_determined(evidence: impl Into<String>) -> Self {
        Self {
            status: Status::NotDetermined,
            value: None,
            confidence: 0.0,
            evidence: evidence.into(),
            range: None,
        }
    }

    /// Creates a finding of a feature that cannot be determined from outside, by whatever requests.
    pub fn cannot_be_seen(why: impl AsRef<str>) -> Self {
        Self::not_determined(format!("{CANNOT_BE_SEEN}{}", why.as_ref()))
    }

    /// Returns whether the feature cannot be determined from outside.
    pub fn is_hidden(&self) -> bool {
        self.status == Status::NotDetermined && self.evidence.starts_with(CANNOT_BE_SEEN)
    }

    /// Returns the value as a whole number, if found.
    pub fn number(&self) -> Option<u64> {
        match &self.value {
            Some(FindingValue::Number(number)) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns the value as a number, whole or not, if found.
    pub fn factor(&self) -> Option<f64> {
        match &self.value {
            Some(FindingValue::Number(number)) => number.as_f64(),
            _ => None,
        }
    }

    /// Returns the value as a word, if found.
    pub fn word(&self) -> Option<&str> {
        match &self.value {
            Some(FindingValue::Word(word)) => Some(word),
            _ => None,
        }
    }
}

/// Recommended setting for one kind of workload, with its measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// Request size in bytes.
    pub request_bytes: u64,
    /// Requests in flight.
    pub queue_depth: u32,
    /// Most requests that the drive takes in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth_max: Option<u32>,
    /// The measurement of this setting; for writes with a full buffer, and steady if five rounds met SNIA's rule.
    #[serde(flatten)]
    pub rate: Rate,
    /// Lowest and highest bandwidth of repeated measurements of this setting in bytes per second, each with other
    /// random choices, and scans from other places; `None` for writes. Where they differ by more than 10%, `rate` is
    /// the slowest, otherwise the middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_bytes_per_s: Option<[f64; 2]>,
    /// Bound on the 99th percentile for choosing the setting.
    #[serde(default)]
    pub p99_bound_ns: Option<f64>,
    /// Whether the best setting is the largest tried: deeper or larger requests may give more.
    pub more_may_be_better: bool,
    /// State of the drive before the probe: `written`, `partly-written`, `never-written` or `unknown`; [`FULL`] where
    /// the setting was measured on another drive of its kind.
    pub state: String,
    /// Bytes of the device that were measured, from its beginning; `None` for all.
    pub area_bytes: Option<u64>,
    /// The workload as a command line, if the caller knows the device's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// For writes: how the rate depends on the state of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    /// Reason for the setting, and conditions of the measurement.
    pub reason: String,
}

/// State of a drive whose whole capacity was written in order, as that of another drive on which reads are measured.
pub const FULL: &str = "full";

impl Recommendation {
    /// Returns the initial state of a simulated drive on which the measurement can be repeated, where it differs from
    /// that of the probed one.
    pub fn initial_state(&self) -> Option<&'static str> {
        (self.area_bytes.is_some() || self.state == FULL).then_some(FULL)
    }

    /// Returns whether a rate of this point keeps the bound for which it was chosen; `None` without a bound, and where
    /// the measurements do not decide that: a further one may be within the bound or above it, or the write buffer was
    /// filling meanwhile, which delays no write until it is full.
    pub fn keeps_bound(&self, rate: &Rate) -> Option<bool> {
        let bound_ns = self.p99_bound_ns.filter(|_| rate.requests >= requests_needed(0.99))?;
        let [lowest, longest] = rate.p99_limits_ns.or(rate.p99_range_ns).unwrap_or([rate.p99_ns; 2]);
        match () {
            () if longest <= bound_ns => (!self.was_filling_buffer(rate)).then_some(true),
            () if lowest > bound_ns => Some(false),
            () => None,
        }
    }

    /// Returns whether a rate of writes may have been measured while the write buffer filled.
    pub fn was_filling_buffer(&self, rate: &Rate) -> bool {
        self.writes.as_ref().is_some_and(|writes| match &writes.fragmented {
            Some(fragmented) if fragmented == rate => writes.fragmented_filling_share.is_some(),
            _ => writes.filling_share.is_some(),
        })
    }
}

/// Dependence of the write rate on earlier writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Writes {
    /// Whether the recommended rate is steady.
    pub steady: bool,
    /// Whether the drive ran GC during the measurement; `None` where it does not count that.
    pub cleaning: Option<bool>,
    /// Flash pages programmed per page written during the measurement; `None` where the drive does not count them.
    pub write_amplification: Option<f64>,
    /// Bytes that the probe had written at random by the end of the measurement.
    pub written_bytes: u64,
    /// Most bytes that the probe's other experiments may have left stale, which GC reclaims at no cost: rates are
    /// steady only after as many random writes.
    #[serde(default)]
    pub stale_bytes: u64,
    /// Size of the write buffer, if found.
    pub buffer_bytes: Option<u64>,
    /// Time to flush the write buffer after the measurement, as a share of its time, where the buffer may have been
    /// filling all along: flash sustains at least the rate divided by 1 + this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filling_share: Option<f64>,
    /// Rate into an empty buffer after idle time; `None` without a buffer, or where it is no faster.
    pub burst: Option<Rate>,
    /// For a simulated drive without GC during the measurement: rate of a drive of the same kind, filled and
    /// overwritten at random.
    pub fragmented: Option<Rate>,
    /// As `filling_share`, of the measurement of `fragmented`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmented_filling_share: Option<f64>,
}

/// Result of one measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// Requests per second.
    pub iops: f64,
    /// Median latency.
    pub p50_ns: f64,
    /// 99th percentile of latencies.
    pub p99_ns: f64,
    /// Lowest and highest median of several measurements; `None` for one. Where these or the percentiles differ by more
    /// than 25%, `p50_ns` and `p99_ns` are those of the measurement with the longest 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_range_ns: Option<[f64; 2]>,
    /// Lowest and highest 99th percentile of these measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_range_ns: Option<[f64; 2]>,
    /// Limits of the 99th percentile of a further measurement: with 95% confidence it is not above the higher, and as
    /// much not below the lower one. `None` of fewer than three measurements that began anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_limits_ns: Option<[f64; 2]>,
    /// Requests measured.
    pub requests: u64,
    /// Whether it was steady, by the rule of a run.
    pub steady: bool,
    /// Workload that measures it again.
    pub workload: String,
}

/// A recommendation with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// Subject: a workload, or a property of the drive.
    pub about: String,
    /// The recommendation.
    pub text: String,
    /// The evidence.
    pub evidence: String,
    /// Workloads that measure it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeat: Vec<Repeat>,
}

/// A workload that repeats a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The value of `initial.state` that the measurement requires of a simulated drive; `None` for the state before the
    /// probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The workload.
    pub workload: String,
    /// The same as a command line, if the caller knows the device's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// An SLC cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlcCacheRow {
    /// Bytes that an erased drive takes at the fast rate.
    pub size_bytes: u64,
    /// Least and most that these may be.
    pub size_range_bytes: [u64; 2],
    /// Rate of sequential writes into the cache, in bytes per second.
    pub inside_bytes_per_s: f64,
    /// The same when it is full.
    pub after_bytes_per_s: f64,
    /// Time without requests, in seconds, after which the drive was written again.
    pub idle_s: f64,
    /// Bytes that it then took at the fast rate, at most its size.
    pub recovered_bytes: u64,
}

/// Result of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// Always [`PROBE_SCHEMA`].
    pub schema: String,
    /// The drive.
    pub device: DeviceRow,
    /// Main recommendation in one line; empty if there is none.
    #[serde(default)]
    pub headline: String,
    /// Recommendations, the most important first.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Features by name.
    pub findings: BTreeMap<Feature, Finding>,
    /// What was measured of the SLC cache, where one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheRow>,
    /// Layouts that fit the findings; `None` of a probe that ended before these were compared.
    #[serde(default, rename = "portrait", skip_serializing_if = "Option::is_none")]
    pub layout_candidates: Option<LayoutCandidates>,
    /// Recommended settings by workload: `random_read`, `random_write`, `scan`.
    pub recommendation: BTreeMap<String, Recommendation>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the probe ended early, if it did.
    pub partial: Option<String>,
    /// Root seed of the probe.
    pub seed: u64,
    /// Requests to the drive, and to the one full of data.
    pub requests: u64,
    /// Device time in seconds, without that of the drive full of data.
    pub elapsed_s: f64,
    /// The stages of the probe, in order.
    pub stages: Vec<String>,
    /// Figures with the evidence.
    pub figures: Vec<Figure>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// The drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// The spec or path given.
    pub name: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Whether its time is simulated.
    pub simulated: bool,
    /// Whether it was probed without writing.
    pub read_only: bool,
    /// `drive`, `file` or `virtual-disk`.
    #[serde(default)]
    pub medium: String,
    /// Share of the drive never written before the probe, 0 to 1; `None` if unknown.
    #[serde(default)]
    pub never_written_share: Option<f64>,
}

impl ProbeResult {
    /// Returns a finding, if the probe got that far.
    pub fn finding(&self, feature: Feature) -> Option<&Finding> {
        self.findings.get(&feature)
    }
}

crate::kind!(ProbeResult, PROBE_SCHEMA);
