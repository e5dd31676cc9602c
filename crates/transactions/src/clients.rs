//! The clients: a closed loop without think time over one device, or transactions at recorded times.
//!
//! Each client takes the next transaction of the source and runs it: before each page access its share of the
//! transaction's processor time elapses, then the page is locked, and used in the pool, or read. At the end all locks
//! are released, and the next transaction begins: at once, or at its recorded time, for which its client waits.
//!
//! A client has one request in flight at most, and its readahead another. What a client does next, and when, is an
//! event in one order, by time and then by age: the same source and device give the same result. Readahead takes part
//! in it under numbers of its own, above those of the clients.

use crate::locks::{Locks, Mode};
use crate::pool::{Place, Pool, Room};
use crate::processors::Processors;
use crate::readahead::Readahead;
use crate::record::Record;
use crate::recording::{ReadError, Transaction};
use crate::schedule::Schedule;
use crate::slow::Slowness;
use crate::{Restart, Setup, Source};
use flashlane_base::{Duration, Instant};
use flashlane_device::{Completion, Device};
use flashlane_measure::engine::{Client, Task};
use flashlane_measure::{Progress, Watch};
use flashlane_policy::OptionError;
use flashlane_workload::Access;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How often a transaction's pause doubles: by then it is a second, even if the longest wait is a nanosecond.
const PAUSE_DOUBLINGS_MOST: u32 = 30;

pub(crate) struct Clients<'s, 'w> {
    source: &'s mut dyn Source,
    page_bytes: u64,
    locks: Locks,
    pool: Pool,
    readahead: Readahead,
    processors: Processors,
    cpu_factor: f64,
    slowness: Slowness,
    clients: Vec<One>,
    /// Clients that go on, with the times: soonest first, and of equal times in the order in which they were entered.
    due: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    entered: u64,
    /// Ends of waits for locks, soonest first: the client, and which of its waits.
    limits: VecDeque<(Instant, u32, u64)>,
    lock_wait: Duration,
    /// By slot of the engine: the client of its request, or the reader.
    slots: Vec<u32>,
    /// Memory for clients whose locks are granted.
    granted: Vec<u32>,
    /// Transactions that were begun, and that may be.
    begun: u64,
    most: u64,
    warmup: u64,
    wanted: Option<u64>,
    schedule: Schedule,
    time: Option<Duration>,
    deadline: Instant,
    watch: Option<Watch<'w>>,
    pub record: Record,
    /// Why the source ended early.
    pub damage: Option<ReadError>,
}

#[derive(Default)]
struct One {
    transaction: Transaction,
    /// Its next page access.
    next: usize,
    state: State,
    /// When the transaction began first, or was to begin, and its place in the order of all.
    began: Instant,
    age: u64,
    /// Processor time before the first access, and before each other one.
    first_step: Duration,
    step: Duration,
    /// Number of its current or last wait for a lock.
    wait: u64,
    /// How often the transaction waited too long for a lock.
    long_waits: u32,
    /// Clients that wait for the page that it reads.
    followers: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The next transaction begins.
    #[default]
    Begin,
    /// The time has come at which the transaction is to begin, or to begin anew.
    Due,
    /// The processor time before an access has elapsed.
    Lock,
    /// It waits for a lock.
    Locked,
    /// The page is locked.
    Use,
    /// It waits for another client, which reads the page.
    Follow,
    /// It needs a frame.
    Room,
    /// It writes a page to free this frame.
    Write { frame: u32 },
    /// It can read, or reads, its page into this frame.
    Read { frame: u32 },
    /// There is no further transaction.
    Done,
}

