//! `flashlane.score/1`: accuracy of the probe on drives of known structure.

use crate::feature::Feature;
use crate::{Common, Kind};
use serde::{Deserialize, Serialize};

/// Value of [`Score::schema`].
pub const SCORE_SCHEMA: &str = "flashlane.score/1";

/// The score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Always [`SCORE_SCHEMA`].
    pub schema: String,
    /// Drives probed.
    pub drives: u64,
    /// Root seed of all drives.
    pub seed: u64,
    /// Counts by feature.
    pub features: Vec<Tally>,
    /// All wrong answers.
    pub mistakes: Vec<Mistake>,
    /// Why it ended early, if it did; drives probed before are counted.
    pub partial: Option<String>,
}

/// Counts of answers for one feature over all drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The feature.
    pub feature: Feature,
    /// Right answers, including right answers of "absent".
    pub right: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Answers of "not determined".
    pub not_determined: u64,
}

/// A wrong answer, with the data to reproduce it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Number of the drive.
    pub drive: u64,
    /// The feature.
    pub feature: Feature,
    /// The right answer.
    pub truth: String,
    /// The probe's answer.
    pub answer: String,
    /// Profile of the drive.
    pub profile: String,
}

impl Kind for Score {
    const SCHEMA: &'static str = SCORE_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common { partial: self.partial.as_deref(), ..Common::default() }
    }
}
