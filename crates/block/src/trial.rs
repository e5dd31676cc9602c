//! The trial body: the block layer under random wishes, faults, restarts and power cuts, beside a simple model.
//!
//! Power is cut at every point where a cut can make a difference: after each completion of the device and each wish, on
//! a copy of the device, which is then opened and compared with the model. What was acknowledged must be there, whole;
//! what was on its way may be there, whole; nothing else may. Now and then the copy is gone on with, so that cuts follow
//! cuts. In half of the trials units are damaged while the power is off, and discarded later: what was not damaged stays,
//! and what was damaged is told until it is erased. All of it follows from one seed: a trial that fails, fails again.
//!
//! Any device that can be copied can be tried; [`MemoryLanes`] with units of a few KiB takes some tens of microseconds a cut.

mod damage;
mod watched;

use crate::{
    Blocks, DeleteError, DeleteFailure, GetError, Options, Outcome, Payload, Place, Placement, PutError,
    PutFailure, Ticket,
};
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{DataDevice, Device, MemoryFaults, MemoryLanes, UnitState};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use watched::Watched;

/// What happened in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power cuts, each followed by an opening and a comparison.
    pub cuts: u64,
    /// Blocks compared byte by byte.
    pub blocks_compared: u64,
    /// Puts that were done.
    pub puts: u64,
    /// Gets that were done.
    pub gets: u64,
    /// Deletes that were done.
    pub deletes: u64,
    /// Puts and gets that failed, lawfully.
    pub failures: u64,
    /// Times that the layer was closed and opened again, or that a copy whose power was cut was gone on with.
    pub restarts: u64,
    /// Units that were damaged.
    pub damaged: u64,
    /// Damaged units that were discarded.
    pub discarded: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.blocks_compared += other.blocks_compared;
        self.puts += other.puts;
        self.gets += other.gets;
        self.deletes += other.deletes;
        self.failures += other.failures;
        self.restarts += other.restarts;
        self.damaged += other.damaged;
        self.discarded += other.discarded;
    }
}

/// Whether the device under trial does what it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Every request succeeds, but for cuts.
    Sound,
    /// Reads fail now and then, and units go bad.
    Failing,
}

/// Tries the layer on lanes in memory whose shape and faults follow from the seed, as everything else does.
///
/// # Panics
/// As [`run`].
pub fn of_seed(seed: u64) -> Tally {
    // Shapes from a single lane with hardly a unit to spare to many lanes of a few.
    let mut random = Seed(seed).derive("shape").source();
    let (lanes, units) = [(1, 8), (2, 6), (4, 8), (7, 3)][random.below(4) as usize];
    let device = MemoryLanes::new(lanes, units, 4096, 512, Seed(seed));
    let calm = |device: MemoryLanes| device.with_faults(MemoryFaults::default());
    let steps = 100 + random.below(400) as u32;
    if random.chance(0.7) {
        return run(device, &calm, Health::Sound, Seed(seed), steps);
    }
    let faults = MemoryFaults { unit_fails: 0.03 * random.unit(), read_fails: 0.1 * random.unit() };
    run(device.with_faults(faults), &calm, Health::Failing, Seed(seed), steps)
}

/// Tries the layer on `device` for so many steps. `calm` gives a copy on which nothing fails any more, to look at what
/// is stored.
///
/// # Panics
/// Where a promise is broken: the message names the promise and the block. The caller names the seed.
pub fn run<D: DataDevice + Clone>(
    device: D,
    calm: &dyn Fn(D) -> D,
    health: Health,
    seed: Seed,
    steps: u32,
) -> Tally {
    let mut random = seed.derive("trial").source();
    let options = options(&mut random);
    let blocks = match Blocks::format(Watched::new(device), u128::from(seed.0) + 1, options) {
        Ok(blocks) => blocks,
        Err(_) if health == Health::Failing => return Tally::default(),
        Err(error) => panic!("a sound device cannot be formatted: {error}"),
    };
    let damages = health == Health::Sound && seed.0.is_multiple_of(2);
    let damage = damages.then(|| seed.derive("damage").source());
    let (model, tally) = (Model::default(), Tally::default());
    let mut trial = Trial { blocks, calm, health, random, damage, model, tally };
    for _ in 0..steps {
        trial.step();
    }
    trial.settle();
    trial.cut();
    trial.tally
}

