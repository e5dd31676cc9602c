//! A container: the entries of a slice that are in no patch yet, sorted, in memory.
//!
//! Invariants:
//! - Its entries fit into one patch: a batch is only added where they still do.
//! - Of a key there are several versions only where a snapshot needs them, from the newest to the oldest.
//! - Every record of it lies in the log's pages `first_page..end_page`.

use crate::builder::{Builder, Head, Shape, Size};
use crate::entry::{Entry, Version};
use crate::footer::PatchFooter;
use crate::snapshots::Snapshots;
use flashlane_block::Payload;
use std::collections::BTreeMap;

/// Memory of an entry beside its key and value: nodes of the map and the headers of both.
const ENTRY_MEMORY_BYTES: u64 = 128;

/// Entries in memory.
#[derive(Debug, Default)]
pub(crate) struct Container {
    entries: BTreeMap<Vec<u8>, Vec<Version>>,
    size: Size,
    tombstones: u64,
    /// The log's pages with its records.
    pages: Option<std::ops::Range<u64>>,
}

impl Container {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The log's page in which its first record begins.
    pub(crate) fn first_page(&self) -> Option<u64> {
        self.pages.as_ref().map(|pages| pages.start)
    }

    /// The log's page behind its last record.
    pub(crate) fn end_page(&self) -> u64 {
        self.pages.as_ref().map_or(0, |pages| pages.end)
    }

    /// Returns whether it has tombstones.
    pub(crate) fn has_tombstones(&self) -> bool {
        self.tombstones > 0
    }

    /// Number of its entries.
    pub(crate) fn entries(&self) -> u64 {
        self.size.entries()
    }

    /// Bytes of its entries.
    pub(crate) fn entry_bytes(&self) -> u64 {
        self.size.entry_bytes()
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.size.entry_bytes() + ENTRY_MEMORY_BYTES * self.size.entries()
    }

    /// Returns whether a batch of this size fits beside the entries.
    pub(crate) fn fits(&self, shape: &Shape, batch: &Size) -> bool {
        self.size.patch_bytes_max(shape, batch) <= shape.block_bytes
    }

    /// Adds the entries of a record that lies in these pages of the log. Returns the versions that nobody reads any more.
    pub(crate) fn add(
        &mut self,
        shape: &Shape,
        entries: Vec<Entry>,
        pages: std::ops::Range<u64>,
        snapshots: &Snapshots,
    ) -> Vec<Version> {
        let start = self.first_page().unwrap_or(pages.start);
        assert!(start <= pages.start && self.end_page() <= pages.end, "records come in the order of the log");
        self.pages = Some(start..pages.end);
        let mut removed = Vec::new();
        for Entry { key, version } in entries {
            self.size.add(shape, &key, &version);
            self.tombstones += u64::from(version.body.is_tombstone());
            let versions = self.entries.entry(key.clone()).or_default();
            debug_assert!(versions.first().is_none_or(|newest| newest.sequence <= version.sequence));
            versions.insert(0, version);
            for version in snapshots.prune(versions, |version| version.sequence) {
                self.size.remove(shape, &key, &version);
                self.tombstones -= u64::from(version.body.is_tombstone());
                removed.push(version);
            }
        }
        removed
    }

    /// Returns the newest version of `key` up to `sequence`.
    pub(crate) fn get(&self, key: &[u8], sequence: u64) -> Option<&Version> {
        newest(self.entries.get(key)?, sequence)
    }

    /// Returns the keys from `from` on with their newest versions up to `sequence`.
    pub(crate) fn range<'a>(
        &'a self,
        from: &[u8],
        sequence: u64,
    ) -> impl Iterator<Item = (&'a [u8], &'a Version)> + 'a {
        let keys =
            self.entries.range::<[u8], _>((std::ops::Bound::Included(from), std::ops::Bound::Unbounded));
        keys.filter_map(move |(key, versions)| Some((&key[..], newest(versions, sequence)?)))
    }

    /// Its first and last key. Requires: it has entries.
    pub(crate) fn ends(&self) -> (&[u8], &[u8]) {
        let (first, last) = (self.entries.first_key_value(), self.entries.last_key_value());
        (first.expect("it has entries").0, last.expect("it has entries").0)
    }

    /// Pieces that its entries refer to.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries.values().flatten().flat_map(|version| version.body.pieces().iter().copied())
    }

    /// Builds the patch of all entries. Requires: there is one.
    pub(crate) fn to_patch(
        &self,
        shape: Shape,
        payload: Payload,
        head: Head,
        store: u128,
    ) -> (Payload, PatchFooter) {
        let mut builder = Builder::new(shape, payload, 0);
        for (key, versions) in &self.entries {
            versions.iter().for_each(|version| builder.push(key, version));
        }
        builder.finish(head, store)
    }
}

/// Of versions from the newest to the oldest, returns the newest up to `sequence`.
fn newest(versions: &[Version], sequence: u64) -> Option<&Version> {
    versions.iter().find(|version| version.sequence <= sequence)
}
