//! What crosses the link of a request: its command and data, and where completions cross it, its completion. The last
//! transfer of a request completes it.

use super::request::{ACKNOWLEDGEMENT, DriveKernel};
use crate::host_port::{Direction, Transfer};
use crate::ids::RequestSlot;

/// How requests cross the link: their command and data, reads unit by unit or as a whole, and completions.
#[derive(Clone, Copy)]
pub(super) struct LinkTransfers {
    pub(super) unit_bytes: u64,
    /// Whether a read crosses the link in one piece.
    pub(super) whole_reads: bool,
    /// Whether completions of writes cross the link.
    pub(super) completions_cross_link: bool,
}

impl LinkTransfers {
    /// Sends a command over the link, with `bytes` of data.
    #[inline]
    pub(super) fn transfer_in(&self, kernel: &mut DriveKernel, slot: RequestSlot, bytes: u64) {
        let request = kernel.in_flight_mut(slot);
        request.start_transfer();
        let start = request.request().offset_bytes % self.unit_bytes;
        let carried = if bytes == 0 { 0 } else { (start + bytes).div_ceil(self.unit_bytes) as u32 };
        kernel.send(Transfer { request: slot, units: 0, direction: Direction::In }, bytes, carried);
    }

    /// Sends mapping units of a read to the host: at once, or with the last of them.
    #[inline]
    pub(super) fn transfer_out(&self, kernel: &mut DriveKernel, slot: RequestSlot, units: u32, bytes: u64) {
        let (units, bytes) = match self.whole_reads {
            false => (units, bytes),
            true => match kernel.in_flight_mut(slot).gather(units, bytes) {
                Some(all) => all,
                None => return,
            },
        };
        let carried = if bytes > 0 { units } else { 0 };
        kernel.send(Transfer { request: slot, units, direction: Direction::Out }, bytes, carried);
    }

    /// Mapping units of a write are durable.
    #[inline]
    pub(super) fn units_durable(&self, kernel: &mut DriveKernel, slot: RequestSlot, units: u32) {
        self.complete_write_units(kernel, slot, units);
    }

    /// The firmware acknowledges a buffered write.
    #[inline]
    pub(super) fn acknowledged(&self, kernel: &mut DriveKernel, slot: RequestSlot) {
        self.complete_write_units(kernel, slot, ACKNOWLEDGEMENT);
    }

    /// Completes mapping units of a write: at once, or when its completion has crossed the link.
    #[inline]
    fn complete_write_units(&self, kernel: &mut DriveKernel, slot: RequestSlot, units: u32) {
        if self.completions_cross_link && kernel.in_flight(slot).is_rest(units) {
            // The completion stands for these units, but carries no data.
            kernel.send(Transfer { request: slot, units, direction: Direction::Out }, 0, 0);
        } else {
            self.complete_units(kernel, slot, units);
        }
    }

    /// Mapping units of a request are done; with the last of them it completes.
    #[inline]
    pub(super) fn complete_units(&self, kernel: &mut DriveKernel, slot: RequestSlot, units: u32) {
        if kernel.in_flight_mut(slot).end_units(units) {
            kernel.complete(slot);
        }
    }
}
