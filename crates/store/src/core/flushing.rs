//! The path of a container to its patch: it is frozen, and written once its records are durable in the log, which is
//! freed then.

use super::Core;
use crate::builder::Head;
use crate::footer::Origin;
use crate::merging::MERGE_BLOCKS;
use crate::routes::Purpose;
use crate::slice::Slice;
use flashlane_block::{Payload, PutFailure};
use flashlane_device::DataDevice;

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Freezes a container that has entries.
    pub(super) fn freeze(&mut self, slice: usize) {
        if !self.slices[slice].container().is_empty() {
            let creation = self.allocate_number();
            self.slices[slice].freeze(creation);
        }
    }

    /// Freezes the containers whose records lie more than half a ring behind the log's end, and the largest ones until
    /// those left take at most half of their memory. The other halves are for those on their way to the device: as many
    /// as lag behind are written at once, not one after the other.
    pub(super) fn freeze_lagging(&mut self) {
        for nth in 0..self.slices.len() {
            let first = self.slices[nth].container().first_page();
            if first.is_some_and(|first| self.log.is_lagging(first)) {
                self.freeze(nth);
            }
        }
        let mut bytes: u64 = self.slices.iter().map(|slice| slice.container().memory_bytes()).sum();
        let most_bytes = self.container_budget_bytes() / 2;
        while bytes > most_bytes {
            let size = |&nth: &usize| self.slices[nth].container().memory_bytes();
            let largest = (0..self.slices.len()).max_by_key(size).expect("there is a slice");
            bytes -= size(&largest);
            self.freeze(largest);
        }
    }

    /// Freezes the container whose records lie first in the log, unless a frozen one's lie before it.
    pub(super) fn freeze_oldest(&mut self) {
        let oldest = |slice: &Slice| slice.first_page().unwrap_or(u64::MAX);
        let Some(slice) = (0..self.slices.len()).min_by_key(|&nth| oldest(&self.slices[nth])) else { return };
        if self.slices[slice].frozen().len() == 0 {
            self.freeze(slice);
        }
    }

    pub(super) fn freeze_largest(&mut self) {
        let bytes = |&nth: &usize| self.slices[nth].container().memory_bytes();
        let slice = (0..self.slices.len()).max_by_key(bytes).expect("there is a slice");
        let is_frozen = self.slices.iter().any(|slice| slice.frozen().len() > 0);
        if !is_frozen {
            self.freeze(slice);
        }
    }

    /// Writes the frozen containers whose records are durable in the log.
    pub(super) fn flush_containers(&mut self) {
        for slice in 0..self.slices.len() {
            let waiting = self.slices[slice].frozen().enumerate().filter(|(_, frozen)| frozen.is_waiting());
            let waiting: Vec<(usize, u64)> =
                waiting.map(|(nth, frozen)| (nth, frozen.container().end_page())).collect();
            for (nth, end_page) in waiting {
                if self.log.durable_to() < end_page {
                    self.log.want_durable(end_page);
                    break;
                }
                if !self.may_flush() || !self.write_patch(slice, nth) {
                    return;
                }
            }
        }
    }

    /// Returns whether there is a block for a container. The last ones are left to merges; where none runs none can
    /// begin, and one container at a time may take them.
    fn may_flush(&self) -> bool {
        let free = self.unpromised_blocks();
        if self.are_puts_held() {
            return false;
        }
        free > MERGE_BLOCKS || (free > 0 && !self.is_merging() && self.flushes_in_flight() == 0)
    }

    /// Hands the patch of a frozen container over. Returns whether it was taken.
    fn write_patch(&mut self, slice: usize, nth: usize) -> bool {
        let (payload, id) = (self.take_payload(), self.blocks.next_id());
        let own = &self.slices[slice];
        let frozen = own.frozen().nth(nth).expect("the container is frozen");
        let (level, run) = own.place(nth, &*self.policy, self.shape.block_bytes);
        assert!(frozen.container().end_page() <= self.log.durable_to(), "a patch overtakes the log");
        let creation = frozen.creation();
        let head = Head {
            slice: own.number(),
            lower: own.lower().to_vec(),
            upper: own.upper().to_vec(),
            level,
            run,
            creation,
            sequences: frozen.container().sequences(),
            origin: Origin::Container,
            stale: Vec::new(),
            statement: self.statement(),
        };
        let (payload, footer) = frozen.container().to_patch(self.shape, payload, head, self.store);
        match self.blocks.put(id, payload) {
            Ok(ticket) => {
                self.slices[slice].patch_begins(nth, footer);
                self.routes.add(ticket, Purpose::Flush { slice: slice as u32, creation, id });
                true
            }
            Err((_, payload)) => {
                self.reuse_payload(payload);
                false
            }
        }
    }

    pub(super) fn flush_written(
        &mut self,
        slice: u32,
        (creation, id): (u64, u64),
        result: Result<(), PutFailure>,
        payload: Payload,
    ) {
        self.reuse_payload(payload);
        let slice = &mut self.slices[slice as usize];
        match result {
            Ok(()) => {
                let stated = slice.flushed(creation, id);
                self.counters.flushes += 1;
                self.counters.flush_bytes_written += self.shape.block_bytes;
                if let Some(generation) = stated {
                    self.stated(generation);
                }
            }
            // The next pump tries again, unless puts fail one after the other.
            Err(_) => slice.patch_failed(creation, id),
        }
    }

    /// Frees what the log does not need to hold any more, and pieces that no durable version refers to.
    pub(super) fn free_log(&mut self) {
        let durable_to = self.log.durable_to();
        let first = self.slices.iter().filter_map(|slice| slice.first_page()).min();
        self.log.free_below(first.unwrap_or(u64::MAX).min(durable_to));
        let freed: Vec<u64> = self
            .freed_pieces
            .extract_if(.., |(page, _)| *page <= durable_to)
            .map(|(_, piece)| piece)
            .collect();
        freed.into_iter().for_each(|piece| self.delete_block(piece, None));
        if !self.freed_pieces.is_empty() {
            let last = self.freed_pieces.iter().map(|&(page, _)| page).max().unwrap_or(0);
            self.log.want_durable(last);
        }
    }

    pub(super) fn flushes_in_flight(&self) -> usize {
        self.slices.iter().flat_map(Slice::frozen).filter(|frozen| frozen.is_writing()).count()
    }
}
