//! The one device interface, the spec grammar that names devices, and the conformance body that holds them to it.
//!
//! A [`Device`] takes [`Request`]s and gives back [`Completion`]s. It owns its clock: a simulated drive jumps
//! through virtual time, a real one waits. Whoever drives it cannot tell which.

mod buffer;
pub mod conformance;
mod lanes;
mod memory;
mod null;
mod request;
pub mod spec;
mod unit;

pub use buffer::{Buffer, DataDevice};
pub use flashlane_base::Operation;
pub use lanes::{Interleaved, OneLane};
pub use memory::{MemoryFaults, MemoryLanes};
pub use null::NullDevice;
pub use request::{Completion, Failure, Lane, Request, RequestId, SubmitError};
pub use unit::{Rule, UNIT_MAGIC, Unit, UnitState, Units};

use flashlane_base::Instant;

/// What a device says of itself: plain data, fixed for its lifetime.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What it is called in results: the spec or path it was opened by.
    pub name: String,
    /// Bytes that can be addressed on one lane.
    pub capacity_bytes: u64,
    /// Independent lanes; a conventional drive has one.
    pub lanes: u32,
    /// Reads start and end on multiples of this.
    pub read_unit_bytes: u64,
    /// Writes start and end on multiples of this.
    pub write_unit_bytes: u64,
    /// Erases cover whole units of this; zero where the device has no erase.
    pub erase_unit_bytes: u64,
    /// Requests that may be in flight at once.
    pub depth: u32,
    /// Whether time is simulated (and waiting costs nothing).
    pub simulated: bool,
    /// Whether writes, trims and erases are refused.
    pub read_only: bool,
    /// Flash beyond the capacity, of a simulated drive with a translation layer; of no other it is known.
    pub over_provisioning: Option<OverProvisioning>,
    /// Whether a simulated drive begins full or fragmented.
    pub begins_written: bool,
}

/// Flash beyond a drive's capacity, as shares of the capacity: `(flash for data - capacity) / capacity`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverProvisioning {
    /// The drive's.
    pub share: f64,
    /// That of its profile, where settings changed the flash and left the capacity.
    pub profile_share: Option<f64>,
}

/// Named counts of what a device did since it was made, in a fixed order. Empty where a device cannot know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub Vec<(&'static str, u64)>);

impl Counters {
    /// The count called `name`, if the device keeps it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// What was counted since `earlier` was taken from the same device.
    pub fn since(&self, earlier: &Self) -> Self {
        Self(self.0.iter().map(|&(n, v)| (n, v.saturating_sub(earlier.get(n).unwrap_or(0)))).collect())
    }

    /// What was counted in this time and in another, of the same device.
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for &(name, value) in &other.0 {
            match sum.0.iter_mut().find(|(n, _)| *n == name) {
                Some((_, total)) => *total += value,
                None => sum.0.push((name, value)),
            }
        }
        sum
    }

    /// Flash pages programmed for each page the host wrote; `None` before the first host write or where unknown.
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.get(Self::HOST_PAGES_WRITTEN)?;
        let flash = self.get(Self::FLASH_PAGES_PROGRAMMED)?;
        (host > 0).then(|| flash as f64 / host as f64)
    }

    /// Pages' worth of data that the host wrote (a part of a page counts as one).
    pub const HOST_PAGES_WRITTEN: &'static str = "host_pages_written";
    /// Pages programmed into flash, whoever asked: host, cleaning, wear leveling.
    pub const FLASH_PAGES_PROGRAMMED: &'static str = "flash_pages_programmed";
}

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
    fn expect(&self, _offset_bytes: u64, _length_bytes: u64) {}

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
    /// in flight fail with [`Failure::Gone`]. `None`, and nothing happened, where the device cannot be cut off.
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
    fn expect(&self, offset_bytes: u64, length_bytes: u64) {
        (**self).expect(offset_bytes, length_bytes);
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
    fn expect(&self, offset_bytes: u64, length_bytes: u64) {
        (**self).expect(offset_bytes, length_bytes);
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

impl Profile {
    /// Checks a request against what the profile allows: the checks that every device makes alike.
    ///
    /// # Errors
    /// The first rule that the request breaks.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<(), SubmitError> {
        let unit = match request.operation {
            Operation::Flush => return Ok(()),
            Operation::Read | Operation::Trim => self.read_unit_bytes,
            Operation::Write => self.write_unit_bytes,
            Operation::Erase if self.erase_unit_bytes == 0 => {
                return Err(SubmitError::Unsupported { operation: Operation::Erase });
            }
            Operation::Erase => self.erase_unit_bytes,
        };
        if self.read_only && request.operation != Operation::Read {
            return Err(SubmitError::ReadOnly { operation: request.operation });
        }
        if request.lane.0 >= self.lanes {
            return Err(SubmitError::NoSuchLane { lane: request.lane, lanes: self.lanes });
        }
        let end = request.offset_bytes.checked_add(request.length_bytes);
        if request.length_bytes == 0 || end.is_none_or(|end| end > self.capacity_bytes) {
            return Err(SubmitError::OutOfRange {
                offset_bytes: request.offset_bytes,
                length_bytes: request.length_bytes,
                capacity_bytes: self.capacity_bytes,
            });
        }
        // Units are powers of two on nearly every device; the mask spares two divisions a request.
        let misaligned = if unit.is_power_of_two() {
            (request.offset_bytes | request.length_bytes) & (unit - 1) != 0
        } else {
            !request.offset_bytes.is_multiple_of(unit) || !request.length_bytes.is_multiple_of(unit)
        };
        if misaligned {
            return Err(SubmitError::Misaligned {
                offset_bytes: request.offset_bytes,
                length_bytes: request.length_bytes,
                unit_bytes: unit,
            });
        }
        Ok(())
    }
}