impl<'s, 'w> Clients<'s, 'w> {
    /// Requires: the setup was checked.
    pub fn new(
        source: &'s mut dyn Source,
        setup: &Setup,
        started: Instant,
        watch: Option<Watch<'w>>,
    ) -> Result<Self, OptionError> {
        let header = source.header();
        let (pages, kinds) = (header.pages, header.kinds.len());
        let mut clients = Self {
            page_bytes: u64::from(header.page_bytes),
            locks: Locks::new(pages, setup.clients),
            pool: Pool::new(setup.pool_pages, pages, setup.policy(header)?),
            readahead: Readahead::new(header, setup.clients, setup.readahead_bytes),
            processors: Processors::new(setup.processors),
            cpu_factor: setup.cpu_factor,
            slowness: Slowness::default(),
            clients: (0..setup.clients).map(|_| One::default()).collect(),
            due: BinaryHeap::new(),
            entered: 0,
            limits: VecDeque::new(),
            lock_wait: setup.lock_wait,
            slots: vec![0; setup.requests() as usize],
            granted: Vec::new(),
            begun: 0,
            most: setup.transactions.map_or(u64::MAX, |wanted| wanted.saturating_add(setup.warmup)),
            warmup: setup.warmup,
            wanted: setup.transactions,
            schedule: Schedule::new(setup.pace, started),
            time: setup.time,
            deadline: Instant::FAR,
            watch,
            record: Record::new(kinds),
            damage: None,
            source,
        };
        (0..setup.clients).for_each(|client| clients.enter(client, started));
        Ok(clients)
    }

    /// Lets `client` go on at a time.
    #[inline]
    fn enter(&mut self, client: u32, at: Instant) {
        self.due.push(Reverse((at, self.entered, client)));
        self.entered += 1;
    }

    /// Begins to measure, if the warm-up is over.
    #[inline]
    fn begin_to_measure(&mut self, now: Instant, device: &dyn Device) {
        if self.warmup == 0 && !self.record.measures {
            self.record.begin(now, device.counters(), self.pool.free_frames());
            self.deadline = self.time.map_or(Instant::FAR, |time| now + time);
        }
    }

    /// Lets a client go on as far as it can, and returns the request for which it waits then, if any.
    fn go_on(&mut self, client: u32, now: Instant, device: &dyn Device) -> Option<Task> {
        loop {
            let one = &mut self.clients[client as usize];
            let request = match one.state {
                State::Begin => {
                    if !self.begin(client, now) {
                        // At the end of the run no limit of an ended wait is left for which time would pass.
                        self.end_waits(now);
                        return None;
                    }
                    None
                }
                State::Due => {
                    one.state = State::Lock;
                    None
                }
                State::Lock => {
                    let access = one.transaction.accesses[one.next];
                    let mode = if access.is_write() { Mode::Exclusive } else { Mode::Shared };
                    if !self.locks.acquire(client, access.page(), mode) {
                        self.wait_for_lock(client, now);
                        return None;
                    }
                    one.state = State::Use;
                    None
                }
                State::Use => {
                    if self.uses(client, now, device) {
                        return None;
                    }
                    None
                }
                State::Room => match self.pool.room() {
                    Room::Free { frame } => {
                        one.state = State::Read { frame };
                        None
                    }
                    Room::Dirty { frame, page } => {
                        one.state = State::Write { frame };
                        Some(Access::write(u64::from(page) * self.page_bytes, self.page_bytes))
                    }
                },
                State::Read { .. } => {
                    let page = one.transaction.accesses[one.next].page();
                    Some(Access::read(u64::from(page) * self.page_bytes, self.page_bytes))
                }
                State::Locked | State::Follow | State::Write { .. } | State::Done => {
                    unreachable!("a client that waits is not entered")
                }
            };
            if let Some(access) = request {
                return Some(access.into());
            }
            if self.clients[client as usize].state == State::Lock && self.elapses(client, now) {
                return None;
            }
        }
    }

    /// Uses the page of a client's next access, or finds out how to get it; returns whether the client waits for
    /// others.
    #[inline]
    fn uses(&mut self, client: u32, now: Instant, device: &dyn Device) -> bool {
        let one = &mut self.clients[client as usize];
        let access = one.transaction.accesses[one.next];
        let page = access.page();
        match self.pool.access(page, access.is_write()) {
            Place::Here => {
                self.used(client, now, device);
                false
            }
            Place::Marked => {
                if self.readahead.reaches_mark(client, page, &mut self.pool) {
                    self.enter(self.readahead.reader_of(client), now);
                }
                self.used(client, now, device);
                false
            }
            Place::ReadBy(reader) => {
                self.follow(client, reader);
                true
            }
            Place::Away => {
                self.record.missed();
                if self.readahead.misses(client, page, &mut self.pool) {
                    let reader = self.readahead.reader_of(client);
                    self.enter(reader, now);
                    self.follow(client, reader);
                    return true;
                }
                one.state = State::Room;
                self.pool.begin(page, client);
                false
            }
        }
    }

