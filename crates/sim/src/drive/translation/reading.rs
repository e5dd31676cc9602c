//! Reads of mapping units: for the host, for what a write leaves out, ahead of the host. Where a part of the map is on
//! flash, each waits for its place to be known.

use super::super::request::DriveKernel;
use super::Translation;
use super::large_units::LargeUnits;
use crate::ids::{FlashPage, Lpn, PlaneId, RequestSlot};
use crate::nand::{FlashOperation, Owner, Read};
use crate::pieces::{Piece, UnitParts};
use flashlane_policy::scheduling::Class;

impl Translation {
    /// The plane and flash page of a mapping unit, if it was ever written. Copies lie elsewhere, so that where there
    /// are some, no read is known to be of the same flash page as another.
    #[inline]
    pub(in crate::drive) fn place_of(&self, lpn: Lpn) -> Option<(PlaneId, FlashPage)> {
        match self.units_per_page > 1 && self.replicator.is_none() {
            true => self.ftl.plane_and_page_of(lpn),
            false => self.ftl.plane_of(lpn).map(|plane| (plane, FlashPage::ALONE)),
        }
    }

    /// The read of `bytes` of a mapping unit where it lies.
    #[inline]
    pub(super) fn read_of(&self, lpn: Lpn, bytes: u64) -> Read {
        let page = self.place_of(lpn).map_or(FlashPage::ALONE, |(_, page)| page);
        self.read_on(page, lpn, bytes)
    }

    /// The read of `bytes` of a mapping unit on this flash page.
    #[inline]
    fn read_on(&self, page: FlashPage, lpn: Lpn, bytes: u64) -> Read {
        Read { page, page_type: self.ftl.page_type_of(lpn), ..Read::of(lpn, bytes) }
    }

    /// Reads a part of a mapping unit for a host read.
    #[inline]
    pub(in crate::drive) fn read_for_host(
        &mut self,
        kernel: &mut DriveKernel,
        slot: RequestSlot,
        place: (PlaneId, FlashPage),
        piece: Piece,
    ) {
        let (owner, class) = (Owner::Request(slot), Class::HostRead);
        let (lpn, bytes) = (piece.lpn, u64::from(piece.bytes));
        if let Some(large) = self.large_units {
            return self.read_pages_for_host(kernel, large, slot, place, piece);
        }
        if self.map_cache.is_none() || self.look_up_for_read(kernel, owner, class, lpn, bytes) {
            self.read_mapped(kernel, slot, place, lpn, bytes);
        }
    }

    /// The same of a mapping unit that is larger than a page.
    fn read_pages_for_host(
        &mut self,
        kernel: &mut DriveKernel,
        large: LargeUnits,
        slot: RequestSlot,
        (plane, page): (PlaneId, FlashPage),
        piece: Piece,
    ) {
        let read = self.read_on(page, piece.lpn, u64::from(piece.bytes));
        let unit = FlashOperation::read(Owner::Request(slot), kernel.class_of_reads(slot), plane, read);
        let bytes = large.touched(u64::from(piece.start), u64::from(piece.bytes));
        let pages = LargeUnits::reads(unit, bytes, |read| {
            if let Some(correction) = &mut self.correction {
                correction.decide(read, || self.ftl.wear_of(piece.lpn));
                self.read_retries += u64::from(read.retries);
            }
        });
        pages.into_iter().for_each(|page| kernel.enqueue(page));
    }

    /// [`Translation::read_for_host`] where the place of the mapping unit is known.
    #[inline]
    pub(super) fn read_mapped(
        &mut self,
        kernel: &mut DriveKernel,
        slot: RequestSlot,
        (plane, page): (PlaneId, FlashPage),
        lpn: Lpn,
        bytes: u64,
    ) {
        let mut read = self.read_on(page, lpn, bytes);
        if let Some(correction) = &mut self.correction {
            correction.decide(&mut read, || self.ftl.wear_of(lpn));
            self.read_retries += u64::from(read.retries);
        }
        let (owner, class) = (Owner::Request(slot), Class::HostRead);
        if let Some(replicator) = &mut self.replicator {
            return replicator.read(kernel, &self.ftl, owner, plane, read);
        }
        if let Some(rebuilder) = &mut self.rebuilder {
            return rebuilder.read(kernel, &self.ftl, &mut self.correction, owner, plane, read);
        }
        kernel.enqueue(FlashOperation::read(owner, class, plane, read));
    }

    /// Reads what a mapping unit has beside the parts `present`, which a write leaves out.
    pub(in crate::drive) fn read_rest(
        &mut self,
        kernel: &mut DriveKernel,
        owner: Owner,
        plane: PlaneId,
        lpn: Lpn,
        present: UnitParts,
    ) {
        self.note_access(kernel, plane);
        let class = Class::Write;
        let bytes = present.missing_bytes(self.unit_bytes);
        if let Some(large) = self.large_units {
            let unit = FlashOperation::read(owner, class, plane, self.read_of(lpn, bytes));
            let pages = LargeUnits::reads(unit, large.missing(present), |_| {});
            return pages.into_iter().for_each(|page| kernel.enqueue(page));
        }
        if self.map_cache.is_none() || self.look_up_for_read(kernel, owner, class, lpn, bytes) {
            kernel.enqueue(FlashOperation::read(owner, class, plane, self.read_of(lpn, bytes)));
        }
    }

    /// Returns whether the place of a mapping unit is known that is to be read ahead; otherwise it is resumed later.
    #[inline]
    pub(in crate::drive) fn look_up_ahead(&mut self, kernel: &mut DriveKernel, lpn: Lpn) -> bool {
        let (owner, class) = (Owner::Readahead, Class::Readahead);
        self.map_cache.is_none() || self.look_up_for_read(kernel, owner, class, lpn, self.unit_bytes)
    }

    /// Reads a mapping unit ahead of the host.
    pub(in crate::drive) fn read_ahead(
        &mut self,
        kernel: &mut DriveKernel,
        class: Class,
        plane: PlaneId,
        lpn: Lpn,
    ) {
        self.note_access(kernel, plane);
        let unit = FlashOperation::read(Owner::Readahead, class, plane, self.read_of(lpn, self.unit_bytes));
        match self.large_units {
            None => kernel.enqueue(unit),
            Some(large) => {
                let pages = LargeUnits::reads(unit, large.touched(0, self.unit_bytes), |_| {});
                pages.into_iter().for_each(|page| kernel.enqueue(page));
            }
        }
    }

    /// Reports an access to replication that it does not serve.
    fn note_access(&mut self, kernel: &DriveKernel, plane: PlaneId) {
        if let Some(replicator) = &mut self.replicator {
            replicator.access(kernel.flash().die_of(plane), kernel.now());
        }
    }
}
