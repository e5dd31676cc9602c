//! `lanes(SPEC,channels=44,unit=8MiB)`: a file or a block device divided into lanes of erase units.
//!
//! What stands above it sees software-defined flash (sdf14, Ouyang et al., ASPLOS 2014): lanes, units that are erased as a
//! whole and then written once and in order, and a refusal of everything else. The states of the units and how often each
//! was erased are kept on the device itself and are durable:
//!
//! - a write's bytes are durable first, then the record of its unit, and then it completes. A crash between the two leaves
//!   the unit as it was recorded, erased there, and what it holds cannot be read;
//! - an erase changes the record and moves no bytes;
//! - records that change together share a write of their sector (`table`), so that many large writes in flight cost
//!   little more than their own bytes.
//!
//! Opening writes nothing. Records that are found damaged are written anew with the first write or erase that is accepted,
//! or by [`Lanes::repair`]; a device with foreign data in the place of one is opened to be read only (`ours`).
//!
//! Every write here is durable when it completes, whatever was asked. A request below holds the caller's own buffer:
//! nothing is copied. The layout on the device is explained byte by byte in `docs/layout.md`.

mod disk;
mod divide;
mod error;
mod heads;
mod layout;
mod open;
mod ours;
mod recover;
mod search;
mod settings;
mod table;
#[cfg(test)]
mod tests;

pub use crate::entry::Repair;
pub use disk::{Flaw, OLDEST_VERSION, Record, Superblock, VERSION, seal};
pub use error::LanesError;
pub use layout::{RECORDS, SECTOR_BYTES, Shape, UNITS_MAX};
pub use open::Damage;
pub(crate) use settings::ENTRY;

use crate::label::label;
use flashlane_base::{Instant, Seed};
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, Failure, Lane, Operation, Profile, Request,
    RequestId, SubmitError, Unit, UnitState, Units,
};
use layout::Layout;
use open::{Driven, Opened};
use recover::Search;
use std::collections::{BTreeMap, BTreeSet};
use table::Table;

/// A request on its way, and how it ended as far as that is known.
#[derive(Clone, Copy)]
struct Asked {
    request: Request,
    submitted: Instant,
    outcome: Result<(), Failure>,
}

/// What a request below is for.
enum Step {
    /// The bytes of a read or a write, or a flush.
    Bytes(Asked),
    /// A sector of the table. One that no request waits for settles.
    Sector { sector: u64, settles: bool },
    /// A superblock that was damaged.
    Superblock,
    /// Zeros over the head of a unit with foreign data, which is to be erased.
    Head(Asked),
}

/// Lanes over a device that keeps bytes.
pub struct Lanes<D> {
    below: D,
    profile: Profile,
    superblock: Superblock,
    layout: Layout,
    book: Units,
    table: Table<Asked>,
    /// Requests below, by the ids they have there.
    steps: BTreeMap<RequestId, Step>,
    next: u64,
    /// Requests that were accepted and have not completed.
    in_flight: u32,
    /// Whether a sector is being written that nobody waits for.
    settling: bool,
    /// Completions that no request below brings.
    ready: Vec<Completion>,
    /// Buffers of completed requests that nobody took yet.
    done: BTreeMap<RequestId, Buffer>,
    damage: Damage,
    /// Whether erased units are checked for foreign data.
    checks_erased: bool,
    /// Units that begin with foreign data, as far as their beginning was read. Those that the table calls erased or torn
    /// count as written; when one is erased its head is cleared, so that it is not found there again.
    foreign_heads: BTreeSet<u64>,
    /// Superblocks to be written anew.
    superblocks: Vec<u64>,
    /// Whether no superblock was left, and the heads of the units say what lost records did.
    is_recovered: bool,
    /// Whether anything may be written: not before a write, an erase or a repair was accepted.
    awake: bool,
    sectors_written: u64,
    gone: bool,
    /// Kept for their memory only.
    arrived: Vec<Completion>,
    ended: Vec<Asked>,
}

