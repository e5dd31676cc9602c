//! `lanes(SPEC,channels=44,unit=8MiB)`: a file or a block device divided into lanes of erase units.
//!
//! Users see software-defined flash (sdf14, Ouyang et al., ASPLOS 2014): lanes of units that are erased as a whole,
//! then written once and in order; any other access is refused. The state and the erase count of each unit are stored
//! durably on the device itself:
//!
//! - a write's data is made durable first, then the record of its unit, and then the write completes. A crash between
//!   the two leaves the unit as recorded, erased from there on, and the data cannot be read. Before a unit's first
//!   write, its record gives up what it knows of the old content (`content`);
//! - an erase changes the record, and clears the head of a unit that is foreign, unreadable or given up;
//! - record changes in flight together share a write of their sector (`table`), so that many large writes in flight
//!   cost little more than their own data.
//!
//! Opening writes nothing. Damaged records are rewritten with the first accepted write or erase, or by
//! [`Lanes::repair`]; a device with foreign data in the location of a record opens only read-only (`ours`).
//!
//! # The path of a write, by file
//! ```text
//! device     submit_with
//! requests   accept: check it, then (`pending` has the requests in flight)
//!              forward: submit its data to the device below, or
//! content        begin_first_write, to a unit whose old content is known: hold its data; compare the old bytes, where
//!                they are checked and were not yet (…); the record loses its checksum
//! records        write_sectors, at once where nothing was compared, else from reap after all completions …
//!                sector_ended
//! content        write_held ─> requests: forward
//! device     reap ─> requests: request_below_ended, when the data is durable
//! table      the record of the unit changes, its sector is due
//! device     reap, after all completions ─>
//! records    write_sectors ─> sector_ended
//! requests   complete
//! ```
//! The path of an erase:
//! ```text
//! requests   accept ─> begin_erase, then
//!              clear_head, where the head of the unit is foreign, cannot be read or is given up: overwrite it …;
//!              or record_erase, where its content is known or not checked
//! content    head_cleared ─> read_part; or begin_content_read, where it is checked and unknown; … content_known
//! requests   record_erase ─> table: the record of the unit changes, its sector is due; then as a write from `records` on
//! ```
//!
//! # The path of opening, by file
//! `settings` compares the spec with the device. `format` formats it; or `open` reads superblocks and table (`disk` has
//! their bytes, `layout` their locations) with one request at a time (`blocking`). If records are damaged, `search`
//! looks for the superblock's copy at an earlier end, and `recover` and `recovered` derive records from the heads of
//! units (`heads`); `flaw` and `ours` distinguish damage from foreign data.
//!
//! # Three tables of unit states
//! [`UnitStates`] has the states of completed requests, and decides whether a request is accepted. The table of
//! records (`table`) holds the states as they are, or are going to be, on the device: it decides what opening finds.
//! They differ while a request is in flight and where foreign data stands on a unit, and each completion brings them
//! together. What the content of a unit means (a block, a superblock, to be erased) is the block layer's, whose own
//! unit table lies above.
//!
//! Every write is durable when it completes, requested or not. The request to the device below uses the caller's
//! buffer: no data is copied. The layout on the device is in `docs/layout.md`.

mod blocking;
mod constants;
mod content;
mod content_sum;
mod device;
mod disk;
pub(crate) mod error;
mod flaw;
mod format;
mod heads;
mod layout;
mod open;
mod ours;
mod pending;
mod records;
mod recover;
mod recovered;
mod requests;
mod search;
pub(crate) mod settings;
mod table;
#[cfg(test)]
mod tests;

pub use crate::state::Repair;
pub use constants::{OLDEST_VERSION, RECORDS, SECTOR_BYTES, UNITS_MAX, VERSION};
pub use content_sum::ContentSum;
pub use disk::{Record, Superblock, seal};
pub use error::LanesError;
pub use flaw::Flaw;
pub use layout::Shape;
pub use open::Damage;

use crate::label::label;
use blocking::Blocking;
use flashlane_base::{Instant, Seed};
use flashlane_device::{Buffer, Completion, DataDevice, DeviceInfo, Lane, RequestId, UnitState, UnitStates};
use layout::Layout;
use open::Opened;
use pending::{Pending, Purpose};
use recover::RecoverOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use table::{Found, RecordTable};

