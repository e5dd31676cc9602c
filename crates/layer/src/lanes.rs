//! `lanes(SPEC,channels=44,unit=8MiB)`: a file or a block device divided into lanes of erase units.
//!
//! Users see software-defined flash (sdf14, Ouyang et al., ASPLOS 2014): lanes of units that are erased as a whole,
//! then written once and in order; any other access is refused. The state and the erase count of each unit are stored
//! durably on the device itself:
//!
//! - a write's data is made durable first, then the record of its unit, and then the write completes. A crash between
//!   the two leaves the unit as recorded, erased from there on, and the data cannot be read;
//! - an erase changes the record only;
//! - record changes in flight together share a write of their sector (`table`), so that many large writes in flight
//!   cost little more than their own data.
//!
//! Opening writes nothing. Damaged records are rewritten with the first accepted write or erase, or by
//! [`Lanes::repair`]; a device with foreign data in the location of a record opens only read-only (`ours`).
//!
//! Every write is durable when it completes, requested or not. A request below uses the caller's buffer: no data is
//! copied. The layout on the device is in `docs/layout.md`.

mod blocking;
mod constants;
mod disk;
mod divide;
pub(crate) mod error;
mod flaw;
mod heads;
mod layout;
mod open;
mod ours;
mod recover;
mod recovered;
mod search;
pub(crate) mod settings;
mod table;
#[cfg(test)]
mod tests;

pub use crate::state::Repair;
pub use constants::{OLDEST_VERSION, RECORDS, SECTOR_BYTES, UNITS_MAX, VERSION};
pub use disk::{Record, Superblock, seal};
pub use error::LanesError;
pub use flaw::Flaw;
pub use layout::Shape;
pub use open::Damage;

use crate::label::label;
use blocking::Blocking;
use flashlane_base::{Instant, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, Failure, Lane, Operation, Profile, Request,
    RequestId, SubmitError, Unit, UnitState, Units,
};
use layout::Layout;
use open::Opened;
use recover::RecoverOptions;
use std::collections::{BTreeMap, BTreeSet};
use table::Table;

/// A request in flight, and its outcome as far as known.
#[derive(Clone, Copy)]
struct Pending {
    request: Request,
    submitted: Instant,
    outcome: Result<(), Failure>,
}

/// The purpose of a request below.
enum Step {
    /// The data of a read or a write, or a flush.
    Bytes(Pending),
    /// A sector of the table. A background write is one that no request waits for.
    Sector { sector: u64, is_background: bool },
    /// A damaged superblock.
    Superblock,
    /// Zeros over the head of a unit with foreign data, before its erase.
    Head(Pending),
}

/// Lanes over a device that stores data.
pub struct Lanes<D> {
    below: D,
    profile: Profile,
    superblock: Superblock,
    layout: Layout,
    units: Units,
    table: Table<Pending>,
    /// Requests in flight below, by their ids there.
    steps: BTreeMap<RequestId, Step>,
    next: u64,
    /// Number of accepted requests that have not completed.
    in_flight: u32,
    /// Whether a background write is in flight.
    is_background_writing: bool,
    /// Completions without a request below.
    ready: Vec<Completion>,
    /// Buffers of completed requests until they are taken.
    done: BTreeMap<RequestId, Buffer>,
    damage: Damage,
    /// Whether erased units are checked for foreign data.
    checks_erased: bool,
    /// Units whose head was read and holds foreign data. They count as written even where the table has them as erased
    /// or torn; erasing one clears its head, so that it is not found again.
    foreign_heads: BTreeSet<u64>,
    /// Offsets of superblocks to rewrite.
    superblocks: Vec<u64>,
    /// Whether no superblock was left, and lost records were recovered from the heads of the units.
    is_recovered: bool,
    /// Whether writing is allowed: only after a write, an erase or a repair was accepted.
    may_write: bool,
    sectors_written: u64,
    device_lost: bool,
    /// Kept to reuse their memory.
    arrived: Vec<Completion>,
    ended: Vec<Pending>,
}

/// Name of the layer in a spec.
const NAME: &str = "lanes";

/// Returns the profile of lanes over a device.
fn profile(below: &Profile, layout: &Layout) -> Profile {
    let Shape { lanes, unit_bytes, read_unit_bytes, write_unit_bytes } = layout.shape;
    Profile {
        name: label(NAME, &below.name, &layout.shape.settings()),
        capacity_bytes: layout.units_per_lane * unit_bytes,
        lanes,
        read_unit_bytes,
        write_unit_bytes,
        erase_unit_bytes: unit_bytes,
        // One request below is reserved for background writes.
        depth: below.depth - 1,
        ..below.clone()
    }
}

