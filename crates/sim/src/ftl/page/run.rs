//! Places consecutive mapping units in one call, with the common work done once.

use super::{GcWork, NoRoom, PageMapped, Placed};
use crate::ids::{Lpn, PlaneId};
use std::ops::Range;

/// How many units ahead of the one being placed the old place is fetched into the processor's cache: at 10 ns a unit
/// enough to hide an access to memory.
const AHEAD: u32 = 16;
/// Most units of a run. Their planes are computed in one call, and again after each GC: a request of millions of units
/// must not compute all of the remaining ones each time.
pub(super) const MOST: u32 = 128;

impl PageMapped {
    /// [`PageMapped::place`] for one unit after the other, up to [`MOST`] of them or the first that makes GC due; the
    /// places are appended to `placed`. Requires: `due` is empty.
    ///
    /// # Errors
    /// [`NoRoom`] for the unit after those that were placed.
    pub fn place_run(
        &mut self,
        lpns: Range<u32>,
        placed: &mut Vec<Placed>,
        due: &mut Vec<GcWork>,
    ) -> Result<(), NoRoom> {
        debug_assert!(due.is_empty(), "GC that is due ends the run");
        let end = lpns.end;
        let lpns = lpns.start..end.min(lpns.start.saturating_add(MOST));
        let mut stripe = std::mem::take(&mut self.stripe);
        let first_chunk = self.per_chunk.of(lpns.start);
        if !self.mapping.is_free() && !lpns.is_empty() {
            let last_chunk = self.per_chunk.of(lpns.end - 1);
            self.allocation.planes(u64::from(first_chunk)..u64::from(last_chunk) + 1, &mut stripe);
        }
        let mut outcome = Ok(());
        for lpn in lpns.map(Lpn) {
            if lpn.0 + AHEAD < end {
                self.prefetch_place(Lpn(lpn.0 + AHEAD));
            }
            // A unit whose place follows from its address has its plane already.
            let known = stripe.get((self.per_chunk.of(lpn.0) - first_chunk) as usize);
            let plane = match known {
                Some(&plane) => Ok(PlaneId(plane)),
                None => self.assign(lpn),
            };
            match plane.and_then(|plane| self.place_on(plane, lpn, due)) {
                Ok(place) => placed.push(place),
                Err(no_room) => {
                    outcome = Err(no_room);
                    break;
                }
            }
            if !due.is_empty() {
                break;
            }
        }
        stripe.clear();
        self.stripe = stripe;
        outcome
    }
}
