//! The store on the simulated SDF of the paper: gets and writes beside what the device can do, in virtual time, the same on
//! every machine.
//!
//! `cargo bench -p flashlane-studies --bench store`; `cargo test --benches` runs it small. The log is on a device that
//! takes no time: the paper has it on another drive.

use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_device::{DataDevice, Device, NullDevice};
use flashlane_layer::Backed;
use flashlane_sim::{device, profile};
use flashlane_store::{Batch, Durability, Outcome, Slices, Store, StoreOptions, Ticket};
use std::collections::BTreeMap;

/// Bytes per second over the paper's link, read.
const LINK_READ: f64 = 1.61e9;

fn main() {
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let channels = if quick { 4 } else { 44 };
    for (slices, batch) in [(1, 1), (1, 44), (8, 1), (8, 4), (8, 44)] {
        if !quick || (slices, batch) == (8, 4) {
            gets(channels, slices, batch, if quick { 1 } else { 32 });
        }
    }
    for slices in [1, 4, 8, 16, 32] {
        if !quick || slices == 4 {
            writes(channels, slices, if quick { 2.0 } else { 4.0 });
        }
    }
}

fn sdf(channels: u64) -> Backed<Box<dyn Device>> {
    let overrides =
        [("flash.channels", channels.to_string()), ("capacity", format!("{}MiB", channels * 2038 * 8))];
    let overrides: Vec<(String, String)> =
        overrides.into_iter().map(|(key, value)| (key.into(), value)).collect();
    let config = profile::load("sdf", &overrides).expect("the bench's own profile");
    Backed::new(device(&config, Seed(1), "sim:sdf".into()))
}

fn create(channels: u64, slices: u32) -> Store<impl DataDevice, impl DataDevice> {
    let log = Backed::new(NullDevice::new(512 << 20));
    let options = StoreOptions { memory_bytes: 2 << 30, ..StoreOptions::default() };
    Store::create(sdf(channels), log, 1, Slices::even(slices), options).expect("fresh devices take a store")
}

/// A key of a slice: two bytes that choose it, and a number.
fn key(slice: u32, slices: u32, number: u64) -> Vec<u8> {
    let first = ((u64::from(slice) << 16) / u64::from(slices)) as u16;
    [&first.to_be_bytes()[..], &number.to_be_bytes(), &[0; 6]].concat()
}

fn put<D: DataDevice, L: DataDevice>(store: &mut Store<D, L>, key: Vec<u8>, value: Vec<u8>) -> Ticket {
    loop {
        let mut batch = Batch::default();
        batch.put(key.clone(), value.clone());
        match store.write(batch, Durability::Device) {
            Ok(ticket) => return ticket,
            Err(error) => assert!(store.step(Instant::FAR), "a write is refused for good: {error}"),
        }
    }
}

