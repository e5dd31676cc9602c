//! What becomes of writes where blocks cannot be written: a device that fails, or a file on a full file system.
//!
//! Invariants:
//! - After [`FAILED_PUTS_MAX`] puts of patches that failed in a row the store puts none by itself: containers stay in
//!   memory and in the log, and merges are given up. Each write that is accepted, and each flush that is asked for,
//!   tries it once more.
//! - An accepted operation completes: with nothing in flight no write in a queue can get room, so it fails.

use super::Core;
use crate::error::WriteFailure;
use crate::operation::Outcome;
use flashlane_base::Instant;
use flashlane_block::PutFailure;
use flashlane_device::DataDevice;

/// Failed puts in a row after which patches wait for an operation. The block layer tries several units for each.
const FAILED_PUTS_MAX: u32 = 4;

impl<D: DataDevice, L: DataDevice> Core<D, L> {
    /// Returns why the last block could not be written, if it could not.
    pub(crate) fn put_failure(&self) -> Option<PutFailure> {
        self.put_failure
    }

    /// A block was put, or could not be.
    pub(super) fn put_ended(&mut self, result: Result<(), PutFailure>) {
        self.put_failure = match (result, self.put_failure) {
            (Ok(()), _) => None,
            // Units that failed are why none is left.
            (Err(PutFailure::NoUnit), Some(first)) => Some(first),
            (Err(failure), _) => Some(failure),
        };
        self.failed_puts = if result.is_ok() { 0 } else { self.failed_puts.saturating_add(1) };
    }

    /// Lets a patch be put once more, for an operation.
    pub(super) fn retry_puts(&mut self) {
        self.failed_puts = self.failed_puts.min(FAILED_PUTS_MAX - 1);
    }

    /// Returns whether patches wait for an operation, as puts have failed.
    pub(super) fn are_puts_held(&self) -> bool {
        self.failed_puts >= FAILED_PUTS_MAX
    }

    /// Fails the writes in queues where nothing is in flight, and nothing can start.
    pub(super) fn fail_blocked_writes(&mut self) {
        if self.slices.iter().all(|slice| !slice.has_waiting_writes()) {
            return;
        }
        // What ended without a request may let something else start.
        self.pump();
        if !self.are_devices_idle() || self.next_due != Instant::FAR {
            return;
        }
        let failure = self.put_failure;
        for pending in self.take_queued_writes() {
            self.finish(pending, Outcome::Write(Err(WriteFailure::NoRoom { failure })));
        }
    }
}