/// The layer's name in a spec.
const NAME: &str = "lanes";

/// What lanes over such a device say of themselves.
fn profile(below: &Profile, layout: &Layout) -> Profile {
    let Shape { lanes, unit_bytes, read_unit_bytes, write_unit_bytes } = layout.shape;
    Profile {
        name: label(NAME, &below.name, &layout.shape.settings()),
        capacity_bytes: layout.units_per_lane * unit_bytes,
        lanes,
        read_unit_bytes,
        write_unit_bytes,
        erase_unit_bytes: unit_bytes,
        // One place below is left to sectors that nobody waits for.
        depth: below.depth - 1,
        ..below.clone()
    }
}

impl<D: DataDevice> Lanes<D> {
    /// The lanes that are on `below`. Nothing is written.
    ///
    /// # Errors
    /// [`LanesError`]: there are none, or they cannot be used. Where foreign data has taken the place of a record, only a
    /// device that is read-only is opened.
    ///
    /// Requires: nothing is in flight on `below`.
    pub fn open(below: D) -> Result<Self, LanesError> {
        Self::open_if(below, Repair::Ours, false, Search::default(), |_| Ok(()))
    }

    /// The same, of a device of which [`Lanes::repair`] may overwrite foreign data. Nothing is written before.
    ///
    /// # Errors
    /// [`LanesError`]: there are no lanes, or they cannot be used.
    pub fn open_to_repair(below: D, repair: Repair) -> Result<Self, LanesError> {
        Self::open_if(below, repair, false, Search::default(), |_| Ok(()))
    }

    /// Opens the lanes as [`Lanes::open`] does. A unit that the table calls erased, and that begins with foreign data, then
    /// counts as written, so that nobody overwrites it before it is erased. For lanes whose units begin with
    /// [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC), as blocks do.
    ///
    /// # Errors
    /// As [`Lanes::open`].
    pub fn open_checked(below: D) -> Result<Self, LanesError> {
        Self::open_if(below, Repair::Ours, true, Search::default(), |_| Ok(()))
    }

    /// The same, unless `accept` has something against their shape.
    fn open_if(
        mut below: D,
        repair: Repair,
        checks_erased: bool,
        search: Search,
        accept: impl FnOnce(&Shape) -> Result<(), LanesError>,
    ) -> Result<Self, LanesError> {
        let mut next = 0;
        let mut driven = Driven { device: &mut below, next: &mut next };
        let mut opened = open::superblock(&mut driven, accept)
            .or_else(|error| recover::lanes(&mut driven, search, error))?;
        let (records, found) = open::table(&mut driven, &mut opened)?;
        let foreign_heads = foreign_units(&mut driven, &mut opened, &records, checks_erased)?;
        if repair == Repair::Ours && !below.profile().read_only {
            opened.check_writable(&below.profile().name)?;
        }
        let is_recovered = opened.recovered.is_some();
        let Opened { superblock, layout, damage, superblocks, .. } = opened;
        let profile = profile(below.profile(), &layout);
        Ok(Self {
            book: book(&profile, &layout, &records, &foreign_heads),
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
            settling: false,
            ready: Vec::new(),
            done: BTreeMap::new(),
            damage,
            superblocks,
            is_recovered,
            awake: false,
            sectors_written: 0,
            gone: false,
            arrived: Vec::new(),
            ended: Vec::new(),
        })
    }

    /// Writes damaged records anew, and waits until they are sound.
    ///
    /// # Errors
    /// [`LanesError`]: the device is read-only, or a record is damaged all the same.
    ///
    /// Requires: nothing is in flight.
    pub fn repair(&mut self) -> Result<(), LanesError> {
        let device = || self.below.profile().name.clone();
        if self.profile.read_only {
            return Err(LanesError::ReadOnly { device: device() });
        }
        self.awake = true;
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
        let mut driven = Driven { device: &mut self.below, next: &mut self.next };
        let mut opened = open::superblock(&mut driven, |_| Ok(()))?;
        open::table(&mut driven, &mut opened)?;
        self.is_recovered = false;
        self.damage = Damage { foreign_units: self.foreign_units(), ..opened.damage };
        match opened.damage == Damage::default() {
            true => Ok(()),
            false => Err(LanesError::NotRepaired { device: self.below.profile().name.clone() }),
        }
    }