/// Lanes over a device that stores data.
#[derive(Clone)]
pub struct Lanes<D> {
    below: D,
    info: DeviceInfo,
    superblock: Superblock,
    layout: Layout,
    /// States of completed requests, which decide what the rules of erase units allow.
    units: UnitStates,
    /// States as they are, or are going to be, on the device.
    table: RecordTable<Pending>,
    /// Requests in flight below, by their ids there.
    in_flight_below: BTreeMap<RequestId, Purpose>,
    /// Number of the next request below.
    next_request: u64,
    /// Number of accepted requests that have not completed.
    in_flight: u32,
    /// Whether a background write is in flight.
    is_background_writing: bool,
    /// Completions without a request below.
    ready: Vec<Completion>,
    /// Buffers of completed requests until they are taken.
    done: BTreeMap<RequestId, Buffer>,
    damage: Damage,
    /// Whether and how erased units are checked for foreign data.
    check: ErasedCheck,
    /// Units in which a first write has found foreign data, and units whose head was read, does not begin as the user
    /// of the lanes begins units, and is not known to be of the recorded content. They count as written even where the
    /// table has them as erased or torn. Erasing one that the table has as written changes the table and keeps the
    /// foreign data; erasing it again clears its head, so that it is not found again.
    foreign: BTreeSet<u64>,
    /// Units whose head cannot be read. Erasing one clears its head, so that it can be read again.
    unreadable_heads: BTreeSet<u64>,
    /// Units whose recorded content this opening has read or written: it needs no check. All where it has formatted the
    /// lanes.
    known_here: BTreeSet<u64>,
    /// Written units whose content is given up by their next erase, foreign data included.
    given_up: BTreeSet<u64>,
    /// Buffers of writes that wait for what precedes their data, by the ids of their requests.
    held: BTreeMap<RequestId, Buffer>,
    /// Offsets of superblocks to rewrite.
    superblocks: Vec<u64>,
    /// Whether lost records were recovered from the heads of the units.
    is_recovered: bool,
    /// Whether damaged and stale records are rewritten in the background: only once a write, an erase or a repair was
    /// accepted. Until then an opened device is not written.
    repairs_in_background: bool,
    sectors_written: u64,
    /// Number of units whose content was read before their first write or with their erase.
    units_compared: u64,
    device_lost: bool,
    /// Kept to reuse their memory.
    content_buffer: Option<Buffer>,
    arrived: Vec<Completion>,
    ended: Vec<Pending>,
}

/// Whether and how erased units are checked for foreign data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErasedCheck {
    /// They are not.
    None,
    /// By their content, and by their heads: the user of the lanes begins each with
    /// [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC).
    Units,
    /// By their content: they are parts of the user's units.
    Parts,
}

/// Name of the layer in a spec.
const NAME: &str = "lanes";

