//! Erase units, and the rules of media that have them.
//!
//! Flash is written in order and cannot be overwritten: a unit is erased as a whole, then written from its start. A
//! medium that hides this is a conventional drive; one that shows it (software-defined flash, a zoned drive) tells the
//! state of every unit through [`Device::unit`](crate::Device::unit) and refuses what the state forbids. [`Units`] is the
//! book such devices keep, so that all of them have the same rules:
//!
//! - a request lies within one unit;
//! - a write begins where the unit's last one ended, at 0 after an erase;
//! - a read asks for bytes whose writes have completed;
//! - while a unit is written or erased nothing else changes it, and while it is read it is not erased.
//!
//! After sdf14 (Ouyang et al., SDF, ASPLOS 2014, section 2.3), where the write unit is the erase unit; smaller write
//! units make it the zone of a zoned drive, with one write in flight.

use crate::{Failure, Lane, Profile, Request};
use flashlane_base::Operation;
use flashlane_base::units::exact_bytes;

/// What whoever writes whole erase units begins each with, so that layers below know what was written there from foreign
/// data: these bytes, and at bytes 40 and 44 the lane and the unit, little-endian. The block layer's headers do.
pub const UNIT_MAGIC: [u8; 8] = *b"FLBLOCKS";

/// What is known of an erase unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// What may be done with it.
    pub state: UnitState,
    /// How often it was erased; `None` where the device does not count.
    pub erases: Option<u32>,
}

/// What may be done with an erase unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitState {
    /// So many bytes from its start can be read; what follows is erased. 0 for a unit that is wholly erased.
    Written {
        /// Bytes whose writes have completed.
        bytes: u64,
    },
    /// A write or an erase was cut short: what it holds is uncertain, and only an erase makes it usable.
    Torn,
    /// It can be used no more.
    Bad,
}

impl UnitState {
    /// A unit that can be written from its start.
    pub const ERASED: Self = Self::Written { bytes: 0 };
}

/// Why the state of an erase unit forbids a request.
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
    /// A write to what was written since the last erase.
    #[error(
        "the unit is not erased there: its first {} are written, and an erase has to come first",
        exact_bytes(*written_bytes)
    )]
    NotErased {
        /// Bytes from the unit's start that are written.
        written_bytes: u64,
    },
    /// A write that leaves bytes before it unwritten.
    #[error("the next write of the unit begins {} from its start", exact_bytes(*expected_bytes))]
    OutOfOrder {
        /// Where the next write has to begin, from the unit's start.
        expected_bytes: u64,
    },
    /// A read of what no completed write left.
    #[error("only the first {} of the unit are written", exact_bytes(*written_bytes))]
    NotWritten {
        /// Bytes from the unit's start that are written.
        written_bytes: u64,
    },
    /// A read of, or a write to, a unit whose last write or erase was cut short.
    #[error("the unit's last write or erase was cut short: an erase has to come first")]
    Torn,
    /// A write to an erased unit where as many units are partly written as the device keeps open.
    #[error(
        "{most} units are partly written, and the device keeps no more open: one has to be filled or erased first"
    )]
    TooManyOpen {
        /// Units that may be partly written at once.
        most: u32,
    },
    /// Something else is in flight there.
    #[error("the unit is busy: {operation} in flight")]
    Busy {
        /// What is in flight.
        operation: Operation,
    },
}

/// A unit as the book has it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    state: UnitState,
    erases: Option<u32>,
    /// Reads in flight.
    reads: u32,
    /// The write or erase in flight.
    changing: Option<Operation>,
}

/// The state of every erase unit of a device, what is in flight on each, and the rules.
///
/// A device asks [`admit`](Self::admit) before it takes a request, and tells [`accepted`](Self::accepted) and
/// [`ended`](Self::ended) of those that it took.
#[derive(Clone, Debug)]
pub struct Units {
    unit_bytes: u64,
    per_lane: u64,
    entries: Vec<Entry>,
}

impl Units {
    /// The book of a device with this profile, all units erased and never erased before.
    ///
    /// # Panics
    /// Where the profile has no erase unit, or lanes that are no whole number of units.
    pub fn new(profile: &Profile) -> Self {
        assert!(profile.erase_unit_bytes > 0, "a device with erase units has a size for them");
        assert!(profile.capacity_bytes.is_multiple_of(profile.erase_unit_bytes), "a lane is whole units");
        let per_lane = profile.capacity_bytes / profile.erase_unit_bytes;
        let entry = Entry { state: UnitState::ERASED, erases: Some(0), reads: 0, changing: None };
        let entries = vec![entry; (per_lane * u64::from(profile.lanes)) as usize];
        Self { unit_bytes: profile.erase_unit_bytes, per_lane, entries }
    }

    /// Units of a lane.
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

    /// What is known of a unit; `None` where there is no such unit.
    pub fn get(&self, lane: Lane, index: u64) -> Option<Unit> {
        let there = index < self.per_lane && (u64::from(lane.0) * self.per_lane) < self.entries.len() as u64;
        there.then(|| {
            let entry = &self.entries[self.at(lane, index)];
            Unit { state: entry.state, erases: entry.erases }
        })
    }

