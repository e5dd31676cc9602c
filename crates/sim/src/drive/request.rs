//! A host request on its way through the drive: its stages, and which follows which.
//!
//! ```text
//! read          queued → reading                                                       → completion
//! write         queued → transferring → admitting → buffered → acknowledged            → completion
//! bypass        queued → transferring → programming → settled                          → completion
//! flush         queued → transferring → flushing, where there is a buffer              → completion
//! trim          queued → transferring                                                  → completion
//! ```
//!
//! A *bypass* is a write that bypasses the buffer, or that of a drive without one. The mapping units of a buffered
//! write have stages of their own in the buffer (`crate::buffer`) until they are durable.

use crate::kernel::{InFlight, Kernel};
use crate::pieces::{Piece, pieces};
use flashlane_device::Request;

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestStage {
    /// It waits for the host, in a submission queue, for the link or for the read/write lock.
    Queued,
    /// Its command crosses the link, with the data of a write.
    Transferring,
    /// Mapping units of a read are read from flash, the buffer and the read cache, and cross the link.
    Reading {
        /// Mapping units that are not over the link.
        left: u32,
        /// Mapping units that flash has still to deliver.
        from_flash: u32,
        /// Mapping units that wait for the rest of the read before they cross the link, and their bytes.
        unsent: u32,
        unsent_bytes: u64,
    },
    /// The buffer admits the mapping units of a write as far as there is room; `units` is the number admitted.
    Admitting { units: u32 },
    /// The buffer has the whole write, which the firmware has still to acknowledge.
    Buffered,
    /// The drive reports a buffered write as complete.
    Acknowledged,
    /// Mapping units of a write that bypasses the buffer are programmed; `left` is the number not yet durable.
    Programming { left: u32 },
    /// Every mapping unit of a bypassing write is durable or has failed: the outcome says which.
    Settled,
    /// A flush waits for what was written in this epoch and before.
    Flushing { epoch: u64 },
}

/// What the drive keeps of a request in flight: where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestState {
    stage: RequestStage,
    /// Whether it takes part in the read/write lock: it waits for it while it is queued, and holds it later.
    uses_lock: bool,
}

/// A request of a conventional drive.
pub(super) type DriveRequest = InFlight<RequestState>;

/// The kernel of a conventional drive.
pub(super) type DriveKernel = Kernel<RequestState>;

impl Default for RequestState {
    #[inline]
    fn default() -> Self {
        Self { stage: RequestStage::Queued, uses_lock: false }
    }
}

impl DriveRequest {
    #[inline]
    pub(super) fn stage(&self) -> RequestStage {
        self.state.stage
    }

    #[inline]
    fn change(&mut self, to: RequestStage) {
        self.state.stage = to;
    }

    /// The request enters the read/write lock, or waits for it.
    pub(super) fn start_locking(&mut self) {
        debug_assert!(!self.state.uses_lock, "it asks once");
        self.state.uses_lock = true;
    }

    /// It needs the read/write lock no longer. Returns whether it holds it.
    #[inline]
    pub(super) fn end_locking(&mut self) -> bool {
        debug_assert!(
            !self.state.uses_lock || self.stage() != RequestStage::Queued,
            "it still waits for the lock"
        );
        std::mem::take(&mut self.state.uses_lock)
    }

    /// Queued → transferring.
    #[inline]
    pub(super) fn start_transfer(&mut self) {
        debug_assert_eq!(self.stage(), RequestStage::Queued);
        self.change(RequestStage::Transferring);
    }

    /// Queued → reading, of `units` of which flash delivers `from_flash`.
    #[inline]
    pub(super) fn start_reading(&mut self, units: u32, from_flash: u32) {
        debug_assert_eq!(self.stage(), RequestStage::Queued);
        debug_assert!(from_flash <= units);
        self.change(RequestStage::Reading { left: units, from_flash, unsent: 0, unsent_bytes: 0 });
    }