fn options(random: &mut Random) -> Options {
    Options {
        placement: if random.chance(0.5) { Placement::RoundRobin } else { Placement::LeastLoaded },
        reserve_units: random.below(3) as u32,
        writes_per_lane: NonZeroU32::MIN.saturating_add(random.below(2) as u32),
        both_ends: random.chance(0.5),
    }
}

/// What is known of a block: its bytes follow from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Body {
    seed: u64,
    length_bytes: u64,
}

impl Body {
    fn fill(self, bytes: &mut [u8]) {
        let mut random = Seed(self.seed).source();
        for piece in bytes.chunks_mut(8) {
            let word = random.bits().to_le_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
    }
}

/// The simple model: a map, and what is on its way.
#[derive(Clone, Debug, Default)]
struct Model {
    stored: BTreeMap<u64, Body>,
    putting: BTreeMap<u64, (Ticket, Body)>,
    deleting: BTreeMap<u64, (Ticket, Body)>,
    getting: BTreeMap<Ticket, (Body, u64, u64)>,
    /// Blocks whose erase failed.
    uncertain: BTreeMap<u64, Body>,
    /// The highest id of a block that was ever acknowledged, or found.
    highest: Option<u64>,
    /// Damaged units, and how often each had been erased when it was damaged.
    damaged: BTreeMap<Place, Option<u32>>,
}

struct Trial<'a, D> {
    blocks: Blocks<Watched<D>>,
    calm: &'a dyn Fn(D) -> D,
    health: Health,
    random: Random,
    /// Whether and when units are damaged and discarded, and how.
    damage: Option<Random>,
    model: Model,
    tally: Tally,
}

