//! Which logical page each page of flash holds.

use crate::divisor::Divisor;
use crate::ftl::table::Table;
use crate::nand::Geometry;

/// Entries left out behind each plane: a line of the processor's cache. The planes of a drive are filled in step, and
/// as many pages lie on each as a power of two; without this the entries being written would all share one set of the
/// cache.
const SKEW: u32 = 16;

/// By physical page the logical page + 1; 0 where it holds nothing valid.
pub(super) struct Reverse {
    table: Table,
    /// The pages of a plane, by which physical pages are divided.
    per_plane: Divisor,
}

impl Reverse {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let entries = geometry.physical_pages() + u64::from(geometry.planes) * u64::from(SKEW);
        Self {
            table: Table::zeroed(entries as usize),
            per_plane: Divisor::new(geometry.blocks * geometry.pages),
        }
    }

    #[inline]
    fn index(physical: u32, plane: u32) -> usize {
        physical as usize + plane as usize * SKEW as usize
    }

    /// Sets the entry of a page on `plane`.
    #[inline]
    pub(super) fn set(&mut self, physical: u32, plane: u32, entry: u32) {
        self.table[Self::index(physical, plane)] = entry;
    }

    /// The entry of a page on `plane`.
    #[inline]
    pub(super) fn get(&self, physical: u32, plane: u32) -> u32 {
        self.table[Self::index(physical, plane)]
    }

    /// Has a page's entry fetched into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, physical: u32) {
        self.table.prefetch(Self::index(physical, self.per_plane.of(physical)));
    }

    /// Has the entries behind that of a page on `plane` fetched, where it is the first of a line of the cache.
    #[inline]
    pub(super) fn prefetch_next_line(&self, physical: u32, plane: u32) {
        let index = Self::index(physical, plane);
        if index.is_multiple_of(SKEW as usize) {
            self.table.prefetch(index + SKEW as usize);
        }
    }

    /// How many pages hold something valid.
    #[cfg(test)]
    pub(super) fn valid(&self) -> usize {
        self.table.iter().filter(|&&entry| entry != 0).count()
    }
}
