//! `[zones]`: a zoned drive. The section stands in place of those of a translation layer.

use super::refusal::{Refusal, refusals};
use super::section::{DriveKind, Facts, Section};
use super::{Bytes, Share, Time, limits};
use serde::Deserialize;

/// Zones, each a number of erase blocks on some dies, which are written in order and reset as a whole.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZonesConfig {
    /// Bytes of a zone that can be written.
    pub capacity: Bytes,
    /// Distance from one zone's start to the next on the drive: at least the capacity, which is the default.
    pub size: Option<Bytes>,
    /// Dies that each zone lies on: all of the drive's by default.
    pub dies: Option<u32>,
    /// Lanes that the zones are dealt to in turn: one for each group of dies by default.
    pub lanes: Option<u32>,
    /// Most open zones; no limit where absent.
    pub max_open: Option<u32>,
    /// Most active (open or closed) zones; no limit where absent.
    pub max_active: Option<u32>,
    /// What the write buffer of a zone holds: at least what is programmed at once.
    pub buffer: Bytes,
    /// Time that the firmware takes for a write command, one command after the other.
    #[serde(default)]
    pub write: Time,
    /// The same for an append.
    #[serde(default)]
    pub append: Time,
    /// Time until the drive knows where an append lies, for any number of them at once.
    #[serde(default)]
    pub append_latency: Time,
    /// Time that a write takes longer, if it opens its zone.
    #[serde(default)]
    pub open_by_write: Time,
    /// The same for an append.
    #[serde(default)]
    pub open_by_append: Time,
    /// Time that the firmware takes to open a zone, for any number of them at once, as for the following.
    #[serde(default)]
    pub open: Time,
    /// To close a zone.
    #[serde(default)]
    pub close: Time,
    /// To finish a zone, beside writing out its rest.
    #[serde(default)]
    pub finish: Time,
    /// To reset a zone, beside erasing its blocks.
    #[serde(default)]
    pub reset: Time,
    /// Share of the times that a zone is written in which a program fails, on a zone at the end of its endurance; in
    /// proportion to its wear before. Where endurance is unlimited, the share on every zone.
    #[serde(default)]
    pub write_failures: Share,
}

impl Section for ZonesConfig {
    fn facts() -> Facts {
        let example = &[("zones.capacity", "1MiB"), ("zones.buffer", "64KiB")];
        Facts { kinds: &[DriveKind::Zoned], example, ..Facts::of("zones") }
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            limits::time("zones.write", self.write),
            limits::time("zones.append", self.append),
            limits::time("zones.append_latency", self.append_latency),
            limits::time("zones.open_by_write", self.open_by_write),
            limits::time("zones.open_by_append", self.open_by_append),
            limits::time("zones.open", self.open),
            limits::time("zones.close", self.close),
            limits::time("zones.finish", self.finish),
            limits::time("zones.reset", self.reset),
        ])
    }
}
