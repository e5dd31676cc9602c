//! `[mapping]`: what the translation layer maps, and how mapping units are spread over the flash array.

use super::refusal::{Refusal, range, refusals, require};
use super::section::{Facts, Section};
use super::{Bytes, LevelName, MapCacheConfig, PolicyOptions};
use flashlane_policy::Policies;
use serde::Deserialize;

/// Mapping and allocation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingConfig {
    /// The mapping policy's name.
    pub policy: String,
    /// The translation scheme's name: whether pages or whole blocks are mapped, and how.
    #[serde(default = "page")]
    pub translation: String,
    /// The translation scheme's own settings.
    #[serde(default)]
    pub translation_options: PolicyOptions,
    /// Size of a mapping unit: a whole fraction of the flash page, which is the default, or a number of pages.
    pub unit: Option<Bytes>,
    /// Data that stays together on one plane before the stripe moves on; whole mapping units.
    pub chunk: Bytes,
    /// The allocation policy's name.
    #[serde(default = "striped")]
    pub allocation: String,
    /// Which level of the array changes first from chunk to chunk.
    #[serde(default = "channels_first")]
    pub order: [LevelName; 4],
    /// The part of the map that is in memory; all of it where absent.
    pub cache: Option<MapCacheConfig>,
    /// Channels that one more protects: pages on this number of channels, and a parity page on another, make a row, and
    /// their erase blocks are garbage-collected together. No parity where absent.
    pub parity: Option<u32>,
    /// Which reads of the host are rebuilt from the rest of their row; only with parity.
    #[serde(default)]
    pub rebuild: Rebuilding,
    /// The mapping policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
    /// The allocation policy's own settings.
    #[serde(default)]
    pub allocation_options: PolicyOptions,
}

impl Section for MappingConfig {
    fn facts() -> Facts {
        Facts {
            room: &["mapping.unit", "mapping.translation_options.log_blocks"],
            ..Facts::of_translation("mapping")
        }
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            range("mapping.parity", self.parity.unwrap_or(1), 1, 1024),
            require(self.parity.is_some() || self.rebuild == Rebuilding::None, "mapping.rebuild", || {
                let given = if self.rebuild == Rebuilding::Blocked { "blocked" } else { "unreadable" };
                format!(
                    "it is '{given}'; allowed without mapping.parity: only 'none', since a page is rebuilt from its row"
                )
            }),
        ])
    }

    /// Whether its policies are random; the translation scheme, which is none of them, is asked of the scheme's
    /// registry.
    fn is_random(&self, policies: &Policies) -> bool {
        policies.mapping.is_random(&self.policy) || policies.allocation.is_random(&self.allocation)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        match setting {
            "mapping.policy" => Some(&mut self.options),
            "mapping.allocation" => Some(&mut self.allocation_options),
            "mapping.translation" => Some(&mut self.translation_options),
            _ => None,
        }
    }
}

/// Which pages are rebuilt from the rest of their row when the host reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rebuilding {
    /// None: one that cannot be corrected is reported as unreadable.
    #[default]
    None,
    /// Those that cannot be corrected.
    Unreadable,
    /// Those, too, whose die garbage-collects while no other die of the row does.
    Blocked,
}

fn page() -> String {
    "page".into()
}

fn striped() -> String {
    "striped".into()
}

fn channels_first() -> [LevelName; 4] {
    [LevelName::Channel, LevelName::Package, LevelName::Die, LevelName::Plane]
}
