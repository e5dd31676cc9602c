//! `flashlane.calibration/1`: a simulated drive fitted to measurements.

use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Serialize};

/// Value of [`CalibrationResult::schema`].
pub const CALIBRATION_SCHEMA: &str = "flashlane.calibration/1";

/// A calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationResult {
    /// Always [`CALIBRATION_SCHEMA`].
    pub schema: String,
    /// Name of the measurements: their file.
    pub measurements: String,
    /// The start profile.
    pub start: String,
    /// Profiles that were simulated.
    pub tried: u64,
    /// Counts and switches of the twin, each with its value at the start.
    pub counts: Vec<CountRow>,
    /// Constants of the twin.
    pub constants: Vec<ConstantRow>,
    /// Each measurement with its prediction.
    pub predictions: Vec<PredictionRow>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Always `null`: a calibration that is stopped has no result.
    pub partial: Option<String>,
    /// Figures of the report; omitted in printed results.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Always missing: no device is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// A count or a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountRow {
    /// The field of the profile.
    pub field: String,
    /// In the start profile.
    pub from: String,
    /// In the twin.
    pub to: String,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstantRow {
    /// The field of the profile.
    pub field: String,
    /// In the start profile.
    pub from: String,
    /// In the twin.
    pub to: String,
    /// Its standard error, as a share of the value; `null` where no measurement depends on it.
    pub standard_error_share: Option<f64>,
    /// `fixed`, `open` where the measurements leave it open, or `unused` where none depends on it.
    pub standing: String,
    /// The measurements that fix it, the most telling first.
    pub fixed_by: Vec<String>,
}

/// A measurement and its prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionRow {
    /// The measurement's place in its file.
    pub place: String,
    /// The workload.
    pub workload: String,
    /// What was measured: `mean`, `p99`, `rate`, `bandwidth` …
    pub quantity: String,
    /// `ns`, `requests_per_s` or `bytes_per_s`.
    pub unit: String,
    /// The number measured.
    pub measured: f64,
    /// The number predicted.
    pub predicted: f64,
    /// Predicted over measured, less 1.
    pub error_share: f64,
    /// Whether the search did not see it.
    pub kept_back: bool,
}

crate::kind!(CalibrationResult, CALIBRATION_SCHEMA);
