//! Operations that wait at a die: a list through the operations themselves, so that queueing allocates nothing.

use super::gc::GcStep;
use super::operation::FlashOperation;
use crate::ids::Slot;
use crate::slab::Slab;

/// An operation that is queued or under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OpSlot(u32);

impl OpSlot {
    /// No operation, in links between operations.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) fn is_some(self) -> bool {
        self != Self::NONE
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Slot for OpSlot {
    #[inline]
    fn of(number: u32) -> Self {
        Self(number)
    }
    #[inline]
    fn number(self) -> u32 {
        self.0
    }
}

/// An operation with its place among the others of its die.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) operation: FlashOperation,
    /// The next in the queue it waits in.
    pub(super) next: OpSlot,
    /// The next of the operations that share its array time: on other planes of the die, or programs on its own plane
    /// that fill up the flash page.
    pub(super) partner: OpSlot,
    /// The step of GC that is under way.
    pub(super) step: GcStep,
    /// Whether a partner is on another plane.
    pub(super) is_multi_plane: bool,
}

impl Node {
    pub(super) fn new(operation: FlashOperation) -> Self {
        Self {
            operation,
            next: OpSlot::NONE,
            partner: OpSlot::NONE,
            step: GcStep::Whole,
            is_multi_plane: false,
        }
    }
}

/// All operations of a drive that are queued or under way.
pub(super) type Operations = Slab<OpSlot, Node>;

/// A first-in first-out queue of operations, linked through them. Invariant: `first` and `last` are both none or both
/// some.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    first: OpSlot,
    last: OpSlot,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { first: OpSlot::NONE, last: OpSlot::NONE };

    #[inline]
    pub(super) fn first(&self) -> OpSlot {
        self.first
    }

    #[inline]
    pub(super) fn last(&self) -> OpSlot {
        self.last
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.first.is_some()
    }

    pub(super) fn push(&mut self, ops: &mut Operations, op: OpSlot) {
        ops[op].next = OpSlot::NONE;
        match self.last {
            OpSlot::NONE => self.first = op,
            last => ops[last].next = op,
        }
        self.last = op;
    }

    pub(super) fn push_front(&mut self, ops: &mut Operations, op: OpSlot) {
        ops[op].next = self.first;
        self.first = op;
        if self.last == OpSlot::NONE {
            self.last = op;
        }
    }

    pub(super) fn pop(&mut self, ops: &Operations) -> Option<OpSlot> {
        let first = self.first;
        if first == OpSlot::NONE {
            return None;
        }
        self.first = ops[first].next;
        if self.first == OpSlot::NONE {
            debug_assert_eq!(self.last, first, "the last of a queue has none behind it");
            self.last = OpSlot::NONE;
        }
        Some(first)
    }

    /// Takes out `op`, which stands behind `previous`.
    pub(super) fn remove(&mut self, ops: &mut Operations, previous: OpSlot, op: OpSlot) {
        let next = ops[op].next;
        match previous {
            OpSlot::NONE => self.first = next,
            _ => ops[previous].next = next,
        }
        if self.last == op {
            self.last = previous;
        }
    }
}
