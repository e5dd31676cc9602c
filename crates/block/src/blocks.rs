//! The block layer: what is asked of it, and what comes back.
//!
//! It is a device of its own kind: [`put`](Blocks::put), [`get`](Blocks::get) and [`delete`](Blocks::delete) take a wish
//! and answer at once, [`reap`](Blocks::reap) gives out what is done. Only the first put or delete after an opening may
//! wait: for erases of torn units, and for a superblock where units are damaged. Everything in between follows from
//! completions of the device below (`engine`), so that it runs alike in virtual and in real time, and a simulated run is
//! the same every time.

use crate::engine::Flight;
use crate::error::{DeleteError, DeleteFailure, Full, GetError, GetFailure, PutError, PutFailure};
use crate::header::{Content, ID_MAX, Place};
use crate::lane::{Asked, Dirty, Get, Lane, Write};
use crate::layout::Layout;
use crate::payload::{Data, Payload};
use crate::placement::Placement;
use crate::recovery::{DamagedEnd, Found, OpenError, Survey, survey};
use crate::status::{LaneStatus, Status};
use crate::superblock::Superblocks;
use flashlane_base::Instant;
use flashlane_device::{Buffer, DataDevice, RequestId, UnitState};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;

/// How far numbers leap that must not come again, where some that were given out are not found: further than anybody counts
/// between two openings. Of sequences at each opening; of fresh ids where units are damaged.
const LEAP: u64 = 1 << 32;

/// Names a wish until its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// How the layer behaves. None of it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which lane a block goes to.
    pub placement: Placement,
    /// Erased units that a lane keeps at the ready, where it has others to erase, even while it is busy: a write then
    /// finds one without waiting. With an idle lane everything is erased.
    pub reserve_units: u32,
    /// Writes in flight on a lane. One keeps a channel of flash busy; a device that hides its channels may want more.
    pub writes_per_lane: NonZeroU32,
    /// Whether opening reads the footer of every unit too, which nothing needs as long as its header is sound.
    pub both_ends: bool,
    /// Whether opening goes on where no copy of the superblock can be read, with what the headers of blocks say.
    pub without_superblock: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            placement: Placement::default(),
            reserve_units: 2,
            writes_per_lane: NonZeroU32::MIN,
            both_ends: false,
            without_superblock: false,
        }
    }
}

/// A wish that is done.
#[derive(Debug)]
pub struct Finished {
    /// Whose it is.
    pub ticket: Ticket,
    /// The block's id.
    pub id: u64,
    /// When it was asked for.
    pub asked: Instant,
    /// When it was done.
    pub done: Instant,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a wish.
#[derive(Debug)]
pub enum Outcome {
    /// Of a put: the block is stored, whatever happens now; or no such block is there. The payload is given back.
    Put(Result<(), PutFailure>, Payload),
    /// Of a get.
    Get(Result<Data, GetFailure>),
    /// Of a delete: the unit is erased, and the block is gone for good.
    Delete(Result<(), DeleteFailure>),
}

/// A block that is stored.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) place: Place,
    pub(crate) length_bytes: u64,
    pub(crate) sequence: u64,
    pub(crate) checksums: Box<[u32]>,
    /// Gets that wait or are in flight.
    pub(crate) readers: u32,
}

impl Block {
    fn info(&self, id: u64) -> BlockInfo {
        BlockInfo { id, length_bytes: self.length_bytes, place: self.place }
    }
}

/// What can be told of a block without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its id.
    pub id: u64,
    /// Its bytes.
    pub length_bytes: u64,
    /// Where it lies.
    pub place: Place,
}

