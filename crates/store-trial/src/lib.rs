//! Trials of the store: random batches, gets, scans, snapshots, restarts and power cuts, compared with a simple model.
//!
//! Power is cut on copies of both devices at once, after each completion of either and each operation; the copy is
//! opened and compared. Of each slice the first writes must be there, whole, in their order: all that were acknowledged
//! as durable, all with lower numbers, and of the others some number. Some copies go on working for a while and lose
//! their power again; some replace the trial's store. In some trials reads and units fail as well. At the end blocks of
//! a copy are damaged, and the copy is salvaged; and other data is written over a store on lanes. Everything follows
//! from one seed: a trial that fails, fails again.

mod check;
mod damage;
mod foreign;
mod history;
mod model;
mod recorder;
mod tally;

use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device_testing::{MemoryDisk, MemoryFaults, MemoryLanes};
use flashlane_policy::Options;
use flashlane_store::{Batch, Durability, Outcome, Slices, Store, StoreOptions, Ticket, WriteError};
pub use history::{Answer, HISTORY_BYTES_MAX, history};
use model::{Changes, Get, Map, Model, Seen, SliceModel, Write, is_alive};
use std::collections::BTreeMap;
pub use tally::Tally;

type TrialStore = Store<MemoryLanes, MemoryDisk>;

/// Bytes of an erase unit, and of a sector of the log.
const UNIT_BYTES: u64 = 4096;
const SECTOR_BYTES: u64 = 512;
/// Keys of a slice.
const KEYS: u64 = 40;
/// Keys of a slice where they come in their order.
const KEYS_IN_ORDER: u64 = 400;

struct Trial {
    store: TrialStore,
    model: Model,
    random: Random,
    is_failing: bool,
    /// Where keys come in their order: how many have come.
    ascending: Option<u64>,
    tally: Tally,
    next_cut_seed: u64,
}

/// Returns options as they may differ between openings of a store whose blocks have a few KiB.
pub fn options(random: &mut Random) -> StoreOptions {
    let merge = ["leveled", "tiered", "lazy-leveled", "space-bounded", "by-size"][random.below(5) as usize];
    let mut merge_options = vec![("trigger".to_owned(), (2 + random.below(3)).to_string())];
    if merge == "by-size" {
        // Means of some trees lie below and of others above.
        merge_options.push(("large".into(), "100B".into()));
    }
    StoreOptions {
        memory_bytes: (12 + random.below(40)) * UNIT_BYTES,
        merge: merge.into(),
        merge_options: Options::new(merge_options),
        merge_chunk_bytes: 512 << random.below(4),
        merge_writes: 1 + random.below(3) as u32,
        merge_blocks_max: [u64::MAX, 4, 4 + random.below(4)][random.below(3) as usize],
        reserve_blocks: 12 + random.below(9),
        ..StoreOptions::default()
    }
}

/// Runs a trial whose shape, faults and operations follow from the seed.
///
/// # Panics
/// Where a promise is broken: the message names the promise. The caller names the seed.
pub fn trial_of_seed(seed: u64) -> Tally {
    let mut random = Seed(seed).derive("store trial").source();
    // The last two are full soon: they are of the least size where slices and reserve are most.
    let (lanes, units) = [(1, 100), (2, 26), (4, 16), (7, 18), (1, 28), (2, 14)][random.below(6) as usize];
    let slices = 1 + random.below(3) as u32;
    let device = MemoryLanes::new(lanes, units, UNIT_BYTES, SECTOR_BYTES, Seed(seed));
    let log = MemoryDisk::new((24 + random.below(24)) * 4096, SECTOR_BYTES, Seed(seed));
    let own = options(&mut random);
    let mut store = Store::create(device, log, u128::from(seed) + 1, Slices::even(slices), own)
        .unwrap_or_else(|error| panic!("sound devices take a store: {error}"));
    let is_failing = random.chance(0.25);
    if is_failing {
        let (device, log) = store.into_devices();
        let faults = MemoryFaults {
            unit_fails: 0.02 * random.unit(),
            read_fails: 0.2 * random.unit(),
            ..MemoryFaults::default()
        };
        store = Store::open(device.with_faults(faults), log, options(&mut random)).unwrap_or_else(|_| {
            // A footer that cannot be read; there is none in an empty store.
            panic!("an empty store is opened")
        });
    }
    let model = Model { slices: vec![SliceModel::default(); slices as usize], ..Model::default() };
    let ascending = random.chance(0.3).then_some(0);
    let mut trial =
        Trial { store, model, random, is_failing, ascending, tally: Tally::default(), next_cut_seed: seed };
    let steps = 100 + trial.random.below(500);
    for _ in 0..steps {
        if trial.store.status().log_used > 1.0 {
            break;
        }
        trial.step();
    }
    trial.settle();
    trial.cut();
    if !trial.is_failing {
        trial.damage();
    }
    trial.tally.add(&trial.store.status().counters);
    // They need no power cuts, of which the caller wants a number.
    if seed.is_multiple_of(2) {
        trial.tally += foreign::trial_of_seed(seed);
    }
    trial.tally
}

