//! Builds a patch: entries in order, in the buffer of the block that they will fill.
//!
//! # Groups
//! A get reads one group. Small entries, of up to a quarter of the group size, are packed so that a group lies within
//! one stretch of that size, and the rest of the stretch is left where the next entry would cross its end: the read is
//! one read unit. A larger entry is a separate group and begins where the one before ended: it costs one read unit more
//! than its length takes, and no space. All versions of a key are in one group, so that its index entry finds all of
//! them.
//!
//! # Size
//! A container becomes one patch, so it MUST be known before that its entries fit, in whatever order they came:
//! [`Size`] bounds what they take. With small entries of at most `m` bytes and groups of `g`, less than `m` is left in
//! a stretch, so there are at most `small / (g - m) + 1` of them, and one more for each large entry, which leaves a
//! stretch begun.

#[cfg(test)]
mod tests;

use crate::entry::{Entry, EntryRef, Version};
use crate::expiring::{Expiring, ExpiryTimes};
use crate::filter::{Filter, filter_bytes, hash_key};
use crate::footer::{Fields, Origin, PatchFooter, TRAILER_BYTES};
use crate::index::{IndexBuilder, shared_prefix};
use crate::statement::Statement;
use flashlane_block::Payload;
use std::collections::BTreeSet;

/// The shape of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of a block.
    pub(crate) block_bytes: u64,
    /// Bytes of a group of small entries: a multiple of the device's read unit.
    pub(crate) group_bytes: u64,
    /// Most bytes that the bounds of a slice take.
    pub(crate) bounds_bytes: u64,
}

impl Shape {
    /// An entry of at most this many bytes is small.
    fn small_bytes(&self) -> u64 {
        self.group_bytes / 4
    }
}

/// Bounds the bytes of a patch with some entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    small_bytes: u64,
    small_bytes_max: u64,
    large: u64,
    large_bytes: u64,
    large_key_bytes: u64,
    key_bytes_max: u64,
    entries: u64,
    pieces: u64,
}

impl Size {
    /// Returns the size of these entries.
    pub(crate) fn of(shape: &Shape, entries: &[Entry]) -> Self {
        let mut size = Self::default();
        entries.iter().for_each(|entry| size.add(shape, &entry.key, &entry.version));
        size
    }

    /// Adds an entry.
    pub(crate) fn add(&mut self, shape: &Shape, key: &[u8], version: &Version) {
        let bytes = version.encoded_bytes(key);
        self.entries += 1;
        self.pieces += version.body.pieces().len() as u64;
        self.key_bytes_max = self.key_bytes_max.max(key.len() as u64);
        if bytes <= shape.small_bytes() {
            self.small_bytes += bytes;
            self.small_bytes_max = self.small_bytes_max.max(bytes);
        } else {
            self.large += 1;
            self.large_bytes += bytes;
            self.large_key_bytes += key.len() as u64;
        }
    }

    /// Takes an entry away that was added.
    pub(crate) fn remove(&mut self, shape: &Shape, key: &[u8], version: &Version) {
        let bytes = version.encoded_bytes(key);
        self.entries -= 1;
        self.pieces -= version.body.pieces().len() as u64;
        if bytes <= shape.small_bytes() {
            self.small_bytes -= bytes;
        } else {
            self.large -= 1;
            self.large_bytes -= bytes;
            self.large_key_bytes -= key.len() as u64;
        }
    }

    /// Number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of the entries.
    pub(crate) fn entry_bytes(&self) -> u64 {
        self.small_bytes + self.large_bytes
    }

    /// Returns the most bytes that a patch of these entries takes, and of those of `other`.
    pub(crate) fn patch_bytes_max(&self, shape: &Shape, other: &Self) -> u64 {
        let small = self.small_bytes + other.small_bytes;
        let small_max = self.small_bytes_max.max(other.small_bytes_max);
        let large = self.large + other.large;
        let stretches = small / (shape.group_bytes - small_max) + 1 + large;
        let groups = stretches + large;
        let key_max = self.key_bytes_max.max(other.key_bytes_max);
        let separators = stretches * small_max.min(key_max) + self.large_key_bytes + other.large_key_bytes;
        let keys = 2 * key_max;
        let lists = self.pieces + other.pieces;
        small
            + self.large_bytes
            + other.large_bytes
            + stretches * small_max
            + 8 * groups
            + 16
            + separators
            + filter_bytes(self.entries + other.entries, shape.block_bytes)
            + Fields::bytes_max(shape.block_bytes, shape.bounds_bytes, keys, lists)
            + TRAILER_BYTES
    }
}

