//! The map of a translation layer: on which physical number each mapping unit lies.

use super::table::Table;
use crate::ids::{Lpn, Ppn};

/// By logical number the physical number + 1; 0 where never written or trimmed.
pub(super) struct Map(Table);

impl Map {
    /// A number beyond every map, which can be prefetched like any other.
    pub(super) const NO_ENTRY: Lpn = Lpn(u32::MAX);

    /// A map of `units` mapping units, none of which is written.
    pub(super) fn new(units: u32) -> Self {
        Self(Table::zeroed(units as usize))
    }

    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        self.0[lpn.index()].checked_sub(1).map(Ppn)
    }

    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, ppn: Ppn) {
        self.0[lpn.index()] = ppn.0 + 1;
    }

    pub(super) fn remove(&mut self, lpn: Lpn) {
        self.0[lpn.index()] = 0;
    }

    /// Fetches an entry into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        self.0.prefetch(lpn.index());
    }

    /// The mapping units that are written, with their physical numbers.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Lpn, Ppn)> {
        (0..)
            .map(Lpn)
            .zip(self.0.iter())
            .filter(|(_, entry)| **entry != 0)
            .map(|(lpn, entry)| (lpn, Ppn(entry - 1)))
    }
}
