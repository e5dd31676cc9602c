//! What goes to the device when, and what follows from its completions.
//!
//! On a lane reads go first; then writes, as many at a time as the options say; erases when the lane has nothing else to
//! do, or when there are too few erased units left for the writes to come. All of it is decided when a wish comes in or
//! a request completes: there is no other clock. The file is long since what starts a request and what follows from its
//! end belong together.

use crate::blocks::{Blocks, Finished, Outcome};
use crate::error::{DeleteFailure, GetFailure, PutFailure};
use crate::header::{Content, Header, Place, UNCOUNTED, granule_checksum};
use crate::lane::{Asked, Dirty, Get, Write};
use crate::payload::{Data, label};
use crate::placement::Placement;
use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, DataDevice, Failure, Lane, Request, Rule, SubmitError, UnitState,
};
use std::collections::VecDeque;

/// Units that a write is tried on.
const ATTEMPTS: u32 = 4;

/// A request in flight.
#[derive(Clone, Debug)]
pub(crate) enum Flight {
    Get { place: Place, get: Get },
    Write { place: Place, write: Write },
    Erase { place: Place, delete: Option<Asked> },
}

/// What became of a request that was to be handed over.
enum Handed {
    Over,
    /// The device takes no more for now.
    Full,
    Refused(SubmitError),
}

impl<D: DataDevice> Blocks<D> {
    pub(crate) fn enqueue_get(&mut self, lane: u32, get: Get) {
        let state = &mut self.lanes[lane as usize];
        state.load_bytes += u64::from(get.granules.1) * self.layout.granule_bytes;
        state.gets.push_back(get);
        self.dispatch(lane);
    }

    pub(crate) fn enqueue_write(&mut self, lane: u32, write: Write) {
        let state = &mut self.lanes[lane as usize];
        state.load_bytes += self.layout.unit_bytes;
        match write {
            // Others wait for a superblock.
            Write::Superblock { .. } => state.writes.push_front(write),
            Write::Block { .. } => state.writes.push_back(write),
        }
        self.dispatch(lane);
    }

    pub(crate) fn enqueue_erase(&mut self, place: Place, delete: Option<Asked>) {
        self.lanes[place.lane as usize].dirty.push_back(Dirty { unit: place.unit, delete });
        self.dispatch(place.lane);
    }

