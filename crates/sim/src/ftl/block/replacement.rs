//! Block mapping proper: a unit that is written anew gets a replacement block, in which each page keeps its place.
//!
//! Pages of a replacement block are written in ascending order: those before the first that is written are copied, and
//! a write that does not go on where the last one ended, or needs the replacement block for another unit, has the rest
//! copied; the replacement then takes the data block's place (Gupta et al., ASPLOS 2009, section 2.2.1, after NFTL). So
//! a write at random costs a whole block's copy, wherever it goes; writes in sequence cost an erase a block.

use super::store::{Spot, Store};
use super::{Scheme, Target};
use crate::ftl::{Clean, NoRoom};

/// A unit that is being replaced.
#[derive(Clone, Copy)]
struct Open {
    unit: u32,
    block: u32,
}

pub(super) struct Replacement {
    /// Of each plane, the replacement blocks, the one least recently written first.
    open: Vec<Vec<Open>>,
    most: usize,
}

impl Replacement {
    /// With at most `most` replacement blocks a plane.
    pub(super) fn new(planes: u32, most: usize) -> Self {
        Self { open: vec![Vec::new(); planes as usize], most }
    }
}

impl Scheme for Replacement {
    fn open(&mut self, store: &mut Store, spot: Spot, cleaned: &mut Vec<Clean>) -> Result<Target, NoRoom> {
        let Spot { plane, unit, offset } = spot;
        let open = &mut self.open[plane as usize];
        if let Some(at) = open.iter().position(|open| open.unit == unit) {
            let found = open.remove(at);
            if store.next(plane, found.block) == offset {
                open.push(found);
            } else {
                cleaned.push(store.complete(plane, unit, found.block));
            }
        }
        if open.last().is_none_or(|last| last.unit != unit) {
            if open.len() == self.most || store.free(plane) == 0 && !open.is_empty() {
                let oldest = open.remove(0);
                cleaned.push(store.complete(plane, oldest.unit, oldest.block));
            }
            let block = store.take(plane).ok_or(NoRoom)?;
            open.push(Open { unit, block });
        }
        let block = open.last().expect("it was found or opened").block;
        let before = store.copy(plane, unit, store.next(plane, block)..offset, block);
        if before.moves > 0 {
            cleaned.push(before);
        }
        Ok(Target { block, position: offset })
    }

    fn written(&mut self, store: &mut Store, spot: Spot, _: Target, cleaned: &mut Vec<Clean>) {
        let open = &mut self.open[spot.plane as usize];
        let &Open { unit, block } = open.last().expect("it was just written");
        if store.is_full(spot.plane, block) {
            open.pop();
            cleaned.push(store.complete(spot.plane, unit, block));
        }
    }

    fn tidy(&mut self, store: &mut Store, plane: u32, high: f64, cleaned: &mut Vec<Clean>) {
        let open = &mut self.open[plane as usize];
        if open.len() as f64 > (1.0 - high) * self.most as f64 {
            let oldest = open.remove(0);
            cleaned.push(store.complete(plane, oldest.unit, oldest.block));
        }
    }

    #[cfg(test)]
    fn logs(&self, plane: u32) -> Vec<u32> {
        self.open[plane as usize].iter().map(|open| open.block).collect()
    }
}
