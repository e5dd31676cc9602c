//! What the schemes have in common: where the pages' places are, which blocks are free, and the moves of a merge.
//!
//! Flash's own laws are held here, whatever the scheme: a block is erased before it is programmed again and only when
//! nothing in it is valid, its pages are programmed in ascending order, and a page has one valid copy.

use super::stripes::Stripes;
use crate::config::DriveConfig;
use crate::ftl::blocks::{Blocks, Plane};
use crate::ftl::table::Table;
use crate::ftl::{Clean, FtlCounters};
use crate::ids::PlaneId;
use crate::nand::Geometry;
use flashlane_base::Seed;
use flashlane_policy::wear::Wear;

/// "No block".
pub(super) const NONE: u32 = u32::MAX;

/// Where a logical page belongs: its place in a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(super) plane: u32,
    /// The data block, in those of the plane.
    pub(super) unit: u32,
    /// The page in it.
    pub(super) offset: u32,
}

pub(crate) struct Store {
    pub(super) geometry: Geometry,
    /// Logical page to physical page + 1; 0 where never written.
    map: Table,
    pub(super) blocks: Blocks,
    pub(super) planes: Vec<Plane>,
    /// Of each block, the first page that may still be programmed.
    next: Vec<u16>,
    /// Of each plane and unit, the data block.
    data: Vec<u32>,
    pub(super) units_per_plane: u32,
    pub(super) stripes: Stripes,
    /// The plane at each position of the stripes, and the position of each plane.
    plane_at: Vec<u32>,
    position_of: Vec<u32>,
    wear: Box<dyn Wear>,
    pub(super) counters: FtlCounters,
}

