//! The steady state of a plane under random overwrites: how many valid units a block has, by its age.
//!
//! It is a property of the cleaning policy, the spare space and the block size, not of the plane's size, so it is
//! measured on a small plane of the same proportions. Which unit is overwritten does not matter there, only on which
//! block it lies: one drawn in proportion to the blocks' valid units. So the small plane keeps their numbers and no
//! units, and GC moves all of a block in one step: the same random process at the cost of the host's writes alone, some
//! 5 ns each.

use super::gc::HOST_STREAM;
use crate::config::DriveConfig;
use crate::ftl::erase_blocks::spare_blocks;
use crate::ftl::{StopCheck, UNITS_BETWEEN_STOP_CHECKS};
use crate::nand::Geometry;
use flashlane_base::{Random, Seed};
use flashlane_policy::cleaning::{Cleaning, View};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Blocks of the small plane: enough that cleaning has a choice, few enough to be overwritten many times.
const MOST_BLOCKS: u32 = 512;
const LEAST_BLOCKS: u32 = 128;
/// Units of the small plane, where that leaves it a number of blocks between these.
const UNITS: u32 = 1 << 20;
/// Times that the small plane's units are overwritten: the valid counts settle after two to three, whatever the policy.
const OVERWRITES: u64 = 4;

/// A plane after random overwrites.
pub(super) struct Sample {
    /// Valid units of the closed blocks, oldest first.
    pub(super) closed: Vec<u16>,
    /// Units written to the open block of the host and to that of moved units, at moments during the overwrites.
    pub(super) open: Vec<[u32; 2]>,
}

/// The steady state of a plane of a drive.
pub(super) fn sample(
    config: &DriveConfig,
    geometry: &Geometry,
    seed: Seed,
    watch: StopCheck<'_>,
) -> ControlFlow<(), Sample> {
    let mut plane = SmallPlane::new(config, geometry, seed.derive("fragmentation sample"));
    plane.fill();
    let mut random = seed.derive("fragmentation sample writes").source();
    let mut moments = seed.derive("fragmentation sample moments").source();
    let mut open = Vec::new();
    let overwrites = u64::from(plane.units) * OVERWRITES;
    let mut next_moment = overwrites / 2;
    for count in 0..overwrites {
        if count.is_multiple_of(u64::from(UNITS_BETWEEN_STOP_CHECKS)) {
            watch()?;
        }
        plane.overwrite(&mut random);
        if count == next_moment {
            open.push(plane.open_units());
            next_moment += 1 + moments.below(u64::from(plane.data_units));
        }
    }
    ControlFlow::Continue(Sample { closed: plane.closed_blocks(), open })
}

/// A block being filled.
struct Open {
    /// None where the stream's block was closed.
    block: Option<usize>,
    /// Units written; the number of a block's data units where no block is open.
    written: u32,
}

/// A plane that knows how many units of each block are valid, but not which.
struct SmallPlane {
    data_units: u32,
    /// Units that it holds.
    units: u32,
    /// GC is due with no more free blocks than this.
    low_watermark_blocks: u32,
    /// Valid units; [`View::NOT_CLOSED`] is added while the block is free or open.
    valid: Vec<u16>,
    closed_at: Vec<u32>,
    closed: u32,
    free: VecDeque<usize>,
    /// The block for the host's units, and the one for moved units where those are separate.
    open: Vec<Open>,
    policy: Box<dyn Cleaning>,
}

