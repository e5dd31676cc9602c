//! A channel's engine: which block of each plane a unit has, which blocks spare ones are, and which are bad.
//!
//! The map is of units to blocks, one a plane, any good block of that plane. An erase is when a unit may change its
//! blocks: of its own and the plane's spares it gets the least worn, as the wear policy has it, and what it leaves is a
//! spare (sdf14, section 2.1: dynamic wear leveling; none of data that stays, section 2.2). A block that fails, by wear
//! or by lot, is never used again, and a spare takes its place; where the plane has none left, the unit is lost, and
//! its blocks on other planes become their spares.

use super::shape::Shape;
use crate::config::{DriveConfig, Share};
use crate::nand::{Geometry, endurances, good_blocks};
use flashlane_base::{Random, Seed};
use flashlane_policy::wear::{self, Wear};
use std::sync::Arc;

/// No spare block was left in the place of one that failed: the unit is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost;

/// What the engine of a channel knows.
#[derive(Clone)]
pub(super) struct Engine {
    /// By unit, then plane.
    map: Vec<u32>,
    planes: Vec<Plane>,
    wear: Arc<dyn Wear>,
    erase_failures: Share,
    write_failures: Share,
    random: Random,
    counts: EngineCounts,
}

/// What an engine counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EngineCounts {
    /// Blocks erased.
    pub(super) erases: u64,
    /// Blocks that failed.
    pub(super) failed: u64,
    /// Units lost.
    pub(super) lost: u64,
}

/// One plane of a channel.
#[derive(Clone)]
struct Plane {
    /// By block.
    erases: Vec<u32>,
    /// The erase count at which each block fails; empty where blocks never do.
    limits: Arc<[u32]>,
    /// Good blocks that no unit has, longest spare first.
    spares: Vec<u32>,
}

/// No block: of units that are lost.
const NONE: u32 = u32::MAX;

impl Engine {
    /// The engine of each channel, with the first units on the first good blocks; where a plane has fewer of them than
    /// there are units, the last units are lost from the start. Requires: `config` is validated and has lanes.
    pub(super) fn all(config: &DriveConfig, shape: &Shape, seed: Seed) -> Vec<Self> {
        let geometry = Geometry::new(config);
        let lanes = config.lanes.as_ref().expect("only drives with lanes have channel engines");
        let policy = wear::build(&config.wear.policy, &config.wear.options.options());
        let wear: Arc<dyn Wear> = policy.expect("validation built every policy once").into();
        let blocks = geometry.blocks as usize;
        let limits = endurances(&config.flash, geometry.planes as usize * blocks, seed);
        let engine = |lane: u32| {
            let mut map = vec![NONE; (shape.units * shape.planes) as usize];
            let good: Vec<Vec<u32>> = (0..shape.planes)
                .map(|plane| good_blocks(&geometry, lane * shape.planes + plane, seed))
                .collect();
            let least = good.iter().map(Vec::len).min().unwrap_or(0);
            let units = least.min(shape.units as usize);
            let mut planes = Vec::new();
            for (plane, good) in good.iter().enumerate() {
                for (unit, &block) in good[..units].iter().enumerate() {
                    map[unit * shape.planes as usize + plane] = block;
                }
                let at = (lane * shape.planes) as usize + plane;
                let limits = limits.get(at * blocks..(at + 1) * blocks).unwrap_or(&[]);
                planes.push(Plane {
                    erases: vec![0; blocks],
                    limits: limits.into(),
                    spares: good[units..].to_vec(),
                });
            }
            Self {
                map,
                planes,
                wear: wear.clone(),
                erase_failures: lanes.erase_failures,
                write_failures: lanes.write_failures,
                random: seed.derive_nth("failing blocks", u64::from(lane)).source(),
                counts: EngineCounts { lost: u64::from(shape.units) - units as u64, ..Default::default() },
            }
        };
        (0..geometry.channels).map(engine).collect()
    }

    /// What was counted so far; units that were lost from the start included.
    pub(super) fn counts(&self) -> EngineCounts {
        self.counts
    }

    /// Spare blocks of the plane that has the fewest.
    pub(super) fn least_spares(&self) -> u32 {
        self.planes.iter().map(|plane| plane.spares.len() as u32).min().unwrap_or(0)
    }

