//! Keys that commands work on, each with its hash.
//!
//! A command looks its key up a dozen times, in the tables of cells and of cached values. The hash is computed once,
//! and the same key, shared, is recognised by its address. It is keyed against chosen collisions, with a secret of the
//! thread; no order depends on it.

use hashbrown::{Equivalent, HashMap};
use std::cmp::Ordering;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::ops::Deref;
use std::rc::Rc;

thread_local! {
    static SECRET: RandomState = RandomState::new();
}

fn hash_of(bytes: &[u8]) -> u64 {
    SECRET.with(|secret| {
        let mut hasher = secret.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    })
}

/// A key.
#[derive(Clone, Debug)]
pub struct Key {
    hash: u64,
    bytes: Rc<[u8]>,
}

/// The bytes of a key that is looked up.
#[derive(Clone, Copy, Debug)]
pub struct KeyBytes<'a> {
    hash: u64,
    bytes: &'a [u8],
}

impl<'a> KeyBytes<'a> {
    /// Returns the key with these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { hash: hash_of(bytes), bytes }
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        Self { hash: hash_of(bytes), bytes: bytes.into() }
    }
}

impl From<Vec<u8>> for Key {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(&bytes[..])
    }
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Rc::ptr_eq(&self.bytes, &other.bytes) || self.bytes == other.bytes)
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Hash for KeyBytes<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for KeyBytes<'_> {
    #[inline]
    fn equivalent(&self, key: &Key) -> bool {
        self.hash == key.hash && *self.bytes == *key.bytes
    }
}

/// Passes on the hash of a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known(u64);

impl Hasher for Known {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a key gives its hash");
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A table by key.
pub type KeyTable<T> = HashMap<Key, T, BuildHasherDefault<Known>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_found_by_another_one_and_by_its_bytes() {
        let mut table = KeyTable::default();
        for number in 0..1000_u32 {
            table.insert(Key::from(&number.to_be_bytes()[..]), number);
        }
        for number in 0..1000_u32 {
            let bytes = number.to_be_bytes();
            assert_eq!(table.get(&Key::from(bytes.to_vec())), Some(&number));
            assert_eq!(table.get(&KeyBytes::new(&bytes)), Some(&number));
        }
        assert_eq!(table.get(&KeyBytes::new(&1000_u32.to_be_bytes())), None);
    }
}
