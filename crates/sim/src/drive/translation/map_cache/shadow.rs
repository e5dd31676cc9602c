//! For tests: the map as the translation pages on flash have it, beside what the tables know.

use super::MapCache;
use super::page_write::{PageWrite, PageWriteStage};
use crate::ftl::Ftl;
use crate::ids::{Lpn, Ppn};

#[derive(Default)]
pub(super) struct Shadow {
    /// By mapping unit of the host, the place that its translation page has for it.
    places: Vec<Option<Ppn>>,
    /// Whether a translation page could not be written, as too many blocks have worn out.
    ran_out: bool,
}

impl MapCache {
    /// A prepared drive has its map on flash.
    pub(in crate::drive::translation) fn begin_shadow(&mut self, ftl: &Ftl) {
        // Larger drives are made only to measure how fast.
        if self.first_page.0 < 1 << 18 {
            self.shadow.places = (0..self.first_page.0).map(|lpn| ftl.place_of(Lpn(lpn))).collect();
        }
    }

    fn shadowed(&self, page: u32) -> std::ops::Range<u32> {
        if self.shadow.places.is_empty() { 0..0 } else { self.units_of(page) }
    }

    /// A translation page is programmed.
    pub(in crate::drive::translation) fn note_page_write(&mut self, ftl: &Ftl, page: u32) {
        for lpn in self.shadowed(page) {
            // What stays dirty is not in the program.
            if !self.lines.is_dirty(self.line_of(Lpn(lpn))) {
                self.shadow.places[lpn as usize] = ftl.place_of(Lpn(lpn));
            }
        }
    }

    /// A translation page has no room.
    pub(in crate::drive::translation) fn note_no_room(&mut self, ftl: &Ftl) {
        assert!(ftl.counters().worn_out_blocks > 0, "a drive without worn blocks has room for its map");
        self.shadow.ran_out = true;
    }

    /// A translation page is trimmed.
    pub(in crate::drive::translation) fn note_trim(&mut self, page: u32) {
        for lpn in self.shadowed(page) {
            self.shadow.places[lpn as usize] = None;
        }
    }

    /// Panics where an invariant at the head of the module does not hold.
    pub(in crate::drive::translation) fn check(&self, ftl: &Ftl) {
        self.lines.check();
        for (lpn, &on_flash) in (0..).map(Lpn).zip(&self.shadow.places) {
            let will_be_written = |page| {
                self.page_write_of.get(&page).is_some_and(|&slot| {
                    let PageWrite { stage, again, cancelled, .. } = self.page_writes[slot];
                    !cancelled && (again || stage != PageWriteStage::Programming)
                })
            };
            assert!(
                self.shadow.ran_out
                    || on_flash == ftl.place_of(lpn)
                    || self.lines.is_dirty(self.line_of(lpn))
                    || will_be_written(self.page_of(lpn)),
                "{lpn:?} is at {:?}, its translation page says {on_flash:?}",
                ftl.place_of(lpn)
            );
        }
        assert!(self.resumed.is_empty(), "what can go on does so");
    }

    /// Panics where anything waits.
    pub(in crate::drive::translation) fn check_idle(&self) {
        let waiting = [self.load_of.len(), self.page_write_of.len(), self.without_room.len()];
        assert_eq!(waiting, [0; 3], "loads, page writes and accesses without room");
        assert_eq!(self.fetches.slots_in_use().len(), 0, "lines on their way from the host");
    }
}
