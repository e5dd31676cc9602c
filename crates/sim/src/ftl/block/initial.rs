//! Initial states, reached without the writes that would lead to them.
//!
//! Whatever was written before, merging puts a unit's pages back in their places. So a drive that was written at random
//! (uFLIP, section 4.1: I/Os of 0.5 KB to 128 KB all over it) differs from one that was written once in order only in
//! what its log holds last, and in which block holds which unit. A drive that cleans when idle was given the time to.

use super::{BlockMapped, Clean};
use crate::config::{DriveConfig, InitialState};
use crate::ftl::{PAGES_A_LOOK, Watch};
use flashlane_base::Seed;
use std::ops::ControlFlow;

/// Times that random writes go through the whole log: after the first it holds nothing else.
const LOG_OVERWRITES: u64 = 2;

/// The largest of the random writes.
const LONGEST_WRITE_BYTES: u64 = 128 << 10;

impl BlockMapped {
    /// Puts a fresh drive into an initial state.
    pub fn prepare(&mut self, config: &DriveConfig, seed: Seed, watch: Watch<'_>) -> ControlFlow<()> {
        match config.initial.state {
            InitialState::Fresh => {}
            InitialState::Full => self.fill(watch)?,
            InitialState::Fragmented => {
                self.fill(watch)?;
                // As with page mapping, the drive got there without wear.
                let limits = std::mem::take(&mut self.store.blocks.limits);
                self.scatter(seed, watch)?;
                self.rest(watch)?;
                self.store.blocks.limits = limits;
                self.store.blocks.erases.fill(0);
            }
        }
        self.store.counters = Default::default();
        ControlFlow::Continue(())
    }

    /// Gives every unit its data block, with all of its pages.
    pub(super) fn fill(&mut self, watch: Watch<'_>) -> ControlFlow<()> {
        let units_a_look = (PAGES_A_LOOK / self.store.geometry.data_pages).max(1);
        for plane in 0..self.store.geometry.planes {
            for unit in 0..self.store.units_per_plane {
                if unit.is_multiple_of(units_a_look) {
                    watch()?;
                }
                self.store.fill(plane, unit);
            }
        }
        ControlFlow::Continue(())
    }

    fn scatter(&mut self, seed: Seed, watch: Watch<'_>) -> ControlFlow<()> {
        let g = &self.store.geometry;
        let log_blocks = u64::from(self.scheme.log_blocks());
        let log_pages = log_blocks * u64::from(g.planes) * u64::from(g.data_pages);
        let (page_bytes, pages) = (g.page_bytes, u64::from(g.logical_pages));
        let (mut random, mut cleaned) = (seed.derive("scatter").source(), Vec::new());
        let mut left = (log_pages * LOG_OVERWRITES) as i64;
        let mut look = left;
        while left > 0 {
            if left <= look {
                watch()?;
                look = left - i64::from(PAGES_A_LOOK) / 16;
            }
            let length = (1 + random.below(LONGEST_WRITE_BYTES)).div_ceil(page_bytes).min(pages);
            let first = random.below(pages - length + 1);
            for page in first..first + length {
                self.place(page as u32, &mut cleaned).expect("a drive that does not wear out has room");
                cleaned.clear();
            }
            left -= length as i64;
        }
        ControlFlow::Continue(())
    }

    /// Lets idle planes merge as long as they do.
    fn rest(&mut self, watch: Watch<'_>) -> ControlFlow<()> {
        if !self.cleans_when_idle() {
            return ControlFlow::Continue(());
        }
        let mut cleaned: Vec<Clean> = Vec::new();
        for plane in 0..self.store.geometry.planes {
            loop {
                watch()?;
                self.clean_in_background(plane, &mut cleaned);
                if cleaned.is_empty() {
                    break;
                }
                cleaned.clear();
            }
        }
        ControlFlow::Continue(())
    }
}
