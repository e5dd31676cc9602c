//! Page mapping: any mapping unit can lie anywhere on flash, and the policies choose where.
//!
//! Memory: 4 bytes a mapping unit of the capacity and 4 bytes one of the flash, which the system commits only as a run
//! touches them; 14 bytes a block, and 11 more on a drive that was prepared. Where the units of such a drive lie is
//! computed until they are written or moved (`layout`).

mod allocation;
mod cells;
mod gc;
mod handles;
mod initial;
mod layout;
mod pacing;
mod reverse;
mod run;
mod slc;
mod steady;
mod steps;
mod superblocks;
mod translation_pages;

use super::erase_blocks::{EraseBlocks, PlaneState};
use super::map::Map;
use super::scheme::Scheme;
use super::table::Entry;
use super::{FtlCounters, GcWork, NoRoom, Placed, Released};
use crate::config::DriveConfig;
use crate::divisor::Divisor;
use crate::ids::{BlockId, FlashPage, Lpn, PlaneId, Ppn};
use crate::nand::{Geometry, PageType};
use allocation::PoolSearch;
use cells::Cells;
use flashlane_base::Seed;
use flashlane_device::Counters;
use flashlane_policy::allocation::Allocation;
use flashlane_policy::cleaning::Cleaning;
use flashlane_policy::mapping::Mapping;
use flashlane_policy::wear::Wear;
use flashlane_policy::{OptionError, Options};
use gc::HOST_STREAM;
use handles::Handles;
use layout::PreparedLayout;
use pacing::Pacer;
use reverse::Reverse;
use slc::SlcCache;
use std::cell::Cell;
use std::io;
use superblocks::Superblocks;
use translation_pages::TranslationPages;

/// The scheme, which has no options.
pub(super) fn build(_: &Geometry, _: &Options) -> Result<Scheme, OptionError> {
    Ok(Scheme::Pages)
}

/// Page-mapped translation.
pub struct PageMapped {
    /// With superblocks, the array in which a superblock counts as a block.
    geometry: Geometry,
    superblocks: Option<Superblocks>,
    /// The places of mapping units that were written or moved since the drive was made; an untouched entry has its
    /// place from the layout.
    map: Map,
    /// The mapping units on each block that was written or chosen for GC since; until then only its invalid places.
    reverse: Reverse,
    /// Where mapping units lie on a drive that was prepared.
    layout: Option<Box<PreparedLayout>>,
    /// The mapping unit that was prefetched last.
    prefetched: Cell<Lpn>,
    blocks: EraseBlocks,
    planes: Vec<PlaneState>,
    /// Where each allocation pool looks first.
    searches: Box<[PoolSearch]>,
    /// For each plane, the units that the host can write before it runs out of erased blocks.
    free_units: Box<[u32]>,
    mapping: Box<dyn Mapping>,
    allocation: Box<dyn Allocation>,
    gc_policy: Box<dyn Cleaning>,
    wear: Box<dyn Wear>,
    /// Where GC is paced.
    pacer: Option<Pacer>,
    /// Where the map lies on flash.
    translation_pages: Option<Box<TranslationPages>>,
    /// Where blocks are written with one bit a cell at first.
    slc: Option<Box<SlcCache>>,
    /// Blocks of each plane that are kept for it while a drive is prepared, which is without it.
    blocks_kept_for_slc: u32,
    /// Where writes name placement handles.
    handles: Option<Box<Handles>>,
    /// Where pages have types.
    cells: Option<Box<Cells>>,
    /// Idle planes are garbage-collected until they have this number of free blocks.
    high_watermark_blocks: u32,
    /// The index of the open block for moved units: the host's, or another.
    moved_stream: usize,
    /// The mapping units of a flash page, of a block, and of a plane.
    per_page: Divisor,
    per_block: Divisor,
    per_plane: Divisor,
    /// The mapping units of a chunk, and the planes of a pool.
    per_chunk: Divisor,
    per_pool: Divisor,
    /// The planes of a run's chunks, kept to spare its allocation.
    stripe: Vec<u32>,
    counters: FtlCounters,
}

impl PageMapped {
    // What a function does is said at `Ftl`, but for what is special here.