    /// A client waits for its page, which a client or the readahead of one reads.
    fn follow(&mut self, client: u32, reader: u32) {
        self.clients[client as usize].state = State::Follow;
        match self.readahead.is_reader(reader) {
            true => self.readahead.follow(reader, client),
            false => self.clients[reader as usize].followers.push(client),
        }
    }

    /// Begins the next transaction of a client; returns false where there is none.
    fn begin(&mut self, client: u32, now: Instant) -> bool {
        let one = &mut self.clients[client as usize];
        one.state = State::Done;
        if self.begun == self.most || now >= self.deadline || self.damage.is_some() {
            return false;
        }
        match self.source.next(&mut one.transaction) {
            Ok(true) => {}
            Ok(false) => {
                self.most = self.begun;
                return false;
            }
            Err(damage) => {
                self.damage = Some(damage);
                return false;
            }
        }
        let scheduled = self.schedule.of(one.transaction.start, self.source.passes());
        if scheduled.is_some_and(|at| at >= self.deadline) {
            self.most = self.begun;
            return false;
        }
        let began = scheduled.unwrap_or(now);
        self.record.begun(began, now);
        let accesses = one.transaction.accesses.len() as u64;
        let cpu = scaled(one.transaction.cpu, self.cpu_factor);
        one.step = cpu / accesses;
        one.first_step = cpu - one.step * (accesses - 1);
        (one.began, one.age) = (began, self.begun);
        (one.next, one.state, one.long_waits) = (0, State::Lock, 0);
        self.begun += 1;
        true
    }

    /// Lets the processor time before an access elapse, and before it the time until the transaction is to begin;
    /// returns false where there is none.
    #[inline]
    fn elapses(&mut self, client: u32, now: Instant) -> bool {
        let one = &mut self.clients[client as usize];
        if one.next == 0 && one.began > now {
            one.state = State::Due;
            let at = one.began;
            self.enter(client, at);
            return true;
        }
        let work = if one.next == 0 { one.first_step } else { one.step };
        if work.is_zero() {
            return false;
        }
        let at = self.processors.end_of(work, now);
        self.enter(client, at);
        true
    }

    /// The page of the next access was used: goes to the one after it, or commits.
    #[inline]
    fn used(&mut self, client: u32, now: Instant, device: &dyn Device) {
        self.record.used();
        let one = &mut self.clients[client as usize];
        one.next += 1;
        one.state = State::Lock;
        if one.next == one.transaction.accesses.len() {
            self.commit(client, now, device);
        }
    }

    fn commit(&mut self, client: u32, now: Instant, device: &dyn Device) {
        self.release(client, now);
        let one = &mut self.clients[client as usize];
        one.state = State::Begin;
        if self.record.measures {
            self.record.committed(usize::from(one.transaction.kind), one.began, now);
        } else {
            self.warmup -= 1;
            self.begin_to_measure(now, device);
        }
    }

    /// Releases the locks of a client; those to which they are granted go on.
    fn release(&mut self, client: u32, now: Instant) {
        let mut granted = std::mem::take(&mut self.granted);
        self.locks.release(client, &mut granted);
        for other in granted.drain(..) {
            self.clients[other as usize].state = State::Use;
            self.enter(other, now);
        }
        self.granted = granted;
    }

    /// A client waits for a lock: breaks the deadlocks that this makes.
    #[cold]
    fn wait_for_lock(&mut self, client: u32, now: Instant) {
        let one = &mut self.clients[client as usize];
        one.state = State::Locked;
        one.wait += 1;
        self.limits.push_back((now + self.lock_wait, client, one.wait));
        self.record.waited();
        while self.locks.waits(client) {
            let clients = &self.clients;
            let Some(victim) = self.locks.deadlock(client, |client| clients[client as usize].age) else {
                return;
            };
            self.restart(victim, Restart::Deadlock, now);
        }
    }

    /// Begins the transaction of a client, which waits for a lock, anew: at once, but after a pause that doubles each
    /// time if it waits too long again. Without pauses, transactions that never commit could use the pages of a small
    /// pool so often that none of these ever leaves it for the page that the oldest transaction needs.
    fn restart(&mut self, client: u32, reason: Restart, now: Instant) {
        self.record.restarted(reason);
        self.release(client, now);
        let one = &mut self.clients[client as usize];
        (one.next, one.state) = (0, State::Due);
        let mut at = now;
        if reason == Restart::LockWait {
            if one.long_waits > 0 {
                at += self.lock_wait * (1 << (one.long_waits - 1).min(PAUSE_DOUBLINGS_MOST));
            }
            one.long_waits += 1;
        }
        self.enter(client, at);
    }

