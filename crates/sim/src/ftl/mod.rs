//! The flash translation layer: where each logical page lies, and room for the next one.
//!
//! It is the drive's bookkeeping and knows nothing of time: placing a page answers with the plane it goes to
//! and the cleaning that had to be done first; the flash side turns both into operations that take time.

pub(crate) mod block;
mod blocks;
pub(crate) mod page;
mod table;

use crate::config::{DriveConfig, Translation};
use crate::ids::{Lpn, PlaneId};
use block::BlockMapped;
use flashlane_base::Seed;
use page::PageMapped;
use std::ops::ControlFlow;
use std::ops::Range;

/// Cleaning that was done on a plane, as a whole or a step of it: `moves` pages moved within it, then `erases` blocks erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clean {
    /// The plane, or the first of those of its die that are cleaned together.
    pub plane: PlaneId,
    /// How many these are.
    pub planes: u32,
    /// Pages moved, on each of them.
    pub moves: u32,
    /// Blocks that the moved pages filled.
    pub filled: u32,
    /// Blocks erased.
    pub erases: u32,
    /// Whether the page being placed goes to a block that this freed or moved pages to, and so has to wait for it.
    pub first: bool,
    /// Whether it is a step of a paced cleaning: no more than a flash page on each plane, or an erase.
    pub step: bool,
}

/// Where a page was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// On which plane.
    pub plane: PlaneId,
    /// Whether it filled its block.
    pub fills_block: bool,
    /// The plane that gets a parity page, where this was the last page of a row.
    pub parity: Option<PlaneId>,
    /// Whether pages that are placed later are to be programmed along with it.
    pub awaits: bool,
}

/// No plane has room for another page: too many blocks have worn out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// What the translation layer counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlCounters {
    /// Pages placed for the host.
    pub host_pages: u64,
    /// Pages moved by cleaning, merging and wear leveling.
    pub moved_pages: u64,
    /// Parity pages placed.
    pub parity_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks that wore out.
    pub worn_out_blocks: u64,
    /// Blocks moved by static wear leveling.
    pub leveled_blocks: u64,
    /// Log blocks that took their data block's place as they were.
    pub switch_merges: u64,
    /// Log blocks that were completed and took their data block's place.
    pub partial_merges: u64,
    /// Units whose pages were gathered in a new data block.
    pub full_merges: u64,
}

/// A drive's translation layer.
pub enum Ftl {
    /// Page by page.
    Page(PageMapped),
    /// By whole blocks.
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

/// Asked now and then during long preparations whether to go on.
pub type Watch<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// A [`Watch`] that never breaks.
pub fn unwatched() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Pages prepared from one look at the [`Watch`] to the next: some milliseconds.
const PAGES_A_LOOK: u32 = 1 << 16;

impl Ftl {
    /// The translation layer of a drive with nothing written. Requires: `config` is validated.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
        match config.mapping.translation {
            Translation::Page => Self::Page(PageMapped::new(config, seed)),
            _ => Self::Block(BlockMapped::new(config, seed)),
        }
    }

    /// Puts a fresh drive into its profile's initial state. Where `watch` breaks, it is in none.
    pub fn prepare(&mut self, config: &DriveConfig, seed: Seed, watch: Watch<'_>) -> ControlFlow<()> {
        each!(self, layer => layer.prepare(config, seed, watch))
    }

    /// The plane on which logical page `page` lies, if it was ever written.
    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> Option<PlaneId> {
        each!(self, layer => layer.plane_of(lpn.0).map(PlaneId))
    }

    /// A hint that logical page `page` will be looked up soon.
    #[inline]
    pub fn expect(&self, lpn: Lpn) {
        each!(self, layer => layer.expect(lpn.0))
    }

    /// A hint that logical page `page` will be placed anew soon, and its old place so become invalid.
    #[inline]
    pub fn expect_place(&self, lpn: Lpn) {
        if let Self::Page(layer) = self {
            layer.expect_place(lpn.0);
        }
    }

