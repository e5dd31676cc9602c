//! Mapping units larger than a flash page: indirection units of 16 to 64 KiB, with which a large drive maps with a
//! small table.
//!
//! A unit lies on pages that follow each other on one plane. It is programmed page by page, and read by as many pages
//! as the part that is asked for lies on; what a write leaves out of its unit is read first, as of a unit that is a
//! page or less. GC moves whole units. The pages of a unit are operations of their own, of which the last has the owner
//! of the unit.
//!
//! Invariant: operations of one class on one plane begin in order, so that the last page of a unit ends last.

use crate::ids::Lpn;
use crate::nand::{FlashOperation, Geometry, Owner, Program, Read, Work};
use crate::pieces::UnitParts;

/// How units lie on pages.
#[derive(Clone, Copy)]
pub(super) struct LargeUnits {
    /// Pages of a unit: a power of two, at most 64.
    pages: u32,
    page_bytes: u64,
}

impl LargeUnits {
    /// `None` where a unit is a page or less.
    pub(super) fn new(geometry: &Geometry) -> Option<Self> {
        let pages = geometry.pages_per_unit;
        (pages > 1).then(|| Self { pages, page_bytes: geometry.page_part_bytes() })
    }

    /// Pages of so many units.
    pub(super) fn pages_of(self, units: u32) -> u32 {
        units * self.pages
    }

    /// The bytes of each page that `bytes` of a unit from `start` on lie on.
    pub(super) fn touched(self, start: u64, bytes: u64) -> impl Iterator<Item = u64> {
        let end = start + bytes;
        (start / self.page_bytes..end.div_ceil(self.page_bytes)).map(move |page| {
            let from = page * self.page_bytes;
            end.min(from + self.page_bytes) - start.max(from)
        })
    }

    /// The bytes of each page of a unit that lacks some of these parts.
    pub(super) fn missing(self, present: UnitParts) -> impl Iterator<Item = u64> {
        let pages =
            (0..self.pages).map(move |page| present.missing_bytes_of(page, self.pages, self.page_bytes));
        pages.filter(|bytes| *bytes > 0)
    }

    /// The reads of pages with these `bytes` in place of the read of a unit. The last stands for all: it is unreadable
    /// where one is. `decide` says how each goes.
    pub(super) fn reads(
        operation: FlashOperation,
        bytes: impl Iterator<Item = u64>,
        mut decide: impl FnMut(&mut Read),
    ) -> Vec<FlashOperation> {
        let Work::Read(of_unit) = operation.work else { unreachable!("it reads") };
        let mut unreadable = false;
        let page = |bus_bytes| {
            let mut read = Read { bus_bytes, ..of_unit };
            decide(&mut read);
            unreadable |= read.unreadable;
            FlashOperation { work: Work::Read(read), owner: Owner::None, ..operation }
        };
        let mut all: Vec<FlashOperation> = bytes.map(page).collect();
        if let Some(last) = all.last_mut() {
            last.owner = operation.owner;
            if let Work::Read(read) = &mut last.work {
                read.unreadable = unreadable;
            }
        }
        all
    }

    /// The programs of pages in place of the program of a unit.
    pub(super) fn programs(self, operation: FlashOperation) -> impl Iterator<Item = FlashOperation> {
        let Work::Program(of_unit) = operation.work else { unreachable!("it programs") };
        let of_unit = Program { bus_bytes: self.page_bytes, ..of_unit };
        let before = Program { lpn: Lpn::NONE, fills_block: false, ..of_unit };
        let before = FlashOperation { work: Work::Program(before), owner: Owner::None, ..operation };
        let last = FlashOperation { work: Work::Program(of_unit), ..operation };
        (1..self.pages).map(move |_| before).chain([last])
    }
}
