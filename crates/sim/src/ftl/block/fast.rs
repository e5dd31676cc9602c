//! FAST, fully associative log blocks: one log block takes what begins a unit and goes on in sequence, and the others
//! take everything else, of all units in the order in which it is written (Lee et al., "A log buffer-based flash
//! translation layer using fully-associative sector translation", ACM TECS 6(3), 2007; described by Gupta et al.,
//! ASPLOS 2009, section 2.2.2). There may be several log blocks for sequences (Lee et al., "LAST: locality-aware sector
//! translation for NAND flash memory-based storage systems", ACM SIGOPS OSR 42(6), 2008): so many streams go on
//! undisturbed.
//!
//! Writes at random fill the log whatever they hit, and cost nothing until it is full. Then the oldest log block is
//! emptied: each unit that has a valid page in it is gathered in a new data block, from wherever its pages are. With a
//! `batch` that is spread over the writes before: so many units at once, as often as it takes for the oldest to be
//! empty when the last is full. A drive that is idle empties its log ahead of need (uFLIP, section 5.1: cheap writes at
//! first, then ones that cost, and reads that are disturbed afterwards).

use super::store::{Spot, Store};
use super::stripes::{Stripes, log_blocks};
use super::{BlockScheme, Target};
use crate::ftl::scheme::Scheme;
use crate::ftl::{GcWork, NoRoom};
use crate::ids::{BlockId, Lpn, PlaneId};
use crate::nand::Geometry;
use flashlane_policy::{OptionError, Options};
use std::collections::VecDeque;

/// A log block of a sequence.
#[derive(Clone, Copy)]
struct Sequence {
    erase_unit: u32,
    block: BlockId,
}

/// A log block of pages of any units.
struct Log {
    block: BlockId,
    /// The mapping unit at each position.
    units: Vec<Lpn>,
    /// Nothing before this position is valid.
    first: usize,
}

#[derive(Default)]
struct Lane {
    /// The log blocks of sequences, the one least recently written first.
    sequences: Vec<Sequence>,
    /// The log blocks of everything else, the oldest first; the last is being filled.
    logs: VecDeque<Log>,
}

pub(super) struct Fast {
    lanes: Vec<Lane>,
    most: usize,
    most_sequences: usize,
    /// Units that are gathered at once while the log still has room; none before it is full where absent.
    batch: Option<u32>,
}

/// Options `log_blocks`; `sequence_blocks`, log blocks of a plane for sequences, default 1; `merge_batch`, units merged
/// at once while the log still has room, 1 to 65536, default as many as the oldest log block needs when the log is
/// full.
pub(in crate::ftl) fn build(geometry: &Geometry, options: &Options) -> Result<Scheme, OptionError> {
    let (stripes, most) = (Stripes::new(geometry, options)?, log_blocks(geometry, options)?);
    let blocks = geometry.blocks_per_plane;
    let allowed = format!("a count from 1 to {blocks}");
    let sequences = options.get("sequence_blocks", 1, allowed, |count| (1..=blocks).contains(&count))?;
    let batch =
        options.get("merge_batch", 0, "a count from 1 to 65536", |count| (1..=1 << 16).contains(&count))?;
    let fast = Fast {
        lanes: (0..geometry.planes).map(|_| Lane::default()).collect(),
        most: most as usize,
        most_sequences: sequences as usize,
        batch: (batch > 0).then_some(batch),
    };
    Ok(Scheme::Blocks(stripes, Box::new(fast)))
}

impl Lane {
    /// Where a page out of sequence goes.
    fn open_log(
        &mut self,
        store: &mut Store,
        plane: PlaneId,
        most: usize,
        due: &mut Vec<GcWork>,
    ) -> Result<(), NoRoom> {
        if self.logs.back().is_some_and(|log| !store.is_full(plane, log.block)) {
            return Ok(());
        }
        while self.logs.len() == most {
            self.empty_oldest(store, plane, due)?;
        }
        let block = self.take(store, plane, due)?;
        self.logs.push_back(Log { block, units: Vec::new(), first: 0 });
        Ok(())
    }

    /// A free block that is not the last: that one is left for gathering.
    fn take(&mut self, store: &mut Store, plane: PlaneId, due: &mut Vec<GcWork>) -> Result<BlockId, NoRoom> {
        while store.free(plane) < 2 && !self.logs.is_empty() {
            self.empty_oldest(store, plane, due)?;
        }
        while store.free(plane) < 2 && !self.sequences.is_empty() {
            self.end_sequence(store, plane, 0, due);
        }
        if store.free(plane) < 2 {
            return Err(NoRoom);
        }
        store.take(plane).ok_or(NoRoom)
    }

    /// Completes the block of a sequence.
    fn end_sequence(&mut self, store: &mut Store, plane: PlaneId, at: usize, due: &mut Vec<GcWork>) {
        let Sequence { erase_unit, block } = self.sequences.remove(at);
        due.push(store.complete(plane, erase_unit, block));
    }

