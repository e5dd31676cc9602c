//! Erase units, and the rules of media that have them.
//!
//! Flash is written in order and cannot be overwritten: a unit is erased as a whole, then written from its start. A
//! conventional drive hides this. Software-defined flash and zoned drives expose it: they report the state of every
//! unit through [`Device::unit`](crate::Device::unit) and refuse requests that the state forbids. [`UnitStates`] tracks
//! the states, so that all such devices have the same rules:
//!
//! - a request lies within one unit;
//! - a write begins where the unit's last one ended, at 0 after an erase;
//! - a read covers only bytes whose writes have completed;
//! - a unit has at most one write or erase in flight, and is not erased while it is read.
//!
//! Units that are zones have further operations ([`crate::ZoneLimits`]). Any number of appends may be in flight on a
//! zone, and no other change beside them; they complete in their order. A finish makes the rest of the zone readable,
//! as zeros. Which zones are open is the device's to know.
//!
//! After sdf14 (Ouyang et al., SDF, ASPLOS 2014, section 2.3), where the write unit is the erase unit; smaller write
//! units make it the zone of a zoned drive, with one write in flight.

use crate::{DeviceInfo, Failure, Lane, Request, ZoneState};
use flashlane_base::Operation;
use flashlane_base::units::exact_bytes;

/// The state of an erase unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Whether it can be read, written or erased.
    pub state: UnitState,
    /// Number of erases; `None` where the device does not count them.
    pub erases: Option<u32>,
}

/// Which requests an erase unit accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitState {
    /// The first `bytes` can be read and the rest is erased; 0 for an erased unit.
    Written {
        /// Bytes whose writes have completed.
        bytes: u64,
    },
    /// A write or an erase was cut short: its content is undefined until the next erase.
    Torn,
    /// Permanently unusable.
    Bad,
}

impl UnitState {
    /// The state after an erase.
    pub const ERASED: Self = Self::Written { bytes: 0 };
}

/// A rule of erase units that a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// The request reaches into the next unit.
    #[error("it does not lie within one unit of {}", exact_bytes(*unit_bytes))]
    AcrossUnits {
        /// Bytes of an erase unit.
        unit_bytes: u64,
    },
    /// The unit is bad.
    #[error("the unit is bad")]
    Bad,
    /// A write to bytes that were written since the last erase.
    #[error(
        "the unit is not erased there: its first {} are written, and an erase has to come first",
        exact_bytes(*written_bytes)
    )]
    NotErased {
        /// Bytes from the unit's start that are written.
        written_bytes: u64,
    },
    /// A write that would leave unwritten bytes before it.
    #[error("the next write of the unit begins {} from its start", exact_bytes(*expected_bytes))]
    OutOfOrder {
        /// Required start of the next write, from the unit's start.
        expected_bytes: u64,
    },
    /// A read of bytes without a completed write.
    #[error("only the first {} of the unit are written", exact_bytes(*written_bytes))]
    NotWritten {
        /// Bytes from the unit's start that are written.
        written_bytes: u64,
    },
    /// A read of, or a write to, a unit whose last write or erase was cut short.
    #[error("the unit's last write or erase was cut short: an erase has to come first")]
    Torn,
    /// A write to a unit that is not open while the device's maximum number of units is.
    #[error("{most} of the units are open, and the device keeps no more: {}", Self::makes_room(*waits))]
    TooManyOpen {
        /// Maximum number of open units.
        most: u32,
        /// Whether the end of a request in flight is known to make room.
        waits: bool,
    },
    /// A write, append or open of a zone in no active state while the device's maximum number of zones is active.
    #[error(
        "{most} zones are active, and the device has no more: one has to be finished, filled or reset first"
    )]
    TooManyActive {
        /// Maximum number of active zones.
        most: u32,
    },
    /// An append that is not addressed to the start of its zone.
    #[error("an append names its zone by the start of the zone, which is {} before", exact_bytes(*beyond_bytes))]
    NotAtZoneStart {
        /// Distance of the given offset from the start of its zone.
        beyond_bytes: u64,
    },
    /// An append that the zone has no room for.
    #[error("the zone has room for {}", exact_bytes(*left_bytes))]
    NoRoom {
        /// Bytes from the write pointer to the zone's capacity.
        left_bytes: u64,
    },
    /// The open of a full zone, or the close of one that is not open.
    #[error("the zone is {}", .state.name())]
    ZoneState {
        /// The zone's state.
        state: ZoneState,
    },
    /// Another operation is in flight on the unit.
    #[error("the unit is busy: {operation} in flight")]
    Busy {
        /// The operation in flight.
        operation: Operation,
    },
}

