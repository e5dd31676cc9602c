//! The event queue: what happens next, in a total order.
//!
//! A key packs time, sequence number and event into 128 bits, so that comparing two events is one comparison
//! and ties break by the order of scheduling. Sequences that are known to be in order of time (transfers over
//! the link) are not in it: they wait in separate queues.

use crate::ids::{ChannelId, DieId, RequestSlot, TaskKind};
use flashlane_base::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What the drive does once the host is idle, each after its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleWork {
    /// Buffered units drain.
    DrainBuffer,
    /// Idle dies fold the SLC cache.
    FoldCache,
}

impl IdleWork {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; 2] = [Self::DrainBuffer, Self::FoldCache];
}

/// Something that happens to a part of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The host has spent the submission cost of this request.
    SubmissionDone(RequestSlot),
    /// This die is done: with queues, its cell array, with a read, a program or an erase; where it serves in order, its
    /// first operation, with the bus.
    DieDone(DieId),
    /// The bus of this channel is done.
    BusDone(ChannelId),
    /// This die has been idle for the time after which garbage collection begins there.
    DieIdle(DieId),
    /// The host has been idle for the time after which the drive does this.
    HostIdle(IdleWork),
    /// The time that the firmware takes to acknowledge this buffered write is over.
    BufferLatencyOver(RequestSlot),
    /// The host has handled the completion of this request.
    CompletionDelivered(RequestSlot),
    /// The drive fetches this command, which had to wait in its submission queue.
    Fetched(RequestSlot),
    /// The timer of one of the drive's own tasks has ended, of this kind and number.
    Task(TaskKind, u32),
}

/// The number of an event: its kind in the upper 4 bits, and below the index of what it happens to.
///
/// It is what the queue keeps of an event and what the trace hash takes of it, so that every pinned hash has these
/// numbers of kinds.
#[derive(Clone, Copy)]
struct EventNumber(u32);

const INDEX_BITS: u32 = 28;
/// The transfers over the link have this kind. They have their own queue, but a place in the hash.
const LINK: u32 = 4;
/// The kind of the first [`TaskKind`]; those of the others follow, and all from [`TaskKind::LAST_OWN`] on share one.
const TASKS: u32 = 8;
const SHARED_TASKS: u32 = TASKS + TaskKind::LAST_OWN as u32;
/// Of the tasks that share a kind the upper bits of the index have the number of the task above the last own one, and
/// these are left for the number of the timer.
const TIMER_BITS: u32 = 24;

impl EventNumber {
    #[inline]
    fn of(event: Event) -> Self {
        let (kind, index) = match event {
            Event::SubmissionDone(slot) => (0, slot.0),
            Event::DieDone(die) => (1, die.0),
            Event::BusDone(channel) => (2, channel.0),
            Event::DieIdle(die) => (3, die.0),
            Event::HostIdle(work) => (5, work as u32),
            Event::BufferLatencyOver(slot) => (6, slot.0),
            Event::CompletionDelivered(slot) => (7, slot.0),
            Event::Task(task, timer) => match task.number().checked_sub(TaskKind::LAST_OWN) {
                None => (TASKS + u32::from(task.number()), timer),
                Some(above) => {
                    debug_assert!(timer < 1 << TIMER_BITS, "timers of tasks that share a kind have 24 bits");
                    (SHARED_TASKS, u32::from(above) << TIMER_BITS | timer)
                }
            },
            Event::Fetched(slot) => (15, slot.0),
        };
        debug_assert!(kind < 1 << 4 && index < 1 << INDEX_BITS, "kinds have 4 bits, indices 28");
        Self(kind << INDEX_BITS | index)
    }

    #[inline(always)]
    fn event(self) -> Event {
        let index = self.index();
        match self.kind() {
            0 => Event::SubmissionDone(RequestSlot(index)),
            1 => Event::DieDone(DieId(index)),
            2 => Event::BusDone(ChannelId(index)),
            3 => Event::DieIdle(DieId(index)),
            5 => Event::HostIdle(IdleWork::ALL[index as usize]),
            6 => Event::BufferLatencyOver(RequestSlot(index)),
            7 => Event::CompletionDelivered(RequestSlot(index)),
            SHARED_TASKS => {
                let task = TaskKind::LAST_OWN + (index >> TIMER_BITS) as u8;
                Event::Task(TaskKind::numbered(task), index & ((1 << TIMER_BITS) - 1))
            }
            15 => Event::Fetched(RequestSlot(index)),
            kind => Event::Task(TaskKind::numbered((kind - TASKS) as u8), index),
        }
    }

