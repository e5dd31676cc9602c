//! What both schedulers know of the flash: how long its operations take, where its planes are, and what was counted.

use super::array_time::ArrayTime;
use super::operation::{FlashOperation, Owner, Work};
use super::{Geometry, Timing};
use crate::config::DriveConfig;
use crate::divisor::Divisor;
use crate::energy::{EnergyMeter, Use};
use crate::ids::{DieId, PlaneId};
use flashlane_base::{Duration, Instant, Seed};

/// What the flash counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounters {
    /// Mapping units read, GC's not included.
    pub reads: u64,
    /// Mapping units programmed by [`Work::Program`], for whatever owner; those moved by [`Work::Gc`] are not included.
    pub programs: u64,
    /// Array times of several planes of a die: each is one, however many planes, mapping units or operations of the
    /// host it serves.
    pub multi_plane: u64,
    /// Programs and erases suspended for a read.
    pub suspends: u64,
    /// Nanoseconds that arrays were busy, summed over dies.
    pub array_busy_ns: u64,
    /// Nanoseconds that buses were busy, summed over channels.
    pub bus_busy_ns: u64,
}

impl FlashCounters {
    /// The counters that every drive has, under the names that results have.
    pub(crate) fn list(&self) -> [(&'static str, u64); 4] {
        [
            ("multi_plane_operations", self.multi_plane),
            ("program_erase_suspends", self.suspends),
            ("array_busy_ns", self.array_busy_ns),
            ("bus_busy_ns", self.bus_busy_ns),
        ]
    }
}

/// The flash of a drive, without what it is doing.
#[derive(Clone)]
pub(super) struct Media {
    timing: Timing,
    planes_per_die: Divisor,
    counters: FlashCounters,
    meter: Option<Box<EnergyMeter>>,
}

impl Media {
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        Self {
            timing: Timing::new(config, seed),
            planes_per_die: Divisor::new(geometry.planes_per_die),
            counters: FlashCounters::default(),
            meter: EnergyMeter::new(config),
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

    /// An array time of `planes` planes begins that nominally takes `nominal`. Returns how long it takes; its time and
    /// energy are counted.
    #[inline]
    pub(super) fn run_array(
        &mut self,
        nominal: ArrayTime,
        planes: impl FnOnce() -> u64,
        from: Instant,
    ) -> Duration {
        let time = self.timing.array(nominal.total());
        self.counters.array_busy_ns += time.as_ns();
        if let Some(meter) = &mut self.meter {
            nominal.charge(meter, planes(), time, (from, from + time));
        }
        time
    }

    /// A transfer of `time` over a bus begins; likewise.
    #[inline]
    pub(super) fn run_bus(&mut self, time: Duration, from: Instant) {
        self.counters.bus_busy_ns += time.as_ns();
        if let Some(meter) = &mut self.meter {
            meter.charge(Use::Bus, 1, time, (from, from + time));
        }
    }

    /// The energy meter, where the profile states powers.
    pub(super) fn meter(&self) -> Option<&EnergyMeter> {
        self.meter.as_deref()
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
    pub(super) fn finish(&mut self, operation: &FlashOperation, finished: &mut Vec<FlashOperation>) {
        match &operation.work {
            // Those of GC are counted by the translation layer.
            Work::Read(_) if matches!(operation.owner, Owner::None | Owner::Gc | Owner::IdleGc) => {}
            Work::Read(read) => self.counters.reads += u64::from(read.reads),
            Work::Program(program) => self.counters.programs += u64::from(program.programs),
            Work::Gc(_) | Work::Erase(_) => {}
        }
        if operation.owner.waits() {
            finished.push(*operation);
        }
    }
}
