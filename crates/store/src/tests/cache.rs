//! Tests of reads that the cache serves.

use super::*;
use flashlane_base::Duration;
use flashlane_device::{
    Buffer, Completion, DataDevice, Device, DeviceInfo, Lane, Request, RequestId, SubmitError, Unit,
};

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

/// A device that reports no events, as a real one.
struct Real<D>(D);

impl<D: DataDevice> Device for Real<D> {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.0.submit(request)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        // Each look takes time.
        self.0.reap(until.max(self.0.now() + Duration::from_us(1)), out);
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.0.unit(lane, index)
    }
}

impl<D: DataDevice> DataDevice for Real<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.0.submit_with(request, buffer)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.0.take_buffer(id)
    }
}

#[test]
fn gets_from_memory_do_not_hold_up_one_from_device() {
    let device = Real(MemoryLanes::new(2, 64, 8192, 512, Seed(4)));
    let log = Real(MemoryDisk::new(256 << 10, 512, Seed(4)));
    let mut store = Store::create(device, log, 5, Slices::even(1), options()).expect("the devices suit");
    let put = |store: &mut Store<_, _>, number: u32| {
        let mut batch = Batch::default();
        batch.put(number.to_be_bytes(), vec![7; 100]);
        let ticket = store.write(batch, Durability::Device).expect("there is room");
        store.wait(ticket).expect("it completes");
    };
    put(&mut store, 1);
    store.flush();
    store.settle();
    put(&mut store, 2);
    let (from_device, mut finished) = (store.get(&1_u32.to_be_bytes(), None), Vec::new());
    for _ in 0..1000 {
        store.get(&2_u32.to_be_bytes(), None);
        store.reap(Instant::FAR, &mut finished);
        assert!(!finished.is_empty(), "one completes without a device");
        if finished.drain(..).any(|finished| finished.ticket == from_device) {
            return;
        }
    }
    panic!("a get that reads the device does not complete");
}
