//! The outcome of a point: once, and over its repetitions.

use crate::distribution::Distribution;
use crate::point::PointResult;
use flashlane_result::sweep::{Measures, PointStatus};
use flashlane_result::{Common, Warning, WarningCode};

/// The outcome of a measurement of a point.
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

    /// Returns the outcome of a point with this result.
    pub(crate) fn of(result: &PointResult) -> Self {
        let Common { warnings, partial, figures, .. } = result.common();
        Self {
            status: if partial.is_some() { PointStatus::Partial } else { PointStatus::Measured },
            reason: partial.map(str::to_owned),
            measures: Measures::from(result),
            warnings: warnings.to_vec(),
            distribution: Distribution::of(figures),
        }
    }

    /// Returns whether it has measures.
    pub(crate) fn has_measures(&self) -> bool {
        matches!(self.status, PointStatus::Measured | PointStatus::Partial)
    }

    /// Returns whether its numbers do not stand for the point, as GC owes moves, or made them for later writes.
    pub(crate) fn is_out_of_balance(&self) -> bool {
        self.warns_of(WarningCode::GcOutOfBalance)
    }

    /// Returns whether GC did not begin, so that all that was written came from the reserve.
    pub(crate) fn is_without_gc(&self) -> bool {
        self.warns_of(WarningCode::NothingCleaned)
    }

    fn warns_of(&self, code: WarningCode) -> bool {
        self.has_measures() && self.warnings.iter().any(|of| of.code == code)
    }

    /// Returns the status of a point over its repetitions, with a reason: measured where all were, partial where some
    /// were.
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