    /// Transferring → admitting.
    pub(super) fn start_admission(&mut self) {
        debug_assert_eq!(self.stage(), RequestStage::Transferring);
        self.change(RequestStage::Admitting { units: 0 });
    }

    /// Mapping units of the write that the buffer has.
    pub(super) fn admitted_units(&self) -> u32 {
        let RequestStage::Admitting { units } = self.stage() else {
            unreachable!("{:?} is not being admitted", self.stage())
        };
        units
    }

    /// The buffer has one more mapping unit.
    pub(super) fn unit_admitted(&mut self) {
        let units = self.admitted_units() + 1;
        self.change(RequestStage::Admitting { units });
    }

    /// Admitting → buffered.
    pub(super) fn end_admission(&mut self) {
        debug_assert!(matches!(self.stage(), RequestStage::Admitting { .. }), "{:?}", self.stage());
        self.change(RequestStage::Buffered);
    }

    /// Transferring → programming, of `units`.
    pub(super) fn start_programming(&mut self, units: u32) {
        debug_assert_eq!(self.stage(), RequestStage::Transferring);
        debug_assert!(units > 0, "a write has data");
        self.change(RequestStage::Programming { left: units });
    }

    /// Transferring → flushing.
    pub(super) fn start_flushing(&mut self, epoch: u64) {
        debug_assert_eq!(self.stage(), RequestStage::Transferring);
        self.change(RequestStage::Flushing { epoch });
    }

    /// The epoch that a flush waits for.
    pub(super) fn flush_epoch(&self) -> u64 {
        let RequestStage::Flushing { epoch } = self.stage() else {
            unreachable!("{:?} is no flush", self.stage())
        };
        epoch
    }

    /// Buffered → acknowledged.
    #[inline]
    pub(super) fn acknowledge(&mut self) {
        debug_assert_eq!(self.stage(), RequestStage::Buffered);
        self.change(RequestStage::Acknowledged);
    }

    /// Returns whether the drive reports the request as complete.
    #[inline]
    pub(super) fn is_reported(&self) -> bool {
        matches!(self.stage(), RequestStage::Acknowledged | RequestStage::Settled)
    }

    /// Mapping units of a read have crossed the link, or those of a bypassing write are durable or have failed. Returns
    /// whether they were the last; those of a write settle it.
    #[inline]
    pub(super) fn end_units(&mut self, units: u32) -> bool {
        match &mut self.state.stage {
            RequestStage::Reading { left, .. } => {
                debug_assert!(*left >= units, "each unit is done once");
                *left -= units;
                *left == 0
            }
            RequestStage::Programming { left } => {
                debug_assert!(*left >= units, "each unit is done once");
                *left -= units;
                let settled = *left == 0;
                if settled {
                    self.change(RequestStage::Settled);
                }
                settled
            }
            stage => unreachable!("{stage:?} has no units to do"),
        }
    }

    /// Flash has delivered mapping units of a read. Returns whether they were the last from there.
    #[inline]
    pub(super) fn units_read(&mut self, units: u32) -> bool {
        let RequestStage::Reading { from_flash, .. } = &mut self.state.stage else {
            unreachable!("only reads wait for data from flash")
        };
        debug_assert!(*from_flash >= units, "each unit comes once");
        *from_flash -= units;
        *from_flash == 0
    }

    /// Keeps mapping units and bytes of a read back. Returns all of them once it has the whole read.
    #[inline]
    pub(super) fn gather(&mut self, units: u32, bytes: u64) -> Option<(u32, u64)> {
        let RequestStage::Reading { left, unsent, unsent_bytes, .. } = &mut self.state.stage else {
            unreachable!("only reads are delivered")
        };
        *unsent += units;
        *unsent_bytes += bytes;
        (*unsent == *left).then_some((*unsent, *unsent_bytes))
    }
}

/// The parts of a request in the mapping units that it touches.
pub(super) fn pieces_of(request: &Request, unit_bytes: u64) -> impl Iterator<Item = Piece> + use<> {
    pieces(request.offset_bytes, request.length_bytes, unit_bytes)
}
