//! What crosses the link of a request: its command and data, and where completions cross it, its completion. The last
//! transfer of a request completes it.

use super::request::DriveKernel;
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

    /// A transfer to the host has ended: of mapping units of a read, which completes with the last of them, or of the
    /// completion of a write.
    #[inline]
    pub(super) fn transfer_out_ended(&self, kernel: &mut DriveKernel, transfer: Transfer) {
        let request = kernel.in_flight_mut(transfer.request);
        if request.is_reported() || request.end_units(transfer.units) {
            kernel.complete(transfer.request);
        }
    }

    /// A write is acknowledged or durable: it completes at once, or when its completion has crossed the link.
    #[inline]
    pub(super) fn complete_write(&self, kernel: &mut DriveKernel, slot: RequestSlot) {
        if self.completions_cross_link {
            kernel.send(Transfer { request: slot, units: 0, direction: Direction::Out }, 0, 0);
        } else {
            kernel.complete(slot);
        }
    }
}
