//! Trials of the block layer: random operations, faults, restarts and power cuts, compared with a simple model.
//!
//! Power is cut at every point where a cut can make a difference: after each completion of the device and each
//! operation, on a copy of the device, which is then opened and compared with the model. What was acknowledged must be
//! stored, whole; what was being put or deleted may be stored, whole; nothing else may. Some copies replace the trial's
//! device, so that cuts follow cuts. In half of the trials of sound devices, units are damaged while the power is off,
//! and discarded later: what was not damaged stays, and what was damaged is reported until it is erased. Everything
//! follows from one seed: a trial that fails, fails again.
//!
//! Any device that can be cloned can be tried; a cut of [`MemoryLanes`] with units of a few KiB takes some tens of
//! microseconds.

mod cut;
mod damage;
mod model;
mod tally;
mod watched;

use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_block::{
    BlockOptions, Blocks, DeleteError, DeleteFailure, GetError, Layout, Outcome, Payload, Placement,
    PutError, PutFailure,
};
use flashlane_device::DataDevice;
use flashlane_device_testing::{MemoryFaults, MemoryLanes};
use model::{Body, Model, compare};
use std::num::NonZeroU32;
pub use tally::Tally;
use watched::Watched;

/// Whether the device under trial has faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Every request succeeds, except for power cuts.
    Sound,
    /// Some reads fail, and units go bad.
    Failing,
}

/// Runs a trial on lanes in memory whose shape and faults follow from the seed.
///
/// # Panics
/// As [`run_trial`].
pub fn trial_of_seed(seed: u64) -> Tally {
    // From a single lane with few units beside the reserved ones to several lanes of three.
    let mut random = Seed(seed).derive("shape").source();
    let (lanes, units) = [(1, 8), (2, 6), (4, 8), (7, 3)][random.below(4) as usize];
    let device = MemoryLanes::new(lanes, units, 4096, 512, Seed(seed));
    let without_faults = |device: MemoryLanes| device.with_faults(MemoryFaults::default());
    let steps = 100 + random.below(400) as u32;
    if random.chance(0.7) {
        return run_trial(device, &without_faults, Health::Sound, Seed(seed), steps);
    }
    let faults = MemoryFaults {
        unit_fails: 0.03 * random.unit(),
        read_fails: 0.1 * random.unit(),
        ..MemoryFaults::default()
    };
    run_trial(device.with_faults(faults), &without_faults, Health::Failing, Seed(seed), steps)
}

/// Runs a trial of `steps` steps on `device`. `without_faults` returns a device with the same content on which nothing
/// fails, to compare what is stored.
///
/// # Panics
/// Where a promise is broken: the message names the promise and the block. The caller names the seed.
pub fn run_trial<D: DataDevice + Clone>(
    device: D,
    without_faults: &dyn Fn(D) -> D,
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
    let is_damaging = health == Health::Sound && seed.0.is_multiple_of(2);
    let damage = is_damaging.then(|| seed.derive("damage").source());
    let (model, tally) = (Model::default(), Tally::default());
    let mut trial = Trial { blocks, without_faults, health, random, damage, model, tally };
    for _ in 0..steps {
        trial.step();
    }
    trial.settle();
    trial.cut();
    trial.tally
}

fn options(random: &mut Random) -> BlockOptions {
    BlockOptions {
        placement: if random.chance(0.5) { Placement::RoundRobin } else { Placement::LeastLoaded },
        reserve_units: random.below(3) as u32,
        writes_per_lane: NonZeroU32::MIN.saturating_add(random.below(2) as u32),
        verify_footers: random.chance(0.5),
        without_superblock: false,
        replaces_other_data: false,
    }
}

