//! Pages that follow each other, placed in one go: what is the same for all of them is asked for once.

use super::{Clean, NoRoom, PageMapped, Placed};
use std::ops::Range;

/// How many pages ahead of the one being placed the old place is fetched into the processor's cache: at 10 ns a page
/// enough to hide an access to memory.
const AHEAD: u32 = 16;
/// Pages of a run at most. Their planes are asked for in one go, and asked for anew behind each cleaning: a request of
/// millions of pages must not ask for all of the rest each time.
pub(super) const MOST: u32 = 128;

impl PageMapped {
    /// [`PageMapped::place`] for one page after the other, up to the first that makes cleaning due or a number of them;
    /// where each went is appended to `placed`. Requires: `cleaned` is empty.
    ///
    /// # Errors
    /// [`NoRoom`] for the page after those that were placed.
    pub fn place_run(
        &mut self,
        pages: Range<u32>,
        placed: &mut Vec<Placed>,
        cleaned: &mut Vec<Clean>,
    ) -> Result<(), NoRoom> {
        debug_assert!(cleaned.is_empty(), "the end of the run is told by it");
        let end = pages.end;
        let pages = pages.start..end.min(pages.start.saturating_add(MOST));
        let mut stripe = std::mem::take(&mut self.stripe);
        let first_chunk = self.per_chunk.of(pages.start);
        if !self.mapping.is_free() && !pages.is_empty() {
            let last_chunk = self.per_chunk.of(pages.end - 1);
            self.allocation.planes(u64::from(first_chunk)..u64::from(last_chunk) + 1, &mut stripe);
        }
        let mut outcome = Ok(());
        for page in pages {
            if page + AHEAD < end {
                self.expect_place(page + AHEAD);
            }
            // A page whose place follows from its address has its plane already.
            let known = stripe.get((self.per_chunk.of(page) - first_chunk) as usize);
            let plane = match known {
                Some(&plane) => Ok(plane),
                None => self.assign(page),
            };
            match plane.and_then(|plane| self.place_on(plane, page, cleaned)) {
                Ok(place) => placed.push(place),
                Err(no_room) => {
                    outcome = Err(no_room);
                    break;
                }
            }
            if !cleaned.is_empty() {
                break;
            }
        }
        stripe.clear();
        self.stripe = stripe;
        outcome
    }
}
