//! Operations that cannot go on, and puts that failed.
//!
//! A put that failed finishes once the copies that it may have left are erased, so that nothing is erased unseen by a
//! later opening: a device that notices foreign data in erased units does not know what a torn unit held.

use super::Engine;
use crate::error::{DeleteFailure, GetFailure, PutFailure};
use crate::operation::{BlockWrite, Outcome};
use crate::units::{Holds, UnitUse};
use flashlane_device::{DataDevice, SubmitError};

impl<D: DataDevice> Engine<D> {
    /// Finishes the failed put of a block, if there is one, and no copy of it is left to be erased.
    pub(super) fn finish_failed_put(&mut self, id: u64) {
        if self.units().has_stale_copy(id) && !self.is_device_lost() {
            return;
        }
        let is_own = |(write, _): &mut (BlockWrite, PutFailure)| write.pending.id == id;
        let ended: Vec<_> = self.failed_puts.extract_if(.., is_own).collect();
        ended.into_iter().for_each(|put| self.finish_put(put));
    }

    /// Finishes all failed puts: no copy of theirs will be erased any more.
    fn finish_failed_puts(&mut self) {
        let ended = std::mem::take(&mut self.failed_puts);
        ended.into_iter().for_each(|put| self.finish_put(put));
    }

    fn finish_put(&mut self, (BlockWrite { pending, payload, .. }, failure): (BlockWrite, PutFailure)) {
        self.blocks.put_failed(pending.id);
        self.finish(pending, Outcome::Put(Err(failure), payload));
    }

    /// With nothing in flight no queued operation can make progress, so they fail: no superblock can be written.
    pub(super) fn fail_blocked_operations(&mut self) {
        if !self.is_idle() {
            return;
        }
        for lane in 0..self.layout.lanes {
            for id in self.scheduler.units_mut().restore_deleted(lane) {
                let pending = self.blocks.delete_undone(id);
                self.finish(pending, Outcome::Delete(Err(DeleteFailure::NoUnit)));
            }
        }
        for lane in 0..self.layout.lanes {
            for write in self.scheduler.take_waiting_writes(lane) {
                self.fail_write(write, PutFailure::NoUnit);
            }
        }
        self.finish_failed_puts();
    }

    /// The device is lost: everything that waits for it fails.
    pub(super) fn fail_all(&mut self) {
        assert!(self.is_device_lost(), "what waits for a device that works is not failed");
        for lane in 0..self.layout.lanes {
            let (reads, writes) = self.scheduler.take_waiting(lane);
            for read in reads {
                let (id, address) = (read.pending.id, read.address);
                let failure = GetFailure::Refused { id, address, refusal: SubmitError::DeviceLost };
                self.finish(read.pending, Outcome::Get(Err(failure)));
                if self.blocks.reader_left(id) {
                    self.scheduler.units_mut().last_reader_left(address);
                }
            }
            for write in writes {
                self.fail_write(write, PutFailure::Refused(SubmitError::DeviceLost));
            }
        }
        for (write, failure) in std::mem::take(&mut self.unplaced) {
            self.fail_write(write, failure);
        }
        self.finish_failed_puts();
        for lane in 0..self.layout.lanes {
            for id in self.scheduler.units_mut().abandon_deletes(lane) {
                let pending = self.blocks.delete_ended(id);
                self.finish(pending, Outcome::Delete(Err(DeleteFailure::DeviceLost)));
            }
        }
    }

    /// Asserts what joins the parts while nothing is in flight. Visits every unit.
    pub(crate) fn assert_consistent(&self) {
        self.scheduler.assert_consistent();
        if self.is_device_lost() {
            return;
        }
        for (id, block) in self.blocks.stored() {
            let state = self.units().state(block.address);
            assert_eq!(state, UnitUse::Live(Holds::Block(id)), "block {id} at {:?}", block.address);
        }
        for &address in self.superblocks.copies() {
            assert_eq!(self.units().state(address), UnitUse::Live(Holds::Superblock), "{address:?}");
        }
        assert!(self.recorded_below() <= self.ids.next(), "ids below {} are recorded", self.recorded_below());
    }
}
