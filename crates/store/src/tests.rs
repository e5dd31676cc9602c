//! Tests of the store on devices in memory: what it returns is compared with a map.

mod backup;
mod blocked;
mod cache;
mod copies;
mod damaged;
mod expiry;
mod faults;
mod foreign;
mod formats;
mod large;
mod lost;
mod memory;
mod missing;
mod scans;
mod space;

use crate::operation::{Batch, Outcome};
use crate::options::{Slices, StoreOptions};
use crate::store::Store;
use crate::{Durability, Gap, KeyValueStore, ScanFailure, StoreError, WriteError};
use flashlane_base::{Instant, Random, Seed};
use flashlane_device::DataDevice;
use flashlane_device_testing::{MemoryDisk, MemoryLanes, cycle_power};
use std::collections::BTreeMap;

type TestStore = Store<MemoryLanes, MemoryDisk>;

fn options() -> StoreOptions {
    StoreOptions { memory_bytes: 256 << 10, reserve_blocks: 24, ..StoreOptions::default() }
}

fn create(lanes: u32, units: u64, slices: u32, seed: u64) -> TestStore {
    let device = MemoryLanes::new(lanes, units, 8192, 512, Seed(seed));
    let log = MemoryDisk::new(256 << 10, 512, Seed(seed));
    Store::create(device, log, u128::from(seed) + 1, Slices::even(slices), options())
        .expect("the devices suit")
}

fn write(store: &mut TestStore, batch: Batch) -> Result<u64, WriteError> {
    loop {
        match store.write(batch.clone(), Durability::Device) {
            Err(WriteError::Busy { .. }) if store.step(Instant::FAR) => {}
            Err(error) => return Err(error),
            Ok(ticket) => match store.wait(ticket).expect("an accepted write completes").outcome {
                Outcome::Write(result) => return Ok(result.expect("the devices are sound")),
                other => panic!("{other:?}"),
            },
        }
    }
}

fn get(store: &mut TestStore, key: &[u8]) -> Option<Vec<u8>> {
    let ticket = store.get(key, None);
    match store.wait(ticket).expect("a get completes").outcome {
        Outcome::Get(result) => result.expect("the devices are sound").map(|value| value.bytes),
        other => panic!("{other:?}"),
    }
}

/// Returns all entries, by scans of a few at a time.
fn all<D: DataDevice, L: DataDevice>(
    store: &mut Store<D, L>,
    snapshot: Option<crate::Snapshot>,
    random: &mut Random,
) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (mut found, mut start) = (BTreeMap::new(), Vec::new());
    loop {
        let ticket = store.scan(&start, None, 1 + random.below(40), u64::MAX, snapshot);
        let page = match store.wait(ticket).expect("a scan completes").outcome {
            Outcome::Scan(result) => result.expect("the devices are sound"),
            other => panic!("{other:?}"),
        };
        for item in page.items {
            assert!(found.last_key_value().is_none_or(|(last, _)| *last < item.key), "keys ascend");
            let value = match item.value {
                Some(value) => value,
                None => {
                    let ticket = store.get(&item.key, snapshot);
                    match store.wait(ticket).expect("a get completes").outcome {
                        Outcome::Get(Ok(Some(value))) => value.bytes,
                        other => panic!("{other:?}"),
                    }
                }
            };
            assert_eq!(item.value_bytes, value.len() as u64);
            found.insert(item.key, value);
        }
        match page.next {
            Some(next) => start = next,
            None => return found,
        }
    }
}

fn key(random: &mut Random, keys: u64) -> Vec<u8> {
    let number = random.below(keys);
    [&[(number * 37) as u8][..], format!("key{number}").as_bytes()].concat()
}

fn value(random: &mut Random) -> Vec<u8> {
    let length = match random.below(20) {
        0 => 0,
        1 => random.below(20_000),
        2..6 => random.below(3_000),
        _ => random.below(200),
    };
    let byte = random.bits() as u8;
    (0..length).map(|nth| byte.wrapping_add(nth as u8)).collect()
}

#[test]
fn all_containers_that_lag_in_the_log_are_frozen() {
    let mut store = create(4, 200, 8, 3);
    // Overwritten keys fill the log, and no container. Nothing is waited for.
    while store.status().log_used < 0.7 {
        for slice in 0..8_u8 {
            let mut batch = Batch::default();
            batch.put([slice * 32, 1], vec![1; 1000]);
            store.write(batch, Durability::Memory).expect("the log has room");
        }
    }
    let frozen: Vec<u64> = store.status().slices.iter().map(|slice| slice.frozen).collect();
    assert_eq!(frozen, [1; 8]);
    store.settle();
    assert!(store.status().log_used < 0.7);
}

