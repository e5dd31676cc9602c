//! Page mapping: any page of flash holds any logical page, and the policies choose which.
//!
//! Memory: 4 bytes a logical and 4 bytes a physical page, and 10 bytes a block. Both tables start as zeroed
//! memory that the system commits only as it is touched.

mod cleaning;
mod initial;
mod pacing;
mod reverse;
mod run;
mod steps;
mod superblocks;

use super::blocks::{Blocks, Plane};
use super::schemes::Scheme;
use super::table::Table;
use super::{Clean, FtlCounters, NoRoom, Placed};
use crate::config::DriveConfig;
use crate::divisor::Divisor;
use crate::ids::PlaneId;
use crate::nand::Geometry;
use flashlane_base::Seed;
use flashlane_policy::allocation::Allocation;
use flashlane_policy::cleaning::Cleaning;
use flashlane_policy::mapping::Mapping;
use flashlane_policy::wear::Wear;
use flashlane_policy::{OptionError, Options};
use pacing::Pacer;
use reverse::Reverse;
use superblocks::Superblocks;

/// Where an allocation pool looks for room: mostly one look is enough, because planes that are alike take turns and one
/// that was just cleaned leads for a while.
#[derive(Clone, Copy)]
struct Turn {
    /// The plane that is looked at first.
    first: u32,
    /// No plane of the pool has more free pages than this.
    most: u32,
    /// The plane that had the most when all were looked at …
    leader: u32,
    /// … and no other has more than this.
    rest: u32,
}

/// The scheme, which has no options.
pub(super) fn build(_: &Geometry, _: &Options) -> Result<Scheme, OptionError> {
    Ok(Scheme::Pages)
}

/// Blocks that a plane needs beyond those of its data: the free ones at which GC is due, and an open one each for the
/// host and for moved pages.
pub(super) fn spare_blocks(geometry: &Geometry) -> u32 {
    geometry.low_blocks + 2
}

/// Page-mapped translation.
pub struct PageMapped {
    /// With superblocks, what they make of the array.
    geometry: Geometry,
    superblocks: Option<Superblocks>,
    /// Logical page to physical page + 1; 0 where never written.
    map: Table,
    reverse: Reverse,
    blocks: Blocks,
    planes: Vec<Plane>,
    /// Where each allocation pool looks first.
    turns: Vec<Turn>,
    /// For each plane, the pages that the host can write before it runs out of erased blocks.
    free_pages: Vec<u32>,
    mapping: Box<dyn Mapping>,
    allocation: Box<dyn Allocation>,
    cleaner: Box<dyn Cleaning>,
    wear: Box<dyn Wear>,
    /// Where cleaning goes in steps.
    pacer: Option<Pacer>,
    /// Idle planes are cleaned until they have so many free blocks.
    high_blocks: u32,
    /// The index of the open block that moved pages go to: the host's own, or another.
    moved_stream: usize,
    /// The pages of a block, and of a plane, by which physical pages are divided.
    per_block: Divisor,
    per_plane: Divisor,
    /// The pages of a chunk, and the planes of a pool.
    per_chunk: Divisor,
    per_pool: Divisor,
    /// The planes of a run's chunks, kept to spare its allocation.
    stripe: Vec<u32>,
    counters: FtlCounters,
}

