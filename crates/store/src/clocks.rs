//! Two devices, two clocks.
//!
//! Simulated devices own a virtual clock each. Both report the time of their next event
//! ([`Device::next_event`](flashlane_device::Device::next_event)): the store steps both to the earlier of the two,
//! handles what completes there, and only then goes on. So each completion is handled at its time, what follows from it
//! is submitted at that time on either device, and a run is a function of its inputs.
//!
//! Real devices share the machine's clock and report no events. With requests in flight on one of them the store waits
//! there; with requests on both it waits for the descriptors of both, and spins on neither. Where a device has no
//! descriptor, it waits on each in turn for [`TURN`], so that a completion is seen at most that much later.

use flashlane_base::{Duration, Instant};
use flashlane_device::Readiness;

/// Longest wait on one of two real devices.
pub(crate) const TURN: Duration = Duration::from_us(50);

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing is in flight, and there is no time to wait for.
    Idle,
    /// Step both devices to this time.
    Both(Instant),
    /// Wait on the blocks' device until this time.
    Blocks(Instant),
    /// Wait on the log's device until this time.
    Log(Instant),
    /// Wait on both real devices until this time.
    Either(Instant),
}

/// A device as the choice of the next step sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Instant,
    pub(crate) next_event: Option<Instant>,
    pub(crate) is_idle: bool,
}

/// Returns the next step on the way to `until`.
pub(crate) fn next_step(blocks: Clock, log: Clock, until: Instant) -> Step {
    if let (Some(a), Some(b)) = (blocks.next_event, log.next_event) {
        // An idle device may have internal events; they are no reason to go on without end.
        if blocks.is_idle && log.is_idle && until == Instant::FAR {
            return Step::Idle;
        }
        let next = a.min(b).min(until);
        return Step::Both(next.max(blocks.now).max(log.now));
    }
    match (blocks.is_idle, log.is_idle) {
        (true, true) if until == Instant::FAR => Step::Idle,
        (_, true) => Step::Blocks(until),
        (true, false) => Step::Log(until),
        (false, false) => Step::Either(until),
    }
}

/// How two real devices are waited on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For one of these descriptors to be readable; where there are none, not at all.
    Readable(Vec<i32>),
    /// On one device after the other, as long as a slice.
    InTurn,
}

/// Returns how devices with requests in flight are waited on that have said this of themselves.
pub(crate) fn wait_of(blocks: Readiness, log: Readiness) -> Wait {
    match (blocks, log) {
        (Readiness::Descriptor(blocks), Readiness::Descriptor(log)) => Wait::Readable(vec![blocks, log]),
        (Readiness::Ready, _) | (_, Readiness::Ready) => Wait::Readable(Vec::new()),
        (Readiness::Unknown, _) | (_, Readiness::Unknown) => Wait::InTurn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(now: u64, next_event: Option<u64>, is_idle: bool) -> Clock {
        Clock { now: Instant::from_ns(now), next_event: next_event.map(Instant::from_ns), is_idle }
    }

    #[test]
    fn simulated_devices_go_to_the_earlier_event() {
        let at = Instant::from_ns;
        let (a, b) = (clock(5, Some(9), false), clock(5, Some(7), false));
        assert_eq!(next_step(a, b, Instant::FAR), Step::Both(at(7)));
        assert_eq!(next_step(a, b, at(6)), Step::Both(at(6)));
        let idle = clock(5, Some(u64::MAX), true);
        assert_eq!(next_step(idle, idle, Instant::FAR), Step::Idle);
        assert_eq!(next_step(idle, idle, at(20)), Step::Both(at(20)));
        // A clock that lags behind catches up.
        let (behind, ahead) = (clock(5, Some(6), false), clock(8, Some(9), false));
        assert_eq!(next_step(behind, ahead, Instant::FAR), Step::Both(at(8)));
    }

    #[test]
    fn real_devices_are_waited_on_together() {
        let (busy, idle) = (clock(5, None, false), clock(5, None, true));
        assert_eq!(next_step(busy, idle, Instant::FAR), Step::Blocks(Instant::FAR));
        assert_eq!(next_step(idle, busy, Instant::FAR), Step::Log(Instant::FAR));
        assert_eq!(next_step(idle, idle, Instant::FAR), Step::Idle);
        assert_eq!(next_step(busy, busy, Instant::FAR), Step::Either(Instant::FAR));
    }

    #[test]
    fn devices_wait_only_where_nothing_is_ready() {
        use Readiness::{Descriptor, Ready, Unknown};
        assert_eq!(wait_of(Descriptor(3), Descriptor(4)), Wait::Readable(vec![3, 4]));
        assert_eq!(wait_of(Unknown, Ready), Wait::Readable(Vec::new()));
        assert_eq!(wait_of(Ready, Descriptor(4)), Wait::Readable(Vec::new()));
        assert_eq!(wait_of(Unknown, Descriptor(4)), Wait::InTurn);
        assert_eq!(wait_of(Descriptor(3), Unknown), Wait::InTurn);
    }
}
