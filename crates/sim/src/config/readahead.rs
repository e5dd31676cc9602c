//! `[readahead]`: reads ahead of the host into the drive's cache.

use super::policies::check;
use super::refusal::{Refusal, require};
use super::{Bytes, DriveConfig, PolicyOptions};
use flashlane_base::units::exact_bytes;
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

pub(super) fn validate(config: &DriveConfig) -> Result<(), Refusal> {
    let Some(readahead) = &config.readahead else { return Ok(()) };
    let (window, page) = (readahead.window.0, config.flash.page.0);
    require(window >= page, "readahead.window", || {
        format!("it is {}; allowed: at least one page of {}", exact_bytes(window), exact_bytes(page))
    })?;
    require(readahead.cache.0 >= window, "readahead.cache", || {
        format!("it is {}; allowed: at least the window", exact_bytes(readahead.cache.0))
    })?;
    check(("readahead.policy", "readahead.options"), &readahead.options, |options| {
        config.policies.readahead.build(&readahead.policy, window, options)
    })
    .map(drop)
}

pub(super) fn is_random(config: &DriveConfig) -> bool {
    config.readahead.as_ref().is_some_and(|it| config.policies.readahead.is_random(&it.policy))
}