impl PageMapped {
    /// The translation layer of a drive with nothing written. Requires: `config` is validated.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
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
        let cleaner = config.policies.cleaning.build(
            &config.cleaning.policy,
            seed.derive("cleaning"),
            &config.cleaning.options.options(),
        );
        let wear =
            config.policies.wear.build(&config.wear.policy, &config.wear.options.options()).expect(known);
        let (blocks, planes) = Blocks::new(&geometry, &config.flash, seed);
        Self {
            superblocks,
            map: Table::zeroed(geometry.logical_pages as usize),
            reverse: Reverse::new(&geometry),
            free_pages: planes.iter().map(|plane| plane.free_pages(&geometry)).collect(),
            blocks,
            planes,
            turns: (0..geometry.planes)
                .step_by(geometry.pool_planes as usize)
                .map(|first| Turn { first, most: u32::MAX, leader: first, rest: u32::MAX })
                .collect(),
            mapping,
            allocation,
            cleaner: cleaner.expect(known),
            wear,
            pacer: Pacer::new(config, &geometry),
            per_block: Divisor::new(geometry.pages),
            per_plane: Divisor::new(geometry.blocks * geometry.pages),
            per_chunk: Divisor::new(geometry.chunk_pages),
            per_pool: Divisor::new(geometry.pool_planes),
            stripe: Vec::new(),
            high_blocks: (config.cleaning.high.0 * f64::from(geometry.blocks)) as u32,
            moved_stream: usize::from(config.cleaning.separate),
            counters: FtlCounters::default(),
            geometry,
        }
    }

    /// The plane on which logical page `page` lies, if it was ever written.
    #[inline]
    pub fn plane_of(&self, page: u32) -> Option<u32> {
        let physical = self.map[page as usize].checked_sub(1)?;
        let plane = self.per_plane.of(physical);
        match &self.superblocks {
            None => Some(plane),
            Some(superblocks) => Some(superblocks.place(plane, self.number_in_block(physical)).0),
        }
    }

    fn number_in_block(&self, physical: u32) -> u32 {
        physical - self.per_block.of(physical) * self.geometry.pages
    }

    /// A hint that logical page `page` will be looked up soon.
    #[inline]
    pub fn expect(&self, page: u32) {
        self.map.prefetch(page as usize);
    }

    /// A hint that logical page `page` will be placed anew soon, and its old place so become invalid.
    #[inline]
    pub fn expect_place(&self, page: u32) {
        if let Some(physical) = self.map[page as usize].checked_sub(1) {
            self.reverse.prefetch(physical);
        }
    }

    /// Finds a new place for logical page `page`; the old one becomes invalid. Cleaning that is due is appended to
    /// `cleaned`.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the page stays where it was.
    #[inline]
    pub fn place(&mut self, page: u32, cleaned: &mut Vec<Clean>) -> Result<Placed, NoRoom> {
        let plane = self.assign(page)?;
        self.place_on(plane, page, cleaned)
    }

    /// The second half of [`Ftl::place`], for a page that has its plane, or its pool's, from [`Ftl::assign`]: the page
    /// of flash is taken only now.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the page stays where it was.
    #[inline(always)]
    pub fn place_on(&mut self, plane: u32, page: u32, cleaned: &mut Vec<Clean>) -> Result<Placed, NoRoom> {
        let plane = if self.geometry.pool_planes == 1 { plane } else { self.roomiest(plane, page)? };
        let opens_block = self.is_full(plane);
        if opens_block {
            self.make_room(plane, cleaned).ok_or(NoRoom)?;
        }
        let physical = self.next_page(plane, cleaning::HOST);
        // The plane's turn comes again soon, with the next page of the block.
        self.reverse.prefetch_next_line(physical, plane);
        let fills_block = self.is_full(plane);
        // Cleaning may have moved the old copy: look it up only now.
        self.invalidate(page);
        self.enter(page, physical, plane);
        self.counters.host_pages += 1;
        if self.pacer.is_some() {
            self.pace(plane, cleaned);
        } else if opens_block {
            self.restock(plane, cleaned);
        }
        let (plane, parity, awaits) = match &self.superblocks {
            None => (plane, None, false),
            Some(superblocks) => {
                let number = self.number_in_block(physical);
                let (plane, parity) = superblocks.place(plane, number);
                (plane, parity, superblocks.awaits(number))
            }
        };
        self.counters.parity_pages += u64::from(parity.is_some());
        Ok(Placed { plane: PlaneId(plane), fills_block, parity: parity.map(PlaneId), awaits })
    }

    /// Forgets logical page `page`.
    pub fn trim(&mut self, page: u32) {
        self.invalidate(page);
        self.map[page as usize] = 0;
    }

    /// The share of its endurance that the block which holds `page` has used, 1 where endurance is unlimited or the
    /// page was never written.
    pub fn wear_of(&self, page: u32) -> f64 {
        let Some(physical) = self.map[page as usize].checked_sub(1) else { return 1.0 };
        self.blocks.wear_of(physical / self.geometry.pages)
    }

    /// What was counted so far.
    pub fn counters(&self) -> FtlCounters {
        self.counters
    }

    /// Least, mean and largest erase count of a block.
    pub fn wear_spread(&self) -> (u32, f64, u32) {
        self.blocks.wear_spread()
    }

    /// The plane that logical page `page` will be written to: the stripe's; where that plane is full of valid pages and
    /// the mapping leaves the choice free, the next one with room.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out.
    pub fn assign(&mut self, page: u32) -> Result<u32, NoRoom> {
        let chunk_pages = u64::from(self.geometry.chunk_pages);
        let position = self.mapping.position(u64::from(page));
        let chunk = if chunk_pages == 1 { position } else { position / chunk_pages };
        let plane = self.allocation.plane(chunk);
        if !self.mapping.is_free() || self.planes[plane as usize].has_room(&self.geometry) {
            return Ok(plane);
        }
        if self.takes(plane, page) {
            return Ok(plane);
        }
        // With a random allocation neighbouring chunks may share a plane: a few rounds reach nearly all of them.
        for _ in 0..u64::from(self.geometry.planes) * chunk_pages * 16 {
            let position = self.mapping.position(u64::from(page));
            let plane = self.allocation.plane(position / chunk_pages);
            if self.takes(plane, page) {
                return Ok(plane);
            }
        }
        (0..self.geometry.planes).find(|&plane| self.takes(plane, page)).ok_or(NoRoom)
    }

    /// Whether `plane`, or another of its pool, can take logical page `page`: a plane that was assigned some time ago
    /// may have filled up since.
    #[inline]
    pub fn takes(&self, plane: u32, page: u32) -> bool {
        !self.mapping.is_free() || self.pool_of(plane).any(|plane| self.has_room(plane, page))
    }

    /// Whether a plane has room for a page: where the page already lies it takes the room of its old copy.
    fn has_room(&self, plane: u32, page: u32) -> bool {
        let state = &self.planes[plane as usize];
        state.has_room(&self.geometry) || self.lies_on(page, plane) && state.has_room_in_place(&self.geometry)
    }

    fn lies_on(&self, page: u32, plane: u32) -> bool {
        self.map[page as usize].checked_sub(1).is_some_and(|physical| self.per_plane.of(physical) == plane)
    }

    /// The planes of the allocation pool that `plane` belongs to.
    fn pool_of(&self, plane: u32) -> std::ops::Range<u32> {
        let first = self.per_pool.of(plane) * self.geometry.pool_planes;
        first..first + self.geometry.pool_planes
    }

    /// The plane of a pool that has the most free pages and room for `page`; planes that have as many take turns.
    #[inline]
    fn roomiest(&mut self, plane: u32, page: u32) -> Result<u32, NoRoom> {
        let pool = self.pool_of(plane);
        let free = |plane: u32| self.free_pages[plane as usize];
        let turn = &mut self.turns[self.per_pool.of(plane) as usize];
        let best = if free(turn.leader) > turn.rest {
            turn.leader
        } else if free(turn.first) >= turn.most {
            turn.first
        } else {
            let (mut best, mut rest) = (turn.first, 0);
            for plane in (turn.first + 1..pool.end).chain(pool.start..turn.first) {
                if free(plane) > free(best) {
                    rest = free(best);
                    best = plane;
                } else {
                    rest = rest.max(free(plane));
                }
            }
            (turn.most, turn.leader, turn.rest) = (free(best), best, rest);
            best
        };
        turn.first = if best + 1 == pool.end { pool.start } else { best + 1 };
        if self.planes[best as usize].has_room(&self.geometry) {
            return Ok(best);
        }
        // Free pages are no room where too many others are valid.
        let mut others: Vec<u32> = pool.filter(|&plane| self.has_room(plane, page)).collect();
        others.sort_by_key(|&plane| std::cmp::Reverse(self.free_pages[plane as usize]));
        others.first().copied().ok_or(NoRoom)
    }

    /// Makes `physical` the valid copy of `page`.
    #[inline(always)]
    fn enter(&mut self, page: u32, physical: u32, plane: u32) {
        self.map[page as usize] = physical + 1;
        self.reverse.set(physical, plane, page + 1);
        self.blocks.valid[self.per_block.of(physical) as usize] += 1;
        self.planes[plane as usize].valid_pages += 1;
    }

    /// Makes the copy of `page` invalid, if there is one; the map's entry is left for the caller.
    #[inline(always)]
    fn invalidate(&mut self, page: u32) {
        let entry = self.map[page as usize];
        if entry == 0 {
            return;
        }
        let physical = entry - 1;
        let plane = self.per_plane.of(physical);
        self.reverse.set(physical, plane, 0);
        self.blocks.valid[self.per_block.of(physical) as usize] -= 1;
        self.planes[plane as usize].valid_pages -= 1;
    }
}

#[cfg(test)]
pub(crate) mod tests;
