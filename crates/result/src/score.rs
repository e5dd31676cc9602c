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
    /// Whether the drives have the caches of present ones; then only findings on these count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub today: bool,
    /// Over wide drives and those of today: failures, calibration and CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wide: Option<Wide>,
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
    /// Of these, findings that the probe says cannot be seen from outside.
    #[serde(default)]
    pub cannot_be_seen: u64,
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

/// What a score over wide drives reports beside its counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wide {
    /// Probes that ended with an error.
    pub failed: Vec<Failed>,
    /// Findings by stated confidence, in bands that follow each other.
    pub calibration: Vec<Band>,
    /// CPU time of a probe.
    pub cpu: CpuTime,
}

/// A probe that ended with an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    /// Number of the drive.
    pub drive: u64,
    /// The error.
    pub error: String,
    /// Profile of the drive.
    pub profile: String,
}

/// Findings whose stated confidence lies in one band.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Least stated confidence; the band ends where the next one begins.
    pub from: f64,
    /// Right findings.
    pub right: u64,
    /// Wrong findings.
    pub wrong: u64,
}

/// CPU time of a probe, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// Median over the drives.
    pub median_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
}

impl Kind for Score {
    const SCHEMA: &'static str = SCORE_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common { partial: self.partial.as_deref(), ..Common::default() }
    }
}