impl SmallPlane {
    /// An empty plane in the proportions of those of `geometry`.
    fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        let data_units = geometry.data_units;
        let good = geometry.blocks_per_plane - geometry.factory_bad_per_plane - geometry.reserved_blocks;
        let blocks = (UNITS / data_units).clamp(LEAST_BLOCKS, MOST_BLOCKS).min(good);
        let low_watermark_blocks = ((config.cleaning.low.0 * f64::from(blocks)) as u32).max(1);
        // The same share of valid units among the blocks that are neither free nor open.
        let closed = f64::from(good - geometry.low_watermark_blocks - 1) * f64::from(data_units);
        let share = f64::from(geometry.stored_units()) / f64::from(geometry.planes) / closed;
        let small_closed = f64::from(blocks - low_watermark_blocks - 1) * f64::from(data_units);
        let small =
            Geometry { low_watermark_blocks, reserved_blocks: 0, later_blocks: 0, ..geometry.clone() };
        let most = (blocks - spare_blocks(&small)) * data_units;
        let options = config.cleaning.options.options();
        let policy =
            config.policies.cleaning.build(&config.cleaning.policy, seed.derive("cleaning"), &options);
        let streams = 1 + usize::from(config.cleaning.separate);
        Self {
            data_units,
            units: ((share * small_closed) as u32).clamp(1, most),
            low_watermark_blocks,
            valid: vec![View::NOT_CLOSED; blocks as usize],
            closed_at: vec![0; blocks as usize],
            closed: 0,
            free: (0..blocks as usize).collect(),
            open: (0..streams).map(|_| Open { block: None, written: data_units }).collect(),
            policy: policy.expect("validation built every policy once"),
        }
    }

    /// Writes every unit once.
    fn fill(&mut self) {
        self.write(HOST_STREAM, self.units);
    }

    /// Overwrites a unit.
    #[inline]
    fn overwrite(&mut self, random: &mut Random) {
        if self.is_full(HOST_STREAM) {
            self.open_next_block();
        }
        let old = self.block_of_a_unit(random);
        self.valid[old] -= 1;
        self.write(HOST_STREAM, 1);
    }

    /// A block drawn in proportion to the blocks' valid units.
    #[inline]
    fn block_of_a_unit(&self, random: &mut Random) -> usize {
        let blocks = self.valid.len() as u64;
        loop {
            // Two numbers of 32 random bits: a block, and the position of a unit on it.
            let bits = random.bits();
            let block = (((bits >> 32) * blocks) >> 32) as usize;
            let position = ((bits & u64::from(u32::MAX)) * u64::from(self.data_units)) >> 32;
            if position < u64::from(self.valid[block] & !View::NOT_CLOSED) {
                return block;
            }
        }
    }

    /// Opens the host's next block, in the order of [`super::PageMapped`]: GC goes first only where no block would be
    /// left for units that it moves.
    fn open_next_block(&mut self) {
        self.close(HOST_STREAM);
        if self.free.len() < self.open.len() {
            self.collect_to_low_watermark();
        }
        if self.is_full(HOST_STREAM) {
            self.open(HOST_STREAM);
        }
        self.collect_to_low_watermark();
    }

    fn collect_to_low_watermark(&mut self) {
        while self.free.len() as u32 <= self.low_watermark_blocks && self.collect() {}
    }

    /// Units written to the open block of the host and to that of moved units; 0 where those are not separate.
    fn open_units(&self) -> [u32; 2] {
        [HOST_STREAM, HOST_STREAM + 1].map(|stream| self.open.get(stream).map_or(0, |open| open.written))
    }

    fn is_full(&self, stream: usize) -> bool {
        self.open[stream].written >= self.data_units
    }

    fn close(&mut self, stream: usize) {
        let Some(block) = self.open[stream].block.take() else { return };
        self.closed += 1;
        self.closed_at[block] = self.closed;
        self.valid[block] -= View::NOT_CLOSED;
    }

    fn open(&mut self, stream: usize) {
        self.close(stream);
        let block = self.free.pop_front().expect("GC leaves a free block");
        self.open[stream] = Open { block: Some(block), written: 0 };
    }

    /// Writes units to a stream's blocks.
    #[inline]
    fn write(&mut self, stream: usize, mut units: u32) {
        while units > 0 {
            if self.is_full(stream) {
                self.open(stream);
            }
            let Open { block, written } = &mut self.open[stream];
            let fitting = units.min(self.data_units - *written);
            *written += fitting;
            self.valid[block.expect("a block that is not full is open")] += fitting as u16;
            units -= fitting;
        }
    }

    /// Moves the valid units off the policy's victim and erases it. Returns false where there is nothing to gain, or no
    /// room.
    fn collect(&mut self) -> bool {
        let view = View {
            valid: &self.valid,
            closed_at: &self.closed_at,
            now: self.closed,
            pages: self.data_units as u16,
        };
        let Some(victim) = self.policy.choose(view) else { return false };
        let moved_stream = self.open.len() - 1;
        let moves = u32::from(self.valid[victim]);
        if moves > self.data_units - self.open[moved_stream].written && self.free.is_empty() {
            return false;
        }
        self.write(moved_stream, moves);
        self.valid[victim] = View::NOT_CLOSED;
        self.free.push_back(victim);
        true
    }

    /// The valid units of the closed blocks, oldest first.
    fn closed_blocks(&self) -> Vec<u16> {
        let mut closed: Vec<(u32, u16)> = (self.closed_at.iter().copied().zip(self.valid.iter().copied()))
            .filter(|(_, valid)| *valid < View::NOT_CLOSED)
            .collect();
        closed.sort_unstable();
        closed.into_iter().map(|(_, valid)| valid).collect()
    }
}
