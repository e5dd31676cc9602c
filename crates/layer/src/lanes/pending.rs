//! Requests in flight above and below the lanes.

use flashlane_base::Instant;
use flashlane_device::{Failure, Request};

/// A request in flight, and its outcome as far as known.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    pub request: Request,
    pub submitted: Instant,
    pub outcome: Result<(), Failure>,
}

/// The purpose of a request below.
pub(super) enum Step {
    /// The data of a read or a write, or a flush.
    Bytes(Pending),
    /// A sector of the table. A background write is one that no request waits for.
    Sector { sector: u64, is_background: bool },
    /// A damaged superblock.
    Superblock,
    /// Zeros over the head of a unit with foreign data, before its erase.
    Head(Pending),
}
