//! What the schemes have in common: the place of each mapping unit, the free blocks, and the moves of a merge.
//!
//! Flash's own laws are held here, whatever the scheme: a block is erased before it is programmed again and only when
//! nothing in it is valid, it is programmed in ascending order, and a mapping unit has one place.

use super::stripes::Stripes;
use crate::config::DriveConfig;
use crate::ftl::erase_blocks::{EraseBlocks, PlaneState};
use crate::ftl::map::Map;
use crate::ftl::{FtlCounters, GcWork};
use crate::ids::{BlockId, Lpn, PlaneId, Ppn};
use crate::nand::Geometry;
use flashlane_base::Seed;
use flashlane_policy::wear::Wear;
use std::io;
use std::ops::Range;

/// Where a mapping unit belongs: its place in a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(super) plane: PlaneId,
    /// The erase unit, counted on the plane.
    pub(super) erase_unit: u32,
    /// The mapping unit in it.
    pub(super) offset: u32,
}

pub(crate) struct Store {
    pub(super) geometry: Geometry,
    map: Map,
    pub(super) blocks: EraseBlocks,
    pub(super) planes: Vec<PlaneState>,
    /// By block, the first position that may still be programmed.
    next: Vec<u16>,
    /// By plane and erase unit, the data block.
    data: Vec<Option<BlockId>>,
    pub(super) erase_units_per_plane: u32,
    pub(super) stripes: Stripes,
    /// The plane at each position of the stripes, and the position of each plane.
    plane_at: Vec<PlaneId>,
    position_of: Vec<u32>,
    wear: Box<dyn Wear>,
    pub(super) counters: FtlCounters,
}