impl<D: DataDevice> Lanes<D> {
    /// Opens the lanes on `below`. Nothing is written.
    ///
    /// # Errors
    /// [`LanesError`]: there are no lanes, or they cannot be used. Where foreign data has replaced a record, only a
    /// read-only device is opened.
    ///
    /// The caller guarantees that no request is in flight on `below`.
    pub fn open(below: D) -> Result<Self, LanesError> {
        Self::open_if(below, Repair::Ours, false, RecoverOptions::default(), |_| Ok(()))
    }

    /// Opens the lanes of a device whose foreign data [`Lanes::repair`] may overwrite, depending on `repair`. Nothing
    /// is written yet.
    ///
    /// # Errors
    /// [`LanesError`]: there are no lanes, or they cannot be used.
    pub fn open_to_repair(below: D, repair: Repair) -> Result<Self, LanesError> {
        Self::open_if(below, repair, false, RecoverOptions::default(), |_| Ok(()))
    }

    /// Opens the lanes as [`Lanes::open`] does. A unit that the table has as erased, but that begins with foreign data,
    /// then counts as written, so that it is not overwritten before an erase. For lanes whose units begin with
    /// [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC), as blocks do.
    ///
    /// # Errors
    /// As [`Lanes::open`].
    pub fn open_checked(below: D) -> Result<Self, LanesError> {
        Self::open_if(below, Repair::Ours, true, RecoverOptions::default(), |_| Ok(()))
    }

    /// Opens the lanes, unless `accept` refuses their shape.
    fn open_if(
        mut below: D,
        repair: Repair,
        checks_erased: bool,
        recovery: RecoverOptions,
        accept: impl FnOnce(&Shape) -> Result<(), LanesError>,
    ) -> Result<Self, LanesError> {
        let mut next = 0;
        let mut blocking = Blocking { device: &mut below, next: &mut next };
        let mut opened = open::superblock(&mut blocking, accept)
            .or_else(|error| recover::lanes(&mut blocking, recovery, error))?;
        let (records, found) = open::table(&mut blocking, &mut opened)?;
        let foreign_heads = foreign_units(&mut blocking, &mut opened, &records, checks_erased)?;
        if repair == Repair::Ours && !below.profile().read_only {
            opened.check_writable(&below.profile().name)?;
        }
        let is_recovered = opened.recovered.is_some();
        let Opened { superblock, layout, damage, superblocks, .. } = opened;
        let profile = profile(below.profile(), &layout);
        Ok(Self {
            units: units(&profile, &layout, &records, &foreign_heads),
            checks_erased,
            foreign_heads,
            table: Table::new(layout, superblock.id, records, &found),
            below,
            profile,
            superblock,
            layout,
            steps: BTreeMap::new(),
            next,
            in_flight: 0,
            is_background_writing: false,
            ready: Vec::new(),
            done: BTreeMap::new(),
            damage,
            superblocks,
            is_recovered,
            may_write: false,
            sectors_written: 0,
            device_lost: false,
            arrived: Vec::new(),
            ended: Vec::new(),
        })
    }

    /// Rewrites damaged records, and waits until they are sound.
    ///
    /// # Errors
    /// [`LanesError`]: the device is read-only, or a record is still damaged.
    ///
    /// The caller guarantees that no request is in flight.
    pub fn repair(&mut self) -> Result<(), LanesError> {
        let device = || self.below.profile().name.clone();
        if self.profile.read_only {
            return Err(LanesError::ReadOnly { device: device() });
        }
        self.may_write = true;
        self.write_sectors();
        let mut out = Vec::new();
        while !self.steps.is_empty() {
            let mut arrived = std::mem::take(&mut self.arrived);
            self.below.reap(Instant::FAR, &mut arrived);
            for below in arrived.drain(..) {
                self.process(&below, &mut out);
            }
            self.arrived = arrived;
            self.write_sectors();
        }
        self.ready.append(&mut out);
        let mut blocking = Blocking { device: &mut self.below, next: &mut self.next };
        let mut opened = open::superblock(&mut blocking, |_| Ok(()))?;
        open::table(&mut blocking, &mut opened)?;
        self.is_recovered = false;
        self.damage = Damage { foreign_units: self.foreign_units(), ..opened.damage };
        match opened.damage == Damage::default() {
            true => Ok(()),
            false => Err(LanesError::NotRepaired { device: self.below.profile().name.clone() }),
        }
    }

