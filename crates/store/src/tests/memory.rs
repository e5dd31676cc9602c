//! One number bounds the memory of all parts, scans in flight with their cursors too.

use super::*;
use flashlane_base::Duration;

/// Bytes of memory of all parts that a status counts.
fn counted(store: &TestStore) -> u64 {
    let status = store.status();
    status.index_memory_bytes
        + status.container_memory_bytes
        + status.cache_memory_bytes
        + status.read_memory_bytes
}

#[test]
fn memory_is_bounded_with_thousands_of_scans_and_writes() {
    const MEMORY_BYTES: u64 = 1 << 20;
    for (seed, cache_reads) in [(1, true), (2, false), (3, true)] {
        let device = MemoryLanes::new(4, 150, 16 << 10, 512, Seed(seed));
        let log = MemoryDisk::new(2 << 20, 512, Seed(seed));
        let options = StoreOptions { memory_bytes: MEMORY_BYTES, cache_reads, ..options() };
        let mut store = Store::create(device, log, 1, Slices::even(4), options).expect("the devices suit");
        let mut random = Seed(seed).source();
        for _ in 0..4000 {
            let mut batch = Batch::default();
            batch.put(key(&mut random, 3000), vec![7; random.below(1200) as usize]);
            write(&mut store, batch).expect("there is room");
        }
        let (mut scans, mut most, mut entries, mut most_scans) = (0_u64, 0, 0, 0);
        let mut out = Vec::new();
        for round in 0..4000 {
            if round < 3000 {
                // Each would hold more than its share.
                let start = key(&mut random, 3000);
                store.scan(&start, None, 300, 64 << 10, None);
                scans += 1;
            }
            let mut batch = Batch::default();
            batch.put(key(&mut random, 3000), vec![8; random.below(1200) as usize]);
            let _ = store.write(batch, Durability::System);
            most = most.max(counted(&store));
            most_scans = most_scans.max(store.status().read_memory_bytes);
            store.step(store.now() + Duration::from_us(random.below(300)));
            store.reap(Instant::ZERO, &mut out);
            for finished in out.drain(..) {
                if let Outcome::Scan(result) = finished.outcome {
                    scans -= 1;
                    entries += result.expect("the devices are sound").items.len();
                }
            }
        }
        store.settle();
        store.reap(Instant::ZERO, &mut out);
        most = most.max(counted(&store));
        for finished in out.drain(..) {
            if let Outcome::Scan(result) = finished.outcome {
                scans -= 1;
                entries += result.expect("the devices are sound").items.len();
            }
        }
        assert!(scans == 0 && entries > 100_000, "seed {seed}: {scans} scans are left, {entries} entries");
        assert!(
            most <= MEMORY_BYTES,
            "seed {seed}: {most} bytes of {MEMORY_BYTES}, {most_scans} of them reads"
        );
        assert!(most_scans > MEMORY_BYTES / 16, "seed {seed}: {most_scans} bytes of reads");
    }
}