#[test]
fn largest_batch_fits_whatever_its_number() {
    for value_bytes in [0, 1, 90, 110, 115, 118, 120, 123, 400] {
        let batch_of = |entries: u32| {
            let mut batch = Batch::default();
            for nth in 0..entries {
                // Of entries of mixed lengths much is left at the end of a group.
                let bytes = if nth % 4 == 3 { 0 } else { value_bytes };
                batch.put(nth.to_be_bytes(), vec![7; bytes]);
            }
            batch
        };
        let mut store = create(4, 64, 1, 1);
        let mut accepts = |entries| {
            let answer = store.write(batch_of(entries), Durability::Device);
            store.settle();
            match answer {
                Ok(_) => true,
                Err(WriteError::BatchTooLarge { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        };
        let most = (1..2000).take_while(|&entries| accepts(entries)).last().expect("one entry fits");
        let mut store = create(4, 64, 1, 1);
        store.core.set_last_sequence(1 << 60);
        write(&mut store, batch_of(most)).expect("there is room");
        store.flush();
        store.settle();
        assert_eq!(
            get(&mut store, &(most - 1).to_be_bytes()).map(|value| value.len() <= value_bytes),
            Some(true)
        );
    }
}

#[test]
fn data_in_the_order_of_its_keys_is_written_once() {
    let mut store = create(4, 200, 2, 1);
    let (mut model, mut random) = (BTreeMap::new(), Seed(1).source());
    for number in 0..2000_u16 {
        // Two slices are filled side by side.
        let own = [&(number / 2 + (number % 2) * 40_000).to_be_bytes()[..], b"key"].concat();
        let mut batch = Batch::default();
        batch.put(own.clone(), vec![number as u8; 400]);
        write(&mut store, batch).expect("there is room");
        model.insert(own, vec![number as u8; 400]);
    }
    store.flush();
    store.settle();
    let counters = store.status().counters;
    assert!(counters.merges == 0 && counters.flushes > 100, "{counters:?}");
    assert_eq!(all(&mut store, None, &mut random), model);
    let (device, log) = store.into_devices();
    let mut store = Store::open(device, log, options()).expect("a closed store is opened");
    assert_eq!(all(&mut store, None, &mut random), model);
    for _ in 0..2000 {
        let nth = random.below(model.len() as u64) as usize;
        let own = model.keys().nth(nth).expect("it is there").clone();
        let mut batch = Batch::default();
        batch.put(own.clone(), vec![7; 300]);
        write(&mut store, batch).expect("merges give space back");
        model.insert(own, vec![7; 300]);
    }
    assert!(store.status().counters.merges > 10);
    assert_eq!(all(&mut store, None, &mut random), model);
}

#[test]
fn store_returns_what_was_written() {
    for seed in 0..8 {
        let mut store = create(4, 80, 1 + (seed % 4) as u32, seed);
        let (mut model, mut random) = (BTreeMap::new(), Seed(seed).source());
        let mut merges = 0;
        for step in 0..1500 {
            let own = key(&mut random, 150);
            let mut batch = Batch::default();
            if random.chance(0.25) {
                batch.delete(own.clone());
                match write(&mut store, batch) {
                    Ok(_) => drop(model.remove(&own)),
                    Err(error) => panic!("seed {seed}, step {step}: {error}"),
                }
            } else {
                let value = value(&mut random);
                batch.put(own.clone(), value.clone());
                match write(&mut store, batch) {
                    Ok(_) => drop(model.insert(own, value)),
                    Err(WriteError::Full { .. }) => store.settle(),
                    Err(error) => panic!("seed {seed}, step {step}: {error}"),
                }
            }
            let other = key(&mut random, 150);
            assert_eq!(get(&mut store, &other), model.get(&other).cloned(), "seed {seed}, step {step}");
            if step % 300 == 299 {
                assert_eq!(all(&mut store, None, &mut random), model, "seed {seed}, step {step}");
                store.settle();
                merges += store.status().counters.merges;
                let (device, log) = store.into_devices();
                store = Store::open(device, log, options()).expect("a closed store is opened");
                assert_eq!(
                    all(&mut store, None, &mut random),
                    model,
                    "seed {seed}, step {step}, opened again"
                );
            }
        }
        assert!(merges > 10, "seed {seed}: {merges} merges");
    }
}

#[test]
fn snapshot_sees_its_moment_while_merges_run() {
    for seed in 0..4 {
        let mut store = create(4, 120, 2, seed);
        let (mut model, mut random) = (BTreeMap::new(), Seed(seed).source());
        let mut snapshots = Vec::new();
        for _ in 0..600 {
            let (own, value) = (key(&mut random, 60), value(&mut random));
            let mut batch = Batch::default();
            batch.put(own.clone(), value.clone());
            if write(&mut store, batch).is_ok() {
                model.insert(own, value);
            }
            if random.chance(0.01) {
                snapshots.push((store.snapshot(), model.clone()));
            }
            if snapshots.len() > 3 {
                let (snapshot, then) = snapshots.remove(0);
                assert_eq!(all(&mut store, Some(snapshot), &mut random), then, "seed {seed}");
                store.release(snapshot);
            }
        }
        assert_eq!(all(&mut store, None, &mut random), model, "seed {seed}");
    }
}

#[test]
fn waiting_calls_store_and_return() {
    let device = MemoryLanes::new(4, 80, 64 << 10, 512, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let mut store = KeyValueStore::create(device, log, 7, Slices::even(4)).unwrap();
    store.put(b"", b"empty").unwrap();
    store.put(b"\xff", &[5; 200_000]).unwrap();
    store.delete(b"").unwrap();
    assert_eq!(store.get(b"").unwrap(), None);
    assert_eq!(store.get(b"\xff").unwrap().unwrap(), vec![5; 200_000]);
    let page = store.scan(b"", None, 10).unwrap();
    assert_eq!((page.items.len(), page.items[0].value_bytes, page.next), (1, 200_000, None));
}

#[test]
fn full_device_reads_and_deletes_and_takes_values_again() {
    for seed in 0..6 {
        let mut store = create(2, 40, 2, seed);
        let mut random = Seed(seed).source();
        let mut model = BTreeMap::new();
        let number = |nth: u64| [&[(nth * 97) as u8][..], &nth.to_be_bytes()].concat();
        let full = (0..).find(|&nth| {
            let value = vec![random.bits() as u8; 700];
            let mut batch = Batch::default();
            batch.put(number(nth), value.clone());
            let written = match write(&mut store, batch.clone()) {
                // Merges may have given space back.
                Err(WriteError::Full { .. }) => {
                    store.settle();
                    write(&mut store, batch)
                }
                written => written,
            };
            match written {
                Ok(_) => drop(model.insert(number(nth), value)),
                Err(WriteError::Full { .. }) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
            !model.contains_key(&number(nth))
        });
        let full = full.expect("the device is filled");
        assert!(full > 200, "seed {seed}: full after {full} values");
        for nth in 0..full {
            let mut batch = Batch::default();
            batch.delete(number(nth));
            write(&mut store, batch)
                .unwrap_or_else(|error| panic!("seed {seed}: a delete is refused: {error}"));
        }
        assert_eq!(get(&mut store, &number(1)), None);
        let mut accepted = 0;
        for nth in 0..400 {
            let mut batch = Batch::default();
            batch.put(number(nth), vec![1; 700]);
            match write(&mut store, batch) {
                Ok(_) => accepted += 1,
                Err(_) => store.settle(),
            }
        }
        assert!(
            accepted > 150,
            "seed {seed}: {accepted} values are taken once the keys are deleted: {:?}",
            store.status()
        );
    }
}

#[test]
fn two_runs_of_one_seed_are_equal() {
    let run = || {
        let (mut store, mut random) = (create(4, 60, 3, 9), Seed(9).source());
        let mut out = Vec::new();
        for _ in 0..1200 {
            let mut batch = Batch::default();
            batch.put(key(&mut random, 200), value(&mut random));
            let level =
                [Durability::Memory, Durability::System, Durability::Device][random.below(3) as usize];
            let _ = store.write(batch, level);
            store.get(&key(&mut random, 200), None);
            // Also where the get has completed from memory, so that the writes go on.
            let until = store.now() + flashlane_base::Duration::from_us(20);
            while store.now() < until && store.step(until) {}
            store.reap(Instant::ZERO, &mut out);
        }
        // Some acknowledgements are delayed beyond the last operation.
        store.settle();
        store.reap(Instant::ZERO, &mut out);
        let history: Vec<_> = out.iter().map(|done| (done.ticket, done.submitted, done.completed)).collect();
        let counters = store.status().counters;
        let (mut device, mut log) = store.into_devices();
        let lanes: Vec<Vec<u8>> =
            (0..4).map(|lane| device.lane_mut(flashlane_device::Lane(lane)).to_vec()).collect();
        (history, counters, lanes, log.bytes_mut().to_vec())
    };
    let (first, second) = (run(), run());
    assert!(first.1.merges > 3 && first.0.len() > 1000, "{:?}", first.1);
    assert!(first == second, "two runs of one seed differ");
}

/// Returns everything that the devices hold.
fn bytes_of(store: &TestStore) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut device, mut log) = (store.blocks().device().clone(), store.log_device().clone());
    let lanes = (0..4).map(|lane| device.lane_mut(flashlane_device::Lane(lane)).to_vec()).collect();
    (lanes, log.bytes_mut().to_vec())
}

#[test]
fn opening_writes_nothing_until_the_first_write() {
    let mut random = Seed(4).source();
    let mut store = create(4, 80, 2, 4);
    let mut dead = 0;
    for _ in 0..400 {
        let mut batch = Batch::default();
        batch.put(key(&mut random, 100), value(&mut random));
        write(&mut store, batch).expect("there is room");
        store.step(Instant::FAR);
        let (mut device, mut log) = (store.blocks().device().clone(), store.log_device().clone());
        cycle_power(&mut device);
        cycle_power(&mut log);
        let mut copy = Store::open(device, log, options()).expect("the store is opened");
        let before = bytes_of(&copy);
        let found = all(&mut copy, None, &mut random);
        copy.settle();
        assert!(bytes_of(&copy) == before, "opening and reading changes the devices");
        let stored = copy.blocks().list().count();
        let mut batch = Batch::default();
        batch.put("a", "b");
        write(&mut copy, batch).expect("there is room");
        copy.settle();
        dead += usize::from(copy.blocks().list().count() < stored);
        let (mut expected, now) = (found, all(&mut copy, None, &mut random));
        expected.insert(b"a".to_vec(), b"b".to_vec());
        assert!(now == expected, "what the first write deletes was not dead");
    }
    assert!(dead > 20, "{dead} openings found blocks to delete");
}

/// One value is in memory, one in a patch, one in pieces: a get and a scan say when each expires.
#[test]
fn reads_return_when_values_expire() {
    let mut store = create(4, 64, 1, 1);
    for (key, bytes, expiry_ms) in [("a", 10, 700), ("b", 20_000, 800), ("c", 10, 0)] {
        let mut batch = Batch::default();
        match expiry_ms {
            0 => batch.put(key, vec![1; bytes]),
            _ => batch.put_until(key, vec![1; bytes], expiry_ms),
        };
        write(&mut store, batch).expect("there is room");
    }
    for now_ms in [0, 699, 700, 800] {
        store.set_time(now_ms);
        for (key, expiry_ms) in [("a", Some(700)), ("b", Some(800)), ("c", None)] {
            let ticket = store.get(key.as_bytes(), None);
            let Outcome::Get(Ok(found)) = store.wait(ticket).expect("it completes").outcome else { panic!() };
            let is_there = expiry_ms.is_none_or(|expiry_ms| now_ms < expiry_ms);
            assert_eq!(
                found.map(|found| found.expiry_ms),
                is_there.then_some(expiry_ms),
                "{key} at {now_ms}"
            );
        }
        let ticket = store.scan(b"", None, u64::MAX, u64::MAX, None);
        let Outcome::Scan(Ok(page)) = store.wait(ticket).expect("it completes").outcome else { panic!() };
        let expiries: Vec<Option<u64>> = page.items.iter().map(|item| item.expiry_ms).collect();
        let later = [Some(700), Some(800), None].into_iter();
        let expected: Vec<_> =
            later.filter(|expiry: &Option<u64>| expiry.is_none_or(|expiry_ms| now_ms < expiry_ms)).collect();
        assert_eq!(expiries, expected, "at {now_ms}");
        store.flush();
        store.settle();
    }
}

/// Writes wait for memory here, and still get their numbers in the order of their submission.
#[test]
fn writes_to_a_slice_are_numbered_in_order() {
    let mut store = create(4, 64, 1, 1);
    assert!(store.inline_bytes_max() >= 3200, "no value is stored in pieces");
    let (mut tickets, mut sequences) = (Vec::new(), BTreeMap::new());
    let mut out = Vec::new();
    let note = |out: &mut Vec<crate::Finished>, sequences: &mut BTreeMap<crate::Ticket, u64>| {
        for finished in out.drain(..) {
            let Outcome::Write(Ok(sequence)) = finished.outcome else { panic!("{finished:?}") };
            sequences.insert(finished.ticket, sequence);
        }
    };
    for nth in 0..2000_u32 {
        loop {
            let mut batch = Batch::default();
            batch.put((nth % 7).to_be_bytes(), vec![nth as u8; (nth % 5) as usize * 800]);
            match store.write(batch, Durability::Device) {
                Ok(ticket) => break tickets.push(ticket),
                Err(WriteError::Busy { .. }) => drop(store.step(Instant::FAR)),
                Err(error) => panic!("{error}"),
            }
            store.reap(Instant::ZERO, &mut out);
            note(&mut out, &mut sequences);
        }
    }
    store.settle();
    store.reap(Instant::ZERO, &mut out);
    note(&mut out, &mut sequences);
    let numbers: Vec<u64> = tickets.iter().map(|ticket| sequences[ticket]).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}
