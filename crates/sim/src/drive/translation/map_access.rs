//! How translation uses the cache of its map: a lookup that misses waits, and goes on later; translation pages are
//! placed and programmed. Without a cache all of this does nothing.

use super::super::request::DriveKernel;
use super::Translation;
use super::map_cache::{FetchSlot, LoadSlot, LookupKind, MapLookup, PageWriteSlot, Waiting};
use super::tasks::{HOST_MEMORY, LOAD, PAGE_WRITE};
use crate::event::Event;
use crate::ids::{Lpn, RequestSlot, TaskKind};
use crate::nand::{FlashOperation, Owner, Read, Work};
use flashlane_base::Duration;
use flashlane_device::Part;
use flashlane_policy::scheduling::Class;
use std::ops::Range;

/// A lookup that waited for the map and goes on.
pub(in crate::drive) enum Resumed {
    /// A mapping unit is to be programmed for `owner`.
    Write { owner: Owner, lpn: Lpn },
    /// A mapping unit is to be read ahead of the host.
    Readahead(Lpn),
    /// A read of a mapping unit that is not on flash has ended.
    Ended(FlashOperation),
}

impl Translation {
    /// Whether a part of the map is on flash.
    #[inline]
    pub(in crate::drive) fn has_map_cache(&self) -> bool {
        self.map_cache.is_some()
    }

    /// Whether flash has to be read before it is known where, if anywhere, a mapping unit lies.
    #[inline]
    pub(in crate::drive) fn needs_map_read(&self, lpn: Lpn) -> bool {
        self.map_cache.as_ref().is_some_and(|cache| cache.is_on_flash_only(&self.ftl, lpn))
    }

    /// Returns whether the place of a mapping unit is known that is to be programmed for `owner`; otherwise it is
    /// resumed later.
    #[inline]
    pub(in crate::drive) fn look_up_for_write(
        &mut self,
        kernel: &mut DriveKernel,
        owner: Owner,
        lpn: Lpn,
    ) -> bool {
        self.map_cache.is_none() || self.look_up(kernel, MapLookup { owner, lpn, kind: LookupKind::Write })
    }

    /// Looks up the place of a mapping unit for a read of `bytes`, as [`Self::look_up_for_write`] does for a write.
    #[inline]
    pub(super) fn look_up_for_read(
        &mut self,
        kernel: &mut DriveKernel,
        owner: Owner,
        class: Class,
        lpn: Lpn,
        bytes: u64,
    ) -> bool {
        self.look_up(kernel, MapLookup { owner, lpn, kind: LookupKind::Read { class, bytes } })
    }

    /// Looks up the place of a mapping unit that the host reads and that is not on flash.
    pub(in crate::drive) fn look_up_for_host(
        &mut self,
        kernel: &mut DriveKernel,
        slot: RequestSlot,
        lpn: Lpn,
        bytes: u64,
    ) {
        let is_known = self.look_up_for_read(kernel, Owner::Request(slot), Class::HostRead, lpn, bytes);
        debug_assert!(!is_known, "the place of {lpn:?} is on flash");
    }

    #[inline(never)]
    fn look_up(&mut self, kernel: &mut DriveKernel, lookup: MapLookup) -> bool {
        let Some(cache) = &mut self.map_cache else { return true };
        let is_known = cache.look_up(kernel, &self.ftl, lookup);
        self.settle_map(kernel);
        is_known
    }

    /// Enters the new place of a mapping unit in the map.
    pub(super) fn update_map(&mut self, kernel: &mut DriveKernel, lpn: Lpn) {
        if let Some(cache) = &mut self.map_cache {
            cache.update(kernel, &self.ftl, lpn);
            self.settle_map(kernel);
        }
    }

    /// Mapping units were trimmed.
    pub(in crate::drive) fn trimmed(&mut self, kernel: &mut DriveKernel, units: Range<u32>) {
        let Some(cache) = &mut self.map_cache else { return };
        for page in cache.trimmed(kernel, &self.ftl, units) {
            self.ftl.trim(cache.unit_of(page));
            #[cfg(test)]
            cache.note_trim(page);
        }
        self.settle_map(kernel);
    }

    /// Updates the map for the units that GC moved, and programs the translation pages that are ready, until there are
    /// none.
    #[inline]
    pub(super) fn settle_map(&mut self, kernel: &mut DriveKernel) {
        if self.map_cache.is_some() {
            while self.update_moved(kernel) || self.program_translation_page(kernel) {}
        }
    }

