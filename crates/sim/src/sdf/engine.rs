//! A channel's engine: which block of each plane a unit has, which blocks spare ones are, and which are bad.
//!
//! The map is of units to blocks, one a plane, any good block of that plane. An erase is when a unit may change its
//! blocks: of its own and the plane's spares it gets the least worn, as the wear policy has it, and what it leaves is a
//! spare (sdf14, section 2.1: dynamic wear leveling; none of data that stays, section 2.2). A block that fails, by wear
//! or at random, is never used again, and a spare replaces it; where the plane has none left, the unit is lost, and
//! its blocks on other planes become their spares.

use super::shape::Shape;
use crate::config::{DriveConfig, Share};
use crate::ids::{LaneUnit, PlaneId, PlaneOfLane};
use crate::nand::{Geometry, endurances, good_blocks};
use flashlane_base::{Random, Seed};
use flashlane_policy::wear::Wear;
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
        let policy = config.policies.wear.build(&config.wear.policy, &config.wear.options.options());
        let wear: Arc<dyn Wear> = policy.expect("validation built every policy once").into();
        let blocks = geometry.blocks_per_plane as usize;
        let limits = endurances(&config.flash, geometry.planes as usize * blocks, seed);
        let engine = |lane: u32| {
            let mut map = vec![NONE; (shape.units * shape.planes) as usize];
            let good: Vec<Vec<u32>> = (0..shape.planes)
                .map(|plane| good_blocks(&geometry, PlaneId(lane * shape.planes + plane), seed))
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
    pub(super) fn has(&self, unit: LaneUnit) -> bool {
        self.map[unit.index() * self.planes.len()] != NONE
    }

    /// The share of its endurance that a unit's block on a plane has used, 1 where endurance is unlimited.
    pub(super) fn wear_of(&self, unit: LaneUnit, plane: PlaneOfLane) -> f64 {
        let block = self.map[unit.index() * self.planes.len() + plane.index()];
        self.planes[plane.index()].wear_of(block)
    }

    /// Erases a unit, perhaps on other blocks than before. `times` gets for each plane how often a block of it was
    /// erased: once, and once more for each that failed.
    pub(super) fn erase(&mut self, unit: LaneUnit, times: &mut Vec<u32>) -> Result<(), Lost> {
        times.clear();
        let first = unit.index() * self.planes.len();
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

    /// Draws at random whether a program of the unit, which is about to be written, will fail: at which row, and on
    /// which plane. No more than one does.
    pub(super) fn failing_program(&mut self, unit: LaneUnit, rows: u32) -> Option<(u32, PlaneOfLane)> {
        if self.write_failures.0 == 0.0 {
            return None;
        }
        (0..self.planes.len() as u32).map(PlaneOfLane).find_map(|plane| {
            let chance = self.write_failures.0 * self.wear_of(unit, plane);
            self.random.chance(chance).then(|| (self.random.below(u64::from(rows)) as u32, plane))
        })
    }

    /// A program failed: a spare replaces the unit's block on that plane. Returns the number of erases that this took.
    pub(super) fn replace(&mut self, unit: LaneUnit, plane: PlaneOfLane) -> Result<u32, Lost> {
        self.counts.failed += 1;
        let (block, erased) = self.take(plane.index());
        self.map[unit.index() * self.planes.len() + plane.index()] = block.unwrap_or(NONE);
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
    fn lose(&mut self, unit: LaneUnit) {
        self.counts.lost += 1;
        let first = unit.index() * self.planes.len();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::load;
    use std::collections::BTreeSet;

    /// One lane of two chips of two planes, 24 units and 32 blocks a plane.
    fn engine(settings: &[(&str, &str)]) -> (Engine, Shape) {
        let all = [
            ("capacity", "384KiB"),
            ("flash.channels", "1"),
            ("flash.blocks", "32"),
            ("flash.pages", "4"),
            ("flash.page", "1KiB"),
            ("lanes.stripe", "4KiB"),
            ("lanes.read_unit", "1KiB"),
            ("flash.factory_bad", "6%"),
        ];
        let all: Vec<(String, String)> =
            all.iter().chain(settings).map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let config = load("sdf", &all).unwrap_or_else(|error| panic!("{error}"));
        let shape = Shape::new(&config);
        (Engine::all(&config, &shape, Seed(3)).remove(0), shape)
    }

    /// What must hold at any time: on each plane a good block is some unit's or spare, and once only; what failed is
    /// neither.
    fn check(engine: &Engine, failed: &mut [BTreeSet<u32>]) {
        for (plane, state) in engine.planes.iter().enumerate() {
            let mapped = engine.map.iter().skip(plane).step_by(4).copied().filter(|&block| block != NONE);
            let all: Vec<u32> = mapped.chain(state.spares.iter().copied()).collect();
            let good: BTreeSet<u32> = all.iter().copied().collect();
            assert_eq!(good.len(), all.len(), "no block is used twice");
            assert!(good.is_disjoint(&failed[plane]), "what failed is not used again");
            failed[plane] = (0..32).filter(|block| !good.contains(block)).collect();
        }
    }

    #[test]
    fn blocks_are_used_to_the_last_spare_and_never_after_a_failure() {
        for settings in [
            &[("flash.endurance", "30"), ("flash.endurance_spread", "30%")][..],
            &[("lanes.erase_failures", "10%"), ("flash.endurance", "200")],
            &[("lanes.write_failures", "30%"), ("flash.endurance", "100"), ("wear.policy", "none")],
        ] {
            let (mut engine, shape) = engine(settings);
            let mut random = Seed(4).source();
            let mut failed = vec![BTreeSet::new(); 4];
            check(&engine, &mut failed);
            let mut times = Vec::new();
            for _ in 0..3000 {
                let unit = LaneUnit(random.below(u64::from(shape.units)) as u32);
                if !engine.has(unit) {
                    continue;
                }
                let spares: Vec<usize> = engine.planes.iter().map(|plane| plane.spares.len()).collect();
                let lost = match engine.erase(unit, &mut times) {
                    Err(Lost) => true,
                    Ok(()) => match engine.failing_program(unit, shape.rows) {
                        Some((row, plane)) => {
                            assert!(row < shape.rows);
                            engine.replace(unit, plane).is_err()
                        }
                        None => false,
                    },
                };
                check(&engine, &mut failed);
                assert_eq!(engine.has(unit), !lost);
                if lost {
                    // A plane ran out; each of its spares had its turn.
                    let used = |plane: usize| times[plane] as usize >= spares[plane];
                    assert!((0..4).any(used), "{times:?} erases over {spares:?} spares");
                }
            }
            let counts = engine.counts();
            assert!(counts.failed > 0 && counts.lost > 0, "{settings:?}: {counts:?}");
            let bad: usize = failed.iter().map(BTreeSet::len).sum();
            assert_eq!(counts.failed, bad as u64 - 8, "two blocks a plane were bad from the start");
        }
    }

    #[test]
    fn erases_are_spread_over_the_blocks() {
        let spread = |skew: f64, settings: &[(&str, &str)]| {
            let (mut engine, shape) = engine(settings);
            let mut random = Seed(5).source();
            for _ in 0..20_000 {
                // A tenth of the units, or any.
                let among = if random.chance(skew) { shape.units / 10 } else { shape.units };
                let unit = LaneUnit(random.below(u64::from(among)) as u32);
                engine.erase(unit, &mut Vec::new()).unwrap();
            }
            engine.wear_spread()
        };
        let unlimited = [
            ("flash.endurance_spread", "0%"),
            ("lanes.erase_failures", "0%"),
            ("flash.endurance", "1000000"),
        ];
        let mean = 20_000 / 30;
        let (least, most) = spread(0.0, &unlimited);
        assert!(most - least < mean / 10, "erased at random, blocks differ by {least} to {most}");
        // Two units are erased nine times of ten: their blocks and the six spares of each plane share that. Data that
        // stays keeps its blocks, since nothing moves it.
        let (_, most) = spread(0.9, &unlimited);
        assert!(most < 20_000 * 9 / 10 / 8 * 11 / 10, "under skew one block has {most} erases");
        let none = [&unlimited[..], &[("wear.policy", "none")]].concat();
        let (_, unleveled) = spread(0.9, &none);
        assert!(unleveled > 3 * most, "{most} with leveling, {unleveled} without");
    }
}
