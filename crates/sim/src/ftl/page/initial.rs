//! Initial states, reached in time proportional to the drive's pages instead of its simulated hours.
//!
//! *Full* places every page once, in order. *Fragmented* is the state in which random overwrites leave a drive in
//! the long run: how many valid pages a block has, by its age, is a property of the policy, the spare space and
//! the block size, not of the drive's size. So it is measured on a small plane of the same proportions, which is
//! overwritten until it no longer changes, and the drive's blocks are then filled to the same distribution with
//! pages in random order. (A test compares the outcome with overwriting the whole drive.)

use super::PageMapped;
use crate::config::{DriveConfig, InitialState};
use crate::ftl::blocks::Open;
use crate::ftl::{StopCheck, UNITS_BETWEEN_STOP_CHECKS};
use crate::ids::{Lpn, PlaneId, Ppn};
use flashlane_base::Seed;
use flashlane_policy::cleaning::View;
use std::ops::{ControlFlow, Range};

/// Blocks of the small plane: enough that cleaning has a choice, few enough to be overwritten many times.
const SAMPLE_BLOCKS: u32 = 512;
/// Times that the small plane's pages are overwritten: the valid counts settle after two to three, whatever the
/// policy here.
const SAMPLE_OVERWRITES: u64 = 6;

impl PageMapped {
    /// Puts a fresh drive into an initial state.
    pub fn prepare(&mut self, config: &DriveConfig, seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        match config.initial.state {
            InitialState::Fresh => {}
            InitialState::Full => self.fill(watch)?,
            InitialState::Fragmented => {
                let sample = sample(config, &self.geometry, seed, watch)?;
                self.scatter(&sample, seed, watch)?;
            }
        }
        self.counters = Default::default();
        ControlFlow::Continue(())
    }

    fn fill(&mut self, watch: StopCheck<'_>) -> ControlFlow<()> {
        let (mut placed, mut due) = (Vec::new(), Vec::new());
        let (mut next, mut look) = (0, 0);
        while next < self.geometry.logical_units {
            if next >= look {
                watch()?;
                look = next.saturating_add(UNITS_BETWEEN_STOP_CHECKS);
            }
            self.place_run(next..self.geometry.logical_units, &mut placed, &mut due)
                .expect("validation made sure that the capacity fits");
            next += placed.len() as u32;
            placed.clear();
            due.clear();
        }
        ControlFlow::Continue(())
    }

    /// Fills the blocks of every plane as `sample` says (valid pages of a block, oldest first).
    fn scatter(&mut self, sample: &[u16], seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        let quotas = self.quotas(watch)?;
        let mut fills = Vec::with_capacity(quotas.len());
        for plane in (0..self.geometry.planes).map(PlaneId) {
            watch()?;
            fills.push(self.lay_out(plane, quotas[plane.index()], sample, seed));
        }
        let order = Scramble::new(self.geometry.logical_units, seed.derive("scatter"));
        for turns in order.turns() {
            watch()?;
            self.scatter_some(order.units(turns), &mut fills);
        }
        for (plane, quota) in quotas.iter().enumerate() {
            let state = &mut self.planes[plane];
            state.valid_units = *quota;
            self.free_units[plane] = state.free_units(&self.geometry);
        }
        ControlFlow::Continue(())
    }

    /// Puts each of these logical pages on the next place of its plane.
    fn scatter_some(&mut self, logical: impl Iterator<Item = Lpn>, fills: &mut [Fill]) {
        let chunk_units = u64::from(self.geometry.chunk_units);
        let (block_units, data_units) = (self.geometry.block_units, self.geometry.data_units);
        for lpn in logical {
            let plane = loop {
                let plane = self.striped(lpn, chunk_units);
                if fills[plane.index()].left > 0 {
                    break plane;
                }
                assert!(self.mapping.is_free(), "a bound page has a place in its plane's quota");
            };
            let ppn = fills[plane.index()].next(&self.blocks.valid, block_units, data_units);
            self.map.set(lpn, ppn);
            self.reverse.set(ppn, plane, lpn);
        }
    }

