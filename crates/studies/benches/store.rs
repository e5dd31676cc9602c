//! The store on the simulated SDF of the paper: gets and writes beside what the device can do, in virtual time, the same on
//! every machine.
//!
//! `cargo bench -p flashlane-studies --bench store`, with `-- gets` or `-- writes` only these; `cargo test --benches` runs it
//! small. The log is on a device that takes no time: the paper has it on another drive.

use flashlane_base::{Duration, Histogram, Instant, Random, Seed};
use flashlane_device::{DataDevice, Device, NullDevice};
use flashlane_layer::Backed;
use flashlane_sim::{device, profile};
use flashlane_store::{Batch, Durability, Outcome, Slices, Store, StoreOptions, Ticket};
use std::collections::BTreeMap;

/// Bytes per second over the paper's link, read.
const LINK_READ: f64 = 1.61e9;

/// How a client of gets goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    /// It waits for all gets of a batch, as in the paper (sdf14, section 3.3: a request of several sub-requests is synchronous).
    Batches,
    /// It submits a get for each that completes, so that as many stay in flight.
    Continuous,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = !arguments.iter().any(|argument| argument == "--bench");
    let names = ["gets", "writes"];
    let is_chosen = |name: &str| {
        let mut chosen = arguments.iter().filter(|argument| names.contains(&argument.as_str())).peekable();
        chosen.peek().is_none() || chosen.any(|argument| argument == name)
    };
    let channels = if quick { 4 } else { 44 };
    if is_chosen("gets") {
        for (slices, batch) in [(1, 1), (1, 44), (8, 1), (8, 4), (8, 44)] {
            if !quick || (slices, batch) == (8, 4) {
                gets(channels, slices, batch, if quick { (4, 1) } else { (16, 32) });
            }
        }
    }
    if is_chosen("writes") {
        for slices in [1, 4, 8, 16, 32] {
            if !quick || slices == 4 {
                writes(channels, slices, if quick { 2.0 } else { 4.0 });
            }
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

const VALUE_BYTES: usize = 512 << 10;

/// Random gets of 512 KiB of keys that are uniform over a slice: a client for each slice. Blocks can be spread over lanes no more
/// evenly than one more on some: of few blocks a lane that is a large part of the load. The paper's drive holds two thousand.
fn gets(channels: u64, slices: u32, batch: u64, (blocks_per_lane, rounds): (u64, u64)) {
    let mut store = create(channels, slices);
    let values = 15 * channels * blocks_per_lane / u64::from(slices);
    for number in 0..values {
        for slice in 0..slices {
            put(&mut store, key(slice, slices, number), vec![0; VALUE_BYTES]);
        }
    }
    store.flush();
    store.settle();
    store.reap(store.now(), &mut Vec::new());
    let lanes: Vec<u64> = store.blocks().status().lanes.iter().map(|lane| lane.blocks).collect();
    let (fewest, most) = (lanes.iter().min().expect("a lane"), lanes.iter().max().expect("a lane"));
    println!(
        "store-spread: {slices} slices, {} blocks, {fewest} to {most} a lane",
        lanes.iter().sum::<u64>()
    );
    for client in [Client::Batches, Client::Continuous] {
        let before = store.status().counters;
        let begun = store.now();
        random_gets(&mut store, client, slices, (batch, (rounds * 44 / batch).max(1)), values);
        let counters = store.status().counters;
        let bytes = counters.user_bytes_read - before.user_bytes_read;
        let rate = bytes as f64 / store.now().since(begun).as_s_f64();
        let in_flight = match client {
            Client::Batches => "in batches of",
            Client::Continuous => "continuously",
        };
        println!(
            "store-gets: {slices} slices {in_flight} {batch}: {:.1}% of the link, {:.0} MB/s, {:.2} reads a get",
            100.0 * rate / LINK_READ,
            rate / 1e6,
            (counters.get_reads - before.get_reads) as f64 / (counters.gets - before.gets) as f64
        );
    }
    if batch == 44 {
        open(store);
    }
}

/// Runs `rounds` times `batch` gets for each slice.
fn random_gets<D: DataDevice, L: DataDevice>(
    store: &mut Store<D, L>,
    client: Client,
    slices: u32,
    (batch, rounds): (u64, u64),
    values: u64,
) {
    let mut random = Seed(3).source();
    let mut waiting: BTreeMap<Ticket, u32> = BTreeMap::new();
    let (mut left, mut in_flight) = (vec![rounds * batch; slices as usize], vec![0_u64; slices as usize]);
    let mut submit =
        |store: &mut Store<D, L>, waiting: &mut BTreeMap<Ticket, u32>, slice: u32, count: u64| {
            for _ in 0..count {
                waiting.insert(store.get(&key(slice, slices, random.below(values)), None), slice);
            }
        };
    for slice in 0..slices {
        submit(store, &mut waiting, slice, batch);
        (left[slice as usize], in_flight[slice as usize]) = (left[slice as usize] - batch, batch);
    }
    let mut out = Vec::new();
    while !waiting.is_empty() {
        store.reap(Instant::FAR, &mut out);
        for finished in out.drain(..) {
            assert!(
                matches!(&finished.outcome, Outcome::Get(Ok(Some(value))) if value.bytes.len() == VALUE_BYTES)
            );
            let slice = waiting.remove(&finished.ticket).expect("a get of the bench");
            let nth = slice as usize;
            in_flight[nth] -= 1;
            let count = match client {
                Client::Batches if in_flight[nth] > 0 => 0,
                Client::Batches => batch.min(left[nth]),
                Client::Continuous => left[nth].min(1),
            };
            submit(store, &mut waiting, slice, count);
            (left[nth], in_flight[nth]) = (left[nth] - count, in_flight[nth] + count);
        }
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
    let mut clients: BTreeMap<Ticket, (u32, Instant)> = BTreeMap::new();
    // A write that is refused as busy waits here already.
    let write = |store: &mut Store<_, _>, random: &mut Random, slice: u32| {
        let asked = store.now();
        let number = random.below(4000 / u64::from(slices));
        let bytes = 100_000 + random.below(900_000);
        (put(store, key(slice, slices, number), vec![number as u8; bytes as usize]), (slice, asked))
    };
    clients.extend((0..slices).map(|slice| write(&mut store, &mut random, slice)));
    let (mut before, mut latency) = (None, Histogram::new());
    let mut out = Vec::new();
    while store.now() < end {
        store.reap(end, &mut out);
        for finished in out.drain(..) {
            let Some((slice, asked)) = clients.remove(&finished.ticket) else { continue };
            latency.record(finished.completed.since(asked));
            let (ticket, client) = write(&mut store, &mut random, slice);
            clients.insert(ticket, client);
        }
        if before.is_none() && store.now() >= warm {
            before = Some((store.now(), store.status().counters));
        }
    }
    // Those that have not completed waited too.
    clients.values().for_each(|(_, asked)| latency.record(store.now().since(*asked)));
    let latency = latency.latency();
    let (since, before) = before.expect("the warm-up ended");
    let (after, elapsed) = (store.status().counters, store.now().since(since).as_s_f64());
    let rate = |of: fn(&flashlane_store::Counters) -> u64| (of(&after) - of(&before)) as f64 / elapsed / 1e6;
    let (user, flushed) = (rate(|c| c.user_bytes_written), rate(|c| c.flush_bytes_written));
    let (merged, read) = (rate(|c| c.merge_bytes_written), rate(|c| c.merge_bytes_read));
    println!(
        "store-writes: {slices} slices: longest {:.0} ms (mean {:.0}, p99 {:.0}), user {user:.0} MB/s, device {:.0} MB/s \
         (containers {flushed:.0}, merges write {merged:.0}, read {read:.0})",
        latency.max / 1e6,
        latency.mean / 1e6,
        latency.p99 / 1e6,
        flushed + merged + read
    );
}
