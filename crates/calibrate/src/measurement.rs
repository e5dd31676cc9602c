//! A measurement of a real drive: one number of one workload.

use flashlane_workload::Workload;
use std::fmt;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// Mean latency, in nanoseconds.
    Mean,
    /// The percentile of latency at this percentage, in nanoseconds.
    Percentile(f64),
    /// Requests per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
}

impl Quantity {
    /// Reads a quantity's name: `mean`, `rate`, `bandwidth`, or a percentile like `p99.9`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "mean" => Some(Self::Mean),
            "rate" => Some(Self::Rate),
            "bandwidth" => Some(Self::Bandwidth),
            _ => {
                let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
                (percent > 0.0 && percent < 100.0).then_some(Self::Percentile(percent))
            }
        }
    }

    /// The relative error that counts as one: tails vary more than means, in the drive and in its measurement, and the
    /// more so the fewer requests are beyond them.
    pub(crate) fn tolerance(self) -> f64 {
        match self {
            Self::Percentile(percent) if percent > 50.0 => 0.04 * (1.0 / (100.0 - percent)).sqrt().max(1.0),
            _ => 0.01,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
            Self::Rate => f.write_str("rate"),
            Self::Bandwidth => f.write_str("bandwidth"),
        }
    }
}

/// One number of one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The workload. Its requests are those of a prediction.
    pub workload: Workload,
    /// What was measured.
    pub quantity: Quantity,
    /// The number, in the unit of its quantity.
    pub value: f64,
    /// Its place in the file: `line 3`.
    pub place: String,
    /// Where the number is from; may be empty.
    pub source: String,
}

impl Measurement {
    /// The workload in the words of its jobs, without its end.
    pub fn workload_name(&self) -> String {
        self.workload.jobs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ")
    }

    /// Its name in reports: place, workload and quantity.
    pub fn name(&self) -> String {
        format!("{}: {} of {}", self.place, self.quantity, self.workload_name())
    }
}

/// Why measurements cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{}: {reason}", .field.as_ref().map_or(String::new(), |field| format!(", {field}")))]
pub struct ReadError {
    /// The line, or the place in JSON.
    pub place: String,
    /// The field, if one is invalid.
    pub field: Option<String>,
    /// What is invalid, and what is allowed.
    pub reason: String,
}

impl ReadError {
    pub(crate) fn new(place: impl Into<String>, field: Option<&str>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), field: field.map(Into::into), reason: reason.into() }
    }
}