    /// Gathers the next unit that has a valid page in the oldest log block; false where there is none.
    fn gather_oldest(
        &mut self,
        store: &mut Store,
        plane: PlaneId,
        due: &mut Vec<GcWork>,
    ) -> Result<bool, NoRoom> {
        let Some(log) = self.logs.front_mut() else { return Ok(false) };
        let (block, units) = (log.block, &log.units);
        let is_valid = |at: &usize| store.ppn_of(units[*at]) == Some(store.ppn(plane, block, *at as u32));
        let Some(at) = (log.first..units.len()).find(is_valid) else {
            log.first = units.len();
            return Ok(false);
        };
        log.first = at;
        let erase_unit = store.spot(units[at]).erase_unit;
        let mut gc = store.gather(plane, erase_unit).ok_or(NoRoom)?;
        if let Some(at) = self.sequences.iter().position(|sequence| sequence.erase_unit == erase_unit) {
            store.erase(plane, self.sequences.remove(at).block);
            gc.erases += 1;
        }
        due.push(gc);
        Ok(true)
    }

    /// Empties the oldest log block and erases it.
    fn empty_oldest(
        &mut self,
        store: &mut Store,
        plane: PlaneId,
        due: &mut Vec<GcWork>,
    ) -> Result<(), NoRoom> {
        while self.gather_oldest(store, plane, due)? {}
        self.erase_oldest(store, plane, due);
        Ok(())
    }

    fn erase_oldest(&mut self, store: &mut Store, plane: PlaneId, due: &mut Vec<GcWork>) {
        if let Some(log) = self.logs.pop_front() {
            store.erase(plane, log.block);
            due.push(GcWork { erases: 1, ..GcWork::nothing(plane) });
        }
    }
}

impl BlockScheme for Fast {
    fn spare_blocks(&self) -> u32 {
        // One to merge to.
        self.log_blocks() + 1 + self.most_sequences as u32
    }

    fn log_blocks(&self) -> u32 {
        self.most as u32
    }

    fn open(&mut self, store: &mut Store, spot: Spot, due: &mut Vec<GcWork>) -> Result<Target, NoRoom> {
        let Spot { plane, erase_unit, offset } = spot;
        let lane = &mut self.lanes[plane.index()];
        let sequence = match lane.sequences.iter().position(|sequence| sequence.erase_unit == erase_unit) {
            Some(at) if store.next(plane, lane.sequences[at].block) == offset => {
                Some(lane.sequences.remove(at))
            }
            // A unit's first page may begin a sequence; written again at once it is none.
            None if offset == 0 => {
                if lane.sequences.len() == self.most_sequences {
                    lane.end_sequence(store, plane, 0, due);
                }
                Some(Sequence { erase_unit, block: lane.take(store, plane, due)? })
            }
            _ => None,
        };
        if let Some(sequence) = sequence {
            lane.sequences.push(sequence);
            return Ok(Target { block: sequence.block, position: offset });
        }
        lane.open_log(store, plane, self.most, due)?;
        let log = lane.logs.back_mut().expect("it was just opened");
        let position = log.units.len() as u32;
        Ok(Target { block: log.block, position })
    }

    fn written(&mut self, store: &mut Store, spot: Spot, target: Target, due: &mut Vec<GcWork>) {
        let plane = spot.plane;
        let lane = &mut self.lanes[plane.index()];
        if lane.sequences.last().is_some_and(|sequence| sequence.block == target.block) {
            if store.is_full(plane, target.block) {
                lane.end_sequence(store, plane, lane.sequences.len() - 1, due);
            }
            return;
        }
        let log = lane.logs.back_mut().expect("it was just written");
        log.units.push(store.lpn_at(spot).expect("it was just written"));
        let Some(batch) = self.batch else { return };
        let unopened = (self.most - lane.logs.len()) as u32;
        let left = (unopened + 1) * store.geometry.data_units - store.next(plane, target.block);
        let is_due = lane.logs.front().is_some_and(|oldest| store.valid(plane, oldest.block) >= left);
        for _ in 0..if is_due { batch } else { 0 } {
            // Without a block to gather in the write that needs the room will be refused.
            if !matches!(lane.gather_oldest(store, plane, due), Ok(true)) {
                break;
            }
        }
    }

    fn merge_idle(&mut self, store: &mut Store, plane: PlaneId, high: f64, due: &mut Vec<GcWork>) {
        let lane = &mut self.lanes[plane.index()];
        let most = self.most as f64 * f64::from(store.geometry.data_units);
        let used: usize = lane.logs.iter().map(|log| log.units.len()).sum();
        if used as f64 <= (1.0 - high) * most {
            return;
        }
        let before = due.len();
        // Without a block to gather in there is nothing that an idle plane could do.
        let _ = lane.gather_oldest(store, plane, due);
        let done = |log: &Log| store.valid(plane, log.block) == 0 && store.is_full(plane, log.block);
        if due.len() == before && lane.logs.front().is_some_and(done) {
            lane.erase_oldest(store, plane, due);
        }
    }

    #[cfg(test)]
    fn logs(&self, _: &Store, plane: PlaneId) -> Vec<BlockId> {
        let lane = &self.lanes[plane.index()];
        let sequences = lane.sequences.iter().map(|sequence| sequence.block);
        sequences.chain(lane.logs.iter().map(|log| log.block)).collect()
    }
}
