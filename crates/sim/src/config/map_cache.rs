//! `[mapping.cache]`: the part of the map that the drive keeps in memory, where it has too little for all of it.

use super::array_size::ArraySize;
use super::refusal::{Refusal, range, refusals, require};
use super::section::{Exclusions, Facts, Other, Room, Section};
use super::{Bytes, PolicyOptions, Time, limits};
use flashlane_base::units::exact_bytes;
use flashlane_policy::Policies;
use serde::Deserialize;

/// A cache of the map, which lies on flash.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapCacheConfig {
    /// Memory for the cached part.
    pub size: Bytes,
    /// Memory of the host for what gave up its room there.
    #[serde(default)]
    pub host_memory: Bytes,
    /// How long it takes to get a line from it.
    #[serde(default)]
    pub host_access: Time,
    /// The replacement policy's name.
    #[serde(default = "lru")]
    pub policy: String,
    /// What is cached together.
    #[serde(default)]
    pub granularity: Granularity,
    /// Entries behind the one that is missing, of the same translation page, that are cached with it.
    #[serde(default)]
    pub prefetch: u32,
    /// Whether all changed entries of a translation page are written with the one that is replaced.
    #[serde(default = "yes")]
    pub batch: bool,
    /// The replacement policy's own settings.
    #[serde(default)]
    pub options: PolicyOptions,
}

/// What the cache of the map loads and replaces together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// The entry of a mapping unit.
    #[default]
    Entry,
    /// All entries of a translation page.
    Page,
}

/// Bytes of an entry in a translation page: a physical number.
const TRANSLATION_ENTRY_BYTES: u64 = 4;

/// Entries of a translation page, which takes a mapping unit of `unit_bytes`.
pub(crate) fn entries_of_translation_page(unit_bytes: u64) -> u32 {
    (unit_bytes / TRANSLATION_ENTRY_BYTES) as u32
}

/// Bytes of memory for an entry that is cached by itself: its logical and its physical number.
const ENTRY_BYTES: u64 = 8;

impl MapCacheConfig {
    /// Bytes of memory for what is cached together, on a drive with mapping units of `unit_bytes`.
    pub(crate) fn line_bytes(&self, unit_bytes: u64) -> u64 {
        match self.granularity {
            Granularity::Entry => ENTRY_BYTES,
            Granularity::Page => unit_bytes,
        }
    }

    /// Mapping units whose entries are cached together.
    pub(crate) fn line_units(&self, unit_bytes: u64) -> u32 {
        match self.granularity {
            Granularity::Entry => 1,
            Granularity::Page => entries_of_translation_page(unit_bytes),
        }
    }

    /// Lines that the cache has room for in the drive's memory, and in the host's.
    pub(crate) fn lines(&self, unit_bytes: u64) -> [u32; 2] {
        let lines = |bytes: u64| u32::try_from(bytes / self.line_bytes(unit_bytes)).unwrap_or(u32::MAX);
        [self.size, self.host_memory].map(|size| lines(size.0))
    }

    /// Translation pages of a drive, each a mapping unit.
    pub(crate) fn translation_pages(array: &ArraySize) -> u32 {
        array.logical_units.div_ceil(entries_of_translation_page(array.unit_bytes))
    }
}

impl Section for MapCacheConfig {
    fn facts() -> Facts {
        Facts {
            room: &["mapping.cache.size"],
            example: &[("mapping.cache.size", "4KiB")],
            ..Facts::of_translation("mapping.cache")
        }
    }

    fn ranges(&self) -> Vec<Refusal> {
        refusals([
            require(
                self.prefetch == 0 || self.granularity == Granularity::Entry,
                "mapping.cache.prefetch",
                || {
                    format!(
                        "it is {}; allowed with mapping.cache.granularity 'page': only 0, since all entries of a page are loaded",
                        self.prefetch
                    )
                },
            ),
            range("mapping.cache.prefetch", self.prefetch, 0, 1 << 16),
            limits::time("mapping.cache.host_access", self.host_access),
            require(
                (self.host_memory.0 > 0) != self.host_access.0.is_zero(),
                "mapping.cache.host_access",
                || match self.host_memory.0 {
                    0 => "no memory of the host is used; allowed without mapping.cache.host_memory: only 0us"
                        .into(),
                    _ => "it is 0us; allowed with mapping.cache.host_memory: more than that".into(),
                },
            ),
        ])
    }

    fn exclusions(&self) -> Option<Exclusions> {
        Some(Exclusions {
            reason: "a part of the map is on flash ([mapping.cache]); allowed with it".into(),
            others: &[
                Other::BlockMapping,
                Other::Parity,
                Other::JoinedPlanes,
                Other::Section("replication"),
                Other::ProgramGroups,
                Other::Summaries,
                Other::SharedPools,
            ],
        })
    }

    fn check(&self, array: &ArraySize, policies: &Policies) -> Result<(), Refusal> {
        let unit = array.unit_bytes;
        self.check_sizes(array)?;
        let [lines, of_host] = self.lines(unit);
        let most = (entries_of_translation_page(unit) - 1).min(lines / 2);
        require(self.prefetch <= most, "mapping.cache.prefetch", || {
            format!(
                "it is {}; allowed: at most {most}, the rest of a translation page and half of the {lines} entries in the \
                 cache",
                self.prefetch
            )
        })?;
        let build = |options: &_| policies.map_cache.build(&self.policy, lines.max(of_host), options);
        self.options.check(("mapping.cache.policy", "mapping.cache.options"), build).map(drop)
    }

    /// The translation pages, and an open block for them.
    fn room(&self, array: &ArraySize) -> Room {
        let stored_units = Self::translation_pages(array);
        Room { stored_units, reserved_blocks: u32::from(stored_units > 0), ..Room::default() }
    }

    fn is_random(&self, policies: &Policies) -> bool {
        policies.map_cache.is_random(&self.policy)
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        (setting == "mapping.cache.policy").then_some(&mut self.options)
    }
}

impl MapCacheConfig {
    fn check_sizes(&self, array: &ArraySize) -> Result<(), Refusal> {
        let unit = array.unit_bytes;
        require(self.size.0 >= unit, "mapping.cache.size", || {
            format!(
                "it is {}; allowed: at least a translation page of {}",
                exact_bytes(self.size.0),
                exact_bytes(unit)
            )
        })?;
        let all = self.line_bytes(unit) * u64::from(array.logical_units.div_ceil(self.line_units(unit)));
        let sizes = self.size.0.saturating_add(self.host_memory.0);
        let field = if self.size.0 > all { "mapping.cache.size" } else { "mapping.cache.host_memory" };
        require(sizes <= all, field, || {
            format!(
                "the cache has {}, and all of the map takes {} there; allowed: at most that, or no [mapping.cache], which \
                 keeps all of the map in memory",
                exact_bytes(sizes),
                exact_bytes(all)
            )
        })
    }
}

fn lru() -> String {
    "lru".into()
}

fn yes() -> bool {
    true
}
