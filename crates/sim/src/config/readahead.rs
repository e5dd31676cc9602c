//! `[readahead]`: reads ahead of the host into the drive's cache.

use super::section::{Facts, Section};
use super::{Bytes, PolicyOptions};
use flashlane_policy::Policies;
use serde::Deserialize;

/// Readahead into the drive's cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadaheadConfig {
    /// The policy's name.
    #[serde(default = "streams")]
    pub policy: String,
    /// How far ahead of a reader is fetched.
    pub window: Bytes,
    /// Bytes that the cache holds, over all streams.
    pub cache: Bytes,
    /// The policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
}

impl Section for ReadaheadConfig {
    fn facts() -> Facts {
        Facts::of_translation("readahead")
    }

    fn is_random(&self, policies: &Policies) -> bool {
        policies.readahead.is_random(&self.policy)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        (setting == "readahead.policy").then_some(&mut self.options)
    }
}

fn streams() -> String {
    "streams".into()
}
