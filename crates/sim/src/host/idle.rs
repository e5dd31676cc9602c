//! When the host counts as idle: it has had nothing in flight for a while.

use crate::event::Ticket;
use flashlane_base::Duration;

/// The timer of an idle host. Invariant: while requests are in flight no timer runs and the host is not idle.
#[derive(Clone)]
pub(crate) struct HostIdle {
    /// How long after the last completion; `None` where the drive does nothing then.
    after: Option<Duration>,
    timer: Ticket,
    idle: bool,
}

impl HostIdle {
    pub(crate) fn new(after: Option<Duration>) -> Self {
        Self { after, timer: Ticket::NONE, idle: false }
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
        (self.idle, self.timer) = (false, Ticket::NONE);
    }

    /// How long the timer has to run now that nothing is in flight.
    #[inline]
    pub(crate) fn starts_after(&self) -> Option<Duration> {
        self.after
    }

    pub(crate) fn started(&mut self, timer: Ticket) {
        debug_assert!(!self.idle, "an idle host has nothing to complete");
        self.timer = timer;
    }

    /// The timer with this ticket ends. Returns whether it is the one that runs.
    pub(crate) fn ended(&mut self, timer: Ticket) -> bool {
        let ends = timer == self.timer;
        self.idle |= ends;
        ends
    }
}
