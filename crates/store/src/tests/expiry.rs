//! Values that expire leave the device and the counts, without a delete or an overwrite.

use super::{TestStore, all};
use crate::operation::Batch;
use crate::options::{Slices, StoreOptions};
use crate::store::Store;
use crate::{Durability, WriteError};
use flashlane_base::{Instant, Seed};
use flashlane_device_testing::{MemoryDisk, MemoryLanes};
use flashlane_policy::Options;

/// The device's bytes, and those of a value.
const DEVICE_BYTES: u64 = 4 * 24 * 8192;
const VALUE_BYTES: u64 = 600;

fn create(merge: &str, seed: u64) -> TestStore {
    let device = MemoryLanes::new(4, 24, 8192, 512, Seed(seed));
    let log = MemoryDisk::new(512 << 10, 512, Seed(seed));
    let options = StoreOptions {
        memory_bytes: 256 << 10,
        merge: merge.into(),
        merge_options: Options::new([("trigger".into(), "3".into())]),
        ..StoreOptions::default()
    };
    Store::create(device, log, 1, Slices::even(2), options).expect("the devices suit")
}

/// Stores a value of a fresh key. Returns false where it is refused even when nothing is in flight.
fn put(store: &mut TestStore, nth: u64, expiry_ms: u64) -> bool {
    // Keys of both slices, in no order.
    let key = [&(nth.wrapping_mul(0x9e37_79b1) >> 16).to_be_bytes()[6..], &nth.to_be_bytes()].concat();
    let mut batch = Batch::default();
    batch.put_until(key, vec![nth as u8; VALUE_BYTES as usize], expiry_ms);
    let mut is_settled = false;
    loop {
        match store.write(batch.clone(), Durability::Device) {
            Ok(ticket) => {
                store.wait(ticket);
                return true;
            }
            Err(WriteError::Busy { .. }) if store.step(Instant::FAR) => {}
            Err(WriteError::Full { .. }) if !is_settled => {
                store.settle();
                is_settled = true;
            }
            Err(WriteError::Full { .. }) => return false,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn values_that_only_expire_give_space_back() {
    for (seed, merge) in (0..).zip(["leveled", "tiered", "lazy-leveled", "space-bounded", "by-size"]) {
        let mut store = create(merge, seed);
        // Each value is there for as long as an eighth of the device takes to be written.
        let alive = DEVICE_BYTES / 8 / VALUE_BYTES;
        let values = 6 * DEVICE_BYTES / VALUE_BYTES;
        for nth in 0..values {
            store.set_time(1000 + nth);
            assert!(
                put(&mut store, nth, 1000 + nth + alive),
                "{merge}: value {nth} is refused: {:?}",
                store.status()
            );
        }
        let found = all(&mut store, None, &mut Seed(1).source());
        assert_eq!(found.len() as u64, alive, "{merge}: values that have not expired");
    }
}

/// A device that is full of values takes others once these have expired.
#[test]
fn full_store_takes_values_again_after_the_others_expired() {
    for (seed, merge) in (0..).zip(["leveled", "tiered", "lazy-leveled", "space-bounded", "by-size"]) {
        let mut store = create(merge, seed);
        store.set_time(1);
        let full = (0..).find(|&nth| !put(&mut store, nth, 1000)).expect("the device fills up");
        assert_eq!(all(&mut store, None, &mut Seed(1).source()).len() as u64, full, "{merge}");
        store.set_time(1000);
        assert!(all(&mut store, None, &mut Seed(1).source()).is_empty(), "{merge}");
        let taken = (full..2 * full).take_while(|&nth| put(&mut store, nth, 5000)).count() as u64;
        assert!(2 * taken > full, "{merge}: {taken} of {full} values: {:?}", store.status());
        assert_eq!(all(&mut store, None, &mut Seed(1).source()).len() as u64, taken, "{merge}");
    }
}