    /// Formats `below` with lanes, whatever it holds, and opens them. Their id depends on `seed`.
    ///
    /// # Errors
    /// [`LanesError`]: the shape is not possible, and nothing was written; or a request failed.
    pub fn format(mut below: D, shape: Shape, seed: Seed) -> Result<Self, LanesError> {
        divide::format(&mut Blocking { device: &mut below, next: &mut 0 }, shape, seed)?;
        Self::open(below)
    }

    /// The superblock of the lanes.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The damage found by opening, or left by the last repair.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// Bytes below that hold no user data: superblocks, table, and the rest that is too small for one more unit per
    /// lane.
    pub fn overhead_bytes(&self) -> u64 {
        self.layout.overhead_bytes()
    }

    /// Returns the device below, with the requests in flight there.
    pub fn into_inner(self) -> D {
        self.below
    }

    /// Checks a request before it is accepted.
    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        if self.device_lost {
            return Err(SubmitError::DeviceLost);
        }
        self.profile.check(request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.units.admit(request).map_err(|rule| request.refused_by(rule))?;
        if self.in_flight >= self.profile.depth {
            return Err(SubmitError::Full { depth: self.profile.depth });
        }
        Ok(())
    }

    /// Accepts a request, with its buffer if it has one, or returns both.
    fn accept(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.check(&request) {
            return Err((error, buffer));
        }
        let pending = Pending { request, submitted: self.below.now(), outcome: Ok(()) };
        if request.operation == Operation::Erase && self.foreign_heads.contains(&self.layout.number(&request))
        {
            return self.clear_head(pending, buffer);
        }
        if request.operation == Operation::Erase {
            self.may_write = true;
            self.note_accepted(&request);
            if let Some(buffer) = buffer {
                self.done.insert(request.id, buffer);
            }
            self.record_erase(pending);
            self.write_sectors();
            return Ok(());
        }
        let id = RequestId(self.next);
        let offset_bytes =
            if request.operation == Operation::Flush { 0 } else { self.layout.offset_of(&request) };
        let durable = request.operation == Operation::Write;
        let below = Request { id, lane: Lane(0), offset_bytes, durable, ..request };
        match buffer {
            Some(buffer) => {
                self.below.submit_with(below, buffer).map_err(|(error, buffer)| (error, Some(buffer)))?;
            }
            None => self.below.submit(below).map_err(|error| (error, None))?,
        }
        self.next += 1;
        self.may_write |= durable;
        self.note_accepted(&request);
        self.steps.insert(id, Step::Bytes(pending));
        Ok(())
    }

    fn record_erase(&mut self, pending: Pending) {
        let number = self.layout.number(&pending.request);
        let erases = self.table.record(number).erases.map_or(1, |erases| erases.saturating_add(1));
        self.table.change(number, Record { state: UnitState::ERASED, erases: Some(erases) }, pending);
    }

    /// Begins the erase of a unit with foreign data by clearing its head, so that it is not found again.
    fn clear_head(
        &mut self,
        pending: Pending,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let id = RequestId(self.next);
        let at = self.layout.head(self.layout.number(&pending.request));
        let write = Request::write(id.0, at, SECTOR_BYTES).durable();
        if let Err((error, _)) = self.below.submit_with(write, Buffer::zeroed(SECTOR_BYTES as usize)) {
            return Err((error, buffer));
        }
        self.next += 1;
        self.may_write = true;
        self.note_accepted(&pending.request);
        if let Some(buffer) = buffer {
            self.done.insert(pending.request.id, buffer);
        }
        self.steps.insert(id, Step::Head(pending));
        Ok(())
    }

    fn note_accepted(&mut self, request: &Request) {
        self.units.accepted(request);
        self.done.remove(&request.id);
        self.in_flight += 1;
    }

    /// Submits the sector writes that requests wait for, and one background write.
    fn write_sectors(&mut self) {
        while let Some(due) = self.table.next_due() {
            self.write_sector(due, false);
        }
        if !self.may_write || self.is_background_writing || self.device_lost {
            return;
        }
        if let Some(at) = self.superblocks.pop() {
            self.write_superblock(at);
        } else if let Some(due) = self.table.next_stale() {
            self.is_background_writing = true;
            self.write_sector(due, true);
        }
    }

    fn write_superblock(&mut self, at: u64) {
        let id = RequestId(self.next);
        self.next += 1;
        let write = Request::write(id.0, at, SECTOR_BYTES).durable();
        match self.below.submit_with(write, Buffer::from_slice(&self.superblock.encode())) {
            Ok(()) => {
                self.is_background_writing = true;
                self.steps.insert(id, Step::Superblock);
            }
            // The other superblock is sound.
            Err((error, _)) => self.device_lost |= error == SubmitError::DeviceLost,
        }
    }

