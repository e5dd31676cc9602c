//! Translation pages: where the map lies on flash, if not all of it is in memory (DFTL; Gupta et al., ASPLOS 2009,
//! section 3).
//!
//! A translation page has the entries of consecutive mapping units and takes a mapping unit itself. It is numbered
//! behind those of the host, so that the tables hold its place as they do that of any unit: its part of the map is
//! DFTL's global translation directory, which is in memory. Translation pages are written to blocks of their own, one
//! open on each plane, as DFTL does: the pages of a block become invalid soon, together, and no data are moved with
//! them. GC moves them to such blocks, too, except where that would take the last free block, which data may need. They
//! are spread over the planes in turn, or by their number where the place of a unit follows from its address.
//!
//! This file has places only; what is in memory, and when a translation page is read and written, is in
//! `drive::translation::map_cache`.

use super::gc::TRANSLATION_STREAM;
use super::{GcWork, NoRoom, PageMapped, Placed};
use crate::config::DriveConfig;
use crate::ids::{Lpn, PlaneId};
use crate::nand::Geometry;

/// What is special about the places of translation pages.
pub(super) struct TranslationPages {
    /// The mapping unit that the first page takes: those before it are the host's.
    first: Lpn,
    count: u32,
    /// The position of the next page in the stripe.
    next: u64,
    /// Mapping units of the host that GC moved, whose entries have changed.
    moved: Vec<Lpn>,
}

impl TranslationPages {
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let first = Lpn(geometry.logical_units);
        config.mapping.cache.as_ref().map(|_| Self {
            first,
            count: geometry.section_units,
            next: 0,
            moved: Vec::new(),
        })
    }

    /// Whether a mapping unit is that of a translation page.
    #[inline]
    pub(super) fn has(&self, lpn: Lpn) -> bool {
        lpn >= self.first
    }

    /// GC moves a mapping unit. Returns whether it is a translation page, of which memory knows the place.
    #[inline]
    pub(super) fn note_move(&mut self, lpn: Lpn) -> bool {
        let is_page = self.has(lpn);
        if !is_page {
            self.moved.push(lpn);
        }
        is_page
    }
}

impl PageMapped {
    /// The number of translation pages.
    pub(super) fn translation_page_count(&self) -> u32 {
        self.translation_pages.as_ref().map_or(0, |pages| pages.count)
    }

    /// Blocks of a plane that are written with translation pages at once.
    pub(super) fn translation_streams(&self) -> u32 {
        u32::from(self.translation_pages.is_some())
    }

    /// Finds a new place for a translation page; the old one becomes invalid.
    ///
    /// # Errors
    /// [`NoRoom`] where too many blocks have worn out; the page stays where it was.
    pub fn place_translation_page(&mut self, page: u32, due: &mut Vec<GcWork>) -> Result<Placed, NoRoom> {
        debug_assert!(page < self.translation_page_count(), "there is no translation page {page}");
        let lpn = Lpn(self.geometry.logical_units + page);
        let plane = self.plane_of_translation(lpn)?;
        let is_full = |layer: &Self| {
            layer.planes[plane.index()].open[TRANSLATION_STREAM].written >= layer.geometry.data_units
        };
        let opens_block = is_full(self);
        if opens_block {
            self.open_next_block(plane, TRANSLATION_STREAM, due).ok_or(NoRoom)?;
        }
        let ppn = self.next_unit(plane, TRANSLATION_STREAM);
        let fills_block = is_full(self);
        self.invalidate(lpn);
        self.map_unit(lpn, ppn, plane);
        self.counters.translation_pages += 1;
        if self.pacer.is_some() {
            self.pace(plane, 1, due);
        } else if opens_block {
            self.collect_to_low_watermark(plane, due);
        }
        Ok(self.placed_by_type(plane, ppn, fills_block))
    }

    /// Whether GC can move a translation page to a block for such without taking the last free block.
    pub(super) fn has_room_for_page(&self, plane: PlaneId) -> bool {
        let state = &self.planes[plane.index()];
        state.open[TRANSLATION_STREAM].written < self.geometry.data_units || state.free.len() > 1
    }

    fn plane_of_translation(&mut self, lpn: Lpn) -> Result<PlaneId, NoRoom> {
        if !self.mapping.is_free() {
            return self.assign(lpn);
        }
        // With a random allocation neighbours may share a plane: a few rounds reach nearly all of them.
        for _ in 0..u64::from(self.geometry.planes) * 16 {
            let translation =
                self.translation_pages.as_mut().expect("only a drive with translation pages places them");
            let plane = PlaneId(self.allocation.plane(translation.next));
            translation.next += 1;
            if self.has_room(plane, lpn) {
                return Ok(plane);
            }
        }
        (0..self.geometry.planes).map(PlaneId).find(|&plane| self.has_room(plane, lpn)).ok_or(NoRoom)
    }

    /// Appends the mapping units of the host that GC moved since the last call.
    pub fn take_moved(&mut self, moved: &mut Vec<Lpn>) {
        if let Some(translation) = &mut self.translation_pages {
            moved.append(&mut translation.moved);
        }
    }
}
