//! The device interface.

use crate::counters::Counters;
use crate::info::DeviceInfo;
use crate::power::PowerCurve;
use crate::request::{Completion, Lane, Request, RequestId, SubmitError};
use crate::time_split::TimeSplit;
use crate::unit::Unit;
use crate::zone::Zone;
use flashlane_base::Instant;

/// A range of completed writes that a power cut loses.
///
/// Completed writes that are not durable are numbered 0, 1, 2 … in the order of their completions, failed ones
/// included; `first_write` is such a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtRisk {
    /// Lane of the range.
    pub lane: Lane,
    /// First byte of the range on its lane.
    pub offset_bytes: u64,
    /// Length of the range.
    pub length_bytes: u64,
    /// Number of the first write to this range that a power cut would lose, with all later ones.
    pub first_write: u64,
}

/// What a device says of its next completion, for users that wait on several devices at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The device cannot tell.
    Unknown,
    /// A [`reap`](Device::reap) may return completions now.
    Ready,
    /// There are none now, and this descriptor of the operating system will be readable (poll(2)) when there may be.
    Descriptor(i32),
}

/// Storage that takes requests and completes them in its own time.
pub trait Device {
    /// Capacity, lanes, units and depth, fixed for the device's lifetime.
    fn info(&self) -> &DeviceInfo;

    /// The device's clock: virtual, or monotonic since it was opened.
    fn now(&self) -> Instant;

    /// Queues a request, which is submitted at [`Device::now`] and completes later through [`Device::reap`].
    ///
    /// # Errors
    /// [`SubmitError`] says why the request was refused; a refused request MUST change nothing.
    fn submit(&mut self, request: Request) -> Result<(), SubmitError>;

