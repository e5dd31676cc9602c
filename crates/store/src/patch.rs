//! A stored patch: its block, and its index and filter in memory.

use crate::error::Gap;
use crate::expiring::Expiring;
use crate::filter::Filter;
use crate::footer::{Fields, PatchFooter};
use crate::index::Index;
use std::cmp::Reverse;

/// A patch.
#[derive(Debug)]
pub(crate) struct Patch {
    /// Its block.
    pub(crate) id: u64,
    pub(crate) fields: Fields,
    pub(crate) expiring: Expiring,
    pub(crate) index: Index,
    filter: Filter,
}

/// A place in the order of age: the lower one is newer.
pub(crate) type Age = (u8, Reverse<u64>);

impl Patch {
    pub(crate) fn new(id: u64, footer: PatchFooter) -> Self {
        let PatchFooter { fields, index, filter, expiring, statement: _ } = footer;
        Self { id, fields, expiring, index, filter }
    }

    pub(crate) fn age(&self) -> Age {
        (self.fields.level, Reverse(self.fields.run))
    }

    /// Returns whether its first and last key enclose keys that those of another one enclose too.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.fields.first <= other.fields.last && other.fields.first <= self.fields.last
    }

    /// Returns whether a key lies between its first and last.
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        *self.fields.first <= *key && *key <= *self.fields.last
    }

    /// Returns whether it may hold the key with this hash.
    pub(crate) fn may_hold(&self, key: &[u8], hash: u64) -> bool {
        self.covers(key) && self.filter.may_hold(hash)
    }

    /// Returns the bytes of the block in which the key stands if it does. Requires: the patch covers the key.
    pub(crate) fn range_of(&self, key: &[u8]) -> std::ops::Range<u64> {
        let group = self.index.group_of(key);
        self.index.range(group..group + 1)
    }

    /// Returns the keys that a group may hold.
    pub(crate) fn keys_of(&self, group: usize) -> Gap {
        let from = self.index.bound_of(group, &self.fields.first);
        let to = match group + 1 < self.index.groups() {
            true => self.index.bound_of(group + 1, &self.fields.first),
            false => [&self.fields.last, &[0][..]].concat(),
        };
        Gap { from, to }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let fields = &self.fields;
        let keys = fields.lower.len() + fields.upper.len() + fields.first.len() + fields.last.len();
        let lists = 8 * (fields.stale.len() + fields.pieces.len());
        (size_of::<Self>() + keys + lists + self.index.memory_bytes() + self.filter.len_bytes()) as u64
    }
}
