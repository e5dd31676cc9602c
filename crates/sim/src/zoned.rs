//! A simulated zoned drive: zones that are written in order, opened, finished and reset by the host.
//!
//! After NVMe Zoned Namespaces 1.1, and the measurements of Doekemeijer et al., "Performance Characterization of NVMe
//! Flash Devices with Zoned Namespaces", CLUSTER 2023. A zone is a number of erase blocks on each of its dies, striped
//! over them in what a die programs at once. Its data go through a write buffer of the zone's own; nothing is mapped,
//! cleaned or moved. To the host a zone is an erase unit ([`UnitStates`]) with a state beside ([`states`]). Flash,
//! link, queues and error correction are those of [`Drive`](crate::Drive), in the kernel that all front ends share.
//!
//! ```text
//! write, append: commands (one after the other) ─> room in the buffer ─> link ─> buffer: acknowledged ─> programs
//! read:          buffer or flash ─> link
//! finish:        firmware ─> programs to the end of the zone's blocks, without data over the bus
//! reset:         firmware ─> erases of the blocks that were programmed
//! ```
//!
//! The buffer outlives a power cut, as in drives with capacitors: what was acknowledged is not lost, a write in flight
//! is torn, and open zones are closed afterwards.

mod commands;
mod job;
mod shape;
mod states;
#[cfg(test)]
mod tests;
mod wear;
mod work;
mod writing;

use crate::config::{DriveConfig, InitialState, ZonesConfig};
use crate::event::{Event, Ticket};
use crate::host_port::Transfer;
use crate::ids::{DieId, RequestSlot};
use crate::kernel::{self, FrontEnd, Kernel};
use crate::nand::{Correction, FlashOperation, Geometry, PageType, page_types};
use commands::Commands;
use flashlane_base::{Instant, Seed};
use flashlane_device::{
    AtRisk, Completion, Counters, Device, DeviceInfo, Failure, Lane, Operation, PowerCurve, Request,
    RequestId, Rule, SubmitError, TimeSplit, Unit, UnitState, UnitStates, Zone, ZoneLimits, ZoneState,
};
use job::Job;
use shape::{Shape, ZoneId};
use states::ZoneStates;
use wear::Wear;
use writing::ZoneWrites;

/// A simulated zoned drive.
#[derive(Clone)]
pub struct Zoned {
    shape: Shape,
    times: ZonesConfig,
    kernel: Kernel<Job>,
    correction: Option<Correction>,
    page_types: Box<[PageType]>,
    units: UnitStates,
    states: ZoneStates,
    /// By zone.
    writes: Vec<ZoneWrites>,
    wear: Wear,
    commands: Commands,
    counts: Counts,
    /// Where appends began that have completed and were not reaped yet, and those of the last reap.
    appended: Vec<(RequestId, Lane, u64)>,
    reaped_appends: Vec<(RequestId, Lane, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reads: u64,
    writes: u64,
    appends: u64,
    erases: u64,
    flushes: u64,
    opens: u64,
    implicit_opens: u64,
    closed_for_others: u64,
    finishes: u64,
    pages_read: u64,
    bytes_written: u64,
    pages_programmed: u64,
    pages_padded: u64,
    blocks_erased: u64,
    read_retries: u64,
    pages_unreadable: u64,
}

impl Zoned {
    /// A drive in its profile's initial state. Requires: `config` was loaded, and so validated, by
    /// [`crate::profile::load`] or [`crate::profile::parse`].
    ///
    /// # Panics
    /// Where the profile has no zones.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
        let times = config.zones.clone().expect("a profile without [zones] is that of another drive");
        let shape = Shape::new(config, &times);
        let is_full = config.initial.state == InitialState::Full;
        let info = info(config, &times, &shape, is_full);
        let mut units = UnitStates::new(&info);
        let mut states = ZoneStates::new(shape.zones, times.max_open, times.max_active);
        let mut writes = vec![ZoneWrites::default(); shape.zones as usize];
        if is_full {
            for zone in (0..shape.zones).map(ZoneId) {
                let (lane, index) = shape.place(zone);
                units.set(lane, index, UnitState::Written { bytes: shape.zone_bytes }, Some(0));
                states.set_full(zone);
                writes[zone.index()] = ZoneWrites::full(&shape);
            }
        }
        Self {
            kernel: Kernel::new(info, config, &Geometry::new(config), seed),
            correction: Correction::new(config, seed),
            page_types: page_types(config),
            wear: Wear::new(config, &times, shape.zones, seed),
            commands: Commands::default(),
            counts: Counts::default(),
            appended: Vec::new(),
            reaped_appends: Vec::new(),
            shape,
            times,
            units,
            states,
            writes,
        }
    }

    /// The same drive under another name in results: the spec that it was opened with.
    pub fn named(mut self, name: String) -> Self {
        self.kernel.set_name(name);
        self
    }

