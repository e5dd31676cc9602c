//! `flashlane.study/1`: a study as programs read it.

use crate::Row;
use flashlane_measure::figure::Figure;
use flashlane_measure::schema::Warning;
use serde::{Deserialize, Serialize};

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
    /// What a report draws.
    pub figures: Vec<Figure>,
    /// What to keep in mind about the numbers.
    pub warnings: Vec<Warning>,
    /// Why the study ended before its end; `null` where it did not.
    pub partial: Option<String>,
}

impl StudyResult {
    /// Whether all that was to be studied was, and every quantity was reproduced.
    pub fn is_reproduced(&self) -> bool {
        self.partial.is_none() && self.rows.iter().all(|row| row.verdict == crate::Verdict::Reproduced)
    }
}
