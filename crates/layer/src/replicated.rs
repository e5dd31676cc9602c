//! `replicated(SPEC,partitions=8,space=10%)`: a device whose pages have copies, so that a page can be read and written
//! while its own part of the device is busy with garbage collection (he14, He et al., sections 4.1 and 5.1).
//!
//! The device below is divided into equal partitions, which stand for its chips. Each holds pages of data and, behind
//! them, slots for copies of pages of other partitions. The place of a page is its *home*. A request is served page by
//! page:
//!
//! - a read goes to the home or to a copy, the one on the partition that is blocked least; where that takes longer than
//!   D, to the next as well, and the first to end completes it;
//! - a write goes to the home; where that takes longer than D, a copy is written to a random other partition as well,
//!   again after another D, and the first one that is written completes the write. Copies of the version before are no
//!   longer used;
//! - a read that was blocked is replicated afterwards, where the policy says so.
//!
//! D is twice the median of the device's own writes, or of its reads if that is larger (`delays`). A write that takes
//! longer is blocked by its own partition if a later one was written before it, or copies have completed all others
//! that are being written. Otherwise all wait for the same, such as room in the device's write buffer, and a copy would
//! wait behind them. A copy is written at once where its partition has nothing to do, otherwise once that was idle for
//! a while (`flashlane_replication::ExtraWrites`).
//!
//! Whether all this makes accesses faster depends on what is inside the device. So it is measured: in some rounds of
//! accesses no page is copied and no copy read, unless its home is not written, and the faster kind has most rounds
//! (`flashlane_replication::Worth`).
//!
//! # Durability
//! The map of copies is in memory only, and opening begins without copies. So the homes alone must tell the truth:
//!
//! - every write goes to its home, those of one page one after the other and in order;
//! - a write that a copy completed before its home is acknowledged and volatile, like one in a drive's write cache:
//!   [`Device::at_risk`] lists it until the home is written, and what the device below then has at risk;
//! - a durable write completes with its home, never with a copy. A flush waits for the homes of all writes before it,
//!   then flushes the device below.
//!
//! # Other data
//! The slots belong to the layer, as the whole device does: a copy has no room for a mark that says whose it is, so no
//! slot is searched for other data. Whoever formats or writes the device gives them to the layer. Until its user has
//! written something the layer writes nothing: a user that finds other data where its own should be only reads.
//!
//! # Failures
//! A copy that cannot be written or read is given up, and its request goes on with the home. A read whose home fails
//! uses a copy. A write whose home fails before a copy completed it fails. Afterwards the home is written again,
//! [`ATTEMPTS`] times in all; then the write is lost, and the next flush fails.
//!
//! # Order
//! Requests that overlap, one of them a write or a trim, are served in the order of their submission, each after the
//! one before has completed. A page whose home waits for an acknowledged write is read from its copy, or after the
//! home.
//!
//! Cost: well below 2 µs a request beside the device's own time (`benches/replicated.rs`), and one copy of the bytes.
//! Memory: 16 bytes a page and 60 a slot, committed by the system as they are used.

mod chips;
mod copies;
mod counts;
mod delays;
mod device;
mod layout;
mod pending;
mod reads;
mod risk;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
mod writes;

pub use settings::Settings;

use crate::below::{Below, Bytes, Timing};
use crate::error::LayerError;
use crate::label::label;
use crate::slab::{Key, Slab};
use chips::Chip;
use copies::QueuedCopy;
use counts::Counts;
use delays::Delays;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{Buffer, Completion, Device, DeviceInfo, Failure, Request, RequestId, SubmitError};
use flashlane_replication::{AccessKind, ExtraWrites, Groups, History, Shape, Slot, Worth};
use layout::Layout;
use pending::{Part, Pending, Span};
use risk::RiskLog;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use writes::PageHomes;

/// Requests in flight at most, and acknowledged writes whose home is not written.
const MOST_PENDING: u32 = 1024;
/// Copies that wait for a partition at most.
const MOST_QUEUED: u32 = 64;
/// Buffers that are kept to be used again.
const MOST_SPARE: usize = 256;
/// Attempts to write the home of an acknowledged write.
pub const ATTEMPTS: u8 = 4;

