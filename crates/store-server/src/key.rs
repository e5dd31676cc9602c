//! Keys that commands work on, each with its hash.
//!
//! A command looks its key up several times, in the tables of cells and of cached values. The hash is computed once. It
//! is keyed against chosen collisions, with a secret of the thread; no order depends on it. A short key stands in the
//! table itself, so that comparing it reads no other memory; a longer one is shared, and recognised by its address.

use flashlane_base::ShortBytes;
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

/// Longest key that is kept within [`Key`]: it takes no more than the address of a longer one does with its tag.
const SHORT_BYTES_MAX: usize = 22;

/// A key.
#[derive(Clone, Debug)]
pub struct Key {
    hash: u64,
    bytes: ShortBytes<SHORT_BYTES_MAX, Rc<[u8]>>,
}

const _: () = assert!(size_of::<Key>() == 32);

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

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && match (&self.bytes, &other.bytes) {
                (ShortBytes::Long(own), ShortBytes::Long(other)) => Rc::ptr_eq(own, other) || own == other,
                (own, other) => own == other,
            }
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
        (**self).cmp(other)
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
        self.hash == key.hash && *self.bytes == **key
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

    #[test]
    fn keys_of_all_lengths_are_told_apart_and_ordered_by_their_bytes() {
        let lengths = [0, 1, SHORT_BYTES_MAX - 1, SHORT_BYTES_MAX, SHORT_BYTES_MAX + 1, 100];
        let all = lengths.into_iter().flat_map(|length| [vec![0; length], vec![b'x'; length]]);
        let keys: Vec<Key> = all.map(Key::from).collect();
        for (nth, key) in keys.iter().enumerate() {
            for (other_nth, other) in keys.iter().enumerate() {
                let is_same = nth == other_nth || (key.is_empty() && other.is_empty());
                assert_eq!(key == other, is_same, "{key:?} and {other:?}");
                assert_eq!(key.cmp(other), (**key).cmp(&**other));
            }
            assert_eq!(*key, Key::from(&key[..]));
        }
    }
}
