//! The mapping units that a run of bytes touches, and which parts of them.

use crate::ids::Lpn;
use std::ops::{BitOr, BitOrAssign, Range};

/// The part of a request in one mapping unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The mapping unit.
    pub(crate) lpn: Lpn,
    /// First byte within the unit.
    pub(crate) start: u32,
    /// Bytes.
    pub(crate) bytes: u32,
}

/// The pieces of `length` bytes at `offset`, in order. Requires: `length > 0`, within the drive.
pub(crate) fn pieces(offset: u64, length: u64, unit_bytes: u64) -> impl Iterator<Item = Piece> {
    pieces_after(0, offset, length, unit_bytes)
}

/// The same pieces without the first `skip`, which take no time: a caller that continues a request of a million
/// units after each of them does not go through all of it each time.
pub(crate) fn pieces_after(
    skip: u32,
    offset: u64,
    length: u64,
    unit_bytes: u64,
) -> impl Iterator<Item = Piece> {
    let end = offset + length;
    let first = offset / unit_bytes + u64::from(skip);
    let last = (end - 1) / unit_bytes;
    (first..=last).map(move |lpn| piece(Lpn(lpn as u32), offset, end, unit_bytes))
}

/// The part of `lpn` in `offset..end`. Requires: there is one.
#[inline]
pub(crate) fn piece(lpn: Lpn, offset: u64, end: u64, unit_bytes: u64) -> Piece {
    let base = u64::from(lpn.0) * unit_bytes;
    let start = offset.max(base);
    let stop = end.min(base + unit_bytes);
    Piece { lpn, start: (start - base) as u32, bytes: (stop - start) as u32 }
}

/// The same pieces, with those that are whole units as one: the first where it is a part of its unit, the whole units,
/// and the last where it is a part.
pub(crate) fn split(offset: u64, length: u64, unit_bytes: u64) -> (Option<Piece>, Range<u32>, Option<Piece>) {
    let (first, last) = ((offset / unit_bytes) as u32, ((offset + length - 1) / unit_bytes) as u32);
    let part = |lpn: u32| {
        let piece = piece(Lpn(lpn), offset, offset + length, unit_bytes);
        (!piece.is_whole(unit_bytes)).then_some(piece)
    };
    let head = part(first);
    let tail = if last > first { part(last) } else { None };
    (head, first + u32::from(head.is_some())..last + 1 - u32::from(tail.is_some()), tail)
}

/// Parts of a mapping unit: its 64ths, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitParts(u64);

impl UnitParts {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const WHOLE: Self = Self(u64::MAX);

    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self == Self::WHOLE
    }

    #[inline]
    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bytes of one of the pages of a unit, of `page_bytes` each, that are not among these parts. Requires:
    /// `pages` is a power of two, at most 64.
    pub(crate) fn missing_bytes_of(self, page: u32, pages: u32, page_bytes: u64) -> u64 {
        let parts = 64 / pages;
        let of_page = (self.0 >> (page * parts)) & (u64::MAX >> (64 - parts));
        u64::from(parts - of_page.count_ones()) * page_bytes / u64::from(parts)
    }

    /// Returns the bytes of a unit that are not among these parts.
    pub(crate) fn missing_bytes(self, unit_bytes: u64) -> u64 {
        u64::from(self.0.count_zeros()) * unit_bytes / 64
    }
}

impl BitOr for UnitParts {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for UnitParts {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl Piece {
    /// The parts of the unit that the piece covers wholly, which a write provides.
    #[inline]
    pub(crate) fn covered(&self, unit_bytes: u64) -> UnitParts {
        if self.is_whole(unit_bytes) {
            return UnitParts::WHOLE;
        }
        let first = (u64::from(self.start) * 64).div_ceil(unit_bytes);
        let end = u64::from(self.start + self.bytes) * 64 / unit_bytes;
        UnitParts(bits(first, end))
    }

    /// The parts of the unit that the piece touches, which a read needs.
    #[inline]
    pub(crate) fn touched(&self, unit_bytes: u64) -> UnitParts {
        if self.is_whole(unit_bytes) {
            return UnitParts::WHOLE;
        }
        let first = u64::from(self.start) * 64 / unit_bytes;
        let end = (u64::from(self.start + self.bytes) * 64).div_ceil(unit_bytes);
        UnitParts(bits(first, end))
    }

    /// Nearly all pieces are whole units, and those need no division.
    fn is_whole(&self, unit_bytes: u64) -> bool {
        u64::from(self.bytes) == unit_bytes
    }
}

/// Bits `first..end` of 64.
fn bits(first: u64, end: u64) -> u64 {
    if end <= first {
        return 0;
    }
    (u64::MAX >> (64 - (end - first))) << first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_split_into_the_same_pieces() {
        for (offset, length) in (0..20).flat_map(|offset| (1..30).map(move |length| (offset, length))) {
            let (head, whole, tail) = split(offset, length, 8);
            let whole = whole.map(|lpn| Piece { lpn: Lpn(lpn), start: 0, bytes: 8 });
            let all: Vec<Piece> = head.into_iter().chain(whole).chain(tail).collect();
            assert_eq!(all, pieces(offset, length, 8).collect::<Vec<_>>(), "{length} bytes at {offset}");
            assert!(head.into_iter().chain(tail).all(|part| part.bytes < 8));
            for skip in 0..=all.len() {
                let rest: Vec<Piece> = pieces_after(skip as u32, offset, length, 8).collect();
                assert_eq!(rest, all[skip..], "{length} bytes at {offset} without the first {skip}");
            }
            let alone: Vec<Piece> =
                all.iter().map(|known| piece(known.lpn, offset, offset + length, 8)).collect();
            assert_eq!(alone, all);
        }
    }

    #[test]
    fn pieces_cover_the_request_and_nothing_else() {
        let all: Vec<Piece> = pieces(3584, 5120, 4096).collect();
        assert_eq!(
            all,
            [
                Piece { lpn: Lpn(0), start: 3584, bytes: 512 },
                Piece { lpn: Lpn(1), start: 0, bytes: 4096 },
                Piece { lpn: Lpn(2), start: 0, bytes: 512 },
            ]
        );
        assert_eq!(all[1].covered(4096), UnitParts::WHOLE);
        assert_eq!(all[0].covered(4096), UnitParts(0xff << 56));
        assert_eq!(all[2].touched(4096), UnitParts(0xff));
        // Smaller than a 64th of a huge page: touched, but not covered.
        let piece = pieces(0, 512, 1 << 20).next().unwrap();
        assert_eq!((piece.covered(1 << 20), piece.touched(1 << 20)), (UnitParts::NONE, UnitParts(1)));
    }
}