impl Rule {
    /// Returns whether a request that breaks the rule is accepted once others in flight have completed. Of the limits
    /// on zones only that on open ones is looked at so, and only for zones that a request in flight keeps open; a zone
    /// that becomes full, or is reset, when a request completes may make room where this says it does not.
    pub fn waits(self) -> bool {
        matches!(self, Self::Busy { .. } | Self::TooManyOpen { waits: true, .. })
    }

    fn makes_room(waits: bool) -> &'static str {
        match waits {
            true => "a request in flight on one of them has to complete first",
            false => "one has to be filled, finished or erased first",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    state: UnitState,
    erases: Option<u32>,
    /// Reads in flight.
    reads: u32,
    /// The operation in flight that changes the unit, other than appends.
    changing: Option<Operation>,
}

const _: () = assert!(size_of::<Entry>() <= 32, "random requests miss the processor's caches for it");

/// What more is known of a unit that is a zone.
#[derive(Clone, Copy, Debug, Default)]
struct ZoneEntry {
    /// Appends in flight, and their bytes.
    appends: u32,
    appending_bytes: u64,
    /// Of a bad zone, the bytes from its start that can still be read.
    readable_bytes: u64,
}

impl Entry {
    fn idle(state: UnitState, erases: Option<u32>) -> Self {
        Self { state, erases, reads: 0, changing: None }
    }

    /// The operation in flight because of which `operation` is refused.
    fn busy_for(&self, operation: Operation, zone: ZoneEntry) -> Option<Operation> {
        use Operation::{Append, Close, Erase, Finish, Open, Read, Write};
        match (operation, self.changing) {
            // Bytes with a completed write can be read during the next write.
            (Read, Some(Write | Finish | Open | Close)) => None,
            (Erase, None) if self.reads > 0 => Some(Read),
            (Write | Erase | Open | Close | Finish, None) if zone.appends > 0 => Some(Append),
            (_, changing) => changing,
        }
    }
}

/// Whether an operation concerns an erase unit.
fn is_of_units(operation: Operation) -> bool {
    !matches!(operation, Operation::Trim | Operation::Flush)
}

/// The state of every erase unit of a device, the operations in flight on each, and the rules.
///
/// A device MUST call [`admit`](Self::admit) before it accepts a request, and [`accepted`](Self::accepted) and
/// [`ended`](Self::ended) for each request that it accepts.
#[derive(Clone, Debug)]
pub struct UnitStates {
    unit_bytes: u64,
    per_lane: u64,
    entries: Vec<Entry>,
    /// Of the same units, where they are zones; otherwise empty.
    zones: Vec<ZoneEntry>,
}

impl UnitStates {
    /// Creates the units of a device with these properties, all writable and with 0 erases.
    ///
    /// # Panics
    /// Where the device has no erase unit, or a lane is not a whole number of units.
    pub fn new(info: &DeviceInfo) -> Self {
        assert!(info.erase_unit_bytes > 0, "a device with erase units has a size for them");
        assert!(info.capacity_bytes.is_multiple_of(info.erase_unit_bytes), "a lane is whole units");
        let per_lane = info.capacity_bytes / info.erase_unit_bytes;
        let units = (per_lane * u64::from(info.lanes)) as usize;
        let zones = if info.zones.is_some() { units } else { 0 };
        Self {
            unit_bytes: info.erase_unit_bytes,
            per_lane,
            entries: vec![Entry::idle(UnitState::ERASED, Some(0)); units],
            zones: vec![ZoneEntry::default(); zones],
        }
    }

    /// Number of units of a lane.
    pub fn per_lane(&self) -> u64 {
        self.per_lane
    }

    fn at(&self, lane: Lane, index: u64) -> usize {
        debug_assert!(index < self.per_lane, "lanes and units are checked before");
        (u64::from(lane.0) * self.per_lane + index) as usize
    }

    fn of(&self, request: &Request) -> usize {
        self.at(request.lane, request.offset_bytes / self.unit_bytes)
    }

    #[inline]
    fn zone(&self, at: usize) -> ZoneEntry {
        self.zones.get(at).copied().unwrap_or_default()
    }

    /// Returns a unit's state; `None` where there is no such unit.
    pub fn get(&self, lane: Lane, index: u64) -> Option<Unit> {
        let exists = index < self.per_lane && (u64::from(lane.0) * self.per_lane) < self.entries.len() as u64;
        exists.then(|| {
            let entry = &self.entries[self.at(lane, index)];
            Unit { state: entry.state, erases: entry.erases }
        })
    }

    /// Sets the state of a unit as found when the device is opened. Where `erases` is `None`, the next erase counts as
    /// the first.
    pub fn set(&mut self, lane: Lane, index: u64, state: UnitState, erases: Option<u32>) {
        let at = self.at(lane, index);
        self.entries[at] = Entry::idle(state, erases);
        if let Some(zone) = self.zones.get_mut(at) {
            *zone = ZoneEntry::default();
        }
    }

