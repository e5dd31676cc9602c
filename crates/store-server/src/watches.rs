//! Keys that clients watch for their next EXEC.
//!
//! Invariant: `watchers` has a watch under each key of it, and no key without a watch.

use crate::key::Key;
use std::collections::{BTreeMap, BTreeSet};

/// Number of the keys that a client watches, never used again.
pub type WatchId = u64;

#[derive(Debug, Default)]
struct Watch {
    keys: BTreeSet<Key>,
    /// One of the keys was changed.
    is_broken: bool,
}

/// The watched keys of all clients.
#[derive(Debug, Default)]
pub struct Watches {
    watches: BTreeMap<WatchId, Watch>,
    watchers: BTreeMap<Key, Vec<WatchId>>,
    last: WatchId,
}

impl Watches {
    /// Returns a new number.
    pub fn next_id(&mut self) -> WatchId {
        self.last += 1;
        self.last
    }

    /// Watches a key. Returns false where the watch has it already.
    pub fn add(&mut self, id: WatchId, key: Key) -> bool {
        let is_new = self.watches.entry(id).or_default().keys.insert(key.clone());
        if is_new {
            self.watchers.entry(key).or_default().push(id);
        }
        is_new
    }

    /// Forgets watched keys. Returns whether one was changed.
    pub fn forget(&mut self, id: WatchId) -> bool {
        let Some(watch) = self.watches.remove(&id) else { return false };
        for key in &watch.keys {
            let watchers = self.watchers.get_mut(key).expect("a watched key has watchers");
            watchers.retain(|own| *own != id);
            if watchers.is_empty() {
                self.watchers.remove(key);
            }
        }
        watch.is_broken
    }

    /// Notes that a key was changed.
    pub fn break_key(&mut self, key: &Key) {
        for id in self.watchers.get(key).into_iter().flatten() {
            self.watches.get_mut(id).expect("a watcher is there").is_broken = true;
        }
    }

    /// Returns whether no key is watched.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.watches.is_empty() && self.watchers.is_empty()
    }
}