    fn write_sector(&mut self, due: table::Due, is_background: bool) {
        let id = RequestId(self.next);
        self.next += 1;
        let write = Request::write(id.0, due.offset_bytes, SECTOR_BYTES).durable();
        match self.below.submit_with(write, due.buffer) {
            Ok(()) => {
                self.sectors_written += 1;
                self.steps.insert(id, Step::Sector { sector: due.sector, is_background });
            }
            Err((error, buffer)) => {
                assert!(
                    !matches!(error, SubmitError::Full { .. }),
                    "a request below is reserved for each request"
                );
                self.device_lost |= error == SubmitError::DeviceLost;
                self.is_background_writing &= !is_background;
                let (now, mut out) = (self.below.now(), std::mem::take(&mut self.ready));
                self.sector_ended(due.sector, Err(Failure::DeviceLost), Some(buffer), now, &mut out);
                self.ready = out;
            }
        }
    }

    fn sector_ended(
        &mut self,
        sector: u64,
        outcome: Result<(), Failure>,
        buffer: Option<Buffer>,
        completed: Instant,
        out: &mut Vec<Completion>,
    ) {
        let mut ended = std::mem::take(&mut self.ended);
        self.table.ended(sector, outcome.is_ok(), buffer, &mut ended);
        for pending in ended.drain(..) {
            self.complete(Pending { outcome: pending.outcome.and(outcome), ..pending }, completed, out);
        }
        self.ended = ended;
    }

    /// Completes a request.
    fn complete(&mut self, pending: Pending, completed: Instant, out: &mut Vec<Completion>) {
        let Pending { request, submitted, outcome } = pending;
        self.units.ended(&request, &outcome);
        if outcome.is_err() && matches!(request.operation, Operation::Write | Operation::Erase) {
            // The sector's next write stores the actual state instead of the one that this request set.
            let record = self.record_of(&request);
            self.table.set(self.layout.number(&request), record);
        }
        self.in_flight -= 1;
        out.push(Completion { id: request.id, submitted, completed, outcome });
    }

    /// Returns the record of a request's unit, from the units in memory.
    fn record_of(&self, request: &Request) -> Record {
        let unit = self.units.get(request.lane, request.offset_bytes / self.layout.shape.unit_bytes);
        let unit = unit.expect("an accepted request is on a unit");
        Record { state: unit.state, erases: unit.erases }
    }

    /// Counts the units that the table has as erased or torn, but that begin with foreign data.
    fn foreign_units(&self) -> u64 {
        let is_erased =
            |number: &&u64| !matches!(self.table.record(**number).state, UnitState::Written { bytes: 1.. });
        self.foreign_heads.iter().filter(is_erased).count() as u64
    }

    /// After a read of a unit's head, notes whether it is foreign data.
    fn note_head(&mut self, request: &Request, outcome: Result<(), Failure>, buffer: Option<&Buffer>) {
        let is_head = request.operation == Operation::Read
            && request.offset_bytes.is_multiple_of(self.layout.shape.unit_bytes);
        if !is_head || !self.checks_erased {
            return;
        }
        let number = self.layout.number(request);
        let (lane, unit) = self.layout.lane_and_unit(number);
        let is_ours =
            outcome.is_ok() && buffer.is_some_and(|head| ours::is_our_head(head.as_slice(), lane, unit));
        if !is_ours {
            self.foreign_heads.insert(number);
        }
    }

    /// Processes a completion below.
    fn process(&mut self, below: &Completion, out: &mut Vec<Completion>) {
        let step = self.steps.remove(&below.id).expect("a completed request was in flight");
        let buffer = self.below.take_buffer(below.id);
        let pending = match step {
            Step::Sector { sector, is_background } => {
                self.is_background_writing &= !is_background;
                return self.sector_ended(sector, below.outcome, buffer, below.completed, out);
            }
            Step::Superblock => {
                self.is_background_writing = false;
                return;
            }
            Step::Head(pending) if below.outcome.is_ok() => {
                self.foreign_heads.remove(&self.layout.number(&pending.request));
                return self.record_erase(pending);
            }
            Step::Head(pending) => {
                return self.complete(Pending { outcome: below.outcome, ..pending }, below.completed, out);
            }
            Step::Bytes(pending) => Pending { outcome: below.outcome, ..pending },
        };
        let request = pending.request;
        self.note_head(&request, pending.outcome, buffer.as_ref());
        if let Some(buffer) = buffer {
            self.done.insert(request.id, buffer);
        }
        if request.operation != Operation::Write {
            return self.complete(pending, below.completed, out);
        }
        let record = self.record_of(&request);
        let state = match (record.state, pending.outcome) {
            (UnitState::Written { bytes }, Ok(())) => {
                UnitState::Written { bytes: bytes + request.length_bytes }
            }
            (_, Err(Failure::BadUnit)) => UnitState::Bad,
            _ => UnitState::Torn,
        };
        self.table.change(self.layout.number(&request), Record { state, ..record }, pending);
    }
}

