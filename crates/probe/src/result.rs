//! The result of a probe: `flashlane.probe/1`.

use crate::rig::Measurement;
use flashlane_measure::figure::Figure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// One feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Whether it was seen.
    pub status: Status,
    /// Its value, where found: a number in the unit that the feature's name ends in, or a word.
    pub value: Option<serde_json::Value>,
    /// How sure the status and value are, 0 to 1.
    pub confidence: f64,
    /// What it rests on, in a sentence.
    pub evidence: String,
}

impl Finding {
    /// A feature that is there.
    pub fn found(value: impl Into<serde_json::Value>, confidence: f64, evidence: impl Into<String>) -> Self {
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
        self.value.as_ref().and_then(serde_json::Value::as_u64)
    }

    /// The value as a word, where found.
    pub fn word(&self) -> Option<&str> {
        self.value.as_ref().and_then(serde_json::Value::as_str)
    }
}

/// How to use the drive for one kind of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// Request size in bytes.
    pub request_bytes: u64,
    /// Requests in flight.
    pub queue_depth: u32,
    /// The bandwidth measured so.
    pub bandwidth_bytes_per_s: f64,
    /// Why.
    pub reason: String,
}

/// A doubt about the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable word.
    pub code: String,
    /// A sentence.
    pub message: String,
}

/// The portrait of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// `flashlane.probe/1`.
    pub schema: String,
    /// The drive.
    pub device: DeviceRow,
    /// Features by name.
    pub findings: BTreeMap<String, Finding>,
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
    /// Every measurement, the first million of them; kept apart from the result as samples.
    #[serde(skip)]
    pub measurements: Vec<Measurement>,
}

/// What the drive says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// The spec or path it was opened by.
    pub name: String,
    /// Bytes that can be addressed.
    pub capacity_bytes: u64,
    /// Whether its time is simulated.
    pub simulated: bool,
    /// Whether it was probed without writing.
    pub read_only: bool,
}

impl ProbeResult {
    /// The schema's name.
    pub const SCHEMA: &'static str = "flashlane.probe/1";

    /// The finding called `name`, if the probe came so far.
    pub fn finding(&self, name: &str) -> Option<&Finding> {
        self.findings.get(name)
    }
}
