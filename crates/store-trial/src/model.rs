//! The model that a trial compares the store with: for each slice a map, and the writes that are not known to be
//! durable.

use flashlane_store::{Durability, Snapshot, Ticket};
use std::collections::BTreeMap;

/// A value as the model keeps it: when it expires (0 for never), and its bytes.
pub(crate) type Value = (u64, Vec<u8>);

/// Keys and values.
pub(crate) type Map = BTreeMap<Vec<u8>, Value>;

/// A write: the new value of each key, or none.
pub(crate) type Changes = Vec<(Vec<u8>, Option<Value>)>;

/// A write that is not known to be durable.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) ticket: Ticket,
    pub(crate) changes: Changes,
    pub(crate) durability: Durability,
    /// Its number, once it was acknowledged.
    pub(crate) sequence: Option<u64>,
}

/// A slice: the state that is durable, and the writes after it, in the order in which the store takes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SliceModel {
    pub(crate) durable: Map,
    pub(crate) journal: Vec<Write>,
    /// A write whose value is stored in pieces is in flight: later ones could overtake it.
    pub(crate) is_blocked: Option<Ticket>,
}

/// A get in flight: its key, its snapshot's value, and the values that it may return otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Get {
    pub(crate) key: Vec<u8>,
    pub(crate) slice: usize,
    pub(crate) allowed: Vec<Option<Value>>,
}

/// A live snapshot, and what it sees.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) snapshot: Snapshot,
    pub(crate) map: Map,
    /// Scans in flight at it.
    pub(crate) scans: u32,
}

/// Everything that the store should hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) slices: Vec<SliceModel>,
    pub(crate) gets: BTreeMap<Ticket, Get>,
    pub(crate) snapshots: Vec<Seen>,
    /// Scans in flight: the number of their snapshot, where they begin, and their most items.
    pub(crate) scans: BTreeMap<Ticket, (u64, Vec<u8>, u64)>,
    pub(crate) now_ms: u64,
}

pub(crate) fn apply(map: &mut Map, changes: &Changes) {
    for (key, value) in changes {
        match value {
            Some(value) => drop(map.insert(key.clone(), value.clone())),
            None => drop(map.remove(key)),
        }
    }
}

/// Returns the entries that a read at `now_ms` finds.
pub(crate) fn visible(map: &Map, now_ms: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let alive = map.iter().filter(|(_, value)| is_alive(value, now_ms));
    alive.map(|(key, (_, bytes))| (key.clone(), bytes.clone())).collect()
}

pub(crate) fn is_alive(value: &Value, now_ms: u64) -> bool {
    value.0 == 0 || value.0 > now_ms
}

impl SliceModel {
    /// Returns the state after all acknowledged writes, and those before them.
    fn acknowledged(&self) -> (Map, usize) {
        let count = self.journal.iter().rposition(|write| write.sequence.is_some()).map_or(0, |nth| nth + 1);
        let mut map = self.durable.clone();
        self.journal[..count].iter().for_each(|write| apply(&mut map, &write.changes));
        (map, count)
    }

    /// Returns the values of a key that a read may return now.
    pub(crate) fn allowed(&self, key: &[u8]) -> Vec<Option<Value>> {
        let (map, count) = self.acknowledged();
        let mut allowed = vec![map.get(key).cloned()];
        for write in &self.journal[count..] {
            allowed
                .extend(write.changes.iter().filter(|(own, _)| own == key).map(|(_, value)| value.clone()));
        }
        allowed
    }

    /// Returns the state with every write; all are acknowledged.
    pub(crate) fn settled(&self) -> Option<Map> {
        let (map, count) = self.acknowledged();
        (count == self.journal.len()).then_some(map)
    }

    /// Every write up to `sequence` is durable.
    pub(crate) fn durable_to(&mut self, sequence: u64) {
        let is_durable = |write: &Write| write.sequence.is_some_and(|own| own <= sequence);
        let count = self.journal.iter().rposition(is_durable).map_or(0, |nth| nth + 1);
        for write in &self.journal[..count] {
            // One that is not acknowledged yet has a lower number than a later one of its slice.
            apply(&mut self.durable, &write.changes);
        }
        let rest = self.journal.split_off(count);
        self.journal = rest;
    }

    /// Returns the number of writes after the durable ones with which this slice is what was found.
    pub(crate) fn matching(&self, found: &BTreeMap<Vec<u8>, Vec<u8>>, now_ms: u64) -> Option<(usize, Map)> {
        let mut map = self.durable.clone();
        for count in 0..=self.journal.len() {
            if visible(&map, now_ms) == *found {
                return Some((count, map));
            }
            if let Some(write) = self.journal.get(count) {
                apply(&mut map, &write.changes);
            }
        }
        None
    }
}
