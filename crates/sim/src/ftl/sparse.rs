//! The touched entries of a table, while they are few: a hash table with linear probing, from which nothing is removed.
//!
//! Eight neighbours share a line of the processor's cache, as they are often looked up together: the blocks of a drive
//! are written in order.
//!
//! Invariant: at most half of the slots are used, so that every search ends.

use super::table::{advise_huge_pages, prefetch, zeroed};
use memmap2::MmapMut;
use std::io;

pub(super) const SLOT_BYTES: usize = 8;
/// Neighbours of a line: the lowest bits of an index stay the lowest bits of its slot.
const LINE_BITS: u32 = 3;
/// The golden ratio of 2^64, by which neighbouring lines are spread over all slots.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// By index the values that are not zero.
pub(super) struct Sparse {
    /// Each the index + 1 above the value; zero where it is free.
    slots: MmapMut,
    /// Bits of a line's number.
    line_bits: u32,
    used: usize,
}

impl Sparse {
    /// Has room for half as many values as there are slots, which MUST be a power of two.
    ///
    /// # Errors
    /// The system's, where it has no address space for the slots.
    pub(super) fn with_slots(slots: usize) -> io::Result<Self> {
        debug_assert!(slots.is_power_of_two() && slots >= 1 << (LINE_BITS + 1), "{slots} slots");
        let map = zeroed(slots * SLOT_BYTES)?;
        advise_huge_pages(&map);
        Ok(Self { slots: map, line_bits: slots.trailing_zeros() - LINE_BITS, used: 0 })
    }

    /// Whether another value needs more slots.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.used * 2 >= self.raw().len()
    }

    /// The bytes of the slots.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len()
    }

    /// The value at `index`; zero where none was set.
    #[inline]
    pub(super) fn get(&self, index: u32) -> u32 {
        let slot = self.raw()[self.slot_of(index)];
        if slot >> 32 == key(index) { slot as u32 } else { 0 }
    }

    /// Sets a value that is not zero. Requires that it is not full.
    #[inline]
    pub(super) fn set(&mut self, index: u32, value: u32) {
        debug_assert!(value != 0 && !self.is_full(), "{value} at {index}: {} are used", self.used);
        let at = self.slot_of(index);
        let slot = &mut self.raw_mut()[at];
        let is_new = *slot == 0;
        *slot = key(index) << 32 | u64::from(value);
        self.used += usize::from(is_new);
    }

    /// Doubles the slots.
    ///
    /// # Errors
    /// The system's, where it has no address space for them; nothing has changed then.
    pub(super) fn grow(&mut self) -> io::Result<()> {
        let mut larger = Self::with_slots(self.raw().len() * 2)?;
        self.each(|index, value| larger.set(index, value));
        debug_assert_eq!(larger.used, self.used);
        *self = larger;
        Ok(())
    }

    /// Calls `visit` with each index and its value, in no order of meaning.
    pub(super) fn each(&self, mut visit: impl FnMut(u32, u32)) {
        for &slot in self.raw().iter().filter(|&&slot| slot != 0) {
            visit((slot >> 32) as u32 - 1, slot as u32);
        }
    }

    /// Fetches the line where the search for `index` begins into the processor's cache, where the processor can.
    #[inline]
    pub(super) fn prefetch(&self, index: u32) {
        prefetch(&self.raw()[self.first_slot(index)]);
    }

    /// Where the search for an index begins.
    #[inline]
    fn first_slot(&self, index: u32) -> usize {
        let line = u64::from(index >> LINE_BITS).wrapping_mul(SPREAD) >> (64 - self.line_bits);
        (line << LINE_BITS) as usize | (index & ((1 << LINE_BITS) - 1)) as usize
    }

    /// The slot of an index, or the free one that would take it.
    #[inline]
    fn slot_of(&self, index: u32) -> usize {
        let slots = self.raw();
        let (mut at, key) = (self.first_slot(index), key(index));
        while slots[at] != 0 && slots[at] >> 32 != key {
            at = (at + 1) & (slots.len() - 1);
        }
        at
    }

    #[inline]
    fn raw(&self) -> &[u64] {
        // SAFETY: the map is a whole number of slots and lies on the boundary of a page of memory; any bits are slots.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr().cast(), self.slots.len() / SLOT_BYTES) }
    }

    #[inline]
    fn raw_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above, and the map has no other owner.
        unsafe {
            std::slice::from_raw_parts_mut(self.slots.as_mut_ptr().cast(), self.slots.len() / SLOT_BYTES)
        }
    }
}

/// What a slot has for an index: none is zero, since no table has 2^32 entries.
#[inline]
fn key(index: u32) -> u64 {
    u64::from(index) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::{Random, Seed};
    use std::collections::BTreeMap;

    /// Indices of all kinds: random ones, and runs of neighbours.
    fn indices(r: &mut Random) -> Vec<u32> {
        let first = r.below(u64::from(u32::MAX) - 100) as u32;
        if r.below(3) == 0 { (first..first + 64).collect() } else { vec![first, u32::MAX - 1, 0] }
    }

    #[test]
    fn values_are_those_of_a_plain_map() {
        let mut r = Seed(7).source();
        let (mut sparse, mut plain) = (Sparse::with_slots(16).unwrap(), BTreeMap::new());
        while plain.len() < 40_000 {
            for index in indices(&mut r) {
                if sparse.is_full() {
                    sparse.grow().unwrap();
                }
                let value = 1 + r.below(u64::from(u32::MAX)) as u32;
                sparse.set(index, value);
                plain.insert(index, value);
                assert_eq!(sparse.get(index), value);
                let other = index ^ 1 << r.below(20);
                assert_eq!(sparse.get(other), plain.get(&other).copied().unwrap_or(0));
            }
        }
        assert_eq!(sparse.used, plain.len());
        let mut seen = BTreeMap::new();
        sparse.each(|index, value| assert_eq!(seen.insert(index, value), None, "{index} twice"));
        assert_eq!(seen, plain);
    }
}
