//! Reads of flash and writes exclude each other in the controller: many of one side, none of the other.
//!
//! chen11 (section 5.2) measures the effect (sequential writes fall by a factor of 4.5 beside a random reader) and
//! names candidates: shared engines, a lock-protected mapping table, pipelines that run in one direction. A lock
//! that is granted in order of arrival has the same effect, whichever it is. What is fetched ahead is read from
//! flash like everything else and takes its turn, too.

use std::collections::VecDeque;

/// Who wants the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A read that goes to flash.
    Read,
    /// A write whose data come in.
    Write,
}

/// On whose behalf the controller is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A host request, by its slot.
    Request(u32),
    /// A page that is fetched ahead.
    Fetch(u32),
}

/// The lock and those who wait for it.
#[derive(Default)]
pub(crate) struct Exclusion {
    held: Option<(Side, u32)>,
    waiting: VecDeque<(Side, Holder)>,
}

impl Exclusion {
    /// Asks for `side` on behalf of a holder; true where it is granted at once, else the holder waits.
    pub(crate) fn enter(&mut self, side: Side, holder: Holder) -> bool {
        let granted = self.waiting.is_empty() && self.admits(side);
        if granted {
            self.grant(side);
        } else {
            self.waiting.push_back((side, holder));
        }
        granted
    }

    /// Gives the lock back; those who may go on are appended to `admitted`, in order.
    pub(crate) fn leave(&mut self, side: Side, admitted: &mut Vec<Holder>) {
        let (held, count) = self.held.expect("only a holder leaves");
        assert_eq!(held, side, "the side that leaves is the one that holds");
        self.held = (count > 1).then_some((held, count - 1));
        while let Some(&(side, holder)) = self.waiting.front()
            && self.admits(side)
        {
            self.waiting.pop_front();
            self.grant(side);
            admitted.push(holder);
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
        assert!(lock.enter(Side::Read, Holder::Request(0)) && lock.enter(Side::Read, Holder::Fetch(1)));
        assert!(!lock.enter(Side::Write, Holder::Request(2)));
        assert!(!lock.enter(Side::Read, Holder::Fetch(3)));
        let mut admitted = Vec::new();
        lock.leave(Side::Read, &mut admitted);
        assert!(admitted.is_empty());
        lock.leave(Side::Read, &mut admitted);
        assert_eq!(admitted, [Holder::Request(2)]);
        lock.leave(Side::Write, &mut admitted);
        assert_eq!(admitted, [Holder::Request(2), Holder::Fetch(3)]);
    }
}
