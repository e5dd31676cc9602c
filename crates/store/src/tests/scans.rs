//! Tests of what scans read.

use super::*;
use crate::ReadFailure;

const KEYS: u32 = 360;

/// Returns a store whose keys lie in three runs by turns.
fn three_runs(cache_reads: bool) -> TestStore {
    let device = MemoryLanes::new(2, 64, 8192, 512, Seed(5));
    let options = StoreOptions { merge: "tiered".into(), cache_reads, ..options() };
    let mut store =
        Store::create(device, MemoryDisk::new(256 << 10, 512, Seed(5)), 4, Slices::even(1), options)
            .expect("the devices suit");
    for run in 0..3 {
        for number in (run..KEYS).step_by(3) {
            let mut batch = Batch::default();
            batch.put(number.to_be_bytes(), vec![7; 20]);
            write(&mut store, batch).expect("there is room");
        }
        store.flush();
        store.settle();
    }
    let patches = store.status().slices[0].patches.clone();
    assert_eq!(patches.iter().sum::<u64>(), 3, "{patches:?}");
    store
}

/// Returns the reads that wait or are in flight.
fn reads(store: &TestStore) -> u64 {
    let lanes = store.blocks().status().lanes;
    lanes.iter().map(|lane| lane.queue.reads_waiting + lane.queue.reads_in_flight).sum()
}

/// Scans up to `items` keys from `start` on. Returns their numbers, and the most reads that were in flight with all
/// there were.
fn scan(store: &mut TestStore, start: u32, end: Option<u32>, items: u64) -> (Vec<u32>, u64, u64) {
    store.settle();
    let end = end.map(u32::to_be_bytes);
    let ticket = store.scan(&start.to_be_bytes(), end.as_ref().map(|end| &end[..]), items, u64::MAX, None);
    let (mut at_once, mut all, mut before) = (reads(store), reads(store), reads(store));
    while !store.core.has_finished() {
        assert!(store.step(Instant::FAR), "a scan completes");
        let now = reads(store);
        // A step ends one read at least.
        all += (now + 1).saturating_sub(before.max(1));
        (at_once, before) = (at_once.max(now), now);
    }
    let Outcome::Scan(Ok(page)) = store.wait(ticket).expect("it has completed").outcome else {
        panic!("the devices are sound")
    };
    let number = |key: Vec<u8>| u32::from_be_bytes(key.try_into().expect("four bytes"));
    (page.items.into_iter().map(|item| number(item.key)).collect(), at_once, all)
}

#[test]
fn scan_reads_each_run_once_and_at_once() {
    let mut store = three_runs(false);
    for start in (0..200).step_by(7) {
        let (found, at_once, all) = scan(&mut store, start, None, 90);
        assert_eq!(found, (start..start + 90).collect::<Vec<_>>());
        assert_eq!(at_once, 3, "from {start}");
        // Groups have more or fewer entries than on average.
        assert!((3..6).contains(&all), "{all} reads from {start}");
    }
}

#[test]
fn second_scan_of_keys_takes_no_device() {
    let mut store = three_runs(true);
    let (found, _, all) = scan(&mut store, 7, None, 90);
    assert_eq!((found.len(), all >= 3), (90, true));
    assert!(store.status().cache_memory_bytes > 90 * 20);
    for start in [7, 20] {
        let again = scan(&mut store, start, None, 70);
        assert_eq!(again, ((start..start + 70).collect(), 0, 0));
    }
    // A get finds what a scan has read.
    let before = store.status().counters;
    assert_eq!(get(&mut store, &30_u32.to_be_bytes()), Some(vec![7; 20]));
    let counters = store.status().counters.since(&before);
    assert_eq!((counters.get_reads, counters.get_reads_cached), (0, 1));
}

#[test]
fn scan_reads_nothing_behind_its_end() {
    let mut store = three_runs(false);
    let (found, at_once, all) = scan(&mut store, 30, Some(33), u64::MAX);
    assert_eq!((found, at_once), (vec![30, 31, 32], 3));
    assert!(all <= 6, "{all} reads of groups with about twenty entries");
    let (found, ..) = scan(&mut store, KEYS, None, 10);
    assert_eq!(found, []);
}

#[test]
fn scan_looks_further_ahead_where_keys_are_deleted() {
    let mut store = create(2, 128, 1, 6);
    for number in 0..1500_u32 {
        let mut batch = Batch::default();
        batch.put(number.to_be_bytes(), vec![7; 20]);
        write(&mut store, batch).expect("there is room");
    }
    let snapshot = store.snapshot();
    for number in 1..1499_u32 {
        let mut batch = Batch::default();
        batch.delete(number.to_be_bytes());
        write(&mut store, batch).expect("there is room");
    }
    store.flush();
    store.settle();
    let (found, _, all) = scan(&mut store, 0, None, 2);
    assert_eq!(found, [0, 1499]);
    // Each of these patches has ten groups or more.
    let patches: u64 = store.status().slices[0].patches.iter().sum();
    assert!(all < 4 * patches, "{all} reads of {patches} patches");
    store.release(snapshot);
}