    /// Appends the completions to `out`. Returns as soon as at least one request has completed, or the clock has
    /// reached `until`; with nothing in flight and `until` [`Instant::FAR`] it returns at once.
    ///
    /// Completions MUST come in the order of their times, and each accepted request MUST complete exactly once.
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>);

    /// Returns the time before which no request completes, if none is submitted meanwhile: on a simulated device the
    /// earliest event in its queue, and [`Instant::FAR`] where there is none. A [`reap`](Device::reap) until an earlier
    /// time MUST return nothing. With it, the user of several simulated devices steps the earliest one, and their
    /// clocks agree. `None` where the device cannot know: real devices, whose clocks agree anyway.
    fn next_event(&self) -> Option<Instant> {
        None
    }

    /// Hands over what is queued, and says how to wait for the next completion. A device of which nothing is in
    /// flight, and one that is simulated, is [`Readiness::Unknown`].
    fn readiness(&mut self) -> Readiness {
        Readiness::Unknown
    }

    /// Waits until one of these descriptors is readable, but not beyond `until`, and takes no completions. A device
    /// that returns descriptors MUST implement it; their devices MUST be open.
    fn wait_readable(&self, _descriptors: &[i32], _until: Instant) {}

    /// Hints that a request for these bytes will probably follow soon. It changes no result: a simulated drive loads
    /// its tables for them into the processor's cache.
    fn prefetch(&self, _offset_bytes: u64, _length_bytes: u64) {}

    /// The device's counters so far.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Returns the energy of the device over its time so far; `None` where it does not count energy, or its clock is
    /// not that of the drive that does. Its sum is that of the counter [`Counters::ENERGY`]; a layer over a device that
    /// counts energy MUST return the device's.
    fn power_curve(&self) -> Option<PowerCurve> {
        None
    }

    /// Records from now on where the time of requests goes, for [`Device::time_split`]. Requires: nothing is in flight.
    /// It changes no result. Returns false where the device cannot.
    fn record_time_splits(&mut self) -> bool {
        false
    }

    /// Returns where the latency of a request went that the last [`reap`](Device::reap) returned. The parts MUST add up
    /// to its latency. `None` where the device does not [record](Device::record_time_splits) it.
    fn time_split(&self, _id: RequestId) -> Option<TimeSplit> {
        None
    }

    /// Returns the state of erase unit `index` (from 0) of a lane after the requests that have completed; `None` where
    /// there is no such unit, and on devices without erase units.
    fn unit(&self, _lane: Lane, _index: u64) -> Option<Unit> {
        None
    }

    /// Returns whether erase unit `index` of a lane has data that was not written through this device into it, while it
    /// was erased: what was written through the device before it was erased is not lost by that. An erase of such a
    /// unit gives that data up. An erase of another unit in which the device finds such data MUST keep it: the unit is
    /// then one of these. False where the device cannot know.
    fn has_foreign_data(&self, _lane: Lane, _index: u64) -> bool {
        false
    }

    /// Gives up all that erase unit `index` of a lane holds, data that was not written through this device included:
    /// the next erase of the unit need not keep it.
    fn give_up_content(&mut self, _lane: Lane, _index: u64) {}

    /// Returns the state of erase unit `index` of a lane where erase units are zones; `None` otherwise.
    fn zone(&self, _lane: Lane, _index: u64) -> Option<Zone> {
        None
    }

    /// Returns where an append wrote its first byte whose completion the last [`reap`](Device::reap) returned: its
    /// lane, and the offset there. `None` where the request was no append, or has failed.
    fn appended_at(&self, _id: RequestId) -> Option<(Lane, u64)> {
        None
    }

    /// Returns the completed writes that a power cut would lose: none from before a completed flush, and no durable
    /// write. Ranges may overlap. `None` where the device cannot know.
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        None
    }

    /// Cuts the power and restores it at once. Returns what was [at risk](Device::at_risk) and is now lost; requests in
    /// flight fail with [`Failure::DeviceLost`](crate::Failure::DeviceLost), which the next reap reports. Does nothing
    /// and returns `None` where the device's power cannot be cut.
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        None
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn info(&self) -> &DeviceInfo {
        (**self).info()
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
    fn next_event(&self) -> Option<Instant> {
        (**self).next_event()
    }
    fn readiness(&mut self) -> Readiness {
        (**self).readiness()
    }
    fn wait_readable(&self, descriptors: &[i32], until: Instant) {
        (**self).wait_readable(descriptors, until);
    }
    fn prefetch(&self, offset_bytes: u64, length_bytes: u64) {
        (**self).prefetch(offset_bytes, length_bytes);
    }
    fn counters(&self) -> Counters {
        (**self).counters()
    }
    fn power_curve(&self) -> Option<PowerCurve> {
        (**self).power_curve()
    }
    fn record_time_splits(&mut self) -> bool {
        (**self).record_time_splits()
    }
    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        (**self).time_split(id)
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        (**self).unit(lane, index)
    }
    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        (**self).has_foreign_data(lane, index)
    }
    fn give_up_content(&mut self, lane: Lane, index: u64) {
        (**self).give_up_content(lane, index);
    }
    fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        (**self).zone(lane, index)
    }
    fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        (**self).appended_at(id)
    }
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        (**self).at_risk()
    }
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        (**self).cut_power()
    }
}

impl<D: Device + ?Sized> Device for &mut D {
    fn info(&self) -> &DeviceInfo {
        (**self).info()
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
    fn next_event(&self) -> Option<Instant> {
        (**self).next_event()
    }
    fn readiness(&mut self) -> Readiness {
        (**self).readiness()
    }
    fn wait_readable(&self, descriptors: &[i32], until: Instant) {
        (**self).wait_readable(descriptors, until);
    }
    fn prefetch(&self, offset_bytes: u64, length_bytes: u64) {
        (**self).prefetch(offset_bytes, length_bytes);
    }
    fn counters(&self) -> Counters {
        (**self).counters()
    }
    fn power_curve(&self) -> Option<PowerCurve> {
        (**self).power_curve()
    }
    fn record_time_splits(&mut self) -> bool {
        (**self).record_time_splits()
    }
    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        (**self).time_split(id)
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        (**self).unit(lane, index)
    }
    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        (**self).has_foreign_data(lane, index)
    }
    fn give_up_content(&mut self, lane: Lane, index: u64) {
        (**self).give_up_content(lane, index);
    }
    fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        (**self).zone(lane, index)
    }
    fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        (**self).appended_at(id)
    }
    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        (**self).at_risk()
    }
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        (**self).cut_power()
    }
}
