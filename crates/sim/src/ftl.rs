//! The flash translation layer: where each mapping unit lies, and room for the next one.
//!
//! It keeps tables and has no notion of time. Garbage collection (GC) that placing a mapping unit requires is done in
//! the tables at once; the unit's plane and the work of GC ([`GcWork`]) are returned, and the drive turns both into
//! flash operations, which take the time.

pub(crate) mod block;
mod counters;
mod erase_blocks;
mod map;
pub(crate) mod page;
mod placed;
pub(crate) mod scheme;
pub(crate) mod scheme_registry;
mod sparse;
mod stop_check;
mod table;

pub use counters::FtlCounters;
pub use placed::{GcWork, NoRoom, Placed, Released};
pub(crate) use stop_check::UNITS_BETWEEN_STOP_CHECKS;
pub use stop_check::{StopCheck, never_stop};

use crate::config::DriveConfig;
use crate::ids::{FlashPage, Lpn, PlaneId};
use crate::nand::{Geometry, PageType};
use block::BlockMapped;
use flashlane_base::Seed;
use flashlane_device::PlacementHandle;
use page::PageMapped;
use scheme::Scheme;
use std::io;
use std::ops::ControlFlow;
use std::ops::Range;

/// A drive's translation layer.
#[expect(clippy::large_enum_variant, reason = "a drive has one")]
pub enum Ftl {
    /// Page mapping: any mapping unit can lie anywhere.
    Page(PageMapped),
    /// Block mapping.
    Block(BlockMapped),
}

/// Calls the same on whichever layer it is.
macro_rules! each {
    ($self:ident, $layer:ident => $call:expr) => {
        match $self {
            Ftl::Page($layer) => $call,
            Ftl::Block($layer) => $call,
        }
    };
}

impl Ftl {
    /// The translation layer of a drive with nothing written. Requires: `config` is validated.
    ///
    /// # Errors
    /// The system's, where it has no address space for the tables.
    pub fn new(config: &DriveConfig, seed: Seed) -> io::Result<Self> {
        match scheme_registry::of(config, &Geometry::new(config)) {
            Scheme::Pages => PageMapped::new(config, seed).map(Self::Page),
            Scheme::Blocks(stripes, scheme) => {
                BlockMapped::new(config, stripes, scheme, seed).map(Self::Block)
            }
        }
    }

    /// Puts a fresh drive into its profile's initial state. Where `watch` breaks, it is in none.
    pub fn prepare(&mut self, config: &DriveConfig, seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        each!(self, layer => layer.prepare(config, seed, watch))
    }

    /// The plane on which mapping unit `lpn` lies, if it was ever written.
    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> Option<PlaneId> {
        each!(self, layer => layer.plane_of(lpn))
    }

    /// The plane on which mapping unit `lpn` lies, and its flash page, if it was ever written.
    #[inline]
    pub fn plane_and_page_of(&self, lpn: Lpn) -> Option<(PlaneId, FlashPage)> {
        each!(self, layer => layer.plane_and_page_of(lpn))
    }

    /// The type of the page in which mapping unit `lpn` lies.
    #[inline]
    pub fn page_type_of(&self, lpn: Lpn) -> PageType {
        match self {
            Self::Page(layer) => layer.page_type_of(lpn),
            Self::Block(_) => PageType::MEAN,
        }
    }

    /// Appends the planes from which mapping unit `lpn` can be rebuilt: those of the other units of its row that are
    /// written, parity included. None where it is not written or has no row.
    pub fn rest_of_row(&self, lpn: Lpn, planes: &mut Vec<PlaneId>) {
        if let Self::Page(layer) = self {
            layer.rest_of_row(lpn, planes);
        }
    }

