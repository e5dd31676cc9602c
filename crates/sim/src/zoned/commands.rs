//! The firmware's processor of write commands, which takes one after the other.
//!
//! With small writes this is the limit: appends reach 132,000 a second whatever their size (CLUSTER 2023), so that it
//! counts commands and not bytes. Invariant: commands wait only while one is being processed.

use crate::ids::RequestSlot;
use std::collections::VecDeque;

/// The commands that wait, and whether one is processed.
#[derive(Clone, Debug, Default)]
pub(super) struct Commands {
    is_busy: bool,
    waiting: VecDeque<RequestSlot>,
}

impl Commands {
    /// A command arrives. Returns whether it is processed at once.
    #[inline]
    pub(super) fn arrive(&mut self, slot: RequestSlot) -> bool {
        if self.is_busy {
            self.waiting.push_back(slot);
            return false;
        }
        self.is_busy = true;
        true
    }

    /// A command is processed. Returns the next.
    #[inline]
    pub(super) fn next(&mut self) -> Option<RequestSlot> {
        debug_assert!(self.is_busy, "one was processed");
        let next = self.waiting.pop_front();
        self.is_busy = next.is_some();
        next
    }
}