    /// How many logical pages each plane gets.
    fn quotas(&mut self, watch: StopCheck<'_>) -> ControlFlow<(), Vec<u32>> {
        let geometry = self.geometry.clone();
        let chunk_units = u64::from(geometry.chunk_units);
        let most = (geometry.blocks - geometry.factory_bad_per_plane - geometry.low_blocks - 2)
            * geometry.data_units;
        let mut quotas = vec![0_u32; geometry.planes as usize];
        for first in (0..geometry.logical_units).step_by(UNITS_BETWEEN_STOP_CHECKS as usize) {
            watch()?;
            for number in first..geometry.logical_units.min(first.saturating_add(UNITS_BETWEEN_STOP_CHECKS)) {
                loop {
                    let quota = &mut quotas[self.striped(Lpn(number), chunk_units).index()];
                    if *quota < most || !self.mapping.is_free() {
                        *quota += 1;
                        break;
                    }
                }
            }
        }
        ControlFlow::Continue(quotas)
    }

    /// Gives each block of a plane that will hold data its number of valid pages, `quota` in all, and closes it.
    fn lay_out(&mut self, plane: PlaneId, quota: u32, sample: &[u16], seed: Seed) -> Fill {
        let data_units = self.geometry.data_units;
        let state = &mut self.planes[plane.index()];
        let good = state.free.len() as u32;
        let most = good - self.geometry.low_blocks - 1;
        // Cleaning that is paced may keep more free blocks than the mark, where the data leave them.
        let kept = self.pacer.as_ref().map_or(0, |pacer| pacer.kept_blocks(&self.geometry));
        let closed = good.saturating_sub(kept).max(quota.div_ceil(data_units)).min(most);
        let mut blocks: Vec<u32> = state.free.drain(..closed as usize).collect();
        seed.derive_nth("scatter blocks", u64::from(plane.0)).source().shuffle(&mut blocks);
        // A capacity of a few pages closes no block of the sample.
        let share =
            |i: usize| sample.get(i * sample.len() / blocks.len()).map_or(0, |&valid| u32::from(valid));
        let mut counts: Vec<u32> = (0..blocks.len()).map(share).collect();
        // The small plane rounds differently: hand out or take back a page a block until the sum is right.
        let mut sum: u32 = counts.iter().sum();
        let mut i = 0;
        while sum != quota {
            let count = &mut counts[i % blocks.len()];
            if sum < quota && *count < data_units {
                *count += 1;
                sum += 1;
            } else if sum > quota && *count > 0 {
                *count -= 1;
                sum -= 1;
            }
            i += 1;
        }
        state.closed = closed;
        let first = plane.0 * self.geometry.blocks;
        for (age, (&block, &count)) in blocks.iter().zip(&counts).enumerate() {
            self.blocks.valid[(first + block) as usize] = count as u16;
            self.blocks.closed_at[(first + block) as usize] = age as u32 + 1;
        }
        let blocks = blocks.iter().map(|block| first + block).collect();
        Fill { blocks, at: 0, written: 0, left: quota }
    }
}

/// Where the next valid page of a plane goes.
struct Fill {
    blocks: Vec<u32>,
    at: usize,
    written: u32,
    left: u32,
}

impl Fill {
    /// The valid pages of a block are spread evenly over its data pages.
    #[inline]
    fn next(&mut self, valid: &[u16], block_units: u32, data_units: u32) -> Ppn {
        let mut count = u32::from(valid[self.blocks[self.at] as usize]);
        while self.written == count {
            self.at += 1;
            self.written = 0;
            count = u32::from(valid[self.blocks[self.at] as usize]);
        }
        let unit = self.written * data_units / count;
        self.written += 1;
        self.left -= 1;
        Ppn(self.blocks[self.at] * block_units + unit)
    }
}

/// Every logical page once, in random order, without a table: a bijection on the next power of two (odd
/// multiplications and shifts), with the numbers beyond the last page left out.
struct Scramble {
    units: u32,
    bits: u32,
    keys: [u64; 3],
}

impl Scramble {
    fn new(units: u32, seed: Seed) -> Self {
        let bits = u32::BITS - (units - 1).leading_zeros();
        let mut random = seed.source();
        Self { units, bits: bits.max(2), keys: [random.bits() | 1, random.bits() | 1, random.bits()] }
    }