/// Immutable blocks under 64-bit ids, on the lanes of a device with erase units.
pub struct Blocks<D> {
    pub(crate) device: D,
    pub(crate) layout: Layout,
    pub(crate) options: Options,
    pub(crate) format: u128,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) stored: BTreeMap<u64, Block>,
    /// Ids of blocks on their way in.
    pub(crate) putting: BTreeSet<u64>,
    /// Blocks on their way out; those with readers wait for them.
    pub(crate) deleting: BTreeMap<u64, (Asked, Block)>,
    pub(crate) superblocks: Superblocks,
    /// The id that is given out next.
    pub(crate) next_id: u64,
    /// Where fresh ids leaped to when the device was opened: no block is put before a superblock says so.
    pub(crate) leaped_to: u64,
    /// The sequence number that is written next.
    pub(crate) sequence: u64,
    next_ticket: u64,
    pub(crate) next_request: u64,
    pub(crate) flights: BTreeMap<RequestId, Flight>,
    /// Writes whose lane has no unit for them any more, while none has, and why they would fail.
    pub(crate) homeless: VecDeque<(Write, PutFailure)>,
    /// Whether something waits for what happens elsewhere than on its lane: the device's depth, or ids that become safe.
    pub(crate) blocked: bool,
    /// Units that failed once.
    pub(crate) suspects: BTreeSet<Place>,
    /// Units of ours that hold nothing that can be told, until they are erased.
    pub(crate) damaged: BTreeSet<Place>,
    /// Units that rest on one of their ends.
    pub(crate) damaged_ends: Vec<DamagedEnd>,
    /// Buffers for gets.
    pub(crate) spare: Vec<Buffer>,
    /// Units that are erased before anything is written.
    erase_first: Vec<Place>,
    /// Units that may hold a copy of a block that was put elsewhere when their write failed, and whose it is.
    pub(crate) ghosts: BTreeMap<Place, u64>,
    pub(crate) counts: Counts,
    pub(crate) gone: bool,
    /// Whether anything may be written: not before something is put or deleted.
    pub(crate) awake: bool,
    pub(crate) finished: Vec<Finished>,
}

/// What the layer counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes that had to wait until a unit was erased.
    pub writes_that_waited_for_an_erase: u64,
    /// Blocks written again, elsewhere, after a unit failed.
    pub rewrites: u64,
    /// Gets that were read a second time, the first having failed.
    pub rereads: u64,
    /// Units whose header or footer was found damaged when the device was opened, and that rest on the other. Of footers
    /// only what [`Options::both_ends`] looked at.
    pub one_ended: u64,
}

impl<D: DataDevice> Blocks<D> {
    /// Makes `device` hold blocks, none so far. Whatever was on it is erased first. `format` names this formatting: blocks
    /// of another, where an erase failed, are not taken for its own, so it has to differ from any before.
    ///
    /// # Errors
    /// [`FormatError`] where the device cannot hold blocks or its units cannot be written.
    pub fn format(device: D, format: u128, options: Options) -> Result<Self, FormatError> {
        let layout = Layout::new(device.profile()).map_err(FormatError::Unsuitable)?;
        if device.profile().read_only {
            return Err(FormatError::ReadOnly);
        }
        let mut blocks = Self::empty(device, layout, format, options);
        for unit in 0..layout.units {
            for lane in 0..layout.lanes {
                let known = blocks.device.unit(flashlane_device::Lane(lane), unit.into());
                match known.map(|unit| (unit.state, unit.erases.unwrap_or(0))) {
                    Some((UnitState::ERASED, erases)) => blocks.lanes[lane as usize].add_erased(unit, erases),
                    Some((UnitState::Bad, _)) | None => {}
                    Some(_) => blocks.lanes[lane as usize].dirty.push_back(Dirty { unit, delete: None }),
                }
            }
        }
        blocks.awake = true;
        (0..layout.lanes).for_each(|lane| blocks.dispatch(lane));
        blocks.settle();
        blocks.renew_superblock();
        while blocks.superblocks.is_renewing() && !blocks.flights.is_empty() {
            blocks.step(Instant::FAR);
        }
        match blocks.superblocks.missing() {
            None => Ok(blocks),
            Some(failure) => Err(FormatError::Failed(failure)),
        }
    }