    /// Lets the device go on until something completes, at most until `until`, and does what follows from that. What is
    /// done is kept for [`reap`](Self::reap).
    pub fn step(&mut self, until: Instant) {
        let mut out = Vec::new();
        self.device.reap(until, &mut out);
        for completion in out {
            self.completed(&completion);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let Some(flight) = self.flights.remove(&completion.id) else { return };
        let buffer = self.device.take_buffer(completion.id);
        self.gone |= completion.outcome == Err(Failure::Gone);
        let lane = match flight {
            Flight::Get { place, get } => {
                self.lanes[place.lane as usize].reading -= 1;
                self.read(place, get, buffer, completion.outcome);
                place.lane
            }
            Flight::Write { place, write } => {
                self.lanes[place.lane as usize].writing -= 1;
                self.lanes[place.lane as usize].load_bytes -= self.layout.unit_bytes;
                self.written(place, write, buffer, completion.outcome);
                place.lane
            }
            Flight::Erase { place, delete } => {
                self.lanes[place.lane as usize].erasing -= 1;
                self.erased(place, delete, completion.outcome);
                place.lane
            }
        };
        if self.gone {
            return self.abandon();
        }
        self.tend_superblock();
        if std::mem::take(&mut self.blocked) {
            // It had its turn: where places are few the others come before it.
            self.dispatch_all(lane + 1);
        } else {
            self.dispatch(lane);
        }
        self.house();
        self.give_up_what_is_stuck();
    }

    /// The device is gone: what waits for it fails.
    fn abandon(&mut self) {
        for lane in 0..self.layout.lanes {
            let state = &mut self.lanes[lane as usize];
            let (gets, writes) = (std::mem::take(&mut state.gets), std::mem::take(&mut state.writes));
            state.dirty.clear();
            for get in gets {
                let place = Place { lane, unit: get.unit };
                let id = get.asked.id;
                self.got(place, &get, Err(GetFailure::Refused { id, place, refusal: SubmitError::Gone }));
            }
            for write in writes {
                self.lanes[lane as usize].load_bytes -= self.layout.unit_bytes;
                self.give_up(write, PutFailure::Refused(SubmitError::Gone));
            }
        }
        self.house();
        let erasing: Vec<u64> = self
            .flights
            .values()
            .filter_map(|flight| match flight {
                Flight::Erase { delete, .. } => delete.map(|asked| asked.id),
                _ => None,
            })
            .collect();
        let waiting: Vec<u64> = self
            .deleting
            .iter()
            .filter(|(id, (_, block))| block.readers == 0 && !erasing.contains(id))
            .map(|(&id, _)| id)
            .collect();
        for id in waiting {
            let (asked, _) = self.deleting.remove(&id).expect("it was listed");
            self.finish(asked, Outcome::Delete(Err(DeleteFailure::Gone)));
        }
    }

    /// Every lane, `first` before the others.
    pub(crate) fn dispatch_all(&mut self, first: u32) {
        let count = self.layout.lanes;
        for step in 0..count {
            self.dispatch((first + step) % count);
        }
    }

    /// Hands over to the device what may go now.
    pub(crate) fn dispatch(&mut self, lane: u32) {
        let at = lane as usize;
        if self.gone {
            return self.abandon();
        }
        while let Some(get) = self.lanes[at].gets.pop_front() {
            if !self.start_get(lane, get) {
                return;
            }
        }
        // An erase for the writes to come goes before them: it is short, and they would wait for it otherwise.
        let reserve = self.options.reserve_units as usize;
        let short = self.lanes[at].erased() < reserve && self.lanes[at].erasing == 0;
        if self.awake && short && self.lanes[at].reading == 0 && !self.start_erase(lane) {
            return;
        }
        while self.lanes[at].writing < self.options.writes_per_lane.get() && !self.lanes[at].writes.is_empty()
        {
            if !self.start_write(lane) {
                return;
            }
        }
        if self.awake && self.lanes[at].is_idle() {
            self.start_erase(lane);
        }
    }

    fn fresh_request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request
    }

    /// Whether the device takes another request; where it does not, this waits for one to end.
    fn has_place(&mut self) -> bool {
        let full = self.flights.len() >= self.device.profile().depth as usize;
        self.blocked |= full;
        !full
    }

    fn hand_over(&mut self, request: Request, buffer: Option<Buffer>) -> (Handed, Option<Buffer>) {
        if !self.has_place() {
            return (Handed::Full, buffer);
        }
        let answer = match buffer {
            Some(buffer) => self.device.submit_with(request, buffer).map_err(|(error, b)| (error, Some(b))),
            None => self.device.submit(request).map_err(|error| (error, None)),
        };
        match answer {
            Ok(()) => (Handed::Over, None),
            // Both pass when something in flight has ended.
            Err((
                SubmitError::Full { .. } | SubmitError::Rule { rule: Rule::TooManyOpen { .. }, .. },
                buffer,
            )) if !self.flights.is_empty() => {
                self.blocked = true;
                (Handed::Full, buffer)
            }
            Err((error, buffer)) => {
                self.gone |= error == SubmitError::Gone;
                (Handed::Refused(error), buffer)
            }
        }
    }

    /// Whether the next may be tried.
    fn start_get(&mut self, lane: u32, get: Get) -> bool {
        let place = Place { lane, unit: get.unit };
        let granule = self.layout.granule_bytes;
        let at = u64::from(get.unit) * self.layout.unit_bytes + self.layout.header_bytes;
        let (offset, length) =
            (at + u64::from(get.granules.0) * granule, u64::from(get.granules.1) * granule);
        let request = Request::read(self.fresh_request(), offset, length).on(Lane(lane));
        let spare = self.spare.pop_if(|buffer| buffer.len() as u64 == length);
        let buffer = spare.unwrap_or_else(|| Buffer::zeroed(length as usize));
        match self.hand_over(request, Some(buffer)) {
            (Handed::Over, _) => {
                self.lanes[lane as usize].reading += 1;
                self.flights.insert(request.id, Flight::Get { place, get });
                true
            }
            (Handed::Full, _) => {
                self.lanes[lane as usize].gets.push_front(get);
                false
            }
            (Handed::Refused(error), _) => {
                let id = get.asked.id;
                self.got(place, &get, Err(GetFailure::Refused { id, place, refusal: error }));
                true
            }
        }
    }