    /// The turns of all pages, and of numbers that are none, a look at the watch's worth at a time.
    fn turns(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let (all, step) = (1_u64 << self.bits, u64::from(UNITS_BETWEEN_STOP_CHECKS));
        (0..all).step_by(UNITS_BETWEEN_STOP_CHECKS as usize).map(move |first| first..all.min(first + step))
    }

    /// The pages whose turns these are.
    fn units(&self, turns: Range<u64>) -> impl Iterator<Item = Lpn> + use<> {
        let (bits, [a, b, c], units) = (self.bits, self.keys, self.units);
        let mask = (1_u64 << bits) - 1;
        let half = bits / 2;
        turns.filter_map(move |i| {
            let mut x = i.wrapping_add(c).wrapping_mul(a) & mask;
            x ^= x >> half;
            x = x.wrapping_mul(b) & mask;
            x ^= x >> half;
            x = x.wrapping_mul(a ^ (b << 1)) & mask;
            x ^= x >> half;
            (x < u64::from(units)).then_some(Lpn(x as u32))
        })
    }
}

/// Valid pages of the closed blocks of a small plane of the same proportions, oldest first, after it has been
/// overwritten at random.
fn sample(
    config: &DriveConfig,
    full: &crate::nand::Geometry,
    seed: Seed,
    watch: StopCheck<'_>,
) -> ControlFlow<(), Vec<u16>> {
    let mut small = config.clone();
    small.flash.channels = 1;
    small.flash.packages = 1;
    small.flash.dies = 1;
    small.flash.planes = 1;
    small.flash.factory_bad.0 = 0.0;
    small.flash.endurance = None;
    // The same in the long run, however the moves are spread over the writes.
    (small.cleaning.pacing, small.cleaning.pacing_options) = ("watermark".into(), Default::default());
    // A superblock counts as one block, whatever number of planes it spans.
    small.flash.pages = full.block_units / full.units_per_page;
    (small.mapping.parity, small.cleaning.multi_plane) = (None, false);
    small.mapping.chunk = small.mapping.unit.unwrap_or(small.flash.page);
    let good = full.blocks - full.factory_bad_per_plane;
    small.flash.blocks = good.min(SAMPLE_BLOCKS);
    // The same share of valid pages among the blocks that are neither free nor open.
    let closed = f64::from(good - full.low_blocks - 1) * f64::from(full.data_units);
    let share = f64::from(full.logical_units) / f64::from(full.planes) / closed;
    let small_low = ((config.cleaning.low.0 * f64::from(small.flash.blocks)) as u32).max(1);
    let small_closed = f64::from(small.flash.blocks - small_low - 1) * f64::from(full.data_units);
    let most = (small.flash.blocks - small_low - 2) * full.data_units;
    let units = ((share * small_closed) as u32).clamp(1, most);
    small.capacity.0 = u64::from(units) * full.unit_bytes;
    let mut ftl = PageMapped::new(&small, seed.derive("fragmentation sample"));
    let mut due = Vec::new();
    ftl.fill(watch)?;
    let mut random = seed.derive("fragmentation sample writes").source();
    for count in 0..u64::from(units) * SAMPLE_OVERWRITES {
        if count.is_multiple_of(u64::from(UNITS_BETWEEN_STOP_CHECKS)) {
            watch()?;
        }
        let lpn = Lpn(random.below(u64::from(units)) as u32);
        ftl.place(lpn, &mut due).expect("a plane that does not wear out has room");
        due.clear();
    }
    let mut blocks: Vec<(u32, u16)> = (0..small.flash.blocks as usize)
        .filter(|&block| ftl.blocks.valid[block] < View::NOT_CLOSED)
        .map(|block| (ftl.blocks.closed_at[block], ftl.blocks.valid[block]))
        .collect();
    blocks.sort_unstable();
    debug_assert!(ftl.planes[0].open[0].block != Open::NO_BLOCK, "the host has a block open");
    ControlFlow::Continue(blocks.into_iter().map(|(_, valid)| valid).collect())
}
