//! A host request inside the drive.

use flashlane_base::Instant;
use flashlane_device::{Failure, Operation, Request, RequestId};

/// What the drive remembers of a request in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRequest {
    pub(crate) id: RequestId,
    pub(crate) operation: Operation,
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u64,
    pub(crate) durable: bool,
    pub(crate) submitted: Instant,
    pub(crate) outcome: Result<(), Failure>,
    /// Pages that are not done: not yet over the link for a read, not yet safe for a write.
    pub(crate) pending: u32,
    /// Pages that flash has still to deliver.
    pub(crate) flash_pending: u32,
    /// Pages of a read that wait for the rest of it before they cross the link, and their bytes.
    pub(crate) unsent: (u32, u64),
    /// Pages that the write buffer has taken in.
    pub(crate) admitted: u32,
    /// Whether the buffer has the whole write: only its completion is on the way.
    pub(crate) acknowledged: bool,
    /// Whether the link has carried the command.
    pub(crate) commanded: bool,
    /// Whether the request holds the controller's exclusion.
    pub(crate) excluding: bool,
    /// The flush period that a flush waits for.
    pub(crate) flush_period: u64,
}

impl HostRequest {
    /// Pages that `bytes` of data touch; none where it has no data.
    pub(crate) fn pages_over(&self, bytes: u64, page_bytes: u64) -> u32 {
        if bytes == 0 {
            return 0;
        }
        (self.offset_bytes % page_bytes + bytes).div_ceil(page_bytes) as u32
    }

    pub(crate) fn new(request: &Request, now: Instant) -> Self {
        Self {
            id: request.id,
            operation: request.operation,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            durable: request.durable,
            submitted: now,
            outcome: Ok(()),
            pending: 0,
            flash_pending: 0,
            unsent: (0, 0),
            admitted: 0,
            acknowledged: false,
            commanded: false,
            excluding: false,
            flush_period: 0,
        }
    }
}
