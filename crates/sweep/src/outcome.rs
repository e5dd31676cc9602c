//! How a point came out: once, and over its repetitions.

use crate::distribution::Distribution;
use crate::measures::Measured;
use flashlane_result::Warning;
use flashlane_result::sweep::{Measures, PointStatus};
use serde::Deserialize;
use serde_json::Value;

/// How a point came out, before it stands in a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub(crate) status: PointStatus,
    pub(crate) reason: Option<String>,
    pub(crate) measures: Measures,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) distribution: Option<Distribution>,
}

impl Outcome {
    pub(crate) fn failed(reason: String) -> Self {
        Self { status: PointStatus::Failed, reason: Some(reason), ..Self::not_run() }
    }

    pub(crate) fn not_run() -> Self {
        let measures = Measures::default();
        let warnings = Vec::new();
        Self { status: PointStatus::NotRun, reason: None, measures, warnings, distribution: None }
    }

    /// Of a point's own result; `None` where that is no result of a measurement.
    pub(crate) fn of(result: &Value) -> Option<Self> {
        let measured = Measured::deserialize(result).ok()?;
        let measures = Measures::from(&measured);
        let status = if measured.partial.is_some() { PointStatus::Partial } else { PointStatus::Measured };
        let Measured { partial: reason, warnings, .. } = measured;
        Some(Self { status, reason, measures, warnings, distribution: Distribution::of(result) })
    }

    /// Whether there are numbers.
    pub(crate) fn has_measures(&self) -> bool {
        matches!(self.status, PointStatus::Measured | PointStatus::Partial)
    }

    /// How a point ended over its repetitions: measured where all were, and partial where some were.
    pub(crate) fn ending(repetitions: &[&Self]) -> (PointStatus, Option<String>) {
        let Some(worst) = repetitions.iter().find(|outcome| outcome.status != PointStatus::Measured) else {
            return (PointStatus::Measured, None);
        };
        let measured = repetitions.iter().filter(|outcome| outcome.has_measures()).count();
        if repetitions.len() == 1 || measured == 0 {
            return (worst.status, worst.reason.clone());
        }
        let reason =
            worst.reason.as_ref().map_or(String::new(), |reason| format!("; the first other: {reason}"));
        let whole = repetitions.iter().filter(|outcome| outcome.status == PointStatus::Measured).count();
        let all = repetitions.len();
        (
            PointStatus::Partial,
            Some(format!("{whole} of {all} repetitions were measured to their end{reason}")),
        )
    }
}
