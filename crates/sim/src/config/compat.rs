//! `[compat.disksim]`: what the SSD extension for DiskSim does and no drive is known to. Profiles that must agree with
//! that simulator set it, and no others need to.

use super::refusal::{Refusal, require};
use super::{Bytes, DriveConfig, LevelName};
use flashlane_base::units::exact_bytes;
use serde::Deserialize;

/// Other simulators to agree with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompatConfig {
    /// DiskSim 4.0 with its SSD extension.
    pub disksim: DiskSimConfig,
}

/// Agreement with the SSD extension for DiskSim 4.0 (Agrawal et al., USENIX ATC 2008).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiskSimConfig {
    /// Whether a write's completion crosses the link, and so waits for the data that it carries.
    pub completions_wait: bool,
    /// Whether a read's data cross the link only when all of them have been read from flash, instead of page by page.
    pub whole_reads: bool,
    /// What the stripe binds a page to: its plane, or a die, package or channel, of whose planes the one with the most
    /// free pages then takes it.
    pub pool: LevelName,
    /// Of an erase block's pages, those that hold its summary rather than data.
    pub summary_pages: u32,
    /// Bytes of each summary page that cross the bus when a block is full and they are written, in program times of
    /// their own; absent where the summary goes out with the block's last data page.
    pub summary: Option<Bytes>,
}

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

pub(super) fn summary_has_pages(config: &DriveConfig) -> Result<(), Refusal> {
    let disksim = &config.compat.disksim;
    require(disksim.summary.is_none() || disksim.summary_pages > 0, "compat.disksim.summary", || {
        "no page is set aside for it; allowed: with compat.disksim.summary_pages of at least 1".into()
    })
}