    /// Finds a new place for logical page `page`; the old one becomes invalid. Cleaning that is due is appended to
    /// `cleaned`.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the page stays where it was.
    #[inline]
    pub fn place(&mut self, lpn: Lpn, cleaned: &mut Vec<Clean>) -> Result<Placed, NoRoom> {
        each!(self, layer => layer.place(lpn.0, cleaned))
    }

    /// [`Ftl::place`] for pages that follow each other, one after the other up to the first that makes cleaning due
    /// or a number of them; where each went is appended to `placed`. Requires: `cleaned` is empty.
    ///
    /// # Errors
    /// [`NoRoom`] for the page after those that were placed.
    pub fn place_run(
        &mut self,
        pages: Range<u32>,
        placed: &mut Vec<Placed>,
        cleaned: &mut Vec<Clean>,
    ) -> Result<(), NoRoom> {
        match self {
            Self::Page(layer) => layer.place_run(pages, placed, cleaned),
            Self::Block(layer) => {
                for page in pages {
                    placed.push(layer.place(page, cleaned)?);
                    if !cleaned.is_empty() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// The second half of [`Ftl::place`], for a page that has its plane, or its pool's, from [`Ftl::assign`]: the page
    /// of flash is taken only now.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the page stays where it was.
    #[inline]
    pub fn place_on(&mut self, plane: PlaneId, lpn: Lpn, cleaned: &mut Vec<Clean>) -> Result<Placed, NoRoom> {
        match self {
            Self::Page(layer) => layer.place_on(plane.0, lpn.0, cleaned),
            Self::Block(layer) => layer.place(lpn.0, cleaned),
        }
    }

    /// The plane that logical page `page` will be written to.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out.
    pub fn assign(&mut self, lpn: Lpn) -> Result<PlaneId, NoRoom> {
        match self {
            Self::Page(layer) => layer.assign(lpn.0).map(PlaneId),
            Self::Block(layer) => Ok(PlaneId(layer.assign(lpn.0))),
        }
    }

    /// Whether `plane`, or another of its pool, can take logical page `page`: a plane that was assigned some time ago
    /// may have filled up since.
    #[inline]
    pub fn takes(&self, plane: PlaneId, lpn: Lpn) -> bool {
        match self {
            Self::Page(layer) => layer.takes(plane.0, lpn.0),
            Self::Block(_) => true,
        }
    }

    /// Forgets logical page `page`.
    pub fn trim(&mut self, lpn: Lpn) {
        each!(self, layer => layer.trim(lpn.0))
    }

    /// The share of its endurance that the block which holds `page` has used, 1 where endurance is unlimited or the
    /// page was never written.
    pub fn wear_of(&self, lpn: Lpn) -> f64 {
        each!(self, layer => layer.wear_of(lpn.0))
    }

    /// What was counted so far.
    pub fn counters(&self) -> FtlCounters {
        each!(self, layer => layer.counters())
    }

    /// Least, mean and largest erase count of a block.
    pub fn wear_spread(&self) -> (u32, f64, u32) {
        each!(self, layer => layer.wear_spread())
    }

    /// Whether idle planes are cleaned beyond what writing needs.
    pub(crate) fn cleans_when_idle(&self) -> bool {
        each!(self, layer => layer.cleans_when_idle())
    }

    /// Cleans an idle plane by one step, if it has less room than it should.
    pub(crate) fn clean_in_background(&mut self, plane: PlaneId, cleaned: &mut Vec<Clean>) {
        each!(self, layer => layer.clean_in_background(plane.0, cleaned))
    }
}

#[cfg(test)]
impl Ftl {
    /// Every table agrees with every other.
    pub(crate) fn check(&self) {
        match self {
            Self::Page(layer) => page::tests::check(layer),
            Self::Block(layer) => block::tests::check(layer),
        }
    }
}