    #[inline]
    fn kind(self) -> u32 {
        self.0 >> INDEX_BITS
    }

    #[inline]
    fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    /// What the trace hash takes of it.
    #[inline]
    fn in_hash(self) -> u64 {
        let above = if self.kind() == SHARED_TASKS { self.index() >> TIMER_BITS } else { 0 };
        let index = self.index() ^ above << TIMER_BITS;
        u64::from(self.kind()) << 60 | u64::from(above) << 32 | u64::from(index)
    }
}

/// What the trace hash takes of a transfer that has ended.
#[inline]
pub fn transfer_in_hash(request: RequestSlot) -> u64 {
    u64::from(LINK) << 60 | u64::from(request.0)
}

/// The identity of a scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u32);

/// A timer, whose end is an event. Where it is stopped, or started anew, the event of its last start is *stale*: it
/// stays in the queue and ends nothing.
#[derive(Clone, Copy, Debug)]
pub struct Timer(Ticket);

impl Timer {
    /// No event has this ticket.
    pub const STOPPED: Self = Self(Ticket(u32::MAX));

    #[inline]
    pub fn is_running(self) -> bool {
        self.0 != Self::STOPPED.0
    }

    /// Returns whether the event that happens now ends this timer, which is stopped then; otherwise the event is stale.
    #[inline]
    pub fn ends(&mut self, ticket: Ticket) -> bool {
        let ends = self.0 == ticket;
        if ends {
            *self = Self::STOPPED;
        }
        ends
    }
}

/// An event that happens now.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    pub time: Instant,
    pub ticket: Ticket,
    pub event: Event,
    /// What the trace hash takes of it.
    pub in_hash: u64,
}

/// Scheduled events, earliest first.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u32,
}

impl EventQueue {
    /// Starts a timer that ends with `event` at `time`.
    #[inline]
    pub fn start_timer(&mut self, time: Instant, event: Event) -> Timer {
        Timer(self.schedule(time, event))
    }

    /// Schedules `event` at `time`.
    #[inline]
    pub fn schedule(&mut self, time: Instant, event: Event) -> Ticket {
        // 31 bits, so that no ticket is that of `Timer::STOPPED`. Where the sequence wraps, two events of one time and
        // on either side of it change places: the order is still total and the same on every run.
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1) & 0x7fff_ffff;
        let number = EventNumber::of(event);
        let key = u128::from(time.as_ns()) << 64 | u128::from(sequence) << 32 | u128::from(number.0);
        self.heap.push(Reverse(key));
        Ticket(sequence)
    }

    /// When the next event happens; [`Instant::FAR`] where none is scheduled.
    #[inline]
    pub fn next_time(&self) -> Instant {
        self.heap.peek().map_or(Instant::FAR, |Reverse(key)| Instant::from_ns((key >> 64) as u64))
    }

    /// Takes the next event.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Due> {
        let Reverse(key) = self.heap.pop()?;
        let number = EventNumber(key as u32);
        Some(Due {
            time: Instant::from_ns((key >> 64) as u64),
            ticket: Ticket((key >> 32) as u32),
            event: number.event(),
            in_hash: number.in_hash(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_by_order_of_scheduling() {
        let mut queue = EventQueue::default();
        queue.schedule(Instant::from_ns(5), Event::BusDone(ChannelId(1)));
        queue.schedule(Instant::from_ns(3), Event::DieDone(DieId(7)));
        queue.schedule(Instant::from_ns(3), Event::SubmissionDone(RequestSlot(2)));
        let order: Vec<Event> = std::iter::from_fn(|| queue.pop().map(|due| due.event)).collect();
        assert_eq!(
            order,
            [Event::DieDone(DieId(7)), Event::SubmissionDone(RequestSlot(2)), Event::BusDone(ChannelId(1))]
        );
        assert_eq!(queue.next_time(), Instant::FAR);
    }

    #[test]
    fn timers_of_all_tasks_differ() {
        let mut queue = EventQueue::default();
        let timers: Vec<Event> = (0..TaskKind::COUNT)
            .map(|kind| Event::Task(TaskKind::numbered(kind), 0xab_cdef - u32::from(kind)))
            .collect();
        for &timer in &timers {
            queue.schedule(Instant::ZERO, timer);
        }
        let taken: Vec<Event> = std::iter::from_fn(|| queue.pop().map(|due| due.event)).collect();
        assert_eq!(taken, timers);
    }
}
