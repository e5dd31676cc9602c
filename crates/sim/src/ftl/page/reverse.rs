//! Which mapping unit lies on each physical number.

use crate::ftl::table::{Entry, Table};
use crate::ids::{Lpn, PlaneId, Ppn};
use crate::nand::Geometry;
use std::io;

/// Entries left out behind each plane: a line of the processor's cache. The planes of a drive are filled in step, and
/// the number of units of each is often a power of two; without this the entries being written would all share one set
/// of the cache.
const SKEW: u32 = 16;

/// By physical number the logical number.
pub(super) struct Reverse {
    table: Table,
}

impl Reverse {
    pub(super) fn new(geometry: &Geometry) -> io::Result<Self> {
        let entries = geometry.physical_units() + u64::from(geometry.planes) * u64::from(SKEW);
        Ok(Self { table: Table::untouched(entries as usize)? })
    }

    #[inline]
    fn index(ppn: Ppn, plane: PlaneId) -> usize {
        ppn.index() + plane.index() * SKEW as usize
    }

    /// Enters a mapping unit at a physical number on `plane`.
    #[inline]
    pub(super) fn set(&mut self, ppn: Ppn, plane: PlaneId, lpn: Lpn) {
        self.table.set(Self::index(ppn, plane), lpn.0);
    }

    /// Removes the entry of a physical number on `plane`.
    #[inline]
    pub(super) fn remove(&mut self, ppn: Ppn, plane: PlaneId) {
        self.table.clear(Self::index(ppn, plane));
    }

    /// Returns whether the entry of a physical number on `plane` was neither set nor removed so far.
    #[inline]
    pub(super) fn is_untouched(&self, ppn: Ppn, plane: PlaneId) -> bool {
        self.table.get(Self::index(ppn, plane)) == Entry::Untouched
    }

    /// The valid mapping unit at a physical number on `plane`, if any was entered.
    #[inline]
    pub(super) fn get(&self, ppn: Ppn, plane: PlaneId) -> Option<Lpn> {
        match self.table.get(Self::index(ppn, plane)) {
            Entry::Number(number) => Some(Lpn(number)),
            Entry::Untouched | Entry::Empty => None,
        }
    }

    /// Fetches the entry of a physical number on `plane` into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, ppn: Ppn, plane: PlaneId) {
        self.table.prefetch(Self::index(ppn, plane));
    }

    /// Fetches the entries behind that of a physical number on `plane`, where it is the first of a cache line.
    #[inline]
    pub(super) fn prefetch_next_line(&self, ppn: Ppn, plane: PlaneId) {
        let index = Self::index(ppn, plane);
        if index.is_multiple_of(SKEW as usize) {
            self.table.prefetch(index + SKEW as usize);
        }
    }
}