impl Trial {
    fn step(&mut self) {
        match self.random.below(100) {
            0..30 => self.write(),
            30..42 => self.get(),
            42..45 => self.snapshot(),
            45..50 => self.scan(),
            50 => self.store.flush(),
            51 => {
                self.model.now_ms += self.random.below(100);
                self.store.set_time(self.model.now_ms);
            }
            52 => self.restart(),
            _ => self.advance(),
        }
        self.collect();
        self.cut();
    }

    /// Returns a key of a slice: bounds part keys evenly by their first two bytes.
    fn key(&mut self, slice: usize) -> Vec<u8> {
        let count = self.model.slices.len() as u64;
        let (number, keys) = match &mut self.ascending {
            // A few steps back now and then, so that some patches overlap.
            Some(next) if self.random.chance(0.7) => {
                *next += 1;
                ((*next + self.random.below(4)) % KEYS_IN_ORDER, KEYS_IN_ORDER)
            }
            Some(next) => (self.random.below(*next + 1) % KEYS_IN_ORDER, KEYS_IN_ORDER),
            None => (self.random.below(KEYS), KEYS),
        };
        let first =
            ((slice as u64 * 65536).div_ceil(count) + number * (65536 / count / keys)).min(65535) as u16;
        let mut key = first.to_be_bytes().to_vec();
        key.extend(vec![b'k'; (number % 7 * 5) as usize]);
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.random.below(40) {
            // Some are larger than the memory of the store.
            0 if self.random.chance(0.1) => self.random.below(250_000),
            0 => 1500 + self.random.below(9000),
            1..6 => self.random.below(1500),
            6..8 => 0,
            _ => self.random.below(150),
        };
        let mut random = Seed(self.random.bits()).source();
        (0..length).map(|_| random.bits() as u8).collect()
    }

    fn write(&mut self) {
        let slice = self.random.below(self.model.slices.len() as u64) as usize;
        if self.model.slices[slice].is_blocked.is_some() {
            return;
        }
        let (mut batch, mut changes) = (Batch::default(), Changes::new());
        let count = if self.random.chance(0.7) { 1 } else { 2 + self.random.below(3) };
        let deletes = self.random.chance(0.3);
        for _ in 0..count {
            let key = self.key(slice);
            changes.retain(|(other, _)| *other != key);
            if deletes || self.random.chance(0.1) {
                batch.delete(key.clone());
                changes.push((key, None));
                continue;
            }
            let bytes = self.value();
            let expiry_ms =
                if self.random.chance(0.1) { self.model.now_ms + 1 + self.random.below(300) } else { 0 };
            match expiry_ms {
                0 => batch.put(key.clone(), bytes.clone()),
                expiry_ms => batch.put_until(key.clone(), bytes.clone(), expiry_ms),
            };
            changes.push((key, Some((expiry_ms, bytes))));
        }
        let durability = [Durability::Memory, Durability::System, Durability::Device, Durability::Device]
            [self.random.below(4) as usize];
        let is_large =
            changes.iter().any(|(_, value)| value.as_ref().is_some_and(|(_, bytes)| bytes.len() > 1024));
        match self.store.write(batch, durability) {
            Ok(ticket) => {
                let own = &mut self.model.slices[slice];
                own.is_blocked = is_large.then_some(ticket);
                own.journal.push(Write { ticket, changes: changes.clone(), durability, sequence: None });
                // A get in flight may see it.
                for get in self.model.gets.values_mut().filter(|get| get.slice == slice) {
                    let of_key = changes.iter().filter(|(key, _)| *key == get.key);
                    get.allowed.extend(of_key.map(|(_, value)| value.clone()));
                }
            }
            Err(WriteError::Full { .. }) => self.tally.full += 1,
            // Refused until merges have made room.
            Err(WriteError::Busy { .. }) if self.store.status().room_bytes == 0 => self.tally.full += 1,
            Err(WriteError::Busy { .. } | WriteError::BatchTooLarge { .. }) => {}
            Err(error) => panic!("a write was refused: {error}"),
        }
    }

    fn get(&mut self) {
        let slice = self.random.below(self.model.slices.len() as u64) as usize;
        let key = self.key(slice);
        let allowed = self.model.slices[slice].allowed(&key);
        let ticket = self.store.get(&key, None);
        self.model.gets.insert(ticket, Get { key, slice, allowed });
    }

    /// Takes a snapshot where all writes are acknowledged, or releases one.
    fn snapshot(&mut self) {
        let idle = self.model.snapshots.iter().position(|seen| seen.scans == 0);
        if let Some(nth) = idle.filter(|_| self.model.snapshots.len() > 3 || self.random.chance(0.3)) {
            let seen = self.model.snapshots.remove(nth);
            return self.store.release(seen.snapshot);
        }
        if self.random.chance(0.3) {
            self.settle();
        }
        let states: Option<Vec<Map>> = self.model.slices.iter().map(SliceModel::settled).collect();
        if let Some(states) = states {
            let snapshot = self.store.snapshot();
            let map = states.into_iter().flatten().collect();
            self.model.snapshots.push(Seen { snapshot, map, scans: 0 });
        }
    }

