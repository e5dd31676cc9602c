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
use flashlane_base::ShortBytes;
use flashlane_block::Payload;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

/// A key in the map: up to 30 bytes stand in its nodes, and take no more than the vector of a longer one with its tag.
type MapKey = ShortBytes<30, Vec<u8>>;

const _: () = assert!(size_of::<MapKey>() == 32);

/// Memory of an entry beside its key and value: its place in nodes of the map, two thirds of which are in use, and the
/// header of the value with those of the allocations of both.
const ENTRY_MEMORY_BYTES: u64 = (3 * (size_of::<MapKey>() + size_of::<Versions>()) / 2 + 72) as u64;

/// Versions of a key.
#[derive(Debug)]
struct Versions {
    newest: Version,
    /// Those that snapshots need, from the newest to the oldest.
    older: Vec<Version>,
}

impl Versions {
    fn new(newest: Version) -> Self {
        Self { newest, older: Vec::new() }
    }

    /// Adds a version. Returns those that no snapshot sees any more.
    fn add(&mut self, version: Version, snapshots: &Snapshots) -> Vec<Version> {
        debug_assert!(self.newest.sequence <= version.sequence, "writes come in the order of their numbers");
        let before = std::mem::replace(&mut self.newest, version);
        self.older.insert(0, before);
        let removed =
            snapshots.prune(Some(self.newest.sequence), &mut self.older, |version| version.sequence);
        if self.older.is_empty() {
            self.older = Vec::new();
        }
        removed
    }

    /// Returns them from the newest to the oldest.
    fn iter(&self) -> impl Iterator<Item = &Version> {
        std::iter::once(&self.newest).chain(&self.older)
    }

    /// Returns the newest up to `sequence`.
    fn newest(&self, sequence: u64) -> Option<&Version> {
        self.iter().find(|version| version.sequence <= sequence)
    }
}

/// Entries in memory.
#[derive(Debug, Default)]
pub(crate) struct Container {
    entries: BTreeMap<MapKey, Versions>,
    size: Size,
    tombstones: u64,
    /// The log's pages with its records.
    pages: Option<std::ops::Range<u64>>,
    /// The lowest and highest number of its writes, also of those whose entries were replaced.
    sequences: Option<(u64, u64)>,
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

    /// The lowest and highest number of its writes. Requires: it is not empty.
    pub(crate) fn sequences(&self) -> (u64, u64) {
        self.sequences.expect("a container with entries has writes")
    }

    /// Returns whether it has tombstones.
    pub(crate) fn has_tombstones(&self) -> bool {
        self.tombstones > 0
    }

    /// Number of its entries.
    pub(crate) fn entries(&self) -> u64 {
        self.size.entries()
    }

    /// Number of its entries without tombstones.
    pub(crate) fn live_entries(&self) -> u64 {
        self.entries() - self.tombstones
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

    /// Adds the entries of a record that lies in these pages of the log. Returns the versions that no snapshot sees any
    /// more.
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
            let (low, high) = self.sequences.unwrap_or((version.sequence, version.sequence));
            self.sequences = Some((low.min(version.sequence), high.max(version.sequence)));
            self.size.add(shape, &key, &version);
            self.tombstones += u64::from(version.body.is_tombstone());
            match self.entries.entry(key.into()) {
                Place::Vacant(place) => {
                    place.insert(Versions::new(version));
                }
                Place::Occupied(mut place) => {
                    for version in place.get_mut().add(version, snapshots) {
                        self.size.remove(shape, place.key(), &version);
                        self.tombstones -= u64::from(version.body.is_tombstone());
                        removed.push(version);
                    }
                }
            }
        }
        removed
    }

    /// Returns the newest version of `key` up to `sequence`.
    pub(crate) fn get(&self, key: &[u8], sequence: u64) -> Option<&Version> {
        self.entries.get(key)?.newest(sequence)
    }

    /// Returns the keys from `from` on with their newest versions up to `sequence`.
    pub(crate) fn range<'a>(
        &'a self,
        from: &[u8],
        sequence: u64,
    ) -> impl Iterator<Item = (&'a [u8], &'a Version)> + 'a {
        let keys =
            self.entries.range::<[u8], _>((std::ops::Bound::Included(from), std::ops::Bound::Unbounded));
        keys.filter_map(move |(key, versions)| Some((&key[..], versions.newest(sequence)?)))
    }

    /// Its first and last key. Requires: it has entries.
    pub(crate) fn ends(&self) -> (&[u8], &[u8]) {
        let (first, last) = (self.entries.first_key_value(), self.entries.last_key_value());
        (first.expect("it has entries").0, last.expect("it has entries").0)
    }

    /// Pieces that its entries refer to.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries
            .values()
            .flat_map(Versions::iter)
            .flat_map(|version| version.body.pieces().iter().copied())
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