impl Store {
    /// With every block free. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, stripes: Stripes, seed: Seed) -> io::Result<Self> {
        let geometry = Geometry::new(config);
        let known = "validation built every policy once";
        let array = geometry.array(&config.mapping.order, seed);
        let options = config.mapping.allocation_options.options();
        let allocation =
            config.policies.allocation.build(&config.mapping.allocation, &array, &options).expect(known);
        let plane_at: Vec<PlaneId> =
            (0..geometry.planes).map(|at| PlaneId(allocation.plane(u64::from(at)))).collect();
        let mut position_of = vec![0; geometry.planes as usize];
        for (at, &plane) in plane_at.iter().enumerate() {
            position_of[plane.index()] = at as u32;
        }
        let (blocks, planes) = EraseBlocks::new(&geometry, &config.flash, seed);
        let erase_units_per_plane = stripes.erase_units_per_plane(&geometry);
        Ok(Self {
            map: Map::new(geometry.logical_units)?,
            next: vec![0; geometry.planes as usize * geometry.blocks_per_plane as usize],
            data: vec![None; geometry.planes as usize * erase_units_per_plane as usize],
            erase_units_per_plane,
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
        })
    }

    /// Where mapping unit `lpn` belongs.
    #[inline]
    pub(super) fn spot(&self, lpn: Lpn) -> Spot {
        let g = &self.geometry;
        let erase_unit_size = self.stripes.planes * g.data_units;
        let (erase_unit, within) = (lpn.0 / erase_unit_size, lpn.0 % erase_unit_size);
        let (chunk, rest) = (within / g.chunk_units, within % g.chunk_units);
        let stripes = self.stripes.count;
        let (stripe, erase_unit) = if self.stripes.interleave {
            (erase_unit % stripes, erase_unit / stripes)
        } else {
            (erase_unit / self.erase_units_per_plane, erase_unit % self.erase_units_per_plane)
        };
        let position = stripe * self.stripes.planes + chunk % self.stripes.planes;
        Spot {
            plane: self.plane_at[position as usize],
            erase_unit,
            offset: chunk / self.stripes.planes * g.chunk_units + rest,
        }
    }

    /// The mapping unit that belongs there, where the capacity reaches so far.
    #[inline]
    pub(super) fn lpn_at(&self, spot: Spot) -> Option<Lpn> {
        let g = &self.geometry;
        let position = self.position_of[spot.plane.index()];
        let stripe = position / self.stripes.planes;
        let erase_unit = if self.stripes.interleave {
            spot.erase_unit * self.stripes.count + stripe
        } else {
            stripe * self.erase_units_per_plane + spot.erase_unit
        };
        let chunk = spot.offset / g.chunk_units * self.stripes.planes + position % self.stripes.planes;
        let within = chunk * g.chunk_units + spot.offset % g.chunk_units;
        let erase_unit_size = u64::from(self.stripes.planes * g.data_units);
        let lpn = u64::from(erase_unit) * erase_unit_size + u64::from(within);
        (lpn < u64::from(g.logical_units)).then_some(Lpn(lpn as u32))
    }

    /// The stripe of a plane.
    #[inline]
    pub(super) fn stripe(&self, plane: PlaneId) -> u32 {
        self.position_of[plane.index()] / self.stripes.planes
    }

    /// A plane's position in its stripe.
    #[inline]
    pub(super) fn position(&self, plane: PlaneId) -> u32 {
        self.position_of[plane.index()] % self.stripes.planes
    }

    /// The plane at a position of a stripe.
    #[inline]
    pub(super) fn plane_of_stripe(&self, stripe: u32, position: u32) -> PlaneId {
        self.plane_at[(stripe * self.stripes.planes + position) as usize]
    }

    /// The physical number of mapping unit `lpn`, if it was ever written.
    #[inline]
    pub(super) fn ppn_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.map.get(lpn)
    }

    /// A hint that mapping unit `lpn` will be looked up soon.
    pub(super) fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn);
    }

    /// The index of a plane's block in tables of all blocks.
    #[inline]
    fn index(&self, plane: PlaneId, block: BlockId) -> usize {
        (plane.0 * self.geometry.blocks_per_plane + block.0) as usize
    }

    /// The index of the block of a physical number in tables of all blocks.
    #[inline]
    fn index_of(&self, ppn: Ppn) -> usize {
        (ppn.0 / self.geometry.block_units) as usize
    }

    /// The first position of a block that may still be programmed; the number of its data units where it is full.
    #[inline]
    pub(super) fn next(&self, plane: PlaneId, block: BlockId) -> u32 {
        u32::from(self.next[self.index(plane, block)])
    }

    /// Whether all of a block is programmed.
    #[inline]
    pub(super) fn is_full(&self, plane: PlaneId, block: BlockId) -> bool {
        self.next(plane, block) >= self.geometry.data_units
    }

    /// Valid mapping units of a block.
    pub(super) fn valid(&self, plane: PlaneId, block: BlockId) -> u32 {
        self.blocks.valid_units(self.index(plane, block))
    }

    /// The physical number of a position of a block.
    #[inline]
    pub(super) fn ppn(&self, plane: PlaneId, block: BlockId, position: u32) -> Ppn {
        Ppn(self.index(plane, block) as u32 * self.geometry.block_units + position)
    }

    /// The number of erased blocks of a plane.
    pub(super) fn free(&self, plane: PlaneId) -> usize {
        self.planes[plane.index()].free.len()
    }

    /// Takes the erased block that wear leveling chooses.
    pub(super) fn take(&mut self, plane: PlaneId) -> Option<BlockId> {
        let first = self.index(plane, BlockId(0));
        let free = &mut self.planes[plane.index()].free;
        if free.is_empty() {
            return None;
        }
        let erases = self.blocks.erases(first..first + self.geometry.blocks_per_plane as usize);
        let position = self.wear.next_free(free.make_contiguous(), erases);
        let block = free.remove(position).expect("wear leveling chooses among the free blocks");
        self.blocks.release(first + block as usize);
        Some(BlockId(block))
    }

    /// Programs a mapping unit to a position of a block; its old place becomes invalid.
    #[inline]
    pub(super) fn program(&mut self, plane: PlaneId, block: BlockId, position: u32, lpn: Lpn) {
        let index = self.index(plane, block);
        assert!(position >= u32::from(self.next[index]), "a block is programmed in order");
        self.next[index] = position as u16 + 1;
        self.invalidate(lpn);
        self.map.set(lpn, self.ppn(plane, block, position));
        self.blocks.add_valid(index);
    }

    #[inline]
    fn invalidate(&mut self, lpn: Lpn) {
        if let Some(ppn) = self.ppn_of(lpn) {
            let index = self.index_of(ppn);
            self.blocks.remove_valid(index);
        }
    }

    /// Forgets a mapping unit.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        self.invalidate(lpn);
        self.map.remove(lpn);
    }

    /// Erases a block, which becomes free unless it wears out.
    pub(super) fn erase(&mut self, plane: PlaneId, block: BlockId) {
        let index = self.index(plane, block);
        assert_eq!(self.blocks.valid_units(index), 0, "valid units are moved before a block is erased");
        self.next[index] = 0;
        self.counters.erases += 1;
        if self.blocks.erase(index) {
            self.planes[plane.index()].good -= 1;
            self.counters.worn_out_blocks += 1;
        } else {
            self.planes[plane.index()].free.push_back(block.0);
        }
    }

    #[inline]
    fn data_index(&self, plane: PlaneId, erase_unit: u32) -> usize {
        (plane.0 * self.erase_units_per_plane + erase_unit) as usize
    }

    /// The data block of an erase unit.
    #[cfg(test)]
    pub(super) fn data(&self, plane: PlaneId, erase_unit: u32) -> Option<BlockId> {
        self.data[self.data_index(plane, erase_unit)]
    }

    /// Moves the valid mapping units of an erase unit that belong at `offsets` to their places in `block`.
    pub(super) fn move_valid(
        &mut self,
        plane: PlaneId,
        erase_unit: u32,
        offsets: Range<u32>,
        block: BlockId,
    ) -> GcWork {
        let (mut moves, mut summaries) = (0, 0);
        for offset in offsets {
            let Some(lpn) = self.lpn_at(Spot { plane, erase_unit, offset }) else { break };
            if self.ppn_of(lpn).is_some() {
                self.program(plane, block, offset, lpn);
                moves += 1;
                summaries += u32::from(offset + 1 == self.geometry.data_units);
            }
        }
        self.counters.moved_units += u64::from(moves);
        GcWork { moves, pages_read: moves, summaries, ..GcWork::nothing(plane) }
    }

    /// Makes `block`, which holds the valid pages of an erase unit, its data block; the one before is erased. Returns
    /// the number of blocks erased.
    pub(super) fn switch(&mut self, plane: PlaneId, erase_unit: u32, block: BlockId) -> u32 {
        let index = self.data_index(plane, erase_unit);
        let Some(before) = self.data[index].replace(block) else { return 0 };
        self.erase(plane, before);
        1
    }

    /// Completes `block`, which holds the beginning of an erase unit in its place, and makes it the data block.
    pub(super) fn complete(&mut self, plane: PlaneId, erase_unit: u32, block: BlockId) -> GcWork {
        let left = self.next(plane, block)..self.geometry.data_units;
        let mut gc = self.move_valid(plane, erase_unit, left, block);
        gc.erases = self.switch(plane, erase_unit, block);
        match gc.moves {
            0 => self.counters.switch_merges += 1,
            _ => self.counters.partial_merges += 1,
        }
        gc
    }

    /// Gathers the mapping units of an erase unit, wherever they are, in a new data block. `None`, and nothing changed,
    /// where there is no free block.
    pub(super) fn gather(&mut self, plane: PlaneId, erase_unit: u32) -> Option<GcWork> {
        let block = self.take(plane)?;
        let mut gc = self.move_valid(plane, erase_unit, 0..self.geometry.data_units, block);
        gc.erases = self.switch(plane, erase_unit, block);
        self.counters.full_merges += 1;
        Some(gc)
    }

    /// Writes all of an erase unit to a new data block, as when it is filled for the first time.
    pub(super) fn fill(&mut self, plane: PlaneId, erase_unit: u32) {
        let mut block = None;
        for offset in 0..self.geometry.data_units {
            let Some(lpn) = self.lpn_at(Spot { plane, erase_unit, offset }) else { break };
            let block = *block.get_or_insert_with(|| {
                self.take(plane).expect("validation made sure that the capacity fits")
            });
            self.program(plane, block, offset, lpn);
        }
        if let Some(block) = block {
            self.switch(plane, erase_unit, block);
        }
    }

    /// The share of its endurance that the block with `lpn` has used, 1 where endurance is unlimited or the unit was
    /// never written.
    pub(super) fn wear_of(&self, lpn: Lpn) -> f64 {
        self.ppn_of(lpn).map_or(1.0, |ppn| self.blocks.wear_of(self.index_of(ppn)))
    }
}
