//! BAST, block-associative log blocks: each of a few units has a log block of its own, which takes its pages in the
//! order in which they are written (Kim et al., "A space-efficient flash translation layer for CompactFlash systems",
//! IEEE Transactions on Consumer Electronics 48(2), 2002; described by Gupta et al., ASPLOS 2009, section 2.2.2).
//!
//! A log block that was written from the first page to the last takes its data block's place (switch merge); one that
//! was begun so is completed first (partial merge); otherwise both are gathered in a new block (full merge). A unit
//! without a log block takes that of the unit least recently written, so that as many streams, or as large an area, as
//! there are log blocks are written cheaply, and no more.

use super::store::{Spot, Store};
use super::stripes::{Stripes, log_blocks};
use super::superblock::Superblock;
use super::{BlockScheme, Target};
use crate::ftl::scheme::Scheme;
use crate::ftl::{GcWork, NoRoom};
use crate::ids::PlaneId;
use crate::nand::Geometry;
use flashlane_policy::{OptionError, Options};

/// A unit's log block, one on each of its planes.
struct Log {
    erase_unit: u32,
    blocks: Superblock,
    /// Whether every page of it is in its place.
    in_place: bool,
}

impl Log {
    /// Joins the log with its unit's data blocks. False, and nothing changed, where there is no block for it.
    fn merge(&self, store: &mut Store, due: &mut Vec<GcWork>) -> bool {
        if self.in_place {
            self.blocks.complete(store, self.erase_unit, due);
            return true;
        }
        self.blocks.merge(store, self.erase_unit, due)
    }
}

pub(super) struct Bast {
    /// Of each stripe, the logs, the one least recently written first.
    logs: Vec<Vec<Log>>,
    most: usize,
}

pub(in crate::ftl) fn build(geometry: &Geometry, options: &Options) -> Result<Scheme, OptionError> {
    let stripes = Stripes::new(geometry, options)?;
    let scheme = Bast::new(stripes.count, log_blocks(geometry, options)?);
    Ok(Scheme::Blocks(stripes, Box::new(scheme)))
}

impl Bast {
    /// With at most `most` logs a stripe.
    fn new(stripes: u32, most: u32) -> Self {
        Self { logs: (0..stripes).map(|_| Vec::new()).collect(), most: most as usize }
    }

    /// Merges the stripe's log at a position of its list.
    fn merge(
        &mut self,
        store: &mut Store,
        stripe: u32,
        at: usize,
        due: &mut Vec<GcWork>,
    ) -> Result<(), NoRoom> {
        let logs = &mut self.logs[stripe as usize];
        if !logs[at].merge(store, due) {
            return Err(NoRoom);
        }
        logs.remove(at);
        Ok(())
    }
}

impl BlockScheme for Bast {
    fn spare_blocks(&self) -> u32 {
        // One to merge to.
        self.log_blocks() + 1
    }

    fn log_blocks(&self) -> u32 {
        self.most as u32
    }

    fn open(&mut self, store: &mut Store, spot: Spot, due: &mut Vec<GcWork>) -> Result<Target, NoRoom> {
        let Spot { plane, erase_unit, offset } = spot;
        let stripe = store.stripe(plane);
        let logs = &self.logs[stripe as usize];
        let found = logs.iter().position(|log| log.erase_unit == erase_unit);
        let found = match found {
            Some(at) if store.is_full(plane, logs[at].blocks.on(store, plane)) => {
                self.merge(store, stripe, at, due)?;
                None
            }
            found => found,
        };
        let mut log = if let Some(at) = found {
            self.logs[stripe as usize].remove(at)
        } else {
            // A free block is left for the next full merge.
            while self.logs[stripe as usize].len() == self.most
                || !Superblock::is_available(store, stripe, 1) && !self.logs[stripe as usize].is_empty()
            {
                self.merge(store, stripe, 0, due)?;
            }
            Log { erase_unit, blocks: Superblock::take(store, stripe, 1).ok_or(NoRoom)?, in_place: true }
        };
        let block = log.blocks.on(store, plane);
        let position = store.next(plane, block);
        log.in_place &= position == offset;
        self.logs[stripe as usize].push(log);
        Ok(Target { block, position })
    }

    fn written(&mut self, store: &mut Store, spot: Spot, target: Target, due: &mut Vec<GcWork>) {
        let logs = &mut self.logs[store.stripe(spot.plane) as usize];
        let log = logs.last().expect("it was just written");
        if log.in_place && store.is_full(spot.plane, target.block) && log.blocks.is_full(store) {
            let log = logs.pop().expect("it was just written");
            log.blocks.complete(store, log.erase_unit, due);
        }
    }

    fn merge_idle(&mut self, store: &mut Store, plane: PlaneId, high: f64, due: &mut Vec<GcWork>) {
        let stripe = store.stripe(plane);
        if self.logs[stripe as usize].len() as f64 > (1.0 - high) * self.most as f64 {
            // Without a block to merge to there is nothing that an idle stripe could do.
            let _ = self.merge(store, stripe, 0, due);
        }
    }

    #[cfg(test)]
    fn logs(&self, store: &Store, plane: PlaneId) -> Vec<crate::ids::BlockId> {
        let logs = &self.logs[store.stripe(plane) as usize];
        logs.iter().map(|log| log.blocks.on(store, plane)).collect()
    }
}
