//! A translation scheme before anything is written: what it maps, and the blocks that it needs.

use super::block::{BlockScheme, Stripes};
use super::erase_blocks;
use crate::nand::Geometry;

/// A translation scheme, without anything written.
pub(crate) enum Scheme {
    /// Any page of flash holds any mapping unit.
    Pages,
    /// Whole erase blocks are mapped over stripes of planes; the scheme takes writes that are out of order.
    Blocks(Stripes, Box<dyn BlockScheme>),
}

impl Scheme {
    /// Whether whole blocks are mapped.
    pub(crate) fn maps_blocks(&self) -> bool {
        matches!(self, Self::Blocks(..))
    }

    /// Blocks that a plane needs beyond those of its data.
    pub(crate) fn spare_blocks(&self, geometry: &Geometry) -> u32 {
        match self {
            Self::Pages => erase_blocks::spare_blocks(geometry),
            Self::Blocks(_, scheme) => scheme.spare_blocks(),
        }
    }

    /// Blocks that a plane needs for its share of the capacity, and to write to. `geometry` counts superblocks as
    /// blocks.
    pub(crate) fn least_blocks_per_plane(&self, geometry: &Geometry) -> u64 {
        let data_blocks = match self {
            Self::Pages => geometry.stored_units_per_plane().div_ceil(geometry.data_units),
            Self::Blocks(stripes, _) => stripes.erase_units_per_plane(geometry),
        };
        u64::from(data_blocks) + u64::from(self.spare_blocks(geometry))
    }
}