    /// A hash over every event so far, its time and its place: equal for equal profile, workload and seed, on any
    /// machine.
    pub fn trace_hash(&self) -> u64 {
        self.kernel.trace_hash()
    }

    /// The zone of a request.
    fn zone_of(&self, request: &Request) -> ZoneId {
        self.shape.zone(request.lane, request.offset_bytes / self.shape.zone_bytes)
    }

    /// Checks a request against the states of zones. Returns the zone that is closed for the one that the request
    /// opens, if one has to be. Requires: [`UnitStates`] admit the request.
    fn admit_zone(&self, request: &Request) -> Result<Option<ZoneId>, Rule> {
        let zone = self.zone_of(request);
        let is_busy = |zone| {
            let (lane, index) = self.shape.place(zone);
            self.units.is_changing(lane, index)
        };
        match request.operation {
            Operation::Write | Operation::Append | Operation::Open => self.states.admit_open(zone, is_busy),
            Operation::Close => self.states.admit_close(zone).map(|()| None),
            _ => Ok(None),
        }
    }

    /// Records in the states of zones that a request is accepted, which closes another zone if it has to.
    fn zone_accepted(&mut self, request: &Request, closes: Option<ZoneId>) {
        let is_explicit = request.operation == Operation::Open;
        if !is_explicit && !matches!(request.operation, Operation::Write | Operation::Append) {
            return;
        }
        if let Some(closed) = closes {
            self.states.close(closed);
            self.counts.closed_for_others += 1;
        }
        let zone = self.zone_of(request);
        let opens = !self.states.get(zone).is_open();
        self.states.open(zone, is_explicit);
        if opens && !is_explicit {
            self.counts.implicit_opens += 1;
            self.writes[zone.index()].pays_open = true;
        }
    }

    /// All of a request is done.
    fn complete(&mut self, slot: RequestSlot) {
        let in_flight = self.kernel.in_flight(slot);
        let (request, outcome, state) = (in_flight.request(), in_flight.outcome(), in_flight.state);
        self.units.ended(&request, &outcome);
        if !matches!(request.operation, Operation::Read | Operation::Flush) {
            self.zone_ended(&request, &outcome);
        }
        if request.operation == Operation::Append && outcome.is_ok() {
            let zone_bytes = request.offset_bytes;
            self.appended.push((request.id, request.lane, zone_bytes + state.begins_bytes));
        }
        self.kernel.complete(slot);
    }

    /// Updates the state of a zone for a request that ended.
    fn zone_ended(&mut self, request: &Request, outcome: &Result<(), Failure>) {
        let zone = self.zone_of(request);
        let (lane, index) = self.shape.place(zone);
        match (request.operation, outcome) {
            (Operation::Write | Operation::Append, Err(Failure::BadUnit)) => {
                self.units.keep_readable(lane, index, self.writes[zone.index()].completed_bytes);
                self.states.set_lost(zone, ZoneState::ReadOnly);
            }
            (Operation::Erase, Err(Failure::BadUnit)) => self.states.set_lost(zone, ZoneState::Offline),
            (_, Err(_)) => {}
            (Operation::Write | Operation::Append, Ok(())) => {
                let writes = &mut self.writes[zone.index()];
                writes.completed_bytes += request.length_bytes;
                if writes.completed_bytes == self.shape.zone_bytes {
                    self.states.set_full(zone);
                }
            }
            (Operation::Erase, Ok(())) => self.states.set_empty(zone),
            (Operation::Finish, Ok(())) => self.states.set_full(zone),
            (Operation::Close, Ok(())) => self.states.close(zone),
            _ => {}
        }
    }
}

/// What the drive reports of itself.
fn info(config: &DriveConfig, zones: &ZonesConfig, shape: &Shape, is_full: bool) -> DeviceInfo {
    DeviceInfo {
        lanes: shape.lanes,
        erase_unit_bytes: shape.zone_bytes,
        depth: config.link.depth,
        queues: config.queue_count(),
        simulated: true,
        begins_written: is_full,
        zones: Some(ZoneLimits {
            size_bytes: zones.size.map_or(shape.zone_bytes, |size| size.0),
            most_open: zones.max_open,
            most_active: zones.max_active,
        }),
        ..DeviceInfo::new(
            format!("sim:{}", config.name),
            u64::from(shape.zones / shape.lanes) * shape.zone_bytes,
            config.sector.0,
        )
    }
}

impl FrontEnd for Zoned {
    type State = Job;

    #[inline]
    fn kernel(&mut self) -> &mut Kernel<Job> {
        &mut self.kernel
    }

    fn fetched(&mut self, slot: RequestSlot) {
        self.start(slot);
    }

    #[inline]
    fn transfer_ended(&mut self, transfer: Transfer) {
        self.continue_after(transfer);
    }

