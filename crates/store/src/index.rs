//! The index of a patch: where its groups begin, and the keys that part them. It stays in memory, so that a get is one
//! read.
//!
//! Of a group only a *separator* is kept: the shortest bytes above the last key of the group before, and not above its
//! own first key. Separators share the prefix that all keys of the patch have, which is kept once, in the patch's first
//! key. For random keys a separator is two or three bytes long: with groups of seven keys the index takes about 1.6
//! bytes a key.

use crate::bytes::Reader;

/// Groups of a patch, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Offset of each group in the block, and the end of the last one.
    offsets: Box<[u32]>,
    /// For each group the end of its separator in `separators`.
    ends: Box<[u32]>,
    separators: Box<[u8]>,
    /// Bytes that every key has in common, and separators leave out.
    prefix_bytes: usize,
}

/// Builds an index from groups in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexBuilder {
    offsets: Vec<u32>,
    ends: Vec<u32>,
    separators: Vec<u8>,
}

/// Returns the number of leading bytes that two keys share.
pub(crate) fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl IndexBuilder {
    /// Adds the group at `offset`, whose first key is `first`; `last_before` is the last key of the group before.
    pub(crate) fn push(&mut self, offset: u32, last_before: Option<&[u8]>, first: &[u8]) {
        debug_assert!(last_before.is_none_or(|last| last < first), "groups are in the order of keys");
        let separator = match last_before {
            None => &[],
            Some(last) => &first[..shared_prefix(last, first) + 1],
        };
        self.offsets.push(offset);
        self.separators.extend_from_slice(separator);
        self.ends.push(self.separators.len() as u32);
    }

    /// Returns the bytes that the index takes on the device, at most.
    pub(crate) fn len_bytes(&self) -> u64 {
        (8 * self.offsets.len() + 8 + self.separators.len()) as u64
    }

    /// Ends the index of a patch whose groups end at `end` and whose keys share `prefix_bytes`.
    pub(crate) fn finish(mut self, end: u32, prefix_bytes: usize) -> Index {
        self.offsets.push(end);
        let mut separators = Vec::with_capacity(self.separators.len());
        let mut ends = Vec::with_capacity(self.ends.len());
        let mut from = 0;
        for &end in &self.ends {
            // A separator differs from the key before it, so it is longer than what all keys share.
            let whole = &self.separators[from..end as usize];
            separators.extend_from_slice(whole.get(prefix_bytes..).unwrap_or(&[]));
            ends.push(separators.len() as u32);
            from = end as usize;
        }
        Index { offsets: self.offsets.into(), ends: ends.into(), separators: separators.into(), prefix_bytes }
    }
}

