//! The device interface.

use crate::counters::Counters;
use crate::profile::Profile;
use crate::request::{Completion, Lane, Request, SubmitError};
use crate::unit::Unit;
use flashlane_base::Instant;

/// Bytes of completed writes that a power cut takes.
///
/// Which of them are gone is said by counting: completed writes, durable ones left out, have the numbers 0, 1, 2 … in the
/// order of their completions, whatever their outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtRisk {
    /// On which lane.
    pub lane: Lane,
    /// The first byte.
    pub offset_bytes: u64,
    /// How many.
    pub length_bytes: u64,
    /// Here the medium holds what it held before the write of this number; that write and later ones are at risk.
    pub since: u64,
}

/// Storage that takes requests and completes them in its own time.
pub trait Device {
    /// What the device is: capacity, lanes, units, depth.
    fn profile(&self) -> &Profile;

    /// The device's clock: virtual, or monotonic since it was opened.
    fn now(&self) -> Instant;

    /// Hands over a request. It is taken at [`Device::now`] and completes later through [`Device::reap`].
    ///
    /// # Errors
    /// [`SubmitError`] says why the request was refused; a refused request changes nothing.
    fn submit(&mut self, request: Request) -> Result<(), SubmitError>;

    /// Appends to `out` what completed. Returns as soon as at least one request has completed, or the clock has
    /// reached `until`; with nothing in flight and `until` [`Instant::FAR`] it returns at once.
    ///
    /// Completions come in the order of their times. Each accepted request completes exactly once.
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>);

    /// A hint that a request for these bytes will probably come soon. It changes nothing that can be observed; a
    /// simulated drive uses it to have its tables in the processor's cache by then.
    fn prefetch(&self, _offset_bytes: u64, _length_bytes: u64) {}

    /// What the device counted so far.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// What is known of an erase unit of a lane, counted from 0, by what has completed; `None` where there is no such
    /// unit, and on devices that have none.
    fn unit(&self, _lane: Lane, _index: u64) -> Option<Unit> {
        None
    }

    /// What a power cut would take of the writes that have completed: nothing that a completed flush came after, and
    /// nothing of a durable write. Bytes may be named more than once. `None` where the device cannot know.
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        None
    }

    /// Cuts the power and gives it back at once: what was [at risk](Device::at_risk) is gone, and says so here; requests
    /// in flight fail with [`Failure::DeviceLost`](crate::Failure::DeviceLost). `None`, and nothing happened, where the device cannot be cut off.
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        None
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn profile(&self) -> &Profile {
        (**self).profile()
    }
    fn now(&self) -> Instant {
        (**self).now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        (**self).submit(request)
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        (**self).reap(until, out);
    }
    fn prefetch(&self, offset_bytes: u64, length_bytes: u64) {
        (**self).prefetch(offset_bytes, length_bytes);
    }
    fn counters(&self) -> Counters {
        (**self).counters()
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        (**self).unit(lane, index)
    }
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        (**self).at_risk()
    }
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        (**self).cut_power()
    }
}

impl<D: Device + ?Sized> Device for &mut D {
    fn profile(&self) -> &Profile {
        (**self).profile()
    }
    fn now(&self) -> Instant {
        (**self).now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        (**self).submit(request)
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        (**self).reap(until, out);
    }
    fn prefetch(&self, offset_bytes: u64, length_bytes: u64) {
        (**self).prefetch(offset_bytes, length_bytes);
    }
    fn counters(&self) -> Counters {
        (**self).counters()
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        (**self).unit(lane, index)
    }
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        (**self).at_risk()
    }
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        (**self).cut_power()
    }
}
