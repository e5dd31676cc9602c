//! The loop over the events of a drive: the kernel's own, and those that its front end handles.
//!
//! A front end ([`FrontEnd`]) handles fetched commands, ended transfers, finished flash operations and its timers.

use super::Kernel;
use crate::event::{Due, Event, IdleWork, Ticket, transfer_in_hash};
use crate::host_port::Transfer;
use crate::ids::{DieId, RequestSlot};
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

    /// The host has been idle for the time after which the drive does this.
    fn host_idle(&mut self, _work: IdleWork) {}

    /// The time that the firmware takes to acknowledge a buffered write is over.
    fn buffer_latency_over(&mut self, _slot: RequestSlot) {
        unreachable!("only buffered writes are acknowledged")
    }
}

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
    kernel.advance(time, transfer_in_hash(transfer.request));
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
    let Due { time, ticket, event, in_hash } = kernel.volatile.events.pop().expect("it has a time");
    match event {
        Event::SubmissionDone(slot) => {
            kernel.advance(time, in_hash);
            kernel.charge(slot, Part::Host);
            if kernel.arrive(slot) {
                front.fetched(slot);
            }
        }
        Event::DieDone(die) => {
            kernel.advance(time, in_hash);
            kernel.flash.die_done(die, ticket, time, &mut kernel.volatile.events, &mut kernel.finished);
            hand_over_finished(front, die);
            front.die_advanced(die);
        }
        Event::BusDone(channel) => {
            kernel.advance(time, in_hash);
            kernel.flash.bus_done(channel, time, &mut kernel.volatile.events, &mut kernel.finished);
            if let Some(operation) = kernel.finished.first() {
                let die = kernel.flash.die_of(operation.plane);
                hand_over_finished(front, die);
                front.die_advanced(die);
            }
        }
        Event::DieIdle(_) => {
            if front.claims_timer(event, ticket) {
                front.kernel().advance(time, in_hash);
                front.timer_ended(event);
            }
        }
        Event::HostIdle(work) => {
            if kernel.volatile.host_idle.claims_timer(work, ticket) {
                kernel.advance(time, in_hash);
                front.host_idle(work);
            }
        }
        Event::BufferLatencyOver(slot) => {
            kernel.advance(time, in_hash);
            front.buffer_latency_over(slot);
        }
        Event::CompletionDelivered(slot) => {
            kernel.advance(time, in_hash);
            kernel.deliver_completion(slot);
        }
        Event::Fetched(slot) => {
            kernel.advance(time, in_hash);
            kernel.charge(slot, Part::Queue);
            front.fetched(slot);
        }
        Event::Task(..) => {
            kernel.advance(time, in_hash);
            if front.claims_timer(event, ticket) {
                front.timer_ended(event);
            }
        }
    }
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
