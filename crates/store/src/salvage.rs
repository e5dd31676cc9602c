//! What a salvage gives up of a damaged store: the keys that cannot be read any more, and the statement of their loss.
//!
//! Bytes that cannot be read hold a merge up, and a block that is missing or cannot be recognised holds all writes up.
//! A salvage ends both: it records what is lost in the header of the log, durably, and only then erases damaged blocks
//! and rewrites patches without what cannot be read (`core::salvaging`). From then on merges leave out groups whose
//! keys are stated to be lost. The statement is part of the store's [`Loss`](crate::Loss) until it is acknowledged;
//! after that it only serves merges.

use crate::bytes::{Reader, end_of_prefix, put_bytes, put_varint};
use crate::error::{Gap, OpenError};
use crate::log::LogOverwritten;
use crate::text::escape;
use std::fmt;

/// Ranges that are named one by one.
const NAMED_MAX: usize = 8;
/// Bytes to which bounds of ranges are cut where the statement has too little room.
const SHORT_BOUNDS_BYTES: [usize; 3] = [64, 24, 8];

/// Keys whose newest version may be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// The keys.
    pub keys: Gap,
    /// Number of the last write that may be lost: versions of later writes are the newest.
    pub last_write: u64,
}

impl LostRange {
    /// Returns whether a version of a key, that of this write, may not be the newest.
    fn may_supersede(&self, key: &[u8], write: u64) -> bool {
        *self.keys.from <= *key && *key < *self.keys.to && write <= self.last_write
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(out, &self.keys.from);
        put_bytes(out, &self.keys.to);
        put_varint(out, self.last_write);
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (from, to) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
        Some(Self { keys: Gap { from, to }, last_write: reader.varint()? })
    }

    /// Makes the bounds no longer than this, where there are such that enclose the same keys.
    fn shorten(&mut self, bytes: usize) {
        let Gap { from, to } = &mut self.keys;
        from.truncate(bytes);
        if to.len() > bytes
            && let Some(end) = end_of_prefix(&to[..bytes])
        {
            *to = end;
        }
    }
}

/// What is lost of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostKeys {
    /// Ranges of keys, in their order, that do not overlap. Keys within them that are in other blocks are not lost.
    pub ranges: Vec<LostRange>,
    /// Blocks, or units that may have held one, whose keys are not known.
    pub blocks: u64,
}

impl LostKeys {
    /// Returns whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.blocks == 0
    }

    /// Returns whether the newest version of a key may be lost, where that of `write` is the newest that is found;
    /// `None` where none is.
    pub(crate) fn may_hold(&self, key: &[u8], write: Option<u64>) -> bool {
        let is_unknown = self.blocks > 0 && write.is_none();
        is_unknown || self.ranges.iter().any(|range| range.may_supersede(key, write.unwrap_or(0)))
    }

    /// Returns whether all these keys are stated to be lost.
    pub(crate) fn encloses(&self, keys: &Gap) -> bool {
        self.ranges.iter().any(|range| range.keys.from <= keys.from && keys.to <= range.keys.to)
    }

    /// Adds what `other` lost.
    pub(crate) fn extend(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.ranges.extend(other.ranges);
        self.unite();
    }

    /// Sorts the ranges, and joins those that overlap or touch.
    fn unite(&mut self) {
        self.ranges.sort_by(|a, b| a.keys.from.cmp(&b.keys.from));
        self.ranges.dedup_by(|next, before| {
            let touches = next.keys.from <= before.keys.to;
            if touches {
                join(before, next);
            }
            touches
        });
    }

    /// Encloses the ranges by fewer and shorter ones until `fits` says that they fit. Returns whether they do.
    fn reduce(&mut self, fits: impl Fn(&Self) -> bool) -> bool {
        for bytes in SHORT_BOUNDS_BYTES {
            if fits(self) {
                return true;
            }
            self.ranges.iter_mut().for_each(|range| range.shorten(bytes));
            self.unite();
        }
        while !fits(self) {
            if self.ranges.len() < 2 {
                return false;
            }
            let pairs = self.ranges.chunks_mut(2).map(|pair| {
                let (first, rest) = pair.split_first_mut().expect("a chunk has a range");
                rest.iter().for_each(|next| join(first, next));
                first.clone()
            });
            self.ranges = pairs.collect();
        }
        true
    }
}

/// Makes a range enclose a later one.
fn join(first: &mut LostRange, next: &LostRange) {
    if first.keys.to < next.keys.to {
        first.keys.to.clone_from(&next.keys.to);
    }
    first.last_write = first.last_write.max(next.last_write);
}

impl fmt::Display for LostKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.ranges.iter().take(NAMED_MAX).map(|LostRange { keys: Gap { from, to }, .. }| {
            format!("the keys from '{}' on and below '{}'", escape(from), escape(to))
        });
        let more = self.ranges.len().saturating_sub(NAMED_MAX);
        let more = (more > 0).then(|| format!("{more} more ranges"));
        let blocks = (self.blocks > 0).then(|| match self.blocks {
            1 => "1 block whose keys are not known".to_owned(),
            count => format!("{count} blocks whose keys are not known"),
        });
        f.write_str(&named.chain(more).chain(blocks).collect::<Vec<_>>().join("; "))
    }
}

/// What of a store cannot be read: see [`Store::scrub`](crate::Store::scrub).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The keys that are lost.
    pub lost: LostKeys,
    /// Patches of which a part cannot be read.
    pub blocks: Vec<u64>,
    /// Keys whose values are in pieces that cannot be read, or are missing.
    pub keys: Vec<Vec<u8>>,
    /// Blocks with pieces that cannot be read.
    pub pieces: Vec<u64>,
    /// Why blocks are known to be missing.
    pub missing: Option<OpenError>,
    /// Other data in the log, which is lost by a salvage, and no key is.
    pub log: Option<LogOverwritten>,
}

