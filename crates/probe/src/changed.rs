//! What a probe has written and trimmed, and how much of the drive that may have left stale.

use flashlane_device::Operation;

/// What the requests of a rig changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Writes and trims, …
    pub(crate) requests: u64,
    /// … and their bytes.
    pub(crate) bytes: u64,
}

impl Changed {
    pub(crate) fn add(&mut self, operation: Operation, requests: u64, bytes: u64) {
        if matches!(operation, Operation::Write | Operation::Trim) {
            self.requests += requests;
            self.bytes += bytes;
        }
    }

    /// The most that this may have left stale on a drive that maps pages of `page_bytes`: a request takes whole pages, and
    /// each page that it takes leaves at most one behind.
    pub(crate) fn stale_bytes(&self, page_bytes: u64) -> u64 {
        self.bytes + self.requests * page_bytes
    }
}
