//! The volume of writes and trims of a probe, and the stale data that they may have left.

use flashlane_device::Operation;

/// Writes and trims of a bench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

impl Changed {
    pub(crate) fn add(&mut self, operation: Operation, requests: u64, bytes: u64) {
        if matches!(operation, Operation::Write | Operation::Trim) {
            self.requests += requests;
            self.bytes += bytes;
        }
    }

    /// Returns an upper bound of the stale bytes on a drive that maps pages of `page_bytes`: each page that a request
    /// touches leaves at most one stale page.
    pub(crate) fn stale_bytes(&self, page_bytes: u64) -> u64 {
        self.bytes + self.requests * page_bytes
    }
}
