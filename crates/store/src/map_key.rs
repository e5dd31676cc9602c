//! A key in the map of a container: a short one stands in the map's nodes, so that a search compares keys without
//! reading other memory for each.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Deref;

/// Longest key that is kept without an allocation: it takes no more than the vector of a longer one does with its tag.
const SHORT_BYTES_MAX: usize = 30;

const _: () = assert!(size_of::<MapKey>() == 32);

/// A key, ordered by its bytes.
#[derive(Clone, Debug)]
pub(crate) enum MapKey {
    Short { length: u8, bytes: [u8; SHORT_BYTES_MAX] },
    Long(Vec<u8>),
}

impl From<Vec<u8>> for MapKey {
    fn from(key: Vec<u8>) -> Self {
        if key.len() > SHORT_BYTES_MAX {
            return Self::Long(key);
        }
        let mut bytes = [0; SHORT_BYTES_MAX];
        bytes[..key.len()].copy_from_slice(&key);
        Self::Short { length: key.len() as u8, bytes }
    }
}

impl Deref for MapKey {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for MapKey {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for MapKey {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for MapKey {}

impl PartialOrd for MapKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MapKey {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_are_ordered_by_their_bytes() {
        let lengths = [0, 1, SHORT_BYTES_MAX - 1, SHORT_BYTES_MAX, SHORT_BYTES_MAX + 1, 100];
        let all: Vec<Vec<u8>> =
            lengths.into_iter().flat_map(|length| [vec![0; length], vec![b'x'; length]]).collect();
        for own in &all {
            assert_eq!(*MapKey::from(own.clone()), own[..]);
            for other in &all {
                assert_eq!(MapKey::from(own.clone()).cmp(&other.clone().into()), own.cmp(other));
            }
        }
    }
}
