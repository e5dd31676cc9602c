//! Blocks on files, simulated devices and failing devices, by their specs.

use flashlane_base::{Instant, Seed};
use flashlane_block::{FormatError, GetError, GetFailure, OpenError as BlockOpenError, StoreError};
use flashlane_device::{Buffer, DataDevice, Device, Lane, Request, UnitState};
use flashlane_open::{AccessMode, AnyBlockStore, BlocksError, Consent, NewStore, OpenError, OpenOptions};
use flashlane_store::{KeyValueStore, StoreOptions};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: u64 = 1 << 20;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for tests")
}

/// Puts and deletes blocks of each relevant length, and compares the rest with the data put.
fn fill(store: &mut AnyBlockStore) -> BTreeMap<u64, Vec<u8>> {
    let most = store.block_bytes() as usize;
    let mut stored = BTreeMap::new();
    for (nth, length) in [0, 1, 511, 4096, most - 1, most, 100].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + nth) as u8).collect();
        let id = store.put(&bytes).expect("there is room");
        assert_eq!(stored.insert(id, bytes), None, "id {id} was given twice");
    }
    let deleted = *stored.keys().nth(3).expect("it was put");
    store.delete(deleted).expect("it is there");
    stored.remove(&deleted);
    assert!(matches!(store.get(deleted), Err(StoreError::Get(GetError::NotFound { .. }))));
    compare(store, &stored);
    stored
}

fn compare(store: &mut AnyBlockStore, stored: &BTreeMap<u64, Vec<u8>>) {
    let listed: Vec<u64> = store.list().map(|info| info.id).collect();
    assert_eq!(listed, stored.keys().copied().collect::<Vec<_>>());
    for (&id, bytes) in stored {
        assert!(store.get(id).expect("it was put") == *bytes, "block {id} has other bytes");
    }
}

#[test]
fn blocks_on_a_file_survive_reopening() {
    let folder = folder();
    let path = folder.path().join("flash");
    let spec = format!("lanes({},channels=4,unit=64KiB)", path.display());
    let mut store = OpenOptions::new().create(4 * MIB).format_blocks(&spec).expect("a new file");
    let mut stored = fill(&mut store);
    drop(store);
    // The shape is read from the device.
    let spec = format!("lanes({})", path.display());
    let mut store = OpenOptions::new().open_blocks(&spec, AccessMode::ReadWrite).expect("its blocks");
    compare(&mut store, &stored);
    let id = store.put(b"more").expect("there is room");
    assert_eq!(stored.insert(id, b"more".to_vec()), None, "id {id} was given twice");
    drop(store);
    let mut store = OpenOptions::new().open_blocks(&spec, AccessMode::ReadOnly).expect("its blocks");
    compare(&mut store, &stored);
    assert!(matches!(store.put(b"x"), Err(StoreError::Put(flashlane_block::PutError::ReadOnly))));
    assert!(store.delete(id).is_err());
}

#[test]
fn blocks_on_striped_lanes_need_the_same_stripes() {
    let folder = folder();
    let path = folder.path().join("flash");
    let spec = |layer: &str, shape: &str| {
        format!("{layer}lanes({}{shape}){}", path.display(), if layer.is_empty() { "" } else { ",lanes=2)" })
    };
    let mut store = OpenOptions::new()
        .create(16 * MIB)
        .format_blocks(&spec("striped(", ",channels=4,unit=256KiB"))
        .expect("a new file");
    assert!(store.block_bytes() > 256 << 10, "a block is a unit of two lanes");
    let stored = fill(&mut store);
    drop(store);
    let mut store =
        OpenOptions::new().open_blocks(&spec("striped(", ""), AccessMode::ReadWrite).expect("its blocks");
    compare(&mut store, &stored);
    drop(store);
    let four = spec("striped(", "").replace("lanes=2", "lanes=4");
    for other in [&spec("", ""), &four] {
        let refusal = OpenOptions::new().open_blocks(other, AccessMode::ReadWrite).map(drop);
        let refusal = refusal.expect_err("blocks of 512 KiB are none of 256 KiB or 1 MiB").to_string();
        assert!(refusal.contains("was formatted as 2 lanes of"), "{refusal}");
    }
    let shorter = spec("striped(", "").replace("lanes=2", "lanes=2,stripe=64KiB");
    let refusal = OpenOptions::new().open_blocks(&shorter, AccessMode::ReadWrite).map(drop);
    let refusal = refusal.expect_err("its superblock is on another lane").to_string();
    assert!(refusal.contains("holds no blocks: none of its 8 written units"), "{refusal}");
    let mut store =
        OpenOptions::new().open_blocks(&spec("striped(", ""), AccessMode::ReadOnly).expect("unchanged");
    compare(&mut store, &stored);
}