    /// Whether the next may be tried.
    fn start_write(&mut self, lane: u32) -> bool {
        let at = lane as usize;
        let is_block = matches!(self.lanes[at].writes.front(), Some(Write::Block { .. }));
        let kept_back = is_block && !self.may_take_unit();
        let unit = match self.lanes[at].writes.front() {
            _ if kept_back => None,
            Some(&Write::Superblock { end, .. }) => {
                self.lanes[at].take_erased_towards(end, lane, &self.layout)
            }
            _ => self.lanes[at].take_erased(),
        };
        let Some(unit) = unit else {
            // A superblock must not wait for a unit that is erased only after it.
            let is_to_come = |dirty| is_block || self.may_erase(dirty);
            let to_come = self.lanes[at].erasing > 0 || self.lanes[at].dirty.iter().any(is_to_come);
            if kept_back || to_come {
                if let Some(Write::Block { waited, .. }) = self.lanes[at].writes.front_mut() {
                    self.counts.writes_that_waited_for_an_erase += u64::from(!*waited);
                    *waited = true;
                }
                if self.lanes[at].erasing == 0 {
                    self.start_erase(lane);
                }
                // Another lane's erase helps as well.
                self.blocked |= kept_back;
                return false;
            }
            // Its units went bad while it waited.
            let write = self.lanes[at].writes.pop_front().expect("there is one");
            self.lanes[at].load_bytes -= self.layout.unit_bytes;
            self.place_elsewhere(write, PutFailure::NoUnit);
            return true;
        };
        let place = Place { lane, unit };
        if !self.has_place() {
            let erases = self.erases_of(place);
            self.lanes[at].add_erased(unit, erases);
            return false;
        }
        let mut write = self.lanes[at].writes.pop_front().expect("there is one");
        let buffer = self.labelled(place, &mut write);
        let offset = u64::from(unit) * self.layout.unit_bytes;
        let request =
            Request::write(self.fresh_request(), offset, self.layout.unit_bytes).on(Lane(lane)).durable();
        let (handed, buffer) = self.hand_over(request, Some(buffer));
        if let Some(buffer) = buffer {
            put_back(&mut write, buffer);
        }
        match handed {
            Handed::Over => {
                self.lanes[at].writing += 1;
                self.flights.insert(request.id, Flight::Write { place, write });
                true
            }
            Handed::Full => {
                let erases = self.erases_of(place);
                self.lanes[at].add_erased(unit, erases);
                self.lanes[at].writes.push_front(write);
                false
            }
            Handed::Refused(error) => {
                self.lanes[at].load_bytes -= self.layout.unit_bytes;
                // Whatever the unit is, it is not what it was taken for.
                self.lanes[at].dirty.push_back(Dirty { unit, delete: None });
                self.place_elsewhere(write, PutFailure::Refused(error));
                true
            }
        }
    }

    /// The unit's bytes, its header at both ends.
    fn labelled(&mut self, place: Place, write: &mut Write) -> Buffer {
        let erases = self.device.unit(place.on(), place.unit.into()).and_then(|unit| unit.erases);
        let (format, erases) = (self.format, erases.unwrap_or(UNCOUNTED));
        match write {
            Write::Block { asked, payload, sequence, checksums, .. } => {
                let content = Content::Block {
                    id: asked.id,
                    length_bytes: payload.len(),
                    checksums: checksums.clone(),
                };
                payload.label(&Header { format, sequence: *sequence, place, erases, content });
                std::mem::take(&mut payload.buffer)
            }
            Write::Superblock { buffer, sequence, superblock, .. } => {
                let content = Content::Superblock(superblock.clone());
                label(buffer, &self.layout, &Header { format, sequence: *sequence, place, erases, content });
                std::mem::take(buffer)
            }
        }
    }