impl Index {
    /// Number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + 4 * (self.offsets.len() + self.ends.len()) + self.separators.len()
    }

    fn separator(&self, group: usize) -> &[u8] {
        let from = if group == 0 { 0 } else { self.ends[group - 1] as usize };
        &self.separators[from..self.ends[group] as usize]
    }

    /// Returns the group that holds `key` if any does. Requires: the key lies between the patch's first and last key.
    pub(crate) fn group_of(&self, key: &[u8]) -> usize {
        let key = &key[self.prefix_bytes..];
        let (mut low, mut high) = (0, self.groups());
        // The group is the last whose separator is not above the key; that of the first group is empty.
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.separator(middle) <= key { low = middle } else { high = middle }
        }
        low
    }

    /// Returns the separator of a group, as a whole: no key of it or behind it is below, and all keys before it are.
    /// `first` is the patch's first key.
    pub(crate) fn bound_of(&self, group: usize, first: &[u8]) -> Vec<u8> {
        if group == 0 {
            first.to_vec()
        } else {
            [&first[..self.prefix_bytes], self.separator(group)].concat()
        }
    }

    /// Returns the bytes of the block that these groups take.
    pub(crate) fn range(&self, groups: std::ops::Range<usize>) -> std::ops::Range<u64> {
        self.offsets[groups.start].into()..self.offsets[groups.end].into()
    }

    /// Returns the end of the groups from `first` on, at least one, whose bytes are nearest to `bytes`.
    pub(crate) fn groups_about(&self, first: usize, bytes: u64) -> usize {
        let wanted = u64::from(self.offsets[first]) + bytes;
        let above = self.offsets.partition_point(|&offset| u64::from(offset) < wanted).min(self.groups());
        let distance = |end: usize| wanted.abs_diff(u64::from(self.offsets[end]));
        let below = above.saturating_sub(1);
        let nearest = if distance(below) < distance(above) { below } else { above };
        nearest.max(first + 1)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let number = |number: usize| (number as u32).to_le_bytes();
        out.extend_from_slice(&number(self.groups()));
        out.extend_from_slice(&number(self.prefix_bytes));
        self.offsets.iter().chain(&self.ends).for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        out.extend_from_slice(&self.separators);
    }

    /// Returns `None` where the bytes are no index.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let (groups, prefix_bytes) = (u64::from(reader.u32()?), reader.u32()? as usize);
        if groups * 8 > bytes.len() as u64 {
            return None;
        }
        let offsets: Box<[u32]> = (0..=groups).map(|_| reader.u32()).collect::<Option<_>>()?;
        let ends: Box<[u32]> = (0..groups).map(|_| reader.u32()).collect::<Option<_>>()?;
        let separators: Box<[u8]> = reader.rest().into();
        let ascends = |list: &[u32]| list.windows(2).all(|pair| pair[0] <= pair[1]);
        let is_whole = ends.last().is_none_or(|&end| end as usize == separators.len());
        (ascends(&offsets) && ascends(&ends) && is_whole).then_some(Self {
            offsets,
            ends,
            separators,
            prefix_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn group_of_a_key_is_that_of_a_linear_search() {
        let mut random = Seed(4).source();
        for _ in 0..200 {
            let count = 2 + random.below(60);
            let key = |random: &mut flashlane_base::Random| {
                let length = random.below(5) as usize;
                [b"user", &(0..length).map(|_| b'a' + random.below(3) as u8).collect::<Vec<_>>()[..]].concat()
            };
            let mut keys: Vec<Vec<u8>> = (0..count).map(|_| key(&mut random)).collect();
            keys.sort();
            keys.dedup();
            let mut builder = IndexBuilder::default();
            let (mut starts, mut offset) = (Vec::new(), 0);
            for nth in 0..keys.len() {
                if nth == 0 || random.chance(0.4) {
                    let before = nth.checked_sub(1).map(|nth| &keys[nth][..]);
                    builder.push(offset, before, &keys[nth]);
                    starts.push(nth);
                }
                offset += 10;
            }
            let most = builder.len_bytes();
            let prefix = shared_prefix(&keys[0], &keys[keys.len() - 1]);
            let index = builder.finish(offset, prefix);
            let mut bytes = Vec::new();
            index.encode(&mut bytes);
            assert!(bytes.len() as u64 <= most + 8, "{} bytes, at most {most} expected", bytes.len());
            assert_eq!(Index::decode(&bytes).as_ref(), Some(&index));
            assert_eq!(Index::decode(&bytes[..bytes.len() / 2]), None);
            for (nth, key) in keys.iter().enumerate() {
                let expected = starts.partition_point(|&start| start <= nth) - 1;
                assert_eq!(index.group_of(key), expected, "{key:?} of {keys:?}");
            }
            assert_eq!(index.groups_about(0, 0), 1);
            assert_eq!(index.groups_about(0, u64::from(u32::MAX)), starts.len());
            let offsets: Vec<u64> = (0..=starts.len()).map(|nth| u64::from(index.offsets[nth])).collect();
            for bytes in 0..offsets[starts.len()] + 2 {
                let chosen = offsets[index.groups_about(0, bytes)].abs_diff(bytes);
                let least = offsets[1..].iter().map(|end| end.abs_diff(bytes)).min();
                assert_eq!(Some(chosen), least, "{bytes} of {offsets:?}");
            }
        }
    }
}
