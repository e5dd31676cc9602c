//! Reads and writes of a store whose device vanishes, and a store that is closed while writes wait.

use super::*;
use crate::ReadFailure;
use flashlane_block::GetError;
use flashlane_layer::{Faults, Faulty};

#[test]
fn reads_of_a_lost_device_say_that_it_is_lost() {
    let mut store = create(4, 64, 1, 1);
    for nth in 0..200_u32 {
        let mut batch = Batch::default();
        batch.put(nth.to_be_bytes(), vec![nth as u8; 300]);
        write(&mut store, batch).expect("there is room");
    }
    let mut batch = Batch::default();
    batch.put("long", vec![7; 60_000]);
    write(&mut store, batch).expect("there is room");
    store.flush();
    store.settle();
    let (device, log) = store.into_devices();
    let (mut missing, mut lost) = (0, 0);
    for requests in 0..200 {
        let faults = Faults::default().vanishing_after(requests);
        let faulty = Faulty::over_data(device.clone(), faults, Seed(1));
        let options = StoreOptions { cache_reads: false, ..options() };
        let Ok(mut store) = Store::open(faulty, log.clone(), options) else { continue };
        for key in [&b"long"[..], &[0, 0, 0, 0], &[0, 0, 0, 150]] {
            let ticket = store.get(key, None);
            match store.wait(ticket).expect("a get completes").outcome {
                Outcome::Get(Ok(value)) => assert!(value.is_some(), "after {requests} requests"),
                Outcome::Get(Err(ReadFailure::Missing { .. })) => missing += 1,
                Outcome::Get(Err(failure)) => {
                    lost += u32::from(failure == ReadFailure::Refused(GetError::DeviceLost));
                }
                other => panic!("{other:?}"),
            }
        }
        let ticket = store.scan(&[], None, 10, u64::MAX, None);
        match store.wait(ticket).expect("a scan completes").outcome {
            Outcome::Scan(Err(ScanFailure { failure: ReadFailure::Missing { .. }, .. })) => missing += 1,
            Outcome::Scan(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(missing == 0 && lost > 5, "{missing} missing, {lost} lost");
}

#[test]
fn closing_completes_writes_whose_acknowledgement_is_delayed() {
    let mut store = create(4, 200, 1, 3);
    let mut accepted = 0;
    // As long as merges and containers lag behind, acknowledgements are delayed.
    while !store.core.has_delayed() {
        let mut batch = Batch::default();
        batch.put(u32::to_be_bytes(accepted), vec![1; 1000]);
        match store.write(batch, Durability::Memory) {
            Ok(_) => accepted += 1,
            Err(WriteError::Busy { .. }) => assert!(store.step(Instant::FAR)),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(store.is_busy());
    store.close().expect("the log is sound");
    let mut out = Vec::new();
    store.reap(Instant::ZERO, &mut out);
    assert_eq!(out.len() as u32, accepted, "writes that completed");
    assert!(!store.is_busy());
}

/// A log that vanishes takes no acknowledged write with it: writes fail and say why, reads go on, and closing fails.
#[test]
fn writes_fail_and_reads_go_on_without_the_log() {
    let (mut failed_in_flight, mut refused) = (0, 0);
    for requests in (0..240).step_by(3) {
        let store = create(4, 64, 2, 1);
        let (device, log) = store.into_devices();
        let log = Faulty::over_data(log, Faults::default().vanishing_after(requests), Seed(1));
        let Ok(mut store) = Store::open(device, log, options()) else { continue };
        let mut acknowledged = BTreeMap::new();
        let mut pending: Vec<(crate::Ticket, Vec<u8>, Vec<u8>)> = Vec::new();
        let mut is_lost = false;
        for nth in 0..400_u32 {
            let (key, value) = (key(&mut Seed(u64::from(nth)).source(), 100), vec![nth as u8; 200]);
            let mut batch = Batch::default();
            batch.put(key.clone(), value.clone());
            match store.write(batch, Durability::Device) {
                Ok(ticket) => pending.push((ticket, key, value)),
                Err(WriteError::Log(failure)) => {
                    assert_eq!(failure, flashlane_device::Failure::DeviceLost);
                    is_lost = true;
                    refused += 1;
                }
                Err(WriteError::Busy { .. }) => {}
                Err(error) => panic!("after {requests} requests: {error}"),
            }
            if pending.len() < 4 && !is_lost {
                continue;
            }
            for (ticket, key, value) in pending.drain(..) {
                match store.wait(ticket).expect("an accepted write completes").outcome {
                    Outcome::Write(Ok(_)) => drop(acknowledged.insert(key, value)),
                    Outcome::Write(Err(failure)) => {
                        assert!(matches!(failure, crate::WriteFailure::Log(_)), "{failure}");
                        failed_in_flight += 1;
                        // It may be there or not: another write of this key decides nothing.
                        acknowledged.remove(&key);
                    }
                    other => panic!("{other:?}"),
                }
            }
            if is_lost {
                break;
            }
        }
        if !is_lost {
            continue;
        }
        for (key, value) in &acknowledged {
            let ticket = store.get(key, None);
            match store.wait(ticket).expect("a get completes").outcome {
                Outcome::Get(Ok(Some(found))) => assert_eq!(found.bytes, *value),
                other => panic!("after {requests} requests: {other:?}"),
            }
        }
        store.close().expect_err("the log is gone");
        let (mut device, log) = store.into_devices();
        let mut log = log.inner().clone();
        cycle_power(&mut device);
        cycle_power(&mut log);
        let mut store = Store::open(device, log, options()).expect("the log is there again");
        for (key, value) in &acknowledged {
            assert_eq!(get(&mut store, key).as_ref(), Some(value), "after {requests} requests");
        }
    }
    assert!(failed_in_flight > 20 && refused > 20, "{failed_in_flight} failed, {refused} refused");
}