    /// The blocks on `device`. Nothing is written before something is put or deleted.
    ///
    /// # Errors
    /// [`OpenError`] where there are none, or the device is not as it was.
    pub fn open(mut device: D, options: Options) -> Result<Self, OpenError> {
        let layout = Layout::new(device.profile())?;
        let Survey { units, superblock: (format, sequence, superblock, copies), damaged_ends } =
            survey(&mut device, &layout, options)?;
        let mut blocks = Self::empty(device, layout, format, options);
        blocks.counts.one_ended = damaged_ends.len() as u64;
        blocks.damaged_ends = damaged_ends;
        blocks.next_id = superblock.id_floor;
        blocks.sequence = sequence;
        for (place, found) in units {
            let erases = blocks.erases_of(place);
            let lane = &mut blocks.lanes[place.lane as usize];
            let dirty = Dirty { unit: place.unit, delete: None };
            match found {
                _ if superblock.retired.contains(&place) || copies.contains(&place) => {}
                Found::Bad => {}
                Found::Erased => lane.add_erased(place.unit, erases),
                Found::Torn => blocks.erase_first.push(place),
                Found::Damaged { once } => {
                    blocks.damaged.insert(place);
                    if let Some(id) = once {
                        blocks.given_out(id);
                    }
                }
                Found::Written(header) => {
                    blocks.sequence = blocks.sequence.max(header.sequence);
                    match header.content {
                        Content::Superblock(_) => lane.dirty.push_back(dirty),
                        Content::Block { id, length_bytes, checksums } => {
                            let sequence = header.sequence;
                            let block = Block { place, length_bytes, sequence, checksums, readers: 0 };
                            blocks.found(id, block);
                        }
                    }
                }
            }
        }
        blocks.superblocks = Superblocks::found(superblock, copies);
        // Puts that were cut short had numbers too, which are not found.
        blocks.sequence = blocks.sequence.saturating_add(LEAP);
        if !blocks.damaged.is_empty() || blocks.superblocks.copies() == 0 {
            // It becomes durable before a block has such an id: if that were damaged too, the next opening would leap from
            // where this one did.
            blocks.superblocks.outdated();
            blocks.next_id = blocks.next_id.saturating_add(LEAP);
            blocks.leaped_to = blocks.next_id;
        }
        Ok(blocks)
    }

    fn empty(device: D, layout: Layout, format: u128, options: Options) -> Self {
        Self {
            device,
            layout,
            options,
            format,
            lanes: vec![Lane::default(); layout.lanes as usize],
            stored: BTreeMap::new(),
            putting: BTreeSet::new(),
            deleting: BTreeMap::new(),
            superblocks: Superblocks::default(),
            next_id: 0,
            leaped_to: 0,
            sequence: 0,
            next_ticket: 0,
            next_request: 0,
            flights: BTreeMap::new(),
            homeless: VecDeque::new(),
            blocked: false,
            suspects: BTreeSet::new(),
            damaged: BTreeSet::new(),
            damaged_ends: Vec::new(),
            spare: Vec::new(),
            erase_first: Vec::new(),
            ghosts: BTreeMap::new(),
            counts: Counts::default(),
            gone: false,
            awake: false,
            finished: Vec::new(),
        }
    }

    /// Fresh ids are above this one.
    fn given_out(&mut self, id: u64) {
        self.next_id = self.next_id.max(id.saturating_add(1));
    }

    /// Takes in a block that was found on the device. Of two with one id the newer is it.
    fn found(&mut self, id: u64, block: Block) {
        self.given_out(id);
        let older = match self.stored.get(&id) {
            Some(other) if other.sequence > block.sequence => Some(block),
            _ => self.stored.insert(id, block),
        };
        self.erase_first.extend(older.map(|block| block.place));
    }

    /// From now on things are written. Some units are erased before: blocks that a newer one of the same id hides, which
    /// would come back where that is deleted, and torn units, which keep zones of a zoned drive open.
    pub(crate) fn wake(&mut self) {
        if self.awake {
            return;
        }
        self.settle();
        for Place { lane, unit } in std::mem::take(&mut self.erase_first) {
            self.lanes[lane as usize].dirty.push_front(Dirty { unit, delete: None });
            while !self.start_erase(lane) {
                self.step(Instant::FAR);
            }
        }
        self.settle();
        self.awake = true;
    }