/// Returns the properties of lanes over a device.
fn info(below: &DeviceInfo, layout: &Layout) -> DeviceInfo {
    let Shape { lanes, unit_bytes, read_unit_bytes, write_unit_bytes } = layout.shape;
    DeviceInfo {
        name: label(NAME, &below.name, &layout.shape.settings()),
        capacity_bytes: layout.units_per_lane * unit_bytes,
        lanes,
        read_unit_bytes,
        write_unit_bytes,
        erase_unit_bytes: unit_bytes,
        // One request below is reserved for background writes.
        depth: below.depth - 1,
        placement_handles: 1,
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
        Self::open_if(below, Repair::Ours, ErasedCheck::None, RecoverOptions::default(), |_| Ok(()))
    }

    /// Opens the lanes of a device whose foreign data [`Lanes::repair`] may overwrite, depending on `repair`. Nothing
    /// is written yet.
    ///
    /// # Errors
    /// [`LanesError`]: there are no lanes, or they cannot be used.
    pub fn open_to_repair(below: D, repair: Repair) -> Result<Self, LanesError> {
        Self::open_if(below, repair, ErasedCheck::None, RecoverOptions::default(), |_| Ok(()))
    }

    /// Opens the lanes as [`Lanes::open`] does. A unit that the table has as erased, but that begins with foreign data,
    /// then counts as written, so that it is not overwritten before an erase; and the first write to a unit with
    /// foreign data elsewhere fails with [`Failure::ForeignData`](flashlane_device::Failure::ForeignData). For lanes
    /// whose units begin with [`UNIT_MAGIC`](flashlane_device::UNIT_MAGIC), as blocks do.
    ///
    /// # Errors
    /// As [`Lanes::open`].
    pub fn open_checked(below: D) -> Result<Self, LanesError> {
        Self::open_if(below, Repair::Ours, ErasedCheck::Units, RecoverOptions::default(), |_| Ok(()))
    }

    /// Opens the lanes as [`Lanes::open_checked`] does, for lanes whose units are parts of the units that the user of
    /// the lanes sees, as those below [`Striped`](crate::Striped). Parts begin with any bytes: foreign data is found
    /// where the content of the unit is known.
    ///
    /// # Errors
    /// As [`Lanes::open`].
    pub fn open_checked_parts(below: D) -> Result<Self, LanesError> {
        Self::open_if(below, Repair::Ours, ErasedCheck::Parts, RecoverOptions::default(), |_| Ok(()))
    }

    /// Opens the lanes, unless `accept` refuses their shape.
    fn open_if(
        mut below: D,
        repair: Repair,
        check: ErasedCheck,
        recovery: RecoverOptions,
        accept: impl FnOnce(&Shape) -> Result<(), LanesError>,
    ) -> Result<Self, LanesError> {
        let mut next = 0;
        let mut blocking = Blocking { device: &mut below, next: &mut next };
        let stored = read_state(&mut blocking, recovery, check, accept)?;
        let StoredState { opened, records, found, foreign } = stored;
        if repair == Repair::Ours && !below.info().read_only {
            opened.check_writable(&below.info().name)?;
        }
        let is_recovered = opened.recovered.is_some();
        let Opened { superblock, layout, damage, superblocks, .. } = opened;
        let info = info(below.info(), &layout);
        Ok(Self {
            units: states_from_records(&info, &layout, &records, &foreign),
            check,
            foreign,
            unreadable_heads: BTreeSet::new(),
            known_here: BTreeSet::new(),
            given_up: BTreeSet::new(),
            held: BTreeMap::new(),
            table: RecordTable::new(layout, superblock.id, records, &found),
            below,
            info,
            superblock,
            layout,
            in_flight_below: BTreeMap::new(),
            next_request: next,
            in_flight: 0,
            is_background_writing: false,
            ready: Vec::new(),
            done: BTreeMap::new(),
            damage,
            superblocks,
            is_recovered,
            repairs_in_background: false,
            sectors_written: 0,
            units_compared: 0,
            device_lost: false,
            content_buffer: None,
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
        let device = || self.below.info().name.clone();
        if self.info.read_only {
            return Err(LanesError::ReadOnly { device: device() });
        }
        self.repairs_in_background = true;
        self.write_sectors();
        let mut out = Vec::new();
        while !self.in_flight_below.is_empty() {
            let mut arrived = std::mem::take(&mut self.arrived);
            self.below.reap(Instant::FAR, &mut arrived);
            for below in arrived.drain(..) {
                self.request_below_ended(&below, &mut out);
            }
            self.arrived = arrived;
            self.write_sectors();
        }
        self.ready.append(&mut out);
        let mut blocking = Blocking { device: &mut self.below, next: &mut self.next_request };
        let opened =
            read_state(&mut blocking, RecoverOptions::default(), ErasedCheck::None, |_| Ok(()))?.opened;
        self.is_recovered = false;
        self.damage = Damage { foreign_units: self.foreign_units(), ..opened.damage };
        // What could not be written is tried again with the next write.
        self.superblocks = opened.superblocks;
        match opened.damage == Damage::default() {
            true => Ok(()),
            false => Err(LanesError::NotRepaired { device: self.below.info().name.clone() }),
        }
    }

    /// Formats `below` with lanes, whatever it holds, and opens them. Their id depends on `seed`.
    ///
    /// # Errors
    /// [`LanesError`]: the shape is not possible, and nothing was written; or a request failed.
    pub fn format(below: D, shape: Shape, seed: Seed) -> Result<Self, LanesError> {
        Self::format_with(below, shape, seed, ErasedCheck::None)
    }

    /// Formats `below` as [`Lanes::format`] does, for users of [`Lanes::open_checked`]: all units are read, so that
    /// foreign data in them is found by later openings. The lanes returned do not read them again.
    ///
    /// # Errors
    /// As [`Lanes::format`].
    pub fn format_checked(below: D, shape: Shape, seed: Seed) -> Result<Self, LanesError> {
        Self::format_with(below, shape, seed, ErasedCheck::Units)
    }

    /// Formats `below` as [`Lanes::format_checked`] does, for users of [`Lanes::open_checked_parts`].
    ///
    /// # Errors
    /// As [`Lanes::format`].
    pub fn format_checked_parts(below: D, shape: Shape, seed: Seed) -> Result<Self, LanesError> {
        Self::format_with(below, shape, seed, ErasedCheck::Parts)
    }

    /// Formats `below`, for users with this check.
    fn format_with(mut below: D, shape: Shape, seed: Seed, check: ErasedCheck) -> Result<Self, LanesError> {
        let reads_content = check != ErasedCheck::None;
        format::format_device(
            &mut Blocking { device: &mut below, next: &mut 0 },
            shape,
            seed,
            reads_content,
        )?;
        let mut lanes = Self::open_if(below, Repair::Ours, check, RecoverOptions::default(), |_| Ok(()))?;
        if !reads_content {
            return Ok(lanes);
        }
        lanes.known_here = (0..lanes.layout.units()).collect();
        Ok(lanes)
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

    /// Returns the byte range of a unit on the device below.
    pub fn unit_range(&self, lane: Lane, unit: u64) -> Range<u64> {
        self.layout.unit_range(lane, unit)
    }

    /// Counts the units that the table has as erased or torn, but that have foreign data.
    fn foreign_units(&self) -> u64 {
        self.foreign.iter().filter(|&&number| self.is_foreign(number)).count() as u64
    }

    /// Returns whether the table has a unit as erased or torn, and it has foreign data.
    fn is_foreign(&self, number: u64) -> bool {
        let is_written = || matches!(self.table.record(number).state, UnitState::Written { bytes: 1.. });
        self.foreign.contains(&number) && !is_written()
    }

    /// Returns the device below, with the requests in flight there.
    pub fn into_inner(self) -> D {
        self.below
    }
}

/// Returns the units of the table's records. Units with foreign data count as written, so that they are not overwritten
/// unread.
fn states_from_records(
    info: &DeviceInfo,
    layout: &Layout,
    records: &[Record],
    foreign: &BTreeSet<u64>,
) -> UnitStates {
    let mut units = UnitStates::new(info);
    for (record, number) in records.iter().zip(0_u64..) {
        let (lane, unit) = layout.lane_and_unit(number);
        let is_foreign = foreign.contains(&number);
        let state = if is_foreign { Record::lost(&layout.shape).state } else { record.state };
        units.set(Lane(lane), unit, state, record.erases);
    }
    units
}

/// What a device stores of its lanes.
struct StoredState {
    opened: Opened,
    /// A record for each unit, and the condition of each sector of the table.
    records: Vec<Record>,
    found: Vec<Found>,
    /// Units with foreign data, as far as their records and heads show it.
    foreign: BTreeSet<u64>,
}

/// Reads superblock and table, with `recovery` of what is lost of them, and with a `check` the heads of
/// erased units. Nothing is written.
fn read_state<D: DataDevice>(
    blocking: &mut Blocking<'_, D>,
    recovery: RecoverOptions,
    check: ErasedCheck,
    accept: impl FnOnce(&Shape) -> Result<(), LanesError>,
) -> Result<StoredState, LanesError> {
    let mut opened =
        open::superblock(blocking, accept).or_else(|error| recover::lanes(blocking, recovery, error))?;
    let (mut records, found) = open::table(blocking, &mut opened)?;
    if opened.damage.lost_sectors > 0 && opened.recovered.is_none() && recovery.looks_for_blocks {
        opened.recovered = recover::in_layout(blocking, &opened.layout)?;
    }
    if let Some(recovered) = &opened.recovered {
        recovered.fill(&opened.layout, &mut records, &found);
    }
    let mut foreign = BTreeSet::new();
    if check != ErasedCheck::None {
        foreign = heads::foreign(blocking, &opened.layout, &records, check)?;
        content::drop_recorded(blocking, &opened.layout, &records, &mut foreign)?;
        foreign
            .extend((0_u64..).zip(&records).filter(|(_, record)| record.has_foreign_data()).map(|(n, _)| n));
        opened.damage.foreign_units = foreign.len() as u64;
    }
    Ok(StoredState { opened, records, found, foreign })
}
