//! Initial states: the state of every block and plane, and a formula for the mapping units, which are not touched.
//!
//! *Full* places every unit once, in order. *Fragmented* is the state in which random overwrites leave a drive in the long
//! run: `steady` has how many valid units a block then has, by its age; the drive's blocks are filled to this
//! distribution with units in random order. Either takes time and memory in proportion to the drive's blocks. (Tests compare
//! the outcome with writing the whole drive.)

use super::gc::HOST;
use super::layout::{Filled, Layout, Order, Permutation, Stripe};
use super::{PageMapped, steady};
use crate::config::{DriveConfig, InitialState};
use crate::ftl::blocks::spare_blocks;
use crate::ftl::{StopCheck, UNITS_BETWEEN_STOP_CHECKS};
use crate::ids::PlaneId;
use flashlane_base::Seed;
use std::ops::ControlFlow;

impl PageMapped {
    /// Puts a fresh drive into an initial state.
    pub fn prepare(&mut self, config: &DriveConfig, seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        match config.initial.state {
            InitialState::Fresh => {}
            InitialState::Full => match self.stripe_of_full_drive() {
                Some(stripe) => self.fill_by_formula(stripe, watch)?,
                None => self.fill(watch)?,
            },
            InitialState::Fragmented => {
                let sample = steady::sample(config, &self.geometry, seed, watch)?;
                self.scatter(&sample, seed, watch)?;
            }
        }
        self.counters = Default::default();
        ControlFlow::Continue(())
    }

