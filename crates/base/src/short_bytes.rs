//! Bytes that are mostly few: these stand in place, so that comparing them reads no other memory.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Deref;

/// Up to `N` bytes in place, and more as `L`; ordered by the bytes. `N` is at most 255.
#[derive(Clone, Debug)]
pub enum ShortBytes<const N: usize, L> {
    /// In place.
    Short {
        /// How many of `bytes` there are; those behind are zero.
        length: u8,
        /// The bytes.
        bytes: [u8; N],
    },
    /// More than `N` bytes.
    Long(L),
}

impl<const N: usize, L> ShortBytes<N, L> {
    /// Returns up to `N` bytes in place.
    fn short(given: &[u8]) -> Option<Self> {
        const { assert!(N <= u8::MAX as usize, "the length is a byte") };
        let mut bytes = [0; N];
        bytes.get_mut(..given.len())?.copy_from_slice(given);
        Some(Self::Short { length: given.len() as u8, bytes })
    }
}

impl<const N: usize> From<Vec<u8>> for ShortBytes<N, Vec<u8>> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::short(&bytes).unwrap_or(Self::Long(bytes))
    }
}

impl<'a, const N: usize, L: From<&'a [u8]>> From<&'a [u8]> for ShortBytes<N, L> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::short(bytes).unwrap_or_else(|| Self::Long(bytes.into()))
    }
}

impl<const N: usize, L: Deref<Target = [u8]>> Deref for ShortBytes<N, L> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(bytes) => bytes,
        }
    }
}

impl<const N: usize, L: Deref<Target = [u8]>> Borrow<[u8]> for ShortBytes<N, L> {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl<const N: usize, L: Deref<Target = [u8]>> PartialEq for ShortBytes<N, L> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<const N: usize, L: Deref<Target = [u8]>> Eq for ShortBytes<N, L> {}

impl<const N: usize, L: Deref<Target = [u8]>> PartialOrd for ShortBytes<N, L> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize, L: Deref<Target = [u8]>> Ord for ShortBytes<N, L> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_lengths_are_ordered_as_slices() {
        type Bytes = ShortBytes<30, Vec<u8>>;
        let all: Vec<Vec<u8>> = [0, 1, 29, 30, 31, 100]
            .into_iter()
            .flat_map(|length| [vec![0; length], vec![b'x'; length]])
            .collect();
        for own in &all {
            let bytes = Bytes::from(own.clone());
            assert_eq!(*bytes, own[..]);
            assert_eq!(bytes, Bytes::from(&own[..]));
            assert_eq!(matches!(bytes, Bytes::Long(_)), own.len() > 30);
            for other in &all {
                assert_eq!(bytes.cmp(&other.clone().into()), own.cmp(other));
            }
        }
    }
}