/// Returns the numbers of the keys that a scan finds, and those that it says it cannot read, where byte `at` of the
/// unit of a block is another one; `None` where the whole block is lost.
fn with_damage(
    store: TestStore,
    block: usize,
    at: usize,
) -> Option<(Vec<u32>, Vec<std::ops::Range<u32>>, u64)> {
    let address = store.blocks().list().nth(block).expect("there are three blocks").address;
    let (mut device, log) = store.into_devices();
    device.lane_mut(flashlane_device::Lane(address.lane))[address.unit as usize * 8192 + at] ^= 0x40;
    let options = StoreOptions { without_damaged_blocks: true, ..options() };
    let mut store = KeyValueStore::from(Store::open(device, log, options).expect("a part is lost at most"));
    let number = |key: &[u8]| {
        let mut bytes = [0; 4];
        bytes[..key.len().min(4)].copy_from_slice(&key[..key.len().min(4)]);
        u32::from_be_bytes(bytes) + u32::from(key.len() > 4)
    };
    let (mut found, mut gaps) = (Vec::new(), Vec::new());
    for item in store.entries(b"", None, true) {
        match item {
            Ok(item) => found.push(number(&item.key)),
            Err(StoreError::Scan(ScanFailure { gap: Some(Gap { from, to }), .. })) => {
                gaps.push(number(&from)..number(&to));
            }
            Err(error) => panic!("{error}"),
        }
    }
    let readable = (0..KEYS).filter(|key| store.get(&key.to_be_bytes()).is_ok()).count() as u64;
    store.loss().is_none().then_some((found, gaps, readable))
}

#[test]
fn scan_goes_on_behind_keys_that_cannot_be_read() {
    let mut with_gaps = 0;
    for nth in 0..40 {
        let Some((found, gaps, readable)) = with_damage(three_runs(false), nth % 3, nth * 199) else {
            continue;
        };
        let missing: Vec<u32> = gaps.iter().cloned().flatten().collect();
        assert!(gaps.windows(2).all(|pair| pair[0].end <= pair[1].start), "{gaps:?} ascend");
        let mut all = [found.clone(), missing.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..KEYS).collect::<Vec<_>>(), "each key is found or not readable, byte {nth}");
        // A sector has parts of two groups of 18 keys, and the keys of the two other runs between these are uncertain
        // too.
        assert!(
            missing.len() <= 3 * 36 && readable >= u64::from(KEYS) - 36,
            "{missing:?}, {readable} are readable"
        );
        with_gaps += u32::from(!gaps.is_empty());
    }
    assert!(with_gaps > 5, "{with_gaps} scans met damage");
}

#[test]
fn key_that_is_not_found_may_be_lost_with_a_unit() {
    let mut store = three_runs(false);
    // A tombstone says of one key that it is not there.
    let mut batch = Batch::default();
    batch.delete(1u32.to_be_bytes());
    write(&mut store, batch).expect("there is room");
    let address = store.blocks().list().next().expect("there are blocks").address;
    let (mut device, log) = store.into_devices();
    let unit = address.unit as usize * 8192;
    device.lane_mut(flashlane_device::Lane(address.lane))[unit..unit + 8192].fill(0x5a);
    let mut store = KeyValueStore::from(Store::open(device, log, options()).expect("the rest is there"));
    let loss = store.loss().expect("a unit is damaged");
    assert_eq!((loss.units, loss.blocks.len()), (1, 0));
    let (mut found, mut may_be_lost) = (0, 0);
    for key in (0..KEYS + 9).map(u32::to_be_bytes) {
        match (store.get(&key), store.contains(&key)) {
            (Ok(Some(_)), Ok(true)) => found += 1,
            (Ok(None), Ok(false)) => assert_eq!(key, 1u32.to_be_bytes()),
            (Err(StoreError::Read(get)), Err(StoreError::Read(contains))) => {
                assert_eq!((&get, &contains), (&ReadFailure::MayBeLost(Box::new(loss.clone())), &get));
                may_be_lost += 1;
            }
            other => panic!("{key:?}: {other:?}"),
        }
    }
    // One of three runs is lost, and nine keys were never there.
    assert_eq!((found + may_be_lost, may_be_lost > KEYS / 4 + 9), (KEYS + 8, true));
}
