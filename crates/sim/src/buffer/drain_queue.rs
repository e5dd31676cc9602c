//! The drain queue: mapping units that were chosen to leave the buffer and whose drain has not started.

use crate::ids::{BufferSlot, PackageId};
use flashlane_policy::buffer::Queues;
use std::collections::VecDeque;

/// The chosen units, in one queue or in a queue a package. Invariant: `waiting` is the number of all.
pub(super) struct DrainQueue {
    queues: Vec<VecDeque<BufferSlot>>,
    /// The queue whose turn it is.
    turn: usize,
    waiting: usize,
}

impl DrainQueue {
    pub(super) fn new(queues: Queues, packages: u32) -> Self {
        let count = match queues {
            Queues::One => 1,
            Queues::EachPackage => packages as usize,
        };
        Self { queues: vec![VecDeque::new(); count], turn: 0, waiting: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(super) fn push(&mut self, package: PackageId, slot: BufferSlot) {
        let count = self.queues.len();
        self.queues[package.index() % count].push_back(slot);
        self.waiting += 1;
    }

    /// Takes the first unit of the next queue whose first unit `may` start.
    pub(super) fn pop(&mut self, may: impl Fn(BufferSlot) -> bool) -> Option<BufferSlot> {
        if self.waiting == 0 {
            return None;
        }
        let count = self.queues.len();
        let turn = (self.turn..count)
            .chain(0..self.turn)
            .find(|&queue| self.queues[queue].front().is_some_and(|&slot| may(slot)))?;
        self.turn = (turn + 1) % count;
        self.waiting -= 1;
        self.queues[turn].pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_queue_waits_for_its_first_unit_and_package_queues_do_not() {
        for (queues, expected) in [(Queues::One, vec![]), (Queues::EachPackage, vec![1, 3])] {
            let mut queue = DrainQueue::new(queues, 2);
            for (package, slot) in [(0, 0), (1, 1), (0, 2), (1, 3)] {
                queue.push(PackageId(package), BufferSlot(slot));
            }
            let out: Vec<u32> =
                std::iter::from_fn(|| queue.pop(|slot| slot.0 % 2 == 1)).map(|slot| slot.0).collect();
            assert_eq!(out, expected);
            assert!(!queue.is_empty());
            let rest = std::iter::from_fn(|| queue.pop(|_| true)).count();
            assert_eq!(rest + out.len(), 4);
            assert!(queue.is_empty());
        }
    }
}
