//! Backups that are made while the store is written.

use super::{TestStore, all, create, key, value};
use crate::operation::{Batch, Outcome};
use crate::{Backup, BackupEntry, BackupError, BackupReader, Durability, Loader, whole_backup};
use flashlane_base::{Duration, Instant, Seed};
use std::collections::BTreeMap;
use std::io::{self, Cursor};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn read(file: &[u8]) -> Result<Vec<BackupEntry>, BackupError> {
    BackupReader::open(file)?.collect()
}

/// Returns a store that merges have gone over, and what it holds.
fn filled(seed: u64) -> (TestStore, Map) {
    let (mut store, mut random, mut model) = (create(4, 200, 3, seed), Seed(seed).source(), Map::new());
    for _ in 0..600 {
        let (key, value) = (key(&mut random, 200), value(&mut random));
        let mut batch = Batch::default();
        batch.put(key.clone(), value.clone());
        super::write(&mut store, batch).expect("there is room");
        model.insert(key, value);
    }
    store.settle();
    (store, model)
}

/// A backup has the moment of its beginning, whatever is written and merged until it ends.
#[test]
fn backup_while_writers_go_on_has_one_moment() {
    let (mut writes_meanwhile, mut flushes_meanwhile) = (0, 0);
    for seed in 0..6 {
        let (mut store, model) = filled(seed);
        let mut random = Seed(seed).derive("writers").source();
        let mut backup = Backup::begin(&mut store, Vec::new()).expect("the store is sound");
        let flushes_before = store.status().counters.flushes;
        let (mut out, mut now) = (Vec::new(), model.clone());
        while !backup.is_done() {
            let key = key(&mut random, 260);
            let mut batch = Batch::default();
            match random.chance(0.3) {
                true => {
                    batch.delete(key.clone());
                    now.remove(&key);
                }
                false => {
                    let value = vec![random.bits() as u8; random.below(900) as usize];
                    batch.put(key.clone(), value.clone());
                    now.insert(key, value);
                }
            }
            let write = store.write(batch, Durability::Device).expect("there is room");
            let mut is_written = false;
            while !is_written {
                store.reap(Instant::FAR, &mut out);
                for finished in out.drain(..) {
                    let Some(finished) = backup.offer(&mut store, finished).expect("the store is sound")
                    else {
                        continue;
                    };
                    assert_eq!(finished.ticket, write);
                    assert!(matches!(finished.outcome, Outcome::Write(Ok(_))));
                    is_written = true;
                }
            }
            writes_meanwhile += 1;
        }
        flushes_meanwhile += store.status().counters.flushes - flushes_before;
        let (file, entries) = backup.finish(&mut store).expect("it is written");
        let found: Map =
            read(&file).expect("it is sound").into_iter().map(|entry| (entry.key, entry.value)).collect();
        assert!(found == model && entries == model.len() as u64, "seed {seed}");
        assert_eq!(all(&mut store, None, &mut random), now, "seed {seed}");

        // A store of another shape takes it.
        let mut restored = create(2, 300, 1 + (seed % 4) as u32, seed + 100);
        let mut loader = Loader::new(&mut restored, Durability::Device);
        for entry in read(&file).expect("it is sound") {
            while !loader.offer_until(&entry.key, &entry.value, entry.expiry_ms).expect("there is room") {
                loader.wait(Duration::from_s(1)).expect("the devices are sound");
            }
        }
        assert_eq!(loader.finish(), Ok(entries));
        assert_eq!(all(&mut restored, None, &mut random), model, "seed {seed}");
    }
    assert!(writes_meanwhile > 100 && flushes_meanwhile > 10, "{writes_meanwhile}, {flushes_meanwhile}");
}

/// The snapshot of a backup that has ended holds no versions back, however it ended.
#[test]
fn backup_that_ends_keeps_no_snapshot() {
    struct Full(usize);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (mut store, _) = filled(1);
    let mut failures = 0;
    for room in [0, 30, 1000, 200_000, usize::MAX] {
        let Ok(mut backup) = Backup::begin(&mut store, Full(room)) else {
            failures += 1;
            continue;
        };
        let result = loop {
            if backup.is_done() {
                break backup.finish(&mut store).map(drop);
            }
            if let Err(error) = backup.wait(&mut store, Duration::from_s(1)) {
                backup.abandon(&mut store);
                break Err(error);
            }
        };
        failures += usize::from(matches!(result, Err(BackupError::Write(_))));
    }
    assert_eq!(failures, 4);
    let backup = Backup::begin(&mut store, Vec::new()).expect("the store is sound");
    backup.abandon(&mut store);
    assert_eq!(store.core.live_snapshots(), 0);
}

#[test]
fn backup_that_is_damaged_or_cut_is_refused() {
    let mut store = create(4, 200, 2, 1);
    store.set_time(1000);
    for nth in 0..3000_u32 {
        let mut batch = Batch::default();
        batch.put_until(nth.to_be_bytes(), vec![nth as u8; 500], 2000 + u64::from(nth));
        super::write(&mut store, batch).expect("there is room");
    }
    let mut backup = Backup::begin(&mut store, Vec::new()).expect("the store is sound");
    while !backup.is_done() {
        backup.wait(&mut store, Duration::from_s(1)).expect("the store is sound");
    }
    let (file, _) = backup.finish(&mut store).expect("it is written");
    let sound = read(&file).expect("it is sound");
    assert_eq!((sound.len(), sound[7].expiry_ms), (3000, Some(2007)));
    let mut random = Seed(1).source();
    for _ in 0..300 {
        let mut bad = file.clone();
        match random.below(3) {
            0 => bad.truncate(random.below(file.len() as u64) as usize),
            1 => bad[random.below(file.len() as u64) as usize] ^= 1 << random.below(8),
            _ => bad.push(0),
        }
        // Entries before the error are those of the backup.
        let Ok(reader) = BackupReader::open(&bad[..]) else { continue };
        let found: Vec<_> = reader.collect();
        assert!(matches!(found.last(), Some(Err(_))));
        let entries = found.iter().filter_map(|entry| entry.as_ref().ok());
        assert!(entries.eq(&sound[..found.len() - 1]));
    }
}

#[test]
fn whole_backup_has_its_end_and_nothing_behind() {
    let (mut store, _) = filled(1);
    let mut backup = Backup::begin(&mut store, Vec::new()).expect("the store is sound");
    while !backup.is_done() {
        backup.wait(&mut store, Duration::from_ms(1)).expect("the store is sound");
    }
    let (file, _) = backup.finish(&mut store).expect("memory has room");
    let whole = |file: &[u8]| whole_backup(Cursor::new(file.to_vec()));
    assert_eq!(whole(&file).unwrap(), store.status().store);
    let more = [&file[..], b"notes"].concat();
    assert!(matches!(whole(&more), Err(BackupError::Behind)));
    for length in [0, 7, 8, 39, 40, 51, 52, file.len() / 2, file.len() - 8, file.len() - 1] {
        let error = whole(&file[..length]).unwrap_err();
        let is_cut = matches!(error, BackupError::NoBackup | BackupError::Header | BackupError::Cut { .. });
        assert!(is_cut, "{length}: {error}");
    }
    for at in [0, 16, 40, 47, file.len() - 20, file.len() - 12, file.len() - 1] {
        let mut other = file.clone();
        other[at] ^= 1;
        assert!(whole(&other).is_err(), "{at}");
    }
}
