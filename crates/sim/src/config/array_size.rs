//! The sizes of the flash array that sections derive theirs from.

/// Counts and sizes, in numbers that no mechanism changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArraySize {
    /// Dies in all.
    pub(crate) dies: u32,
    /// Planes in all.
    pub(crate) planes: u32,
    /// Erase blocks of a plane.
    pub(crate) blocks: u32,
    /// Flash pages of an erase block.
    pub(crate) pages: u32,
    /// Bits of a cell, where pages have types.
    pub(crate) cell_bits: Option<u32>,
    /// Bytes of a mapping unit.
    pub(crate) unit_bytes: u64,
    /// Mapping units of a flash page; 1 where a unit is larger.
    pub(crate) units_per_page: u32,
    /// Flash pages of a mapping unit; 1 where it is not larger than one.
    pub(crate) pages_per_unit: u32,
    /// Mapping units that the host sees.
    pub(crate) logical_units: u32,
}

impl ArraySize {
    /// Mapping units of this number of flash pages of a block.
    pub(crate) fn units_of(&self, pages: u32) -> u32 {
        pages / self.pages_per_unit * self.units_per_page
    }
}
