//! The places of the mapping units that were asked for last.
//!
//! A write asks three times for the place that it makes invalid: some requests before it, and when it is sent, so that
//! the tables are in the processor's cache by then, and when the unit has its new place. The place is computed once.

use super::filled::Group;
use crate::ids::{Lpn, PlaneId, Ppn};
use std::cell::Cell;

/// Places that are kept: more than most drives have writes in flight and in a small buffer.
const COUNT: usize = 256;

/// Where a mapping unit lies.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) lpn: Lpn,
    pub(super) plane: PlaneId,
    /// Its index on the plane.
    pub(super) index: u32,
    /// Its group of blocks, and its place, where they were asked for.
    pub(super) group: Option<Group>,
    pub(super) ppn: Option<Ppn>,
}

/// The last spots, by the low digits of their mapping units.
pub(super) struct RecentSpots(Box<[Cell<Spot>]>);

impl RecentSpots {
    pub(super) fn new() -> Self {
        let none = Spot { lpn: Lpn::NONE, plane: PlaneId(0), index: 0, group: None, ppn: None };
        Self(vec![Cell::new(none); COUNT].into())
    }

    /// The spot of a mapping unit, which `compute` returns where it is not among the last.
    #[inline]
    pub(super) fn get_or(&self, lpn: Lpn, compute: impl FnOnce() -> (PlaneId, u32)) -> Spot {
        let spot = self.0[lpn.index() % COUNT].get();
        if spot.lpn == lpn {
            return spot;
        }
        let (plane, index) = compute();
        let spot = Spot { lpn, plane, index, group: None, ppn: None };
        self.keep(spot);
        spot
    }

    /// Keeps a spot in place of another.
    #[inline]
    pub(super) fn keep(&self, spot: Spot) {
        self.0[spot.lpn.index() % COUNT].set(spot);
    }
}
