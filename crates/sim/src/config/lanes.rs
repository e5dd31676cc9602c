//! `[lanes]`: software-defined flash. The section stands in place of those of a translation layer.

use super::section::{DriveKind, Facts, Section};
use super::{Bytes, Share};
use serde::Deserialize;

/// Every channel shown to software as a lane.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanesConfig {
    /// Bytes of a unit that lie on one plane before the next plane's begin: whole pages, and a whole fraction of an
    /// erase block, which is the default.
    pub stripe: Option<Bytes>,
    /// Smallest unit of a read: a whole fraction of the page, which is the default.
    pub read_unit: Option<Bytes>,
    /// What of one request is on its way between host and flash at once: at least a page of each of a channel's planes.
    pub window: Bytes,
    /// Share of the erases of a block that fail, on a block at the end of its endurance; in proportion to its wear
    /// before. Where endurance is unlimited, the share on every block.
    #[serde(default)]
    pub erase_failures: Share,
    /// Share of the times that a block is written in which one of its programs fails, on a worn block as above.
    #[serde(default)]
    pub write_failures: Share,
}

impl Section for LanesConfig {
    fn facts() -> Facts {
        let example = &[("lanes.window", "64KiB")];
        Facts { kinds: &[DriveKind::Lanes], example, ..Facts::of("lanes") }
    }
}