impl Damage {
    /// Returns whether everything can be read, and written.
    pub fn is_none(&self) -> bool {
        self.log.is_none() && self.is_none_of_blocks()
    }

    /// Returns whether everything can be read.
    pub fn is_none_of_blocks(&self) -> bool {
        self.lost.is_empty() && self.pieces.is_empty() && self.missing.is_none()
    }
}

/// The last salvage of a store, as the header of the log records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Salvage {
    /// Number of the last write then. What is missing of it and of earlier ones is lost.
    pub(crate) last_write: u64,
    /// A number of a patch or merge. Statements of patches made before it count what is lost.
    pub(crate) number: u64,
    /// Whether its user knows of the loss.
    pub(crate) is_acknowledged: bool,
    pub(crate) lost: LostKeys,
}

impl Salvage {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.last_write);
        put_varint(out, self.number);
        out.push(self.is_acknowledged.into());
        put_varint(out, self.lost.blocks);
        put_varint(out, self.lost.ranges.len() as u64);
        self.lost.ranges.iter().for_each(|range| range.encode(out));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (last_write, number) = (reader.varint()?, reader.varint()?);
        let is_acknowledged = reader.u8()? == 1;
        let (blocks, count) = (reader.varint()?, reader.varint()?);
        let ranges = (0..count).map(|_| LostRange::decode(reader)).collect::<Option<Vec<_>>>()?;
        Some(Self { last_write, number, is_acknowledged, lost: LostKeys { ranges, blocks } })
    }

    /// Makes it take no more than this number of bytes: ranges are enclosed by wider ones. Returns whether it does.
    pub(crate) fn fit(&mut self, bytes_max: u64) -> bool {
        let mut lost = std::mem::take(&mut self.lost);
        let own = self.clone();
        let fits = lost.reduce(|lost| {
            let mut bytes = Vec::new();
            Self { lost: lost.clone(), ..own.clone() }.encode(&mut bytes);
            bytes.len() as u64 <= bytes_max
        });
        self.lost = lost;
        fits
    }

    /// Returns what is lost, until it is acknowledged.
    pub(crate) fn stated(&self) -> Option<&LostKeys> {
        Some(&self.lost).filter(|lost| !self.is_acknowledged && !lost.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: &str, to: &str, last_write: u64) -> LostRange {
        LostRange { keys: Gap { from: from.into(), to: to.into() }, last_write }
    }

    fn salvage(ranges: Vec<LostRange>) -> Salvage {
        let lost = LostKeys { ranges, blocks: 2 };
        Salvage { last_write: 1 << 40, number: 300, is_acknowledged: false, lost }
    }

    #[test]
    fn salvages_are_read_back() {
        let own = salvage(vec![range("a", "b", 7), range("c", "d", u64::MAX)]);
        let mut bytes = Vec::new();
        own.encode(&mut bytes);
        assert_eq!(Salvage::decode(&mut Reader::new(&bytes)), Some(own));
        for cut in 0..bytes.len() {
            assert_eq!(Salvage::decode(&mut Reader::new(&bytes[..cut])), None, "{cut} bytes");
        }
    }

    #[test]
    fn ranges_are_joined_where_they_touch() {
        let mut lost = LostKeys { ranges: vec![range("m", "n", 1), range("a", "c", 9)], blocks: 1 };
        lost.extend(LostKeys { ranges: vec![range("b", "f", 3), range("f", "g", 4)], blocks: 2 });
        assert_eq!(lost.ranges, [range("a", "g", 9), range("m", "n", 1)]);
        assert_eq!(lost.blocks, 3);
    }

    #[test]
    fn reduced_statement_encloses_what_is_lost() {
        let long = |nth: u32| format!("{nth:05}{}", "x".repeat(200));
        let ranges: Vec<_> =
            (0..300).map(|nth| range(&long(3 * nth), &long(3 * nth + 1), nth.into())).collect();
        let own = salvage(ranges.clone());
        for bytes_max in [64, 500, 4000, 20_000, 1 << 20] {
            let mut fitted = own.clone();
            assert!(fitted.fit(bytes_max), "{bytes_max} bytes");
            let mut bytes = Vec::new();
            fitted.encode(&mut bytes);
            assert!(bytes.len() as u64 <= bytes_max, "{} of {bytes_max} bytes", bytes.len());
            for range in &ranges {
                assert!(fitted.lost.encloses(&range.keys), "{range:?} in {bytes_max} bytes");
                assert!(fitted.lost.may_hold(&range.keys.from, Some(range.last_write)));
            }
        }
        assert!(!salvage(vec![range("a", "b", 1)]).fit(5));
    }

    #[test]
    fn later_versions_and_other_keys_are_not_lost() {
        let lost = LostKeys { ranges: vec![range("b", "d", 7)], blocks: 0 };
        for (key, write, may_be_lost) in [
            ("b", None, true),
            ("c", Some(7), true),
            ("c", Some(8), false),
            ("a", None, false),
            ("d", Some(1), false),
        ] {
            assert_eq!(lost.may_hold(key.as_bytes(), write), may_be_lost, "{key} {write:?}");
        }
        // Values that are found may be older than those of a block whose keys are not known.
        let lost = LostKeys { ranges: Vec::new(), blocks: 1 };
        assert!(lost.may_hold(b"a", None) && !lost.may_hold(b"a", Some(1)));
    }
}
