//! The accounts of flash operations: what each waits for, and how long it takes itself.
//!
//! A die has a clock for what occupies it, reads, programs or GC: an operation that waits there reads the clocks when
//! it is queued and when it begins, and the differences are its waits. So a wait costs the same however many operations
//! it is for. Dies that serve in order need no clock, since the end of all that is queued is known.

use super::operation::{FlashOperation, Work};
use super::queue::OpSlot;
use crate::account::TimeAccount;
use crate::ids::DieId;
use flashlane_base::{Duration, Instant};
use flashlane_device::Part;
use std::collections::VecDeque;

/// The parts of a wait, by what occupies the die.
const BEHIND: [Part; 3] = [Part::BehindReads, Part::BehindPrograms, Part::BehindGc];
const GC: usize = 2;
/// The index of a die that performs nothing, for which nothing waits.
const NOTHING: usize = 3;

/// What occupies a die that performs `operation`, as an index of [`BEHIND`].
fn occupant(operation: &FlashOperation) -> usize {
    match operation.work {
        _ if operation.is_gc() => GC,
        Work::Read(_) => 0,
        Work::Program(_) => 1,
        Work::Gc(_) | Work::Erase(_) => unreachable!("both are garbage collection"),
    }
}

/// The part of an array time that `retries` after the first read take.
#[inline]
fn time_of_retries(array: Duration, retries: u32) -> Duration {
    // Nearly all reads need none, and a division takes long.
    if retries == 0 { Duration::ZERO } else { array / u64::from(1 + retries) * u64::from(retries) }
}

/// The clocks of a die, of which one runs: that of what occupies it.
#[derive(Clone, Copy)]
struct Occupancy {
    times: [Duration; NOTHING + 1],
    by: usize,
    since: Instant,
}

impl Occupancy {
    const IDLE: Self = Self { times: [Duration::ZERO; NOTHING + 1], by: NOTHING, since: Instant::ZERO };

    #[inline]
    fn at(&self, now: Instant) -> [Duration; NOTHING + 1] {
        let mut times = self.times;
        times[self.by] += now.since(self.since);
        times
    }

    #[inline]
    fn change(&mut self, by: usize, now: Instant) {
        if self.by != by {
            self.times[self.by] += now.since(self.since);
            (self.by, self.since) = (by, now);
        }
    }
}

/// The account of an operation that is queued or under way.
#[derive(Clone, Copy, Default)]
struct OpAccount {
    account: TimeAccount,
    /// The clocks of its die when it was queued.
    seen: [Duration; NOTHING + 1],
    /// Its array time.
    array: Duration,
    /// What occupies the die while this is performed.
    occupant: usize,
}

/// The accounts of operations at dies with queues.
#[derive(Clone)]
pub(super) struct QueuedAccounts {
    /// That with which the next operation begins.
    next: TimeAccount,
    /// By the operation's slot.
    ops: Vec<OpAccount>,
    dies: Vec<Occupancy>,
    /// Of programs that wait for their group, by die, in order.
    groups: Vec<VecDeque<TimeAccount>>,
    ended: Vec<TimeAccount>,
}

impl QueuedAccounts {
    /// Nothing has an account yet.
    pub(super) fn new(dies: usize) -> Self {
        Self {
            next: TimeAccount::default(),
            ops: Vec::new(),
            dies: vec![Occupancy::IDLE; dies],
            groups: vec![VecDeque::new(); dies],
            ended: Vec::new(),
        }
    }

    pub(super) fn set_next(&mut self, account: TimeAccount) {
        self.next = account;
    }

    pub(super) fn next(&self) -> TimeAccount {
        self.next
    }

    pub(super) fn ended(&mut self) -> &mut Vec<TimeAccount> {
        &mut self.ended
    }

    /// The next operation waits for its group.
    pub(super) fn waits_for_others(&mut self, die: DieId) {
        self.groups[die.index()].push_back(self.next);
    }

    /// The program of a die that waits for its group in this place is queued next.
    pub(super) fn leaves_group(&mut self, die: DieId, place: usize, now: Instant) {
        let account = self.groups[die.index()].remove(place);
        self.next = account.expect("every program that waits for its group has an account");
        self.next.charge_until(Part::Buffer, now);
    }

    /// The next operation is queued, which is in this slot.
    pub(super) fn queued(&mut self, op: OpSlot, operation: &FlashOperation, die: DieId, now: Instant) {
        if self.ops.len() <= op.index() {
            self.ops.resize(op.index() + 1, OpAccount::default());
        }
        debug_assert_eq!(self.next.until(), now, "an account is set for each operation");
        let seen = self.dies[die.index()].at(now);
        let (account, occupant) = (self.next, occupant(operation));
        self.ops[op.index()] = OpAccount { account, seen, array: Duration::ZERO, occupant };
    }

    /// An operation begins: it has waited for what occupied its die.
    pub(super) fn begins(&mut self, op: OpSlot, die: DieId, now: Instant) {
        let clocks = self.dies[die.index()].at(now);
        let OpAccount { account, seen, .. } = &mut self.ops[op.index()];
        for ((part, clock), seen) in BEHIND.into_iter().zip(clocks).zip(*seen) {
            account.charge(part, clock - seen);
        }
        // Nothing keeps an operation of the host waiting at a die that does nothing.
        account.charge_until(Part::Queue, now);
    }

    /// An operation has waited for `part`, or used it, until `now`.
    pub(super) fn charge(&mut self, op: OpSlot, part: Part, now: Instant) {
        self.ops[op.index()].account.charge_until(part, now);
    }

    /// The array of an operation starts, for `time`.
    pub(super) fn array_starts(&mut self, op: OpSlot, time: Duration) {
        self.ops[op.index()].array += time;
    }