    /// Least and largest erase count of the blocks that are in use or spare.
    pub(super) fn wear_spread(&self) -> (u32, u32) {
        let in_use = self.map.iter().enumerate().filter(|&(_, &block)| block != NONE);
        let in_use = in_use.map(|(at, &block)| (at % self.planes.len(), block));
        let spare = self.planes.iter().enumerate();
        let spare = spare.flat_map(|(plane, state)| state.spares.iter().map(move |&block| (plane, block)));
        let erases = in_use.chain(spare).map(|(plane, block)| self.planes[plane].erases[block as usize]);
        erases.fold((u32::MAX, 0), |(least, most), erases| (least.min(erases), most.max(erases)))
    }

    /// Whether a unit has its blocks.
    pub(super) fn has(&self, unit: u32) -> bool {
        self.map[unit as usize * self.planes.len()] != NONE
    }

    /// The share of its endurance that a unit's block on a plane has used, 1 where endurance is unlimited.
    pub(super) fn wear_of(&self, unit: u32, plane: u32) -> f64 {
        let block = self.map[unit as usize * self.planes.len() + plane as usize];
        self.planes[plane as usize].wear_of(block)
    }

    /// Erases a unit, perhaps on other blocks than before. `times` gets for each plane how often a block of it was
    /// erased: once, and once more for each that failed.
    pub(super) fn erase(&mut self, unit: u32, times: &mut Vec<u32>) -> Result<(), Lost> {
        times.clear();
        let first = unit as usize * self.planes.len();
        let mut outcome = Ok(());
        for plane in 0..self.planes.len() {
            let state = &mut self.planes[plane];
            // Its own block is offered first: it stays where no other is better.
            state.spares.insert(0, self.map[first + plane]);
            let (block, erased) = self.take(plane);
            self.map[first + plane] = block.unwrap_or(NONE);
            outcome = outcome.and(block.map(drop).ok_or(Lost));
            times.push(erased);
        }
        if outcome.is_err() {
            self.lose(unit);
        }
        outcome
    }

    /// Draws by lot whether a program of the unit, which is about to be written, will fail: at which row, and on which
    /// plane. No more than one does.
    pub(super) fn failing_program(&mut self, unit: u32, rows: u32) -> Option<(u32, u32)> {
        if self.write_failures.0 == 0.0 {
            return None;
        }
        (0..self.planes.len() as u32).find_map(|plane| {
            let chance = self.write_failures.0 * self.wear_of(unit, plane);
            self.random.chance(chance).then(|| (self.random.below(u64::from(rows)) as u32, plane))
        })
    }

    /// A program failed: a spare takes the place of the unit's block on that plane. Gives the erases that took.
    pub(super) fn replace(&mut self, unit: u32, plane: u32) -> Result<u32, Lost> {
        self.counts.failed += 1;
        let (block, erased) = self.take(plane as usize);
        self.map[unit as usize * self.planes.len() + plane as usize] = block.unwrap_or(NONE);
        if block.is_none() {
            self.lose(unit);
        }
        block.map(|_| erased).ok_or(Lost)
    }

    /// Takes a spare block and erases it, and others for as long as they fail by it; and how often it erased.
    fn take(&mut self, plane: usize) -> (Option<u32>, u32) {
        let state = &mut self.planes[plane];
        let mut erased = 0;
        while !state.spares.is_empty() {
            let block = state.spares.remove(self.wear.next_free(&state.spares, &state.erases));
            erased += 1;
            self.counts.erases += 1;
            state.erases[block as usize] += 1;
            let worn = state.limits.get(block as usize).is_some_and(|&at| state.erases[block as usize] >= at);
            let chance = self.erase_failures.0;
            let fails = worn || chance > 0.0 && self.random.chance(chance * state.wear_of(block));
            if !fails {
                return (Some(block), erased);
            }
            self.counts.failed += 1;
        }
        (None, erased)
    }

    /// The good blocks of a lost unit become spares.
    fn lose(&mut self, unit: u32) {
        self.counts.lost += 1;
        let first = unit as usize * self.planes.len();
        for (plane, block) in self.planes.iter_mut().zip(&mut self.map[first..]) {
            let block = std::mem::replace(block, NONE);
            if block != NONE {
                plane.spares.push(block);
            }
        }
    }
}

impl Plane {
    fn wear_of(&self, block: u32) -> f64 {
        let erases = f64::from(self.erases[block as usize]);
        self.limits.get(block as usize).map_or(1.0, |&limit| erases / f64::from(limit))
    }
}