/// A request to the device below.
struct Io {
    kind: IoKind,
    partition: u32,
    /// Whether it is an extra access: a copy that is written, or a second place that is read.
    extra: bool,
    /// Whether the history knows already that it was blocked.
    recorded: bool,
    /// Whether it is a write that the device below numbers.
    numbered: bool,
    /// Its place among the writes of homes and copies; 0 where it is none.
    nth_write: u64,
}

enum IoKind {
    /// Writes the home of a page.
    Home { page: u32 },
    /// Writes a copy; the part that it may complete.
    Copy { slot: Slot, part: Option<Key> },
    /// Reads a part from its home or a copy.
    Read { part: Key, slot: Option<Slot> },
    /// A trim or a flush.
    Other { pending: Key },
}

/// A device whose pages have copies on other partitions.
pub struct Replicated<B> {
    below: B,
    info: DeviceInfo,
    settings: Settings,
    layout: Layout,
    groups: Groups,
    history: History,
    delays: Delays,
    worth: Worth,
    /// `None` until D is known.
    extra_writes: Option<ExtraWrites>,
    chips: Vec<Chip>,
    /// For each slot the reads in flight from it. A slot that is read MUST NOT be written.
    readers: Vec<u32>,
    /// Accepted requests that have not completed.
    pending: Slab<Pending>,
    /// Their ranges.
    spans: Vec<Span>,
    /// Requests that have not begun, in order.
    waiting: Vec<Key>,
    parts: Slab<Part>,
    /// The writes of homes that have not completed below.
    homes: BTreeMap<u32, PageHomes>,
    /// Homes of writes that a copy completed.
    homes_behind: u32,
    /// Requests to the device below, and the number of them that it has accepted.
    ios: Slab<Io>,
    in_flight: u32,
    /// Writes of homes and copies that were sent, and the last of them that has completed.
    writes_sent: u64,
    last_written: u64,
    /// Requests that the device below had no room for, in order.
    backlog: VecDeque<(Request, Option<Buffer>)>,
    /// Requests that the device below refused.
    refused: VecDeque<(Completion, Option<Buffer>)>,
    /// Copies that wait for an idle partition.
    queued: BTreeMap<Slot, QueuedCopy>,
    /// When parts look for another place.
    timers: BinaryHeap<Reverse<(Instant, Key)>>,
    /// Whether the device below has trims, once known.
    has_trims: Option<bool>,
    /// Why the home of an acknowledged write was not written; the next flush reports it.
    lost_home: Option<Failure>,
    /// Numbers of writes, here and below, as in `AtRisk`. Kept where the device below knows what is at risk.
    log: Option<RiskLog>,
    next_number: u64,
    next_below: u64,
    next_order: u64,
    /// Whether a write or a trim was accepted. Before, nothing is written.
    has_written: bool,
    /// Time of the last completion.
    latest: Instant,
    ready: Vec<Completion>,
    done: BTreeMap<RequestId, Buffer>,
    spare: Vec<Buffer>,
    random: Random,
    counts: Counts,
    /// Kept to reuse their memory.
    arrived: Vec<Completion>,
    partitions: Vec<u32>,
    slots: Vec<Slot>,
}

impl Io {
    fn is_write(&self) -> bool {
        matches!(self.kind, IoKind::Home { .. } | IoKind::Copy { .. })
    }
}

fn groups(layout: &Layout, settings: &Settings) -> Result<Groups, LayerError> {
    let shape = Shape {
        pages: layout.pages(),
        chips: layout.partitions,
        slots_per_chip: layout.slots,
        copies: settings.most_copies(),
    };
    Ok(Groups::new(shape, settings.build_policy(shape.slots())?))
}

