//! `[compat.disksim]`: what the SSD extension for DiskSim does and no drive is known to. Profiles that must agree with
//! that simulator set it, and no others need to.

use super::section::{Facts, Section};
use super::{Bytes, LevelName};
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

impl Section for CompatConfig {
    fn facts() -> Facts {
        Facts::of_translation("compat")
    }
}
