//! The blocks of a prepared drive that hold data: which units of each, and where the n-th of a plane is.
//!
//! Each random write to a unit that was not written since the drive was made looks here, so that the tables are small
//! enough for the processor's caches: the units of a block, and for every [`GROUP`] blocks the sum of those before. The
//! group is found by the bucket of the unit, the block by counting.

use crate::divisor::Divisor;
use crate::ftl::table::prefetch;
use crate::ids::{PlaneId, Ppn};
use crate::nand::Geometry;

/// Blocks of a group.
const GROUP: usize = 8;

/// The number of a group.
#[derive(Clone, Copy)]
pub(super) struct Group(u32);

/// The blocks of a plane that hold data, by their positions. Invariant: a plane begins a group.
#[derive(Clone, Copy)]
struct PlaneBlocks {
    first: usize,
    end: usize,
    first_bucket: usize,
    /// Where the blocks begin whose units are at their beginning; those before have theirs spread evenly over the
    /// block.
    spread_end: usize,
}

pub(in crate::ftl::page) struct Filled {
    block_units: u32,
    data_units: u32,
    /// Whether blocks hold different numbers of units; otherwise all but the last block of a plane are full.
    spread: bool,
    /// The last blocks of a plane, whose units are at their beginning in any case.
    open_blocks: usize,
    planes: Vec<PlaneBlocks>,
    /// Plane by plane, oldest first: the number among all blocks, or [`NO_DATA`] behind the last of a plane.
    blocks: Vec<u32>,
    /// By the same position, the units that the block holds.
    units: Vec<u16>,
    /// By group, the units on the blocks of its plane before it.
    group_firsts: Vec<u32>,
    /// Of every `bucket_units` units of a plane, the group with the first: the search begins there.
    buckets: Vec<u32>,
    bucket_units: u32,
    per_bucket: Divisor,
    per_block: Divisor,
    /// By block its position in `blocks`, or [`NO_DATA`].
    positions: Vec<u32>,
}

const NO_DATA: u32 = u32::MAX;

impl Filled {
    /// No planes, whose blocks will be full one after the other.
    pub(in crate::ftl::page) fn full(geometry: &Geometry) -> Self {
        Self::new(geometry, None, geometry.data_units)
    }

    /// No planes, whose blocks will hold about `mean_units` each, spread evenly over all but the last `open_blocks` of
    /// a plane.
    pub(in crate::ftl::page) fn spread(geometry: &Geometry, mean_units: u32, open_blocks: usize) -> Self {
        Self::new(geometry, Some(open_blocks), mean_units.max(1))
    }

    fn new(geometry: &Geometry, open_blocks: Option<usize>, mean_units: u32) -> Self {
        let count = geometry.planes as usize * geometry.blocks_per_plane as usize;
        let most = count + geometry.planes as usize * GROUP;
        let bucket_units = mean_units * GROUP as u32;
        Self {
            block_units: geometry.block_units,
            data_units: geometry.data_units,
            spread: open_blocks.is_some(),
            open_blocks: open_blocks.unwrap_or(0),
            planes: Vec::with_capacity(geometry.planes as usize),
            blocks: Vec::with_capacity(most),
            units: Vec::with_capacity(most),
            group_firsts: Vec::with_capacity(most / GROUP),
            buckets: Vec::new(),
            bucket_units,
            per_bucket: Divisor::new(bucket_units),
            per_block: Divisor::new(geometry.data_units),
            positions: vec![NO_DATA; count],
        }
    }

    /// Appends the blocks of the next plane with their numbers of units, oldest first.
    pub(in crate::ftl::page) fn push_plane(&mut self, blocks: impl Iterator<Item = (u32, u32)>) {
        let (first, first_bucket) = (self.blocks.len(), self.buckets.len());
        let (mut before, mut next_bucket) = (0, 0);
        for (block, units) in blocks {
            debug_assert!(units <= self.data_units, "a block holds {units} of {} units", self.data_units);
            debug_assert!(self.spread || before % self.data_units == 0, "only the last block is not full");
            if self.blocks.len().is_multiple_of(GROUP) {
                self.group_firsts.push(before);
            }
            self.positions[block as usize] = self.blocks.len() as u32;
            self.blocks.push(block);
            self.units.push(units as u16);
            before += units;
            while next_bucket < before {
                self.buckets.push(self.group_firsts.len() as u32 - 1);
                next_bucket = next_bucket.saturating_add(self.bucket_units);
            }
        }
        let end = self.blocks.len();
        let spread_end = if self.spread { end.saturating_sub(self.open_blocks).max(first) } else { first };
        self.planes.push(PlaneBlocks { first, end, first_bucket, spread_end });
        self.blocks.resize(end.next_multiple_of(GROUP), NO_DATA);
        self.units.resize(end.next_multiple_of(GROUP), 0);
    }

    /// Whether [`Filled::ppn`] looks for the group of a unit; otherwise its block follows from its index.
    #[inline]
    pub(super) fn has_groups(&self) -> bool {
        self.spread
    }

