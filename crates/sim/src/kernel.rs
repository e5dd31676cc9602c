//! The controller kernel: what every simulated drive has, whatever its front end makes of it.
//!
//! It owns the clock with the hash over all events, the event queue, the host's submission queues, the link to the
//! host, the flash array, and the table of requests in flight. What a front end adds, and the loop over the events of
//! both, is in [`event_loop`].
//!
//! Invariants:
//! - time never goes back, and of events at one time those of the link go first;
//! - a request is in the table from `submit` to its completion, which is reported exactly once, also where power is
//!   cut;
//! - no more requests are in flight than the drive's depth.

mod event_loop;

pub(crate) use event_loop::{FrontEnd, run};

use crate::account::{TimeAccount, TimeAccounts};
use crate::config::DriveConfig;
use crate::energy::{EnergyMeter, Use};
use crate::event::{Event, EventQueue, IdleWork, Timer};
use crate::host_port::{Arbiter, CompletionPath, HostIdle, Link, QueueLoads, Submission, Transfer};
use crate::ids::{BufferSlot, DieId, Lpn, PlaneId, RequestSlot};
use crate::nand::{FlashArray, FlashOperation, Geometry, Owner, Program};
use crate::slab::Slab;
use flashlane_base::{Duration, Instant, Seed};
use flashlane_device::{
    Completion, DeviceInfo, Failure, Lane, Operation, Part, PlacementHandle, PowerCurve, QueueId, Request,
    RequestId, SubmitError, TimeSplit,
};
use flashlane_policy::scheduling::Class;

/// A request in flight, with the state that the front end keeps of it.
#[derive(Clone, Debug)]
pub(crate) struct InFlight<S> {
    pub(crate) state: S,
    // The request, field by field: one wide load right after narrow stores defeats the processor's store forwarding.
    id: RequestId,
    offset_bytes: u64,
    length_bytes: u64,
    lane: Lane,
    queue: QueueId,
    handle: PlacementHandle,
    operation: Operation,
    durable: bool,
    submitted: Instant,
    outcome: Result<(), Failure>,
    /// Whether a transfer over the link has taken the command along.
    command_sent: bool,
    /// Whether it has its number among the writes that a power cut could lose.
    is_numbered: bool,
}

impl<S: Default> InFlight<S> {
    #[inline]
    fn new(request: &Request, submitted: Instant) -> Self {
        Self {
            state: S::default(),
            id: request.id,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            lane: request.lane,
            queue: request.queue,
            handle: request.handle,
            operation: request.operation,
            durable: request.durable,
            submitted,
            outcome: Ok(()),
            command_sent: false,
            is_numbered: false,
        }
    }
}

impl<S> InFlight<S> {
    /// The request as it was submitted.
    #[inline]
    pub(crate) fn request(&self) -> Request {
        Request {
            id: self.id,
            operation: self.operation,
            lane: self.lane,
            queue: self.queue,
            handle: self.handle,
            offset_bytes: self.offset_bytes,
            length_bytes: self.length_bytes,
            durable: self.durable,
        }
    }

    /// Lets the request complete with a failure.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.outcome = Err(failure);
    }

    /// How the request ends, as far as is known.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        self.outcome
    }

    /// Whether the request is a write that need not be durable when it completes.
    fn is_volatile_write(&self) -> bool {
        self.operation == Operation::Write && !self.durable
    }
}

/// The state that a power cut loses, beside the transfers in [`Link`] and the operations in [`FlashArray`].
#[derive(Clone)]
struct Volatile<S> {
    events: EventQueue,
    requests: Slab<RequestSlot, InFlight<S>>,
    in_flight: u32,
    host_idle: HostIdle,
    arbiter: Option<Box<Arbiter>>,
    /// Where flash serves light queues first.
    loads: Option<Box<QueueLoads>>,
}

