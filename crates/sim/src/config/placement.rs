//! `[placement]`: placement handles (flexible data placement, NVMe TP4146).

use super::array_size::ArraySize;
use super::refusal::{Refusal, range, refusals};
use super::section::{Exclusions, Facts, Other, Room, Section};
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

impl Section for PlacementConfig {
    fn facts() -> Facts {
        Facts {
            room: &["placement.handles", "placement.isolation"],
            example: &[("placement.handles", "2"), ("cleaning.separate", "true")],
            ..Facts::of_translation("placement")
        }
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([range("placement.handles", self.handles, 2, 128)])
    }

    fn exclusions(&self) -> Option<Exclusions> {
        Some(Exclusions {
            reason: "there are placement handles ([placement]); allowed with them".into(),
            others: &[
                Other::BlockMapping,
                Other::SharedOpenBlocks,
                Other::Parity,
                Other::Section("mapping.cache"),
                Other::Section("replication"),
                Other::Section("slc"),
                Other::ProgramGroups,
                Other::SharedPools,
            ],
        })
    }

    /// The blocks of a plane that are open beyond those of a drive without handles.
    fn room(&self, _array: &ArraySize) -> Room {
        let others = self.handles.saturating_sub(1);
        let later_blocks = match self.isolation {
            Isolation::Initial => others,
            Isolation::Persistent => 2 * others,
        };
        Room { later_blocks, ..Room::default() }
    }
}