    /// Divides `below`, whatever is on it, and opens the lanes. Their id follows from `seed`.
    ///
    /// # Errors
    /// [`LanesError`]: it cannot be divided so, or it failed. Where the shape does not fit nothing was written.
    pub fn format(mut below: D, shape: Shape, seed: Seed) -> Result<Self, LanesError> {
        divide::format(&mut Driven { device: &mut below, next: &mut 0 }, shape, seed)?;
        Self::open(below)
    }

    /// What the device was divided into.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// What opening found damaged, or the last repair left so.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// Bytes below that hold no user's data: superblocks, table, and what is too little for one more unit a lane.
    pub fn overhead_bytes(&self) -> u64 {
        self.layout.overhead_bytes()
    }

    /// The device below, with whatever is in flight there.
    pub fn into_inner(self) -> D {
        self.below
    }

    /// Everything that can be said against a request before it is taken.
    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        if self.gone {
            return Err(SubmitError::DeviceLost);
        }
        self.profile.check(request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.book.admit(request).map_err(|rule| request.refused_by(rule))?;
        if self.in_flight >= self.profile.depth {
            return Err(SubmitError::Full { depth: self.profile.depth });
        }
        Ok(())
    }

    /// Takes a request, with its buffer if it has one, or gives both back.
    fn take(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        if let Err(error) = self.check(&request) {
            return Err((error, buffer));
        }
        let asked = Asked { request, submitted: self.below.now(), outcome: Ok(()) };
        if request.operation == Operation::Erase && self.foreign_heads.contains(&self.layout.number(&request))
        {
            return self.clear_head(asked, buffer);
        }
        if request.operation == Operation::Erase {
            self.awake = true;
            self.accepted(&request);
            if let Some(buffer) = buffer {
                self.done.insert(request.id, buffer);
            }
            self.record_erase(asked);
            self.write_sectors();
            return Ok(());
        }
        let id = RequestId(self.next);
        let offset_bytes =
            if request.operation == Operation::Flush { 0 } else { self.layout.place(&request) };
        let durable = request.operation == Operation::Write;
        let below = Request { id, lane: Lane(0), offset_bytes, durable, ..request };
        match buffer {
            Some(buffer) => {
                self.below.submit_with(below, buffer).map_err(|(error, buffer)| (error, Some(buffer)))?;
            }
            None => self.below.submit(below).map_err(|error| (error, None))?,
        }
        self.next += 1;
        self.awake |= durable;
        self.accepted(&request);
        self.steps.insert(id, Step::Bytes(asked));
        Ok(())
    }

    fn record_erase(&mut self, asked: Asked) {
        let number = self.layout.number(&asked.request);
        let erases = self.table.record(number).erases.map_or(1, |erases| erases.saturating_add(1));
        self.table.change(number, Record { state: UnitState::ERASED, erases: Some(erases) }, asked);
    }

    /// Begins to erase a unit with foreign data: it must not be found there again.
    fn clear_head(
        &mut self,
        asked: Asked,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        let id = RequestId(self.next);
        let at = self.layout.head(self.layout.number(&asked.request));
        let write = Request::write(id.0, at, SECTOR_BYTES).durable();
        if let Err((error, _)) = self.below.submit_with(write, Buffer::zeroed(SECTOR_BYTES as usize)) {
            return Err((error, buffer));
        }
        self.next += 1;
        self.awake = true;
        self.accepted(&asked.request);
        if let Some(buffer) = buffer {
            self.done.insert(asked.request.id, buffer);
        }
        self.steps.insert(id, Step::Head(asked));
        Ok(())
    }

    fn accepted(&mut self, request: &Request) {
        self.book.accepted(request);
        self.done.remove(&request.id);
        self.in_flight += 1;
    }

