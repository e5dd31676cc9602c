//! Writes where blocks cannot be written: every accepted one completes, and its failure names the cause.

use crate::{KeyValueStore, Slices, StoreError, StoreOptions};
use flashlane_base::Seed;
use flashlane_device_testing::{MemoryDisk, MemoryFaults, MemoryLanes};

type Memory = KeyValueStore<MemoryLanes, MemoryDisk>;

fn key(nth: u32) -> [u8; 4] {
    nth.to_be_bytes()
}

/// Reopens a store on a device with these faults.
fn with_faults(store: Memory, faults: MemoryFaults) -> Memory {
    let (device, log) = store.into_store().into_devices();
    KeyValueStore::open(device.with_faults(faults), log).expect("the store is there")
}

/// Puts keys from `first` on until one fails. Returns its number, and why it failed.
fn put_until_failure(store: &mut Memory, first: u32) -> (u32, StoreError) {
    let mut keys = first..first + 5000;
    let failed = keys.find_map(|nth| Some((nth, store.put(&key(nth), &[7; 500]).err()?)));
    failed.expect("log and memory are full, and no block can be written")
}

/// A store with some keys, and their number, then on a device with these faults.
fn store_with(slices: u32, faults: MemoryFaults) -> (Memory, u32) {
    let device = MemoryLanes::new(4, 64, 4096, 512, Seed(1));
    let log = MemoryDisk::new(256 << 10, 512, Seed(1));
    let store = crate::Store::create(device, log, 1, Slices::even(slices), StoreOptions::default());
    let mut store = KeyValueStore::from(store.expect("the devices suit"));
    (0..200).for_each(|nth| store.put(&key(nth), &[7; 500]).expect("there is room"));
    (with_faults(store, faults), 200)
}

#[test]
fn writes_without_space_fail_and_go_on_once_there_is_some() {
    for slices in [1, 4] {
        let full = MemoryFaults { no_space: 1.0, ..MemoryFaults::default() };
        let (mut store, first) = store_with(slices, full);
        let (failed, error) = put_until_failure(&mut store, first);
        let text = error.to_string();
        assert!(text.contains("os error 28") && text.contains("make room"), "{text}");
        assert!(!text.contains("the device fails"), "{text}");
        for nth in failed..failed + 3 {
            assert!(store.put(&key(nth), &[7; 500]).is_err(), "key {nth} fails like the first one");
        }
        assert!(store.delete(&key(0)).is_err(), "a delete completes too");
        let mut store = with_faults(store, MemoryFaults::default());
        for nth in 0..failed {
            assert_eq!(store.get(&key(nth)), Ok(Some(vec![7; 500])), "key {nth} of {failed}");
        }
        assert_eq!(store.put(&key(failed), &[8; 500]), Ok(()));
    }
}

#[test]
fn writes_end_where_every_unit_fails() {
    for slices in [1, 4] {
        let (mut store, first) =
            store_with(slices, MemoryFaults { unit_fails: 1.0, ..MemoryFaults::default() });
        let (failed, error) = put_until_failure(&mut store, first);
        assert!(error.to_string().contains("the device fails: the block could not be written"), "{error}");
        for nth in 0..failed {
            assert_eq!(store.get(&key(nth)), Ok(Some(vec![7; 500])), "key {nth} of {failed}");
        }
    }
}

#[test]
fn puts_that_fail_do_not_use_up_the_device() {
    let (mut store, _) = store_with(1, MemoryFaults { unit_fails: 1.0, ..MemoryFaults::default() });
    let free = store.status().blocks_free;
    store.put(b"key", &[7; 500]).expect("it is in the log");
    store.store().flush();
    store.store().settle();
    let left = store.status().blocks_free;
    assert!(left + 64 >= free, "{left} of {free} blocks are left after a flush that failed");
}
