//! Page writes: translation pages that have changed are read, unless all of them is in memory, and programmed anew.
//!
//! ```text
//! Reading ─> Ready ─> Programming ─> ended, or Ready once more if the page has changed meanwhile
//! ```
//!
//! A trimmed page ends without its program.

use super::super::super::request::DriveKernel;
use super::{LoadSlot, MapCache, PAGE_WRITE, PageWriteSlot};
use crate::ftl::Ftl;
use crate::nand::{FlashOperation, Owner, Read};
use flashlane_policy::scheduling::Class;

/// A translation page that is written.
pub(super) struct PageWrite {
    pub(super) page: u32,
    pub(super) stage: PageWriteStage,
    /// Whether the page has changed once more since its program began.
    pub(super) again: bool,
    /// Whether the page was trimmed, so that it is not programmed.
    pub(super) cancelled: bool,
    /// Loads that wait for this program, and for the next one.
    pub(super) waiting: Vec<LoadSlot>,
    pub(super) waiting_for_next: Vec<LoadSlot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageWriteStage {
    Reading,
    /// All of it is in memory.
    Ready,
    Programming,
}

impl PageWriteSlot {
    pub(in crate::drive::translation) fn owner(self) -> Owner {
        Owner::Task(PAGE_WRITE, self.0)
    }
}

impl MapCache {
    /// Writes a translation page that has changed; `load` waits for it.
    pub(super) fn begin_page_write(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        page: u32,
        load: Option<LoadSlot>,
    ) {
        if let Some(&slot) = self.page_write_of.get(&page) {
            let write = &mut self.page_writes[slot];
            write.cancelled = false;
            if write.stage == PageWriteStage::Programming {
                write.again = true;
                write.waiting_for_next.extend(load);
            } else {
                write.waiting.extend(load);
            }
            return;
        }
        // A whole page that gave up its room is in memory.
        let is_whole = load.is_some() && self.line_units == self.page_units;
        let plane = ftl.plane_of(self.unit_of(page)).filter(|_| !is_whole);
        let stage = if plane.is_some() { PageWriteStage::Reading } else { PageWriteStage::Ready };
        let slot = self.page_writes.insert(PageWrite {
            page,
            stage,
            again: false,
            cancelled: false,
            waiting: load.into_iter().collect(),
            waiting_for_next: Vec::new(),
        });
        self.page_write_of.insert(page, slot);
        match plane {
            None => self.ready.push_back(slot),
            Some(plane) => {
                self.counts.reads += 1;
                let unit = self.unit_of(page);
                let read = Read { page_type: ftl.page_type_of(unit), ..Read::of(unit, self.unit_bytes) };
                kernel.enqueue(FlashOperation::read(slot.owner(), Class::Write, plane, read));
            }
        }
    }

    /// The rest of a page that is written has been read.
    pub(in crate::drive::translation) fn page_complete(&mut self, slot: PageWriteSlot) {
        self.page_writes[slot].stage = PageWriteStage::Ready;
        self.ready.push_back(slot);
    }

    /// The next page write to be programmed, with its translation page; `None` for the page where it was trimmed.
    pub(in crate::drive::translation) fn next_ready(&mut self) -> Option<(PageWriteSlot, Option<u32>)> {
        let slot = self.ready.pop_front()?;
        let PageWrite { page, cancelled, .. } = self.page_writes[slot];
        self.page_writes[slot].stage = PageWriteStage::Programming;
        if cancelled {
            return Some((slot, None));
        }
        if self.batch {
            self.lines.clean(self.lines_of(page));
        }
        Some((slot, Some(page)))
    }

    /// A page write has ended: it was programmed, or cannot be.
    pub(in crate::drive::translation) fn page_written(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        slot: PageWriteSlot,
    ) {
        let write = &mut self.page_writes[slot];
        let waiting = std::mem::take(&mut write.waiting);
        if std::mem::take(&mut write.again) {
            write.waiting = std::mem::take(&mut write.waiting_for_next);
            // It is still in memory.
            write.stage = PageWriteStage::Ready;
            self.ready.push_back(slot);
        } else {
            debug_assert!(write.waiting_for_next.is_empty(), "loads wait for a program that comes");
            self.page_write_of.remove(&write.page);
            self.page_writes.remove(slot);
        }
        for load in waiting {
            self.loads[load].page_writes -= 1;
            self.advance_load(kernel, ftl, load);
        }
    }
}
