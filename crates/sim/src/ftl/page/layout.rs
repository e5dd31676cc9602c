//! Where the mapping units of a prepared drive lie, computed instead of stored.
//!
//! ```text
//! mapping unit ─ order ─> number ─ stripe ─> plane, index on the plane ─ filled ─> block, unit of the block
//! ```
//!
//! Each arrow can be followed in both directions, so that the map and its reverse hold only what changed since. *Order*
//! is that of the addresses, or a permutation of them: of all, or with mapping by address of those of an allocation
//! pool. *Filled* has the blocks of each plane that hold data, and how many units each.
//!
//! Memory: 11 bytes a block. Time: some 10 ns a mapping unit, about as long as it takes to fetch an entry from memory.

mod filled;
mod permutation;
mod recent;
mod stripe;

pub(super) use filled::Filled;
pub(super) use permutation::Permutation;
pub(super) use stripe::Stripe;

use crate::ids::{Lpn, PlaneId, Ppn};
use recent::{RecentSpots, Spot};

/// The order in which mapping units were written.
pub(super) enum Order {
    Addresses,
    /// Any address to any place.
    Shuffled(Permutation),
    /// Any address to any place of its allocation pool; one permutation for each.
    ShuffledInPools(Vec<Permutation>),
}

/// The places of a prepared drive's mapping units.
pub(super) struct PreparedLayout {
    /// The first mapping units, which have a place.
    pub(super) units: u32,
    pub(super) order: Order,
    pub(super) stripe: Stripe,
    pub(super) filled: Filled,
    recent: RecentSpots,
}

impl PreparedLayout {
    /// The layout of the first `units` mapping units.
    pub(super) fn new(units: u32, order: Order, stripe: Stripe, filled: Filled) -> Self {
        Self { units, order, stripe, filled, recent: RecentSpots::new() }
    }

    /// The plane of a mapping unit.
    #[inline]
    pub(super) fn plane_of(&self, lpn: Lpn) -> Option<PlaneId> {
        self.spot_of(lpn).map(|spot| spot.plane)
    }

    /// The plane of a mapping unit, and its place.
    #[inline]
    pub(super) fn place_of(&self, lpn: Lpn) -> Option<(PlaneId, Ppn)> {
        let spot = self.spot_of(lpn)?;
        let ppn = spot.ppn.unwrap_or_else(|| {
            let ppn = self.filled.ppn(spot.plane, spot.index, spot.group);
            self.recent.keep(Spot { ppn: Some(ppn), ..spot });
            ppn
        });
        Some((spot.plane, ppn))
    }

    /// Fetches what [`PreparedLayout::place_of`] will need into the processor's cache.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        if self.filled.has_groups()
            && let Some(spot) = self.spot_of(lpn)
        {
            let group = self.filled.group_of(spot.plane, spot.index);
            self.filled.prefetch(group);
            self.recent.keep(Spot { group: Some(group), ..spot });
        }
    }

    #[inline]
    fn spot_of(&self, lpn: Lpn) -> Option<Spot> {
        (lpn.0 < self.units).then(|| self.recent.get_or(lpn, || self.compute_spot(lpn)))
    }

    /// The plane of a mapping unit, and its index there.
    fn compute_spot(&self, lpn: Lpn) -> (PlaneId, u32) {
        let number = match &self.order {
            Order::Shuffled(all) => all.image(lpn.0),
            Order::Addresses | Order::ShuffledInPools(_) => lpn.0,
        };
        let (pool, mut of_pool) = self.stripe.in_pool(number);
        if let Order::ShuffledInPools(pools) = &self.order {
            of_pool = pools[pool as usize].image(of_pool);
        }
        self.stripe.spot(pool, of_pool)
    }

    /// The mapping unit at an index of a plane.
    #[inline]
    pub(super) fn lpn_of(&self, plane: PlaneId, index: u32) -> Lpn {
        let (pool, mut of_pool) = self.stripe.of_pool(plane, index);
        if let Order::ShuffledInPools(pools) = &self.order {
            of_pool = pools[pool as usize].preimage(of_pool);
        }
        let number = self.stripe.number(pool, of_pool);
        match &self.order {
            Order::Shuffled(all) => Lpn(all.preimage(number)),
            Order::Addresses | Order::ShuffledInPools(_) => Lpn(number),
        }
    }
}
