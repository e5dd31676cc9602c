//! The superblock: two copies on different lanes, written anew where something in it changes. They lie in different thirds
//! of the device as far as units are free there, so that damage to one region leaves one of them.
//!
//! It changes seldom. Ids need it when the block with the highest one is deleted (its header would have told, after a
//! restart, that its id was given out), and where units are damaged (`damaged`); units that fail only where the device
//! does not tell that they are bad. The new copies are written before the old ones are erased, and one of them is enough.

use crate::blocks::Blocks;
use crate::error::PutFailure;
use crate::header::{Place, Superblock, retired_most};
use crate::lane::{Dirty, End, Lane, Write};
use flashlane_device::{Buffer, DataDevice};
use std::collections::BTreeSet;

/// Copies that are kept.
pub(crate) const COPIES: usize = 2;

/// What is known of the superblock, and how its next copies fare.
#[derive(Clone, Debug, Default)]
pub(crate) struct Superblocks {
    /// What is durable: the floor of ids, and where the copies lie.
    floor: u64,
    places: Vec<Place>,
    retired: BTreeSet<Place>,
    renewal: Option<Renewal>,
    /// Whether something changed that the copies, those on their way included, do not have.
    stale: bool,
    /// Why the last copy that failed did.
    failure: Option<PutFailure>,
}

/// New copies on their way.
#[derive(Clone, Debug)]
struct Renewal {
    floor: u64,
    copies: usize,
    waiting: usize,
    written: Vec<Place>,
}

impl Superblocks {
    /// What was found on the device.
    pub(crate) fn found(superblock: Superblock, places: Vec<Place>) -> Self {
        // A lost copy is replaced as soon as anything is written.
        let stale = places.len() < COPIES;
        Self {
            floor: superblock.id_floor,
            places,
            retired: superblock.retired.into_iter().collect(),
            renewal: None,
            stale,
            failure: None,
        }
    }

    /// Why there is no copy, where there is none.
    pub(crate) fn missing(&self) -> Option<PutFailure> {
        self.places.is_empty().then(|| self.failure.unwrap_or(PutFailure::NoUnit))
    }

    pub(crate) fn copies(&self) -> usize {
        self.places.len()
    }

    /// Where the copies lie.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn retired(&self) -> &BTreeSet<Place> {
        &self.retired
    }

    pub(crate) fn is_renewing(&self) -> bool {
        self.renewal.is_some()
    }

    /// Units that blocks must leave, so that there can always be two copies and two that follow them: what those that are
    /// there, on their way or in line do not hold already.
    pub(crate) fn units_needed(&self) -> u64 {
        let coming = self.renewal.as_ref().map_or(0, |renewal| renewal.copies);
        (2 * COPIES).saturating_sub(self.places.len() + coming) as u64
    }

    /// Notes a unit that is used no more; with the next copies this becomes durable.
    pub(crate) fn retire(&mut self, place: Place) {
        self.stale |= self.retired.insert(place);
    }

    /// Notes that the copies do not say what they should.
    pub(crate) fn outdated(&mut self) {
        self.stale = true;
    }

    /// Whether new copies ought to be written although nobody waits for them.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale && self.renewal.is_none()
    }

    /// Begins a renewal with copies in so many places.
    pub(crate) fn begin(&mut self, floor: u64, copies: usize) {
        debug_assert!(self.renewal.is_none(), "one renewal at a time");
        self.stale = false;
        self.renewal = Some(Renewal { floor, copies, waiting: copies, written: Vec::new() });
    }

    /// Notes how a copy fared; once all are known and one is written, gives the places of the old ones.
    pub(crate) fn ended(&mut self, outcome: Result<Place, PutFailure>) -> Option<Vec<Place>> {
        let renewal = self.renewal.as_mut().expect("a copy belongs to a renewal");
        self.failure = outcome.err().or(self.failure);
        renewal.written.extend(outcome);
        renewal.waiting -= 1;
        if renewal.waiting > 0 {
            return None;
        }
        let Renewal { floor, mut written, .. } = self.renewal.take().expect("it was there");
        if written.is_empty() {
            // What it was to say is still to be said.
            self.stale = true;
            return None;
        }
        self.floor = floor;
        let mut old = std::mem::take(&mut self.places);
        // Where one of the new copies failed, an old one is better than none beside the other.
        while written.len() < COPIES
            && let Some(place) = old.pop()
        {
            written.push(place);
        }
        self.places = written;
        Some(old)
    }
}