    /// Updates the map for the units that GC moved. Returns whether there were any.
    fn update_moved(&mut self, kernel: &mut DriveKernel) -> bool {
        let Some(cache) = &mut self.map_cache else { return false };
        let mut moved = std::mem::take(&mut self.moved);
        self.ftl.take_moved(&mut moved);
        let is_any = !moved.is_empty();
        moved.drain(..).for_each(|lpn| cache.update(kernel, &self.ftl, lpn));
        self.moved = moved;
        is_any
    }

    /// Places and programs the next translation page that is ready. Returns whether there was one.
    fn program_translation_page(&mut self, kernel: &mut DriveKernel) -> bool {
        let Some((slot, page)) = self.map_cache.as_mut().and_then(|cache| cache.next_ready()) else {
            return false;
        };
        let owner = slot.owner();
        let placed = page.and_then(|page| {
            let place = self.ftl.place_translation_page(page, &mut self.due_gc).ok()?;
            Some((page, place))
        });
        match placed {
            Some((page, place)) => {
                let cache = self.map_cache.as_ref().expect("it has the page");
                let program = self.program_operation(owner, cache.unit_of(page), place, false);
                #[cfg(test)]
                self.map_cache.as_mut().expect("it has the page").note_page_write(&self.ftl, page);
                self.enqueue_placed(kernel, program, place, false);
            }
            None => {
                #[cfg(test)]
                if page.is_some() {
                    self.map_cache.as_mut().expect("it has the page").note_no_room(&self.ftl);
                }
                self.enqueue_with_gc(kernel, None);
                kernel.start_timer(Duration::ZERO, Event::Task(PAGE_WRITE, slot.0));
            }
        }
        true
    }

    /// An operation of the cache has ended.
    pub(super) fn map_operation_finished(&mut self, kernel: &mut DriveKernel, operation: &FlashOperation) {
        let cache = self.map_cache.as_mut().expect("the operation is its own");
        match (operation.owner, operation.work) {
            (Owner::Task(LOAD, slot), _) => cache.page_loaded(kernel, &self.ftl, LoadSlot(slot)),
            (Owner::Task(_, slot), Work::Read(_)) => cache.page_complete(PageWriteSlot(slot)),
            (Owner::Task(_, slot), _) => cache.page_written(kernel, &self.ftl, PageWriteSlot(slot)),
            (owner, work) => unreachable!("{work:?} is not done for {owner:?}"),
        }
        cache.retry_without_room(kernel, &self.ftl);
        self.settle_map(kernel);
    }

    /// A timer of the cache has ended: a line has come from the host's memory, or a page write ends without a program.
    pub(super) fn map_timer_ended(&mut self, kernel: &mut DriveKernel, kind: TaskKind, slot: u32) {
        let cache = self.map_cache.as_mut().expect("the timer is its own");
        if kind == HOST_MEMORY {
            return cache.fetched(FetchSlot(slot));
        }
        cache.page_written(kernel, &self.ftl, PageWriteSlot(slot));
        cache.retry_without_room(kernel, &self.ftl);
        self.settle_map(kernel);
    }

    /// The next lookup that goes on and that translation cannot continue by itself.
    pub(in crate::drive) fn next_resumed(&mut self, kernel: &mut DriveKernel) -> Option<Resumed> {
        while let Some(Waiting { lookup, account }) = self.map_cache.as_mut()?.next_resumed() {
            let MapLookup { owner, lpn, kind } = lookup;
            kernel.resume_account(owner, account, Part::Mapping);
            let LookupKind::Read { class, bytes } = kind else {
                return Some(Resumed::Write { owner, lpn });
            };
            if owner == Owner::Readahead {
                return Some(Resumed::Readahead(lpn));
            }
            match (self.place_of(lpn), owner) {
                (Some(place), Owner::Request(slot)) => self.read_mapped(kernel, slot, place, lpn, bytes),
                (Some((plane, _)), _) => {
                    let read = self.read_of(lpn, bytes);
                    kernel.enqueue(FlashOperation::read(owner, class, plane, read));
                }
                (None, _) => {
                    // Any plane: nothing is read there.
                    let read = Read::of(lpn, bytes);
                    return Some(Resumed::Ended(FlashOperation::read(
                        owner,
                        class,
                        Default::default(),
                        read,
                    )));
                }
            }
        }
        None
    }

    /// Panics where the map on flash and in memory disagree with the tables; `idle`: nothing is under way.
    #[cfg(test)]
    pub(in crate::drive) fn check_map(&self, idle: bool) {
        if let Some(cache) = &self.map_cache {
            cache.check(&self.ftl);
            if idle {
                cache.check_idle();
            }
        }
    }

    /// Power is back: what was cut short goes on.
    pub(in crate::drive) fn power_returned(&mut self, kernel: &mut DriveKernel) {
        if let Some(cache) = &mut self.map_cache {
            cache.power_returned(kernel, &self.ftl);
            self.settle_map(kernel);
        }
    }
}
