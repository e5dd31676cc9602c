//! A store that has lost a block: what is left is read, what is not there is no zeros, and nothing is changed.

use super::*;
use flashlane_device::Lane;
use flashlane_store::Store;

const FILES: u8 = 24;
const BYTES: usize = 1500;

fn name(nth: u8) -> Vec<u8> {
    format!("f{nth}").into_bytes()
}

/// Returns the devices of a store with files in several blocks, and the units of these.
fn filled() -> ((MemoryLanes, MemoryDisk), Vec<(u32, usize)>) {
    let mut store = store(64, false);
    let mut files = Files::open_with(&mut store, EXTENT).unwrap();
    for nth in 0..FILES {
        let mut writer = files.writer().unwrap();
        writer.write(&[nth + 1; BYTES]).unwrap();
        writer.finish(Inode::ROOT, &name(nth)).unwrap();
    }
    store.store().flush();
    store.store().settle();
    let units = store.store().blocks().list().map(|info| (info.address.lane, info.address.unit as usize));
    let units = units.collect();
    (store.into_store().into_devices(), units)
}

#[test]
fn files_of_a_lossy_store_are_read_and_not_changed() {
    let ((device, log), units) = filled();
    assert!(units.len() > 4, "{} blocks", units.len());
    let (mut sound, mut unreadable) = (0, 0);
    for (lane, unit) in units {
        let mut device = device.clone();
        device.lane_mut(Lane(lane))[unit * 8192..][..8192].fill(0x5a);
        let mut store = KeyValueStore::open(device, log.clone()).expect("the rest is there");
        let before = store.status().last_sequence;
        let Ok(mut files) = Files::open_with(&mut store, EXTENT) else { continue };
        for nth in 0..FILES {
            let read = files.find(name(nth)).and_then(|file| files.read(file.inode, 0, u64::MAX));
            match read {
                Ok(bytes) => {
                    assert!(bytes == [nth + 1; BYTES], "file {nth} is the one that was written");
                    sound += 1;
                    let file = files.find(name(nth)).unwrap().inode;
                    assert!(matches!(files.write(file, 0, b"x"), Err(FileError::Lossy(_))));
                    assert!(matches!(files.set_length(file, 9), Err(FileError::Lossy(_))));
                }
                Err(error) => {
                    assert!(error.may_be_lost(), "{error}");
                    unreadable += 1;
                }
            }
        }
        assert!(matches!(files.check(true), Err(FileError::Lossy(_))));
        assert!(matches!(files.create(Inode::ROOT, b"new"), Err(FileError::Lossy(_))));
        assert!(files.remove(Inode::ROOT, &name(0)).is_err());
        assert_eq!(store.status().last_sequence, before, "nothing is written");
    }
    assert!(sound > 40 && unreadable > 10, "{sound} sound, {unreadable} unreadable");
}

#[test]
fn repair_of_a_lossy_store_gives_up_what_is_lost_and_no_more() {
    let ((device, log), units) = filled();
    for (lane, unit) in units {
        let mut device = device.clone();
        device.lane_mut(Lane(lane))[unit * 8192..][..8192].fill(0x5a);
        let mut store = KeyValueStore::from(Store::open(device, log.clone(), Default::default()).unwrap());
        let mut files = Files::open_without_lost(&mut store).unwrap();
        files.check(true).unwrap();
        assert!(files.check(false).unwrap().is_sound());
        // A new file takes the bytes of none that is left.
        let left = tree(&mut files);
        let new = files.create(Inode::ROOT, b"new").unwrap();
        files.write(new, 0, b"new").unwrap();
        let mut after = tree(&mut files);
        assert_eq!(after.remove("/new"), Some(Some(b"new".to_vec())));
        assert!(after == left, "the others are as before");
    }
}