    /// A hint that mapping unit `lpn` will be looked up soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        each!(self, layer => layer.prefetch(lpn))
    }

    /// A hint that mapping unit `lpn` will be placed anew soon, which makes its place invalid.
    #[inline]
    pub fn prefetch_place(&self, lpn: Lpn) {
        if let Self::Page(layer) = self {
            layer.prefetch_place(lpn);
        }
    }

    /// The mapping units that are placed from now on have this placement handle. Only page mapping has handles.
    pub fn use_handle(&mut self, handle: PlacementHandle) {
        match self {
            Self::Page(layer) => layer.use_handle(handle),
            Self::Block(_) => unreachable!("validation refuses placement handles where blocks are mapped"),
        }
    }

    /// Finds a new place for mapping unit `lpn`; the old one becomes invalid. GC that is due is appended to
    /// `due`.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the unit stays where it was.
    #[inline]
    pub fn place(&mut self, lpn: Lpn, due: &mut Vec<GcWork>) -> Result<Placed, NoRoom> {
        each!(self, layer => layer.place(lpn, due))
    }

    /// [`Ftl::place`] for consecutive mapping units, up to the first that makes GC due or a number of them; their
    /// places are appended to `placed`. Requires: `due` is empty.
    ///
    /// # Errors
    /// [`NoRoom`] for the unit after those that were placed.
    pub fn place_run(
        &mut self,
        lpns: Range<u32>,
        placed: &mut Vec<Placed>,
        due: &mut Vec<GcWork>,
    ) -> Result<(), NoRoom> {
        match self {
            Self::Page(layer) => layer.place_run(lpns, placed, due),
            Self::Block(layer) => {
                for lpn in lpns.map(Lpn) {
                    placed.push(layer.place(lpn, due)?);
                    if !due.is_empty() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// The second half of [`Ftl::place`], for a unit that has its plane, or its pool's, from [`Ftl::assign`]: its place
    /// on flash is taken only now.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the unit stays where it was.
    #[inline]
    pub fn place_on(&mut self, plane: PlaneId, lpn: Lpn, due: &mut Vec<GcWork>) -> Result<Placed, NoRoom> {
        match self {
            Self::Page(layer) => layer.place_on(plane, lpn, due),
            Self::Block(layer) => layer.place(lpn, due),
        }
    }

    /// The plane that mapping unit `lpn` will be written to.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out.
    pub fn assign(&mut self, lpn: Lpn) -> Result<PlaneId, NoRoom> {
        match self {
            Self::Page(layer) => layer.assign(lpn),
            Self::Block(layer) => Ok(layer.assign(lpn)),
        }
    }

    /// Whether `plane`, or another of its pool, can take mapping unit `lpn`: a plane that was assigned some time ago
    /// may have filled up since.
    #[inline]
    pub fn can_take(&self, plane: PlaneId, lpn: Lpn) -> bool {
        match self {
            Self::Page(layer) => layer.can_take(plane, lpn),
            Self::Block(_) => true,
        }
    }

    /// Gives mapping unit `lpn` the place of the replica `copy`, which is then forgotten. Only page mapping has
    /// replicas.
    pub fn adopt(&mut self, lpn: Lpn, copy: Lpn) {
        match self {
            Self::Page(layer) => layer.adopt(lpn, copy),
            Self::Block(_) => unreachable!("validation refuses replication of blocks"),
        }
    }

    /// Lets GC erase the replica `copy` with its block instead of moving it. Returns where it stays until then.
    /// Requires: `copy` was placed.
    pub fn release(&mut self, copy: Lpn) -> Released {
        match self {
            Self::Page(layer) => layer.release(copy),
            Self::Block(_) => unreachable!("validation refuses replication of blocks"),
        }
    }

    /// Whether a released replica is still on flash.
    pub fn holds(&self, released: Released) -> bool {
        match self {
            Self::Page(layer) => layer.holds(released),
            Self::Block(_) => unreachable!("validation refuses replication of blocks"),
        }
    }

    /// Finds a new place for a translation page, by its number, as [`Ftl::place`] does for a mapping unit of the host.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the page stays where it was.
    pub fn place_translation_page(&mut self, page: u32, due: &mut Vec<GcWork>) -> Result<Placed, NoRoom> {
        match self {
            Self::Page(layer) => layer.place_translation_page(page, due),
            Self::Block(_) => unreachable!("validation refuses a map on flash where blocks are mapped"),
        }
    }

    /// Appends the mapping units of the host that GC has moved since the last call, where the map lies on flash.
    pub fn take_moved(&mut self, moved: &mut Vec<Lpn>) {
        if let Self::Page(layer) = self {
            layer.take_moved(moved);
        }
    }

    /// Forgets mapping unit `lpn`.
    pub fn trim(&mut self, lpn: Lpn) {
        each!(self, layer => layer.trim(lpn))
    }

    /// Closes the flash pages that are written in part: each can be programmed once, so that what was left of it stays
    /// empty. Only page mapping has mapping units below a page. GC that is due by it is appended to `due`.
    pub fn close_open_pages(&mut self, due: &mut Vec<GcWork>) {
        if let Self::Page(layer) = self {
            layer.close_open_pages(due);
        }
    }

    /// The share of its endurance that the block with `lpn` has used, 1 where endurance is unlimited or the unit was
    /// never written.
    pub fn wear_of(&self, lpn: Lpn) -> f64 {
        each!(self, layer => layer.wear_of(lpn))
    }

    /// Appends the counters, and those of the mechanisms that the layer has, under the names that results have.
    pub(crate) fn add_counters(&self, list: &mut Vec<(&'static str, u64)>) {
        list.extend(self.counters().list());
        if let Self::Page(layer) = self {
            layer.add_counters(list);
        }
    }

    /// The counters so far.
    pub fn counters(&self) -> FtlCounters {
        each!(self, layer => layer.counters())
    }

    /// Least, mean and largest erase count of a block.
    pub fn wear_spread(&self) -> (u32, f64, u32) {
        each!(self, layer => layer.wear_spread())
    }

    /// Whether idle planes are garbage-collected beyond what writing needs.
    pub(crate) fn has_idle_gc(&self) -> bool {
        each!(self, layer => layer.has_idle_gc())
    }

    /// Garbage-collects an idle plane, if it has less room than it should: a flash page of a victim where GC is paced,
    /// otherwise a whole victim. Where it has room enough and `folds`, its SLC cache is emptied likewise.
    pub(crate) fn collect_idle(&mut self, plane: PlaneId, folds: bool, due: &mut Vec<GcWork>) {
        match self {
            Self::Page(layer) => layer.collect_idle(plane, folds, due),
            Self::Block(layer) => layer.collect_idle(plane, due),
        }
    }
}

#[cfg(test)]
impl Ftl {
    /// The place of mapping unit `lpn`, if it was ever written.
    pub(crate) fn place_of(&self, lpn: Lpn) -> Option<crate::ids::Ppn> {
        match self {
            Self::Page(layer) => layer.place_of(lpn),
            Self::Block(_) => unreachable!("only page mapping numbers places"),
        }
    }

    /// Every table agrees with every other.
    pub(crate) fn check(&self) {
        match self {
            Self::Page(layer) => page::tests::check(layer),
            Self::Block(layer) => block::tests::check(layer),
        }
    }
}
