//! Block mapping: whole erase blocks are mapped, and writes that do not fit go to a few more of them.
//!
//! Drives had too little memory for a map of pages at first. They map an *erase unit*, a block on each of the planes of
//! a stripe, and each mapping unit has its place in it. The [`BlockScheme`] decides the cost of a write out of order:
//! it returns the block that takes the unit next, after the merging that this needs. Gupta et al. ("DFTL", ASPLOS 2009,
//! section 2) describe the family; uFLIP (section 5) shows what it does to a drive's response times.
//!
//! Mapping units never change their plane, so merging moves them within it, on all planes of the stripe at once. Where
//! a log or a replacement belongs to a unit it is a block on each of its planes, and all of them are merged together
//! (`superblock`). What FAST writes in sequence or to its shared log it keeps books of by the plane.
//!
//! Memory: 4 bytes a mapping unit, and 16 bytes a block. Cost: a merge looks at each mapping unit of an erase block.

pub(super) mod bast;
pub(super) mod fast;
mod initial;
pub(super) mod replacement;
mod store;
mod stripes;
mod superblock;

use super::{FtlCounters, GcWork, NoRoom, Placed};
use crate::config::DriveConfig;
use crate::ids::{BlockId, FlashPage, Lpn, PlaneId, Ppn};
use flashlane_base::Seed;
use std::io;
use store::{Spot, Store};
pub(crate) use stripes::Stripes;

/// Where mapping units go that do not fit their block.
pub(crate) trait BlockScheme: Send {
    /// Blocks that a plane needs beyond the data blocks.
    fn spare_blocks(&self) -> u32;

    /// Blocks of a plane that random writes fill.
    fn log_blocks(&self) -> u32;

    /// The block of the spot's plane that takes its unit, and where in it; the merging that has to be done before is
    /// appended to `due`.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks of the plane have worn out.
    fn open(&mut self, store: &mut Store, spot: Spot, due: &mut Vec<GcWork>) -> Result<Target, NoRoom>;

    /// The spot's unit was written there: merging that is due now is appended to `due`.
    fn written(&mut self, store: &mut Store, spot: Spot, target: Target, due: &mut Vec<GcWork>);

    /// Merges one data block of an idle plane, as long as less than `high` of its log is free.
    fn merge_idle(&mut self, store: &mut Store, plane: PlaneId, high: f64, due: &mut Vec<GcWork>);

    /// The blocks of a plane that hold mapping units besides the data blocks.
    #[cfg(test)]
    fn logs(&self, store: &Store, plane: PlaneId) -> Vec<BlockId>;
}

/// The block and position that a mapping unit is written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    block: BlockId,
    position: u32,
}

/// Block-mapped translation.
pub struct BlockMapped {
    store: Store,
    scheme: Box<dyn BlockScheme>,
    /// Idle planes are merged until this share of their log is free.
    high: f64,
}

impl BlockMapped {
    // What a function does is said at `Ftl`, but for what is special here.

    pub(crate) fn new(
        config: &DriveConfig,
        stripes: Stripes,
        scheme: Box<dyn BlockScheme>,
        seed: Seed,
    ) -> io::Result<Self> {
        let store = Store::new(config, stripes, seed)?;
        Ok(Self { store, scheme, high: config.cleaning.high.0 })
    }

    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> Option<PlaneId> {
        self.store.ppn_of(lpn).map(|_| self.store.spot(lpn).plane)
    }

    pub fn plane_and_page_of(&self, lpn: Lpn) -> Option<(PlaneId, FlashPage)> {
        let Ppn(number) = self.store.ppn_of(lpn)?;
        Some((self.store.spot(lpn).plane, FlashPage(number / self.store.geometry.units_per_page)))
    }

    pub fn prefetch(&self, lpn: Lpn) {
        self.store.prefetch(lpn);
    }

    /// Finds a new place for mapping unit `lpn`; the old one becomes invalid. Merging is appended to `due`.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the unit stays where it was.
    pub fn place(&mut self, lpn: Lpn, due: &mut Vec<GcWork>) -> Result<Placed, NoRoom> {
        let spot = self.store.spot(lpn);
        let before = due.len();
        let target = self.scheme.open(&mut self.store, spot, due);
        due[before..].iter_mut().for_each(|gc| gc.precedes_write = true);
        let target = target?;
        self.store.program(spot.plane, target.block, target.position, lpn);
        self.store.counters.host_units += 1;
        let fills_block = self.store.is_full(spot.plane, target.block);
        self.scheme.written(&mut self.store, spot, target, due);
        Ok(Placed::alone(spot.plane, fills_block))
    }

    /// The plane that mapping unit `lpn` will be written to: always the same.
    pub fn assign(&self, lpn: Lpn) -> PlaneId {
        self.store.spot(lpn).plane
    }

    pub fn trim(&mut self, lpn: Lpn) {
        self.store.forget(lpn);
    }

    pub fn wear_of(&self, lpn: Lpn) -> f64 {
        self.store.wear_of(lpn)
    }

    pub fn counters(&self) -> FtlCounters {
        self.store.counters
    }

    pub fn wear_spread(&self) -> (u32, f64, u32) {
        self.store.blocks.wear_spread()
    }

    /// Whether idle planes are merged beyond what writing needs.
    pub(crate) fn has_idle_gc(&self) -> bool {
        self.high > 0.0
    }

    /// Merges one data block of an idle plane, if its log is short of room.
    pub(crate) fn collect_idle(&mut self, plane: PlaneId, due: &mut Vec<GcWork>) {
        self.scheme.merge_idle(&mut self.store, plane, self.high, due);
    }
}

#[cfg(test)]
pub(crate) mod tests;
