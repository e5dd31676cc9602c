//! The link: a resource that serves transfers in the order in which they become ready.
//!
//! Because it serves in order, the end of a transfer is known when it is queued, and the transfers in flight
//! form a queue that is sorted by time: they need no place in the event queue.

use crate::config::LinkConfig;
use crate::ids::RequestSlot;
use flashlane_base::{Duration, Instant};
use std::collections::VecDeque;

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the host: data and commands of reads, completions of writes.
    Out,
    /// To the drive: writes and commands without data.
    In,
}

/// A transfer under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// The request's slot.
    pub(crate) request: RequestSlot,
    /// Mapping units of the request that this transfer stands for.
    pub(crate) units: u32,
    /// Which way.
    pub(crate) direction: Direction,
}

/// The link between host and drive.
#[derive(Clone)]
pub(crate) struct Link {
    /// Out, in.
    bytes_per_s: [u64; 2],
    duplex: bool,
    commands: [Duration; 2],
    page_command: Duration,
    queues: [TransferQueue; 2],
    busy_ns: u64,
}

/// The transfers in one direction, or in both where the link is not duplex. Invariant: `first_ends` is when the first
/// of `under_way` ends, which every event of the drive asks for; [`Instant::FAR`] where there is none.
#[derive(Clone)]
struct TransferQueue {
    free_at: Instant,
    first_ends: Instant,
    under_way: VecDeque<(Instant, Transfer)>,
}

impl Default for TransferQueue {
    fn default() -> Self {
        Self { free_at: Instant::ZERO, first_ends: Instant::FAR, under_way: VecDeque::new() }
    }
}

impl TransferQueue {
    /// Queues a transfer of this duration. Returns when it ends.
    #[inline]
    fn push(&mut self, now: Instant, time: Duration, transfer: Transfer) -> Instant {
        let ends = self.free_at.max(now) + time;
        self.free_at = ends;
        self.first_ends = self.first_ends.min(ends);
        self.under_way.push_back((ends, transfer));
        ends
    }

    /// Takes the first transfer.
    #[inline]
    fn pop(&mut self) -> Option<(Instant, Transfer)> {
        let first = self.under_way.pop_front();
        self.first_ends = self.under_way.front().map_or(Instant::FAR, |(ends, _)| *ends);
        first
    }
}

impl Link {
    pub(crate) fn new(config: &LinkConfig) -> Self {
        Self {
            bytes_per_s: [config.bandwidth.0, config.write_bandwidth.unwrap_or(config.bandwidth).0],
            duplex: config.duplex,
            commands: [config.read_command.0, config.write_command.0],
            page_command: config.page_command.0,
            queues: Default::default(),
            busy_ns: 0,
        }
    }

    /// Queues `transfer` of `bytes`, which carry `units` mapping units, to begin as soon as the link is free; `command`
    /// adds the command's own time. Returns when it ends.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        transfer: Transfer,
        bytes: u64,
        units: u32,
        command: bool,
    ) -> Instant {
        let mut time = match (bytes, self.bytes_per_s[transfer.direction as usize]) {
            (0, _) | (_, 0) => Duration::ZERO,
            // The usual sizes fit 64-bit arithmetic.
            (_, rate) if bytes < 1 << 33 => Duration::from_ns((bytes * 1_000_000_000).div_ceil(rate)),
            (_, rate) => Duration::of_transfer(bytes, rate),
        };
        time += self.page_command * u64::from(units);
        if command {
            time += self.commands[transfer.direction as usize];
        }
        self.busy_ns += time.as_ns();
        let queue = &mut self.queues[if self.duplex { transfer.direction as usize } else { 0 }];
        queue.push(now, time, transfer)
    }

    /// Whether anything is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.queues.iter().any(|queue| !queue.under_way.is_empty())
    }

    /// When the next transfer ends.
    #[inline]
    pub(crate) fn next_time(&self) -> Instant {
        self.queues[0].first_ends.min(self.queues[1].first_ends)
    }

    /// Takes the transfer that ends next; outbound before inbound on a tie.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Instant, Transfer)> {
        let [first, second] = &mut self.queues;
        if first.first_ends <= second.first_ends { first.pop() } else { second.pop() }
    }

    /// Power is cut: transfers are lost, the counters stay.
    pub(crate) fn cut_power(&mut self) {
        self.queues = Default::default();
    }

    /// Nanoseconds that the link was busy, summed over its directions.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}
