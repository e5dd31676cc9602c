//! The arbiter: commands wait in the host's submission queues until the drive has a free slot, and its policy chooses
//! the queue from which the next one is fetched.
//!
//! Invariants:
//! - a command is in its queue, or has a slot from when it is fetched until it is done;
//! - a command waits only while all slots are taken.

use crate::config::DriveConfig;
use crate::ids::RequestSlot;
use flashlane_device::QueueId;
use flashlane_policy::arbitration::{Arbitration, Waiting};
use std::collections::VecDeque;

/// The submission queues.
pub(crate) struct Arbiter {
    /// As built, for the next power-on.
    initial: Box<dyn Arbitration>,
    policy: Box<dyn Arbitration>,
    slots: u32,
    taken: u32,
    queues: Vec<VecDeque<Command>>,
    /// Commands that have come so far.
    arrivals: u64,
    /// Kept to spare its allocation.
    waiting: Vec<Waiting>,
}

#[derive(Clone, Copy)]
struct Command {
    slot: RequestSlot,
    bytes: u64,
    arrival: u64,
}

impl Arbiter {
    /// The queues of a profile; `None` where it has none. Requires: `config` is validated.
    pub(crate) fn new(config: &DriveConfig) -> Option<Self> {
        let queues = config.queues.as_ref()?;
        let options = queues.options.options();
        let policy = config.policies.arbitration.build(&queues.policy, queues.count, &options);
        let policy = policy.expect("validation built every policy once");
        Some(Self::with(policy, queues.slots.unwrap_or(config.link.depth), queues.count as usize))
    }

    fn with(initial: Box<dyn Arbitration>, slots: u32, queues: usize) -> Self {
        Self {
            policy: initial.boxed_clone(),
            initial,
            slots,
            taken: 0,
            queues: vec![VecDeque::new(); queues],
            arrivals: 0,
            waiting: Vec::with_capacity(queues),
        }
    }

    /// The same, empty, at the next power-on.
    pub(crate) fn restarted(&self) -> Self {
        Self::with(self.initial.boxed_clone(), self.slots, self.queues.len())
    }

    /// A command of `bytes` comes into its queue. Returns whether the drive fetches it at once; otherwise it waits.
    pub(crate) fn arrive(&mut self, slot: RequestSlot, queue: QueueId, bytes: u64) -> bool {
        self.arrivals += 1;
        self.queues[queue.0 as usize].push_back(Command { slot, bytes, arrival: self.arrivals });
        let fetches = self.taken < self.slots;
        if fetches {
            self.taken += 1;
            let fetched = self.fetch();
            assert_eq!(fetched, Some(slot), "no other command waits while a slot is free");
        }
        fetches
    }

    /// A fetched command is done. Returns the one that gets its slot.
    pub(crate) fn done(&mut self) -> Option<RequestSlot> {
        debug_assert!(self.taken > 0, "it had a slot");
        let next = self.fetch();
        self.taken -= u32::from(next.is_none());
        next
    }

    fn fetch(&mut self) -> Option<RequestSlot> {
        self.waiting.clear();
        let heads = self.queues.iter().enumerate().filter_map(|(queue, commands)| {
            let head = commands.front()?;
            Some(Waiting { queue: queue as u32, bytes: head.bytes, arrival: head.arrival })
        });
        self.waiting.extend(heads);
        if self.waiting.is_empty() {
            return None;
        }
        let at = self.policy.choose(&self.waiting);
        let chosen = self.waiting.get(at).expect("a policy chooses among the queues that wait");
        self.queues[chosen.queue as usize].pop_front().map(|command| command.slot)
    }
}

impl Clone for Arbiter {
    fn clone(&self) -> Self {
        Self {
            initial: self.initial.boxed_clone(),
            policy: self.policy.boxed_clone(),
            queues: self.queues.clone(),
            waiting: Vec::new(),
            ..*self
        }
    }
}
