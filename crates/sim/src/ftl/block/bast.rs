//! BAST, block-associative log blocks: each of a few units has a log block of its own, which takes its pages in the
//! order in which they are written (Kim et al., "A space-efficient flash translation layer for CompactFlash systems",
//! IEEE Transactions on Consumer Electronics 48(2), 2002; described by Gupta et al., ASPLOS 2009, section 2.2.2).
//!
//! A log block that was written from the first page to the last takes its data block's place (switch merge); one that
//! was begun so is completed first (partial merge); otherwise both are gathered in a new block (full merge). A unit
//! without a log block takes that of the unit least recently written, so that as many streams, or as large an area, as
//! there are log blocks are written cheaply, and no more.

use super::store::{Spot, Store};
use super::{Scheme, Target};
use crate::ftl::{Clean, NoRoom};

/// A unit's log block.
#[derive(Clone, Copy)]
struct Log {
    unit: u32,
    block: u32,
    /// Whether every page of it is in its place.
    in_place: bool,
}

impl Log {
    /// Joins the log with its unit's data block. `None`, and nothing changed, where there is no block for it.
    fn merge(self, store: &mut Store, plane: u32) -> Option<Clean> {
        if self.in_place {
            return Some(store.complete(plane, self.unit, self.block));
        }
        let mut clean = store.gather(plane, self.unit)?;
        store.erase(plane, self.block);
        clean.erases += 1;
        Some(clean)
    }
}

pub(super) struct Bast {
    /// Of each plane, the log blocks, the one least recently written first.
    logs: Vec<Vec<Log>>,
    most: usize,
}

impl Bast {
    /// With at most `most` log blocks a plane.
    pub(super) fn new(planes: u32, most: usize) -> Self {
        Self { logs: vec![Vec::new(); planes as usize], most }
    }

    /// Merges the plane's log at a position of its list.
    fn merge(
        &mut self,
        store: &mut Store,
        plane: u32,
        at: usize,
        cleaned: &mut Vec<Clean>,
    ) -> Result<(), NoRoom> {
        let logs = &mut self.logs[plane as usize];
        cleaned.push(logs[at].merge(store, plane).ok_or(NoRoom)?);
        logs.remove(at);
        Ok(())
    }
}

impl Scheme for Bast {
    fn open(&mut self, store: &mut Store, spot: Spot, cleaned: &mut Vec<Clean>) -> Result<Target, NoRoom> {
        let Spot { plane, unit, offset } = spot;
        let found = self.logs[plane as usize].iter().position(|log| log.unit == unit);
        let found = match found {
            Some(at) if store.is_full(plane, self.logs[plane as usize][at].block) => {
                self.merge(store, plane, at, cleaned)?;
                None
            }
            found => found,
        };
        let log = if let Some(at) = found {
            self.logs[plane as usize].remove(at)
        } else {
            // A free block is left for the next full merge.
            while self.logs[plane as usize].len() == self.most
                || store.free(plane) < 2 && !self.logs[plane as usize].is_empty()
            {
                self.merge(store, plane, 0, cleaned)?;
            }
            if store.free(plane) < 2 {
                return Err(NoRoom);
            }
            Log { unit, block: store.take(plane).ok_or(NoRoom)?, in_place: true }
        };
        let position = store.next(plane, log.block);
        self.logs[plane as usize].push(Log { in_place: log.in_place && position == offset, ..log });
        Ok(Target { block: log.block, position })
    }

    fn written(&mut self, store: &mut Store, spot: Spot, _: Target, cleaned: &mut Vec<Clean>) {
        let logs = &mut self.logs[spot.plane as usize];
        let log = *logs.last().expect("it was just written");
        if log.in_place && store.is_full(spot.plane, log.block) {
            logs.pop();
            cleaned.push(store.complete(spot.plane, log.unit, log.block));
        }
    }

    fn tidy(&mut self, store: &mut Store, plane: u32, high: f64, cleaned: &mut Vec<Clean>) {
        if self.logs[plane as usize].len() as f64 > (1.0 - high) * self.most as f64 {
            // Without a block to merge to there is nothing that an idle plane could do.
            let _ = self.merge(store, plane, 0, cleaned);
        }
    }

    #[cfg(test)]
    fn logs(&self, plane: u32) -> Vec<u32> {
        self.logs[plane as usize].iter().map(|log| log.block).collect()
    }
}
