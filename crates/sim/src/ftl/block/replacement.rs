//! Block mapping proper: a unit that is written anew gets a replacement, in which each page keeps its place.
//!
//! A replacement is written in ascending order: what is before the first page that is written is copied, and a write
//! that does not go on where the last one ended, or needs the replacement for another unit, has the rest copied; the
//! replacement then takes the place of the unit's data blocks (Gupta et al., ASPLOS 2009, section 2.2.1, after NFTL).
//! So a write at random costs a whole unit's copy, wherever it goes and however small it is (uFLIP, section 5.2);
//! writes in sequence cost an erase a block.

use super::store::{Spot, Store};
use super::stripes::{Stripes, log_blocks};
use super::superblock::Superblock;
use super::{BlockScheme, Target};
use crate::ftl::scheme::Scheme;
use crate::ftl::{GcWork, NoRoom};
use crate::ids::PlaneId;
use crate::nand::Geometry;
use flashlane_policy::{OptionError, Options};

/// A unit that is being replaced.
struct Open {
    erase_unit: u32,
    blocks: Superblock,
}

pub(super) struct Replacement {
    /// Of each stripe, the replacements, the one least recently written first.
    open: Vec<Vec<Open>>,
    most: usize,
}

pub(in crate::ftl) fn build(geometry: &Geometry, options: &Options) -> Result<Scheme, OptionError> {
    let stripes = Stripes::new(geometry, options)?;
    let scheme = Replacement::new(stripes.count, log_blocks(geometry, options)?);
    Ok(Scheme::Blocks(stripes, Box::new(scheme)))
}

impl Replacement {
    /// With at most `most` replacements a stripe.
    fn new(stripes: u32, most: u32) -> Self {
        Self { open: (0..stripes).map(|_| Vec::new()).collect(), most: most as usize }
    }
}

/// Of the planes of the spot's stripe, each with the end of its offsets that come before the spot.
fn before(store: &Store, spot: Spot) -> impl Iterator<Item = (PlaneId, u32)> + use<> {
    let chunk_units = store.geometry.chunk_units;
    let (row, stripe) = (spot.offset / chunk_units, store.stripe(spot.plane));
    let at = store.position(spot.plane);
    let ends = (0..store.stripes.planes).map(move |position| match position.cmp(&at) {
        std::cmp::Ordering::Less => (row + 1) * chunk_units,
        std::cmp::Ordering::Equal => spot.offset,
        std::cmp::Ordering::Greater => row * chunk_units,
    });
    let most = store.geometry.data_units;
    let planes = (0..store.stripes.planes).map(|at| store.plane_of_stripe(stripe, at));
    planes.collect::<Vec<_>>().into_iter().zip(ends.map(move |end| end.min(most)))
}

impl BlockScheme for Replacement {
    fn spare_blocks(&self) -> u32 {
        self.log_blocks()
    }

    fn log_blocks(&self) -> u32 {
        self.most as u32
    }

    fn open(&mut self, store: &mut Store, spot: Spot, due: &mut Vec<GcWork>) -> Result<Target, NoRoom> {
        let Spot { plane, erase_unit, offset } = spot;
        let stripe = store.stripe(plane);
        let open = &mut self.open[stripe as usize];
        if let Some(at) = open.iter().position(|open| open.erase_unit == erase_unit) {
            let found = open.remove(at);
            let block = found.blocks.on(store, plane);
            if store.next(plane, block) == offset {
                open.push(found);
                return Ok(Target { block, position: offset });
            }
            found.blocks.complete(store, erase_unit, due);
        }
        while open.len() == self.most || !Superblock::is_available(store, stripe, 0) && !open.is_empty() {
            let oldest = open.remove(0);
            oldest.blocks.complete(store, oldest.erase_unit, due);
        }
        let blocks = Superblock::take(store, stripe, 0).ok_or(NoRoom)?;
        for (plane, end) in before(store, spot) {
            let moved = store.move_valid(plane, erase_unit, 0..end, blocks.on(store, plane));
            if moved.moves > 0 {
                due.push(moved);
            }
        }
        let block = blocks.on(store, plane);
        open.push(Open { erase_unit, blocks });
        Ok(Target { block, position: offset })
    }

    fn written(&mut self, store: &mut Store, spot: Spot, target: Target, due: &mut Vec<GcWork>) {
        let open = &mut self.open[store.stripe(spot.plane) as usize];
        if !store.is_full(spot.plane, target.block) {
            return;
        }
        if open.last().expect("it was just written").blocks.is_full(store) {
            let full = open.pop().expect("it was just written");
            full.blocks.complete(store, full.erase_unit, due);
        }
    }

    fn merge_idle(&mut self, store: &mut Store, plane: PlaneId, high: f64, due: &mut Vec<GcWork>) {
        let open = &mut self.open[store.stripe(plane) as usize];
        if open.len() as f64 > (1.0 - high) * self.most as f64 {
            let oldest = open.remove(0);
            oldest.blocks.complete(store, oldest.erase_unit, due);
        }
    }

    #[cfg(test)]
    fn logs(&self, store: &Store, plane: PlaneId) -> Vec<crate::ids::BlockId> {
        self.open[store.stripe(plane) as usize].iter().map(|open| open.blocks.on(store, plane)).collect()
    }
}
