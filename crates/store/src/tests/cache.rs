//! Tests of reads that the cache serves.

use super::*;

fn put(store: &mut TestStore, number: u32, value: u8) {
    let mut batch = Batch::default();
    batch.put(number.to_be_bytes(), vec![value; 100]);
    write(store, batch).expect("there is room");
}

/// Returns the reads of the device and of the cache that a call makes.
fn reads(store: &mut TestStore, call: impl FnOnce(&mut TestStore)) -> (u64, u64) {
    let before = store.status().counters;
    call(store);
    let counters = store.status().counters.since(&before);
    (counters.get_reads, counters.get_reads_cached)
}

#[test]
fn second_get_of_a_key_takes_no_device() {
    let mut store = create(2, 64, 1, 1);
    (0..40).for_each(|number| put(&mut store, number, 1));
    store.flush();
    store.settle();
    let key = 7_u32.to_be_bytes();
    let first = reads(&mut store, |store| assert_eq!(get(store, &key), Some(vec![1; 100])));
    assert_eq!(first, (1, 0));
    let second = reads(&mut store, |store| assert_eq!(get(store, &key), Some(vec![1; 100])));
    assert_eq!(second, (0, 1));
    assert!(store.status().cache_memory_bytes > 100);
}

#[test]
fn cached_reads_see_overwrites_deletes_merges_and_snapshots() {
    let mut store = create(2, 64, 1, 2);
    let snapshot_of = |store: &mut TestStore, snapshot| {
        let ticket = store.get(&7_u32.to_be_bytes(), Some(snapshot));
        match store.wait(ticket).expect("a get completes").outcome {
            Outcome::Get(Ok(value)) => value.map(|value| value.bytes[0]),
            other => panic!("{other:?}"),
        }
    };
    let mut snapshots = Vec::new();
    // Enough patches that merges run.
    for round in 1..12_u8 {
        (0..40).for_each(|number| put(&mut store, number, round));
        if round == 9 {
            let mut batch = Batch::default();
            batch.delete(7_u32.to_be_bytes());
            write(&mut store, batch).expect("there is room");
        }
        let expected = (round != 9).then_some(round);
        snapshots.push((store.snapshot(), expected));
        store.flush();
        store.settle();
        for _ in 0..2 {
            assert_eq!(get(&mut store, &7_u32.to_be_bytes()).map(|value| value[0]), expected);
            for &(snapshot, expected) in &snapshots {
                assert_eq!(snapshot_of(&mut store, snapshot), expected, "round {round}");
            }
        }
    }
    let counters = store.status().counters;
    assert!(counters.merges > 0 && counters.get_reads_cached > counters.get_reads, "{counters:?}");
}

#[test]
fn store_without_cache_reads_each_time() {
    let device = MemoryLanes::new(2, 64, 8192, 512, Seed(3));
    let options = StoreOptions { cache_reads: false, ..options() };
    let mut store =
        Store::create(device, MemoryDisk::new(256 << 10, 512, Seed(3)), 4, Slices::even(1), options)
            .expect("the devices suit");
    put(&mut store, 7, 1);
    store.flush();
    store.settle();
    let key = 7_u32.to_be_bytes();
    let twice = reads(&mut store, |store| {
        get(store, &key);
        get(store, &key);
    });
    assert_eq!((twice, store.status().cache_memory_bytes), ((2, 0), 0));
}
