//! A block on each plane of a stripe: what a unit's log or replacement is made of.
//!
//! Firmware that maps whole erase units keeps its books by the unit, not by the block (uFLIP, section 5.2: a write of
//! 4 KiB costs the low-end stick as much as one of 128 KiB). So the blocks are taken, merged and erased together,
//! whichever of them a write touched.

use super::GcWork;
use super::store::Store;
use crate::ids::{BlockId, PlaneId};

pub(super) struct Superblock {
    stripe: u32,
    /// By the planes' positions in the stripe.
    blocks: Box<[BlockId]>,
}

impl Superblock {
    /// Takes an erased block on each plane of a stripe. `None`, and nothing taken, where one of them would have less
    /// than `left` then.
    pub(super) fn take(store: &mut Store, stripe: u32, left: usize) -> Option<Self> {
        if !Self::is_available(store, stripe, left) {
            return None;
        }
        let blocks = (0..store.stripes.planes).map(|position| {
            let plane = store.plane_of_stripe(stripe, position);
            store.take(plane).expect("each has more")
        });
        Some(Self { stripe, blocks: blocks.collect() })
    }

    /// Whether [`Superblock::take`] would find one.
    pub(super) fn is_available(store: &Store, stripe: u32, left: usize) -> bool {
        let mut planes = (0..store.stripes.planes).map(|at| store.plane_of_stripe(stripe, at));
        planes.all(|plane| store.free(plane) > left)
    }

    /// The block on `plane`, which is one of the stripe's.
    #[inline]
    pub(super) fn on(&self, store: &Store, plane: PlaneId) -> BlockId {
        self.blocks[store.position(plane) as usize]
    }

    /// Each plane and its block.
    pub(super) fn each(&self, store: &Store) -> impl Iterator<Item = (PlaneId, BlockId)> + use<> {
        let planes = (0..store.stripes.planes).map(|at| store.plane_of_stripe(self.stripe, at));
        planes.zip(self.blocks.to_vec()).collect::<Vec<_>>().into_iter()
    }

    /// Whether no plane's block has a page left.
    pub(super) fn is_full(&self, store: &Store) -> bool {
        self.each(store).all(|(plane, block)| store.is_full(plane, block))
    }

    /// Completes the blocks, which hold the first pages of a unit in their places, and makes them its data blocks.
    pub(super) fn complete(&self, store: &mut Store, erase_unit: u32, due: &mut Vec<GcWork>) {
        for (plane, block) in self.each(store) {
            due.push(store.complete(plane, erase_unit, block));
        }
    }

    /// Gathers a unit's pages in new data blocks and erases these, of which none is valid then. False, and nothing
    /// changed, where a plane has no block for that.
    pub(super) fn merge(&self, store: &mut Store, erase_unit: u32, due: &mut Vec<GcWork>) -> bool {
        if !Self::is_available(store, self.stripe, 0) {
            return false;
        }
        for (plane, block) in self.each(store) {
            let mut gc = store.gather(plane, erase_unit).expect("each plane has a block");
            store.erase(plane, block);
            gc.erases += 1;
            due.push(gc);
        }
        true
    }
}
