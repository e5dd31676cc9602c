//! Initial states: the state of every block and plane, and a formula for the mapping units, which are not touched.
//!
//! *Full* places every unit once, in order. *Fragmented* is the state in which random overwrites leave a drive in the
//! long run: `steady` has how many valid units a block then has, by its age; the drive's blocks are filled to this
//! distribution with units in random order. Translation pages lie behind the units of the host, or among them at
//! random. Either takes time and memory in proportion to the drive's blocks. (Tests compare the outcome with writing
//! the whole drive.) Every plane is in the middle of its work, at a moment of its own: its open blocks are written in
//! part, and with paced GC its victim is moved in part. Otherwise no plane would run GC before it had filled a block,
//! and then all at once.

use super::PageMapped;
use super::gc::HOST_STREAM;
use super::layout::{Filled, Order, Permutation, PreparedLayout, Stripe};
use super::steady::{self, Sample};
use crate::config::{DriveConfig, InitialState};
use crate::ftl::erase_blocks::spare_blocks;
use crate::ftl::{StopCheck, UNITS_BETWEEN_STOP_CHECKS};
use crate::ids::PlaneId;
use flashlane_base::{Random, Seed};
use std::ops::ControlFlow;

impl PageMapped {
    /// Puts a fresh drive into an initial state.
    pub fn prepare(&mut self, config: &DriveConfig, seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        let slc = self.take_slc();
        match config.initial.state {
            InitialState::Fresh => {}
            InitialState::Full => match self.stripe_of_full_drive() {
                Some(stripe) => self.fill_by_formula(stripe, watch)?,
                None => self.fill(watch)?,
            },
            InitialState::Fragmented => {
                let sample = steady::sample(config, &self.geometry, seed, watch)?;
                let page_units = self.geometry.step_units(&config.flash);
                self.scatter(&sample, page_units, seed, watch)?;
            }
        }
        self.put_slc(slc);
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
        for page in 0..self.translation_page_count() {
            self.place_translation_page(page, &mut due).expect("validation made sure that they fit");
            due.clear();
        }
        // What is on flash is the map as it is now.
        self.take_moved(&mut Vec::new());
        ControlFlow::Continue(())
    }

    /// The stripe along which writes in order go, where there is one and every plane has room for its share. The
    /// mapping has then advanced past them.
    fn stripe_of_full_drive(&mut self) -> Option<Stripe> {
        let stripe = Stripe::new(self.allocation.stripe()?, &self.geometry);
        let units = self.geometry.stored_units();
        let room = |plane: usize| {
            (self.planes[plane].good.saturating_sub(spare_blocks(&self.geometry))) * self.geometry.data_units
        };
        let fits =
            stripe.units_of_planes(units).iter().enumerate().all(|(plane, &units)| units <= room(plane));
        (fits && self.mapping.advance(u64::from(units))).then_some(stripe)
    }

