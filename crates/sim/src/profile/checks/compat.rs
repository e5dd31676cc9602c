//! Summaries of erase blocks, which only agreement with DiskSim has.

use crate::config::DriveConfig;
use crate::config::refusal::{Refusal, require};
use flashlane_base::units::exact_bytes;

/// Checks the summary's size.
pub(super) fn summary(config: &DriveConfig) -> Result<(), Refusal> {
    let (disksim, flash) = (&config.compat.disksim, &config.flash);
    require(disksim.summary_pages < flash.pages, "compat.disksim.summary_pages", || {
        format!("it is {}, which leaves no page of {} for data", disksim.summary_pages, flash.pages)
    })?;
    let bytes = disksim.summary.unwrap_or_default().0;
    require(bytes <= flash.page.0, "compat.disksim.summary", || {
        format!("it is {}; allowed: at most the page of {}", exact_bytes(bytes), exact_bytes(flash.page.0))
    })
}

/// Checks that a summary with a size has pages.
pub(super) fn summary_has_pages(config: &DriveConfig) -> Result<(), Refusal> {
    let disksim = &config.compat.disksim;
    require(disksim.summary.is_none() || disksim.summary_pages > 0, "compat.disksim.summary", || {
        "no page is set aside for it; allowed: with compat.disksim.summary_pages of at least 1".into()
    })
}
