//! `flashlane.score/1`: how often the probe is right about drives whose inside is known.

use crate::feature::Feature;
use crate::{Common, Kind};
use serde::{Deserialize, Serialize};

/// What [`Score::schema`] says.
pub const SCORE_SCHEMA: &str = "flashlane.score/1";

/// The score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Always [`SCORE_SCHEMA`].
    pub schema: String,
    /// Drives probed.
    pub drives: u64,
    /// The root of all drives.
    pub seed: u64,
    /// By feature.
    pub features: Vec<Tally>,
    /// Every wrong answer.
    pub mistakes: Vec<Mistake>,
    /// Why it ended early, where it did: the drives probed until then are counted.
    pub partial: Option<String>,
}

/// How one feature was answered over all drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The feature.
    pub feature: Feature,
    /// Right answers, "absent" where it is so included.
    pub right: u64,
    /// Wrong answers.
    pub wrong: u64,
    /// Answers left open.
    pub not_determined: u64,
}

/// A wrong answer, with what is needed to look into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// The drive's number.
    pub drive: u64,
    /// The feature.
    pub feature: Feature,
    /// What is true.
    pub truth: String,
    /// What the probe said.
    pub answer: String,
    /// The drive's profile.
    pub profile: String,
}

impl Kind for Score {
    const SCHEMA: &'static str = SCORE_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common { partial: self.partial.as_deref(), ..Common::default() }
    }
}
