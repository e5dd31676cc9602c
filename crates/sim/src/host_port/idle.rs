//! When the host counts as idle: it has had nothing in flight for a while.

use crate::config::DriveConfig;
use crate::event::{IdleWork, Ticket, Timer};
use flashlane_base::Duration;

/// The timers of an idle host. Invariant: while requests are in flight no timer runs and the host is not idle.
#[derive(Clone)]
pub(crate) struct HostIdle {
    /// By the number of the work.
    works: [Work; 2],
}

#[derive(Clone)]
struct Work {
    /// How long after the last completion; `None` where the drive does not do this.
    after: Option<Duration>,
    timer: Timer,
    idle: bool,
}

impl Work {
    fn new(after: Option<Duration>) -> Self {
        Self { after, timer: Timer::STOPPED, idle: false }
    }
}

impl HostIdle {
    pub(crate) fn new(config: &DriveConfig) -> Self {
        let drain = config.buffer.as_ref().and_then(|buffer| buffer.idle_drain);
        let folds = config.slc.as_ref().is_some_and(|slc| slc.fold.is_when_idle());
        let after = |work| match work {
            IdleWork::DrainBuffer => drain.map(|time| time.0),
            IdleWork::FoldCache => folds.then_some(config.cleaning.idle.0),
        };
        Self { works: IdleWork::ALL.map(|work| Work::new(after(work))) }
    }

    /// The timers after a power cut, with the same settings.
    pub(crate) fn restarted(&self) -> Self {
        Self { works: self.works.each_ref().map(|work| Work::new(work.after)) }
    }

    /// Whether the host has been idle for the time after which the drive does this.
    pub(crate) fn is_idle(&self, work: IdleWork) -> bool {
        self.works[work as usize].idle
    }

    /// The host sends a request.
    #[inline]
    pub(crate) fn request_accepted(&mut self) {
        for work in &mut self.works {
            (work.idle, work.timer) = (false, Timer::STOPPED);
        }
    }

    /// How long the timer of this work has to run now that nothing is in flight.
    #[inline]
    pub(crate) fn starts_after(&self, work: IdleWork) -> Option<Duration> {
        self.works[work as usize].after
    }

    pub(crate) fn started(&mut self, work: IdleWork, timer: Timer) {
        let work = &mut self.works[work as usize];
        debug_assert!(!work.idle, "an idle host has nothing to complete");
        work.timer = timer;
    }

    /// Whether an event ends the timer of this work, so that the host is idle; see [`Timer::ends`].
    pub(crate) fn claims_timer(&mut self, work: IdleWork, ticket: Ticket) -> bool {
        let work = &mut self.works[work as usize];
        let ends = work.timer.ends(ticket);
        work.idle |= ends;
        ends
    }
}
