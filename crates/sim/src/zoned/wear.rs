//! Wear of zones: how often each was reset, when its blocks fail, and whether a program of it will.
//!
//! A zone that cannot be erased is offline. One of which a program fails is read-only: what was written before stays.

use super::shape::ZoneId;
use crate::config::{DriveConfig, Share, ZonesConfig};
use crate::nand::endurances;
use flashlane_base::{Random, Seed};

#[derive(Clone, Debug)]
pub(super) struct Wear {
    /// By zone.
    erases: Vec<u32>,
    /// The erase count at which each zone's weakest block fails; empty where blocks never do.
    limits: Vec<u32>,
    write_failures: Share,
    random: Random,
}

impl Wear {
    pub(super) fn new(config: &DriveConfig, zones: &ZonesConfig, count: u32, seed: Seed) -> Self {
        Self {
            erases: vec![0; count as usize],
            limits: endurances(&config.flash, count as usize, seed),
            write_failures: zones.write_failures,
            random: seed.derive("failing zones").source(),
        }
    }

    /// The share of its endurance that a zone has used, 1 where endurance is unlimited.
    pub(super) fn of(&self, zone: ZoneId) -> f64 {
        let erases = f64::from(self.erases[zone.index()]);
        self.limits.get(zone.index()).map_or(1.0, |&limit| erases / f64::from(limit))
    }

    /// The blocks of a zone are erased. Returns false where that fails.
    pub(super) fn erase(&mut self, zone: ZoneId) -> bool {
        let erases = &mut self.erases[zone.index()];
        *erases += 1;
        self.limits.get(zone.index()).is_none_or(|&limit| *erases < limit)
    }

    /// Draws at random which of the next `programs` of a zone will fail, which is written from its start; no more than
    /// one does.
    pub(super) fn failing_program(&mut self, zone: ZoneId, programs: u64) -> Option<u32> {
        let chance = self.write_failures.0 * self.of(zone);
        let fails = chance > 0.0 && self.random.chance(chance);
        fails.then(|| self.random.below(programs) as u32)
    }
}
