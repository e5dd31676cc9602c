//! Where the mapping units of a prepared drive lie, computed instead of stored.
//!
//! ```text
//! mapping unit ─ order ─> number ─ stripe ─> plane, index on the plane ─ filled ─> block, unit of the block
//! ```
//!
//! Each arrow can be followed in both directions, so that the map and its reverse hold only what changed since. *Order* is
//! that of the addresses, or a permutation of them: of all, or with mapping by address of those of an allocation pool.
//! *Filled* has the blocks of each plane that hold data, and how many units each.
//!
//! Memory: 16 bytes a block. Time: some 10 ns a mapping unit, about as long as it takes to fetch an entry from memory.

mod filled;
mod permutation;
mod stripe;

pub(super) use filled::Filled;
pub(super) use permutation::Permutation;
pub(super) use stripe::Stripe;

use crate::ids::{Lpn, PlaneId, Ppn};

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
    /// An empty list, kept to spare its allocation.
    pub(super) found: Vec<(Ppn, Lpn)>,
}

impl PreparedLayout {
    /// The layout of the first `units` mapping units.
    pub(super) fn new(units: u32, order: Order, stripe: Stripe, filled: Filled) -> Self {
        Self { units, order, stripe, filled, found: Vec::new() }
    }

    /// The plane of a mapping unit, and its place.
    #[inline]
    pub(super) fn place_of(&self, lpn: Lpn) -> Option<(PlaneId, Ppn)> {
        let (plane, index) = self.spot_of(lpn)?;
        Some((plane, self.filled.ppn(plane, index)))
    }

    /// The plane of a mapping unit, and its index there.
    #[inline]
    pub(super) fn spot_of(&self, lpn: Lpn) -> Option<(PlaneId, u32)> {
        if lpn.0 >= self.units {
            return None;
        }
        let number = match &self.order {
            Order::Shuffled(all) => all.image(lpn.0),
            Order::Addresses | Order::ShuffledInPools(_) => lpn.0,
        };
        let (pool, mut of_pool) = self.stripe.in_pool(number);
        if let Order::ShuffledInPools(pools) = &self.order {
            of_pool = pools[pool as usize].image(of_pool);
        }
        Some(self.stripe.spot(pool, of_pool))
    }

    /// The mapping units on a block of `plane` that are at places of interest, with these; none once the block was taken.
    pub(super) fn units_of(
        &self,
        block: u32,
        plane: PlaneId,
        is_of_interest: impl Fn(Ppn) -> bool,
    ) -> impl Iterator<Item = (Ppn, Lpn)> {
        let places = self.filled.units_of(block).filter(move |&(_, ppn)| is_of_interest(ppn));
        places.map(move |(index, ppn)| (ppn, self.lpn_of(plane, index)))
    }

    /// Removes a block from those whose mapping units [`PreparedLayout::units_of`] knows.
    pub(super) fn take(&mut self, block: u32) {
        self.filled.take(block);
    }

    /// The mapping unit at an index of a plane.
    #[inline]
    fn lpn_of(&self, plane: PlaneId, index: u32) -> Lpn {
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