impl Store {
    /// With every block free. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, stripes: Stripes, seed: Seed) -> Self {
        let geometry = Geometry::new(config);
        let known = "validation built every policy once";
        let array = geometry.array(&config.mapping.order, seed);
        let options = config.mapping.allocation_options.options();
        let allocation =
            config.policies.allocation.build(&config.mapping.allocation, &array, &options).expect(known);
        let plane_at: Vec<u32> = (0..geometry.planes).map(|at| allocation.plane(u64::from(at))).collect();
        let mut position_of = vec![0; geometry.planes as usize];
        for (at, &plane) in plane_at.iter().enumerate() {
            position_of[plane as usize] = at as u32;
        }
        let (blocks, planes) = Blocks::new(&geometry, &config.flash, seed);
        let units_per_plane = stripes.units_per_plane(&geometry);
        Self {
            map: Table::zeroed(geometry.logical_pages as usize),
            next: vec![0; geometry.planes as usize * geometry.blocks as usize],
            data: vec![NONE; geometry.planes as usize * units_per_plane as usize],
            units_per_plane,
            stripes,
            plane_at,
            position_of,
            blocks,
            planes,
            wear: config
                .policies
                .wear
                .build(&config.wear.policy, &config.wear.options.options())
                .expect(known),
            counters: FtlCounters::default(),
            geometry,
        }
    }

    /// Where logical page `page` belongs.
    #[inline]
    pub(super) fn spot(&self, page: u32) -> Spot {
        let g = &self.geometry;
        let unit_pages = self.stripes.planes * g.data_pages;
        let (unit, within) = (page / unit_pages, page % unit_pages);
        let (chunk, rest) = (within / g.chunk_pages, within % g.chunk_pages);
        let stripes = self.stripes.count;
        let (stripe, unit) = if self.stripes.interleave {
            (unit % stripes, unit / stripes)
        } else {
            (unit / self.units_per_plane, unit % self.units_per_plane)
        };
        let position = stripe * self.stripes.planes + chunk % self.stripes.planes;
        Spot {
            plane: self.plane_at[position as usize],
            unit,
            offset: chunk / self.stripes.planes * g.chunk_pages + rest,
        }
    }

    /// The logical page that belongs there, where the capacity reaches so far.
    #[inline]
    pub(super) fn page_at(&self, spot: Spot) -> Option<u32> {
        let g = &self.geometry;
        let position = self.position_of[spot.plane as usize];
        let stripe = position / self.stripes.planes;
        let unit = if self.stripes.interleave {
            spot.unit * self.stripes.count + stripe
        } else {
            stripe * self.units_per_plane + spot.unit
        };
        let chunk = spot.offset / g.chunk_pages * self.stripes.planes + position % self.stripes.planes;
        let within = chunk * g.chunk_pages + spot.offset % g.chunk_pages;
        let page = u64::from(unit) * u64::from(self.stripes.planes * g.data_pages) + u64::from(within);
        (page < u64::from(g.logical_pages)).then_some(page as u32)
    }

    /// The stripe of a plane.
    #[inline]
    pub(super) fn stripe(&self, plane: u32) -> u32 {
        self.position_of[plane as usize] / self.stripes.planes
    }

    /// A plane's position in its stripe.
    #[inline]
    pub(super) fn position(&self, plane: u32) -> u32 {
        self.position_of[plane as usize] % self.stripes.planes
    }

    /// The plane at a position of a stripe.
    #[inline]
    pub(super) fn plane_of_stripe(&self, stripe: u32, position: u32) -> u32 {
        self.plane_at[(stripe * self.stripes.planes + position) as usize]
    }

    /// The flash page that holds logical page `page`.
    #[inline]
    pub(super) fn physical(&self, page: u32) -> Option<u32> {
        self.map[page as usize].checked_sub(1)
    }

    /// A hint that logical page `page` will be looked up soon.
    pub(super) fn expect(&self, page: u32) {
        self.map.prefetch(page as usize);
    }

    /// The index of a plane's block in tables of all blocks.
    #[inline]
    fn number(&self, plane: u32, block: u32) -> usize {
        (plane * self.geometry.blocks + block) as usize
    }

    /// The first page of a block that may still be programmed; as many as it has data pages where it is full.
    #[inline]
    pub(super) fn next(&self, plane: u32, block: u32) -> u32 {
        u32::from(self.next[self.number(plane, block)])
    }

    /// Whether a block has no page left.
    #[inline]
    pub(super) fn is_full(&self, plane: u32, block: u32) -> bool {
        self.next(plane, block) >= self.geometry.data_pages
    }

    /// Valid pages of a block.
    pub(super) fn valid(&self, plane: u32, block: u32) -> u32 {
        u32::from(self.blocks.valid[self.number(plane, block)])
    }

    /// The flash page at a position of a block.
    #[inline]
    pub(super) fn flash_page(&self, plane: u32, block: u32, position: u32) -> u32 {
        (plane * self.geometry.blocks + block) * self.geometry.pages + position
    }

    /// Erased blocks of a plane.
    pub(super) fn free(&self, plane: u32) -> usize {
        self.planes[plane as usize].free.len()
    }

    /// Takes the erased block that wear leveling chooses.
    pub(super) fn take(&mut self, plane: u32) -> Option<u32> {
        let first = self.number(plane, 0);
        let free = &mut self.planes[plane as usize].free;
        if free.is_empty() {
            return None;
        }
        let erases = &self.blocks.erases[first..first + self.geometry.blocks as usize];
        let position = self.wear.next_free(free.make_contiguous(), erases);
        let block = free.remove(position).expect("wear leveling chooses among the free blocks");
        self.blocks.valid[first + block as usize] = 0;
        Some(block)
    }

    /// Writes a logical page to a position of a block; its copy before becomes invalid.
    #[inline]
    pub(super) fn program(&mut self, plane: u32, block: u32, position: u32, page: u32) {
        let number = self.number(plane, block);
        assert!(position >= u32::from(self.next[number]), "pages of a block are programmed in order");
        self.next[number] = position as u16 + 1;
        self.invalidate(page);
        self.map[page as usize] = self.flash_page(plane, block, position) + 1;
        self.blocks.valid[number] += 1;
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        if let Some(physical) = self.physical(page) {
            self.blocks.valid[(physical / self.geometry.pages) as usize] -= 1;
        }
    }

    /// Forgets a logical page.
    pub(super) fn forget(&mut self, page: u32) {
        self.invalidate(page);
        self.map[page as usize] = 0;
    }

    /// Erases a block, which becomes free unless it wears out.
    pub(super) fn erase(&mut self, plane: u32, block: u32) {
        let number = self.number(plane, block);
        assert_eq!(self.blocks.valid[number], 0, "what is valid is moved before a block is erased");
        self.next[number] = 0;
        self.counters.erases += 1;
        if self.blocks.erase(number) {
            self.planes[plane as usize].good -= 1;
            self.counters.worn_out_blocks += 1;
        } else {
            self.planes[plane as usize].free.push_back(block);
        }
    }

    /// The data block of a unit.
    #[cfg(test)]
    pub(super) fn data(&self, plane: u32, unit: u32) -> Option<u32> {
        let block = self.data[(plane * self.units_per_plane + unit) as usize];
        (block != NONE).then_some(block)
    }

    /// Copies the valid pages of a unit that belong at `offsets` to their places in `block`.
    pub(super) fn copy(&mut self, plane: u32, unit: u32, offsets: std::ops::Range<u32>, block: u32) -> Clean {
        let (mut moves, mut filled) = (0, 0);
        for offset in offsets {
            let Some(page) = self.page_at(Spot { plane, unit, offset }) else { break };
            if self.physical(page).is_some() {
                self.program(plane, block, offset, page);
                moves += 1;
                filled += u32::from(offset + 1 == self.geometry.data_pages);
            }
        }
        self.counters.moved_pages += u64::from(moves);
        Clean { plane: PlaneId(plane), planes: 1, moves, filled, erases: 0, first: false, step: false }
    }

    /// Makes `block`, which holds what is valid of a unit, its data block; the one before is erased. How many were.
    pub(super) fn switch(&mut self, plane: u32, unit: u32, block: u32) -> u32 {
        let before = std::mem::replace(&mut self.data[(plane * self.units_per_plane + unit) as usize], block);
        if before == NONE {
            return 0;
        }
        self.erase(plane, before);
        1
    }

    /// Completes `block`, which holds the first pages of a unit in their places, and makes it the data block.
    pub(super) fn complete(&mut self, plane: u32, unit: u32, block: u32) -> Clean {
        let mut clean = self.copy(plane, unit, self.next(plane, block)..self.geometry.data_pages, block);
        clean.erases = self.switch(plane, unit, block);
        match clean.moves {
            0 => self.counters.switch_merges += 1,
            _ => self.counters.partial_merges += 1,
        }
        clean
    }

    /// Gathers a unit's pages, wherever they are, in a new data block. `None`, and nothing changed, where there is
    /// none.
    pub(super) fn gather(&mut self, plane: u32, unit: u32) -> Option<Clean> {
        let block = self.take(plane)?;
        let mut clean = self.copy(plane, unit, 0..self.geometry.data_pages, block);
        clean.erases = self.switch(plane, unit, block);
        self.counters.full_merges += 1;
        Some(clean)
    }

    /// Writes all pages of a unit to a new data block, as when it is filled for the first time.
    pub(super) fn fill(&mut self, plane: u32, unit: u32) {
        let mut block = None;
        for offset in 0..self.geometry.data_pages {
            let Some(page) = self.page_at(Spot { plane, unit, offset }) else { break };
            let block = *block.get_or_insert_with(|| {
                self.take(plane).expect("validation made sure that the capacity fits")
            });
            self.program(plane, block, offset, page);
        }
        if let Some(block) = block {
            self.switch(plane, unit, block);
        }
    }

    /// The share of its endurance that the block which holds `page` has used, 1 where endurance is unlimited or the
    /// page was never written.
    pub(super) fn wear_of(&self, page: u32) -> f64 {
        self.physical(page).map_or(1.0, |physical| self.blocks.wear_of(physical / self.geometry.pages))
    }
}
