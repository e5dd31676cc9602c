//! The blocks of a prepared drive that hold data: which units of each, and where the n-th of a plane is.

use crate::divisor::Divisor;
use crate::ids::{PlaneId, Ppn};
use crate::nand::Geometry;

/// A block that holds data, or the end of those of a plane.
#[derive(Clone, Copy)]
struct Block {
    /// Units on the blocks of its plane before it.
    first: u32,
    /// Its number among all blocks.
    block: u32,
}

pub(in crate::ftl::page) struct Filled {
    block_units: u32,
    data_units: u32,
    /// Whether the units of a block are spread evenly over it; otherwise they are at its beginning, and all but the last block
    /// of a plane are full.
    spread: bool,
    /// The last blocks of a plane, whose units are at their beginning in any case.
    open_blocks: usize,
    /// Plane by plane, oldest first, with an end behind each plane's.
    blocks: Vec<Block>,
    /// By plane, the position of its first block.
    first_blocks: Vec<u32>,
    /// By block its position in `blocks`, or [`NO_DATA`].
    positions: Vec<u32>,
    /// Where blocks hold different numbers of units: the positions of the blocks with the first of every `bucket_units` units of
    /// a plane, where the search for a unit begins; and the first bucket of each plane.
    buckets: Vec<u32>,
    first_buckets: Vec<u32>,
    bucket_units: u32,
    per_bucket: Divisor,
}

const NO_DATA: u32 = u32::MAX;

impl Filled {
    /// No planes, whose blocks will be full one after the other.
    pub(in crate::ftl::page) fn full(geometry: &Geometry) -> Self {
        Self::new(geometry, None, geometry.data_units)
    }

    /// No planes, whose blocks will hold about `mean_units` each, spread evenly over all but the last `open_blocks` of a plane.
    pub(in crate::ftl::page) fn spread(geometry: &Geometry, mean_units: u32, open_blocks: usize) -> Self {
        Self::new(geometry, Some(open_blocks), mean_units.max(1))
    }

    fn new(geometry: &Geometry, open_blocks: Option<usize>, bucket_units: u32) -> Self {
        let count = geometry.planes as usize * geometry.blocks as usize;
        Self {
            block_units: geometry.block_units,
            data_units: geometry.data_units,
            spread: open_blocks.is_some(),
            open_blocks: open_blocks.unwrap_or(0),
            blocks: Vec::with_capacity(count + geometry.planes as usize),
            first_blocks: Vec::with_capacity(geometry.planes as usize),
            positions: vec![NO_DATA; count],
            buckets: Vec::new(),
            first_buckets: Vec::new(),
            bucket_units,
            per_bucket: Divisor::new(bucket_units),
        }
    }

    /// Appends the blocks of the next plane with their numbers of units, oldest first.
    pub(in crate::ftl::page) fn push_plane(&mut self, blocks: impl Iterator<Item = (u32, u32)>) {
        self.first_blocks.push(self.blocks.len() as u32);
        self.first_buckets.push(self.buckets.len() as u32);
        let (mut first, mut next_bucket) = (0, 0);
        for (block, units) in blocks {
            debug_assert!(units <= self.data_units, "a block holds {units} of {} units", self.data_units);
            debug_assert!(self.spread || first % self.data_units == 0, "only the last block is not full");
            let position = self.blocks.len() as u32;
            self.positions[block as usize] = position;
            self.blocks.push(Block { first, block });
            first += units;
            while self.spread && next_bucket < first {
                self.buckets.push(position);
                next_bucket = next_bucket.saturating_add(self.bucket_units);
            }
        }
        self.blocks.push(Block { first, block: NO_DATA });
    }

    /// The place of a unit of a plane. Requires: the plane holds more units than `index`.
    #[inline]
    pub(super) fn ppn(&self, plane: PlaneId, index: u32) -> Ppn {
        let bucket = self.per_bucket.of(index);
        if !self.spread {
            let block = self.blocks[(self.first_blocks[plane.index()] + bucket) as usize].block;
            return Ppn(block * self.block_units + index - bucket * self.bucket_units);
        }
        let mut position = self.buckets[(self.first_buckets[plane.index()] + bucket) as usize] as usize;
        while self.blocks[position + 1].first <= index {
            position += 1;
        }
        let (Block { first, block }, end) = (self.blocks[position], self.blocks[position + 1].first);
        debug_assert!(block != NO_DATA, "the plane holds unit {index}");
        let (nth, units) = (index - first, end - first);
        let offset = if self.is_spread(position) { nth * self.data_units / units } else { nth };
        Ppn(block * self.block_units + offset)
    }

    /// Whether the units of the block at `position` are spread evenly over it: then the place of the `nth` is that many times
    /// the block's units by its own.
    #[inline]
    fn is_spread(&self, position: usize) -> bool {
        let is_end = |position: usize| self.blocks[position].block == NO_DATA;
        self.spread && !(1..=self.open_blocks).any(|after| is_end(position + after))
    }

    /// The indices on their plane of the units of a block, and the places of these; none once the block was taken.
    pub(super) fn units_of(&self, block: u32) -> impl Iterator<Item = (u32, Ppn)> + use<'_> {
        let position = self.positions[block as usize] as usize;
        let first = self.blocks.get(position).map_or(0, |block| block.first);
        let units = self.blocks.get(position + 1).map_or(0, |next| next.first - first);
        // The quotient nth * whole / units and its remainder, by addition alone: all units of a block are looked at when it is
        // emptied.
        let whole = if units > 0 && self.is_spread(position) { self.data_units } else { units };
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

    /// Removes a block from those that [`Filled::units_of`] knows.
    pub(super) fn take(&mut self, block: u32) {
        self.positions[block as usize] = NO_DATA;
    }
}
