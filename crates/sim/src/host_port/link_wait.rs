//! Commands that wait for the link: some interfaces send no command while data cross.

use super::Link;
use crate::config::CommandsWait;
use crate::ids::RequestSlot;
use std::collections::VecDeque;

/// The commands that the host holds back. Invariant: none waits where commands do not wait for the link.
pub(crate) struct LinkWait {
    mode: CommandsWait,
    waiting: VecDeque<RequestSlot>,
}

impl LinkWait {
    pub(crate) fn new(mode: CommandsWait) -> Self {
        Self { mode, waiting: VecDeque::new() }
    }

    /// Returns whether the drive may start a command now; otherwise it waits for the link.
    #[inline]
    pub(crate) fn may_start(&mut self, slot: RequestSlot, link: &Link) -> bool {
        let waits = self.mode != CommandsWait::No && link.is_busy();
        if waits {
            self.waiting.push_back(slot);
        }
        !waits
    }

    /// A transfer ended: [`LinkWait::next`] returns the commands that go now.
    #[inline]
    pub(crate) fn transfer_ended(&mut self) {
        debug_assert!(self.mode != CommandsWait::No || self.waiting.is_empty());
        if self.mode == CommandsWait::BySlot {
            self.waiting.make_contiguous().sort_unstable();
        }
    }

    /// The next command that no longer has to wait. By slot all of them are sent at once; by arrival the first with
    /// data occupies the link again, and the others keep waiting.
    #[inline]
    pub(crate) fn next(&mut self, link: &Link) -> Option<RequestSlot> {
        if self.waiting.is_empty() || self.mode == CommandsWait::ByArrival && link.is_busy() {
            return None;
        }
        self.waiting.pop_front()
    }
}
