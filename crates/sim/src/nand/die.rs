//! A die as its scheduler sees it: what its array and its register do, and what waits for them.

use super::operation::Defer;
use super::queue::{OpSlot, Operations, Queue};
use crate::event::Timer;
use crate::ids::ChannelId;
use flashlane_base::{Duration, Instant};
use flashlane_policy::scheduling::RANKS;

/// The queue of GC that is deferred behind the host.
pub(super) const DEFERRED: usize = RANKS;

#[derive(Clone, Debug)]
pub(super) struct DieState {
    /// The operation whose array time runs, or that waits in the array for the register.
    pub(super) array: OpSlot,
    /// The operation that holds the register: on the bus, waiting for it, or (a program) waiting for the array.
    pub(super) register: OpSlot,
    /// Of the register's operations on several planes, the one on the bus.
    pub(super) transferring: OpSlot,
    /// A program whose data are in the register and that waits for the array.
    pub(super) program_waits_for_array: bool,
    /// A read that is done in the array and waits for the register.
    pub(super) read_waits_for_register: bool,
    /// The timer of the array time.
    pub(super) array_timer: Timer,
    pub(super) array_from: Instant,
    pub(super) array_ends: Instant,
    /// Whether the timer is that of a step, at whose end the operation is suspended.
    pub(super) suspends_at_step: bool,
    pub(super) suspended: OpSlot,
    pub(super) suspended_left: Duration,
    /// When reads began to pass waiting writes, or to suspend one, since the last write, GC step or erase ended; kept
    /// only where `scheduling.write_wait` bounds it.
    pub(super) passed_since: Option<Instant>,
    /// Operations of idle-die GC that were interrupted, the first interrupted first: they go on once the die has been
    /// idle again.
    pub(super) paused: Queue,
    /// Operations of garbage collection, and erases, that are under way or wait.
    pub(super) gc_operations: u32,
    /// What waits, by rank; behind all others GC that is deferred behind the host.
    pub(super) queues: [Queue; RANKS + 1],
    pub(super) channel: ChannelId,
}

impl DieState {
    pub(super) fn idle(channel: ChannelId) -> Self {
        Self {
            array: OpSlot::NONE,
            register: OpSlot::NONE,
            transferring: OpSlot::NONE,
            program_waits_for_array: false,
            read_waits_for_register: false,
            array_timer: Timer::STOPPED,
            array_from: Instant::ZERO,
            array_ends: Instant::ZERO,
            suspends_at_step: false,
            suspended: OpSlot::NONE,
            suspended_left: Duration::ZERO,
            passed_since: None,
            paused: Queue::EMPTY,
            gc_operations: 0,
            queues: [Queue::EMPTY; RANKS + 1],
            channel,
        }
    }

    /// Whether anything waits in the first `ranks` queues.
    pub(super) fn has_waiting(&self, ranks: usize) -> bool {
        self.queues[..ranks].iter().any(|queue| !queue.is_empty())
    }

    /// Whether anything waits that is not deferred until the next operation.
    pub(super) fn has_undeferred(&self, ops: &Operations) -> bool {
        self.queues.iter().any(|queue| {
            let mut op = queue.first();
            while op.is_some() && ops[op].operation.defer == Defer::UntilNextOperation {
                op = ops[op].next;
            }
            op.is_some()
        })
    }
}
