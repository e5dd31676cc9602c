//! What both schedulers know of the flash: how long its operations take, where its planes are, and what was counted.

use super::operation::{FlashCounters, Operation, Owner, Work};
use super::{Geometry, Timing};
use crate::config::DriveConfig;
use crate::divisor::Divisor;
use crate::ids::{DieId, PlaneId};
use flashlane_base::{Duration, Seed};

/// The flash of a drive, without what it is doing.
#[derive(Clone)]
pub(super) struct Media {
    timing: Timing,
    planes_per_die: Divisor,
    counters: FlashCounters,
}

impl Media {
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        Self {
            timing: Timing::new(config, seed),
            planes_per_die: Divisor::new(geometry.planes_per_die),
            counters: FlashCounters::default(),
        }
    }

    #[inline]
    pub(super) fn timing(&self) -> &Timing {
        &self.timing
    }

    #[inline]
    pub(super) fn die_of(&self, plane: PlaneId) -> DieId {
        DieId(self.planes_per_die.of(plane.0))
    }

    pub(super) fn counters(&self) -> FlashCounters {
        self.counters
    }

    /// How long an array time takes that nominally takes `nominal`; it is counted.
    #[inline]
    pub(super) fn array_time(&mut self, nominal: Duration) -> Duration {
        let time = self.timing.array(nominal);
        self.counters.array_busy_ns += time.as_ns();
        time
    }

    /// Counts `time` of a bus.
    #[inline]
    pub(super) fn count_bus(&mut self, time: Duration) {
        self.counters.bus_busy_ns += time.as_ns();
    }

    /// Counts an array time of several planes.
    #[inline]
    pub(super) fn count_multi_plane(&mut self) {
        self.counters.multi_plane += 1;
    }

    pub(super) fn count_suspend(&mut self) {
        self.counters.suspends += 1;
    }

    /// An operation is finished: it is counted, and appended to `finished` where something waits for it.
    #[inline]
    pub(super) fn finish(&mut self, operation: &Operation, finished: &mut Vec<Operation>) {
        match &operation.work {
            // Those of GC are counted by the translation layer.
            Work::Read(_) if matches!(operation.owner, Owner::None | Owner::Gc | Owner::IdleGc) => {}
            Work::Read(read) => self.counters.reads += u64::from(read.units),
            Work::Program(program) => self.counters.programs += u64::from(program.units),
            Work::Gc(_) | Work::Erase(_) => {}
        }
        if operation.owner.waits() {
            finished.push(*operation);
        }
    }
}
