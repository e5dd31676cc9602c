//! The store on the simulated SDF of the paper: gets and writes beside what the device can do, in virtual time, the
//! same on every machine.
//!
//! `cargo bench -p flashlane-studies --bench store`, with `-- gets`, `-- writes`, `-- memory` or `-- opening` only
//! these; `cargo test --benches` runs it small.

use flashlane_base::{Duration, Seed};
use flashlane_device::{DataDevice, Device};
use flashlane_layer::striped::Settings;
use flashlane_layer::{Backed, Bytes, Striped};
use flashlane_sim::{device, profile};
use flashlane_studies::get_limit::RandomGets;
use flashlane_studies::store_load::{GetClient, LoadedStore, Values, opening, writes};

/// Bytes per second over the paper's link, read.
const LINK_READ: f64 = 1.61e9;
const VALUE_BYTES: u64 = 512 << 10;
/// Bytes of values before writes are measured.
const DATA_BYTES: u64 = 2_200_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = !arguments.iter().any(|argument| argument == "--bench");
    let names = ["gets", "writes", "memory", "opening"];
    let is_chosen = |name: &str| {
        let mut chosen = arguments.iter().filter(|argument| names.contains(&argument.as_str())).peekable();
        chosen.peek().is_none() || chosen.any(|argument| argument == name)
    };
    if is_chosen("gets") {
        for (slices, batches) in [(1, &[1, 44][..]), (8, &[1, 4, 44])] {
            match quick {
                true => gets("store-gets", sdf(4), 4, slices, &batches[..1], (4, 1)),
                false => gets("store-gets", sdf(44), 44, slices, batches, (16, 32)),
            }
        }
        match quick {
            true => gets("store-gets-striped", striped(4, 4, 128 << 10), 4, 8, &[1], (16, 1)),
            false => gets("store-gets-striped", striped(44, 11, 32 << 10), 44, 8, &[44], (16, 32)),
        }
    }
    if is_chosen("writes") {
        let mut longest = 0.0_f64;
        for slices in [1, 2, 4, 8, 16, 32] {
            match quick {
                true if slices != 4 => {}
                true => longest = write(4, slices, DATA_BYTES / 50, Duration::from_ms(400)),
                false => longest = longest.max(write(44, slices, DATA_BYTES, Duration::from_s(8))),
            }
        }
        println!("store-longest-write: {longest:.0} ms");
    }
    if is_chosen("memory") {
        let values = vec![Values { count: if quick { 10_000 } else { 200_000 }, bytes: 1024 }];
        let loaded = LoadedStore::new(sdf(44), 1, values, &mut |_| Ok(()));
        println!("store-memory: {:.1} bytes a key", loaded.expect("nothing stops it").memory_per_key());
    }
    if is_chosen("opening") {
        match quick {
            true => open_after_cut(4, 400 << 20),
            false => open_after_cut(44, 100_000_000_000),
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

/// The same with units that are striped over `lanes` lanes each, in stripes so that a value lies on all of them.
fn striped(channels: u64, lanes: u32, stripe_bytes: u64) -> Striped<Bytes<Backed<Box<dyn Device>>>> {
    Striped::new(Bytes(sdf(channels)), Settings { lanes, stripe_bytes }).expect("the bench's own device")
}

/// Random gets of 512 KiB of keys that are uniform over a slice. Blocks can be spread over lanes no more evenly than
/// one more on some: of few blocks a lane that is a large part of the load. The paper's drive holds two thousand.
fn gets(
    name: &str,
    device: impl DataDevice,
    channels: u64,
    slices: u32,
    batches: &[u64],
    (blocks_per_lane, rounds): (u64, u64),
) {
    let values = 15 * channels * blocks_per_lane / u64::from(slices);
    let values = vec![Values { count: values, bytes: VALUE_BYTES }];
    let loaded = LoadedStore::new(device, slices, values, &mut |_| Ok(()));
    let mut store = loaded.expect("nothing stops it");
    let (fewest, most) = store.blocks_of_lanes();
    println!("store-spread: {slices} slices, {fewest} to {most} blocks a lane");
    for &batch in batches {
        for (client, in_flight) in
            [(GetClient::Batches, "in batches of"), (GetClient::Continuous, "continuously")]
        {
            let rounds = (rounds * 44 / batch).max(1);
            let gets = store.gets(0, client, batch, rounds, &mut |_| Ok(())).expect("nothing stops it");
            println!(
                "{name}: {slices} slices {in_flight} {batch}: {:.1}% of the link, {:.0} MB/s, {:.2} reads a get",
                100.0 * gets.bytes_per_s / LINK_READ,
                gets.bytes_per_s / 1e6,
                gets.reads_per_get
            );
        }
    }
    let in_flight = batches[batches.len() - 1];
    for (client, how) in [(GetClient::Batches, "in batches of"), (GetClient::Continuous, "continuously")] {
        let share = |lanes_of_value| {
            let clients = slices.into();
            100.0
                * RandomGets { lanes: channels, lanes_of_value, clients, in_flight, client }.share_of_lanes()
        };
        println!(
            "{name}-limit: {slices} slices {how} {in_flight}: {:.1}% of lanes chosen at random (parted over 11 lanes: {:.1}%)",
            share(1),
            share(11.min(channels))
        );
    }
    let (patches, elapsed) = store.reopen();
    println!("store-opening: {patches} patches in {:.1} ms", elapsed.as_s_f64() * 1e3);
}

/// Opens a store after a power cut, with its log on another drive.
fn open_after_cut(channels: u64, data_bytes: u64) {
    let disk = |log_bytes: u64| {
        let overrides = [("capacity".to_owned(), format!("{}MiB", log_bytes.div_ceil(1 << 20) * 2))];
        let config = profile::load("ssd-s", &overrides).expect("the bench's own profile");
        Backed::new(device(&config, Seed(1), "sim:ssd-s".into()))
    };
    let opened = opening(sdf(channels), disk, 8, data_bytes, &mut |_| Ok(())).expect("nothing stops it");
    println!(
        "store-opening-after-cut: {} patches and {} MB of the log in {:.1} ms",
        opened.patches,
        opened.container_bytes / 1_000_000,
        opened.elapsed.as_s_f64() * 1e3
    );
}

/// Returns the longest write in milliseconds.
fn write(channels: u64, slices: u32, data_bytes: u64, time: Duration) -> f64 {
    let written = writes(sdf(channels), slices, data_bytes, time, &mut |_| Ok(())).expect("nothing stops it");
    println!(
        "store-writes: {slices} slices: device {:.0} MB/s (containers {:.0}, merges write {:.0}, read {:.0}), user {:.0} MB/s, \
         writes take {:.0} ms (p99 {:.0}, longest {:.0})",
        (written.read_rate() + written.write_rate()) / 1e6,
        written.rate(|counters| counters.flush_bytes_written) / 1e6,
        written.rate(|counters| counters.merge_bytes_written) / 1e6,
        written.read_rate() / 1e6,
        written.rate(|counters| counters.user_bytes_written) / 1e6,
        written.latency.mean / 1e6,
        written.latency.p99 / 1e6,
        written.latency.max / 1e6
    );
    written.latency.max / 1e6
}