    /// The group of blocks in which a unit of a plane lies. Requires: the plane holds more units than `index`.
    #[inline]
    pub(super) fn group_of(&self, plane: PlaneId, index: u32) -> Group {
        let PlaneBlocks { end, first_bucket, .. } = self.planes[plane.index()];
        let mut group = self.buckets[first_bucket + self.per_bucket.of(index) as usize];
        let last = (end - 1) as u32 / GROUP as u32;
        while group < last && self.group_firsts[group as usize + 1] <= index {
            group += 1;
        }
        Group(group)
    }

    /// Fetches what [`Filled::ppn`] will need of a group into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, group: Group) {
        let position = group.0 as usize * GROUP;
        prefetch(&self.units[position]);
        prefetch(&self.blocks[position]);
    }

    /// The place of a unit of a plane, which lies in this group, if that is known. Requires: the plane holds more units
    /// than `index`.
    #[inline]
    pub(super) fn ppn(&self, plane: PlaneId, index: u32, group: Option<Group>) -> Ppn {
        let PlaneBlocks { first, end, spread_end, .. } = self.planes[plane.index()];
        if !self.spread {
            let block = self.per_block.of(index);
            let nth = index - block * self.data_units;
            return Ppn(self.blocks[first + block as usize] * self.block_units + nth);
        }
        let Group(group) = group.unwrap_or_else(|| self.group_of(plane, index));
        let (mut position, mut nth) = (group as usize * GROUP, index - self.group_firsts[group as usize]);
        while nth >= u32::from(self.units[position]) {
            nth -= u32::from(self.units[position]);
            position += 1;
        }
        debug_assert!(position < end, "the plane holds unit {index}");
        let units = u32::from(self.units[position]);
        let offset = if position < spread_end { nth * self.data_units / units } else { nth };
        Ppn(self.blocks[position] * self.block_units + offset)
    }

    /// The indices on their plane of the units of a block, and the places of these; none once the block was taken.
    #[inline]
    pub(in crate::ftl::page) fn units_of(
        &self,
        plane: PlaneId,
        block: u32,
    ) -> impl Iterator<Item = (u32, Ppn)> + use<'_> {
        let position = self.positions[block as usize] as usize;
        let units = self.units.get(position).map_or(0, |&units| u32::from(units));
        let first = if units > 0 { self.units_before(position) } else { 0 };
        // The quotient nth * whole / units and its remainder, by addition alone: all units of a block are looked at
        // when it is emptied.
        let is_spread = position < self.planes[plane.index()].spread_end;
        let whole = if is_spread { self.data_units } else { units };
        let [step, step_rest] =
            [whole.checked_div(units), whole.checked_rem(units)].map(Option::unwrap_or_default);
        let (mut offset, mut rest) = (0, 0);
        (0..units).map(move |nth| {
            let place = Ppn(block * self.block_units + offset);
            (offset, rest) = (offset + step, rest + step_rest);
            if rest >= units {
                (offset, rest) = (offset + 1, rest - units);
            }
            (first + nth, place)
        })
    }

    /// The units on the blocks of its plane before a block.
    fn units_before(&self, position: usize) -> u32 {
        let group = position / GROUP;
        let before = self.units[group * GROUP..position].iter().map(|&units| u32::from(units));
        self.group_firsts[group] + before.sum::<u32>()
    }

    /// Removes a block from those that [`Filled::units_of`] knows.
    pub(in crate::ftl::page) fn take(&mut self, block: u32) {
        self.positions[block as usize] = NO_DATA;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::load;
    use flashlane_base::Seed;

    #[test]
    fn every_unit_lies_where_its_block_has_it() {
        let geometry = Geometry::new(&load("ssd-s", &[]).unwrap());
        let mut random = Seed(1).source();
        for (open_blocks, mean_units) in [(0, 20), (2, 20), (2, 1), (40, 64)] {
            let mut filled = Filled::spread(&geometry, mean_units, open_blocks);
            for plane in (0..5).map(PlaneId) {
                // Some blocks are empty, and more than a group of them in a row.
                let units = |_| if random.chance(0.7) { 0 } else { random.below(65) as u32 };
                let units: Vec<u32> = (0..60).map(units).collect();
                let numbers = (0..).map(|number| plane.0 * geometry.blocks_per_plane + number);
                filled.push_plane(numbers.clone().zip(units.iter().copied()));
                let mut next = 0;
                for (block, units) in numbers.zip(units) {
                    let listed: Vec<_> = filled.units_of(plane, block).collect();
                    assert_eq!(listed.len(), units as usize);
                    for (index, ppn) in listed {
                        assert_eq!((index, ppn.0 / geometry.block_units), (next, block));
                        assert_eq!(filled.ppn(plane, index, None), ppn);
                        let group = filled.group_of(plane, index);
                        assert_eq!(filled.ppn(plane, index, Some(group)), ppn);
                        next += 1;
                    }
                    filled.take(block);
                    assert_eq!(filled.units_of(plane, block).count(), 0);
                }
            }
        }
    }
}