    fn scan(&mut self) {
        if self.model.snapshots.is_empty() {
            return;
        }
        let nth = self.random.below(self.model.snapshots.len() as u64) as usize;
        let slice = self.random.below(self.model.slices.len() as u64) as usize;
        let (start, items) = (self.key(slice), 1 + self.random.below(60));
        let seen = &mut self.model.snapshots[nth];
        let ticket = self.store.scan(&start, None, items, u64::MAX, Some(seen.snapshot));
        seen.scans += 1;
        self.model.scans.insert(ticket, (seen.snapshot.sequence(), start, items));
    }

    fn advance(&mut self) {
        let until = match self.random.below(4) {
            0 => self.store.now() + Duration::from_ns(self.random.below(50_000)),
            _ => Instant::FAR,
        };
        self.store.step(until);
    }

    fn settle(&mut self) {
        self.store.settle();
        self.collect();
        let model = &self.model;
        let waiting =
            model.slices.iter().flat_map(|slice| &slice.journal).filter(|write| write.sequence.is_none());
        let waiting: Vec<Ticket> = waiting.map(|write| write.ticket).collect();
        assert!(
            waiting.is_empty() && model.gets.is_empty() && model.scans.is_empty(),
            "with nothing in flight these have not completed: {waiting:?}, {:?}, {:?}",
            model.gets,
            model.scans
        );
    }

    fn collect(&mut self) {
        let mut out = Vec::new();
        self.store.reap(Instant::ZERO, &mut out);
        for finished in out {
            match finished.outcome {
                Outcome::Write(Ok(sequence)) => {
                    self.tally.writes += 1;
                    self.acknowledged(finished.ticket, sequence);
                }
                Outcome::Write(Err(failure)) => {
                    self.expect_failing(&failure);
                    for slice in &mut self.model.slices {
                        slice
                            .journal
                            .retain(|write| write.ticket != finished.ticket || write.sequence.is_some());
                        slice.is_blocked.take_if(|ticket| *ticket == finished.ticket);
                    }
                }
                Outcome::Get(result) => {
                    let get = self.model.gets.remove(&finished.ticket).expect("a get that was submitted");
                    match result {
                        Ok(found) => self.check_get(&get, found.map(|found| found.bytes)),
                        Err(failure) => self.expect_failing(&failure),
                    }
                }
                Outcome::Scan(result) => {
                    let scan = self.model.scans.remove(&finished.ticket).expect("a scan that was submitted");
                    let mut snapshots = self.model.snapshots.iter_mut();
                    let seen = snapshots.find(|seen| seen.snapshot.sequence() == scan.0 && seen.scans > 0);
                    let seen = seen.expect("its snapshot is live");
                    seen.scans -= 1;
                    let map = seen.map.clone();
                    match result {
                        Ok(page) => self.check_scan(&map, &scan.1, scan.2, &page),
                        Err(failure) => self.expect_failing(&failure),
                    }
                }
            }
        }
    }

    fn acknowledged(&mut self, ticket: Ticket, sequence: u64) {
        let mut durable_to = None;
        for slice in &mut self.model.slices {
            slice.is_blocked.take_if(|blocked| *blocked == ticket);
            // Tickets of acknowledged writes come again after a restart.
            let mut waiting = slice.journal.iter_mut().filter(|write| write.sequence.is_none());
            if let Some(write) = waiting.find(|write| write.ticket == ticket) {
                write.sequence = Some(sequence);
                durable_to = (write.durability == Durability::Device).then_some(sequence);
            }
        }
        if let Some(sequence) = durable_to {
            self.model.slices.iter_mut().for_each(|slice| slice.durable_to(sequence));
        }
    }

    fn expect_failing(&mut self, failure: &dyn std::error::Error) {
        assert!(self.is_failing, "on sound devices: {failure}");
        self.tally.failures += 1;
    }

    /// Opens the store again, of one that was closed or of one that was left. While it is closed the power is cut, and
    /// once it is damage of what it wrote last is noticed.
    fn restart(&mut self) {
        self.settle();
        if self.is_failing {
            return;
        }
        if self.random.chance(0.5) {
            self.close();
        }
        self.tally.add(&self.store.status().counters);
        let devices = (self.store.blocks().device().clone(), self.store.log_device().clone());
        let own = options(&mut self.random);
        self.store =
            Store::open(devices.0, devices.1, own).unwrap_or_else(|error| panic!("after a restart: {error}"));
        self.store.set_time(self.model.now_ms);
        self.model.snapshots.clear();
        self.tally.restarts += 1;
    }
}

/// Returns what a get may return of these values.
fn readable(allowed: &[Option<model::Value>], now_ms: u64) -> Vec<Option<&Vec<u8>>> {
    allowed
        .iter()
        .map(|value| value.as_ref().filter(|value| is_alive(value, now_ms)).map(|(_, bytes)| bytes))
        .collect()
}

/// Entries as a scan returns them.
type Found = BTreeMap<Vec<u8>, Vec<u8>>;