    /// Writes every unit in order, one by one: where their places have no formula.
    pub(super) fn fill(&mut self, watch: StopCheck<'_>) -> ControlFlow<()> {
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

    /// The stripe along which writes in order go, where there is one and every plane has room for its share. The mapping
    /// has then advanced past them.
    fn stripe_of_full_drive(&mut self) -> Option<Stripe> {
        let stripe = Stripe::new(self.allocation.stripe()?, &self.geometry);
        let units = self.geometry.logical_units;
        let room = |plane: usize| {
            (self.planes[plane].good.saturating_sub(spare_blocks(&self.geometry))) * self.geometry.data_units
        };
        let fits =
            stripe.units_of_planes(units).iter().enumerate().all(|(plane, &units)| units <= room(plane));
        (fits && self.mapping.advance(u64::from(units))).then_some(stripe)
    }

    /// Does what [`PageMapped::fill`] does, without touching the units.
    fn fill_by_formula(&mut self, stripe: Stripe, watch: StopCheck<'_>) -> ControlFlow<()> {
        let (units, data_units) = (self.geometry.logical_units, self.geometry.data_units);
        let mut filled = Filled::full(&self.geometry);
        let mut blocks = Vec::new();
        for (plane, of_plane) in stripe.units_of_planes(units).into_iter().enumerate() {
            watch()?;
            let plane = PlaneId(plane as u32);
            let mut left = of_plane;
            while left > 0 {
                self.close(plane, HOST);
                self.open(plane, HOST).expect("validation made sure that the capacity fits");
                let written = left.min(data_units);
                let open = &mut self.planes[plane.index()].open[HOST];
                open.written = written;
                let block = plane.0 * self.geometry.blocks + open.block.0;
                self.blocks.valid[block as usize] += written as u16;
                blocks.push((block, written));
                left -= written;
            }
            filled.push_plane(blocks.drain(..));
            let state = &mut self.planes[plane.index()];
            state.valid_units = of_plane;
            self.free_units[plane.index()] = state.free_units(&self.geometry);
            if let Some(pacer) = &mut self.pacer {
                pacer.planes[plane.index()].written = of_plane % pacer.step_units;
            }
        }
        for (search, units) in self.searches.iter_mut().zip(stripe.units_of_pools(units)) {
            search.take_turns(units, &self.free_units, self.geometry.pool_planes);
        }
        self.layout = Some(Box::new(Layout { units, order: Order::Addresses, stripe, filled }));
        ControlFlow::Continue(())
    }

    /// Fills the blocks of every plane as `sample` says (valid units of a block, oldest first).
    fn scatter(&mut self, sample: &[u16], seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        let units = self.geometry.logical_units;
        // Overwrites leave each plane its share, whichever plane takes which of them.
        let in_turn: Vec<u32> = (0..self.geometry.planes).collect();
        let stripe = Stripe::new(self.allocation.stripe().unwrap_or(&in_turn), &self.geometry);
        let order_seed = seed.derive("scatter");
        let order = if self.mapping.is_free() {
            self.mapping.advance(u64::from(units));
            Order::Shuffled(Permutation::new(units, order_seed))
        } else {
            let pools = stripe.units_of_pools(units).into_iter().enumerate();
            let permutation =
                |(pool, units)| Permutation::new(units, order_seed.derive_nth("pool", pool as u64));
            Order::ShuffledInPools(pools.map(permutation).collect())
        };
        let quotas = stripe.units_of_planes(units);
        let blocks: usize = self.planes.iter().map(|plane| plane.free.len()).sum();
        let mut filled = Filled::spread(&self.geometry, units / blocks as u32);
        for (plane, &quota) in quotas.iter().enumerate() {
            watch()?;
            filled.push_plane(self.lay_out(PlaneId(plane as u32), quota, sample, seed));
            let state = &mut self.planes[plane];
            state.valid_units = quota;
            self.free_units[plane] = state.free_units(&self.geometry);
        }
        self.layout = Some(Box::new(Layout { units, order, stripe, filled }));
        ControlFlow::Continue(())
    }

    /// Gives each block of a plane that will hold data its number of valid units, `quota` in all, and closes it. Returns
    /// the blocks with these numbers, oldest first.
    fn lay_out(
        &mut self,
        plane: PlaneId,
        quota: u32,
        sample: &[u16],
        seed: Seed,
    ) -> impl Iterator<Item = (u32, u32)> + use<> {
        let data_units = self.geometry.data_units;
        let state = &mut self.planes[plane.index()];
        let good = state.free.len() as u32;
        let most = good - self.geometry.low_blocks - 1;
        // Cleaning that is paced may keep more free blocks than the mark, where the data leave them.
        let kept = self.pacer.as_ref().map_or(0, |pacer| pacer.kept_blocks(&self.geometry));
        let closed = good.saturating_sub(kept).max(quota.div_ceil(data_units)).min(most);
        let mut blocks: Vec<u32> = state.free.drain(..closed as usize).collect();
        seed.derive_nth("scatter blocks", u64::from(plane.0)).source().shuffle(&mut blocks);
        let counts = valid_counts(blocks.len(), quota, sample, data_units);
        state.closed = closed;
        let first = plane.0 * self.geometry.blocks;
        for (age, (block, &count)) in blocks.iter_mut().zip(&counts).enumerate() {
            *block += first;
            self.blocks.valid[*block as usize] = count as u16;
            self.blocks.closed_at[*block as usize] = age as u32 + 1;
        }
        blocks.into_iter().zip(counts)
    }
}

/// Valid units of a number of blocks, oldest first, `quota` in all, distributed as in `sample`.
fn valid_counts(blocks: usize, quota: u32, sample: &[u16], data_units: u32) -> Vec<u32> {
    // A capacity of a few units closes no block of the sample.
    let share = |i: usize| sample.get(i * sample.len() / blocks).map_or(0, |&valid| u32::from(valid));
    let mut counts: Vec<u32> = (0..blocks).map(share).collect();
    // The small plane rounds differently: hand out or take back a unit a block until the sum is right.
    let mut sum: u32 = counts.iter().sum();
    let mut i = 0;
    while sum != quota {
        let count = &mut counts[i % blocks];
        if sum < quota && *count < data_units {
            *count += 1;
            sum += 1;
        } else if sum > quota && *count > 0 {
            *count -= 1;
            sum -= 1;
        }
        i += 1;
    }
    counts
}