    /// The device below.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Gives the device back once everything that was asked for is done. What else is still to be erased stays so.
    pub fn into_device(mut self) -> D {
        while !(self.putting.is_empty() && self.deleting.is_empty() || self.flights.is_empty()) {
            self.step(Instant::FAR);
        }
        self.awake = false;
        self.settle();
        self.device
    }

    /// Bytes of user data that a block holds at most.
    pub fn block_bytes(&self) -> u64 {
        self.layout.block_bytes()
    }

    /// Room for a block's bytes, of full length and zeros.
    pub fn payload(&self) -> Payload {
        Payload::new(self.layout)
    }

    /// Returns the bytes of its lane that a unit takes.
    pub fn unit_bytes(&self, place: Place) -> std::ops::Range<u64> {
        let start = u64::from(place.unit) * self.layout.unit_bytes;
        start..start + self.layout.unit_bytes
    }

    /// The device's clock.
    pub fn now(&self) -> Instant {
        self.device.now()
    }

    /// A fresh id: none that was ever that of a block on this device, since it was formatted, and none given out since it
    /// was opened. Where units are damaged nobody knows which ids they held, and this is far above those that are known
    /// (2³²): what it promises then it promises of ids that came from here. Above [`ID_MAX`](crate::ID_MAX) there is
    /// none left, where that is nearer than the leap too, and a put is refused; lower ids that are free can still be chosen.
    pub fn next_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id = id.saturating_add(1);
        id
    }

    /// The blocks that are stored, by id.
    pub fn list(&self) -> impl Iterator<Item = BlockInfo> + '_ {
        self.stored.iter().map(|(&id, block)| block.info(id))
    }

    /// The block `id`, if it is stored.
    pub fn info(&self, id: u64) -> Option<BlockInfo> {
        self.stored.get(&id).map(|block| block.info(id))
    }

    pub(crate) fn asked(&mut self, id: u64) -> Asked {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        Asked { ticket, id, at: self.device.now() }
    }

    /// Stores a block. It is wholly there once this is [done](Outcome::Put), and not at all before.
    ///
    /// # Errors
    /// The refusal, and the payload back.
    pub fn put(&mut self, id: u64, mut payload: Payload) -> Result<Ticket, (PutError, Payload)> {
        if let Err(error) = self.admit_put(id, &payload) {
            return Err((error, payload));
        }
        let Some(lane) = self.options.placement.lane(id, &self.lanes) else {
            return Err((PutError::Full(Box::new(self.full())), payload));
        };
        let asked = self.asked(id);
        let sequence = self.sequence;
        self.sequence += 1;
        self.next_id = self.next_id.max(id.saturating_add(1));
        self.putting.insert(id);
        let checksums = payload.seal(self.format, sequence);
        self.enqueue_write(
            lane,
            Write::Block { asked, payload, sequence, checksums, attempts: 0, waited: false },
        );
        self.give_up_what_is_stuck();
        Ok(asked.ticket)
    }

    fn admit_put(&mut self, id: u64, payload: &Payload) -> Result<(), PutError> {
        if self.gone {
            return Err(PutError::Gone);
        }
        if self.device.profile().read_only {
            return Err(PutError::ReadOnly);
        }
        if payload.layout != self.layout {
            let (given_bytes, block_bytes) = (payload.layout.block_bytes(), self.block_bytes());
            return Err(PutError::OtherLayout { given_bytes, block_bytes });
        }
        if id > ID_MAX {
            return Err(PutError::NoSuchId { id, most: ID_MAX });
        }
        if self.stored.contains_key(&id) {
            return Err(PutError::Exists { id });
        }
        if self.putting.contains(&id) {
            return Err(PutError::Busy { id, doing: "put" });
        }
        if self.deleting.contains_key(&id) {
            return Err(PutError::Busy { id, doing: "deleted" });
        }
        self.wake();
        let is_durable = self.has_durable_leap();
        if self.gone {
            return Err(PutError::Gone);
        }
        if !self.has_room_for_blocks() {
            return Err(PutError::Full(Box::new(self.full())));
        }
        if !is_durable {
            return Err(PutError::NoSuperblock);
        }
        Ok(())
    }

    /// What holds the units of a device that has no room.
    fn full(&self) -> Full {
        let bad = self.status().lanes.iter().map(|lane| lane.bad).sum();
        let blocks = (self.stored.len() + self.putting.len()) as u64;
        Full { units: self.layout.all_units(), blocks, damaged: self.damaged.len() as u64, bad }
    }

    /// Whether a block can be given a unit, those for the next superblock left aside.
    pub(crate) fn has_room_for_blocks(&self) -> bool {
        self.room() > self.superblocks.units_needed()
    }

    /// Units that can still be written, over all lanes.
    fn room(&self) -> u64 {
        let waiting = self.deleting.values().filter(|(_, block)| block.readers > 0).count() as u64;
        let first = self.erase_first.len() as u64;
        let units = self.lanes.iter().map(Lane::units).sum::<u64>() + waiting + first;
        // Over all lanes: where one has more waiting than units, another has to take it.
        let writes = self.lanes.iter().map(|lane| lane.writes.len()).sum::<usize>() + self.homeless.len();
        units.saturating_sub(writes as u64)
    }

    /// Whether these bytes of a block are there, without reading them.
    ///
    /// # Errors
    /// [`GetError`] where the block or the bytes are not there.
    pub fn check_range(&self, id: u64, offset_bytes: u64, length_bytes: u64) -> Result<(), GetError> {
        if self.gone {
            return Err(GetError::Gone);
        }
        let Some(block) = self.stored.get(&id) else {
            return Err(GetError::NotFound { id, damaged_units: self.damaged.len() as u64 });
        };
        let block_bytes = block.length_bytes;
        match offset_bytes.checked_add(length_bytes) {
            Some(end) if end <= block_bytes => Ok(()),
            _ => Err(GetError::OutOfRange { id, offset_bytes, length_bytes, block_bytes }),
        }
    }

    /// Reads bytes of a block, with one read of the device.
    ///
    /// # Errors
    /// [`GetError`] where the block or the bytes are not there.
    pub fn get(&mut self, id: u64, offset_bytes: u64, length_bytes: u64) -> Result<Ticket, GetError> {
        self.check_range(id, offset_bytes, length_bytes)?;
        let end = offset_bytes + length_bytes;
        let block = self.stored.get_mut(&id).expect("it was just found");
        block.readers += 1;
        let place = block.place;
        let granule = self.layout.granule_bytes;
        let first = (offset_bytes / granule).min(u64::from(self.layout.granules) - 1);
        let count = end.div_ceil(granule).saturating_sub(first).max(1);
        let get = Get {
            asked: self.asked(id),
            unit: place.unit,
            granules: (first as u32, count as u32),
            from: (offset_bytes - first * granule) as usize,
            length: length_bytes as usize,
            again: false,
        };
        let ticket = get.asked.ticket;
        self.enqueue_get(place.lane, get);
        Ok(ticket)
    }

    /// Takes the memory of what a get returned for later gets of as many bytes: fresh memory costs its first user as much as
    /// the read.
    pub fn reuse(&mut self, data: Data) {
        self.spare.push(data.buffer);
    }

    /// Deletes a block: from now on nobody gets it. It is [done](Outcome::Delete) once its unit is erased; until then a
    /// power cut may bring the block back.
    ///
    /// # Errors
    /// [`DeleteError`] where there is no such block.
    pub fn delete(&mut self, id: u64) -> Result<Ticket, DeleteError> {
        self.admit_change()?;
        if !self.stored.contains_key(&id) {
            return Err(DeleteError::NotFound { id });
        }
        self.wake();
        let block = self.stored.remove(&id).expect("it is there");
        let asked = self.asked(id);
        let (place, readers) = (block.place, block.readers);
        self.deleting.insert(id, (asked, block));
        self.tend_superblock();
        if readers == 0 {
            self.enqueue_erase(place, Some(asked));
        }
        self.give_up_what_is_stuck();
        Ok(asked.ticket)
    }

    pub(crate) fn admit_change(&self) -> Result<(), DeleteError> {
        match self.device.profile().read_only {
            _ if self.gone => Err(DeleteError::Gone),
            true => Err(DeleteError::ReadOnly),
            false => Ok(()),
        }
    }

    /// Appends to `out` what is done. Returns as soon as something is, or the clock has reached `until`; with nothing in
    /// flight and `until` [`Instant::FAR`] at once. Units are erased meanwhile.
    pub fn reap(&mut self, until: Instant, out: &mut Vec<Finished>) {
        while self.finished.is_empty() {
            let idle = self.flights.is_empty();
            if idle && until == Instant::FAR {
                break;
            }
            self.step(until);
            if self.device.now() >= until {
                break;
            }
        }
        out.append(&mut self.finished);
    }

    /// Waits for one wish; others that are done meanwhile are kept for [`reap`](Self::reap). `None` where the ticket is
    /// none that is pending.
    pub fn wait(&mut self, ticket: Ticket) -> Option<Finished> {
        loop {
            if let Some(at) = self.finished.iter().position(|finished| finished.ticket == ticket) {
                return Some(self.finished.remove(at));
            }
            if self.flights.is_empty() {
                return None;
            }
            self.step(Instant::FAR);
        }
    }

    /// Waits until nothing is in flight: wishes are done, and what could be erased is erased.
    pub fn settle(&mut self) {
        while !self.flights.is_empty() {
            self.step(Instant::FAR);
        }
    }

    /// What the layer knows of its lanes and units.
    pub fn status(&self) -> Status {
        let mut lanes: Vec<LaneStatus> = self
            .lanes
            .iter()
            .map(|lane| LaneStatus {
                erased: lane.erased() as u64,
                dirty: lane.dirty.len() as u64 + u64::from(lane.erasing),
                ..LaneStatus::default()
            })
            .collect();
        for Block { place, .. } in self.stored.values() {
            lanes[place.lane as usize].blocks += 1;
        }
        for place in &self.damaged {
            lanes[place.lane as usize].damaged += 1;
        }
        for place in &self.erase_first {
            lanes[place.lane as usize].dirty += 1;
        }
        for (index, lane) in lanes.iter_mut().enumerate() {
            let mut erases = Vec::new();
            for unit in 0..self.layout.units {
                let place = Place { lane: index as u32, unit };
                let known = self.device.unit(place.on(), unit.into());
                let bad = known.is_none_or(|unit| unit.state == UnitState::Bad);
                lane.bad += u64::from(bad || self.superblocks.retired().contains(&place));
                erases.extend(known.and_then(|unit| unit.erases));
            }
            lane.note_erases(&erases);
        }
        let room = self.room().saturating_sub(self.superblocks.units_needed());
        Status {
            format: self.format,
            layout: self.layout,
            blocks: self.stored.len() as u64,
            blocks_free: room,
            next_id: self.next_id,
            superblock_copies: self.superblocks.copies(),
            counts: self.counts,
            lanes,
        }
    }

    /// How often a unit was erased.
    pub(crate) fn erases_of(&self, place: Place) -> u32 {
        self.device.unit(place.on(), place.unit.into()).and_then(|unit| unit.erases).unwrap_or(0)
    }
}

/// Why a device could not be formatted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It cannot hold blocks.
    #[error(transparent)]
    Unsuitable(crate::Unsuitable),
    /// It was opened for reading.
    #[error("the device was opened read-only")]
    ReadOnly,
    /// No unit took the superblock.
    #[error("no unit of the device takes the superblock: {0}")]
    Failed(PutFailure),
}
