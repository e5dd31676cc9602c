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