    /// Returns whether the transaction of a client began before those of all others.
    #[cold]
    fn is_oldest(&self, client: u32) -> bool {
        let age = self.clients[client as usize].age;
        let runs = |one: &&One| !matches!(one.state, State::Begin | State::Done);
        self.clients.iter().filter(runs).all(|one| one.age >= age)
    }

    /// Restarts transactions that waited too long for a lock, and forgets the limits of ended waits. The oldest of all
    /// waits on: where none could, transactions might restart each other forever.
    #[inline]
    fn end_waits(&mut self, now: Instant) {
        while let Some(&(at, client, wait)) = self.limits.front() {
            let one = &self.clients[client as usize];
            let waits = one.wait == wait && one.state == State::Locked;
            if waits && at > now {
                return;
            }
            self.limits.pop_front();
            if waits && !self.is_oldest(client) {
                self.restart(client, Restart::LockWait, now);
            }
        }
    }
}

impl Client for Clients<'_, '_> {
    #[inline]
    fn arrival(&self) -> Option<Instant> {
        let due = self.due.peek().map(|Reverse((at, ..))| *at);
        match (due, self.limits.front()) {
            (Some(due), Some((limit, ..))) => Some(due.min(*limit)),
            (None, Some((limit, ..))) => Some(*limit),
            (due, None) => due,
        }
    }

    #[inline]
    fn next(&mut self, slot: u32, device: &dyn Device) -> Option<Task> {
        let now = device.now();
        self.begin_to_measure(now, device);
        self.end_waits(now);
        while let Some(&Reverse((at, _, client))) = self.due.peek() {
            if at > now {
                return None;
            }
            self.due.pop();
            if self.readahead.is_reader(client) {
                self.slots[slot as usize] = client;
                return Some(self.readahead.request(client).into());
            }
            if let Some(task) = self.go_on(client, now, device) {
                self.slots[slot as usize] = client;
                return Some(task);
            }
        }
        None
    }

    fn done(
        &mut self,
        slot: u32,
        access: &Access,
        due: Instant,
        completion: &Completion,
        device: &dyn Device,
    ) -> Option<Duration> {
        let client = self.slots[slot as usize];
        let took = completion.completed.since(due);
        self.record.requested(access.operation, took);
        let now = device.now();
        if self.readahead.is_reader(client) {
            for follower in self.readahead.completed(client, &mut self.pool) {
                self.clients[follower as usize].state = State::Use;
                self.enter(follower, now);
            }
            return Some(Duration::ZERO);
        }
        // Windows are of many pages, and slower for that.
        let slow = self.slowness.is_slow(access.operation, took);
        self.pool.observe((access.offset_bytes / self.page_bytes) as u32, slow);
        let one = &mut self.clients[client as usize];
        match one.state {
            State::Write { frame } => {
                one.state = if self.pool.written(frame) { State::Read { frame } } else { State::Room };
            }
            State::Read { frame } => {
                let access = one.transaction.accesses[one.next];
                self.pool.read(access.page(), frame, access.is_write());
                let mut followers = std::mem::take(&mut one.followers);
                self.used(client, now, device);
                for follower in followers.drain(..) {
                    self.clients[follower as usize].state = State::Use;
                    self.enter(follower, now);
                }
                self.clients[client as usize].followers = followers;
                if self.clients[client as usize].state == State::Lock && self.elapses(client, now) {
                    return Some(Duration::ZERO);
                }
            }
            state => unreachable!("a client in state {state:?} has no request"),
        }
        self.enter(client, now);
        Some(Duration::ZERO)
    }

    fn stopped(&mut self) -> bool {
        let progress = Progress {
            requests: self.record.transactions,
            requests_wanted: self.wanted,
            elapsed: self.record.elapsed(),
            time_wanted: self.time,
            preconditions: false,
        };
        self.watch.as_mut().is_some_and(|watch| watch(&progress).is_break())
    }
}

/// A duration times a factor; that of 1 leaves it to the nanosecond.
fn scaled(time: Duration, factor: f64) -> Duration {
    if factor == 1.0 { time } else { Duration::from_s_f64(time.as_s_f64() * factor) }
}
