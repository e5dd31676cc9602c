//! Where the time of requests goes: an account follows each request, and each flash operation and transfer of it, and
//! charges every nanosecond to one part.
//!
//! What a request starts begins with a copy of the request's account. When an operation or transfer ends, its account
//! becomes the request's, so the piece that ends last decides, and a completed request has the account of its last
//! piece from its submission on. Where a request waits for an operation of something else (the drain that makes room in
//! the buffer, a readahead that is under way), its wait is divided in the proportions of that operation's account.
//!
//! Cost: nothing but a test of an option at each transition unless it is [recorded](crate::Drive); then some 100 bytes
//! are copied a transition.
//!
//! Invariant: an account's split adds up to the time from its begin until [`TimeAccount::until`].

use crate::host_port::Direction;
use crate::ids::{BufferSlot, RequestSlot};
use crate::nand::Owner;
use flashlane_base::{Duration, Instant};
use flashlane_device::{Part, RequestId, TimeSplit};
use std::collections::VecDeque;

/// The time of something so far, divided among parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeAccount {
    until: Instant,
    split: TimeSplit,
}

impl TimeAccount {
    /// An account that begins `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self { until: now, split: TimeSplit::ZERO }
    }

    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Charges the next `time` to a part.
    pub(crate) fn charge(&mut self, part: Part, time: Duration) {
        self.split.add(part, time);
        self.until += time;
    }

    /// Charges the time until `now` to a part.
    pub(crate) fn charge_until(&mut self, part: Part, now: Instant) {
        debug_assert!(self.until <= now, "an account does not go back");
        self.charge(part, now.since(self.until));
    }

    /// Charges the time until `now` in the proportions of `other`, or to `part` where that has no time.
    fn charge_like(&mut self, other: Option<&Self>, part: Part, now: Instant) {
        let time = now.since(self.until);
        match other.and_then(|other| other.split.scaled_to(time)) {
            Some(split) => self.split += &split,
            None => self.split.add(part, time),
        }
        self.until = now;
    }
}

/// The accounts of a drive's requests.
#[derive(Clone, Default)]
pub(crate) struct TimeAccounts {
    /// By slot.
    requests: Vec<TimeAccount>,
    /// Of the transfers under way in each direction, which end in order.
    transfers: [VecDeque<TimeAccount>; 2],
    /// Of buffered units on their way to flash whose next operation has yet to be queued, by slot: the missing parts
    /// were read, or the map was.
    drains: Vec<Option<TimeAccount>>,
    /// Of flash operations that ended, of which the first `handled` were handled; the last of these is being handled.
    ended: Vec<TimeAccount>,
    handled: usize,
    /// Of the readahead that goes on after it waited for the map.
    resumed_readahead: Option<TimeAccount>,
    completed: Vec<(RequestId, TimeSplit)>,
    reaped: Vec<(RequestId, TimeSplit)>,
}

impl TimeAccounts {
    /// A request is accepted.
    pub(crate) fn accepted(&mut self, slot: RequestSlot, now: Instant) {
        if self.requests.len() <= slot.0 as usize {
            self.requests.resize(slot.0 as usize + 1, TimeAccount::default());
        }
        self.requests[slot.0 as usize] = TimeAccount::new(now);
    }

    fn request(&mut self, slot: RequestSlot) -> &mut TimeAccount {
        &mut self.requests[slot.0 as usize]
    }

    /// A request has waited for `part` until `now`.
    pub(crate) fn charge(&mut self, slot: RequestSlot, part: Part, now: Instant) {
        self.request(slot).charge_until(part, now);
    }

    /// A request begins a transfer that ends at `ends`.
    pub(crate) fn transfer(&mut self, slot: RequestSlot, direction: Direction, now: Instant, ends: Instant) {
        let mut account = *self.request(slot);
        debug_assert_eq!(account.until, now, "all time until a transfer is charged");
        account.charge_until(Part::Link, ends);
        self.transfers[direction as usize].push_back(account);
    }

    /// The first transfer of a direction has ended.
    pub(crate) fn transfer_ended(&mut self, slot: RequestSlot, direction: Direction) {
        let account = self.transfers[direction as usize].pop_front();
        *self.request(slot) = account.expect("every transfer under way has its account");
    }