/// Random gets of 512 KiB: a client for each slice submits `batch` of them and waits for all.
fn gets(channels: u64, slices: u32, batch: u64, rounds: u64) {
    const VALUE_BYTES: usize = 512 << 10;
    let mut store = create(channels, slices);
    let values = 15 * channels * 4 / u64::from(slices);
    for number in 0..values {
        for slice in 0..slices {
            put(&mut store, key(slice, slices, number), vec![number as u8; VALUE_BYTES]);
        }
    }
    store.flush();
    store.settle();
    store.reap(store.now(), &mut Vec::new());
    let before = store.status().counters;
    let mut random = Seed(3).source();
    let begun = store.now();
    let mut waiting: BTreeMap<Ticket, u32> = BTreeMap::new();
    let (mut left, mut in_batch) = (vec![rounds * 44 / batch; slices as usize], vec![0_u64; slices as usize]);
    let mut submit = |store: &mut Store<_, _>, waiting: &mut BTreeMap<Ticket, u32>, slice: u32| {
        for _ in 0..batch {
            waiting.insert(store.get(&key(slice, slices, random.below(values)), None), slice);
        }
    };
    for slice in 0..slices {
        submit(&mut store, &mut waiting, slice);
        in_batch[slice as usize] = batch;
    }
    let mut out = Vec::new();
    while !waiting.is_empty() {
        store.reap(Instant::FAR, &mut out);
        for finished in out.drain(..) {
            assert!(matches!(&finished.outcome, Outcome::Get(Ok(Some(value))) if value.len() == VALUE_BYTES));
            let slice = waiting.remove(&finished.ticket).expect("a get of the bench");
            let nth = slice as usize;
            in_batch[nth] -= 1;
            if in_batch[nth] == 0 && left[nth] > 1 {
                left[nth] -= 1;
                in_batch[nth] = batch;
                submit(&mut store, &mut waiting, slice);
            }
        }
    }
    let counters = store.status().counters;
    let bytes = counters.user_bytes_read - before.user_bytes_read;
    let rate = bytes as f64 / store.now().since(begun).as_s_f64();
    println!(
        "store-gets: {slices} slices, batch {batch}: {:.0} MB/s, {:.1}% of the link, {:.2} reads a get",
        rate / 1e6,
        100.0 * rate / LINK_READ,
        (counters.get_reads - before.get_reads) as f64 / (counters.gets - before.gets) as f64
    );
    if batch == 44 {
        open(store);
    }
}

/// The time of an opening: blocks, then the tails of all patches, then a log whose device takes no time.
fn open<D: DataDevice, L: DataDevice>(store: Store<D, L>) {
    let (device, log) = store.into_devices();
    let begun = device.now();
    let store = Store::open(device, log, StoreOptions::default()).expect("a closed store is opened");
    let patches: u64 = store.status().slices.iter().flat_map(|slice| &slice.patches).sum();
    let elapsed = store.blocks().now().since(begun);
    println!("store-open: {patches} patches in {elapsed}");
}

/// Random writes of 100 KB to 1 MB: a client for each slice, one write in flight.
fn writes(channels: u64, slices: u32, seconds: f64) {
    let mut store = create(channels, slices);
    let mut random = Seed(5).source();
    let begun = store.now();
    let (warm, end) = (begun + Duration::from_s_f64(seconds / 4.0), begun + Duration::from_s_f64(seconds));
    let mut clients: BTreeMap<Ticket, u32> = BTreeMap::new();
    let write = |store: &mut Store<_, _>, random: &mut Random, slice: u32| {
        let number = random.below(4000 / u64::from(slices));
        let bytes = 100_000 + random.below(900_000);
        put(store, key(slice, slices, number), vec![number as u8; bytes as usize])
    };
    for slice in 0..slices {
        clients.insert(write(&mut store, &mut random, slice), slice);
    }
    let (mut before, mut longest) = (None, Duration::ZERO);
    let mut out = Vec::new();
    while store.now() < end {
        store.reap(end, &mut out);
        for finished in out.drain(..) {
            let Some(slice) = clients.remove(&finished.ticket) else { continue };
            longest = longest.max(finished.completed.since(finished.submitted));
            clients.insert(write(&mut store, &mut random, slice), slice);
        }
        if before.is_none() && store.now() >= warm {
            before = Some((store.now(), store.status().counters));
        }
    }
    let (since, before) = before.expect("the warm-up ended");
    let (after, elapsed) = (store.status().counters, store.now().since(since).as_s_f64());
    let rate = |of: fn(&flashlane_store::Counters) -> u64| (of(&after) - of(&before)) as f64 / elapsed / 1e6;
    let (user, flushed) = (rate(|c| c.user_bytes_written), rate(|c| c.flush_bytes_written));
    let (merged, read) = (rate(|c| c.merge_bytes_written), rate(|c| c.merge_bytes_read));
    println!(
        "store-writes: {slices} slices: device {:.0} MB/s (containers {flushed:.0}, merges write {merged:.0}, read {read:.0}), \
         user {user:.0} MB/s, longest write {longest}",
        flushed + merged + read
    );
}
