//! The choice of the plane for a mapping unit: the stripe's, and of the planes of its pool the one with the most free
//! units.

use super::{NoRoom, PageMapped};
use crate::ids::{Lpn, PlaneId};
use std::ops::Range;

/// Where an allocation pool looks for room: mostly one look is enough, because planes with as much room take searches
/// and one whose block was just erased leads for a while.
#[derive(Clone, Copy)]
pub(super) struct PoolSearch {
    /// The plane that is looked at first.
    first: u32,
    /// No plane of the pool has more free units than this.
    most: u32,
    /// The plane that had the most when all were looked at …
    leader: u32,
    /// … and no other has more than this.
    most_of_others: u32,
}

impl PoolSearch {
    /// Of a pool whose first plane is `first`, of which nothing is known yet.
    pub(super) fn new(first: u32) -> Self {
        Self { first, most: u32::MAX, leader: first, most_of_others: u32::MAX }
    }

    /// An erase left `plane` with this number of free units.
    #[inline]
    pub(super) fn block_erased(&mut self, plane: PlaneId, free_units: u32) {
        self.most = self.most.max(free_units);
        if plane.0 != self.leader {
            self.most_of_others = self.most_of_others.max(free_units);
        }
    }

    /// Takes the state after a pool of empty planes took `units` in turns. Requires: `free_units` has what is left.
    pub(super) fn take_turns(&mut self, units: u32, free_units: &[u32], pool_planes: u32) {
        let Some(before_last) = units.checked_sub(1) else { return };
        let start = self.first;
        // All planes were looked at last when the first of them took a unit of the last round.
        self.leader = start;
        self.most = free_units[start as usize] + 1;
        self.most_of_others = if pool_planes > 1 { self.most } else { 0 };
        self.first = start + (before_last + 1) % pool_planes;
    }
}

impl PageMapped {
    /// The plane that the stripe has for the next write of mapping unit `lpn`.
    #[inline]
    fn striped(&mut self, lpn: Lpn, chunk_units: u64) -> PlaneId {
        let position = self.mapping.position(u64::from(lpn.0));
        let chunk = if chunk_units == 1 { position } else { position / chunk_units };
        PlaneId(self.allocation.plane(chunk))
    }

    /// Chooses the plane for mapping unit `lpn`: the stripe's; where that plane is full of valid units and the mapping
    /// leaves the choice free, the next one with room.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out.
    pub fn assign(&mut self, lpn: Lpn) -> Result<PlaneId, NoRoom> {
        let chunk_units = u64::from(self.geometry.chunk_units);
        let plane = self.striped(lpn, chunk_units);
        if !self.mapping.is_free() || self.planes[plane.index()].has_room(&self.geometry) {
            return Ok(plane);
        }
        if self.can_take(plane, lpn) {
            return Ok(plane);
        }
        // With a random allocation neighbouring chunks may share a plane: a few rounds reach nearly all of them.
        for _ in 0..u64::from(self.geometry.planes) * chunk_units * 16 {
            let plane = self.striped(lpn, chunk_units);
            if self.can_take(plane, lpn) {
                return Ok(plane);
            }
        }
        (0..self.geometry.planes).map(PlaneId).find(|&plane| self.can_take(plane, lpn)).ok_or(NoRoom)
    }

    #[inline]
    pub fn can_take(&self, plane: PlaneId, lpn: Lpn) -> bool {
        !self.mapping.is_free() || self.pool_of(plane).map(PlaneId).any(|plane| self.has_room(plane, lpn))
    }

    /// Whether a plane has room for a unit: a unit that lies there leaves the room of its old place.
    pub(super) fn has_room(&self, plane: PlaneId, lpn: Lpn) -> bool {
        let state = &self.planes[plane.index()];
        state.has_room(&self.geometry) || self.lies_on(lpn, plane) && state.has_room_in_place(&self.geometry)
    }

    fn lies_on(&self, lpn: Lpn, plane: PlaneId) -> bool {
        self.place_of(lpn).is_some_and(|ppn| self.plane_at(ppn) == plane)
    }

    /// The planes of the allocation pool that `plane` belongs to.
    fn pool_of(&self, plane: PlaneId) -> Range<u32> {
        let first = self.per_pool.of(plane.0) * self.geometry.pool_planes;
        first..first + self.geometry.pool_planes
    }

    /// The plane of a pool that has the most free units and room for `lpn`; planes that have as many take searches.
    #[inline]
    pub(super) fn plane_with_most_free_units(&mut self, plane: PlaneId, lpn: Lpn) -> Result<PlaneId, NoRoom> {
        let pool = self.pool_of(plane);
        let free = |plane: u32| self.free_units[plane as usize];
        let search = &mut self.searches[self.per_pool.of(plane.0) as usize];
        let best = if free(search.leader) > search.most_of_others {
            search.leader
        } else if free(search.first) >= search.most {
            search.first
        } else {
            let (mut best, mut most_of_others) = (search.first, 0);
            for plane in (search.first + 1..pool.end).chain(pool.start..search.first) {
                if free(plane) > free(best) {
                    most_of_others = free(best);
                    best = plane;
                } else {
                    most_of_others = most_of_others.max(free(plane));
                }
            }
            (search.most, search.leader, search.most_of_others) = (free(best), best, most_of_others);
            best
        };
        search.first = if best + 1 == pool.end { pool.start } else { best + 1 };
        if self.planes[best as usize].has_room(&self.geometry) {
            return Ok(PlaneId(best));
        }
        // Free units are no room where too many others are valid.
        let mut others: Vec<PlaneId> = pool.map(PlaneId).filter(|&plane| self.has_room(plane, lpn)).collect();
        others.sort_by_key(|&plane| std::cmp::Reverse(self.free_units[plane.index()]));
        others.first().copied().ok_or(NoRoom)
    }
}
