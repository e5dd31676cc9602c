//! Trims and flushes.

use super::WritePath;
use crate::drive::request::DriveKernel;
use crate::drive::translation::Translation;
use crate::ids::{Lpn, RequestSlot};
use crate::pieces::split;
use flashlane_device::Request;

impl WritePath {
    /// A trim was received: the mapping units that it covers wholly are forgotten.
    pub(in crate::drive) fn trim(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        slot: RequestSlot,
    ) {
        self.counts.trims += 1;
        let (_, units, _) = {
            let Request { offset_bytes, length_bytes, .. } = kernel.in_flight(slot).request();
            split(offset_bytes, length_bytes, self.transfers.unit_bytes)
        };
        for lpn in units.clone().map(Lpn) {
            if let Some(buffer) = &mut self.buffer {
                buffer.forget(lpn);
            }
            translation.trim(lpn);
        }
        translation.trimmed(kernel, units);
        self.end_flushes(kernel);
        kernel.complete(slot);
    }

    /// A flush was received: it waits for all that the buffer admitted before it.
    pub(in crate::drive) fn flush(
        &mut self,
        kernel: &mut DriveKernel,
        translation: &mut Translation,
        slot: RequestSlot,
    ) {
        self.counts.flushes += 1;
        // Without a buffer every completed write is on flash.
        let Some(buffer) = &mut self.buffer else { return kernel.complete(slot) };
        kernel.in_flight_mut(slot).start_flushing(buffer.begin_flush());
        self.flushing.push(slot);
        self.end_flushes(kernel);
        self.drain(kernel, translation);
    }

    /// Completes the flushes that have nothing left to wait for.
    pub(super) fn end_flushes(&mut self, kernel: &mut DriveKernel) {
        let Some(buffer) = &self.buffer else { return };
        if self.flushing.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut self.flushed);
        self.flushing.retain(|&slot| {
            let epoch = kernel.in_flight(slot).flush_epoch();
            let flushed = buffer.is_flushed(epoch)
                && self.bypassed.values().all(|bypassed| bypassed.lost.epoch > epoch);
            if flushed {
                done.push(slot);
            }
            !flushed
        });
        self.close_pages_due |= !done.is_empty();
        for slot in done.drain(..) {
            kernel.charge_wait(slot);
            kernel.complete(slot);
        }
        self.flushed = done;
    }
}