    #[inline]
    fn flash_finished(&mut self, _: DieId, finished: &[FlashOperation]) {
        for operation in finished {
            self.kernel.account_operation(operation.owner);
            self.flash_operation_finished(operation);
        }
    }

    /// No timer is ever stopped.
    fn claims_timer(&mut self, _: Event, _: Ticket) -> bool {
        true
    }

    fn buffer_latency_over(&mut self, slot: RequestSlot) {
        self.append_placed(slot);
    }

    fn timer_ended(&mut self, event: Event) {
        let Event::Task(kind, slot) = event else { unreachable!("{event:?} ends no timer of this drive") };
        let slot = RequestSlot(slot);
        match kind {
            work::COMMAND => self.command_ended(slot),
            _ => self.firmware_ended(slot),
        }
    }
}

impl Device for Zoned {
    fn info(&self) -> &DeviceInfo {
        self.kernel.info()
    }

    fn now(&self) -> Instant {
        self.kernel.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.kernel.info().check(&request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.kernel.check(&request)?;
        self.units.admit(&request).map_err(|rule| request.refused_by(rule))?;
        let closes = self.admit_zone(&request).map_err(|rule| request.refused_by(rule))?;
        self.units.accepted(&request);
        self.zone_accepted(&request, closes);
        if let Some(slot) = self.kernel.accept(&request) {
            self.start(slot);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        Some(self.kernel.next_event())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.reaped_appends.clear();
        let before = out.len();
        kernel::run(self, until, out);
        if out.len() > before {
            std::mem::swap(&mut self.appended, &mut self.reaped_appends);
        }
    }

    fn counters(&self) -> Counters {
        let (flash, counts) = (self.kernel.flash().counters(), &self.counts);
        let lost = |state| self.states.count(state);
        let waiting_bytes: u64 = self.writes.iter().map(|writes| writes.waiting_bytes(&self.shape)).sum();
        let settled_bytes = counts.bytes_written.saturating_sub(waiting_bytes);
        let mut list = vec![
            ("host_reads", counts.reads),
            ("host_writes", counts.writes),
            ("host_appends", counts.appends),
            ("host_erases", counts.erases),
            ("host_flushes", counts.flushes),
            ("host_pages_read", counts.pages_read),
            (Counters::HOST_PAGES_WRITTEN, counts.bytes_written / self.shape.page_bytes),
            (Counters::HOST_PAGES_SETTLED, settled_bytes / self.shape.page_bytes),
            (Counters::HOST_BYTES_WRITTEN, counts.bytes_written),
            (Counters::HOST_BYTES_SETTLED, settled_bytes),
            ("flash_pages_read", flash.reads),
            (Counters::FLASH_PAGES_PROGRAMMED, counts.pages_programmed),
            (Counters::FLASH_BYTES_PROGRAMMED, counts.pages_programmed * self.shape.page_bytes),
            ("pages_padded", counts.pages_padded),
            ("blocks_erased", counts.blocks_erased),
            ("zones_opened", counts.opens),
            ("zones_opened_implicitly", counts.implicit_opens),
            ("zones_closed_for_others", counts.closed_for_others),
            ("zones_finished", counts.finishes),
            ("zones_read_only", lost(ZoneState::ReadOnly)),
            ("zones_offline", lost(ZoneState::Offline)),
            ("read_retries", counts.read_retries),
            ("pages_unreadable", counts.pages_unreadable),
            ("link_busy_ns", self.kernel.link().busy_ns()),
        ];
        list.extend(self.kernel.queued_commands().map(|count| ("commands_queued", count)));
        self.kernel.add_counters(&mut list);
        Counters(list)
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.kernel.power_curve()
    }

    fn record_time_splits(&mut self) -> bool {
        self.kernel.record_times()
    }

    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.kernel.time_split(id)
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.get(lane, index)
    }

    fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        let unit = self.units.get(lane, index)?;
        let state = self.states.get(self.shape.zone(lane, index));
        let write_pointer_bytes = match unit.state {
            UnitState::Written { .. } => self.units.next_append(lane, index),
            UnitState::Torn | UnitState::Bad => {
                self.writes[self.shape.zone(lane, index).index()].completed_bytes
            }
        };
        Some(Zone { state, write_pointer_bytes })
    }

    fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        let of =
            |&(of, lane, offset_bytes): &(RequestId, Lane, u64)| (of == id).then_some((lane, offset_bytes));
        self.reaped_appends.iter().find_map(of)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(Vec::new())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        for job in self.kernel.requests() {
            self.units.ended(&job.request(), &Err(Failure::DeviceLost));
        }
        self.kernel.cut_power();
        self.commands = Commands::default();
        self.states.power_cut();
        self.writes.iter_mut().for_each(|writes| writes.power_cut(&self.shape));
        Some(Vec::new())
    }
}
