//! Initial states, reached without the writes that would lead to them.
//!
//! Whatever was written before, merging puts a unit's pages back in their places. So a drive that was written at random
//! (uFLIP, section 4.1: I/Os of 0.5 KB to 128 KB all over it) differs from one that was written once in order only in
//! what its log holds last, and in which block holds which unit. A drive that cleans when idle was given the time to.

use super::{BlockMapped, GcWork};
use crate::config::{DriveConfig, InitialState};
use crate::ftl::{StopCheck, UNITS_BETWEEN_STOP_CHECKS};
use crate::ids::{Lpn, PlaneId};
use flashlane_base::Seed;
use std::ops::ControlFlow;

/// Times that random writes go through the whole log: after the first it holds nothing else.
const LOG_OVERWRITES: u64 = 2;

/// The largest of the random writes.
const LONGEST_WRITE_BYTES: u64 = 128 << 10;

impl BlockMapped {
    /// Puts a fresh drive into an initial state.
    pub fn prepare(&mut self, config: &DriveConfig, seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        match config.initial.state {
            InitialState::Fresh => {}
            InitialState::Full => self.fill(watch)?,
            InitialState::Fragmented => {
                self.fill(watch)?;
                // As with page mapping, the drive got there without wear.
                let endurances = self.store.blocks.take_endurances();
                self.scatter(seed, watch)?;
                self.merge_idle(watch)?;
                self.store.blocks.make_new(endurances);
            }
        }
        self.store.counters = Default::default();
        ControlFlow::Continue(())
    }

    /// Gives every erase unit its data block, with all of its mapping units.
    pub(super) fn fill(&mut self, watch: StopCheck<'_>) -> ControlFlow<()> {
        let units_between_checks = (UNITS_BETWEEN_STOP_CHECKS / self.store.geometry.data_units).max(1);
        for plane in (0..self.store.geometry.planes).map(PlaneId) {
            for erase_unit in 0..self.store.erase_units_per_plane {
                if erase_unit.is_multiple_of(units_between_checks) {
                    watch()?;
                }
                self.store.fill(plane, erase_unit);
            }
        }
        ControlFlow::Continue(())
    }

    fn scatter(&mut self, seed: Seed, watch: StopCheck<'_>) -> ControlFlow<()> {
        let g = &self.store.geometry;
        let log_blocks = u64::from(self.scheme.log_blocks());
        let log_units = log_blocks * u64::from(g.planes) * u64::from(g.data_units);
        let (unit_bytes, units) = (g.unit_bytes, u64::from(g.logical_units));
        let (mut random, mut due) = (seed.derive("scatter").source(), Vec::new());
        let mut left = (log_units * LOG_OVERWRITES) as i64;
        let mut next_check = left;
        while left > 0 {
            if left <= next_check {
                watch()?;
                next_check = left - i64::from(UNITS_BETWEEN_STOP_CHECKS) / 16;
            }
            let length = (1 + random.below(LONGEST_WRITE_BYTES)).div_ceil(unit_bytes).min(units);
            let first = random.below(units - length + 1);
            for lpn in first..first + length {
                self.place(Lpn(lpn as u32), &mut due).expect("a drive that does not wear out has room");
                due.clear();
            }
            left -= length as i64;
        }
        ControlFlow::Continue(())
    }

    /// Runs idle GC on every plane until none is left.
    fn merge_idle(&mut self, watch: StopCheck<'_>) -> ControlFlow<()> {
        if !self.has_idle_gc() {
            return ControlFlow::Continue(());
        }
        let mut due: Vec<GcWork> = Vec::new();
        for plane in (0..self.store.geometry.planes).map(PlaneId) {
            loop {
                watch()?;
                self.collect_idle(plane, &mut due);
                if due.is_empty() {
                    break;
                }
                due.clear();
            }
        }
        ControlFlow::Continue(())
    }
}
