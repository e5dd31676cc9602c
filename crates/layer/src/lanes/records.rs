//! Writes of the records: table sectors, and damaged superblocks.

use super::Lanes;
use super::constants::SECTOR_BYTES;
use super::pending::{Pending, Purpose};
use super::table::Due;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Request, SubmitError};

impl<D: DataDevice> Lanes<D> {
    /// Submits the sector writes that requests wait for, and one background write.
    pub(super) fn write_sectors(&mut self) {
        while let Some(due) = self.table.next_due() {
            self.write_sector(due, false);
        }
        if !self.repairs_in_background || self.is_background_writing || self.device_lost {
            return;
        }
        if let Some(at) = self.superblocks.pop() {
            self.write_superblock(at);
        } else if let Some(due) = self.table.next_stale() {
            self.is_background_writing = true;
            self.write_sector(due, true);
        }
    }

    fn write_superblock(&mut self, at: u64) {
        let write = Request::write(0, at, SECTOR_BYTES).durable();
        let bytes = Buffer::from_slice(&self.superblock.encode());
        match self.submit_below(write, Some(bytes), Purpose::Superblock) {
            Ok(()) => self.is_background_writing = true,
            // The other superblock is sound. This one is written when the lanes are opened or repaired again.
            Err((error, _)) => self.device_lost |= error == SubmitError::DeviceLost,
        }
    }

    fn write_sector(&mut self, due: Due, is_background: bool) {
        let write = Request::write(0, due.offset_bytes, SECTOR_BYTES).durable();
        let purpose = Purpose::Sector { sector: due.sector, is_background };
        match self.submit_below(write, Some(due.buffer), purpose) {
            Ok(()) => self.sectors_written += 1,
            Err((error, buffer)) => {
                assert!(
                    !matches!(error, SubmitError::Full { .. }),
                    "a request below is reserved for each request"
                );
                // Without a record no state is durable: whatever the reason, no further request is accepted.
                self.device_lost = true;
                self.is_background_writing &= !is_background;
                let (now, mut out) = (self.below.now(), std::mem::take(&mut self.ready));
                self.sector_ended(due.sector, Err(Failure::DeviceLost), buffer, now, &mut out);
                self.ready = out;
            }
        }
    }

    pub(super) fn sector_ended(
        &mut self,
        sector: u64,
        outcome: Result<(), Failure>,
        buffer: Option<Buffer>,
        completed: Instant,
        out: &mut Vec<Completion>,
    ) {
        let mut ended = std::mem::take(&mut self.ended);
        self.table.ended(sector, outcome.is_ok(), buffer, &mut ended);
        for pending in ended.drain(..) {
            let pending = Pending { outcome: pending.outcome.and(outcome), ..pending };
            match pending.data_is_held {
                true => self.write_held(pending, completed, out),
                false => self.complete(pending, completed, out),
            }
        }
        self.ended = ended;
    }
}