    /// A read has left the array, which it needed once and for `retries` more times.
    pub(super) fn sensed(&mut self, op: OpSlot, retries: u32, now: Instant) {
        let account = &mut self.ops[op.index()].account;
        account.charge(Part::Retry, time_of_retries(now.since(account.until()), retries));
        account.charge_until(Part::Array, now);
    }

    /// A program, an erase or GC has left the array, which `first` of its group started: reads interrupted it for the
    /// rest of its time.
    pub(super) fn leaves_array(&mut self, op: OpSlot, first: OpSlot, now: Instant) {
        let array = self.ops[first.index()].array;
        let account = &mut self.ops[op.index()].account;
        account.charge(Part::Array, array.min(now.since(account.until())));
        account.charge_until(Part::BehindReads, now);
    }

    /// An operation ends that something waits for.
    pub(super) fn ends(&mut self, op: OpSlot) {
        self.ended.push(self.ops[op.index()].account);
    }

    /// A die performs the operation in this slot from now on, or nothing.
    #[inline]
    pub(super) fn occupies(&mut self, die: DieId, op: OpSlot, now: Instant) {
        let by = self.occupant(op);
        self.dies[die.index()].change(by, now);
    }

    /// Whether it is known that a die performs the operation in this slot, or nothing.
    pub(super) fn is_occupied_by(&self, die: DieId, op: OpSlot) -> bool {
        self.dies[die.index()].by == self.occupant(op)
    }

    #[inline]
    fn occupant(&self, op: OpSlot) -> usize {
        if op.is_some() { self.ops[op.index()].occupant } else { NOTHING }
    }
}

/// The accounts of operations at dies that serve in order.
#[derive(Clone)]
pub(super) struct InOrderAccounts {
    next: TimeAccount,
    lines: Vec<LineAccounts>,
    ended: Vec<TimeAccount>,
}

/// Those of a die.
#[derive(Clone, Default)]
struct LineAccounts {
    /// What occupies the die until when, and for how long.
    work: VecDeque<(Instant, usize, Duration)>,
    /// The sums of these times.
    sums: [Duration; 3],
    /// Of each operation under way.
    accounts: VecDeque<TimeAccount>,
}

impl LineAccounts {
    fn add_work(&mut self, ends: Instant, by: usize, time: Duration) {
        if !time.is_zero() {
            self.sums[by] += time;
            self.work.push_back((ends, by, time));
        }
    }

    /// What is left of the work that is queued.
    fn left(&mut self, now: Instant) -> [Duration; 3] {
        while let Some(&(ends, by, time)) = self.work.front()
            && ends <= now
        {
            self.sums[by] = self.sums[by] - time;
            self.work.pop_front();
        }
        let mut left = self.sums;
        if let Some(&(ends, by, time)) = self.work.front() {
            left[by] = left[by] - time.saturating_sub(ends.since(now));
        }
        left
    }
}

/// The own times of an operation.
#[derive(Clone, Copy)]
pub(super) struct OwnTimes {
    /// Deferred GC that goes before it.
    pub(super) deferred: Duration,
    pub(super) array: Duration,
    pub(super) bus: Duration,
    /// Array reads beyond the first.
    pub(super) retries: u32,
}

impl OwnTimes {
    pub(super) fn total(&self) -> Duration {
        self.deferred + self.array + self.bus
    }

    fn charge(&self, account: &mut TimeAccount) {
        let again = time_of_retries(self.array, self.retries);
        account.charge(Part::Retry, again);
        account.charge(Part::Array, self.array - again);
        account.charge(Part::Bus, self.bus);
    }
}

impl InOrderAccounts {
    /// Nothing has an account yet. `dies`: when each is free, and the number of operations that are under way until
    /// then.
    pub(super) fn new(dies: impl Iterator<Item = (Instant, usize)>, now: Instant) -> Self {
        let line = |(free_at, count): (Instant, usize)| {
            let mut line = LineAccounts {
                accounts: vec![TimeAccount::new(now); count].into(),
                ..LineAccounts::default()
            };
            // With no request in flight these are programs of buffered units, or GC.
            line.add_work(free_at.max(now), 1, free_at.since(now));
            line
        };
        Self { next: TimeAccount::default(), lines: dies.map(line).collect(), ended: Vec::new() }
    }

    pub(super) fn set_next(&mut self, account: TimeAccount) {
        self.next = account;
    }

    pub(super) fn ended(&mut self) -> &mut Vec<TimeAccount> {
        &mut self.ended
    }

    /// An operation of a die is queued behind all others. `joined`: it is one with the last of them. Returns when it
    /// ends.
    pub(super) fn queued(
        &mut self,
        die: DieId,
        operation: &FlashOperation,
        own: OwnTimes,
        joined: bool,
        now: Instant,
    ) -> Instant {
        let line = &mut self.lines[die.index()];
        let mut account = self.next;
        if joined {
            account = line.accounts.pop_back().expect("an operation is joined to one under way");
        } else {
            let left = line.left(now);
            BEHIND.into_iter().zip(left).for_each(|(part, time)| account.charge(part, time));
        }
        account.charge(Part::BehindGc, own.deferred);
        line.add_work(account.until(), GC, own.deferred);
        own.charge(&mut account);
        line.add_work(account.until(), occupant(operation), own.array + own.bus);
        line.accounts.push_back(account);
        account.until()
    }

    /// The first operation of a die ends.
    pub(super) fn ends(&mut self, die: DieId, is_awaited: bool) {
        let account =
            self.lines[die.index()].accounts.pop_front().expect("every operation under way has an account");
        if is_awaited {
            self.ended.push(account);
        }
    }
}
