//! Reads: from the write buffer, the read cache, or flash; then over the link, page by page or whole.

use super::Drive;
use crate::buffer::WriteBuffer;
use crate::cache::Hit;
use crate::host::{Direction, Holder, Side};
use crate::nand::{Kind, Operation as FlashOperation, Owner};
use crate::pages::{piece, pieces};
use crate::request::HostRequest;
use flashlane_device::Failure;
use flashlane_policy::scheduling::Class;

impl Drive {
    pub(super) fn read_arrived(&mut self, request: u32) {
        self.counts.reads += 1;
        if self.exclusion.is_some() && self.needs_flash(request) && !self.may_enter(Side::Read, request) {
            return;
        }
        self.read_pages(request);
    }

    /// Whether any page of the read has to come from flash and is not on its way already.
    fn needs_flash(&self, request: u32) -> bool {
        let state = &self.requests[request];
        let page_bytes = self.geometry.page_bytes;
        pieces(state.offset_bytes, state.length_bytes, page_bytes).any(|piece| {
            let touched = piece.touched(page_bytes);
            let buffered =
                self.buffer.as_ref().is_some_and(|buffer| buffer.present(piece.page) & touched == touched);
            let cached = self.readahead.as_ref().is_some_and(|(_, cache)| cache.contains(piece.page));
            !buffered && !cached && self.ftl.plane_of(piece.page).is_some()
        })
    }

    /// Finds every page of the read.
    pub(super) fn read_pages(&mut self, request: u32) {
        let (offset, length) = (self.requests[request].offset_bytes, self.requests[request].length_bytes);
        let page_bytes = self.geometry.page_bytes;
        let (mut pages, mut ready_pages, mut ready_bytes, mut from_flash) = (0, 0, 0, 0);
        for piece in pieces(offset, length, page_bytes) {
            pages += 1;
            if let Some(buffer) = &mut self.buffer
                && buffer.read(piece.page, piece.touched(page_bytes))
            {
                self.counts.buffer_hits += 1;
                ready_pages += 1;
                ready_bytes += u64::from(piece.bytes);
                continue;
            }
            if let Some((_, cache)) = &mut self.readahead {
                let hit = cache.look_up(piece.page, (request, piece.bytes));
                self.counts.cache_hits += u64::from(!matches!(hit, Hit::Miss));
                match hit {
                    Hit::Miss => {}
                    Hit::Coming => continue,
                    Hit::Ready => {
                        ready_pages += 1;
                        ready_bytes += u64::from(piece.bytes);
                        continue;
                    }
                }
            }
            let Some(plane) = self.ftl.plane_of(piece.page) else {
                // Never written: zeros, without asking the flash.
                ready_pages += 1;
                ready_bytes += u64::from(piece.bytes);
                continue;
            };
            from_flash += 1;
            if let Some(buffer) = &mut self.buffer {
                buffer.expect(piece.page);
            }
            let owner = Owner::Request(request);
            let mut read = FlashOperation::new(
                Kind::Read,
                owner,
                Class::HostRead,
                plane,
                piece.page,
                u64::from(piece.bytes),
            );
            if let Some(correction) = &mut self.correction {
                correction.decide(&mut read, self.ftl.wear_of(piece.page));
                self.counts.read_retries += u64::from(read.retries);
            }
            self.flash.enqueue(read, self.now, &mut self.events);
        }
        self.counts.pages_read += u64::from(pages);
        let state = &mut self.requests[request];
        state.pending = pages;
        state.flash_pending = from_flash;
        if ready_pages > 0 {
            self.deliver(request, ready_pages, ready_bytes);
        }
        if from_flash == 0 {
            self.leave(Side::Read, request);
        }
        self.read_ahead(offset..offset + length);
    }

    /// Flash has delivered a page of a read, or several.
    #[inline]
    pub(super) fn page_read(&mut self, request: u32, operation: &FlashOperation) {
        if operation.unreadable {
            self.counts.pages_unreadable += 1;
            self.requests[request].outcome = Err(Failure::Unreadable);
        } else if self.buffer.as_ref().is_some_and(WriteBuffer::keeps_reads) {
            self.keep(request, operation.page);
        }
        self.deliver(request, operation.pages, operation.bus_bytes);
        let state = &mut self.requests[request];
        state.flash_pending -= operation.pages;
        if state.flash_pending == 0 && state.excluding {
            self.leave(Side::Read, request);
        }
    }

    /// Keeps what was read of a page, if there was room for it.
    fn keep(&mut self, request: u32, page: u32) {
        let page_bytes = self.geometry.page_bytes;
        let HostRequest { offset_bytes, length_bytes, .. } = self.requests[request];
        let piece = piece(page, offset_bytes, offset_bytes + length_bytes, page_bytes);
        if let Some(buffer) = &mut self.buffer {
            buffer.came(page, piece.touched(page_bytes));
        }
    }

    /// Sends pages of a read to the host: at once, or with the last of them.
    #[inline]
    fn deliver(&mut self, request: u32, pages: u32, bytes: u64) {
        if !self.whole_reads {
            return self.send(request, pages, bytes, Direction::Out);
        }
        let state = &mut self.requests[request];
        state.unsent.0 += pages;
        state.unsent.1 += bytes;
        let (pages, bytes) = state.unsent;
        if pages == state.pending {
            self.send(request, pages, bytes, Direction::Out);
        }
    }

    fn read_ahead(&mut self, bytes: std::ops::Range<u64>) {
        let Some((policy, cache)) = &mut self.readahead else { return };
        let fetch = policy.observe(bytes);
        let page_bytes = self.geometry.page_bytes;
        // A page of which the host has only read the beginning is fetched too.
        let first = fetch.start / page_bytes;
        let end = fetch.end.min(self.profile.capacity_bytes).div_ceil(page_bytes);
        for page in first..end {
            let page = page as u32;
            let buffered = self.buffer.as_ref().is_some_and(|buffer| buffer.present(page) != 0);
            if buffered || cache.contains(page) || cache.is_coming(page) || self.ftl.plane_of(page).is_none()
            {
                continue;
            }
            if !cache.fetch(page) {
                break;
            }
            self.fetched.push(page);
        }
        let mut fetched = std::mem::take(&mut self.fetched);
        self.counts.pages_fetched_ahead += fetched.len() as u64;
        for page in fetched.drain(..) {
            if self.exclusion.as_mut().is_none_or(|lock| lock.enter(Side::Read, Holder::Fetch(page))) {
                self.fetch(page);
            }
        }
        self.fetched = fetched;
    }

    /// Reads a page ahead of the host.
    pub(super) fn fetch(&mut self, page: u32) {
        let Some(plane) = self.ftl.plane_of(page) else {
            // Trimmed while it waited for the controller.
            return self.page_fetched(page);
        };
        let bytes = self.geometry.page_bytes;
        let read = FlashOperation::new(Kind::Read, Owner::Readahead, Class::Readahead, plane, page, bytes);
        self.flash.enqueue(read, self.now, &mut self.events);
    }

    /// A page fetched ahead has come.
    pub(super) fn page_fetched(&mut self, page: u32) {
        let Some((_, cache)) = &mut self.readahead else { return };
        for (request, bytes) in cache.arrived(page) {
            self.deliver(request, 1, u64::from(bytes));
        }
        if self.exclusion.is_some() {
            self.give_back(Side::Read);
        }
    }
}
