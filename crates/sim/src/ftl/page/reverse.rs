//! Which mapping unit lies on each physical number.

use crate::divisor::Divisor;
use crate::ftl::table::Table;
use crate::ids::{Lpn, PlaneId, Ppn};
use crate::nand::Geometry;

/// Entries left out behind each plane: a line of the processor's cache. The planes of a drive are filled in step, and
/// the number of units of each is often a power of two; without this the entries being written would all share one set
/// of the cache.
const SKEW: u32 = 16;

/// By physical number the logical number + 1; 0 where nothing valid lies there.
pub(super) struct Reverse {
    table: Table,
    /// The mapping units of a plane.
    per_plane: Divisor,
}

impl Reverse {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let entries = geometry.physical_units() + u64::from(geometry.planes) * u64::from(SKEW);
        Self {
            table: Table::zeroed(entries as usize),
            per_plane: Divisor::new(geometry.blocks * geometry.block_units),
        }
    }

    #[inline]
    fn index(ppn: Ppn, plane: PlaneId) -> usize {
        ppn.index() + plane.index() * SKEW as usize
    }

    /// Enters a mapping unit at a physical number on `plane`.
    #[inline]
    pub(super) fn set(&mut self, ppn: Ppn, plane: PlaneId, lpn: Lpn) {
        self.table[Self::index(ppn, plane)] = lpn.0 + 1;
    }

    /// Removes the entry of a physical number on `plane`.
    #[inline]
    pub(super) fn remove(&mut self, ppn: Ppn, plane: PlaneId) {
        self.table[Self::index(ppn, plane)] = 0;
    }

    /// The valid mapping unit at a physical number on `plane`, if any.
    #[inline]
    pub(super) fn get(&self, ppn: Ppn, plane: PlaneId) -> Option<Lpn> {
        self.table[Self::index(ppn, plane)].checked_sub(1).map(Lpn)
    }

    /// Fetches an entry into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, ppn: Ppn) {
        self.table.prefetch(Self::index(ppn, PlaneId(self.per_plane.of(ppn.0))));
    }

    /// Fetches the entries behind that of a physical number on `plane`, where it is the first of a cache line.
    #[inline]
    pub(super) fn prefetch_next_line(&self, ppn: Ppn, plane: PlaneId) {
        let index = Self::index(ppn, plane);
        if index.is_multiple_of(SKEW as usize) {
            self.table.prefetch(index + SKEW as usize);
        }
    }

    /// The number of entries.
    #[cfg(test)]
    pub(super) fn valid(&self) -> usize {
        self.table.iter().filter(|&&entry| entry != 0).count()
    }
}
