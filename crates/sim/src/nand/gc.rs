//! The steps of garbage collection on a die: which comes next, and how long it takes.
//!
//! With copyback, and where no operation may go between, all of it is one array time, as on every die that serves in
//! order. Otherwise each flash page is a step: read into the register, out over the bus to the controller and back
//! (without copyback), and programmed; the erases come last.

use super::array_time::ArrayTime;
use super::operation::Gc;
use super::{Geometry, Timing};
use crate::config::DriveConfig;
use flashlane_base::Duration;

/// The step of GC that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GcStep {
    /// Everything at once: no step can be interrupted or needs the bus.
    Whole,
    /// A flash page is read, and programmed too where the flash copies back.
    Move,
    /// A flash page goes out over the bus and in again.
    Bus,
    /// A flash page is programmed.
    Program,
    /// The blocks are erased.
    Erase,
}

/// The properties of a profile that decide the steps.
#[derive(Clone, Copy)]
pub(super) struct GcStepRules {
    /// Whether the flash moves a page without the bus.
    pub(super) copyback: bool,
    /// Whether operations of better rank go between two steps.
    pub(super) preemptible: bool,
    /// Mapping units that are programmed at once.
    pub(super) units_per_program: u32,
    pub(super) unit_bytes: u64,
}

impl GcStepRules {
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Self {
        Self {
            copyback: config.flash.copyback,
            preemptible: config.cleaning.preemptible,
            units_per_program: geometry.units_per_program,
            unit_bytes: geometry.page_part_bytes(),
        }
    }

    /// Mapping units that GC with `moves` of them left moves next: those that are programmed as one.
    fn units_at_once(&self, moves: u32) -> u32 {
        moves.min(self.units_per_program)
    }

    /// Flash pages that are sensed for the units that are moved next: the share of those left.
    fn pages_at_once(&self, gc: &Gc) -> u32 {
        let share = u64::from(gc.pages_read) * u64::from(self.units_at_once(gc.moves));
        share.div_ceil(u64::from(gc.moves.max(1))) as u32
    }

    /// The array time of all GC that is left, with copyback.
    pub(super) fn whole(&self, gc: &Gc, timing: &Timing) -> ArrayTime {
        debug_assert!(self.copyback, "without it, units go over the bus");
        let programs = timing.program * u64::from(gc.moves.div_ceil(self.units_per_program));
        let end = end(gc, timing);
        let read = timing.reading(gc.moved_from) * u64::from(gc.pages_read);
        ArrayTime { read, program: programs + end.program, ..end }
    }

    /// The first or next step of GC and its array time. `deferrable`: the host's operations may go between steps.
    pub(super) fn next(&self, gc: &Gc, deferrable: bool, timing: &Timing) -> (GcStep, ArrayTime) {
        if self.copyback && !self.preemptible && !deferrable {
            (GcStep::Whole, self.whole(gc, timing))
        } else if gc.moves == 0 {
            (GcStep::Erase, end(gc, timing))
        } else {
            let read = timing.reading(gc.moved_from) * u64::from(self.pages_at_once(gc));
            let program = if self.copyback { timing.program } else { Duration::ZERO };
            (GcStep::Move, ArrayTime { program, ..ArrayTime::of_read(read) })
        }
    }

    /// How long the units that are moved next, on each plane, take out of the register into the controller, and back.
    pub(super) fn bus_time(&self, gc: &Gc, timing: &Timing) -> Duration {
        timing.bus(self.unit_bytes) * 2 * u64::from(self.units_at_once(gc.moves)) * u64::from(gc.planes)
    }

    /// A flash page was moved. Returns whether this ends GC: a paced step that moves no more and erases nothing.
    pub(super) fn page_moved(&self, gc: &mut Gc) -> bool {
        gc.pages_read -= self.pages_at_once(gc);
        gc.moves -= self.units_at_once(gc.moves);
        gc.is_paced_step && gc.moves + gc.summaries + gc.erases == 0
    }
}

/// The last step of GC. When the summaries are written is left open: with the erase, where steps are apart.
fn end(gc: &Gc, timing: &Timing) -> ArrayTime {
    ArrayTime {
        program: timing.summary * u64::from(gc.summaries),
        erase: timing.erase * u64::from(gc.erases),
        ..ArrayTime::default()
    }
}

#[cfg(test)]
mod tests;
