//! A full store gives space back, whatever its size, policy and values.

use super::{TestStore, all};
use crate::operation::{Batch, Outcome};
use crate::options::{Slices, StoreOptions};
use crate::store::Store;
use crate::{Durability, KeyValueStore, StoreError, Ticket, WriteError};
use flashlane_base::{Instant, Random, Seed};
use flashlane_block::Layout;
use flashlane_device_testing::{MemoryDisk, MemoryFaults, MemoryLanes, cycle_power};
use flashlane_policy::Options;
use std::collections::{BTreeMap, BTreeSet};

type TestKeyValueStore = KeyValueStore<MemoryLanes, MemoryDisk>;

/// Submits a batch. Returns `None` where it is still refused for want of space when nothing is in flight.
fn submit(store: &mut TestStore, batch: &Batch) -> Option<Ticket> {
    let mut is_settled = false;
    loop {
        match store.write(batch.clone(), Durability::Device) {
            Ok(ticket) => return Some(ticket),
            Err(WriteError::Busy { .. }) if store.step(Instant::FAR) => {}
            Err(WriteError::Full { .. }) if !is_settled => {
                store.settle();
                is_settled = true;
            }
            Err(WriteError::Full { .. }) => return None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Waits until the writes have completed.
fn wait(store: &mut TestStore, tickets: impl IntoIterator<Item = Ticket>) {
    for ticket in tickets {
        match store.wait(ticket).expect("an accepted write completes").outcome {
            Outcome::Write(result) => drop(result.expect("the devices are sound")),
            other => panic!("{other:?}"),
        }
    }
}

fn put(key: &[u8], length: u64) -> Batch {
    let mut batch = Batch::default();
    batch.put(key, vec![key.len() as u8; length as usize]);
    batch
}

/// Deletes keys, `at_once` at a time. Returns the first that is refused.
fn delete(store: &mut TestStore, keys: &[Vec<u8>], at_once: usize) -> Option<usize> {
    for (nth, keys) in keys.chunks(at_once).enumerate() {
        let mut tickets = Vec::new();
        for key in keys {
            let mut batch = Batch::default();
            batch.delete(key.clone());
            match submit(store, &batch) {
                Some(ticket) => tickets.push(ticket),
                None => return Some(nth * at_once),
            }
        }
        wait(store, tickets);
    }
    None
}

/// Puts values of fresh keys until one is refused. Returns them, and their bytes.
fn fill(store: &mut TestStore, round: u8, length: &mut dyn FnMut() -> u64) -> (Vec<Vec<u8>>, u64) {
    let (mut keys, mut bytes) = (Vec::new(), 0);
    for nth in 0_u32.. {
        // Keys of all slices, in no order.
        let first = (nth.wrapping_mul(0x9e37_79b1) >> 16) as u16;
        let key = [&first.to_be_bytes()[..], &nth.to_be_bytes(), &[round]].concat();
        let length = length();
        let Some(ticket) = submit(store, &put(&key, length)) else { break };
        wait(store, [ticket]);
        bytes += length + key.len() as u64;
        keys.push(key);
    }
    (keys, bytes)
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for nth in (1..items.len()).rev() {
        items.swap(nth, random.below(nth as u64 + 1) as usize);
    }
}

/// The merge policies; `by-size` calls two of them.
const MERGES: [&str; 4] = ["leveled", "tiered", "lazy-leveled", "space-bounded"];

#[test]
fn deletes_over_all_keys_of_a_small_store_give_space_back() {
    let device = MemoryLanes::new(4, 16, 64 << 10, 512, Seed(1));
    let log = MemoryDisk::new(2 << 20, 512, Seed(1));
    let mut store = Store::create(device, log, 1, Slices::even(1), StoreOptions::default()).unwrap();
    // In the order of keys, so that patches are full and lie in the last level.
    let key = |nth: u32| [&b"key"[..], &nth.to_be_bytes()].concat();
    let full = (0..).find(|&nth| match submit(&mut store, &put(&key(nth), 1500)) {
        Some(ticket) => (wait(&mut store, [ticket]), false).1,
        None => true,
    });
    let (kept, deleted): (Vec<u32>, Vec<u32>) = (0..full.unwrap()).partition(|nth| nth % 10 == 0);
    let deleted: Vec<Vec<u8>> = deleted.into_iter().map(key).collect();
    let refused = delete(&mut store, &deleted, 1);
    assert_eq!(refused, None, "a delete is refused: {:?}", store.status());
    store.settle();
    let (again, _) = fill(&mut store, 1, &mut || 1500);
    assert!(
        2 * again.len() > deleted.len(),
        "{} of {} values: {:?}",
        again.len(),
        full.unwrap(),
        store.status()
    );
    let left: BTreeSet<Vec<u8>> = kept.into_iter().map(key).chain(again).collect();
    let found: BTreeMap<_, _> = all(&mut store, None, &mut Seed(1).source());
    assert!(found.keys().eq(&left), "{} of {} keys are found", found.len(), left.len());
}

#[test]
fn full_store_takes_half_of_its_values_again_after_deletes() {
    for seed in 0..24 {
        let mut random = Seed(seed).derive("space").source();
        let (lanes, units) = [(1, 44), (2, 24), (4, 16), (3, 30)][random.below(4) as usize];
        let unit_bytes = 4096 << random.below(2);
        let slices = 1 + random.below(3) as u32;
        let merge = MERGES[random.below(4) as usize];
        let trigger = (2 + random.below(4)).to_string();
        let options = StoreOptions {
            memory_bytes: (12 + random.below(40)) * unit_bytes,
            merge: merge.into(),
            merge_options: Options::new([("trigger".into(), trigger)]),
            merge_chunk_bytes: 512 << random.below(4),
            ..StoreOptions::default()
        };
        let longest = [200, 700, unit_bytes / 4, unit_bytes / 2, 4 * unit_bytes][random.below(5) as usize];
        let context = format!(
            "seed {seed}: {lanes} x {units} x {unit_bytes}, {slices} slices, {merge}, values to {longest}"
        );
        let device = MemoryLanes::new(lanes, units, unit_bytes, 512, Seed(seed));
        let log = MemoryDisk::new((64 + random.below(200)) * 4096, 512, Seed(seed));
        let created = Store::create(device, log, u128::from(seed) + 1, Slices::even(slices), options);
        let mut store = created.unwrap_or_else(|error| panic!("{context}: {error}"));
        let mut lengths = Seed(seed).derive("lengths").source();
        let (mut keys, bytes) = fill(&mut store, 0, &mut || lengths.below(longest));
        for round in 1..3 {
            if random.chance(0.5) {
                shuffle(&mut keys, &mut random);
            }
            let at_once = [1, 1, 30, 1000][random.below(4) as usize];
            if let Some(nth) = delete(&mut store, &keys, at_once) {
                panic!("{context}: delete {nth} of {} is refused: {:?}", keys.len(), store.status());
            }
            let (again, bytes_again) = fill(&mut store, round, &mut || lengths.below(longest));
            assert!(
                2 * bytes_again >= bytes,
                "{context}: {bytes_again} of {bytes} bytes are taken again: {:?}",
                store.status()
            );
            let found = all(&mut store, None, &mut random);
            assert_eq!(found.len(), again.len(), "{context}: keys that are found");
            keys = again;
        }
    }
}

/// Writes a batch as programs do that wait for each write. Returns whether it was taken.
fn write_and_wait(store: &mut TestKeyValueStore, batch: Batch) -> bool {
    match store.write(batch) {
        Ok(()) => true,
        Err(StoreError::Write(WriteError::Full { .. })) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Opens the store on its devices anew, after a power cut or not.
fn reopen(store: TestKeyValueStore, options: &StoreOptions, is_cut: bool) -> TestKeyValueStore {
    let (mut device, mut log) = store.into_store().into_devices();
    if is_cut {
        cycle_power(&mut device);
        cycle_power(&mut log);
    }
    Store::open(device, log, options.clone()).expect("the devices are sound").into()
}

#[test]
fn reopened_full_store_takes_values_once_keys_are_deleted() {
    let options = StoreOptions::default();
    let device = MemoryLanes::new(4, 9, 64 << 10, 512, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let store = Store::create(device, log, 1, Slices::even(1), options.clone()).unwrap();
    let mut store = KeyValueStore::from(store);
    let value = |key: &str, length| {
        let mut batch = Batch::default();
        batch.put(key, vec![1; length]);
        batch
    };
    for key in ["k1", "k2", "k3"] {
        assert!(write_and_wait(&mut store, value(key, 120_000)), "{key}: {:?}", store.store().status());
    }
    let fits = (0..).take_while(|nth| write_and_wait(&mut store, value(&format!("m{nth}"), 16_000))).count();
    assert!(fits > 3, "{fits} values");
    for key in ["k1", "k2", "k3"] {
        store = reopen(store, &options, false);
        store.delete(key.as_bytes()).unwrap();
    }
    store = reopen(store, &options, false);
    assert!(write_and_wait(&mut store, value("s", 1)), "{:?}", store.store().status());
}

#[test]
fn store_without_keys_takes_values_whatever_filled_it() {
    for seed in 0..200 {
        let mut random = Seed(seed).derive("mix").source();
        let lanes = 1 + random.below(4) as u32;
        let unit_bytes = 4096 << random.below(3);
        let slices = 1 + random.below(4) as u32;
        let reserve_blocks = [12, 24][random.below(2) as usize];
        // From the least size on.
        let least = reserve_blocks + u64::from(slices) + 1 + Layout::RESERVED_UNITS;
        let units = least.div_ceil(lanes.into()) + random.below(2) * random.below(8);
        let merge = MERGES[random.below(4) as usize];
        let options = StoreOptions {
            memory_bytes: (12 + random.below(40)) * unit_bytes,
            merge: merge.into(),
            reserve_blocks,
            ..StoreOptions::default()
        };
        let context = format!("seed {seed}: {lanes} x {units} x {unit_bytes}, {slices} slices, {merge}");
        let device = MemoryLanes::new(lanes, units, unit_bytes, 512, Seed(seed));
        let log = MemoryDisk::new((64 + random.below(200)) * 4096, 512, Seed(seed));
        let created = Store::create(device, log, u128::from(seed) + 1, Slices::even(slices), options.clone());
        let mut store = KeyValueStore::from(created.unwrap_or_else(|error| panic!("{context}: {error}")));
        let (expires, reopens) = (random.chance(0.3), random.chance(0.7));
        for round in 0..3_u64 {
            let (mut keys, mut refused) = (BTreeSet::new(), 0);
            let now_ms = 1000 * (round + 1);
            store.store().set_time(now_ms);
            for nth in 0..3000_u64 {
                if reopens && random.chance(0.02) {
                    store = reopen(store, &options, random.chance(0.5));
                    store.store().set_time(now_ms);
                }
                let key = (random.below(1 << 16) as u16).to_be_bytes().to_vec();
                if random.chance(0.1) {
                    store.delete(&key).unwrap_or_else(|error| panic!("{context}: delete: {error}"));
                    keys.remove(&key);
                    continue;
                }
                let longest = [100, unit_bytes / 4, unit_bytes / 2, 4 * unit_bytes][random.below(4) as usize];
                let (mut batch, value) = (Batch::default(), vec![nth as u8; random.below(longest) as usize]);
                match expires && random.chance(0.5) {
                    true => batch.put_until(&key[..], value, now_ms + 500),
                    false => batch.put(&key[..], value),
                };
                if write_and_wait(&mut store, batch) {
                    keys.insert(key);
                } else {
                    refused += 1;
                    if refused == 20 {
                        break;
                    }
                }
            }
            assert!(refused > 0, "{context}: the store is not full");
            store.store().set_time(now_ms + 500);
            for key in keys {
                store.delete(&key).unwrap_or_else(|error| panic!("{context}: delete: {error}"));
            }
            if reopens && random.chance(0.5) {
                store = reopen(store, &options, random.chance(0.5));
                store.store().set_time(now_ms + 500);
            }
            let mut batch = Batch::default();
            batch.put("s", "x");
            assert!(
                write_and_wait(&mut store, batch),
                "{context}, round {round}: a value is refused: {:?}",
                store.store().status()
            );
            store.delete(b"s").unwrap();
        }
    }
}

#[test]
fn value_is_admitted_where_it_has_room() {
    let mut random = Seed(9).source();
    let mut store = super::create(2, 96, 1, 7);
    let (mut refused, mut admitted) = (0, 0);
    for nth in 0..400_u32 {
        let length = random.below(40_000);
        let room_bytes = store.status().room_bytes;
        match store.write(put(&nth.to_be_bytes(), length), Durability::Device) {
            Ok(ticket) => {
                wait(&mut store, [ticket]);
                admitted += 1;
            }
            Err(WriteError::Full { .. }) => {
                assert!(room_bytes < length, "{length} bytes are refused, and {room_bytes} have room");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
        store.settle();
    }
    assert!(refused > 20 && admitted > 20, "{refused} refused, {admitted} admitted");
    assert!(store.status().room_bytes < 40_000 && store.status().blocks_free > 24);
}

#[test]
fn device_that_fails_is_not_called_full() {
    let device = MemoryLanes::new(4, 32, 4096, 512, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let store = Store::create(device, log, 1, Slices::even(1), StoreOptions::default()).unwrap();
    let (device, log) = store.into_devices();
    let faults = MemoryFaults { unit_fails: 1.0, ..MemoryFaults::default() };
    let mut store = Store::open(device.with_faults(faults), log, StoreOptions::default()).unwrap();
    let mut refusal = None;
    for nth in 0..2000_u64 {
        let mut batch = Batch::default();
        batch.put(nth.to_be_bytes(), vec![1; 500]);
        match store.write(batch, Durability::Memory) {
            Ok(_) => drop(store.step(Instant::FAR)),
            Err(WriteError::Busy { .. }) if store.step(Instant::FAR) => {}
            Err(error) => {
                refusal = Some(error);
                break;
            }
        }
    }
    let refusal = refusal.expect("nothing can be written");
    assert!(matches!(refusal, WriteError::Full { failure: Some(_), .. }), "{refusal}");
    assert!(refusal.to_string().starts_with("the device fails: "), "{refusal}");
    assert!(store.put_failure().is_some());
}
