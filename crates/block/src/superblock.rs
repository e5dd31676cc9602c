//! The superblock: two copies on different lanes, written anew where something in it changes.
//!
//! It changes seldom. Ids need it only when the block with the highest one is deleted (its header would have told, after
//! a restart, that its id was given out), and units that fail only where the device does not tell that they are bad. The
//! new copies are written before the old ones are erased, and one of them is enough.

use crate::header::{Place, Superblock};
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
        }
    }

    pub(crate) fn is_durable(&self) -> bool {
        !self.places.is_empty()
    }

    pub(crate) fn copies(&self) -> usize {
        self.places.len()
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
    pub(crate) fn ended(&mut self, place: Option<Place>) -> Option<Vec<Place>> {
        let renewal = self.renewal.as_mut().expect("a copy belongs to a renewal");
        renewal.written.extend(place);
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