impl<D: DataDevice + Clone> Trial<'_, D> {
    fn step(&mut self) {
        let drawn = self.damage.as_mut().map(|random| random.below(100));
        match drawn {
            Some(0) => return self.damage(),
            Some(1..4) if !self.model.damaged.is_empty() => return self.discard(),
            // What units are erased before the first put or delete is the call's own.
            Some(_) => self.blocks.device.watch(),
            None => {}
        }
        match self.random.below(100) {
            0..30 => self.put(),
            30..50 => self.get(),
            50..65 => self.delete(),
            65..68 => self.nonsense(),
            68 => self.restart(),
            _ => {
                self.blocks.device.take_seen();
                self.advance();
            }
        }
        self.cut_within();
        // A put may wait for a superblock, and other wishes are done meanwhile.
        self.collect();
        self.cut();
    }

    fn put(&mut self) {
        // Mostly from the counter; now and then one of the user's own, low or high, so that ids come in any order.
        let id = match self.random.below(10) {
            0 => self.random.below(50),
            1 => self.blocks.next_id() + self.random.below(20),
            _ => self.blocks.next_id(),
        };
        let most = self.blocks.block_bytes();
        let length_bytes = if self.random.chance(0.5) { most } else { self.random.below(most + 1) };
        let body = Body { seed: self.random.bits(), length_bytes };
        let mut payload = self.blocks.payload();
        payload.set_len(length_bytes);
        body.fill(payload.as_mut_slice());
        let taken = self.model.stored.contains_key(&id);
        let busy = self.model.putting.contains_key(&id) || self.model.deleting.contains_key(&id);
        match self.blocks.put(id, payload) {
            Ok(ticket) => {
                assert!(!taken && !busy, "block {id} was put twice");
                self.model.putting.insert(id, (ticket, body));
            }
            Err((PutError::Exists { .. }, _)) => assert!(taken, "there is no block {id}"),
            Err((PutError::Busy { .. }, _)) => assert!(busy, "nobody puts or deletes block {id}"),
            Err((PutError::Full { .. }, _)) => {
                let model = &self.model;
                let used = model.stored.len() + model.putting.len() + model.deleting.len();
                let used = (used + model.damaged.len()) as u64;
                let room = self.blocks.layout.all_units() - crate::Layout::RESERVED_UNITS;
                assert!(
                    self.health == Health::Failing || used >= room,
                    "full with {used} of {room} blocks in use"
                );
            }
            Err((PutError::NoSuperblock, _)) if !self.model.damaged.is_empty() => {}
            Err((error, _)) => panic!("block {id} was refused: {error}"),
        }
    }

    fn any_stored(&mut self) -> Option<(u64, Body)> {
        let count = self.model.stored.len() as u64;
        let nth = self.random.below(count.max(1)) as usize;
        self.model.stored.iter().nth(nth).map(|(&id, &body)| (id, body))
    }

    fn get(&mut self) {
        let Some((id, body)) = self.any_stored() else { return };
        let offset = self.random.below(body.length_bytes + 1);
        let length = self.random.below(body.length_bytes - offset + 1);
        let ticket = self.blocks.get(id, offset, length).expect("a stored block is read");
        self.model.getting.insert(ticket, (body, offset, length));
    }

    fn delete(&mut self) {
        let Some((id, body)) = self.any_stored() else { return };
        let ticket = self.blocks.delete(id).expect("a stored block is deleted");
        self.model.stored.remove(&id);
        self.model.deleting.insert(id, (ticket, body));
        // Where there is no unit for a superblock it is back at once.
        if self.health == Health::Failing || !self.model.damaged.is_empty() {
            return;
        }
        let gone = self.blocks.get(id, 0, 0).map(drop);
        assert!(
            matches!(gone, Err(GetError::NotFound { .. })),
            "block {id} is deleted, and a get gives {gone:?}"
        );
    }

    /// What must be refused, and change nothing.
    fn nonsense(&mut self) {
        let payload = self.blocks.payload();
        assert!(matches!(self.blocks.put(u64::MAX, payload), Err((PutError::NoSuchId { .. }, _))));
        let unknown = u64::MAX - self.random.below(3);
        assert!(matches!(self.blocks.get(unknown, 0, 1), Err(GetError::NotFound { .. })));
        assert_eq!(self.blocks.delete(unknown), Err(DeleteError::NotFound { id: unknown }));
        if let Some((id, body)) = self.any_stored() {
            let beyond = self.blocks.get(id, body.length_bytes, 1);
            assert!(matches!(beyond, Err(GetError::OutOfRange { .. })), "{beyond:?}");
            let payload = self.blocks.payload();
            assert!(matches!(self.blocks.put(id, payload), Err((PutError::Exists { .. }, _))));
        }
    }

    /// Lets the device go on, to its next completion or for a while.
    fn advance(&mut self) {
        let until = match self.random.below(4) {
            0 => self.blocks.now() + Duration::from_ns(self.random.below(50_000)),
            _ => Instant::FAR,
        };
        self.blocks.step(until);
        self.collect();
    }

    fn settle(&mut self) {
        self.blocks.settle();
        self.collect();
        let model = &self.model;
        assert!(
            model.putting.is_empty() && model.deleting.is_empty() && model.getting.is_empty(),
            "with nothing in flight these are not done: {model:?}"
        );
    }

    fn collect(&mut self) {
        let mut out = Vec::new();
        self.blocks.reap(Instant::ZERO, &mut out);
        for finished in out {
            let id = finished.id;
            match finished.outcome {
                Outcome::Put(result, _) => {
                    let (ticket, body) = self.model.putting.remove(&id).expect("a put that was asked for");
                    assert_eq!(ticket, finished.ticket);
                    match result {
                        Ok(()) => {
                            self.tally.puts += 1;
                            self.model.highest = self.model.highest.max(Some(id));
                            self.model.stored.insert(id, body);
                        }
                        Err(PutFailure::NoUnit) if !self.model.damaged.is_empty() => {}
                        Err(failure) => self.lawful(&failure),
                    }
                }
                Outcome::Get(result) => {
                    let asked = self.model.getting.remove(&finished.ticket);
                    let (body, offset, length) = asked.expect("a get that was asked for");
                    match result {
                        Ok(data) => {
                            self.tally.gets += 1;
                            compare(id, body, offset, length, data.as_slice());
                        }
                        Err(failure) => self.lawful(&failure),
                    }
                }
                Outcome::Delete(result) => {
                    let deleted = self.model.deleting.remove(&id);
                    let (ticket, body) = deleted.expect("a delete that was asked for");
                    assert_eq!(ticket, finished.ticket);
                    match result {
                        Ok(()) => self.tally.deletes += 1,
                        // Damaged units may be those that were kept for superblocks.
                        Err(DeleteFailure::NoUnit) if !self.model.damaged.is_empty() => {
                            self.model.stored.insert(id, body);
                        }
                        Err(failure) => {
                            self.lawful(&failure);
                            match failure {
                                DeleteFailure::Erase { .. } => self.model.uncertain.insert(id, body),
                                _ => self.model.stored.insert(id, body),
                            };
                        }
                    }
                }
            }
        }
    }

    fn lawful(&mut self, failure: &dyn std::error::Error) {
        assert_eq!(self.health, Health::Failing, "on a sound device: {failure}");
        self.tally.failures += 1;
    }

    /// Closes in order and opens again.
    fn restart(&mut self) {
        self.blocks.settle();
        if self.cut_within() {
            return;
        }
        self.settle();
        let options = options(&mut self.random);
        let device = (self.calm)(self.blocks.device().copy());
        if self.health == Health::Sound {
            self.blocks = Blocks::open(Watched::new(device), options).expect("what was closed is opened");
            self.tally.restarts += 1;
        }
    }

    /// Damages a few units while the power is off, and goes on. One sound copy of the superblock is left.
    fn damage(&mut self) {
        let mut random = self.damage.take().expect("units are damaged in this trial");
        let mut copy = self.without_power(self.blocks.device().copy());
        let mut stored = self.compare_all(&mut copy);
        let mut damaged: BTreeSet<Place> = copy.damaged().collect();
        let layout = copy.layout;
        let mut superblocks = copy.superblocks.places().to_vec();
        let blocks: BTreeMap<Place, u64> = copy.list().map(|info| (info.place, info.id)).collect();
        let mut device = copy.into_device().into_inner();
        for _ in 0..1 + random.below(3) {
            let [place, other] = [0; 2].map(|_| Place {
                lane: random.below(layout.lanes.into()) as u32,
                unit: random.below(layout.units.into()) as u32,
            });
            if superblocks == [place] {
                continue;
            }
            superblocks.retain(|copy| *copy != place);
            damage::damage(&mut device, place, other, &mut random);
            self.tally.damaged += u64::from(damaged.insert(place));
            stored.retain(|id, _| blocks.get(&place) != Some(id));
        }
        let options = options(&mut random);
        let copy = Blocks::open(Watched::new(device), options).expect("a copy of the superblock is left");
        let told: BTreeSet<Place> = copy.damaged().collect();
        assert_eq!(told, damaged, "these are told as damaged, and those are");
        self.go_on(copy, stored);
        self.damage = Some(random);
        self.cut();
    }

    /// Erases damaged units, with cuts at every step of it.
    fn discard(&mut self) {
        self.blocks.device.watch();
        let before = self.model.damaged.len();
        let result = self.blocks.discard_damaged();
        if self.cut_within() {
            return;
        }
        self.collect();
        let left: BTreeSet<Place> = self.blocks.damaged().collect();
        self.model.damaged.retain(|place, _| left.contains(place));
        self.tally.discarded += (before - left.len()) as u64;
        match result {
            Ok(count) => assert_eq!((count as usize, left.len()), (before, 0), "discarded, and left"),
            Err(DeleteError::NoSuperblock) => assert!(!left.is_empty(), "nothing was left to say"),
            Err(error) => panic!("damaged units cannot be discarded: {error}"),
        }
        self.cut();
    }

    /// Cuts the power of a copy now, opens it, and compares.
    fn cut(&mut self) {
        self.cut_at(self.blocks.device().copy());
    }

    /// The same at each step that was watched, the model being as it was before. Whether one of them is gone on with.
    fn cut_within(&mut self) -> bool {
        let seen = self.blocks.device.take_seen();
        seen.into_iter().any(|device| self.cut_at(device))
    }

    /// What is found on a device whose power is cut.
    fn without_power(&mut self, device: D) -> Blocks<Watched<D>> {
        let mut device = (self.calm)(device);
        let could = device.cut_power().is_some();
        assert!(could, "a device that cannot be cut off cannot be tried");
        // What was in flight ends, in failure.
        let mut ended = Vec::new();
        device.reap(device.now(), &mut ended);
        let options = options(&mut self.random);
        match Blocks::open(Watched::new(device), options) {
            Ok(copy) => copy,
            Err(error) => panic!("after a power cut: {error}"),
        }
    }

    /// Whether it is gone on with.
    fn cut_at(&mut self, device: D) -> bool {
        let mut copy = self.without_power(device);
        self.tally.cuts += 1;
        let found = self.compare_all(&mut copy);
        let goes_on = self.health == Health::Sound && self.random.chance(0.02);
        if goes_on {
            self.go_on(copy, found);
        }
        goes_on
    }

    /// Somebody goes on from here.
    fn go_on(&mut self, copy: Blocks<Watched<D>>, stored: BTreeMap<u64, Body>) {
        self.model.highest = self.model.highest.max(copy.list().map(|info| info.id).max());
        self.model.damaged = copy.damaged().map(|place| (place, erases_of(&copy, place))).collect();
        self.model.stored = stored;
        self.model.putting.clear();
        self.model.deleting.clear();
        self.model.getting.clear();
        self.blocks = copy;
        self.tally.restarts += 1;
    }

    /// Compares all that a copy holds with the model; what it holds is given back.
    fn compare_all(&mut self, copy: &mut Blocks<Watched<D>>) -> BTreeMap<u64, Body> {
        let mut found = BTreeMap::new();
        let listed: Vec<_> = copy.list().collect();
        for info in listed {
            let id = info.id;
            let model = &self.model;
            let moving = || model.putting.get(&id).or_else(|| model.deleting.get(&id)).map(|(_, body)| body);
            let body = model.stored.get(&id).or_else(moving).or_else(|| model.uncertain.get(&id));
            let Some(&body) = body else { panic!("block {id} came from nowhere") };
            assert_eq!(info.length_bytes, body.length_bytes, "block {id} has another length");
            let ticket = copy.get(id, 0, body.length_bytes).expect("a listed block is there");
            match copy.wait(ticket).map(|finished| finished.outcome) {
                Some(Outcome::Get(Ok(data))) => compare(id, body, 0, body.length_bytes, data.as_slice()),
                other => panic!("block {id} is listed, and a get gives {other:?}"),
            }
            found.insert(id, body);
            self.tally.blocks_compared += 1;
        }
        for id in self.model.stored.keys() {
            assert!(found.contains_key(id), "block {id} was acknowledged and is lost");
        }
        let highest = self.model.highest.map_or(0, |id| id + 1);
        assert!(copy.next_id >= highest, "id {} was given out, and {} comes next", highest, copy.next_id);
        // Damaged is what was damaged and has not been erased since.
        let told: BTreeSet<Place> = copy.damaged().collect();
        let written = UnitState::Written { bytes: copy.layout.unit_bytes };
        let is_left = |place: Place| copy.device.unit(place.on(), place.unit.into()).map(|unit| unit.state);
        let left =
            self.model.damaged.iter().filter(|&(&place, &erases)| {
                is_left(place) == Some(written) && erases_of(copy, place) == erases
            });
        assert_eq!(told, left.map(|(&place, _)| place).collect(), "these are told as damaged, and those are");
        found
    }
}

/// How often a unit was erased, where the device counts.
fn erases_of<D: DataDevice>(blocks: &Blocks<D>, place: Place) -> Option<u32> {
    blocks.device.unit(place.on(), place.unit.into()).and_then(|unit| unit.erases)
}

fn compare(id: u64, body: Body, offset: u64, length: u64, seen: &[u8]) {
    let mut all = vec![0; body.length_bytes as usize];
    body.fill(&mut all);
    let expected = &all[offset as usize..(offset + length) as usize];
    assert!(seen == expected, "block {id} has other bytes than were put, within {length} from {offset}");
}

/// A block's payload of given bytes; for tests.
pub fn payload_of<D: DataDevice>(blocks: &Blocks<D>, bytes: &[u8]) -> Payload {
    let mut payload = blocks.payload();
    payload.set_len(bytes.len() as u64);
    payload.as_mut_slice().copy_from_slice(bytes);
    payload
}
