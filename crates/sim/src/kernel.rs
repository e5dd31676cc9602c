//! The controller kernel: what every simulated drive has, whatever its front end makes of it.
//!
//! It owns the clock with the hash over all events, the event queue, the link to the host, the flash array, and the
//! table of requests in flight. A front end ([`FrontEnd`]) handles submitted requests, ended transfers and finished flash
//! operations; [`run`] is the loop of both.
//!
//! Invariants:
//! - time never goes back, and of events at one time those of the link go first;
//! - a request is in the table from `submit` to its completion, which is reported exactly once, also where power is cut;
//! - no more requests are in flight than the profile's depth.

use crate::config::DriveConfig;
use crate::event::{Event, EventQueue, Ticket};
use crate::host::{CompletionPath, HostIdle, Link, Submission, Transfer};
use crate::ids::{BufferSlot, CallSlot, DieId, Lpn, PlaneId, RequestSlot};
use crate::nand::{FlashArray, Geometry, Operation as FlashOperation, Owner, Program};
use crate::path::Paths;
use crate::slab::Slab;
use flashlane_base::{Duration, Instant, Seed};
use flashlane_device::{
    Completion, Failure, Lane, Operation, Part, Profile, Request, RequestId, SubmitError, TimeSplit,
};

/// A request in flight, with the state that the front end keeps of it.
#[derive(Clone, Debug)]
pub(crate) struct InFlight<S> {
    pub(crate) state: S,
    // The request, field by field: copied as a whole it would be read before the caller's writes of its fields have
    // come to an end in the processor.
    id: RequestId,
    offset_bytes: u64,
    length_bytes: u64,
    lane: Lane,
    operation: Operation,
    durable: bool,
    submitted: Instant,
    outcome: Result<(), Failure>,
    /// Whether the link has carried the command.
    command_sent: bool,
    /// Whether it has its place in the count of writes that a power cut could lose.
    counted: bool,
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
            operation: request.operation,
            durable: request.durable,
            submitted,
            outcome: Ok(()),
            command_sent: false,
            counted: false,
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

    /// Whether the request is a write that is acknowledged before it is durable.
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
}

/// The kernel; `S` is the state that the front end keeps of a request.
#[derive(Clone)]
pub(crate) struct Kernel<S> {
    profile: Profile,
    now: Instant,
    trace_hash: u64,
    submission: Submission,
    completion_path: CompletionPath,
    link: Link,
    flash: FlashArray,
    volatile: Volatile<S>,
    completed: Vec<Completion>,
    /// Writes, except durable ones, that were acknowledged or have completed.
    writes: u64,
    /// An empty list, kept to spare its allocation.
    finished: Vec<FlashOperation>,
    /// Where the paths of requests are kept.
    paths: Option<Box<Paths>>,
}

/// What a drive adds to the kernel.
pub(crate) trait FrontEnd {
    /// The state of a request in flight.
    type State;

    fn kernel(&mut self) -> &mut Kernel<Self::State>;

    /// The host has spent the submission cost of a request.
    fn submitted(&mut self, slot: RequestSlot);

    /// A transfer over the link ended.
    fn transfer_ended(&mut self, transfer: Transfer);

    /// Flash operations of `die` finished, in this order; perhaps none.
    fn flash_finished(&mut self, die: DieId, finished: &[FlashOperation]);

    /// Whether the timer of an idle die is still the one that runs.
    fn is_timer_of(&self, _die: DieId, _timer: Ticket) -> bool {
        false
    }

    /// A die has been idle for the time after which it is given work.
    fn die_idle(&mut self, _die: DieId) {}

    /// An access has gone unanswered for the time after which the next copy is asked.
    fn overdue(&mut self, _call: CallSlot, _timer: Ticket) {
        unreachable!("only replicated accesses are timed")
    }