    pub fn new(config: &DriveConfig, seed: Seed) -> io::Result<Self> {
        let geometry = Geometry::new(config);
        let superblocks = Superblocks::new(&geometry);
        let geometry = geometry.of_superblocks();
        let known = "validation built every policy once";
        let array = geometry.array(&config.mapping.order, seed);
        let mapping = config
            .policies
            .mapping
            .build(&config.mapping.policy, &config.mapping.options.options())
            .expect(known);
        let options = config.mapping.allocation_options.options();
        let allocation =
            config.policies.allocation.build(&config.mapping.allocation, &array, &options).expect(known);
        let gc_policy = config.policies.cleaning.build(
            &config.cleaning.policy,
            seed.derive("cleaning"),
            &config.cleaning.options.options(),
        );
        let wear =
            config.policies.wear.build(&config.wear.policy, &config.wear.options.options()).expect(known);
        let (blocks, planes) = EraseBlocks::new(&geometry, &config.flash, seed);
        Ok(Self {
            superblocks,
            map: Map::new(geometry.numbered_units())?,
            reverse: Reverse::new(&geometry)?,
            layout: None,
            prefetched: Cell::new(Map::NO_ENTRY),
            free_units: planes.iter().map(|plane| plane.free_units(&geometry)).collect(),
            blocks,
            planes,
            searches: (0..geometry.planes)
                .step_by(geometry.pool_planes as usize)
                .map(PoolSearch::new)
                .collect(),
            mapping,
            allocation,
            gc_policy: gc_policy.expect(known),
            wear,
            pacer: Pacer::new(config, &geometry),
            translation_pages: TranslationPages::new(config, &geometry).map(Box::new),
            slc: SlcCache::new(config, &geometry).map(Box::new),
            blocks_kept_for_slc: 0,
            handles: Handles::new(config, &geometry).map(Box::new),
            cells: Cells::new(config, &geometry).map(Box::new),
            per_page: Divisor::new(geometry.units_per_page),
            per_block: Divisor::new(geometry.block_units),
            per_plane: Divisor::new(geometry.blocks_per_plane * geometry.block_units),
            per_chunk: Divisor::new(geometry.chunk_units),
            per_pool: Divisor::new(geometry.pool_planes),
            stripe: Vec::new(),
            high_watermark_blocks: (config.cleaning.high.0 * f64::from(geometry.blocks_per_plane)) as u32,
            moved_stream: usize::from(config.cleaning.separate),
            counters: FtlCounters::default(),
            geometry,
        })
    }

    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> Option<PlaneId> {
        let Some(superblocks) = &self.superblocks else {
            return match self.map.entry(lpn) {
                Entry::Number(number) => Some(self.plane_at(Ppn(number))),
                Entry::Untouched => self.layout.as_ref()?.plane_of(lpn),
                Entry::Empty => None,
            };
        };
        let ppn = self.place_of(lpn)?;
        Some(superblocks.place(self.plane_at(ppn), self.number_in_block(ppn)).0)
    }

    #[inline]
    pub fn plane_and_page_of(&self, lpn: Lpn) -> Option<(PlaneId, FlashPage)> {
        let (plane, ppn) = match self.map.entry(lpn) {
            Entry::Number(number) => (self.plane_at(Ppn(number)), Ppn(number)),
            Entry::Untouched => self.prepared_place(lpn)?,
            Entry::Empty => return None,
        };
        let plane = match &self.superblocks {
            Some(superblocks) => superblocks.place(plane, self.number_in_block(ppn)).0,
            None => plane,
        };
        // The units of a flash page stay together, in superblocks too.
        Some((plane, self.flash_page(ppn)))
    }

    /// The flash page of a unit, as translation numbers it.
    #[inline]
    fn flash_page(&self, ppn: Ppn) -> FlashPage {
        FlashPage(self.per_page.of(ppn.0))
    }

    /// Appends the planes of the other units in the row of mapping unit `lpn`, as far as they are written.
    pub fn rest_of_row(&self, lpn: Lpn, planes: &mut Vec<PlaneId>) {
        let (Some(superblocks), Some(ppn)) = (&self.superblocks, self.place_of(lpn)) else { return };
        let (plane, block) =
            (self.plane_at(ppn), BlockId(self.per_block.of(ppn.0) % self.geometry.blocks_per_plane));
        let open = self.planes[plane.index()].open.iter().find(|open| open.block == block);
        let written = open.map_or(self.geometry.data_units, |open| open.written);
        superblocks.rest_of_row(plane, self.number_in_block(ppn), written, planes);
    }