    /// Ids below this are known to have been given out, whatever of them is erased: the superblock says so, or the block
    /// with the highest id, which is erased only after a superblock said so.
    pub(crate) fn known_below(&self) -> u64 {
        let stored = self.stored.last_key_value().map(|(&id, _)| id);
        let deleting = self.deleting.last_key_value().map(|(&id, _)| id);
        self.superblocks.floor().max(stored.max(deleting).unwrap_or(0))
    }

    /// Erases a unit, if there is one that may be. Whether the next request may be tried.
    pub(crate) fn start_erase(&mut self, lane: u32) -> bool {
        let at = lane as usize;
        loop {
            let Some(nth) = self.lanes[at].dirty.iter().position(|dirty| self.may_erase(dirty)) else {
                self.blocked |= !self.lanes[at].dirty.is_empty();
                return true;
            };
            let Dirty { unit, delete } = self.lanes[at].dirty.remove(nth).expect("it was found there");
            let place = Place { lane, unit };
            let offset = u64::from(unit) * self.layout.unit_bytes;
            let request = Request::erase(self.fresh_request(), offset, self.layout.unit_bytes).on(Lane(lane));
            match self.hand_over(request, None).0 {
                Handed::Over => {
                    self.lanes[at].erasing += 1;
                    self.flights.insert(request.id, Flight::Erase { place, delete });
                    return true;
                }
                Handed::Full => {
                    self.lanes[at].dirty.push_front(Dirty { unit, delete });
                    return false;
                }
                // The next may be in a better state.
                Handed::Refused(_) => {
                    let outcome = if self.gone { Failure::Gone } else { Failure::BadUnit };
                    self.erased(place, delete, Err(outcome));
                }
            }
        }
    }

    /// Whether a unit may be erased: of a block that is deleted, not before it is known otherwise that its id was given
    /// out, and not before a copy of it that may lie elsewhere.
    fn may_erase(&self, dirty: &Dirty) -> bool {
        dirty.is_below(self.known_below())
            && dirty.delete.is_none_or(|asked| !self.ghosts.values().any(|&id| id == asked.id))
    }

    /// A read came back.
    fn read(&mut self, place: Place, mut get: Get, buffer: Option<Buffer>, outcome: Result<(), Failure>) {
        let id = get.asked.id;
        let result = match (outcome, buffer) {
            (Err(failure), _) => Err(GetFailure::Unreadable { id, place, failure }),
            (Ok(()), None) => Err(GetFailure::Unreadable { id, place, failure: Failure::Unreadable }),
            (Ok(()), Some(buffer)) => match self.first_damaged(&get, &buffer) {
                None => Ok(Data { buffer, from: get.from, length: get.length }),
                Some(granule) => {
                    let offset_bytes = u64::from(granule) * self.layout.granule_bytes;
                    Err(GetFailure::Damaged { id, offset_bytes, place })
                }
            },
        };
        if result.is_err() && !get.again && !self.gone {
            // Once more: it may be a fault of the way rather than of the medium.
            get.again = true;
            self.counts.rereads += 1;
            self.lanes[place.lane as usize].gets.push_front(get);
            return;
        }
        self.got(place, &get, result);
    }

    /// The first granule that is not what was written.
    fn first_damaged(&self, get: &Get, buffer: &Buffer) -> Option<u32> {
        let id = get.asked.id;
        let block = self.stored.get(&id).or_else(|| self.deleting.get(&id).map(|(_, block)| block));
        let block = block.expect("a block that is read is there");
        let granules = buffer.as_slice().chunks(self.layout.granule_bytes as usize);
        granules.zip(get.granules.0..).find_map(|(bytes, nth)| {
            let right = block.checksums[nth as usize];
            (granule_checksum(self.format, block.sequence, nth, bytes) != right).then_some(nth)
        })
    }