    /// Writes the sectors that somebody waits for, and one that nobody does.
    fn write_sectors(&mut self) {
        while let Some(due) = self.table.next_due() {
            self.write_sector(due, false);
        }
        if !self.awake || self.settling || self.gone {
            return;
        }
        if let Some(at) = self.superblocks.pop() {
            self.write_superblock(at);
        } else if let Some(due) = self.table.next_unsettled() {
            self.settling = true;
            self.write_sector(due, true);
        }
    }

    fn write_superblock(&mut self, at: u64) {
        let id = RequestId(self.next);
        self.next += 1;
        let write = Request::write(id.0, at, SECTOR_BYTES).durable();
        match self.below.submit_with(write, Buffer::from_slice(&self.superblock.encode())) {
            Ok(()) => {
                self.settling = true;
                self.steps.insert(id, Step::Superblock);
            }
            // The other one is sound.
            Err((error, _)) => self.gone |= error == SubmitError::DeviceLost,
        }
    }

    fn write_sector(&mut self, due: table::Due, settles: bool) {
        let id = RequestId(self.next);
        self.next += 1;
        let write = Request::write(id.0, due.offset_bytes, SECTOR_BYTES).durable();
        match self.below.submit_with(write, due.buffer) {
            Ok(()) => {
                self.sectors_written += 1;
                self.steps.insert(id, Step::Sector { sector: due.sector, settles });
            }
            Err((error, buffer)) => {
                assert!(!matches!(error, SubmitError::Full { .. }), "a place below is kept for each request");
                self.gone |= error == SubmitError::DeviceLost;
                self.settling &= !settles;
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
        for asked in ended.drain(..) {
            self.complete(Asked { outcome: asked.outcome.and(outcome), ..asked }, completed, out);
        }
        self.ended = ended;
    }

    /// Ends a request.
    fn complete(&mut self, asked: Asked, completed: Instant, out: &mut Vec<Completion>) {
        let Asked { request, submitted, outcome } = asked;
        self.book.ended(&request, &outcome);
        if outcome.is_err() && matches!(request.operation, Operation::Write | Operation::Erase) {
            // Whatever the table was to say, this is what it says with the sector's next write.
            let record = self.known(&request);
            self.table.set(self.layout.number(&request), record);
        }
        self.in_flight -= 1;
        out.push(Completion { id: request.id, submitted, completed, outcome });
    }

    /// What the book knows of the unit of a request.
    fn known(&self, request: &Request) -> Record {
        let unit = self.book.get(request.lane, request.offset_bytes / self.layout.shape.unit_bytes);
        let unit = unit.expect("an accepted request is on a unit");
        Record { state: unit.state, erases: unit.erases }
    }

    /// Units that the table calls erased or torn, and that begin with foreign data.
    fn foreign_units(&self) -> u64 {
        let is_erased =
            |number: &&u64| !matches!(self.table.record(**number).state, UnitState::Written { bytes: 1.. });
        self.foreign_heads.iter().filter(is_erased).count() as u64
    }

    /// Notes whether a unit whose beginning was read begins with foreign data.
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

    /// Goes on with what completed below.
    fn process(&mut self, below: &Completion, out: &mut Vec<Completion>) {
        let step = self.steps.remove(&below.id).expect("what completes was asked for");
        let buffer = self.below.take_buffer(below.id);
        let asked = match step {
            Step::Sector { sector, settles } => {
                self.settling &= !settles;
                return self.sector_ended(sector, below.outcome, buffer, below.completed, out);
            }
            Step::Superblock => {
                self.settling = false;
                return;
            }
            Step::Head(asked) if below.outcome.is_ok() => {
                self.foreign_heads.remove(&self.layout.number(&asked.request));
                return self.record_erase(asked);
            }
            Step::Head(asked) => {
                return self.complete(Asked { outcome: below.outcome, ..asked }, below.completed, out);
            }
            Step::Bytes(asked) => Asked { outcome: below.outcome, ..asked },
        };
        let request = asked.request;
        self.note_head(&request, asked.outcome, buffer.as_ref());
        if let Some(buffer) = buffer {
            self.done.insert(request.id, buffer);
        }
        if request.operation != Operation::Write {
            return self.complete(asked, below.completed, out);
        }
        let known = self.known(&request);
        let state = match (known.state, asked.outcome) {
            (UnitState::Written { bytes }, Ok(())) => {
                UnitState::Written { bytes: bytes + request.length_bytes }
            }
            (_, Err(Failure::BadUnit)) => UnitState::Bad,
            _ => UnitState::Torn,
        };
        self.table.change(self.layout.number(&request), Record { state, ..known }, asked);
    }
}

/// The book of units as the table has it, but for those with foreign data: these count as written, so that nobody
/// overwrites them unread.
fn book(profile: &Profile, layout: &Layout, records: &[Record], foreign: &BTreeSet<u64>) -> Units {
    let mut book = Units::new(profile);
    for (record, number) in records.iter().zip(0_u64..) {
        let (lane, unit) = layout.lane_and_unit(number);
        let is_foreign = foreign.contains(&number);
        let state = if is_foreign { Record::lost(&layout.shape).state } else { record.state };
        book.set(Lane(lane), unit, state, record.erases);
    }
    book
}

/// Finds the units with foreign data, if they are to be checked, and counts them.
fn foreign_units<D: DataDevice>(
    driven: &mut Driven<'_, D>,
    opened: &mut Opened,
    records: &[Record],
    checks_erased: bool,
) -> Result<BTreeSet<u64>, LanesError> {
    if !checks_erased {
        return Ok(BTreeSet::new());
    }
    let found = heads::foreign(driven, &opened.layout, records)?;
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
        self.take(request, None).map_err(|(error, _)| error)
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
        self.book.get(lane, index)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        // What has completed here is durable below.
        self.below.at_risk().map(|_| Vec::new())
    }

    /// The lanes are found anew on the device, as they are when they are opened; where that fails they are gone.
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        self.below.cut_power()?;
        while !self.steps.is_empty() {
            self.below.reap(Instant::FAR, &mut self.arrived);
            for completion in self.arrived.drain(..) {
                let buffer = self.below.take_buffer(completion.id);
                if let Some(Step::Bytes(asked) | Step::Head(asked)) = self.steps.remove(&completion.id) {
                    self.ended.push(asked);
                    self.done.extend(buffer.map(|buffer| (asked.request.id, buffer)));
                }
            }
        }
        self.table.abandon(&mut self.ended);
        let (completed, outcome) = (self.below.now(), Err(Failure::DeviceLost));
        let lost = self.ended.drain(..).map(|asked| Completion {
            id: asked.request.id,
            submitted: asked.submitted,
            completed,
            outcome,
        });
        self.ready.extend(lost);
        (self.in_flight, self.settling) = (0, false);
        let mut driven = Driven { device: &mut self.below, next: &mut self.next };
        let found = open::superblock(&mut driven, |_| Ok(()))
            .and_then(|mut opened| open::table(&mut driven, &mut opened).map(|found| (opened, found)))
            .and_then(|(mut opened, (records, found))| {
                let foreign = foreign_units(&mut driven, &mut opened, &records, self.checks_erased)?;
                Ok((opened, records, found, foreign))
            });
        match found {
            Ok((Opened { superblock, damage, superblocks, .. }, records, found, foreign))
                if superblock == self.superblock =>
            {
                self.damage = damage;
                (self.superblocks, self.awake) = (superblocks, false);
                self.book = book(&self.profile, &self.layout, &records, &foreign);
                self.foreign_heads = foreign;
                self.table = Table::new(self.layout, superblock.id, records, &found);
            }
            _ => self.gone = true,
        }
        Some(Vec::new())
    }
}

impl<D: DataDevice> DataDevice for Lanes<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("a buffer that was given"));
        self.take(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}
