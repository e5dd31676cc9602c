//! Pages that were chosen to leave and have not set out yet.

use flashlane_policy::buffer::Queues;
use std::collections::VecDeque;

/// The chosen pages, in one queue or in a queue a package.
pub(super) struct Departures {
    queues: Vec<VecDeque<u32>>,
    /// The queue whose turn it is.
    turn: usize,
    waiting: usize,
}

impl Departures {
    pub(super) fn new(queues: Queues, packages: u32) -> Self {
        let count = match queues {
            Queues::One => 1,
            Queues::EachPackage => packages as usize,
        };
        Self { queues: vec![VecDeque::new(); count], turn: 0, waiting: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(super) fn push(&mut self, package: u32, slot: u32) {
        let queue = package as usize % self.queues.len();
        self.queues[queue].push_back(slot);
        self.waiting += 1;
    }

    /// Takes the first page of the next queue whose first page `may` set out.
    pub(super) fn pop(&mut self, may: impl Fn(u32) -> bool) -> Option<u32> {
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
    fn one_queue_is_held_up_by_its_first_page_and_a_queue_a_package_is_not() {
        for (queues, expected) in [(Queues::One, vec![]), (Queues::EachPackage, vec![1, 3])] {
            let mut departures = Departures::new(queues, 2);
            for (package, slot) in [(0, 0), (1, 1), (0, 2), (1, 3)] {
                departures.push(package, slot);
            }
            let out: Vec<u32> = std::iter::from_fn(|| departures.pop(|slot| slot % 2 == 1)).collect();
            assert_eq!(out, expected);
            assert!(!departures.is_empty());
            let rest = std::iter::from_fn(|| departures.pop(|_| true)).count();
            assert_eq!(rest + out.len(), 4);
            assert!(departures.is_empty());
        }
    }
}
