//! A lane as the block layer sees it: which units can be written, which are to be erased, and what waits.

use crate::Ticket;
use crate::header::{Place, Superblock};
use crate::layout::Layout;
use crate::payload::Payload;
use flashlane_base::Instant;
use flashlane_device::Buffer;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Somebody's wish, for whom its outcome is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) ticket: Ticket,
    pub(crate) id: u64,
    pub(crate) at: Instant,
}

/// A read of granules of a block.
#[derive(Clone, Debug)]
pub(crate) struct Get {
    pub(crate) asked: Asked,
    pub(crate) unit: u32,
    /// The first granule, and how many.
    pub(crate) granules: (u32, u32),
    /// The bytes asked for, from the first granule's beginning.
    pub(crate) from: usize,
    pub(crate) length: usize,
    /// Whether it was tried before.
    pub(crate) again: bool,
}

/// A unit to be written.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Block {
        asked: Asked,
        payload: Payload,
        sequence: u64,
        checksums: Box<[u32]>,
        attempts: u32,
        /// Whether it is counted among those that wait for an erase.
        waited: bool,
    },
    /// A copy of the superblock.
    Superblock { buffer: Buffer, superblock: Superblock, sequence: u64, attempts: u32, end: End },
}

/// The end of the device that a copy of the superblock lies towards, so that damage to one region leaves the other copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

impl End {
    /// Returns how many units `place` lies outside of this end's third of the device. Units are counted as `lanes` over a
    /// file lays them out: unit 0 of each lane, then unit 1 of each.
    pub(crate) fn distance(self, place: Place, layout: &Layout) -> u64 {
        let number = u64::from(place.unit) * u64::from(layout.lanes) + u64::from(place.lane);
        let third = layout.all_units() / 3;
        let from_this_end = match self {
            Self::First => number,
            Self::Last => layout.all_units() - 1 - number,
        };
        (from_this_end + 1).saturating_sub(third.max(1))
    }
}

/// A unit that has to be erased before it can be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dirty {
    pub(crate) unit: u32,
    /// The delete that is done once this is erased.
    pub(crate) delete: Option<Asked>,
}

impl Dirty {
    /// Whether it may be erased, where ids below this are known to have been given out.
    pub(crate) fn is_below(&self, known_below: u64) -> bool {
        self.delete.is_none_or(|asked| asked.id < known_below)
    }
}

/// A lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    /// Erased units, the least worn first.
    erased: BinaryHeap<Reverse<(u32, u32)>>,
    pub(crate) dirty: VecDeque<Dirty>,
    pub(crate) gets: VecDeque<Get>,
    pub(crate) writes: VecDeque<Write>,
    /// Reads in flight.
    pub(crate) reading: u32,
    /// Writes in flight.
    pub(crate) writing: u32,
    /// Erases in flight.
    pub(crate) erasing: u32,
    /// Bytes that wait or are in flight, to be read or written.
    pub(crate) load_bytes: u64,
}

impl Lane {
    /// Units that are erased or will be.
    pub(crate) fn units(&self) -> u64 {
        (self.erased.len() + self.dirty.len() + self.erasing as usize) as u64
    }

    /// Units that a write can still be given, besides those that wait.
    pub(crate) fn room(&self) -> u64 {
        self.units().saturating_sub(self.writes.len() as u64)
    }

    /// Units that are erased or may be, where ids below this are known to have been given out.
    pub(crate) fn units_below(&self, known_below: u64) -> usize {
        let dirty = self.dirty.iter().filter(|dirty| dirty.is_below(known_below)).count();
        self.erased.len() + dirty + self.erasing as usize
    }

    pub(crate) fn erased(&self) -> usize {
        self.erased.len()
    }

    pub(crate) fn add_erased(&mut self, unit: u32, erases: u32) {
        self.erased.push(Reverse((erases, unit)));
    }

    /// Takes the least worn of the erased units.
    pub(crate) fn take_erased(&mut self) -> Option<u32> {
        self.erased.pop().map(|Reverse((_, unit))| unit)
    }

    /// Takes an erased unit for a copy of the superblock: the least worn one in the third of the device at `end`, or else
    /// the nearest to it. This looks at every erased unit of the lane; superblocks are seldom written.
    pub(crate) fn take_erased_towards(&mut self, end: End, lane: u32, layout: &Layout) -> Option<u32> {
        let key = |&Reverse((erases, unit)): &Reverse<(u32, u32)>| {
            let from_end = if end == End::First { unit } else { layout.units - unit };
            (end.distance(Place { lane, unit }, layout), erases, from_end)
        };
        let chosen = *self.erased.iter().min_by_key(|erased| key(erased))?;
        self.erased.retain(|erased| *erased != chosen);
        Some(chosen.0.1)
    }

    /// Returns the least distance of an erased unit from the third of the device at `end`.
    pub(crate) fn distance(&self, end: End, lane: u32, layout: &Layout) -> Option<u64> {
        self.erased.iter().map(|&Reverse((_, unit))| end.distance(Place { lane, unit }, layout)).min()
    }

    /// Whether nothing waits and nothing is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.gets.is_empty() && self.writes.is_empty() && self.reading + self.writing + self.erasing == 0
    }
}

impl Place {
    /// The unit's lane as devices name it.
    pub(crate) fn on(self) -> flashlane_device::Lane {
        flashlane_device::Lane(self.lane)
    }
}
