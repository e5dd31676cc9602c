//! The read/write lock of the controller: many requests of one mode, none of the other.
//!
//! chen11 (section 5.2) measures the effect (sequential writes fall by a factor of 4.5 beside a random reader) and
//! names candidates: shared engines, a lock-protected mapping table, pipelines that run in one direction. A lock that
//! is granted in order of arrival has the same effect, whichever it is. Pages of readahead are read from flash like
//! others and take the lock, too.
//!
//! Invariants: all holders have one mode; waiting owners are granted in order of arrival; every grant is released once.

use crate::ids::{Lpn, RequestSlot};
use std::collections::VecDeque;

/// How the lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockMode {
    /// A read from flash.
    Read,
    /// A write whose data are being received.
    Write,
}

/// Who holds the lock or waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockOwner {
    /// A host request.
    Request(RequestSlot),
    /// A mapping unit that is read ahead of the host.
    Readahead(Lpn),
}

/// The lock and the queue before it.
#[derive(Default)]
pub(crate) struct ReadWriteLock {
    /// The mode and number of the holders.
    held: Option<(LockMode, u32)>,
    waiting: VecDeque<(LockMode, LockOwner)>,
    waits: u64,
    /// An empty list, kept to spare its allocation.
    spare: Vec<LockOwner>,
}

impl ReadWriteLock {
    /// A free lock whose counter starts at `waits`.
    pub(crate) fn new(waits: u64) -> Self {
        Self { waits, ..Self::default() }
    }

    /// Requests so far that had to wait.
    pub(crate) fn waits(&self) -> u64 {
        self.waits
    }

    /// Asks for the lock. Returns whether it is granted at once; otherwise `owner` waits, and a host request is
    /// counted.
    pub(crate) fn enter(&mut self, mode: LockMode, owner: LockOwner) -> bool {
        let granted = self.waiting.is_empty() && self.admits(mode);
        if granted {
            self.grant(mode);
        } else {
            self.waits += u64::from(matches!(owner, LockOwner::Request(_)));
            self.waiting.push_back((mode, owner));
        }
        granted
    }

    /// Gives the lock back. Returns those to whom it is granted now, in order; [`ReadWriteLock::recycle`] takes the
    /// list.
    pub(crate) fn leave(&mut self, mode: LockMode) -> Vec<LockOwner> {
        let (held, count) = self.held.expect("only a holder leaves");
        assert_eq!(held, mode, "the mode that leaves is the one that is held");
        self.held = (count > 1).then_some((held, count - 1));
        let mut granted = std::mem::take(&mut self.spare);
        while let Some(&(mode, owner)) = self.waiting.front()
            && self.admits(mode)
        {
            self.waiting.pop_front();
            self.grant(mode);
            granted.push(owner);
        }
        granted
    }

    /// Takes back the list of [`ReadWriteLock::leave`].
    pub(crate) fn recycle(&mut self, mut granted: Vec<LockOwner>) {
        granted.clear();
        self.spare = granted;
    }

    fn admits(&self, mode: LockMode) -> bool {
        self.held.is_none_or(|(held, _)| held == mode)
    }

    fn grant(&mut self, mode: LockMode) {
        debug_assert!(self.admits(mode), "holders have one mode");
        self.held = Some((mode, self.held.map_or(0, |(_, count)| count) + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_later_readers_wait_behind_a_writer() {
        let mut lock = ReadWriteLock::default();
        let request = |slot| LockOwner::Request(RequestSlot(slot));
        let readahead = |lpn| LockOwner::Readahead(Lpn(lpn));
        assert!(lock.enter(LockMode::Read, request(0)) && lock.enter(LockMode::Read, readahead(1)));
        assert!(!lock.enter(LockMode::Write, request(2)));
        assert!(!lock.enter(LockMode::Read, readahead(3)));
        assert_eq!(lock.waits(), 1, "readahead is not counted");
        assert!(lock.leave(LockMode::Read).is_empty());
        assert_eq!(lock.leave(LockMode::Read), [request(2)]);
        assert_eq!(lock.leave(LockMode::Write), [readahead(3)]);
    }
}
