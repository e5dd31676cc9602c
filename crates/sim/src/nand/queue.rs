//! Operations that wait at a die: a list through the operations themselves, so that queueing allocates nothing.

use super::operation::{NONE, Operation};
use crate::slab::Slab;

/// A first-in first-out queue of operations, linked through them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub(super) first: u32,
    last: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    pub(super) fn push(&mut self, ops: &mut Slab<Operation>, op: u32) {
        ops[op].next = NONE;
        match self.last {
            NONE => self.first = op,
            last => ops[last].next = op,
        }
        self.last = op;
    }

    pub(super) fn push_front(&mut self, ops: &mut Slab<Operation>, op: u32) {
        ops[op].next = self.first;
        self.first = op;
        if self.last == NONE {
            self.last = op;
        }
    }

    pub(super) fn pop(&mut self, ops: &Slab<Operation>) -> Option<u32> {
        let first = self.first;
        if first == NONE {
            return None;
        }
        self.first = ops[first].next;
        if self.first == NONE {
            self.last = NONE;
        }
        Some(first)
    }

    /// Takes out the first operation that suits, behind the given one.
    pub(super) fn take(
        &mut self,
        ops: &mut Slab<Operation>,
        mut suits: impl FnMut(&Operation) -> bool,
    ) -> Option<u32> {
        let (mut before, mut op) = (NONE, self.first);
        while op != NONE {
            let next = ops[op].next;
            if suits(&ops[op]) {
                match before {
                    NONE => self.first = next,
                    _ => ops[before].next = next,
                }
                if self.last == op {
                    self.last = before;
                }
                return Some(op);
            }
            (before, op) = (op, next);
        }
        None
    }
}
