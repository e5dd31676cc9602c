//! Readahead: its window, its cache and its policy.

use crate::config::DriveConfig;
use crate::config::refusal::{Refusal, require};
use flashlane_base::units::exact_bytes;

/// Checks the section, where there is one.
pub(super) fn validate(config: &DriveConfig) -> Result<(), Refusal> {
    let Some(readahead) = &config.readahead else { return Ok(()) };
    let (window, page) = (readahead.window.0, config.flash.page.0);
    require(window >= page, "readahead.window", || {
        format!("it is {}; allowed: at least one page of {}", exact_bytes(window), exact_bytes(page))
    })?;
    require(readahead.cache.0 >= window, "readahead.cache", || {
        format!("it is {}; allowed: at least the window", exact_bytes(readahead.cache.0))
    })?;
    readahead
        .options
        .check(("readahead.policy", "readahead.options"), |options| {
            config.policies.readahead.build(&readahead.policy, window, options)
        })
        .map(drop)
}
