//! The trial body: the block layer under random wishes, faults, restarts and power cuts, beside a simple model.
//!
//! Power is cut at every point where a cut can make a difference: after each completion of the device and each wish, on
//! a copy of the device, which is then opened and compared with the model. What was acknowledged must be there, whole;
//! what was on its way may be there, whole; nothing else may. Now and then the copy is gone on with, so that cuts follow
//! cuts. In half of the trials of sound devices units are damaged while the power is off, and discarded later: what was not damaged stays,
//! and what was damaged is told until it is erased. All of it follows from one seed: a trial that fails, fails again.
//!
//! Any device that can be copied can be tried; [`MemoryLanes`] with units of a few KiB takes some tens of microseconds a cut.

mod cut;
mod damage;
mod model;
mod tally;
mod watched;

use crate::{
    Blocks, DeleteError, DeleteFailure, GetError, Options, Outcome, Payload, Placement, PutError, PutFailure,
};
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::DataDevice;
use flashlane_device_testing::{MemoryFaults, MemoryLanes};
use model::{Body, Model, compare};
use std::num::NonZeroU32;
pub use tally::Tally;
use watched::Watched;

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
        without_superblock: false,
    }
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
}

/// A block's payload of given bytes; for tests.
pub fn payload_of<D: DataDevice>(blocks: &Blocks<D>, bytes: &[u8]) -> Payload {
    let mut payload = blocks.payload();
    payload.set_len(bytes.len() as u64);
    payload.as_mut_slice().copy_from_slice(bytes);
    payload
}
