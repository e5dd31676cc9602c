//! Reads of flash and writes exclude each other in the controller: many of one side, none of the other.
//!
//! chen11 (section 5.2) measures the effect (sequential writes fall by a factor of 4.5 beside a random reader) and
//! names candidates: shared engines, a lock-protected mapping table, pipelines that run in one direction. A lock
//! that is granted in order of arrival has the same effect, whichever it is.

use std::collections::VecDeque;

/// Who wants the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A read that goes to flash.
    Read,
    /// A write whose data come in.
    Write,
}

/// The lock and those who wait for it.
#[derive(Default)]
pub(crate) struct Exclusion {
    held: Option<(Side, u32)>,
    waiting: VecDeque<(Side, u32)>,
}

impl Exclusion {
    /// Asks for `side` on behalf of a request; true where it is granted at once, else the request waits.
    pub(crate) fn enter(&mut self, side: Side, request: u32) -> bool {
        let granted = self.waiting.is_empty() && self.admits(side);
        if granted {
            self.grant(side);
        } else {
            self.waiting.push_back((side, request));
        }
        granted
    }

    /// Gives the lock back; those who may go on are appended to `admitted`, in order.
    pub(crate) fn leave(&mut self, side: Side, admitted: &mut Vec<u32>) {
        let (held, count) = self.held.expect("only a holder leaves");
        assert_eq!(held, side, "the side that leaves is the one that holds");
        self.held = (count > 1).then_some((held, count - 1));
        while let Some(&(side, request)) = self.waiting.front()
            && self.admits(side)
        {
            self.waiting.pop_front();
            self.grant(side);
            admitted.push(request);
        }
    }

    fn admits(&self, side: Side) -> bool {
        self.held.is_none_or(|(held, _)| held == side)
    }

    fn grant(&mut self, side: Side) {
        self.held = Some((side, self.held.map_or(0, |(_, count)| count) + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_writers_wait_their_turn_and_later_readers_do_not_overtake() {
        let mut lock = Exclusion::default();
        assert!(lock.enter(Side::Read, 0) && lock.enter(Side::Read, 1));
        assert!(!lock.enter(Side::Write, 2));
        assert!(!lock.enter(Side::Read, 3));
        let mut admitted = Vec::new();
        lock.leave(Side::Read, &mut admitted);
        assert!(admitted.is_empty());
        lock.leave(Side::Read, &mut admitted);
        assert_eq!(admitted, [2]);
        lock.leave(Side::Write, &mut admitted);
        assert_eq!(admitted, [2, 3]);
    }
}