/// The kernel; `S` is the state that the front end keeps of a request.
#[derive(Clone)]
pub(crate) struct Kernel<S> {
    info: DeviceInfo,
    now: Instant,
    trace_hash: u64,
    submission: Submission,
    completion_path: CompletionPath,
    link: Link,
    flash: FlashArray,
    volatile: Volatile<S>,
    completed: Vec<Completion>,
    /// [`Kernel::write_number_to_come`].
    write_number_to_come: u64,
    /// Commands that had to wait in their submission queue.
    queued_commands: u64,
    /// An empty list, kept to spare its allocation.
    finished: Vec<FlashOperation>,
    /// The accounts of requests, where their times are recorded.
    accounts: Option<Box<TimeAccounts>>,
    /// The energy of what is not flash, where the profile states powers.
    meter: Option<Box<EnergyMeter>>,
}

impl<S> Kernel<S> {
    /// Requires: `config` is validated.
    pub(crate) fn new(info: DeviceInfo, config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        Self {
            info,
            now: Instant::ZERO,
            trace_hash: 0,
            submission: Submission::new(&config.host, seed),
            completion_path: CompletionPath::new(config.host.completion.0),
            link: Link::new(&config.link),
            flash: FlashArray::new(config, geometry, seed),
            volatile: Volatile {
                events: EventQueue::default(),
                requests: Slab::new(),
                in_flight: 0,
                host_idle: HostIdle::new(config),
                arbiter: Arbiter::new(config).map(Box::new),
                loads: QueueLoads::new(config).map(Box::new),
            },
            completed: Vec::new(),
            write_number_to_come: 0,
            queued_commands: 0,
            finished: Vec::new(),
            accounts: None,
            meter: EnergyMeter::new(config),
        }
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Changes the name that results give the drive.
    pub(crate) fn set_name(&mut self, name: String) {
        self.info.name = name;
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The hash over every event so far, its time and what it happened to.
    pub(crate) fn trace_hash(&self) -> u64 {
        self.trace_hash
    }

    /// Requests in flight.
    #[cfg(test)]
    pub(crate) fn in_flight_count(&self) -> u32 {
        self.volatile.in_flight
    }

    pub(crate) fn flash(&self) -> &FlashArray {
        &self.flash
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// The energy that the drive has taken until now, where the profile states powers.
    fn energy(&self) -> Option<EnergyMeter> {
        Some(self.meter.as_ref()?.until(self.now, self.flash.meter()?))
    }

    /// Returns when the drive took how much power, where the profile states powers.
    pub(crate) fn power_curve(&self) -> Option<PowerCurve> {
        self.energy().map(EnergyMeter::into_curve)
    }

    /// Appends the counters of the flash array and of energy, under the names that results have.
    pub(crate) fn add_counters(&self, list: &mut Vec<(&'static str, u64)>) {
        list.extend(self.flash.counters().list());
        list.extend(self.energy().iter().flat_map(EnergyMeter::list));
    }

    /// Whether the host has been idle for the time after which the drive does this.
    pub(crate) fn host_is_idle(&self, work: IdleWork) -> bool {
        self.volatile.host_idle.is_idle(work)
    }

    #[inline]
    pub(crate) fn in_flight(&self, slot: RequestSlot) -> &InFlight<S> {
        &self.volatile.requests[slot]
    }

    #[inline]
    pub(crate) fn in_flight_mut(&mut self, slot: RequestSlot) -> &mut InFlight<S> {
        &mut self.volatile.requests[slot]
    }

    /// Checks whether a request can be accepted.
    ///
    /// # Errors
    /// [`SubmitError`] where the drive's properties or its depth forbid it.
    pub(crate) fn check(&self, request: &Request) -> Result<(), SubmitError> {
        self.info.check(request)?;
        match self.volatile.in_flight == self.info.depth {
            true => Err(SubmitError::Full { depth: self.info.depth }),
            false => Ok(()),
        }
    }

    /// Accepts a request that [`Kernel::check`] has passed, in the default state. Returns its slot where its submission
    /// costs no time and the drive fetches it at once.
    #[inline]
    pub(crate) fn accept(&mut self, request: &Request) -> Option<RequestSlot>
    where
        S: Default,
    {
        debug_assert!(self.volatile.in_flight < self.info.depth, "check refuses what is too much");
        self.volatile.in_flight += 1;
        if let Some(meter) = &mut self.meter
            && self.volatile.in_flight == 1
        {
            meter.becomes_active(self.now);
        }
        self.volatile.host_idle.request_accepted();
        let accepted = InFlight::new(request, self.now);
        let slot = self.volatile.requests.insert(accepted);
        if let Some(accounts) = &mut self.accounts {
            accounts.accepted(slot, self.now);
        }
        let cost = self.submission.next();
        if cost.is_zero() {
            return self.arrive(slot).then_some(slot);
        }
        self.volatile.events.schedule(self.now + cost, Event::SubmissionDone(slot));
        None
    }

    /// A request comes into its submission queue. Returns whether the drive fetches it at once; otherwise it waits for
    /// the event [`Event::Fetched`].
    #[inline]
    fn arrive(&mut self, slot: RequestSlot) -> bool {
        let Some(arbiter) = &mut self.volatile.arbiter else { return true };
        let request = &self.volatile.requests[slot];
        if let Some(loads) = &mut self.volatile.loads {
            loads.arrive(request.queue, request.length_bytes, self.now);
        }
        let fetched = arbiter.arrive(slot, request.queue, request.length_bytes);
        self.queued_commands += u64::from(!fetched);
        fetched
    }

    /// Commands that had to wait in their submission queue; `None` where the drive takes every command at once.
    pub(crate) fn queued_commands(&self) -> Option<u64> {
        self.volatile.arbiter.as_ref().map(|_| self.queued_commands)
    }

    /// Schedules `event` after `time`.
    #[inline]
    pub(crate) fn schedule_after(&mut self, time: Duration, event: Event) {
        self.volatile.events.schedule(self.now + time, event);
    }

    /// Starts a timer that ends with `event` after `time`.
    #[inline]
    pub(crate) fn start_timer(&mut self, time: Duration, event: Event) -> Timer {
        self.volatile.events.start_timer(self.now + time, event)
    }

    /// Sends `bytes` of a request over the link, which carry `carried` mapping units; the first transfer of a request
    /// takes the command along. The command of a read takes its time there, before the first data go out, although the
    /// drive has known it since `Drive::start_command`: what the link is busy with is the same, and one transfer is
    /// enough.
    #[inline]
    pub(crate) fn send(&mut self, transfer: Transfer, bytes: u64, carried: u32) {
        let request = &mut self.volatile.requests[transfer.request];
        let command = !std::mem::replace(&mut request.command_sent, true);
        let busy_ns = self.link.busy_ns();
        let ends = self.link.send(self.now, transfer, bytes, carried, command);
        if let Some(meter) = &mut self.meter {
            let time = Duration::from_ns(self.link.busy_ns() - busy_ns);
            let begins = Instant::from_ns(ends.as_ns() - time.as_ns());
            meter.charge(Use::Link, 1, time, (begins, ends));
        }
        if let Some(accounts) = &mut self.accounts {
            accounts.transfer(transfer.request, transfer.direction, self.now, ends);
        }
    }

    // To the flash array; what each does is said at `nand::scheduler::Scheduler`.

    #[inline]
    pub(crate) fn enqueue(&mut self, mut operation: FlashOperation) {
        if self.volatile.loads.is_some()
            && let (Class::HostRead, Owner::Request(slot)) = (operation.class, operation.owner)
        {
            operation.class = self.class_of_reads(slot);
        }
        self.begin_account(operation.owner);
        self.flash.enqueue(operation, self.now, &mut self.volatile.events);
    }

    /// The class of the flash reads of a request that is served now: all pages of a mapping unit have one class.
    pub(crate) fn class_of_reads(&self, slot: RequestSlot) -> Class {
        let queue = self.volatile.requests[slot].queue;
        let is_light = self.volatile.loads.as_ref().is_some_and(|loads| loads.is_light(queue));
        if is_light { Class::LightRead } else { Class::HostRead }
    }

    /// Lets the next flash operation begin with the account of what it is for, where accounts are kept.
    #[inline]
    fn begin_account(&mut self, owner: Owner) {
        if let Some(accounts) = &mut self.accounts {
            self.flash.set_account(accounts.of_operation(owner, self.now));
        }
    }

    pub(crate) fn release_held(&mut self) {
        self.flash.release_held(self.now, &mut self.volatile.events);
    }

    pub(crate) fn promote_gc(&mut self, plane: PlaneId) {
        self.flash.promote_gc(self.flash.die_of(plane));
    }

    pub(crate) fn promote_readahead(&mut self, plane: PlaneId, lpn: Lpn) {
        self.flash.promote_readahead(plane, lpn, self.now, &mut self.volatile.events);
    }

    pub(crate) fn cancel_readahead(&mut self, plane: PlaneId, lpn: Lpn) -> bool {
        self.flash.cancel_readahead(plane, lpn)
    }

    pub(crate) fn resume_gc(&mut self, die: DieId) -> bool {
        self.flash.resume_gc(die, self.now, &mut self.volatile.events)
    }

    /// Queues programs like `unit` of mapping units that follow each other, at `places`: the plane of each, and whether
    /// it fills its block. Requires: the flash array joins programs.
    #[inline]
    pub(crate) fn enqueue_run(
        &mut self,
        owner: Owner,
        unit: Program,
        places: impl Iterator<Item = (PlaneId, bool)>,
    ) {
        self.begin_account(owner);
        self.flash.enqueue_run(owner, unit, places, self.now, &mut self.volatile.events);
    }

    /// Returns the number of the next write that a power cut may lose, which is the least number that a write can have
    /// which the buffer has still to admit. All writes have a number but durable ones: from when the buffer has wholly
    /// admitted them, or without a buffer from their completion. [`flashlane_device::AtRisk`] numbers them by
    /// completion, and buffered writes complete in the order in which the buffer has admitted them.
    #[inline]
    pub(crate) fn write_number_to_come(&self) -> u64 {
        self.write_number_to_come
    }

    /// Counts a write that the buffer has wholly admitted, and whose number its units have: a power cut could lose it.
    pub(crate) fn count_numbered_write(&mut self, slot: RequestSlot) {
        let request = &mut self.volatile.requests[slot];
        debug_assert!(request.is_volatile_write() && !request.is_numbered);
        request.is_numbered = true;
        self.write_number_to_come += 1;
    }

    // Where the time of requests goes. Without accounts all of this does nothing.

    /// Keeps the accounts of requests from now on. Returns false where requests are in flight.
    pub(crate) fn record_times(&mut self) -> bool {
        if self.volatile.in_flight > 0 {
            return false;
        }
        self.accounts = Some(Box::default());
        self.flash.record_times(self.now);
        true
    }

    /// The split of a request whose completion was handed out last.
    pub(crate) fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.accounts.as_ref().and_then(|accounts| accounts.split_of(id))
    }

    /// A request has waited for `part` until now.
    #[inline]
    pub(crate) fn charge(&mut self, slot: RequestSlot, part: Part) {
        if let Some(accounts) = &mut self.accounts {
            accounts.charge(slot, part, self.now);
        }
    }

    /// A request no longer waits for what others do: its time goes with that of the flash operation that ends now.
    #[inline]
    pub(crate) fn charge_wait(&mut self, slot: RequestSlot) {
        if let Some(accounts) = &mut self.accounts {
            accounts.waited(slot, self.now);
        }
    }

    /// The next of the flash operations that have finished is handled.
    #[inline]
    pub(crate) fn account_operation(&mut self, owner: Owner) {
        if let Some(accounts) = &mut self.accounts {
            accounts.operation_ended(owner);
        }
    }

    /// The flash operation that is handled completes what `owner` waits for, for which others were queued.
    #[inline]
    pub(crate) fn account_completion(&mut self, owner: Owner) {
        if let Some(accounts) = &mut self.accounts {
            accounts.operation_completes(owner, self.now);
        }
    }

    /// The account with which something waits that will go on as `owner`, where accounts are kept.
    pub(crate) fn park_account(&mut self, owner: Owner) -> Option<TimeAccount> {
        let now = self.now;
        self.accounts.as_mut().map(|accounts| accounts.of_operation(owner, now))
    }

    /// What waited for `part` since [`Kernel::park_account`] goes on.
    pub(crate) fn resume_account(&mut self, owner: Owner, account: Option<TimeAccount>, part: Part) {
        if let (Some(accounts), Some(account)) = (&mut self.accounts, account) {
            accounts.resumed(owner, account, part, self.now);
        }
    }

    /// A buffered unit leaves the buffer.
    #[inline]
    pub(crate) fn drop_drain_account(&mut self, slot: BufferSlot) {
        if let Some(accounts) = &mut self.accounts {
            accounts.drained(slot);
        }
    }

    // Completion.

    /// The drive has done all of a request; its completion is on the way to the host.
    #[inline]
    pub(crate) fn complete(&mut self, slot: RequestSlot) {
        debug_assert!(
            self.accounts.as_mut().is_none_or(|accounts| accounts.is_charged(slot, self.now)),
            "all time of a completed request is charged"
        );
        if let Some(next) = self.volatile.arbiter.as_mut().and_then(|arbiter| arbiter.done()) {
            self.volatile.events.schedule(self.now, Event::Fetched(next));
        }
        match self.completion_path.next(self.now) {
            None => self.deliver_completion(slot),
            Some(time) => {
                self.volatile.events.schedule(time, Event::CompletionDelivered(slot));
            }
        }
    }

    /// The host has the completion of a request.
    #[inline]
    fn deliver_completion(&mut self, slot: RequestSlot) {
        self.push_completion(slot);
        self.volatile.requests.remove(slot);
        self.volatile.in_flight -= 1;
        if let Some(meter) = &mut self.meter
            && self.volatile.in_flight == 0
        {
            meter.becomes_inactive(self.now);
        }
        if self.volatile.in_flight == 0 {
            for work in IdleWork::ALL {
                if let Some(after) = self.volatile.host_idle.starts_after(work) {
                    let timer = self.start_timer(after, Event::HostIdle(work));
                    self.volatile.host_idle.started(work, timer);
                }
            }
        }
    }

    #[inline]
    fn push_completion(&mut self, slot: RequestSlot) {
        let request = &self.volatile.requests[slot];
        self.write_number_to_come += u64::from(request.is_volatile_write() && !request.is_numbered);
        if let Some(accounts) = &mut self.accounts {
            accounts.completed(slot, request.id, self.now);
        }
        self.completed.push(Completion {
            id: request.id,
            submitted: request.submitted,
            completed: self.now,
            outcome: request.outcome,
        });
    }

    /// Cuts the power and gives it back: every request in flight fails.
    pub(crate) fn cut_power(&mut self) {
        for slot in self.volatile.requests.slots_in_use() {
            self.volatile.requests[slot].fail(Failure::DeviceLost);
            self.push_completion(slot);
        }
        self.link.cut_power();
        self.flash.cut_power();
        if let Some(meter) = &mut self.meter {
            meter.becomes_inactive(self.now);
        }
        if let Some(accounts) = &mut self.accounts {
            accounts.cut_power();
        }
        self.volatile = Volatile {
            events: EventQueue::default(),
            requests: Slab::new(),
            in_flight: 0,
            host_idle: self.volatile.host_idle.restarted(),
            arbiter: self.volatile.arbiter.as_ref().map(|arbiter| Box::new(arbiter.restarted())),
            loads: self.volatile.loads.as_ref().map(|loads| Box::new(loads.restarted())),
        };
    }

    /// The requests in flight, by slot.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &InFlight<S>> {
        self.volatile.requests.slots_in_use().into_iter().map(|slot| &self.volatile.requests[slot])
    }

    /// Returns the time of the next event; now where completions are to be taken.
    pub(crate) fn next_event(&self) -> Instant {
        if self.completed.is_empty() { self.next_time() } else { self.now }
    }

    #[inline]
    fn next_time(&self) -> Instant {
        self.volatile.events.next_time().min(self.link.next_time())
    }

    #[inline]
    fn advance(&mut self, time: Instant, event: u64) {
        debug_assert!(time >= self.now, "time does not go back");
        self.now = time;
        self.trace_hash =
            (self.trace_hash.rotate_left(5) ^ time.as_ns() ^ event).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}