impl<D: DataDevice> Blocks<D> {
    /// Returns the units that hold the copies of the superblock.
    pub fn superblock_places(&self) -> impl Iterator<Item = Place> + '_ {
        self.superblocks.places().iter().copied()
    }

    /// Writes new copies of the superblock where something it has to say is not durable yet: that an id was given out
    /// whose block is to be erased, or that a unit is not to be used.
    pub(crate) fn tend_superblock(&mut self) {
        let deleted = self.deleting.last_key_value().map(|(&id, _)| id);
        let due = self.superblocks.is_stale() || deleted.is_some_and(|id| id >= self.known_below());
        if due && self.awake && !self.superblocks.is_renewing() {
            self.renew_superblock();
        }
    }

    /// Returns a lane for a copy of the superblock at `end`: another than those of `taken` if possible. It needs a unit that
    /// can be written without waiting for a superblock.
    pub(crate) fn lane_for_superblock(&self, end: End, taken: &[u32]) -> Option<u32> {
        let known_below = self.known_below();
        let with_unit = (0..self.layout.lanes).filter(|&lane| {
            let copies = taken.iter().filter(|&&other| other == lane).count();
            self.lanes[lane as usize].units_below(known_below) > copies
        });
        // Rather one where no block counts on the unit.
        with_unit.min_by_key(|lane| {
            let state = &self.lanes[*lane as usize];
            let distance = state.distance(end, *lane, &self.layout).unwrap_or(u64::MAX);
            (taken.contains(lane), distance, state.room() == 0, state.load_bytes)
        })
    }

    /// Begins to write new copies of the superblock.
    pub(crate) fn renew_superblock(&mut self) {
        let mut taken = Vec::new();
        let mut copies = Vec::new();
        for end in [End::First, End::Last] {
            let Some(lane) = self.lane_for_superblock(end, &taken) else { continue };
            taken.push(lane);
            copies.push((lane, end));
        }
        if copies.is_empty() {
            return;
        }
        // Those that a header has no room for are torn: after a restart they are erased before a block is written to them,
        // and fail again.
        let mut retired: Vec<Place> = self.superblocks.retired().iter().copied().collect();
        retired.truncate(retired_most(&self.layout));
        let superblock = Superblock {
            lanes: self.layout.lanes,
            units: self.layout.units,
            unit_bytes: self.layout.unit_bytes,
            granule_bytes: self.layout.granule_bytes,
            id_floor: self.next_id,
            retired,
        };
        let sequence = self.sequence;
        self.sequence += 1;
        self.superblocks.begin(self.next_id, copies.len());
        for (lane, end) in copies {
            let buffer = Buffer::zeroed(self.layout.unit_bytes as usize);
            let superblock = superblock.clone();
            self.enqueue_write(lane, Write::Superblock { buffer, sequence, superblock, attempts: 0, end });
        }
    }

    /// A copy of the superblock is written, or will not be.
    pub(crate) fn superblock_ended(&mut self, outcome: Result<Place, PutFailure>) {
        let Some(old) = self.superblocks.ended(outcome) else { return };
        for place in old {
            self.lanes[place.lane as usize].dirty.push_back(Dirty { unit: place.unit, delete: None });
        }
        self.tend_superblock();
        // Erases waited for it, on any lane.
        self.dispatch_all(0);
    }

    /// Whether a block may take an erased unit: those for the next superblock have to be there after a power cut too, when
    /// blocks whose delete was not done are back.
    pub(crate) fn may_take_unit(&self) -> bool {
        let copies = self.lanes.iter().flat_map(|lane| &lane.writes);
        let copies = copies.filter(|write| matches!(write, Write::Superblock { .. })).count();
        let kept = self.superblocks.units_needed() as usize + copies;
        let erased: usize = self.lanes.iter().map(Lane::erased).sum();
        let others = || self.lanes.iter().flat_map(|lane| &lane.dirty).filter(|dirty| dirty.delete.is_none());
        erased > kept || erased + others().count() > kept
    }
}
