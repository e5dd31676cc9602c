//! Devices below that lie: writes that are lost, torn or land elsewhere, reads that return other bytes. A read of the
//! store returns what was written, or fails; it never returns anything else.

use super::*;
use crate::OpenError;
use flashlane_layer::{Fault, Faults, Faulty, Rate};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const FAULTS: [Fault; 5] =
    [Fault::LostWrite, Fault::TornWrite, Fault::MisdirectedWrite, Fault::MisdirectedRead, Fault::BitFlip];

/// Outcomes of reads.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    right: u64,
    told: u64,
}

/// Reads all keys. A value that is missing or another one must be told.
fn check<D: DataDevice, L: DataDevice>(store: &mut Store<D, L>, model: &Map, what: &str) -> Seen {
    let mut seen = Seen::default();
    for (key, value) in model {
        let ticket = store.get(key, None);
        match store.wait(ticket).expect("a get completes").outcome {
            Outcome::Get(Ok(found)) if found.as_ref().map(|found| &found.bytes) == Some(value) => {
                seen.right += 1
            }
            Outcome::Get(Ok(_)) if store.loss().is_some() => seen.told += 1,
            Outcome::Get(Err(_)) => seen.told += 1,
            other => panic!("{what}: {key:?} is {other:?}, and was {} bytes", value.len()),
        }
    }
    seen
}

/// Writes, and returns what was acknowledged of keys that have no write of another outcome.
fn fill<D: DataDevice, L: DataDevice>(store: &mut Store<D, L>, random: &mut Random) -> Map {
    let (mut model, mut unsure) = (Map::new(), std::collections::BTreeSet::new());
    for _ in 0..500 {
        let (key, value) = (key(random, 150), value(random));
        let mut batch = Batch::default();
        batch.put(key.clone(), value.clone());
        let ticket = loop {
            match store.write(batch.clone(), Durability::Device) {
                Err(WriteError::Busy { .. }) if store.step(Instant::FAR) => {}
                answer => break answer,
            }
        };
        // A refused write has changed nothing.
        let Ok(ticket) = ticket else { continue };
        match store.wait(ticket).expect("an accepted write completes").outcome {
            Outcome::Write(Ok(_)) => drop(model.insert(key, value)),
            _ => drop(unsure.insert(key)),
        }
    }
    store.flush();
    store.settle();
    model.retain(|key, _| !unsure.contains(key));
    model
}

/// Opens a store on sound devices again, as commands that read do, and checks it. An opening may refuse.
fn check_reopened(device: MemoryLanes, log: MemoryDisk, model: &Map, what: &str) -> Option<Seen> {
    let options = StoreOptions { without_damaged_blocks: true, ..options() };
    match Store::open(device, log, options) {
        Ok(mut store) => Some(check(&mut store, model, &format!("{what}, opened again"))),
        Err(error) => {
            let _: OpenError = error;
            None
        }
    }
}

#[test]
fn device_that_lies_is_never_believed() {
    // A block is written by one request of one write unit here, which cannot tear.
    for fault in FAULTS.into_iter().filter(|fault| *fault != Fault::TornWrite) {
        let mut sum = Seen::default();
        for seed in 0..12 {
            let mut random = Seed(seed).derive("faults").source();
            let (device, log) = create(4, 120, 2, seed).into_devices();
            let faults = Faults::default().with(fault, Rate::Share(0.03));
            let device = Faulty::over_data(device, faults, Seed(seed));
            let options = StoreOptions { without_damaged_blocks: true, cache_reads: false, ..options() };
            let Ok(mut store) = Store::open(device, log, options) else { continue };
            let what = format!("{fault:?}, seed {seed}");
            let model = fill(&mut store, &mut random);
            let seen = check(&mut store, &model, &what);
            let _ = store.close();
            let (device, log) = store.into_devices();
            let (mut device, mut log) = (device.inner().clone(), log);
            cycle_power(&mut device);
            cycle_power(&mut log);
            let again = check_reopened(device, log, &model, &what).unwrap_or_default();
            sum =
                Seen { right: sum.right + seen.right + again.right, told: sum.told + seen.told + again.told };
        }
        // A read that does not match is tried again.
        let is_of_writes = matches!(fault, Fault::LostWrite | Fault::MisdirectedWrite);
        assert!(sum.right > 300 && (sum.told > 0 || !is_of_writes), "{fault:?}: {sum:?}");
    }
}

/// Of a log that lies, what is acknowledged is read until the store is left; an opening afterwards finds it, or tells.
#[test]
fn log_that_lies_is_told() {
    for fault in FAULTS {
        let (mut right, mut refused, mut told) = (0, 0, 0);
        for seed in 0..24 {
            let mut random = Seed(seed).derive("faults of the log").source();
            let (device, log) = create(4, 120, 2, seed).into_devices();
            let faults = Faults::default().with(fault, Rate::Share(0.02));
            let log = Faulty::over_data(log, faults, Seed(seed));
            let Ok(mut store) = Store::open(device, log, options()) else {
                refused += 1;
                continue;
            };
            let what = format!("{fault:?} of the log, seed {seed}");
            let mut model = fill(&mut store, &mut random);
            // Some stays in the log alone.
            for nth in 0..40_u8 {
                let mut batch = Batch::default();
                batch.put([nth, b'l'], [nth; 90]);
                let ticket = store.write(batch, Durability::Device).map(|ticket| store.wait(ticket));
                if let Ok(Some(crate::Finished { outcome: Outcome::Write(Ok(_)), .. })) = ticket {
                    model.insert(vec![nth, b'l'], vec![nth; 90]);
                }
            }
            let seen = check(&mut store, &model, &what);
            assert_eq!(seen.told, 0, "{what}: reads do not need the log");
            if store.close().is_err() {
                told += 1;
            }
            let (mut device, log) = store.into_devices();
            let mut log = log.inner().clone();
            cycle_power(&mut device);
            cycle_power(&mut log);
            match check_reopened(device, log, &model, &what) {
                Some(seen) => (right, told) = (right + seen.right, told + seen.told),
                None => refused += 1,
            }
        }
        println!("{fault:?}: {right} right, {told} told, {refused} refused");
        assert!(right > 300, "{fault:?}: {right} right, {told} told, {refused} refused");
    }
}
