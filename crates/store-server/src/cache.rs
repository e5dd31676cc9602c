//! Values that were used lately, in bounded memory, so that reading them again takes no device.
//!
//! Replaced by CLOCK (Corbató, 1968): keys stand in a circle; the hand passes over one that was used since it came by
//! last, and removes one that was not. An access costs a look-up in a hash table.
//!
//! Invariants: what the cache knows of a key is what the store holds, or will hold once the writes in flight have
//! ended; each key in the table stands in the circle once.

use crate::key::{Key, KeyTable};
use crate::value::{Entry, Value};
use std::collections::VecDeque;

/// Bytes of memory of an entry beside its key and value.
const ENTRY_BYTES: usize = 160;
/// A value that takes more than this part of the cache is not kept.
const SHARE_MAX: usize = 8;

#[derive(Debug)]
struct Cached {
    /// The value, if there is one; the outer `None` where it is not known.
    entry: Option<Option<Entry>>,
    /// Used since the hand came by.
    is_used: bool,
    bytes: usize,
}

/// A cache of values, and of keys that are not there.
#[derive(Debug)]
pub struct Cache {
    entries: KeyTable<Cached>,
    /// From the hand on.
    circle: VecDeque<Key>,
    bytes: usize,
    bytes_max: usize,
}

fn bytes_of(key: &Key, entry: Option<&Option<Entry>>) -> usize {
    let value = match entry {
        Some(Some(Entry { value: Value::String(bytes), .. })) => bytes.capacity(),
        Some(Some(Entry { value: Value::Hash(hash), .. })) => {
            hash.iter().map(|(field, value)| field.len() + value.len() + ENTRY_BYTES).sum()
        }
        _ => 0,
    };
    key.len() + value + ENTRY_BYTES
}

impl Cache {
    /// Begins without entries.
    pub fn new(bytes_max: usize) -> Self {
        Self { entries: KeyTable::default(), circle: VecDeque::new(), bytes: 0, bytes_max }
    }

    /// Returns the bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the value of a key, if there is one; the outer `None` where it is not known.
    pub fn get(&mut self, key: &Key) -> Option<Option<Entry>> {
        let cached = self.entries.get_mut(key)?;
        cached.is_used = true;
        cached.entry.clone()
    }

    /// Keeps the value of a key, or that it has none.
    pub fn put(&mut self, key: &Key, entry: &Option<Entry>) {
        if bytes_of(key, Some(entry)) > self.bytes_max / SHARE_MAX {
            return self.forget(key);
        }
        self.set(key, Some(entry.clone()));
        while self.bytes > self.bytes_max {
            self.remove_one();
        }
    }

    /// Forgets a key.
    pub fn forget(&mut self, key: &Key) {
        if self.entries.contains_key(key) {
            self.set(key, None);
        }
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        *self = Self::new(self.bytes_max);
    }

    fn set(&mut self, key: &Key, entry: Option<Option<Entry>>) {
        let bytes = bytes_of(key, entry.as_ref());
        let before = match self.entries.get_mut(key) {
            Some(cached) => {
                cached.entry = entry;
                cached.is_used = true;
                std::mem::replace(&mut cached.bytes, bytes)
            }
            None => {
                self.entries.insert(key.clone(), Cached { entry, is_used: false, bytes });
                self.circle.push_back(key.clone());
                0
            }
        };
        self.bytes = self.bytes - before + bytes;
    }

    /// Moves the hand to the next key that was not used, and removes it.
    fn remove_one(&mut self) {
        while let Some(key) = self.circle.pop_front() {
            let cached = self.entries.get_mut(&key).expect("a key in the circle is in the table");
            if !std::mem::take(&mut cached.is_used) {
                self.bytes -= cached.bytes;
                self.entries.remove(&key);
                return;
            }
            self.circle.push_back(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(nth: usize) -> Key {
        Key::from(format!("key{nth:04}").as_bytes())
    }

    fn entry(bytes: usize) -> Option<Entry> {
        Some(Entry { value: Value::string(vec![7; bytes]), expiry_ms: None })
    }

    #[test]
    fn memory_is_bounded_and_used_keys_stay() {
        let mut cache = Cache::new(100_000);
        for nth in 0..1000 {
            cache.put(&key(nth), &entry(840));
            assert!(cache.get(&key(0)).is_some(), "a key that is used stays");
            assert!(cache.bytes() <= 100_000);
            assert_eq!(cache.entries.len(), cache.circle.len());
        }
        assert!(cache.entries.len() >= 90, "{} entries", cache.entries.len());
        assert_eq!(cache.get(&key(1)), None);
        assert_eq!(cache.get(&key(999)), Some(entry(840)));
    }

    #[test]
    fn keys_are_known_absent_or_forgotten() {
        let mut cache = Cache::new(100_000);
        for _ in 0..1000 {
            cache.put(&key(1), &None);
            assert_eq!(cache.get(&key(1)), Some(None));
            cache.forget(&key(1));
            assert_eq!(cache.get(&key(1)), None);
            cache.put(&key(1), &entry(5));
            // Too long to be kept: what was known is wrong now.
            cache.put(&key(1), &entry(50_000));
            assert_eq!(cache.get(&key(1)), None);
        }
        assert_eq!((cache.circle.len(), cache.entries.len()), (1, 1));
        cache.clear();
        assert_eq!((cache.bytes(), cache.get(&key(1))), (0, None));
    }
}