    /// Sets down what a unit is, as the device finds it when it is opened. Where nobody knows how often it was erased the
    /// next erase is counted as its first.
    pub fn set(&mut self, lane: Lane, index: u64, state: UnitState, erases: Option<u32>) {
        let at = self.at(lane, index);
        self.entries[at] = Entry { state, erases, reads: 0, changing: None };
    }

    /// Marks a unit bad, whatever is in flight there.
    pub fn retire(&mut self, lane: Lane, index: u64) {
        let at = self.at(lane, index);
        self.entries[at].state = UnitState::Bad;
    }

    /// Whether the unit's state lets `request` be. Requires: the profile's own checks passed.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn admit(&self, request: &Request) -> Result<(), Rule> {
        if !matches!(request.operation, Operation::Read | Operation::Write | Operation::Erase) {
            return Ok(());
        }
        let from = request.offset_bytes % self.unit_bytes;
        if from + request.length_bytes > self.unit_bytes {
            return Err(Rule::AcrossUnits { unit_bytes: self.unit_bytes });
        }
        let entry = &self.entries[self.of(request)];
        if entry.state == UnitState::Bad {
            return Err(Rule::Bad);
        }
        let busy = match (request.operation, entry.changing) {
            // What is written already can be read while more is written.
            (Operation::Read, Some(Operation::Write)) => None,
            (Operation::Erase, None) if entry.reads > 0 => Some(Operation::Read),
            (_, changing) => changing,
        };
        if let Some(operation) = busy {
            return Err(Rule::Busy { operation });
        }
        match (request.operation, entry.state) {
            (Operation::Erase, _) => Ok(()),
            (_, UnitState::Torn) => Err(Rule::Torn),
            (Operation::Read, UnitState::Written { bytes }) if from + request.length_bytes > bytes => {
                Err(Rule::NotWritten { written_bytes: bytes })
            }
            (Operation::Write, UnitState::Written { bytes }) if from < bytes => {
                Err(Rule::NotErased { written_bytes: bytes })
            }
            (Operation::Write, UnitState::Written { bytes }) if from > bytes => {
                Err(Rule::OutOfOrder { expected_bytes: bytes })
            }
            _ => Ok(()),
        }
    }

    /// Notes a request that the device took.
    pub fn accepted(&mut self, request: &Request) {
        debug_assert_eq!(self.admit(request), Ok(()), "what is accepted was admitted");
        if !matches!(request.operation, Operation::Read | Operation::Write | Operation::Erase) {
            return;
        }
        let at = self.of(request);
        match request.operation {
            Operation::Read => self.entries[at].reads += 1,
            operation => self.entries[at].changing = Some(operation),
        }
    }

    /// Notes how a request that was taken ended. A write or an erase that failed leaves its unit torn, or bad where that
    /// is how it failed.
    pub fn ended(&mut self, request: &Request, outcome: &Result<(), Failure>) {
        if !matches!(request.operation, Operation::Read | Operation::Write | Operation::Erase) {
            return;
        }
        let at = self.of(request);
        let entry = &mut self.entries[at];
        if request.operation == Operation::Read {
            entry.reads -= 1;
            return;
        }
        entry.changing = None;
        entry.state = match (entry.state, outcome) {
            (UnitState::Bad, _) | (_, Err(Failure::BadUnit)) => UnitState::Bad,
            (UnitState::Written { bytes }, Ok(())) if request.operation == Operation::Write => {
                UnitState::Written { bytes: bytes + request.length_bytes }
            }
            (_, Ok(())) => UnitState::ERASED,
            (_, Err(_)) => UnitState::Torn,
        };
        if request.operation == Operation::Erase && outcome.is_ok() {
            entry.erases = Some(entry.erases.map_or(1, |erases| erases.saturating_add(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> Units {
        let profile = Profile {
            name: "lanes".into(),
            capacity_bytes: 4 * 1024,
            lanes: 2,
            read_unit_bytes: 128,
            write_unit_bytes: 256,
            erase_unit_bytes: 1024,
            depth: 8,
            simulated: true,
            read_only: false,
            over_provisioning: None,
            begins_written: false,
        };
        Units::new(&profile)
    }

    fn erase(offset_bytes: u64) -> Request {
        Request::erase(0, offset_bytes, 1024)
    }

    fn done(book: &mut Units, request: Request) {
        book.accepted(&request);
        book.ended(&request, &Ok(()));
    }

    #[test]
    fn a_unit_is_written_in_order_and_once() {
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
    fn only_what_was_written_is_read() {
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
    fn one_change_at_a_time() {
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
        // Elsewhere it goes on.
        assert_eq!(book.admit(&erase(1024)), Ok(()));
    }

    #[test]
    fn what_fails_leaves_the_unit_torn_or_bad() {
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
    fn a_request_lies_within_one_unit_of_the_device() {
        let book = book();
        let across = Err(Rule::AcrossUnits { unit_bytes: 1024 });
        assert_eq!(book.admit(&Request::write(0, 768, 512)), across);
        assert_eq!(book.admit(&Request::read(0, 896, 256)), across);
        assert_eq!(book.get(Lane(2), 0), None);
        assert_eq!(book.get(Lane(0), 4), None);
    }
}