    /// The account with which a flash operation of `owner` begins.
    pub(crate) fn of_operation(&mut self, owner: Owner, now: Instant) -> TimeAccount {
        match owner {
            Owner::Request(slot) | Owner::RequestRmw(slot) => {
                debug_assert_eq!(self.request(slot).until, now, "all time until an operation is charged");
                *self.request(slot)
            }
            Owner::Drain(slot) | Owner::DrainRmw(slot) => {
                self.take_drain(slot).unwrap_or(TimeAccount::new(now))
            }
            Owner::Readahead => {
                let resumed = self.resumed_readahead.take().filter(|account| account.until == now);
                resumed.unwrap_or(TimeAccount::new(now))
            }
            _ => TimeAccount::new(now),
        }
    }

    fn take_drain(&mut self, slot: BufferSlot) -> Option<TimeAccount> {
        self.drains.get_mut(slot.index()).and_then(Option::take)
    }

    /// Takes the accounts of flash operations that have ended, for [`TimeAccounts::operation_ended`].
    pub(crate) fn take_ended(&mut self, ended: &mut Vec<TimeAccount>) {
        debug_assert!(self.ended.is_empty(), "every end is handled before the next event");
        std::mem::swap(&mut self.ended, ended);
    }

    /// The next of the flash operations that have ended is handled.
    pub(crate) fn operation_ended(&mut self, owner: Owner) {
        let account = self.ended[self.handled];
        self.handled += 1;
        match owner {
            Owner::Request(slot) | Owner::RequestRmw(slot) => *self.request(slot) = account,
            Owner::DrainRmw(slot) => self.keep_drain(slot, account),
            _ => {}
        }
    }

    fn keep_drain(&mut self, slot: BufferSlot, account: TimeAccount) {
        if self.drains.len() <= slot.index() {
            self.drains.resize(slot.index() + 1, None);
        }
        self.drains[slot.index()] = Some(account);
    }

    /// What waited for `part` with this account goes on: its next flash operation begins with it, or its request ends.
    pub(crate) fn resumed(&mut self, owner: Owner, mut account: TimeAccount, part: Part, now: Instant) {
        account.charge_until(part, now);
        match owner {
            Owner::Request(slot) | Owner::RequestRmw(slot) => *self.request(slot) = account,
            Owner::Drain(slot) | Owner::DrainRmw(slot) => self.keep_drain(slot, account),
            Owner::Readahead => self.resumed_readahead = Some(account),
            owner => unreachable!("{owner:?} waits for nothing but flash"),
        }
    }

    /// A flash operation that was queued for something else completes what `owner` waits for.
    pub(crate) fn operation_completes(&mut self, owner: Owner, now: Instant) {
        if let Owner::Request(slot) | Owner::RequestRmw(slot) = owner {
            self.waited(slot, now);
        }
    }

    /// All flash operations that have ended are handled.
    pub(crate) fn operations_handled(&mut self) {
        debug_assert_eq!(self.handled, self.ended.len(), "each of them is handled");
        self.ended.clear();
        self.handled = 0;
    }

    /// The wait of a request ends with that for the flash operation whose end is handled, or in the buffer.
    pub(crate) fn waited(&mut self, slot: RequestSlot, now: Instant) {
        let handled = self.handled.checked_sub(1).map(|last| &self.ended[last]);
        self.requests[slot.0 as usize].charge_like(handled, Part::Buffer, now);
    }

    /// A buffered unit leaves the buffer.
    pub(crate) fn drained(&mut self, slot: BufferSlot) {
        self.take_drain(slot);
    }

    /// Whether all time of a request is charged.
    pub(crate) fn is_charged(&mut self, slot: RequestSlot, now: Instant) -> bool {
        self.request(slot).until == now
    }

    /// The host has the completion of a request.
    pub(crate) fn completed(&mut self, slot: RequestSlot, id: RequestId, now: Instant) {
        let account = self.request(slot);
        account.charge_until(Part::Host, now);
        let split = account.split;
        self.completed.push((id, split));
    }

    /// Completions are handed out.
    pub(crate) fn reaped(&mut self) {
        self.reaped.clear();
        std::mem::swap(&mut self.reaped, &mut self.completed);
    }

    /// The split of a request that was handed out last.
    pub(crate) fn split_of(&self, id: RequestId) -> Option<TimeSplit> {
        self.reaped.iter().find(|(other, _)| *other == id).map(|(_, split)| *split)
    }

    /// Power is cut: nothing is under way.
    pub(crate) fn cut_power(&mut self) {
        self.transfers = Default::default();
        self.drains.clear();
        self.ended.clear();
        self.handled = 0;
    }
}
