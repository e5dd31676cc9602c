//! Keys and points of a sweep, as programs read them.

use crate::compare::Compared;
use crate::measures::Measures;
use crate::values::Key;
use flashlane_base::units::Quantity;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

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

impl From<&Key> for KeyRow {
    fn from(key: &Key) -> Self {
        let unit = key.numbers.as_ref().map(|(quantity, _)| match quantity {
            Quantity::Size => "B",
            Quantity::Time => "ns",
            Quantity::Rate => "B/s",
            Quantity::Share => "share",
            Quantity::Count => "count",
        });
        Self {
            key: key.name.clone(),
            values: key.values.clone(),
            numbers: key.numbers.as_ref().map(|(_, numbers)| numbers.clone()),
            unit: unit.map(str::to_owned),
        }
    }
}
