//! `flashlane.study/1`: a paper's numbers, published beside measured.

use crate::{Figure, Machine, Warning};
use serde::{Deserialize, Deserializer, Serialize};

/// What [`StudyResult::schema`] says.
pub const STUDY_SCHEMA: &str = "flashlane.study/1";

/// A study. Complete: a report is drawn from it without running anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyResult {
    /// Always [`STUDY_SCHEMA`].
    pub schema: String,
    /// The paper's name here.
    pub paper: String,
    /// The quantities, figure by figure.
    pub rows: Vec<Row>,
    /// What a report draws; left out where a result is printed.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// What to keep in mind about the numbers.
    pub warnings: Vec<Warning>,
    /// Why the study ended before its end; `null` where it did not.
    pub partial: Option<String>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

impl StudyResult {
    /// Whether all that was to be studied was, and every quantity was reproduced.
    pub fn is_reproduced(&self) -> bool {
        self.partial.is_none() && self.rows.iter().all(|row| row.verdict == Verdict::Reproduced)
    }
}

/// One quantity, published beside measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The figure or table that has it.
    pub figure: String,
    /// What it is.
    pub quantity: String,
    /// What the paper says.
    pub published: Value,
    /// What came out here.
    pub measured: Value,
    /// The unit of both; empty for a plain number or a word.
    pub unit: String,
    /// When it counts as reproduced: `±15%` of the published value, `3.5 to 5.5`, `at least 1`, `exact`.
    pub tolerance: String,
    /// Whether it is.
    pub verdict: Verdict,
}

/// A number, or what a paper says in words.
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

/// Whether a published quantity came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within the tolerance.
    Reproduced,
    /// Outside.
    Missed,
}

crate::kind!(StudyResult, STUDY_SCHEMA);
