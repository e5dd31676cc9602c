//! Dies that have nothing to do for a while are given garbage collection.

use crate::config::DriveConfig;
use crate::event::{Event, Ticket, Timer};
use crate::ids::DieId;
use crate::kernel::Kernel;
use crate::nand::Geometry;
use flashlane_base::Duration;

/// The timers of idle dies. Invariant: a die has one while it is idle and was not given work since.
pub(super) struct IdleDies {
    after: Duration,
    timers: Vec<Timer>,
}

impl IdleDies {
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Self {
        Self { after: config.cleaning.idle.0, timers: vec![Timer::STOPPED; geometry.dies as usize] }
    }

    /// If `die` is idle, starts its timer.
    pub(super) fn watch<S>(&mut self, kernel: &mut Kernel<S>, die: DieId) {
        self.timers[die.index()] = match kernel.flash().is_idle(die, kernel.now()) {
            true => kernel.start_timer(self.after, Event::DieIdle(die)),
            false => Timer::STOPPED,
        };
    }

    /// Whether an event ends the timer of `die`; see [`Timer::ends`].
    pub(super) fn claims_timer(&mut self, die: DieId, ticket: Ticket) -> bool {
        self.timers[die.index()].ends(ticket)
    }
}
