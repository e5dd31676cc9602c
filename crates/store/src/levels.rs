//! The patches of a slice, newest first: by level, then from the highest run to the lowest, then by first key.
//!
//! Invariants:
//! - Of two versions of a key the newer one is in the patch that comes first, or in the same patch.
//!   `flashlane_policy::merge` says which merges keep that.
//! - The patches of a run do not overlap, but that the last key of one may be the first of the next, where the versions
//!   that snapshots need of one key exceed a patch.

use crate::cursor::Cursor;
use crate::patch::{Age, Patch};
use crate::statement::Census;
use flashlane_policy::merge;
use std::ops::Range;
use std::sync::Arc;

/// Stored patches of a slice.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    patches: Vec<Arc<Patch>>,
    /// The patches of each run.
    runs: Vec<Range<usize>>,
    memory_bytes: u64,
    value_bytes_mean: u64,
    /// That of all patches.
    census: Census,
    /// Grows with every change of the census.
    changes: u64,
    /// The time for which was last looked for entries that have expired, and the next at which there are more.
    looked_ms: u64,
    next_expiry_ms: Option<u64>,
}

impl Levels {
    pub(crate) fn patches(&self) -> &[Arc<Patch>] {
        &self.patches
    }

    /// Bytes of memory of the patches' indexes and filters.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Mean bytes of entries that are no tombstones.
    pub(crate) fn value_bytes_mean(&self) -> u64 {
        self.value_bytes_mean
    }

    pub(crate) fn census(&self) -> Census {
        self.census
    }

    /// Grows with every change of the census.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Replaces the patches with these blocks by others.
    pub(crate) fn replace(&mut self, removed: &[u64], added: impl IntoIterator<Item = Arc<Patch>>) {
        let before = self.patches.len();
        self.patches.retain(|patch| !removed.contains(&patch.id));
        assert_eq!(self.patches.len() + removed.len(), before, "patches that are replaced are there");
        let kept = self.patches.len();
        self.patches.extend(added);
        removed.iter().for_each(|&id| self.census.remove(id));
        self.patches[kept..].iter().for_each(|patch| self.census.add(patch.id));
        self.changes += 1;
        self.patches.sort_by(|a, b| {
            let order = a.age().cmp(&b.age()).then_with(|| a.fields.first.cmp(&b.fields.first));
            order.then(a.fields.creation.cmp(&b.fields.creation))
        });
        self.memory_bytes = self.patches.iter().map(|patch| patch.memory_bytes()).sum();
        let fields = self.patches.iter().map(|patch| &patch.fields);
        self.value_bytes_mean =
            merge::value_bytes_mean(fields.map(|own| (own.entry_bytes, own.entries, own.tombstones)));
        self.look_for_next_expiry();
        self.runs.clear();
        let ages: Vec<Age> = self.patches.iter().map(|patch| patch.age()).collect();
        for run in ages.chunk_by(|a, b| a == b) {
            let start = self.runs.last().map_or(0, |run| run.end);
            self.runs.push(start..start + run.len());
        }
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    fn look_for_next_expiry(&mut self) {
        let next = self.patches.iter().filter_map(|patch| patch.expiring.next_ms(self.looked_ms));
        self.next_expiry_ms = next.min();
    }

    /// Returns whether more entries have expired by `now_ms` than when they were last looked for.
    pub(crate) fn have_expired(&mut self, now_ms: u64) -> bool {
        let have_more = self.next_expiry_ms.is_some_and(|next| next <= now_ms);
        if have_more {
            self.looked_ms = now_ms;
            self.look_for_next_expiry();
        }
        have_more
    }

    fn check(&self) {
        for run in &self.runs {
            for pair in self.patches[run.clone()].windows(2) {
                let (a, b) = (&pair[0].fields, &pair[1].fields);
                assert!(a.last <= b.first, "blocks {} and {} of one run overlap", pair[0].id, pair[1].id);
            }
        }
    }

    /// Returns the patches that may hold a key, newest first.
    pub(crate) fn candidates(&self, key: &[u8], hash: u64) -> impl Iterator<Item = &Arc<Patch>> {
        self.runs.iter().flat_map(move |run| {
            let run = &self.patches[run.clone()];
            let first = run.partition_point(|patch| *patch.fields.last < *key);
            let from = run[first..].iter().take_while(move |patch| *patch.fields.first <= *key);
            from.filter(move |patch| patch.may_hold(key, hash))
        })
    }

    /// Returns a cursor for each run that has keys from `key` on and below `end`, newest first.
    pub(crate) fn cursors(&self, key: &[u8], end: Option<&[u8]>) -> Vec<Cursor> {
        let cursor = |run: &Range<usize>| {
            let run = &self.patches[run.clone()];
            let run = &run[run.partition_point(|patch| *patch.fields.last < *key)..];
            let patches = run.iter().take_while(|patch| end.is_none_or(|end| *patch.fields.first < *end));
            Cursor::new(patches.cloned(), key)
        };
        self.runs.iter().map(cursor).filter(|cursor| !cursor.is_at_end()).collect()
    }

    /// Returns the patches as policies see them. Tombstones and expired values that the oldest snapshot may
    /// need do not count.
    pub(crate) fn for_policy(&self, oldest_snapshot: Option<u64>, now_ms: u64) -> Vec<merge::Patch<'_>> {
        let droppable = |patch: &Patch| {
            let fields = &patch.fields;
            let is_needed = oldest_snapshot.is_some_and(|oldest| oldest < fields.sequences.1);
            // A single entry may be the tombstone that carries the record of a merge with no other result.
            let tombstones = if fields.entries == 1 { 0 } else { fields.tombstones };
            if is_needed { (0, 0) } else { (tombstones, patch.expiring.expired(now_ms)) }
        };
        let patches = self.patches.iter().map(|patch| (&patch.fields, droppable(patch)));
        let seen = patches.map(|(fields, (tombstones, expired))| merge::Patch {
            level: fields.level,
            run: fields.run,
            first: &fields.first,
            last: &fields.last,
            bytes: fields.entry_bytes,
            entries: fields.entries,
            tombstones,
            expired,
        });
        seen.collect()
    }

    /// Returns the number of patches in level 0.
    pub(crate) fn level_0_patches(&self) -> u32 {
        self.patches.iter().take_while(|patch| patch.fields.level == 0).count() as u32
    }
}
