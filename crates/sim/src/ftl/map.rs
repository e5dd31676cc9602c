//! The map of a translation layer: on which physical number each mapping unit lies.

use super::table::{Entry, Table};
use crate::ids::{Lpn, Ppn};
use std::io;

/// By logical number the physical number.
pub(super) struct Map(Table);

impl Map {
    /// A number beyond every map, which can be prefetched like any other.
    pub(super) const NO_ENTRY: Lpn = Lpn(u32::MAX);

    /// A map of `units` mapping units, none of which is touched.
    ///
    /// # Errors
    /// As [`Table::untouched`].
    pub(super) fn new(units: u32) -> io::Result<Self> {
        Table::untouched(units as usize).map(Self)
    }

    /// The entry of a mapping unit.
    #[inline]
    pub(super) fn entry(&self, lpn: Lpn) -> Entry {
        self.0.get(lpn.index())
    }

    /// The physical number of a mapping unit, where those that were never touched have none.
    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        match self.entry(lpn) {
            Entry::Number(number) => Some(Ppn(number)),
            Entry::Untouched | Entry::Empty => None,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, ppn: Ppn) {
        self.0.set(lpn.index(), ppn.0);
    }

    pub(super) fn remove(&mut self, lpn: Lpn) {
        self.0.clear(lpn.index());
    }

    /// Fetches an entry into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        self.0.prefetch(lpn.index());
    }

    /// The number of mapping units.
    #[cfg(test)]
    pub(super) fn units(&self) -> u32 {
        self.0.entries() as u32
    }
}