impl<B: Below> Replicated<B> {
    /// Divides a device. Nothing is read or written.
    ///
    /// # Errors
    /// [`LayerError`]: the settings do not suit the device.
    ///
    /// The caller guarantees that no request is in flight on `below`.
    pub fn new(below: B, settings: Settings, seed: Seed) -> Result<Self, LayerError> {
        let under = below.device().info();
        let layout = settings.layout(under)?;
        let info = DeviceInfo {
            name: label(settings::NAME, &under.name, &settings.to_string()),
            capacity_bytes: layout.capacity_bytes(),
            depth: under.depth.min(MOST_PENDING),
            // Homes and copies are written without a handle.
            placement_handles: 1,
            address_map: layout.address_map(under.address_map),
            ..under.clone()
        };
        let delays = Delays::new(settings.delay);
        let slots = (layout.partitions * layout.slots) as usize;
        let mut layer = Self {
            groups: groups(&layout, &settings)?,
            history: History::new(layout.pages(), layout.partitions),
            delays,
            worth: Worth::new(settings.round),
            extra_writes: None,
            chips: vec![Chip::default(); layout.partitions as usize],
            readers: vec![0; slots],
            pending: Slab::new(),
            spans: Vec::new(),
            waiting: Vec::new(),
            parts: Slab::new(),
            homes: BTreeMap::new(),
            homes_behind: 0,
            ios: Slab::new(),
            in_flight: 0,
            writes_sent: 0,
            last_written: 0,
            backlog: VecDeque::new(),
            refused: VecDeque::new(),
            queued: BTreeMap::new(),
            timers: BinaryHeap::new(),
            has_trims: None,
            lost_home: None,
            log: below.device().at_risk().map(|_| RiskLog::default()),
            next_number: 0,
            next_below: 0,
            next_order: 0,
            has_written: false,
            latest: Instant::ZERO,
            ready: Vec::new(),
            done: BTreeMap::new(),
            spare: Vec::new(),
            random: seed.derive("replicated").source(),
            counts: Counts::default(),
            arrived: Vec::new(),
            partitions: Vec::new(),
            slots: Vec::new(),
            below,
            info,
            settings,
            layout,
        };
        layer.watch_idle_periods();
        Ok(layer)
    }

    /// The device below.
    pub fn inner(&self) -> &B::Device {
        self.below.device()
    }

    /// Returns the device below, with the requests in flight there. Copies are forgotten.
    pub fn into_inner(self) -> B {
        self.below
    }

    fn now(&self) -> Instant {
        self.below.device().now()
    }

    /// Sends a request below; its completion, or the refusal, comes through [`Self::process`].
    fn send(&mut self, mut io: Io, request: Request, buffer: Option<Buffer>) -> Key {
        let now = self.now();
        let (partition, extra) = (io.partition as usize, io.extra);
        let is_access = !matches!(io.kind, IoKind::Other { .. });
        if io.is_write() {
            self.writes_sent += 1;
            io.nth_write = self.writes_sent;
        }
        let key = self.ios.insert(io);
        if is_access {
            self.chips[partition].begin(extra, now);
            if !extra && let Some(extra_writes) = &mut self.extra_writes {
                extra_writes.access(partition as u32, now);
            }
        }
        let request = Request { id: RequestId(key.number()), ..request };
        if self.backlog.is_empty() {
            self.submit_below(request, buffer);
        } else {
            self.backlog.push_back((request, buffer));
        }
        key
    }

    /// Returns whether the device below had room.
    fn submit_below(&mut self, request: Request, buffer: Option<Buffer>) -> bool {
        match self.below.send(request, buffer) {
            Ok(()) => self.in_flight += 1,
            Err((SubmitError::Full { .. }, buffer)) => {
                self.backlog.push_front((request, buffer));
                return false;
            }
            Err((error, buffer)) => {
                let now = self.now();
                let outcome = Err(failure_of(&error));
                let completion = Completion { id: request.id, submitted: now, completed: now, outcome };
                self.refused.push_back((completion, buffer));
            }
        }
        true
    }

    /// Submits what the device below had no room for.
    fn submit_backlog(&mut self) {
        while let Some((request, buffer)) = self.backlog.pop_front() {
            if !self.submit_below(request, buffer) {
                return;
            }
        }
    }

    /// Handles requests that the device below refused.
    fn process_refused(&mut self) {
        while let Some((completion, buffer)) = self.refused.pop_front() {
            self.process(&completion, buffer, false);
        }
    }

    /// Handles a completed request of the device below; `numbers` where that numbers its writes.
    fn process(&mut self, completion: &Completion, buffer: Option<Buffer>, numbers: bool) {
        let io = self.ios.remove(Key::from_number(completion.id.0)).expect("a request of this layer");
        let number = (io.numbered && numbers).then_some(self.next_below);
        self.next_below += u64::from(number.is_some());
        self.latest = self.latest.max(completion.completed);
        self.last_written = self.last_written.max(io.nth_write);
        let is_access = !matches!(io.kind, IoKind::Other { .. });
        if is_access {
            let chip = &mut self.chips[io.partition as usize];
            self.counts.interference += chip.end(io.extra, completion.completed);
            if chip.is_idle()
                && let Some(extra_writes) = &mut self.extra_writes
            {
                extra_writes.idle(io.partition, completion.completed);
            }
        }
        match io.kind {
            IoKind::Home { page } => self.home_completed(page, completion, buffer, number),
            IoKind::Copy { slot, part } => self.copy_completed(slot, part, completion, buffer),
            IoKind::Read { part, slot } => self.read_completed(part, slot, &io, completion, buffer),
            IoKind::Other { pending } => self.other_completed(pending, completion),
        }
    }