/// Returns the units of the table's records. Units with foreign data count as written, so that they are not overwritten
/// unread.
fn units(profile: &Profile, layout: &Layout, records: &[Record], foreign: &BTreeSet<u64>) -> Units {
    let mut units = Units::new(profile);
    for (record, number) in records.iter().zip(0_u64..) {
        let (lane, unit) = layout.lane_and_unit(number);
        let is_foreign = foreign.contains(&number);
        let state = if is_foreign { Record::lost(&layout.shape).state } else { record.state };
        units.set(Lane(lane), unit, state, record.erases);
    }
    units
}

/// Returns the units with foreign data, where they are to be checked, and counts them in `opened`.
fn foreign_units<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    opened: &mut Opened,
    records: &[Record],
    checks_erased: bool,
) -> Result<BTreeSet<u64>, LanesError> {
    if !checks_erased {
        return Ok(BTreeSet::new());
    }
    let found = heads::foreign(blocking, &opened.layout, records)?;
    opened.damage.foreign_units = found.len() as u64;
    Ok(found)
}

impl<D: DataDevice> Device for Lanes<D> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn now(&self) -> Instant {
        self.below.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.accept(request, None).map_err(|(error, _)| error)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        out.append(&mut self.ready);
        while out.len() == first {
            if until == Instant::FAR && self.in_flight == 0 {
                return;
            }
            let mut arrived = std::mem::take(&mut self.arrived);
            self.below.reap(until, &mut arrived);
            for below in arrived.drain(..) {
                self.process(&below, out);
            }
            self.arrived = arrived;
            self.write_sectors();
            out.append(&mut self.ready);
            if self.below.now() >= until {
                return;
            }
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = self.below.counters();
        counters.0.extend([
            ("table_sectors_written", self.sectors_written),
            ("table_sectors_damaged", self.damage.sectors),
            ("table_sectors_lost", self.damage.lost_sectors),
            ("superblocks_damaged", u64::from(self.damage.superblocks)),
            ("records_overwritten", self.damage.foreign),
            ("units_overwritten", self.foreign_units()),
            ("lanes_recovered", u64::from(self.is_recovered)),
        ]);
        counters
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.get(lane, index)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        // Every completed write is durable below.
        self.below.at_risk().map(|_| Vec::new())
    }

    /// Finds the lanes on the device again, as opening does; where that fails, they are lost.
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        self.below.cut_power()?;
        while !self.steps.is_empty() {
            self.below.reap(Instant::FAR, &mut self.arrived);
            for completion in self.arrived.drain(..) {
                let buffer = self.below.take_buffer(completion.id);
                if let Some(Step::Bytes(pending) | Step::Head(pending)) = self.steps.remove(&completion.id) {
                    self.ended.push(pending);
                    self.done.extend(buffer.map(|buffer| (pending.request.id, buffer)));
                }
            }
        }
        self.table.abandon(&mut self.ended);
        let (completed, outcome) = (self.below.now(), Err(Failure::DeviceLost));
        let lost = self.ended.drain(..).map(|pending| Completion {
            id: pending.request.id,
            submitted: pending.submitted,
            completed,
            outcome,
        });
        self.ready.extend(lost);
        (self.in_flight, self.is_background_writing) = (0, false);
        let mut blocking = Blocking { device: &mut self.below, next: &mut self.next };
        let found = open::superblock(&mut blocking, |_| Ok(()))
            .and_then(|mut opened| open::table(&mut blocking, &mut opened).map(|found| (opened, found)))
            .and_then(|(mut opened, (records, found))| {
                let foreign = foreign_units(&mut blocking, &mut opened, &records, self.checks_erased)?;
                Ok((opened, records, found, foreign))
            });
        match found {
            Ok((Opened { superblock, damage, superblocks, .. }, records, found, foreign))
                if superblock == self.superblock =>
            {
                self.damage = damage;
                (self.superblocks, self.may_write) = (superblocks, false);
                self.units = units(&self.profile, &self.layout, &records, &foreign);
                self.foreign_heads = foreign;
                self.table = Table::new(self.layout, superblock.id, records, &found);
            }
            _ => self.device_lost = true,
        }
        Some(Vec::new())
    }
}

impl<D: DataDevice> DataDevice for Lanes<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("the caller's buffer"));
        self.accept(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}