/// What a patch is, beside its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) slice: u32,
    pub(crate) lower: Vec<u8>,
    pub(crate) upper: Vec<u8>,
    pub(crate) level: u8,
    pub(crate) run: u64,
    pub(crate) creation: u64,
    /// The writes that the patch stands for: those of its entries, and those whose entries were replaced by them.
    pub(crate) sequences: (u64, u64),
    pub(crate) origin: Origin,
    pub(crate) stale: Vec<u64>,
    pub(crate) statement: Statement,
}

/// A patch that is being built.
pub(crate) struct Builder {
    shape: Shape,
    payload: Payload,
    /// Bytes that the head's lists and keys take at most, added to those of the entries.
    reserved_lists: u64,
    /// End of what was written.
    at: usize,
    group_start: usize,
    index: IndexBuilder,
    hashes: Vec<u64>,
    first: Vec<u8>,
    last: Vec<u8>,
    entries: u64,
    tombstones: u64,
    expiry_times: ExpiryTimes,
    entry_bytes: u64,
    sequences: (u64, u64),
    pieces: BTreeSet<u64>,
    scratch: Vec<u8>,
}

impl Builder {
    /// Begins a patch in `payload`, whose head has lists of `list_entries` numbers.
    pub(crate) fn new(shape: Shape, mut payload: Payload, list_entries: u64) -> Self {
        payload.set_len(shape.block_bytes);
        Self {
            shape,
            payload,
            reserved_lists: list_entries,
            at: 0,
            group_start: 0,
            index: IndexBuilder::default(),
            hashes: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            entries: 0,
            tombstones: 0,
            expiry_times: ExpiryTimes::default(),
            entry_bytes: 0,
            sequences: (u64::MAX, 0),
            pieces: BTreeSet::new(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Returns whether versions of a key, none of which is in the patch, fit behind its entries. Of each version the
    /// bytes of its entry are given, and the number of its pieces.
    pub(crate) fn fits(&self, key: &[u8], versions: impl Iterator<Item = (u64, u64)> + Clone) -> bool {
        let length = versions.clone().next().map_or(0, |(bytes, _)| bytes);
        let (bytes, pieces) = versions.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let keys = self.first.len().max(key.len()) + key.len();
        let lists = self.reserved_lists + self.pieces.len() as u64 + pieces;
        let end = if self.is_empty() { bytes } else { self.start_of(length as usize) as u64 + bytes };
        let index = self.index.len_bytes() + 16 + key.len() as u64;
        let filter = filter_bytes(self.hashes.len() as u64 + 1, self.shape.block_bytes);
        let Shape { block_bytes, bounds_bytes, .. } = self.shape;
        let fields = Fields::bytes_max(block_bytes, bounds_bytes, keys as u64, lists);
        end + index + filter + fields + TRAILER_BYTES <= self.shape.block_bytes
    }

    /// Appends an entry. Requires: keys come in order, and versions of a key from the newest to the oldest.
    pub(crate) fn push(&mut self, key: &[u8], version: &Version) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let value = version.encode_to_value(key, &mut scratch);
        self.append(key, version.sequence, version.body.is_tombstone(), [&scratch, value]);
        self.pieces.extend(version.body.pieces());
        self.expiry_times.add(version.expiry_ms);
        self.scratch = scratch;
    }

    /// Appends an entry of another patch. Requires: as [`push`](Self::push).
    pub(crate) fn copy(&mut self, entry: EntryRef<'_>) {
        self.append(entry.key, entry.sequence, entry.is_tombstone(), [entry.bytes, &[]]);
        self.pieces.extend(entry.pieces());
        self.expiry_times.add(entry.expiry_ms);
    }

    /// Appends an entry, whose bytes are given in two parts.
    fn append(&mut self, key: &[u8], sequence: u64, is_tombstone: bool, [head, rest]: [&[u8]; 2]) {
        let length = head.len() + rest.len();
        let is_same_key = !self.is_empty() && self.last == key;
        debug_assert!(self.is_empty() || *self.last <= *key, "{key:?} comes behind {:?}", self.last);
        if !is_same_key {
            self.begin_key(key, length);
        }
        let end = self.at + length;
        assert!(end as u64 <= self.shape.block_bytes, "the entries of a patch exceed its block");
        let (to, to_rest) = self.payload.as_mut_slice()[self.at..end].split_at_mut(head.len());
        to.copy_from_slice(head);
        to_rest.copy_from_slice(rest);
        self.at = end;
        self.entries += 1;
        self.tombstones += u64::from(is_tombstone);
        self.entry_bytes += length as u64;
        let (low, high) = self.sequences;
        self.sequences = (low.min(sequence), high.max(sequence));
    }

    /// Begins a group where the key's first entry of `length` bytes does not belong to the one before.
    fn begin_key(&mut self, key: &[u8], length: usize) {
        if self.is_empty() {
            self.index.push(0, None, key);
            self.first = key.to_vec();
        } else if self.at + length > self.stretch_end() {
            let start = self.start_of(length);
            assert!(start as u64 <= self.shape.block_bytes, "the groups of a patch exceed its block");
            self.payload.as_mut_slice()[self.at..start].fill(0);
            (self.at, self.group_start) = (start, start);
            self.index.push(start as u32, Some(&self.last), key);
        }
        self.hashes.push(hash_key(key));
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    /// Returns the end of the stretch in which the last group begins.
    fn stretch_end(&self) -> usize {
        let group_bytes = self.shape.group_bytes as usize;
        (self.group_start / group_bytes + 1) * group_bytes
    }

    /// Returns where the next key begins, whose first entry has `length` bytes.
    fn start_of(&self, length: usize) -> usize {
        let is_small = length as u64 <= self.shape.small_bytes();
        let crosses = self.at + length > self.stretch_end();
        if is_small && crosses { self.at.max(self.stretch_end()) } else { self.at }
    }

    /// Ends the patch. Returns the block to be put, and what stays in memory of it. Requires: it has an entry.
    pub(crate) fn finish(mut self, head: Head, store: u128) -> (Payload, PatchFooter) {
        assert!(!self.is_empty(), "a patch has entries");
        let Head { slice, lower, upper, level, run, creation, sequences, origin, stale, statement } = head;
        let (low, high) = self.sequences;
        assert!(
            sequences.0 <= low && high <= sequences.1,
            "entries {low} to {high} are not of {sequences:?}"
        );
        let prefix = shared_prefix(&self.first, &self.last);
        let fields = Fields {
            slice,
            lower,
            upper,
            level,
            run,
            creation,
            sequences,
            entries: self.entries,
            tombstones: self.tombstones,
            entry_bytes: self.entry_bytes,
            origin,
            stale,
            pieces: self.pieces.into_iter().collect(),
            first: self.first,
            last: self.last,
        };
        let (index, filter) =
            (self.index.finish(self.at as u32, prefix), Filter::new(&self.hashes, self.shape.block_bytes));
        let statement = statement.fits(self.shape.block_bytes).then_some(statement);
        let expiring = self.expiry_times.finish();
        let mut footer = PatchFooter { fields, statement, expiring, index, filter };
        let mut end = footer.encode(store);
        // No room is kept for it.
        if (self.at + end.len()) as u64 > self.shape.block_bytes {
            footer.expiring = Expiring::default();
            end = footer.encode(store);
        }
        let length = self.at + end.len();
        assert!(length as u64 <= self.shape.block_bytes, "a patch of {length} bytes exceeds its block");
        self.payload.as_mut_slice()[self.at..length].copy_from_slice(&end);
        self.payload.set_len(length as u64);
        (self.payload, footer)
    }
}
