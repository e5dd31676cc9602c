//! `flashlane.study/1`: a paper's published numbers and measured ones.

use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Deserializer, Serialize};

/// Value of [`StudyResult::schema`].
pub const STUDY_SCHEMA: &str = "flashlane.study/1";

/// A study, with all data of its report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyResult {
    /// Always [`STUDY_SCHEMA`].
    pub schema: String,
    /// Short name of the paper.
    pub paper: String,
    /// The quantities, figure by figure.
    pub rows: Vec<Row>,
    /// Measured numbers with nothing published beside them, for a choice between alternatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// Figures of the report; omitted in printed results.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Warnings about the numbers.
    pub warnings: Vec<Warning>,
    /// Why the study ended early; `null` if it did not.
    pub partial: Option<String>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

impl StudyResult {
    /// Returns whether the study is complete and reproduced every quantity.
    pub fn is_reproduced(&self) -> bool {
        self.partial.is_none() && self.rows.iter().all(|row| row.verdict == Verdict::Reproduced)
    }
}

/// One quantity, published and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Figure or table of the paper.
    pub figure: String,
    /// Name of the quantity.
    pub quantity: String,
    /// The paper's value.
    pub published: Value,
    /// The measured value.
    pub measured: Value,
    /// Unit of both; empty for a plain number or text.
    pub unit: String,
    /// Condition for reproduction: `±15%` of the published value, `3.5 to 5.5`, `at least 1`, `exact`.
    pub tolerance: String,
    /// Whether it is reproduced.
    pub verdict: Verdict,
}

/// Alternatives, each a row with the same measured numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Figure or table of the paper.
    pub figure: String,
    /// What is compared, on what.
    pub title: String,
    /// Heading of each number, with its unit.
    pub columns: Vec<String>,
    /// The alternatives.
    pub rows: Vec<TableRow>,
}

/// An alternative of a [`Table`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Its name.
    pub name: String,
    /// Its numbers, in the order of the columns.
    pub values: Vec<f64>,
}

/// A number, or text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or words")]
pub enum Value {
    /// A number; not-a-number is `null` in JSON.
    Number(#[serde(deserialize_with = "number")] f64),
    /// Words.
    Text(String),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Number(count as f64)
    }
}

impl From<&str> for Value {
    fn from(words: &str) -> Self {
        Self::Text(words.into())
    }
}

fn number<'de, D: Deserializer<'de>>(number: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(number).map(|number| number.unwrap_or(f64::NAN))
}

/// Whether a published quantity was reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within the tolerance.
    Reproduced,
    /// Outside the tolerance.
    Missed,
}

crate::kind!(StudyResult, STUDY_SCHEMA);
