//! `[mapping.cache]`: the part of the map that the drive keeps in memory, where it has too little for all of it.

use super::refusal::{Refusal, range, refusals, require};
use super::{Bytes, PolicyOptions, Time, limits};
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

    pub(crate) fn ranges(&self) -> Vec<Refusal> {
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
}

fn lru() -> String {
    "lru".into()
}

fn yes() -> bool {
    true
}
