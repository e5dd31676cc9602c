//! Operations that wait at a die: a list through the operations themselves, so that queueing allocates nothing.

use super::operation::{NONE, Operation};
use crate::slab::Slab;

/// A first-in first-out queue of operations, linked through them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub(super) first: u32,
    pub(super) last: u32,
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

    /// Takes out `op`, which stands behind `previous`.
    pub(super) fn remove(&mut self, ops: &mut Slab<Operation>, previous: u32, op: u32) {
        let next = ops[op].next;
        match previous {
            NONE => self.first = next,
            _ => ops[previous].next = next,
        }
        if self.last == op {
            self.last = previous;
        }
    }
}
