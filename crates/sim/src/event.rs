//! The event queue: what happens next, in a total order.
//!
//! A key packs time, sequence number and event into 128 bits, so that comparing two events is one comparison
//! and ties break by the order of scheduling. Sequences that are known to be in order of time (transfers over
//! the link) are not in it: they wait in separate queues.

use crate::ids::{ChannelId, DieId, RequestSlot, TaskKind};
use flashlane_base::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens to a part of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The host has spent the submission cost of this request.
    Submitted(RequestSlot),
    /// The cell array of this die is done: with a read, a program or an erase.
    ArrayDone(DieId),
    /// The bus of this channel is done.
    BusDone(ChannelId),
    /// This die has been idle for the time after which garbage collection begins there.
    DieIdle(DieId),
    /// The host has been idle for the time after which the buffer is drained.
    HostIdle,
    /// The time that the firmware takes to acknowledge this buffered write is over.
    BufferLatencyOver(RequestSlot),
    /// The host has handled the completion of this request.
    CompletionDelivered(RequestSlot),
    /// The drive fetches this command, which had to wait in its submission queue.
    Fetched(RequestSlot),
    /// The timer of one of the drive's own tasks has ended, of this kind and number.
    Task(TaskKind, u32),
}

/// The kind of the timers of the first [`TaskKind`] in a key; those of other kinds follow. All from
/// [`TaskKind::WITH_OWN_BITS`] on share one, and have the upper bits of the index to differ by. Unlike the numbers in
/// the trace hash (`kernel::run`), none of these is pinned.
const TASKS: u32 = 7;
const FURTHER_TASKS: u32 = TASKS + TaskKind::WITH_OWN_BITS as u32;
const FURTHER_BITS: u32 = 24;
const FETCHED: u32 = 15;

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
        let (kind, index) = match event {
            Event::Submitted(slot) => (0_u32, slot.0),
            Event::ArrayDone(die) => (1, die.0),
            Event::BusDone(channel) => (2, channel.0),
            Event::DieIdle(die) => (3, die.0),
            Event::HostIdle => (4, 0),
            Event::BufferLatencyOver(slot) => (5, slot.0),
            Event::CompletionDelivered(slot) => (6, slot.0),
            Event::Fetched(slot) => (FETCHED, slot.0),
            Event::Task(kind, number) => match kind.number().checked_sub(TaskKind::WITH_OWN_BITS) {
                None => (TASKS + u32::from(kind.number()), number),
                Some(further) => {
                    debug_assert!(number < 1 << FURTHER_BITS, "numbers of further kinds have 24 bits");
                    (FURTHER_TASKS, u32::from(further) << FURTHER_BITS | number)
                }
            },
        };
        debug_assert!(kind < 1 << 4 && index < 1 << 28, "kinds have 4 bits, indices 28");
        // 31 bits, so that no ticket is that of `Timer::STOPPED`. Where the sequence wraps, two events of one time and
        // on either side of it change places: the order is still total and the same on every run.
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1) & 0x7fff_ffff;
        let key =
            u128::from(time.as_ns()) << 64 | u128::from(sequence) << 32 | u128::from(kind << 28 | index);
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
    pub fn pop(&mut self) -> Option<(Instant, Ticket, Event)> {
        let Reverse(key) = self.heap.pop()?;
        let index = key as u32 & 0x0fff_ffff;
        let event = match key as u32 >> 28 {
            0 => Event::Submitted(RequestSlot(index)),
            1 => Event::ArrayDone(DieId(index)),
            2 => Event::BusDone(ChannelId(index)),
            3 => Event::DieIdle(DieId(index)),
            4 => Event::HostIdle,
            5 => Event::BufferLatencyOver(RequestSlot(index)),
            6 => Event::CompletionDelivered(RequestSlot(index)),
            FETCHED => Event::Fetched(RequestSlot(index)),
            FURTHER_TASKS => {
                let further = TaskKind::WITH_OWN_BITS + (index >> FURTHER_BITS) as u8;
                Event::Task(TaskKind::numbered(further), index & ((1 << FURTHER_BITS) - 1))
            }
            kind => Event::Task(TaskKind::numbered((kind - TASKS) as u8), index),
        };
        Some((Instant::from_ns((key >> 64) as u64), Ticket((key >> 32) as u32), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_by_order_of_scheduling() {
        let mut queue = EventQueue::default();
        queue.schedule(Instant::from_ns(5), Event::BusDone(ChannelId(1)));
        queue.schedule(Instant::from_ns(3), Event::ArrayDone(DieId(7)));
        queue.schedule(Instant::from_ns(3), Event::Submitted(RequestSlot(2)));
        let order: Vec<Event> = std::iter::from_fn(|| queue.pop().map(|(_, _, event)| event)).collect();
        assert_eq!(
            order,
            [Event::ArrayDone(DieId(7)), Event::Submitted(RequestSlot(2)), Event::BusDone(ChannelId(1))]
        );
        assert_eq!(queue.next_time(), Instant::FAR);
    }

    #[test]
    fn timers_of_all_mechanisms_are_told_apart() {
        let mut queue = EventQueue::default();
        let timers: Vec<Event> = (0..TaskKind::WITH_OWN_BITS + 16)
            .map(|kind| Event::Task(TaskKind::numbered(kind), 0xab_cdef - u32::from(kind)))
            .collect();
        for &timer in &timers {
            queue.schedule(Instant::ZERO, timer);
        }
        let taken: Vec<Event> = std::iter::from_fn(|| queue.pop().map(|(_, _, event)| event)).collect();
        assert_eq!(taken, timers);
    }
}