    /// Lets the first `bytes` of a bad zone be read: it can only be written no longer. Requires: the units are zones.
    pub fn keep_readable(&mut self, lane: Lane, index: u64, bytes: u64) {
        let at = self.at(lane, index);
        debug_assert_eq!(self.entries[at].state, UnitState::Bad, "other units can be read as far as written");
        self.zones[at].readable_bytes = bytes;
    }

    /// Returns where the next append to a zone begins, from its start. The zone MUST be sound.
    pub fn next_append(&self, lane: Lane, index: u64) -> u64 {
        let at = self.at(lane, index);
        match self.entries[at].state {
            UnitState::Written { bytes } => bytes + self.zone(at).appending_bytes,
            UnitState::Torn | UnitState::Bad => unreachable!("it takes no append"),
        }
    }

    /// Returns whether an operation that changes the unit is in flight.
    pub fn is_changing(&self, lane: Lane, index: u64) -> bool {
        let at = self.at(lane, index);
        self.entries[at].changing.is_some() || self.zone(at).appends > 0
    }

    /// Checks `request` against the state of its unit. [`DeviceInfo::check`] MUST have passed.
    ///
    /// # Errors
    /// The first rule that the request breaks.
    pub fn admit(&self, request: &Request) -> Result<(), Rule> {
        if !is_of_units(request.operation) {
            return Ok(());
        }
        let from = request.offset_bytes % self.unit_bytes;
        let to = from + request.length_bytes;
        let at = self.of(request);
        let (entry, zone) = (&self.entries[at], self.zone(at));
        if request.operation == Operation::Append && from > 0 {
            return Err(Rule::NotAtZoneStart { beyond_bytes: from });
        }
        if to > self.unit_bytes {
            return Err(Rule::AcrossUnits { unit_bytes: self.unit_bytes });
        }
        if entry.state == UnitState::Bad {
            let is_read = request.operation == Operation::Read && to <= zone.readable_bytes;
            return if is_read { Ok(()) } else { Err(Rule::Bad) };
        }
        if let Some(operation) = entry.busy_for(request.operation, zone) {
            return Err(Rule::Busy { operation });
        }
        match (request.operation, entry.state) {
            (Operation::Erase, _) => Ok(()),
            (_, UnitState::Torn) => Err(Rule::Torn),
            (Operation::Read, UnitState::Written { bytes }) if to > bytes => {
                Err(Rule::NotWritten { written_bytes: bytes })
            }
            (Operation::Write, UnitState::Written { bytes }) if from < bytes => {
                Err(Rule::NotErased { written_bytes: bytes })
            }
            (Operation::Write, UnitState::Written { bytes }) if from > bytes => {
                Err(Rule::OutOfOrder { expected_bytes: bytes })
            }
            (Operation::Append, UnitState::Written { bytes }) => {
                let left_bytes = self.unit_bytes - bytes - zone.appending_bytes;
                if request.length_bytes > left_bytes { Err(Rule::NoRoom { left_bytes }) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Records a request that the device accepted.
    pub fn accepted(&mut self, request: &Request) {
        debug_assert_eq!(self.admit(request), Ok(()), "accepted requests were admitted");
        if !is_of_units(request.operation) {
            return;
        }
        let at = self.of(request);
        let entry = &mut self.entries[at];
        match request.operation {
            Operation::Read => entry.reads += 1,
            Operation::Append => {
                let zone = &mut self.zones[at];
                zone.appends += 1;
                zone.appending_bytes += request.length_bytes;
            }
            operation => entry.changing = Some(operation),
        }
    }

    /// Records the outcome of an accepted request. A failed write or erase leaves its unit torn, or bad after
    /// [`Failure::BadUnit`].
    pub fn ended(&mut self, request: &Request, outcome: &Result<(), Failure>) {
        if !is_of_units(request.operation) {
            return;
        }
        let (at, unit_bytes) = (self.of(request), self.unit_bytes);
        let entry = &mut self.entries[at];
        match request.operation {
            Operation::Read => {
                entry.reads -= 1;
                return;
            }
            Operation::Append => {
                let zone = &mut self.zones[at];
                zone.appends -= 1;
                zone.appending_bytes -= request.length_bytes;
            }
            _ => entry.changing = None,
        }
        entry.state = match (request.operation, entry.state, outcome) {
            (_, UnitState::Bad, _) | (_, _, Err(Failure::BadUnit)) => UnitState::Bad,
            // They move no data.
            (Operation::Open | Operation::Close, state, _) => state,
            (_, _, Err(_)) => UnitState::Torn,
            (Operation::Write | Operation::Append, UnitState::Written { bytes }, Ok(())) => {
                UnitState::Written { bytes: bytes + request.length_bytes }
            }
            // An append before it was cut short.
            (Operation::Append, state, Ok(())) => state,
            (Operation::Finish, _, Ok(())) => UnitState::Written { bytes: unit_bytes },
            (_, _, Ok(())) => UnitState::ERASED,
        };
        if request.operation == Operation::Erase && outcome.is_ok() {
            entry.erases = Some(entry.erases.map_or(1, |erases| erases.saturating_add(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> UnitStates {
        let info = DeviceInfo {
            write_unit_bytes: 256,
            lanes: 2,
            erase_unit_bytes: 1024,
            depth: 8,
            simulated: true,
            ..DeviceInfo::new("lanes", 4 * 1024, 128)
        };
        UnitStates::new(&info)
    }

    fn erase(offset_bytes: u64) -> Request {
        Request::erase(0, offset_bytes, 1024)
    }

    fn done(book: &mut UnitStates, request: Request) {
        book.accepted(&request);
        book.ended(&request, &Ok(()));
    }

    #[test]
    fn unit_is_written_in_order_and_once() {
        let mut book = book();
        assert_eq!(book.admit(&Request::write(0, 256, 256)), Err(Rule::OutOfOrder { expected_bytes: 0 }));
        done(&mut book, Request::write(0, 0, 512));
        assert_eq!(book.admit(&Request::write(0, 0, 256)), Err(Rule::NotErased { written_bytes: 512 }));
        assert_eq!(book.admit(&Request::write(0, 768, 256)), Err(Rule::OutOfOrder { expected_bytes: 512 }));
        done(&mut book, Request::write(0, 512, 512));
        assert_eq!(book.get(Lane(0), 0).unwrap().state, UnitState::Written { bytes: 1024 });
        done(&mut book, erase(0));
        assert_eq!(book.get(Lane(0), 0), Some(Unit { state: UnitState::ERASED, erases: Some(1) }));
        assert_eq!(book.admit(&Request::write(0, 0, 256)), Ok(()));
    }

    #[test]
    fn read_of_unwritten_bytes_is_refused() {
        let mut book = book();
        assert_eq!(book.admit(&Request::read(0, 0, 128)), Err(Rule::NotWritten { written_bytes: 0 }));
        let write = Request::write(0, 0, 256);
        book.accepted(&write);
        assert_eq!(book.admit(&Request::read(0, 0, 128)), Err(Rule::NotWritten { written_bytes: 0 }));
        book.ended(&write, &Ok(()));
        assert_eq!(book.admit(&Request::read(0, 128, 128)), Ok(()));
        assert_eq!(book.admit(&Request::read(0, 128, 256)), Err(Rule::NotWritten { written_bytes: 256 }));
        // Another lane's unit is another unit.
        assert_eq!(
            book.admit(&Request::read(0, 0, 128).on(Lane(1))),
            Err(Rule::NotWritten { written_bytes: 0 })
        );
    }

    #[test]
    fn busy_unit_refuses_erase_and_write() {
        let mut book = book();
        done(&mut book, Request::write(0, 0, 256));
        let read = Request::read(0, 0, 128);
        book.accepted(&read);
        assert_eq!(book.admit(&erase(0)), Err(Rule::Busy { operation: Operation::Read }));
        book.ended(&read, &Ok(()));
        let erase_of_it = erase(0);
        book.accepted(&erase_of_it);
        let busy = Err(Rule::Busy { operation: Operation::Erase });
        assert_eq!(book.admit(&read), busy);
        assert_eq!(book.admit(&Request::write(0, 256, 256)), busy);
        assert_eq!(book.admit(&erase(0)), busy);
        // Other units are not affected.
        assert_eq!(book.admit(&erase(1024)), Ok(()));
    }

    #[test]
    fn failed_write_leaves_unit_torn_or_bad() {
        let mut book = book();
        let write = Request::write(0, 0, 256);
        book.accepted(&write);
        book.ended(&write, &Err(Failure::DeviceLost));
        assert_eq!(book.admit(&Request::write(0, 0, 256)), Err(Rule::Torn));
        assert_eq!(book.admit(&Request::read(0, 0, 128)), Err(Rule::Torn));
        done(&mut book, erase(0));
        book.accepted(&write);
        book.ended(&write, &Err(Failure::BadUnit));
        for request in [write, erase(0), Request::read(0, 0, 128)] {
            assert_eq!(book.admit(&request), Err(Rule::Bad));
        }
        assert_eq!(book.get(Lane(0), 0).unwrap().state, UnitState::Bad);
    }

    #[test]
    fn request_across_units_is_refused() {
        let book = book();
        let across = Err(Rule::AcrossUnits { unit_bytes: 1024 });
        assert_eq!(book.admit(&Request::write(0, 768, 512)), across);
        assert_eq!(book.admit(&Request::read(0, 896, 256)), across);
        assert_eq!(book.get(Lane(2), 0), None);
        assert_eq!(book.get(Lane(0), 4), None);
    }
}
