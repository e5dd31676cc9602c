//! Stores that earlier programs wrote, as bytes in the repository: each is opened, read, written and opened again.
//!
//! A file of `fixtures` is made once for each version of the formats, by `RENEW_FORMATS=NAME cargo test -p
//! flashlane-store formats`, and never again: users have stores like it. It has two devices, each the number of its
//! sectors that are not zeros (4 bytes), and of each its number (4) and its 512 bytes.

use super::all;
use crate::operation::Batch;
use crate::options::{Slices, StoreOptions};
use crate::store::Store;
use crate::{Durability, MARK_BYTES, WriteError};
use flashlane_base::{Instant, Seed};
use flashlane_device_testing::MemoryDisk;
use flashlane_layer::lanes::{Lanes, Shape};
use std::collections::BTreeMap;
use std::path::PathBuf;

const SECTOR_BYTES: usize = 512;
const DEVICE_BYTES: u64 = 44 * (16 << 10);
const LOG_BYTES: u64 = 40 * 4096;

type LanesStore = Store<Lanes<MemoryDisk>, MemoryDisk>;

fn disk(bytes: u64) -> MemoryDisk {
    MemoryDisk::new(bytes, SECTOR_BYTES as u64, Seed(1))
}

fn options() -> StoreOptions {
    StoreOptions {
        memory_bytes: 256 << 10,
        reserve_blocks: 12,
        merge: "leveled".into(),
        ..StoreOptions::default()
    }
}

fn write(store: &mut LanesStore, batch: Batch) {
    let ticket = loop {
        match store.write(batch.clone(), Durability::Device) {
            Err(WriteError::Busy { .. }) if store.step(Instant::FAR) => {}
            answer => break answer.expect("there is room"),
        }
    };
    store.wait(ticket).expect("an accepted write completes");
}

/// What a store of a fixture has at time 1000, some of it in patches, some only in the log: values that do not expire,
/// others that do or have, one in pieces, and keys that were deleted.
fn content() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let kept = (0..120_u8).filter(|nth| nth % 5 != 4 && nth % 5 != 3);
    let small = kept.map(|nth| (vec![nth, b'k'], vec![nth; usize::from(nth)]));
    small
        .chain([(b"\xf0long".to_vec(), vec![7; 40_000]), (b"\xf1late".to_vec(), b"in the log".to_vec())])
        .collect()
}

fn fill(store: &mut LanesStore) {
    for nth in 0..120_u8 {
        let mut batch = Batch::default();
        let (key, value) = (vec![nth, b'k'], vec![nth; usize::from(nth)]);
        match nth % 5 {
            3 => batch.put_until(key, value, 900 + u64::from(nth % 2)),
            2 => batch.put_until(key, value, 1 << 40),
            _ => batch.put(key, value),
        };
        write(store, batch);
        if nth % 40 == 39 {
            store.flush();
            store.settle();
        }
    }
    for nth in (4..120).step_by(5) {
        let mut batch = Batch::default();
        batch.delete([nth, b'k']);
        write(store, batch);
    }
    store.flush();
    store.settle();
    let mut batch = Batch::default();
    batch.put(b"\xf0long", vec![7; 40_000]);
    write(store, batch);
    let mut batch = Batch::default();
    batch.put(b"\xf1late", "in the log");
    write(store, batch);
    store.close().expect("the devices are sound");
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn pack(disks: [&mut MemoryDisk; 2]) -> Vec<u8> {
    let mut out = Vec::new();
    for disk in disks {
        let sectors = disk.bytes_mut().chunks(SECTOR_BYTES).zip(0_u32..);
        let used: Vec<_> = sectors.filter(|(sector, _)| sector.iter().any(|&byte| byte != 0)).collect();
        out.extend_from_slice(&(used.len() as u32).to_le_bytes());
        for (sector, number) in used {
            out.extend_from_slice(&number.to_le_bytes());
            out.extend_from_slice(sector);
        }
    }
    out
}

fn unpack(mut bytes: &[u8]) -> [MemoryDisk; 2] {
    let mut take = |length: usize| {
        let (taken, rest) = bytes.split_at(length);
        bytes = rest;
        taken
    };
    [DEVICE_BYTES, LOG_BYTES].map(|length| {
        let mut disk = disk(length);
        disk.bytes_mut().fill(0);
        let number = |taken: &[u8]| u32::from_le_bytes(taken.try_into().expect("four bytes")) as usize;
        for _ in 0..number(take(4)) {
            let at = number(take(4)) * SECTOR_BYTES;
            disk.bytes_mut()[at..at + SECTOR_BYTES].copy_from_slice(take(SECTOR_BYTES));
        }
        disk
    })
}

#[test]
fn stores_of_each_format_are_opened_and_written() {
    if let Ok(name) = std::env::var("RENEW_FORMATS") {
        let shape = Shape { lanes: 2, unit_bytes: 16 << 10, read_unit_bytes: 512, write_unit_bytes: 4096 };
        let lanes = Lanes::format_checked(disk(DEVICE_BYTES), shape, Seed(1)).expect("the disk suits");
        let mut store =
            Store::create(lanes, disk(LOG_BYTES), 7, Slices::even(2), options()).expect("they suit");
        fill(&mut store);
        let (lanes, mut log) = store.into_devices();
        let path = fixture(&name);
        assert!(!path.exists(), "{} exists: users have stores like it", path.display());
        std::fs::write(path, pack([&mut lanes.into_inner(), &mut log])).expect("the fixture can be written");
    }
    let mut names: Vec<_> = std::fs::read_dir(fixture("")).expect("there are fixtures").flatten().collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    assert!(!names.is_empty());
    for name in names {
        let bytes = std::fs::read(name.path()).expect("a fixture can be read");
        let versions: Vec<u8> = bytes
            .windows(12)
            .filter(|end| end[1..4] == [0; 3] && crate::is_block_of_a_store(&end[12 - MARK_BYTES as usize..]))
            .map(|end| end[0])
            .collect();
        assert!(versions.contains(&2) && versions.contains(&3), "{name:?} has footers of {versions:?}");
        let [device, log] = unpack(&bytes);
        let lanes = Lanes::open(device).expect("the lanes are of a known format");
        let mut store = Store::open(lanes, log, options()).expect("the store is of a known format");
        store.set_time(1000);
        assert!(store.loss().is_none() && store.status().log_used > 0.0, "{name:?}");
        let mut expected = content();
        assert_eq!(found(&mut store), expected, "{name:?}");
        for nth in 0..200_u8 {
            let mut batch = Batch::default();
            batch.put([nth, b'n'], vec![nth; 100]);
            write(&mut store, batch);
            expected.insert(vec![nth, b'n'], vec![nth; 100]);
        }
        store.flush();
        store.settle();
        assert_eq!(found(&mut store), expected, "{name:?}, written");
        let (lanes, log) = store.into_devices();
        let lanes = Lanes::open(lanes.into_inner()).expect("the lanes are sound");
        let mut store = Store::open(lanes, log, options()).expect("the store is sound");
        store.set_time(1000);
        assert_eq!(found(&mut store), expected, "{name:?}, opened again");
        while store.step(Instant::FAR) {}
    }
}

fn found(store: &mut LanesStore) -> BTreeMap<Vec<u8>, Vec<u8>> {
    all(store, None, &mut Seed(1).source())
}
