//! `[readahead]`: reads ahead of the host into the drive's cache.

use super::{Bytes, PolicyOptions};
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

fn streams() -> String {
    "streams".into()
}