struct Trial<'a, D> {
    blocks: Blocks<Watched<D>>,
    without_faults: &'a dyn Fn(D) -> D,
    health: Health,
    random: Random,
    /// Chooses when and how units are damaged and discarded, in trials that do so.
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
            // Leftovers are erased within the first put or delete.
            Some(_) => self.blocks.device().watch(),
            None => {}
        }
        match self.random.below(100) {
            0..30 => self.put(),
            30..50 => self.get(),
            50..65 => self.delete(),
            65..68 => self.refused(),
            68 => self.restart(),
            _ => {
                self.blocks.device().take_snapshots();
                self.advance();
            }
        }
        self.cut_within();
        // A put may wait for a superblock, and other operations complete meanwhile.
        self.collect();
        self.cut();
    }

    fn put(&mut self) {
        // Mostly fresh ids; some chosen by the user, low or high, so that ids come in any order.
        let id = match self.random.below(10) {
            0 => self.random.below(50),
            1 => self.blocks.next_id() + self.random.below(20),
            _ => self.blocks.next_id(),
        };
        let max = self.blocks.block_bytes();
        let length_bytes = if self.random.chance(0.5) { max } else { self.random.below(max + 1) };
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
            Err((PutError::Busy { .. }, _)) => assert!(busy, "block {id} is not being put or deleted"),
            Err((PutError::Full { .. }, _)) => {
                let (model, layout) = (&self.model, self.blocks.status().layout);
                let used = model.stored.len() + model.putting.len() + model.deleting.len();
                let used = (used + model.damaged.len()) as u64;
                let room = layout.all_units() - Layout::RESERVED_UNITS;
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
        // Without a unit for a superblock the delete fails at once.
        if self.health == Health::Failing || !self.model.damaged.is_empty() {
            return;
        }
        let get = self.blocks.get(id, 0, 0).map(drop);
        assert!(
            matches!(get, Err(GetError::NotFound { .. })),
            "block {id} is deleted, and a get returns {get:?}"
        );
    }

    /// Submits what must be refused, and change nothing.
    fn refused(&mut self) {
        let payload = self.blocks.payload();
        assert!(matches!(self.blocks.put(u64::MAX, payload), Err((PutError::IdTooHigh { .. }, _))));
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

    /// Lets the device work, until its next completion or for a while.
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
            "with nothing in flight these have not completed: {model:?}"
        );
    }

    fn collect(&mut self) {
        let mut out = Vec::new();
        self.blocks.reap(Instant::ZERO, &mut out);
        for finished in out {
            let id = finished.id;
            match finished.outcome {
                Outcome::Put(result, _) => {
                    let (ticket, body) = self.model.putting.remove(&id).expect("a put that was submitted");
                    assert_eq!(ticket, finished.ticket);
                    match result {
                        Ok(()) => {
                            self.tally.puts += 1;
                            self.model.highest = self.model.highest.max(Some(id));
                            self.model.stored.insert(id, body);
                        }
                        Err(PutFailure::NoUnit) if !self.model.damaged.is_empty() => {}
                        Err(failure) => self.expect_failing(&failure),
                    }
                }
                Outcome::Get(result) => {
                    let get = self.model.getting.remove(&finished.ticket);
                    let (body, offset, length) = get.expect("a get that was submitted");
                    match result {
                        Ok(data) => {
                            self.tally.gets += 1;
                            compare(id, body, offset, length, data.as_slice());
                        }
                        Err(failure) => self.expect_failing(&failure),
                    }
                }
                Outcome::Delete(result) => {
                    let deleted = self.model.deleting.remove(&id);
                    let (ticket, body) = deleted.expect("a delete that was submitted");
                    assert_eq!(ticket, finished.ticket);
                    match result {
                        Ok(()) => self.tally.deletes += 1,
                        // The damaged units may be those that were kept for superblocks.
                        Err(DeleteFailure::NoUnit) if !self.model.damaged.is_empty() => {
                            self.model.stored.insert(id, body);
                        }
                        Err(failure) => {
                            self.expect_failing(&failure);
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

    fn expect_failing(&mut self, failure: &dyn std::error::Error) {
        assert_eq!(self.health, Health::Failing, "on a sound device: {failure}");
        self.tally.failures += 1;
    }

    /// Closes the layer and opens it again.
    fn restart(&mut self) {
        self.blocks.settle();
        if self.cut_within() {
            return;
        }
        self.settle();
        let options = options(&mut self.random);
        let device = (self.without_faults)(self.blocks.device().copy());
        if self.health == Health::Sound {
            self.blocks = Blocks::open(Watched::new(device), options).expect("a closed device is opened");
            self.tally.restarts += 1;
        }
    }
}

/// Returns a payload that holds `bytes`.
pub fn payload_of<D: DataDevice>(blocks: &Blocks<D>, bytes: &[u8]) -> Payload {
    let mut payload = blocks.payload();
    payload.copy_from(bytes);
    payload
}
