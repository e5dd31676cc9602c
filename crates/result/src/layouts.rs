//! Layouts of a drive that fit the findings of a probe, and how these fit each other.

use crate::feature::Feature;
use serde::{Deserialize, Serialize};

/// The layouts that fit what was measured, and how the findings fit each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutCandidates {
    /// Layouts of chunks over domains and sub-domains that fit the evidence, the likeliest first. Their odds sum to 1
    /// at most: the rest is what no layout here describes. Empty where the evidence bounds none.
    pub layouts: Vec<Layout>,
    /// The experiment that would tell the two likeliest layouts apart, in a sentence; `None` where there is one layout,
    /// or where no request tells them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Relations between findings.
    pub relations: Vec<Relation>,
}

/// A layout of chunks over domains and sub-domains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Number of domains.
    pub domains: u64,
    /// Sub-domains per domain; `None` where the evidence does not bound them.
    pub sub_domains: Option<u64>,
    /// Probability that the drive has this layout, 0 to 1.
    pub odds: f64,
}

/// A relation between findings that every drive meets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The findings.
    pub features: Vec<Feature>,
    /// Whether they meet it. Where they do not, none of them counts as determined.
    pub holds: bool,
    /// The relation, with their values.
    pub text: String,
}