    /// A die may have been idle for the time after which it is given the next copy to write.
    fn copy_due(&mut self, _die: DieId, _timer: Ticket) {
        unreachable!("only replication writes copies")
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
const OVERDUE: u64 = 8 << 60;
const COPY_DUE: u64 = 9 << 60;

impl<S> Kernel<S> {
    /// Requires: `config` is validated.
    pub(crate) fn new(profile: Profile, config: &DriveConfig, geometry: &Geometry, seed: Seed) -> Self {
        let idle_drain = config.buffer.as_ref().and_then(|buffer| buffer.idle_drain);
        Self {
            profile,
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
                host_idle: HostIdle::new(idle_drain.map(|time| time.0)),
            },
            completed: Vec::new(),
            writes: 0,
            finished: Vec::new(),
            paths: None,
        }
    }

    pub(crate) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Changes the name that results give the drive.
    pub(crate) fn set_name(&mut self, name: String) {
        self.profile.name = name;
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
    pub(crate) fn in_flight(&self) -> u32 {
        self.volatile.in_flight
    }

    pub(crate) fn flash(&self) -> &FlashArray {
        &self.flash
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn host_is_idle(&self) -> bool {
        self.volatile.host_idle.is_idle()
    }

    #[inline]
    pub(crate) fn request(&self, slot: RequestSlot) -> &InFlight<S> {
        &self.volatile.requests[slot]
    }

    #[inline]
    pub(crate) fn request_mut(&mut self, slot: RequestSlot) -> &mut InFlight<S> {
        &mut self.volatile.requests[slot]
    }

    /// Checks whether a request can be accepted.
    ///
    /// # Errors
    /// [`SubmitError`] where the profile or the depth forbids it.
    pub(crate) fn check(&self, request: &Request) -> Result<(), SubmitError> {
        self.profile.check(request)?;
        match self.volatile.in_flight == self.profile.depth {
            true => Err(SubmitError::Full { depth: self.profile.depth }),
            false => Ok(()),
        }
    }

    /// Accepts a request that [`Kernel::check`] has passed, in the default state. Returns its slot where its submission costs
    /// no time.
    #[inline]
    pub(crate) fn accept(&mut self, request: &Request) -> Option<RequestSlot>
    where
        S: Default,
    {
        debug_assert!(self.volatile.in_flight < self.profile.depth, "check refuses what is too much");
        self.volatile.in_flight += 1;
        self.volatile.host_idle.request_accepted();
        let accepted = InFlight::new(request, self.now);
        let slot = self.volatile.requests.insert(accepted);
        if let Some(paths) = &mut self.paths {
            paths.accepted(slot, self.now);
        }
        let cost = self.submission.next();
        if cost.is_zero() {
            return Some(slot);
        }
        self.volatile.events.schedule(self.now + cost, Event::Submitted(slot));
        None
    }

    /// Schedules `event` a while from now.
    #[inline]
    pub(crate) fn schedule_after(&mut self, time: Duration, event: Event) -> Ticket {
        self.volatile.events.schedule(self.now + time, event)
    }

    /// Sends `bytes` of a request over the link, which carry `carried` mapping units; the first transfer takes the
    /// command along.
    #[inline]
    pub(crate) fn send(&mut self, transfer: Transfer, bytes: u64, carried: u32) {
        let request = &mut self.volatile.requests[transfer.request];
        let command = !std::mem::replace(&mut request.command_sent, true);
        let ends = self.link.send(self.now, transfer, bytes, carried, command);
        if let Some(paths) = &mut self.paths {
            paths.transfer(transfer.request, transfer.direction, self.now, ends);
        }
    }

    /// Queues an operation at its die.
    #[inline]
    pub(crate) fn enqueue(&mut self, operation: FlashOperation) {
        self.begin_path(operation.owner);
        self.flash.enqueue(operation, self.now, &mut self.volatile.events);
    }

    /// Lets the next flash operation begin with the path of what it is for, where paths are kept.
    #[inline]
    fn begin_path(&mut self, owner: Owner) {
        if let Some(paths) = &mut self.paths {
            self.flash.set_path(paths.of_operation(owner, self.now));
        }
    }

    /// Lets no program wait for its group any longer.
    pub(crate) fn release_groups(&mut self) {
        self.flash.release_groups(self.now, &mut self.volatile.events);
    }

    /// Lets GC of the die of a plane be deferred behind the host no longer.
    pub(crate) fn promote_gc(&mut self, plane: PlaneId) {
        self.flash.promote_gc(self.flash.die_of(plane));
    }

    /// Gives the readahead of a mapping unit, where it waits at the die of `plane`, the rank of a host read.
    pub(crate) fn promote_readahead(&mut self, plane: PlaneId, lpn: Lpn) {
        self.flash.promote_readahead(plane, lpn, self.now, &mut self.volatile.events);
    }

    /// Takes back the readahead of a mapping unit, where it waits at the die of `plane`. Returns false where none waits there.
    pub(crate) fn cancel_readahead(&mut self, plane: PlaneId, lpn: Lpn) -> bool {
        self.flash.cancel_readahead(plane, lpn)
    }

    /// Resumes interrupted GC of an idle die. Returns false where there is none.
    pub(crate) fn resume_gc(&mut self, die: DieId) -> bool {
        self.flash.resume_gc(die, self.now, &mut self.volatile.events)
    }

    /// Queues programs like `unit` of mapping units that follow each other, at `places`: the plane of each, and whether it
    /// fills its block. Requires: the flash array joins programs.
    #[inline]
    pub(crate) fn enqueue_run(
        &mut self,
        owner: Owner,
        unit: Program,
        places: impl Iterator<Item = (PlaneId, bool)>,
    ) {
        self.begin_path(owner);
        self.flash.enqueue_run(owner, unit, places, self.now, &mut self.volatile.events);
    }

    /// Writes, except durable ones, that were acknowledged or have completed.
    ///
    /// [`flashlane_device::AtRisk`] numbers them by completion. A buffered write that has yet to be acknowledged has at least
    /// this number there, since buffered writes complete in the order in which they are acknowledged.
    #[inline]
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Counts a buffered write that is acknowledged, whose completion is on the way: a power cut could lose it.
    pub(crate) fn count_volatile_write(&mut self, slot: RequestSlot) {
        let request = &mut self.volatile.requests[slot];
        debug_assert!(request.is_volatile_write() && !request.counted);
        request.counted = true;
        self.writes += 1;
    }

    // Where the time of requests goes. Without paths all of this does nothing.

    /// Keeps the paths of requests from now on. Returns false where requests are in flight.
    pub(crate) fn record_paths(&mut self) -> bool {
        if self.volatile.in_flight > 0 {
            return false;
        }
        self.paths = Some(Box::default());
        self.flash.record_paths(self.now);
        true
    }

    /// The split of a request whose completion was handed out last.
    pub(crate) fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.paths.as_ref().and_then(|paths| paths.split_of(id))
    }

    /// A request has waited for `part` until now.
    #[inline]
    pub(crate) fn charge(&mut self, slot: RequestSlot, part: Part) {
        if let Some(paths) = &mut self.paths {
            paths.charge(slot, part, self.now);
        }
    }

    /// A request no longer waits for what others do: its time goes with that of the flash operation that ends now.
    #[inline]
    pub(crate) fn charge_wait(&mut self, slot: RequestSlot) {
        if let Some(paths) = &mut self.paths {
            paths.waited(slot, self.now);
        }
    }

    /// The next of the flash operations that have finished is handled.
    #[inline]
    pub(crate) fn operation_ended(&mut self, owner: Owner) {
        if let Some(paths) = &mut self.paths {
            paths.operation_ended(owner);
        }
    }

    /// The flash operation that is handled answers `owner`, for which others were queued.
    #[inline]
    pub(crate) fn operation_answers(&mut self, owner: Owner) {
        if let Some(paths) = &mut self.paths {
            paths.operation_answers(owner, self.now);
        }
    }

    /// A buffered unit leaves the buffer.
    #[inline]
    pub(crate) fn forget_drain(&mut self, slot: BufferSlot) {
        if let Some(paths) = &mut self.paths {
            paths.drained(slot);
        }
    }

    // Completion.

    /// The drive has done all of a request; its completion is on the way to the host.
    #[inline]
    pub(crate) fn complete(&mut self, slot: RequestSlot) {
        debug_assert!(
            self.paths.as_mut().is_none_or(|paths| paths.is_charged(slot, self.now)),
            "all time of a completed request is charged"
        );
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
        if self.volatile.in_flight == 0
            && let Some(after) = self.volatile.host_idle.starts_after()
        {
            let timer = self.volatile.events.schedule(self.now + after, Event::HostIdle);
            self.volatile.host_idle.started(timer);
        }
    }

    #[inline]
    fn push_completion(&mut self, slot: RequestSlot) {
        let request = &self.volatile.requests[slot];
        self.writes += u64::from(request.is_volatile_write() && !request.counted);
        if let Some(paths) = &mut self.paths {
            paths.completed(slot, request.id, self.now);
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
        if let Some(paths) = &mut self.paths {
            paths.cut_power();
        }
        self.volatile = Volatile {
            events: EventQueue::default(),
            requests: Slab::new(),
            in_flight: 0,
            host_idle: self.volatile.host_idle.restarted(),
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

/// Advances time until requests complete, which are appended to `out`, but not beyond `until`.
pub(crate) fn run<F: FrontEnd>(front: &mut F, until: Instant, out: &mut Vec<Completion>) {
    loop {
        let kernel = front.kernel();
        if !kernel.completed.is_empty() {
            if let Some(paths) = &mut kernel.paths {
                paths.reaped();
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

/// Handles the next event, and all that follows from it at the same time.
#[inline]
fn step<F: FrontEnd>(front: &mut F) {
    let kernel = front.kernel();
    if kernel.link.next_time() <= kernel.volatile.events.next_time() {
        let (time, transfer) = kernel.link.pop().expect("it has a time");
        kernel.advance(time, LINK | u64::from(transfer.request.0));
        if let Some(paths) = &mut kernel.paths {
            paths.transfer_ended(transfer.request, transfer.direction);
        }
        return front.transfer_ended(transfer);
    }
    let (time, ticket, event) = kernel.volatile.events.pop().expect("it has a time");
    match event {
        Event::Submitted(slot) => {
            kernel.advance(time, u64::from(slot.0));
            kernel.charge(slot, Part::Host);
            front.submitted(slot);
        }
        Event::Array(die) => {
            kernel.advance(time, ARRAY | u64::from(die.0));
            let mut finished = std::mem::take(&mut kernel.finished);
            kernel.flash.array_done(die, ticket, time, &mut kernel.volatile.events, &mut finished);
            hand_over_finished(front, die, finished);
        }
        Event::Bus(channel) => {
            kernel.advance(time, BUS | u64::from(channel.0));
            let mut finished = std::mem::take(&mut kernel.finished);
            kernel.flash.bus_done(channel, time, &mut kernel.volatile.events, &mut finished);
            match finished.first().map(|operation| kernel.flash.die_of(operation.plane)) {
                Some(die) => hand_over_finished(front, die, finished),
                None => kernel.finished = finished,
            }
        }
        Event::DieIdle(die) => {
            if front.is_timer_of(die, ticket) {
                front.kernel().advance(time, DIE_IDLE | u64::from(die.0));
                front.die_idle(die);
            }
        }
        Event::HostIdle => {
            if kernel.volatile.host_idle.ended(ticket) {
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
        Event::Overdue(call) => {
            kernel.advance(time, OVERDUE | u64::from(call.0));
            front.overdue(call, ticket);
        }
        Event::CopyDue(die) => {
            kernel.advance(time, COPY_DUE | u64::from(die.0));
            front.copy_due(die, ticket);
        }
    }
}

/// Hands finished flash operations of `die` to the front end.
#[inline]
fn hand_over_finished<F: FrontEnd>(front: &mut F, die: DieId, mut finished: Vec<FlashOperation>) {
    let kernel = front.kernel();
    if let (Some(paths), Some(ended)) = (&mut kernel.paths, kernel.flash.ended_paths()) {
        paths.take_ended(ended);
    }
    front.flash_finished(die, &finished);
    finished.clear();
    let kernel = front.kernel();
    if let Some(paths) = &mut kernel.paths {
        paths.operations_handled();
    }
    kernel.finished = finished;
}
