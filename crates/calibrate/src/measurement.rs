//! A measurement of a real drive: one number of one workload.

use crate::{csv, fio, probe};
use flashlane_base::units::exact_bytes;
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

    /// The relative error that counts as one: tails vary more than means, in the drive and in its measurement, and the more
    /// so the fewer requests are beyond them.
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

/// Reads measurements from the text of a CSV file, of fio's JSON, or of a probe's result.
///
/// # Errors
/// [`ReadError`] names the line or field, what was given and what is allowed.
pub fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let rows = if text.trim_start().starts_with('{') {
        let json: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            ReadError::new(format!("line {}", error.line()), None, format!("it is no JSON: {error}"))
        })?;
        if json.get("schema").is_some() { probe::read(&json)? } else { fio::read(&json)? }
    } else {
        csv::read(text)?
    };
    match rows.is_empty() {
        true => Err(ReadError::new("the file", None, "it has no measurements")),
        false => Ok(rows),
    }
}

/// Most relative difference of two numbers of the same.
const AGREE: f64 = 0.1;

/// Returns the measurements that contradict each other, each in a sentence: two values of one number, percentiles out of
/// order, and a mean and a rate that cannot both hold with as many requests in flight (Little's law).
pub(crate) fn contradictions(rows: &[Measurement]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for other in rows[at + 1..].iter().filter(|other| other.workload == row.workload) {
            let (low, high) = (row.value.min(other.value), row.value.max(other.value));
            let pair = || format!("{} and {}", row.name(), other.name());
            match (row.quantity, other.quantity) {
                (one, two) if one == two && high > low * (1.0 + AGREE) => {
                    found.push(format!("{} differ by {:.0}%", pair(), 100.0 * (high / low - 1.0)));
                }
                (Quantity::Percentile(one), Quantity::Percentile(two))
                    if (one < two) != (row.value <= other.value) && one != two =>
                {
                    found.push(format!("{} are out of order", pair()));
                }
                (Quantity::Mean, Quantity::Rate) => found.extend(little(row, other)),
                (Quantity::Rate, Quantity::Mean) => found.extend(little(other, row)),
                _ => {}
            }
        }
    }
    found
}

/// Compares a mean and a rate with the requests in flight.
fn little(mean: &Measurement, rate: &Measurement) -> Option<String> {
    let [job] = &mean.workload.jobs[..] else { return None };
    if job.rate.is_some() || !job.think.is_zero() {
        return None;
    }
    let in_flight = mean.value / 1e9 * rate.value;
    let ratio = in_flight / f64::from(job.depth);
    (!(1.0 / (1.0 + AGREE)..=1.0 + AGREE).contains(&ratio)).then(|| {
        format!(
            "{} and {} need {in_flight:.1} requests of {} in flight, and the workload has {}",
            mean.name(),
            rate.name(),
            exact_bytes(job.size_bytes),
            job.depth
        )
    })
}
