//! When the host counts as idle: it has had nothing in flight for a while.

use crate::event::{Ticket, Timer};
use flashlane_base::Duration;

/// The timer of an idle host. Invariant: while requests are in flight no timer runs and the host is not idle.
#[derive(Clone)]
pub(crate) struct HostIdle {
    /// How long after the last completion; `None` where the drive does nothing then.
    after: Option<Duration>,
    timer: Timer,
    idle: bool,
}

impl HostIdle {
    pub(crate) fn new(after: Option<Duration>) -> Self {
        Self { after, timer: Timer::STOPPED, idle: false }
    }

    /// The timer after a power cut, with the same setting.
    pub(crate) fn restarted(&self) -> Self {
        Self::new(self.after)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }

    /// The host sends a request.
    #[inline]
    pub(crate) fn request_accepted(&mut self) {
        (self.idle, self.timer) = (false, Timer::STOPPED);
    }

    /// How long the timer has to run now that nothing is in flight.
    #[inline]
    pub(crate) fn starts_after(&self) -> Option<Duration> {
        self.after
    }

    pub(crate) fn started(&mut self, timer: Timer) {
        debug_assert!(!self.idle, "an idle host has nothing to complete");
        self.timer = timer;
    }

    /// Whether an event ends the timer, so that the host is idle; see [`Timer::ends`].
    pub(crate) fn claims_timer(&mut self, ticket: Ticket) -> bool {
        let ends = self.timer.ends(ticket);
        self.idle |= ends;
        ends
    }
}
