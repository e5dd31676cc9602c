//! `[placement]`: placement handles (flexible data placement, NVMe TP4146).

use super::refusal::{Refusal, range, refusals};
use serde::Deserialize;

/// Placement handles.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementConfig {
    /// Handles; each write names one.
    pub handles: u32,
    /// How far data of different handles stay apart.
    #[serde(default)]
    pub isolation: Isolation,
}

/// How far data of different handles stay apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Until GC moves them: then they share reclaim units with moved data of other handles.
    #[default]
    Initial,
    /// Always: GC moves them to a reclaim unit of their handle.
    Persistent,
}

impl PlacementConfig {
    /// Returns the blocks of a plane that are open beyond those of a drive without handles.
    pub(crate) fn extra_streams(&self) -> u32 {
        let others = self.handles.saturating_sub(1);
        match self.isolation {
            Isolation::Initial => others,
            Isolation::Persistent => 2 * others,
        }
    }

    pub(crate) fn ranges(&self) -> Vec<Refusal> {
        refusals([range("placement.handles", self.handles, 2, 128)])
    }
}