/// Any bytes begin a part of a striped unit: lanes below stripes are not opened as those whose units begin with
/// headers.
#[test]
fn remains_in_a_part_of_a_striped_unit_are_no_damage() {
    let folder = folder();
    let lanes = format!("lanes({})", folder.path().join("flash").display());
    let spec = format!("striped({lanes},lanes=2)");
    let made = spec.replace("flash)", "flash,channels=4,unit=256KiB)");
    drop(OpenOptions::new().create(16 * MIB).format_blocks(&made).expect("a new file"));
    let consent = Consent::DestroyUsed(folder.path().join("flash"));
    let mut opened = OpenOptions::new().consent(consent).open_data(&lanes).expect("the lanes below");
    let (device, unit_bytes) = (&mut opened.device, 256 << 10);
    let erased = |unit: &u64| device.unit(Lane(0), *unit).is_some_and(|unit| unit.state == UnitState::ERASED);
    let at = (0..).find(erased).expect("most are erased") * unit_bytes;
    let bytes = Buffer::from_slice(&vec![9; unit_bytes as usize]);
    device.submit_with(Request::write(1, at, unit_bytes), bytes).expect("it is erased");
    device.reap(Instant::FAR, &mut Vec::new());
    device.submit(Request::erase(2, at, unit_bytes)).expect("it is written");
    device.reap(Instant::FAR, &mut Vec::new());
    drop(opened);
    for (spec, damaged) in [(&spec, 0), (&lanes, 1)] {
        let opened = OpenOptions::new().check_erased(true).open_data(spec).expect("lanes");
        assert_eq!(opened.device.counters().get("units_overwritten"), Some(damaged), "{spec}");
    }
}

/// The store waits on the files of both at once.
#[test]
fn store_on_striped_lanes_keeps_its_values() {
    let folder = folder();
    let spec =
        format!("striped(lanes({},channels=4,unit=256KiB),lanes=2)", folder.path().join("flash").display());
    let log = folder.path().join("log").display().to_string();
    let opening = OpenOptions::new();
    let mut store = KeyValueStore::from(
        opening.clone().create(32 * MIB).create_store(&spec, &log, NewStore::default()).expect("new files"),
    );
    for nth in 0..200_u8 {
        store.put(&[nth], &[nth; 40_000]).expect("there is room");
    }
    drop(store);
    let spec = spec.replace(",channels=4,unit=256KiB", "");
    let opened =
        opening.open_store(&spec, &log, AccessMode::ReadOnly, StoreOptions::default()).expect("the store");
    let mut store = KeyValueStore::from(opened);
    for nth in 0..200_u8 {
        assert!(
            store.get(&[nth]).expect("it can be read").is_some_and(|value| value == vec![nth; 40_000]),
            "{nth}"
        );
    }
}

/// Makes two files with the same lanes, `empty` without blocks, and `full` with one.
fn empty_and_full(folder: &Path) -> [PathBuf; 2] {
    let [empty, full] = ["empty", "full"].map(|name| folder.join(name));
    let divided = format!("lanes({},channels=2,unit=64KiB)", empty.display());
    OpenOptions::new().create(4 * MIB).format_blocks(&divided).expect("a new file");
    fs::copy(&empty, &full).expect("there is room");
    let spec = format!("lanes({})", full.display());
    let mut store = OpenOptions::new().open_blocks(&spec, AccessMode::ReadWrite).expect("its blocks");
    store.put(b"a photo").expect("there is room");
    [empty, full]
}

