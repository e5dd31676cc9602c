//! The loop over the events of a drive: the kernel's own, and those that its front end handles.
//!
//! A front end ([`FrontEnd`]) handles submitted requests, ended transfers and finished flash operations.

use super::Kernel;
use crate::event::{Event, Ticket};
use crate::host_port::Transfer;
use crate::ids::{DieId, RequestSlot, TaskKind};
use crate::nand::FlashOperation;
use flashlane_base::Instant;
use flashlane_device::{Completion, Part};

/// What a drive adds to the kernel.
pub(crate) trait FrontEnd {
    /// The state of a request in flight.
    type State;

    fn kernel(&mut self) -> &mut Kernel<Self::State>;

    /// The host has spent the submission cost of a request, and the drive has fetched it from its queue.
    fn fetched(&mut self, slot: RequestSlot);

    /// A transfer over the link ended.
    fn transfer_ended(&mut self, transfer: Transfer);

    /// Flash operations of `die` finished, in this order: at least one.
    fn flash_finished(&mut self, die: DieId, finished: &[FlashOperation]);

    /// The array of `die` ended an operation or a step of one, or its register an operation: perhaps it is idle now.
    fn die_advanced(&mut self, _die: DieId) {}

    /// Whether an event of the front end's timers ends its timer; otherwise it is stale, and not handled.
    fn claims_timer(&mut self, event: Event, _ticket: Ticket) -> bool {
        unreachable!("{event:?} ends no timer of this drive")
    }

    /// The timer of this event has ended.
    fn timer_ended(&mut self, event: Event) {
        unreachable!("{event:?} ends no timer of this drive")
    }

    /// The host has been idle for the time after which the drive does something.
    fn host_idle(&mut self) {}

    /// The time that the firmware takes to acknowledge a buffered write is over.
    fn buffer_latency_over(&mut self, _slot: RequestSlot) {
        unreachable!("only buffered writes are acknowledged")
    }
}

// What an event adds to the trace hash: its kind above the index of what it happens to. The numbers are part of every
// pinned hash.
const ARRAY: u64 = 1 << 60;
const BUS: u64 = 2 << 60;
const DIE_IDLE: u64 = 3 << 60;
const LINK: u64 = 4 << 60;
const HOST_IDLE: u64 = 5 << 60;
const BUFFER_LATENCY_OVER: u64 = 6 << 60;
const COMPLETION_DELIVERED: u64 = 7 << 60;
/// Of the timers of the first kind of tasks; the others follow.
const TASK: u64 = 8;
const FETCHED: u64 = 15 << 60;

/// Advances time until requests complete, which are appended to `out`, but not beyond `until`.
pub(crate) fn run<F: FrontEnd>(front: &mut F, until: Instant, out: &mut Vec<Completion>) {
    loop {
        let kernel = front.kernel();
        if !kernel.completed.is_empty() {
            if let Some(accounts) = &mut kernel.accounts {
                accounts.reaped();
            }
            return out.append(&mut kernel.completed);
        }
        let in_flight = kernel.volatile.in_flight;
        if in_flight == 0 && until == Instant::FAR {
            return;
        }
        let next = kernel.next_time();
        if next > until {
            kernel.now = kernel.now.max(until);
            return;
        }
        assert!(next < Instant::FAR, "{in_flight} requests are in flight, but nothing will happen");
        step(front);
    }
}

/// Ends the next transfer over the link.
#[inline]
fn end_transfer<F: FrontEnd>(front: &mut F) {
    let kernel = front.kernel();
    let (time, transfer) = kernel.link.pop().expect("it has a time");
    kernel.advance(time, LINK | u64::from(transfer.request.0));
    if let Some(accounts) = &mut kernel.accounts {
        accounts.transfer_ended(transfer.request, transfer.direction);
    }
    front.transfer_ended(transfer);
}

/// Handles the next event, and all that follows from it at the same time.
///
/// Stale events of idle dies and hosts leave clock and hash alone; those of mechanisms advance both, which is part of
/// every pinned hash.
#[inline]
fn step<F: FrontEnd>(front: &mut F) {
    let kernel = front.kernel();
    if kernel.link.next_time() <= kernel.volatile.events.next_time() {
        return end_transfer(front);
    }
    let (time, ticket, event) = kernel.volatile.events.pop().expect("it has a time");
    match event {
        Event::Submitted(slot) => {
            kernel.advance(time, u64::from(slot.0));
            kernel.charge(slot, Part::Host);
            if kernel.arrive(slot) {
                front.fetched(slot);
            }
        }
        Event::ArrayDone(die) => {
            kernel.advance(time, ARRAY | u64::from(die.0));
            kernel.flash.array_done(die, ticket, time, &mut kernel.volatile.events, &mut kernel.finished);
            hand_over_finished(front, die);
            front.die_advanced(die);
        }
        Event::BusDone(channel) => {
            kernel.advance(time, BUS | u64::from(channel.0));
            kernel.flash.bus_done(channel, time, &mut kernel.volatile.events, &mut kernel.finished);
            if let Some(operation) = kernel.finished.first() {
                let die = kernel.flash.die_of(operation.plane);
                hand_over_finished(front, die);
                front.die_advanced(die);
            }
        }
        Event::DieIdle(die) => {
            if front.claims_timer(event, ticket) {
                front.kernel().advance(time, DIE_IDLE | u64::from(die.0));
                front.timer_ended(event);
            }
        }
        Event::HostIdle => {
            if kernel.volatile.host_idle.claims_timer(ticket) {
                kernel.advance(time, HOST_IDLE);
                front.host_idle();
            }
        }
        Event::BufferLatencyOver(slot) => {
            kernel.advance(time, BUFFER_LATENCY_OVER | u64::from(slot.0));
            front.buffer_latency_over(slot);
        }
        Event::CompletionDelivered(slot) => {
            kernel.advance(time, COMPLETION_DELIVERED | u64::from(slot.0));
            kernel.deliver_completion(slot);
        }
        Event::Fetched(slot) => {
            kernel.advance(time, FETCHED | u64::from(slot.0));
            kernel.charge(slot, Part::Queue);
            front.fetched(slot);
        }
        Event::Task(kind, number) => {
            kernel.advance(time, timer_in_hash(kind, number));
            if front.claims_timer(event, ticket) {
                front.timer_ended(event);
            }
        }
    }
}

/// The timer of a task as the trace hash has it: further kinds share that of the last with one of its own, beside bits
/// above those of numbers.
#[inline]
fn timer_in_hash(kind: TaskKind, number: u32) -> u64 {
    let last = TaskKind::WITH_OWN_BITS - 1;
    let (kind, further) = (kind.number().min(last), kind.number().saturating_sub(last));
    (TASK + u64::from(kind)) << 60 | u64::from(further) << 32 | u64::from(number)
}

/// Hands the flash operations of `die` that have just finished to the front end.
#[inline]
fn hand_over_finished<F: FrontEnd>(front: &mut F, die: DieId) {
    let kernel = front.kernel();
    if kernel.finished.is_empty() {
        return;
    }
    let mut finished = std::mem::take(&mut kernel.finished);
    if let Some(accounts) = &mut kernel.accounts
        && let Some(ended) = kernel.flash.ended_accounts()
    {
        accounts.take_ended(ended);
    }
    front.flash_finished(die, &finished);
    let kernel = front.kernel();
    if let Some(accounts) = &mut kernel.accounts {
        accounts.operations_handled();
    }
    finished.clear();
    kernel.finished = finished;
}