    /// The place of mapping unit `lpn`, if it was ever written.
    #[inline]
    pub(super) fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        match self.map.entry(lpn) {
            Entry::Number(number) => Some(Ppn(number)),
            Entry::Untouched => self.prepared_place(lpn).map(|(_, ppn)| ppn),
            Entry::Empty => None,
        }
    }

    /// The plane and place of a mapping unit that was not touched since the drive was made.
    #[inline(never)]
    fn prepared_place(&self, lpn: Lpn) -> Option<(PlaneId, Ppn)> {
        self.layout.as_ref()?.place_of(lpn)
    }

    /// Enters the mapping units of a block that GC will empty, where those of the layout are still to be entered.
    fn enter_prepared(&mut self, plane: PlaneId, block: BlockId) {
        let Some(layout) = &mut self.layout else { return };
        let number = plane.0 * self.geometry.blocks_per_plane + block.0;
        for (index, ppn) in layout.filled.units_of(plane, number) {
            if self.reverse.is_untouched(ppn, plane) {
                self.reverse.set(ppn, plane, layout.lpn_of(plane, index));
            }
        }
        layout.filled.take(number);
    }

    /// The plane of a physical number.
    #[inline]
    fn plane_at(&self, ppn: Ppn) -> PlaneId {
        PlaneId(self.per_plane.of(ppn.0))
    }

    /// The index of the block of a physical number, in tables of all blocks.
    #[inline]
    fn block_index(&self, ppn: Ppn) -> usize {
        self.per_block.of(ppn.0) as usize
    }

    fn number_in_block(&self, ppn: Ppn) -> u32 {
        ppn.0 - self.per_block.of(ppn.0) * self.geometry.block_units
    }

    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn);
        // The entry of the one before is in the processor's cache by now, and tells whether its place will be computed.
        let before = self.prefetched.replace(lpn);
        if let Some(layout) = &self.layout
            && before.0 < layout.units
            && self.map.entry(before) == Entry::Untouched
        {
            layout.prefetch(before);
        }
    }

    #[inline]
    pub fn prefetch_place(&self, lpn: Lpn) {
        match self.map.entry(lpn) {
            Entry::Number(number) => self.reverse.prefetch(Ppn(number), self.plane_at(Ppn(number))),
            Entry::Untouched => {
                if let Some((plane, ppn)) = self.prepared_place(lpn) {
                    self.reverse.prefetch(ppn, plane);
                }
            }
            Entry::Empty => {}
        }
    }

    #[inline]
    pub fn place(&mut self, lpn: Lpn, due: &mut Vec<GcWork>) -> Result<Placed, NoRoom> {
        let plane = self.assign(lpn)?;
        self.place_on(plane, lpn, due)
    }

    /// The second half of [`PageMapped::place`], for a unit whose plane [`PageMapped::assign`] has chosen.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the unit stays where it was.
    #[inline(always)]
    pub fn place_on(&mut self, plane: PlaneId, lpn: Lpn, due: &mut Vec<GcWork>) -> Result<Placed, NoRoom> {
        let plane =
            if self.geometry.pool_planes == 1 { plane } else { self.plane_with_most_free_units(plane, lpn)? };
        if self.slc.is_some()
            && let Some(placed) = self.place_in_slc(plane, lpn, due)
        {
            return Ok(placed);
        }
        if self.handles.is_some() {
            self.switch_host(plane);
        }
        let opens_block = self.is_full(plane);
        if opens_block {
            self.open_next_block(plane, HOST_STREAM, due).ok_or(NoRoom)?;
        }
        let ppn = self.next_unit(plane, HOST_STREAM);
        // The plane's turn comes again soon, with the next unit of the block.
        self.reverse.prefetch_next_line(ppn, plane);
        let fills_block = self.is_full(plane);
        // GC may have changed the old place: look it up only now.
        self.invalidate(lpn);
        self.map_unit(lpn, ppn, plane);
        self.counters.host_units += 1;
        if self.pacer.is_some() {
            self.pace(plane, 1, due);
        } else if opens_block {
            self.collect_to_low_watermark(plane, due);
        }
        let placed = self.placed_by_type(plane, ppn, fills_block);
        self.counters.parity_units += u64::from(placed.parity.is_some());
        Ok(placed)
    }

    /// The place with this physical number on `plane`, outside the SLC cache, with the type of its page.
    #[inline(always)]
    fn placed_by_type(&self, plane: PlaneId, ppn: Ppn, fills_block: bool) -> Placed {
        let placed = self.placed(plane, ppn, fills_block);
        // By value: a place that is completed in memory is read back by wider loads, which wait for its stores.
        let placed = match &self.cells {
            Some(cells) => cells.described(self.number_in_block(ppn), ppn, placed),
            None => placed,
        };
        match &self.handles {
            Some(handles) => Placed { program_group: handles.group_of(ppn), ..placed },
            None => placed,
        }
    }

    /// The place with this physical number on `plane`, which may stand for the planes of superblocks.
    #[inline(always)]
    fn placed(&self, plane: PlaneId, ppn: Ppn, fills_block: bool) -> Placed {
        let Some(superblocks) = &self.superblocks else { return Placed::alone(plane, fills_block) };
        let number = self.number_in_block(ppn);
        let (plane, parity) = superblocks.place(plane, number);
        let waits_for_others = superblocks.waits_for_others(number);
        Placed { parity, waits_for_others, ..Placed::alone(plane, fills_block) }
    }

    /// The type of the page in which mapping unit `lpn` lies.
    #[inline]
    pub fn page_type_of(&self, lpn: Lpn) -> PageType {
        if self.slc.is_none() && self.cells.is_none() {
            return PageType::MEAN;
        }
        self.place_of(lpn).map_or(PageType::MEAN, |ppn| match &self.cells {
            _ if self.is_slc_block(self.block_index(ppn)) => PageType::OF_SECTION,
            None => PageType::MEAN,
            Some(cells) => cells.page_type(self.number_in_block(ppn)),
        })
    }

    /// Mapping units that are programmed at once, on all planes of a superblock where all pages of a word line are.
    pub(super) fn programmed_at_once(&self) -> u32 {
        self.cells.as_ref().and_then(|cells| cells.word_line_units()).unwrap_or(self.geometry.units_per_page)
    }

    pub fn adopt(&mut self, lpn: Lpn, copy: Lpn) {
        let Some(ppn) = self.place_of(copy) else { return };
        self.invalidate(lpn);
        let plane = self.plane_at(ppn);
        self.map.set(lpn, ppn);
        self.reverse.set(ppn, plane, lpn);
        self.map.remove(copy);
    }

    pub fn release(&mut self, copy: Lpn) -> Released {
        let ppn = self.place_of(copy).expect("the copy was placed");
        let (plane, block) = (self.plane_at(ppn), self.block_index(ppn));
        self.mark_stale(ppn, plane);
        self.map.remove(copy);
        Released { plane, block, erases: self.blocks.erases_of(block) }
    }

    pub fn holds(&self, released: Released) -> bool {
        self.blocks.erases_of(released.block) == released.erases
    }

    pub fn trim(&mut self, lpn: Lpn) {
        self.invalidate(lpn);
        self.map.remove(lpn);
    }

    pub fn wear_of(&self, lpn: Lpn) -> f64 {
        self.place_of(lpn)
            .map_or(1.0, |ppn| self.blocks.wear_of((ppn.0 / self.geometry.block_units) as usize))
    }

    pub fn counters(&self) -> FtlCounters {
        self.counters
    }

    /// Appends the counters of the mechanisms that it has, under the names that results have.
    pub fn add_counters(&self, list: &mut Vec<(&'static str, u64)>) {
        list.push((Counters::PAGES_COLLECTED, self.counters.collected_units));
        list.extend(self.slc.iter().flat_map(|slc| slc.counters()));
        if self.geometry.units_per_program > 1 {
            list.push(("pages_left_empty", self.counters.left_empty_units));
        }
    }

    pub fn wear_spread(&self) -> (u32, f64, u32) {
        self.blocks.wear_spread()
    }

    /// Leaves empty what is left of the flash page that the host's next unit on each plane would go to. GC that is due
    /// by it is appended to `due`: it keeps up with what is left empty as with what is written.
    pub fn close_open_pages(&mut self, due: &mut Vec<GcWork>) {
        let page_units = self.programmed_at_once();
        if page_units == 1 {
            return;
        }
        for plane in (0..self.geometry.planes).map(PlaneId) {
            let open = &mut self.planes[plane.index()].open[HOST_STREAM];
            let rest = open.close_page(page_units, self.geometry.data_units);
            self.free_units[plane.index()] -= rest;
            self.counters.left_empty_units += u64::from(rest);
            if rest > 0 && self.pacer.is_some() {
                self.pace(plane, rest, due);
            }
        }
        self.close_parked_pages(page_units, due);
        self.close_open_slc_pages();
        self.mapping.skip_to_chunk(self.geometry.chunk_units.into());
    }

    /// Makes `ppn` the place of `lpn`.
    #[inline(always)]
    fn map_unit(&mut self, lpn: Lpn, ppn: Ppn, plane: PlaneId) {
        self.map.set(lpn, ppn);
        self.reverse.set(ppn, plane, lpn);
        let block = self.block_index(ppn);
        debug_assert!(!self.blocks.is_closed(block), "a closed block takes no unit");
        self.blocks.add_valid(block);
        self.planes[plane.index()].valid_units += 1;
    }

    /// Makes the place of `lpn` invalid, if it has one; the map's entry is left for the caller.
    #[inline(always)]
    fn invalidate(&mut self, lpn: Lpn) {
        let Some(ppn) = self.place_of(lpn) else { return };
        let plane = self.plane_at(ppn);
        self.mark_stale(ppn, plane);
    }

    /// Counts a physical number that is no longer the place of a mapping unit.
    #[inline(always)]
    fn mark_stale(&mut self, ppn: Ppn, plane: PlaneId) {
        self.reverse.remove(ppn, plane);
        let block = self.block_index(ppn);
        self.blocks.remove_valid(block);
        self.planes[plane.index()].valid_units -= 1;
    }
}

#[cfg(test)]
pub(crate) mod tests;
