//! A store with a damaged block, which fills up: merges that need the block do not complete.

use super::*;
use crate::{Loader, StoreError};
use flashlane_base::Duration;
use flashlane_device::Lane;

const UNITS: u64 = 32;
const UNIT_BYTES: u64 = 64 << 10;

/// Loads pairs in no order until one is refused, at most `count`. Returns the number that was taken.
fn load(store: &mut TestStore, count: u64, length: usize, random: &mut Random) -> u64 {
    let mut loader = Loader::new(store, Durability::Device);
    let mut waits = 0;
    for nth in 0..count {
        let key = format!("k{:08}", random.below(100_000_000));
        loop {
            match loader.offer(key.as_bytes(), &vec![nth as u8; length]) {
                Ok(true) => break,
                Ok(false) => drop(loader.wait(Duration::from_s(1)).expect("the devices take writes")),
                Err(StoreError::Write(WriteError::Full { .. })) => return nth,
                Err(error) => panic!("{error}"),
            }
            waits += 1;
            assert!(waits < 100_000, "pair {nth} is neither taken nor refused");
        }
    }
    count
}

#[test]
fn full_store_with_a_damaged_block_refuses_values() {
    let device = MemoryLanes::new(4, UNITS, UNIT_BYTES, 4096, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let mut store = Store::create(device, log, 1, Slices::even(1), StoreOptions::default()).unwrap();
    assert_eq!(load(&mut store, 2500, 500, &mut Seed(1).source()), 2500);
    store.close().unwrap();
    let (device, log) = store.into_devices();
    let mut refused = 0;
    for (lane, unit) in (0..4 * UNITS).step_by(7).map(|nth| ((nth % 4) as u32, nth / 4)) {
        let mut device = device.clone();
        let at = (unit * UNIT_BYTES) as usize;
        device.lane_mut(Lane(lane))[at + 4096..at + 20480].fill(0x5a);
        let Ok(mut store) = Store::open(device, log.clone(), StoreOptions::default()) else { continue };
        let taken = load(&mut store, 8000, 700, &mut Seed(2).source());
        let written = store.status().counters.merge_bytes_written;
        assert!(
            written < 16 * 4 * UNITS * UNIT_BYTES,
            "lane {lane}, unit {unit}: merges wrote {written} bytes"
        );
        // Deletes go on until no block is left for them.
        for nth in 0..1000_u32 {
            let mut batch = Batch::default();
            batch.delete(format!("k{nth}"));
            match write(&mut store, batch) {
                Ok(_) => {}
                Err(WriteError::Full { .. }) => break,
                Err(error) => panic!("lane {lane}, unit {unit}: {error}"),
            }
        }
        refused += u32::from(taken < 8000);
    }
    assert!(refused > 15, "{refused} stores refuse a value");
}