/// Whoever holds the lock may store blocks, so that those found before the lock was held say nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the wait for a lock is one in real time")]
fn block_stored_while_waiting_for_the_lock_is_kept() {
    let folder = folder();
    let [empty, full] = empty_and_full(folder.path());
    let holder = fs::File::options().write(true).open(&empty).expect("it was made");
    holder.lock_shared().expect("nobody has locked it");
    let given = format!("lanes({})", empty.display());
    let waiting = std::thread::spawn(move || {
        OpenOptions::new().consent(Consent::Destroy).format_blocks(&given).map(drop)
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    holder.write_all_at(&fs::read(full).expect("it was made"), 0).expect("there is room");
    drop(holder);
    let error = waiting.join().expect("it ends").expect_err("the file holds a block by now");
    assert!(error.to_string().contains("1 block"), "{error}");
}

/// The blocks that count are those on the device that is open, not those on the one that its path leads to by then.
#[test]
#[allow(clippy::disallowed_methods, reason = "the link changes in real time")]
fn block_behind_a_link_that_changes_is_kept() {
    let folder = folder();
    let [empty, full] = empty_and_full(folder.path());
    let before = fs::read(&full).expect("it was made");
    let [link, next] = ["link", "next"].map(|name| folder.path().join(name));
    let point = |to: &Path| symlink(to, &next).and_then(|()| fs::rename(&next, &link)).expect("a link");
    point(&empty);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for to in [&full, &empty].into_iter().cycle().take_while(|_| !is_done.load(Ordering::Relaxed)) {
                point(to);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let spec = format!("lanes({})", link.display());
        // Whether it is formatted depends on the file that is found.
        for _ in 0..20 {
            let _ = OpenOptions::new().consent(Consent::Destroy).format_blocks(&spec).map(drop);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(fs::read(&full).expect("it is there") == before, "the block is lost");
}

#[test]
fn simulated_flash_holds_blocks() {
    let spec = "sim:sdf,channels=4,capacity=65216MiB";
    let mut store = OpenOptions::new().seed(Seed(1)).format_blocks(spec).expect("simulated flash");
    fill(&mut store);
}

#[test]
fn too_long_block_is_refused_without_effect() {
    let mut store = OpenOptions::new().format_blocks("sim:sdf,channels=4,capacity=65216MiB").expect("flash");
    let most = store.block_bytes();
    let error = store.put(&vec![0; most as usize + 1]).expect_err("too long");
    assert_eq!(error, StoreError::TooLong { given_bytes: most + 1, block_bytes: most });
    assert_eq!(store.list().count(), 0);
}

#[test]
fn flipped_bits_are_reported_and_never_returned() {
    let folder = folder();
    let path = folder.path().join("flash");
    // A failed get is read once more, so failures of half of the reads make a quarter of the gets fail.
    let spec = format!("lanes(faulty({},bit-flips=50%),channels=4,unit=64KiB)", path.display());
    let mut store = OpenOptions::new().create(8 * MIB).format_blocks(&spec).expect("a new file");
    let (mut good, mut damaged) = (0, 0);
    for nth in 0..60_u8 {
        let bytes = vec![nth; 3000];
        let Ok(id) = store.put(&bytes) else { continue };
        match store.get(id) {
            Ok(read) => {
                assert!(read == bytes, "block {id} has other bytes");
                good += 1;
            }
            Err(StoreError::GetFailed(GetFailure::Damaged { .. })) => damaged += 1,
            Err(error) => panic!("{error}"),
        }
        let _ = store.delete(id);
    }
    assert!(good > 10 && damaged > 0, "good {good}, damaged {damaged}");
}

#[test]
fn foreign_files_are_refused_and_unchanged() {
    let folder = folder();
    let path = folder.path().join("notes");
    let bytes = vec![b'a'; 4 * MIB as usize];
    fs::write(&path, &bytes).expect("a file");
    let spec = format!("lanes({})", path.display());
    let refused = OpenOptions::new().open_blocks(&spec, AccessMode::ReadWrite).map(drop);
    assert!(matches!(refused, Err(BlocksError::Device(_))), "{refused:?}");
    let refused = OpenOptions::new().format_blocks(&spec).map(drop);
    assert!(matches!(refused, Err(BlocksError::NotAllowed { .. })), "{refused:?}");
    let formats = format!("lanes({},format=yes)", path.display());
    let refused = OpenOptions::new().open_blocks(&formats, AccessMode::ReadWrite).map(drop);
    assert!(matches!(refused, Err(BlocksError::FormatInSpec { .. })), "{refused:?}");
    assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
    let spec = format!("lanes({},channels=4,unit=64KiB)", path.display());
    let mut store =
        OpenOptions::new().consent(Consent::Destroy).format_blocks(&spec).expect("it was allowed");
    fill(&mut store);
}

#[test]
fn device_that_cannot_hold_blocks_is_refused() {
    let refused = OpenOptions::new().format_blocks("sim:ssd-s").map(drop);
    assert!(matches!(refused, Err(BlocksError::Format(FormatError::Unsuitable(_)))), "{refused:?}");
    let refused = OpenOptions::new().open_blocks("sim:sdf", AccessMode::ReadWrite).map(drop);
    assert!(matches!(refused, Err(BlocksError::Open(BlockOpenError::NotFormatted { .. }))), "{refused:?}");
    let folder = folder();
    let path = folder.path().join("flash");
    // Lanes of two units are too small for blocks, so the new file is removed.
    let spec = format!("lanes({},channels=1,unit=1MiB)", path.display());
    let refused = OpenOptions::new().create(3 * MIB).format_blocks(&spec).map(drop);
    assert!(refused.is_err() && !path.exists(), "{refused:?}");
    let refused = OpenOptions::new().create(MIB).format_blocks("sim:sdf").map(drop);
    assert!(matches!(refused, Err(BlocksError::Device(OpenError::CreateSimulated { .. }))), "{refused:?}");
}