    /// Records an access in the history.
    fn record(&mut self, page: u32, partition: u32, access: AccessKind, blocked: bool) {
        let has_copies = self.has_copies();
        let Self { groups, history, counts, .. } = self;
        let replicates = |blocking| groups.replicates_read(blocking);
        let before = history.expected_extra_writes_of(page, replicates);
        history.record(page, partition, access, blocked);
        if has_copies {
            counts.extra_expected += history.expected_extra_writes_of(page, replicates) - before;
        }
        counts.blocked += u64::from(blocked);
    }

    /// Begins to watch idle periods, once D is known.
    fn watch_idle_periods(&mut self) {
        if self.extra_writes.is_some() {
            return;
        }
        let Some(delay) = self.delays.get() else { return };
        // D is twice the time of an operation.
        let time = (delay / 2).max(Duration::from_ns(1));
        let (count, epoch) = (self.layout.partitions, self.settings.epoch);
        let mut extra_writes = ExtraWrites::new(count, MOST_QUEUED, epoch, time, time);
        let now = self.now();
        for partition in 0..count {
            extra_writes.access(partition, now);
            if self.chips[partition as usize].is_idle() {
                extra_writes.idle(partition, now);
            }
        }
        self.extra_writes = Some(extra_writes);
    }

    /// Whether pages are copied at present, and copies used: always, or while they are worth it.
    fn has_copies(&self) -> bool {
        self.settings.always || self.worth.has_copies()
    }

    /// Looks for another place after D.
    fn set_timer(&mut self, part: Key) {
        let Some(delay) = self.delays.get() else { return };
        let deadline = self.now() + delay;
        if let Some(entry) = self.parts.get_mut(part) {
            entry.deadline = deadline;
            self.timers.push(Reverse((deadline, part)));
        }
    }

    /// Returns when the next part looks for another place.
    fn next_timer(&mut self) -> Instant {
        while let Some(&Reverse((deadline, part))) = self.timers.peek() {
            if self.parts.get(part).is_some_and(|part| part.deadline == deadline) {
                return deadline;
            }
            self.timers.pop();
        }
        Instant::FAR
    }

    /// Sends the parts that are due to another place.
    fn run_timers(&mut self, now: Instant) {
        while self.next_timer() <= now {
            let Some(Reverse((_, part))) = self.timers.pop() else { return };
            match self.parts.get(part).map(|part| part.is_read) {
                Some(true) => self.read_is_blocked(part),
                Some(false) => self.write_is_late(part),
                None => {}
            }
        }
    }

    /// Returns a buffer of `length` bytes with unspecified content.
    fn buffer(&mut self, length: usize) -> Buffer {
        let spare = if length as u64 == self.layout.page_bytes { self.spare.pop() } else { None };
        spare.unwrap_or_else(|| Buffer::zeroed(length))
    }

    /// Keeps a buffer that is no longer needed.
    fn recycle(&mut self, buffer: Option<Buffer>) {
        if let Some(buffer) = buffer
            && buffer.len() as u64 == self.layout.page_bytes
            && self.spare.len() < MOST_SPARE
        {
            self.spare.push(buffer);
        }
    }

    /// Shuffles the partitions other than `home` into [`Self::partitions`].
    fn shuffle_others(&mut self, home: u32) {
        self.partitions.clear();
        self.partitions.extend((0..self.layout.partitions).filter(|&partition| partition != home));
        self.random.shuffle(&mut self.partitions);
    }
}

/// Returns the failure of a request that the device below refused after it was accepted here.
fn failure_of(error: &SubmitError) -> Failure {
    match error {
        SubmitError::DeviceLost => Failure::DeviceLost,
        // ENOTSUP, EROFS, EINVAL.
        SubmitError::Unsupported { .. } => Failure::Os(95),
        SubmitError::ReadOnly { .. } => Failure::Os(30),
        _ => Failure::Os(22),
    }
}
