//! The accesses of a die, and how long copies that are written there are in their way.

use crate::event::Timer;
use flashlane_base::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) struct DieAccesses {
    /// Accesses so far, those of copies not counted.
    pub(super) used: u64,
    /// The timer of the next copy.
    pub(super) copy_timer: Timer,
    /// Whether a copy is being written.
    is_copying: bool,
    /// Since when another access waits for that.
    waited_since: Option<Instant>,
}

impl DieAccesses {
    pub(super) fn new() -> Self {
        Self { used: 0, copy_timer: Timer::STOPPED, is_copying: false, waited_since: None }
    }

    /// An access that is no copy's will be queued.
    pub(super) fn access(&mut self, now: Instant) {
        self.used += 1;
        if self.is_copying {
            self.waited_since.get_or_insert(now);
        }
    }

    pub(super) fn copy_begins(&mut self) {
        self.is_copying = true;
    }

    /// A copy is written. Returns for how long other accesses waited for it.
    pub(super) fn copy_ended(&mut self, now: Instant) -> Duration {
        self.is_copying = false;
        self.waited_since.take().map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Power is cut: nothing is under way any more.
    pub(super) fn cut_power(&mut self) {
        *self = Self { used: self.used, ..Self::new() };
    }
}