    /// Does what [`PageMapped::fill`] does, without touching the units.
    fn fill_by_formula(&mut self, stripe: Stripe, watch: StopCheck<'_>) -> ControlFlow<()> {
        let (units, data_units) = (self.geometry.stored_units(), self.geometry.data_units);
        let mut filled = Filled::full(&self.geometry);
        let mut blocks = Vec::new();
        for (plane, of_plane) in stripe.units_of_planes(units).into_iter().enumerate() {
            watch()?;
            let plane = PlaneId(plane as u32);
            let mut left = of_plane;
            while left > 0 {
                self.close(plane, HOST_STREAM);
                self.open(plane, HOST_STREAM).expect("validation made sure that the capacity fits");
                let written = left.min(data_units);
                let open = &mut self.planes[plane.index()].open[HOST_STREAM];
                open.written = written;
                let block = plane.0 * self.geometry.blocks_per_plane + open.block.0;
                self.blocks.add_valid_units(block as usize, written);
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
        self.layout = Some(Box::new(PreparedLayout::new(units, Order::Addresses, stripe, filled)));
        ControlFlow::Continue(())
    }

    /// Fills the blocks of every plane as `sample` says. `page_units` are programmed at
    /// once.
    fn scatter(
        &mut self,
        sample: &Sample,
        page_units: u32,
        seed: Seed,
        watch: StopCheck<'_>,
    ) -> ControlFlow<()> {
        let units = self.geometry.stored_units();
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
        let progress = self.progress_of_planes(&quotas, sample, page_units, seed);
        let open_blocks = progress.as_ref().map_or(0, |_| self.streams() as usize);
        let blocks: usize = self.planes.iter().map(|plane| plane.free.len()).sum();
        let mut filled = Filled::spread(&self.geometry, units / blocks as u32, open_blocks);
        for (plane, &quota) in quotas.iter().enumerate() {
            watch()?;
            let progress = progress.as_ref().map(|planes| planes[plane]);
            filled.push_plane(self.lay_out(PlaneId(plane as u32), quota, progress, sample, seed));
            let state = &mut self.planes[plane];
            state.valid_units = quota;
            self.free_units[plane] = state.free_units(&self.geometry);
        }
        self.layout = Some(Box::new(PreparedLayout::new(units, order, stripe, filled)));
        ControlFlow::Continue(())
    }

    /// How far each plane is with its work; `None` where one has no room for open blocks.
    fn progress_of_planes(
        &self,
        quotas: &[u32],
        sample: &Sample,
        page_units: u32,
        seed: Seed,
    ) -> Option<Vec<Progress>> {
        let of_plane = |(plane, &quota): (usize, &u32)| {
            // The planes of a pool fill evenly, since the one with the most room is written to.
            let pool = plane as u32 / self.geometry.pool_planes;
            let mut random = seed.derive_nth("progress", u64::from(pool)).source();
            self.progress(PlaneId(plane as u32), quota, sample, page_units, &mut random)
        };
        quotas.iter().enumerate().map(of_plane).collect()
    }

    /// Gives each block of a plane that will hold data its number of valid units, `quota` in all, and closes all but
    /// those that are open. Returns the blocks with these numbers, oldest first, the open ones last.
    fn lay_out(
        &mut self,
        plane: PlaneId,
        quota: u32,
        progress: Option<Progress>,
        sample: &Sample,
        seed: Seed,
    ) -> impl Iterator<Item = (u32, u32)> + use<> {
        let data_units = self.geometry.data_units;
        let good = self.free_blocks(plane) - self.translation_streams();
        let open_units = progress.map_or(0, |progress| progress.open_units.iter().sum());
        let closed = match progress {
            Some(Progress { free_blocks, .. }) => good - free_blocks - self.streams(),
            None => good - self.geometry.low_watermark_blocks - 1,
        };
        let state = &mut self.planes[plane.index()];
        let mut blocks: Vec<u32> = state.free.drain(..closed as usize).collect();
        seed.derive_nth("scatter blocks", u64::from(plane.0)).source().shuffle(&mut blocks);
        let mut counts = valid_counts(blocks.len(), quota - open_units, &sample.closed, data_units);
        state.closed = closed;
        let first = plane.0 * self.geometry.blocks_per_plane;
        for (age, (block, &count)) in blocks.iter_mut().zip(&counts).enumerate() {
            *block += first;
            self.blocks.close_prepared(*block as usize, count, age as u32 + 1);
        }
        if let Some(progress) = progress {
            if self.pacer.is_some() {
                self.begin_victim_in_part(plane, progress.moved_share, &blocks, &mut counts);
            }
            for (stream, &written) in progress.open_units[..self.streams() as usize].iter().enumerate() {
                self.open(plane, stream).expect("a free block for each stream is left");
                let open = &mut self.planes[plane.index()].open[stream];
                open.written = written;
                let block = first + open.block.0;
                self.blocks.add_valid_units(block as usize, written);
                blocks.push(block);
                counts.push(written);
            }
        }
        blocks.into_iter().zip(counts)
    }

    /// Makes the block that the policy chooses the victim of a plane, with a share of its units moved already: others
    /// hold them. `counts` are the valid units of the closed `blocks`.
    fn begin_victim_in_part(&mut self, plane: PlaneId, moved_share: f64, blocks: &[u32], counts: &mut [u32]) {
        let Some(victim) = self.choose(plane) else { return };
        let number = plane.0 * self.geometry.blocks_per_plane + victim.0;
        let at = blocks.iter().position(|&block| block == number).expect("the policy chooses a closed block");
        let (held, data_units) = (counts.iter().sum::<u32>(), self.geometry.data_units);
        let left = counts[at] - (f64::from(counts[at]) * moved_share).ceil() as u32;
        // The others take what was moved off it: as a full block it takes none.
        counts[at] = data_units;
        balance(counts, held - left + data_units, data_units);
        counts[at] = left;
        for (&block, &count) in blocks.iter().zip(&*counts) {
            self.blocks.set_prepared(block as usize, count);
        }
        self.begin_victim(plane, victim, false, moved_share);
    }

    /// Blocks of a plane that are written to at once.
    fn streams(&self) -> u32 {
        1 + u32::from(self.moved_stream != HOST_STREAM)
    }

    /// How far a plane that holds `quota` units is with its work at a random moment of random overwrites; `None` where
    /// it has no room for open blocks. `page_units` are programmed at once.
    fn progress(
        &self,
        plane: PlaneId,
        quota: u32,
        sample: &Sample,
        page_units: u32,
        random: &mut Random,
    ) -> Option<Progress> {
        let data_units = self.geometry.data_units;
        let moment = sample.open.get(random.below(sample.open.len().max(1) as u64) as usize)?;
        let mut open_units = moment.map(|units| units / page_units * page_units);
        let (mut free_blocks, mut moved_share) = (self.geometry.low_watermark_blocks + 1, 0.0);
        if let Some(pacer) = &self.pacer {
            // From victim to victim the erased units fall from the target by a block, by what the host writes and what
            // is moved; the erase gives them back.
            let pages = data_units / page_units;
            let units_into_cycle = random.below(u64::from(pages)) as u32 * page_units;
            moved_share = f64::from(units_into_cycle) / f64::from(data_units);
            let mut erased = pacer.target(plane).next_multiple_of(page_units) - units_into_cycle;
            if self.moved_stream != HOST_STREAM {
                open_units[HOST_STREAM] = random.below(u64::from(pages)) as u32 * page_units;
                erased -= data_units - open_units[HOST_STREAM];
            }
            free_blocks = (erased - 1) / data_units;
            open_units[self.moved_stream] = data_units - (erased - free_blocks * data_units);
        }
        let good = self.free_blocks(plane) - self.translation_streams();
        let closed = good.checked_sub(free_blocks + self.streams())?;
        let left = quota.checked_sub(open_units.iter().sum())?;
        (left < closed.saturating_sub(1) * data_units).then_some(Progress {
            open_units,
            free_blocks,
            moved_share,
        })
    }
}

/// A plane in the middle of its work.
#[derive(Clone, Copy)]
struct Progress {
    /// Units written to the open block of each stream.
    open_units: [u32; 2],
    free_blocks: u32,
    /// The share of its victim's units that paced GC has moved.
    moved_share: f64,
}

/// Valid units of a number of blocks, oldest first, `quota` in all, distributed as in `sample`.
fn valid_counts(blocks: usize, quota: u32, sample: &[u16], data_units: u32) -> Vec<u32> {
    // A capacity of a few units closes no block of the sample.
    let share = |i: usize| sample.get(i * sample.len() / blocks).map_or(0, |&valid| u32::from(valid));
    let mut counts: Vec<u32> = (0..blocks).map(share).collect();
    // The small plane rounds differently.
    balance(&mut counts, quota, data_units);
    counts
}

/// Hands out units to blocks or takes them back, evenly over all, until the blocks hold `quota` units. Requires: they
/// have room for them.
fn balance(counts: &mut [u32], quota: u32, data_units: u32) {
    let blocks = counts.len();
    let mut sum: u32 = counts.iter().sum();
    let mut first = 0;
    while sum != quota {
        let many = (sum.abs_diff(quota) as usize).min(blocks);
        for nth in 0..many {
            let count = &mut counts[(first + nth * blocks / many) % blocks];
            if sum < quota && *count < data_units {
                *count += 1;
                sum += 1;
            } else if sum > quota && *count > 0 {
                *count -= 1;
                sum -= 1;
            }
        }
        first += 1;
    }
}