    /// A get is done.
    fn got(&mut self, place: Place, get: &Get, result: Result<Data, GetFailure>) {
        let lane = &mut self.lanes[place.lane as usize];
        lane.load_bytes -= u64::from(get.granules.1) * self.layout.granule_bytes;
        self.finish(get.asked, Outcome::Get(result));
        let id = get.asked.id;
        if let Some(block) = self.stored.get_mut(&id) {
            block.readers -= 1;
        } else if let Some((asked, block)) = self.deleting.get_mut(&id) {
            block.readers -= 1;
            // The last reader of a block on its way out.
            if block.readers == 0 {
                let delete = Some(*asked);
                self.lanes[place.lane as usize].dirty.push_back(Dirty { unit: place.unit, delete });
            }
        }
    }

    /// A write came back.
    fn written(
        &mut self,
        place: Place,
        mut write: Write,
        buffer: Option<Buffer>,
        outcome: Result<(), Failure>,
    ) {
        if let Some(buffer) = buffer {
            put_back(&mut write, buffer);
        }
        let Err(failure) = outcome else { return self.stored(place, write) };
        if failure == Failure::Gone {
            return self.give_up(write, PutFailure::Write { place, failure });
        }
        if let Write::Block { asked, .. } = &write {
            self.ghosts.insert(place, asked.id);
        }
        self.failed(place);
        self.counts.rewrites += 1;
        self.place_elsewhere(write, PutFailure::Write { place, failure });
    }

    /// A unit is written.
    fn stored(&mut self, place: Place, write: Write) {
        match write {
            Write::Block { asked, payload, sequence, checksums, .. } => {
                self.putting.remove(&asked.id);
                self.suspects.remove(&place);
                let length_bytes = payload.len();
                let block = crate::blocks::Block { place, length_bytes, sequence, checksums, readers: 0 };
                if let Some(older) = self.stored.insert(asked.id, block) {
                    // It was written anew (`rewrite`).
                    let Place { lane, unit } = older.place;
                    self.lanes[lane as usize].dirty.push_back(Dirty { unit, delete: None });
                }
                self.finish(asked, Outcome::Put(Ok(()), payload));
            }
            Write::Superblock { .. } => self.superblock_ended(Ok(place)),
        }
    }

    /// Tries a write on another unit, the least loaded lane's; gives it up where it was tried often enough.
    fn place_elsewhere(&mut self, mut write: Write, failure: PutFailure) {
        let attempts = match &mut write {
            Write::Block { attempts, .. } | Write::Superblock { attempts, .. } => attempts,
        };
        *attempts += 1;
        let tired = *attempts >= ATTEMPTS;
        if let Write::Block { payload, sequence, checksums, .. } = &mut write {
            // The unit that failed may hold all of it or half: it must not pass for what is written now.
            *sequence = self.sequence;
            *checksums = payload.seal(self.format, self.sequence);
            self.sequence += 1;
        }
        let lane = match write {
            Write::Block { .. } if !self.has_room_for_blocks() => None,
            Write::Block { .. } => Placement::LeastLoaded.lane(0, &self.lanes),
            Write::Superblock { end, .. } => self.lane_for_superblock(end, &[]),
        };
        match lane.filter(|_| !tired && !self.gone) {
            Some(lane) => self.enqueue_write(lane, write),
            None if tired || self.gone => self.give_up(write, failure),
            None => self.homeless.push_back((write, failure)),
        }
    }

    /// Nothing is in flight: what waits all the same waits for nothing, and fails. Only on a device so worn that no unit
    /// is left for a superblock.
    pub(crate) fn give_up_what_is_stuck(&mut self) {
        if !self.flights.is_empty() {
            return;
        }
        for lane in 0..self.layout.lanes as usize {
            let dirty = std::mem::take(&mut self.lanes[lane].dirty);
            let (deletes, others): (VecDeque<_>, VecDeque<_>) =
                dirty.into_iter().partition(|dirty| dirty.delete.is_some());
            self.lanes[lane].dirty = others;
            for Dirty { delete, .. } in deletes {
                let asked = delete.expect("they are deletes");
                let (_, block) = self.deleting.remove(&asked.id).expect("it is being deleted");
                self.stored.insert(asked.id, block);
                self.finish(asked, Outcome::Delete(Err(DeleteFailure::NoUnit)));
            }
        }
        for lane in 0..self.layout.lanes as usize {
            for write in std::mem::take(&mut self.lanes[lane].writes) {
                self.lanes[lane].load_bytes -= self.layout.unit_bytes;
                self.give_up(write, PutFailure::NoUnit);
            }
        }
    }

