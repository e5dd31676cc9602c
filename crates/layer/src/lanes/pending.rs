//! Requests in flight above and below the lanes.

use super::content::ContentRead;
use flashlane_base::Instant;
use flashlane_device::{Failure, Request};

/// A request in flight, and its outcome as far as known.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    pub request: Request,
    pub submitted: Instant,
    pub outcome: Result<(), Failure>,
    /// Whether the data of this write is still to be submitted, after the record of its unit (`content`).
    pub data_is_held: bool,
}

/// The purpose of a request below.
#[derive(Clone)]
pub(super) enum Purpose {
    /// The data of a read or a write, or a flush.
    Forwarded(Pending),
    /// A sector of the table. A background write is one that no request waits for.
    Sector { sector: u64, is_background: bool },
    /// A damaged superblock.
    Superblock,
    /// Zeros over the head of a unit that is foreign, cannot be read or is given up, before its erase.
    Head(Pending),
    /// A part of a unit's content, before its first write or its erase.
    Content(ContentRead),
}