    /// Finds lanes for the writes that have none, as soon as there is room; where nothing is in flight that could make
    /// any, they fail.
    fn house(&mut self) {
        while let Some((write, failure)) = self.homeless.pop_front() {
            let lane = Placement::LeastLoaded.lane(0, &self.lanes).filter(|_| self.has_room_for_blocks());
            if let Some(lane) = lane {
                self.enqueue_write(lane, write);
            } else if self.flights.is_empty() || self.gone {
                self.give_up(write, failure);
            } else {
                return self.homeless.push_front((write, failure));
            }
        }
    }

    fn give_up(&mut self, write: Write, failure: PutFailure) {
        match write {
            Write::Block { asked, payload, .. } => {
                self.putting.remove(&asked.id);
                self.finish(asked, Outcome::Put(Err(failure), payload));
            }
            Write::Superblock { .. } => self.superblock_ended(Err(failure)),
        }
    }

    /// A unit could not be written: it is erased and tried once more, and retired if it fails again.
    fn failed(&mut self, place: Place) {
        let known = self.device.unit(place.on(), place.unit.into());
        if known.is_none_or(|unit| unit.state == UnitState::Bad) {
            self.ghosts.remove(&place);
            return;
        }
        if self.suspects.insert(place) {
            self.lanes[place.lane as usize].dirty.push_front(Dirty { unit: place.unit, delete: None });
        } else {
            self.retire(place);
        }
    }

    /// A unit is used no more; where the device does not say so itself, the superblock does.
    fn retire(&mut self, place: Place) {
        self.ghosts.remove(&place);
        let known = self.device.unit(place.on(), place.unit.into());
        if !self.gone && known.is_some_and(|unit| unit.state != UnitState::Bad) {
            self.superblocks.retire(place);
        }
    }

    /// An erase came back.
    fn erased(&mut self, place: Place, delete: Option<Asked>, outcome: Result<(), Failure>) {
        if outcome != Err(Failure::Gone) {
            self.ghosts.remove(&place);
        }
        match outcome {
            Ok(()) => {
                self.damaged.remove(&place);
                let erases = self.erases_of(place);
                self.lanes[place.lane as usize].add_erased(place.unit, erases);
                self.deleted(delete);
            }
            Err(Failure::Gone) => {
                if let Some(asked) = delete {
                    self.deleting.remove(&asked.id);
                    self.finish(asked, Outcome::Delete(Err(DeleteFailure::Gone)));
                }
            }
            Err(failure) => {
                let known = self.device.unit(place.on(), place.unit.into());
                // Nobody reads a bad unit again; of another the device may have another opinion after a restart.
                let certain = known.is_none_or(|unit| unit.state == UnitState::Bad);
                self.retire(place);
                match delete {
                    Some(asked) if !certain => {
                        self.deleting.remove(&asked.id);
                        self.finish(asked, Outcome::Delete(Err(DeleteFailure::Erase { failure })));
                    }
                    delete => self.deleted(delete),
                }
            }
        }
    }

    fn deleted(&mut self, delete: Option<Asked>) {
        if let Some(asked) = delete {
            self.deleting.remove(&asked.id);
            self.finish(asked, Outcome::Delete(Ok(())));
        }
    }

    fn finish(&mut self, asked: Asked, outcome: Outcome) {
        let Asked { ticket, id, at } = asked;
        self.finished.push(Finished { ticket, id, asked: at, done: self.device.now(), outcome });
    }
}

/// Gives a write its bytes back.
fn put_back(write: &mut Write, buffer: Buffer) {
    match write {
        Write::Block { payload, .. } => payload.buffer = buffer,
        Write::Superblock { buffer: own, .. } => *own = buffer,
    }
}
